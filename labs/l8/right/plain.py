"""Three scenarios, and one function that compares a record with the rules."""

import json

OPENING = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are things?"}]
DONE = {"role": "assistant", "content": "Fine."}
TOOLS = {
    "ping": {"returns": {"up": True, "load": None}},
    "note": {"returns": "kept"},
    "stop": {"raises": "not allowed"},
}


def reply(*calls, text=None):
    asked = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": asked}


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
        ("b_2", "note", "{}"),
    ),
    DONE,
]
MANY = [reply((f"m_{n}", "ping", json.dumps({"n": n}))) for n in range(9)]
SCENARIOS = [(GOOD, 8), (BAD, 8), (MANY, 3)]


def runs(function):
    try:
        return function["name"] in TOOLS and isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        return False


def content_is_right(content, function):
    if not isinstance(content, str):
        return False
    value = TOOLS.get(function["name"], {}).get("returns")
    if not runs(function) or value is None:
        reason = (
            function["name"] if function["name"] not in TOOLS else "not allowed" if runs(function) else ""
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
    return late or content_is_right(result.get("content", ""), call["function"])


def faults_of(run):
    faults = []
    for replies, limit in SCENARIOS:
        record = run(list(OPENING), replies, TOOLS, limit)
        faults += check(record, replies[:limit], limit)
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
    expected, ran = list(OPENING), []
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
        ran += [
            [c["function"]["name"], json.loads(c["function"]["arguments"])]
            for c in calls
            if runs(c["function"])
        ]
    if said != expected:
        faults.append("what came back is not what was said")
    if len(replies) < limit and sorted(map(str, record["executed"])) != sorted(map(str, ran)):
        faults.append("other calls ran than were asked for")
    return faults
