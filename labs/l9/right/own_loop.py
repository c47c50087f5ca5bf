"""Differential: an own right loop is run on the same scenario, and the two records are compared, part by part."""

import json
from itertools import product

KIT = {
    "count": {"returns": [1, {"a": None}]},
    "quote": {"returns": 'say "so"'},
    "zero": {"returns": 0},
    "none": {"returns": None},
    "page": {"returns": " Pages & more " * 20 + "\n"},
    "blank": {"returns": ""},
    "true": {"returns": True},
    "float": {"returns": 0.25},
    "lists": {"returns": [[]]},
    "nothing": {"returns": {}},
    "rows": {"returns": ["row", *range(60)]},
    "error": {"returns": {"error": 0}},
    "its_number": {"returns": "007"},
    "errors": {"returns": "Errors: none"},
    "fail": {"raises": "The disk is full:\n" + "and nobody is there, " * 7},
    "break": {"raises": "it broke"},
}
END = {"role": "assistant", "content": "That is all."}


def ask(*calls, content=None):
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return {"role": "assistant", "content": content, "tool_calls": made}


START = [
    {"role": "user", "content": "Zürich? "},
    ask(("k9", "zero", "{}")),
    {"role": "tool", "tool_call_id": "k9", "content": "1"},
    {"role": "user", "content": "Go."},
]


def scenarios():
    two = ask(("k9", "count", '{"n": 1, "m": [2]}'), ("k1", "quote", '{"n": 2}'), content="Two at once.")
    same = ask(("k1", "count", '{"n": 3}'), ("k1", "count", '{"n": 4}'), ("k1", "zero", "{}"))
    odd = ask(("t", "break", "{}"), ("z", "fail", '{"x": 1}'), ("y", "nosuch", "{}"), ("x", "zero", '{"x":'), ("w", "count", '{"y": 2}'))
    listed = ask(("v", "count", "[1]"), ("u", "quote", '{"deep": {"er": 1}}'), content="Again.")
    for replies, limit in product(([END], [two, END], [two, same, two, END], [odd, listed, END]), (8,)):
        yield replies, limit
    yield [two, END], 2
    yield [same, two, odd, two, two, same], 3
    yield [ask(("a", "zero", "{}"))] * 13, 12
    names = [name for name in KIT if name not in ("fail", "break")]
    values = ask(*(("v", name, ' {"n":0}') for name in (*names, "count")), content="")
    arguments = [{"N": None}, {"n": "", "m": "9"}, {"n": "{}"}, {"n": [{}]}, {"n": " a "}, {"n": "long" * 40}]
    passed = ask(*(("p", "zero", json.dumps(one)) for one in arguments))
    texts = ["", " ", "null", "false", "8", '""', '"{}"', "[]", '[["a", 1]]', '[{"a": 1}]', "{} 1"]
    texts += ["so {}", "```json\n{}\n```", "{'n': 5}", '{"n": 5,}', '{"n": 5}']
    bad = ask(*(("b", "zero", text) for text in texts), *((n, n, "{}") for n in ("Zero", "zero ", "functions.zero", "its number")))
    fails = ask(("f", "fail", "{}"))
    yield [values, passed, fails, fails, {"role": "assistant", "content": "", "tool_calls": []}, END], 8
    yield [bad, two, END], 8
    yield [values, values, END], 8
    yield [ask(("n", "nosuch", "{}")), {"role": "assistant", "content": None, "tool_calls": None}], 8
    yield [two, two], 1
    yield [odd, odd], 1
    yield [fails] * 5, 2
    yield [fails] * 7, 6
    yield [values] * 2, 1


def expected(replies, limit):
    """What a right loop says: its messages, with a test in place of each result, its requests, and its calls."""
    said, requests, rounds = [*START], [], []
    for reply in replies[:limit]:
        requests.append(list(said))
        said.append(reply)
        rounds.append([])
        for call in reply.get("tool_calls") or []:
            said.append((call["id"], judge(call["function"])))
            if runnable(call["function"]):
                rounds[-1].append([call["function"]["name"], json.loads(call["function"]["arguments"])])
        if not reply.get("tool_calls"):
            break
    return said, requests, rounds


def runnable(function):
    try:
        return isinstance(json.loads(function["arguments"]), dict) and function["name"] in KIT
    except json.JSONDecodeError:
        return False


def judge(function):
    name = function["name"]
    if name not in KIT:
        return lambda text: "error" in text.lower() and name in text
    if not runnable(function):
        return lambda text: "error" in text.lower()
    if "raises" in KIT[name]:
        return lambda text: "error" in text.lower() and KIT[name]["raises"] in text
    value = KIT[name]["returns"]
    return lambda text: text == value if isinstance(value, str) else as_json(text) == (type(value).__name__, value)


def as_json(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return type(value).__name__, value


def matches(message, wanted, last):
    if isinstance(wanted, dict):
        return message == wanted
    id, test = wanted
    if message.get("role") != "tool" or message.get("tool_call_id") != id:
        return False
    return isinstance(message.get("content"), str) and (last or test(message["content"]))


def unordered(calls):
    return sorted(json.dumps(call, sort_keys=True) for call in calls)


def differences(record, replies, limit):
    said, requests, rounds = expected(replies, limit)
    if record["ended"] != "returned":
        yield record["ended"]
    if record["given"] != START:
        yield "list changed"
    cut = len(replies) >= limit and bool(replies[limit - 1].get("tool_calls"))
    free = len(rounds[-1]) if rounds and cut else 0
    tail = len(said) - (len(replies[limit - 1]["tool_calls"]) if cut else 0)
    found = record["messages"]
    if len(found) != len(said) or not all(
        matches(message, wanted, at >= tail) for at, (message, wanted) in enumerate(zip(found, said))
    ):
        yield "messages differ"
    if len(record["requests"]) != len(requests):
        yield "asked too often, or not often enough"
    for came, wanted in zip(record["requests"], requests):
        if set(came["tools"]) != set(KIT) or came["messages"] != found[: len(wanted)]:
            yield "a request differs"
    every = [call for calls in rounds for call in calls]
    allowed = [unordered(every)] + ([unordered(every[: len(every) - free])] if cut else [])
    if unordered(record["executed"]) not in allowed:
        yield "other calls ran"


def faults_of(run):
    return [
        f"scenario {number}: {fault}"
        for number, (replies, limit) in enumerate(scenarios())
        for fault in differences(run(json.loads(json.dumps(START)), replies, KIT, limit), replies, limit)
    ]
