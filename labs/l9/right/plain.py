"""A few scenarios, and one function that compares a record with the rules."""

import json

TOOLS = {
    "ping": {"returns": {"up": True, "load": None}},
    "note": {"returns": "kept"},
    "stop": {"raises": "Not allowed on a Sunday:\nthe owner says so, " + "and his wife, and his dog, " * 4},
    "halt": {"raises": "no permission"},
    "list": {"returns": [*range(60)]},
    "single": {"returns": ["a"]},
    "nothing": {"returns": []},
    "none": {"returns": None},
    "no": {"returns": False},
    "half": {"returns": 0.5},
    "problem": {"returns": {"error": "none", "rows": 0}},
    "page": {"returns": "  A <long> page. " * 8 + "\n"},
    "blank": {"returns": ""},
    "its_code": {"returns": "42"},
    "saying": {"returns": "Error is human."},
}


def reply(*calls, text=None):
    asked = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": asked}


OPENING = [
    {"role": "user", "content": " Hello.\n"},
    reply(("g_17", "note", '{"text": "old"}')),
    {"role": "tool", "tool_call_id": "g_17", "content": "old"},
    {"role": "user", "content": "How are things?"},
]
DONE = {"role": "assistant", "content": "Fine."}
GOOD = [
    reply(
        ("g_17", "ping", '{"host": "a"}'),
        ("g_40", "note", '{"text": "x"}'),
        ("g_23", "ping", '{"host": "b"}'),
    ),
    reply(("g_17", "note", '{"text": "y"}'), text="Another."),
    DONE,
]
BAD = [
    reply(
        ("b_31", "stop", '{"host": "a"}'),
        ("b_5", "ping", '{"host": '),
        ("b_90", "fly", "{}"),
        ("b_7", "note", "[1]"),
        ("b_3", "halt", "{}"),
        ("b_2", "note", "{}"),
    ),
    DONE,
]
MANY = [reply((f"m_{n}", "ping", json.dumps({"n": n}))) for n in range(9)]
SCENARIOS = [(GOOD, 8), (BAD, 8), (MANY, 3)]
VALUES = reply(
    ("v_1", "list", ' {"n":0} '),
    ("v_1", "none", '{"n": null, "m": "  a b "}'),
    ("v_2", "page", '{"n": ""}'),
    ("v_3", "blank", '{"N": "7"}'),
    ("v_4", "list", ' {"n":0} '),
    ("v_5", "single", '{"n": "{}"}'),
    ("v_6", "nothing", '{"n": [1, {"a": 2}]}'),
    ("v_7", "no", json.dumps({"n": "long " * 30})),
    ("v_8", "half", "{}"),
    ("v_9", "problem", "{}"),
    ("v_10", "its_code", "{}"),
    ("v_11", "saying", "{}"),
)
WRONG = ("", " ", "null", "false", "5", '""', '"{}"', "[]", '[["a", 1]]', '[{"a": 1}]')
BROKEN = ("{} {}", "Here: {}", "```json\n{}\n```", "{'a': 1}", '{"a": 1,}')
WORSE = reply(
    ("w_1", "note", "{}"),
    *((f"w{n}", "note", text) for n, text in enumerate([*WRONG, *BROKEN])),
    *((f"x{n}", name, "{}") for n, name in enumerate(["Note", "note ", "functions.note", "its code"])),
)
FAILS = reply(("f_1", "stop", "{}"), text="")
UNKNOWN = reply(("u_1", "fly", "{}"))
NO_TEXT = {"role": "assistant", "content": "", "tool_calls": []}
NONE = {"role": "assistant", "content": None, "tool_calls": None}
MORE = [
    ([VALUES, FAILS, VALUES, FAILS, FAILS, NO_TEXT], 8),
    ([WORSE, DONE], 3),
    ([FAILS, DONE], 2),
    ([GOOD[1], VALUES], 1),
    ([FAILS] * 7, 6),
    ([*GOOD[:2], BAD[0]], 2),
    ([BAD[0]] * 2, 1),
    ([*MANY, *MANY], 12),
    ([UNKNOWN, DONE], 3),
    ([NONE], 8),
]
ERROR = object()


def runs(function):
    try:
        return function["name"] in TOOLS and isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        return False


def content_is_right(content, function):
    if not isinstance(content, str):
        return False
    value = TOOLS.get(function["name"], {}).get("returns", ERROR)
    if not runs(function) or value is ERROR:
        reason = (
            function["name"] if function["name"] not in TOOLS else TOOLS[function["name"]]["raises"] if runs(function) else ""
        )
        return "error" in content.lower() and reason in content
    if isinstance(value, str):
        return content == value
    try:
        return json.loads(content) == value
    except ValueError:
        return False


def result_is_right(result, call, late):
    if result.get("role") != "tool" or result.get("tool_call_id") != call["id"]:
        return False
    content = result.get("content")
    return isinstance(content, str) if late else content_is_right(content, call["function"])


def faults_of(run):
    faults = []
    for replies, limit in SCENARIOS + MORE:
        record = run(list(OPENING), replies, TOOLS, limit)
        faults += check(record, replies[:limit], limit)
        if faults:
            break
    return faults


def check(record, replies, limit):
    faults = []
    said, requests = record["messages"], record["requests"]
    if record["ended"] != "returned":
        faults.append(record["ended"])
    if record["given"] != OPENING:
        faults.append("the caller's list was changed")
    if len(requests) != len(replies):
        faults.append("asked too often or not often enough")
    expected, ran, before = list(OPENING), [], []
    for turn, reply in enumerate(replies):
        calls = reply.get("tool_calls") or []
        results = said[len(expected) + 1 :][: len(calls)]
        if turn < len(requests):
            if requests[turn]["messages"] != expected:
                faults.append("a request does not hold the conversation so far")
            if sorted(requests[turn]["tools"]) != sorted(TOOLS):
                faults.append("a request does not offer all tools")
        expected += [reply, *results]
        late = turn == limit - 1
        if len(results) != len(calls) or not all(map(result_is_right, results, calls, [late] * len(calls))):
            faults.append("the results do not fit the calls")
        before = list(ran)
        ran += [
            [c["function"]["name"], json.loads(c["function"]["arguments"])]
            for c in calls
            if runs(c["function"])
        ]
    if said != expected:
        faults.append("what came back is not what was said")
    executed, ran, before = (sorted(map(str, calls)) for calls in (record["executed"], ran, before))
    if executed != ran and (len(replies) < limit or executed != before):
        faults.append("other calls ran than were asked for")
    return faults
