"""A beginner's long style: one conversation after the other, and an `if` for each thing that can be wrong."""

import json

TOOLS = {
    "add": {"returns": {"sum": 5, "error": None}},
    "hello": {"returns": "Hello there"},
    "crash": {"raises": "The printer says:\nout of paper. " + "Buy new paper, and call again. " * 4},
    "burn": {"raises": "smoke"},
    "nothing": {"returns": None},
    "all": {"returns": ["many", "words"] * 30},
    "long": {"returns": " very <long> " * 20 + "\n"},
    "empty": {"returns": ""},
    "one": {"returns": [1]},
    "zero": {"returns": []},
    "no": {"returns": False},
    "price": {"returns": 9.75},
    "birth_year": {"returns": "1984"},
    "story": {"returns": "Errors were made."},
}
GIVEN = [
    {"role": "user", "content": "Are you there?\n"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "m1", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "m1", "content": "1"},
    {"role": "user", "content": "Do your work."},
]
ANSWER = {"role": "assistant", "content": "Finished."}


def make_call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def make_reply(calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": calls}


def can_run(call):
    if call["function"]["name"] not in TOOLS:
        return False
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return False
    return type(arguments) is dict


def result_is_good(call, content):
    name = call["function"]["name"]
    if type(content) is not str:
        return False
    if can_run(call):
        if name in ["hello", "long", "empty", "birth_year", "story"]:
            return content == TOOLS[name]["returns"]
        if name == "crash" or name == "burn":
            return "error" in content.lower() and TOOLS[name]["raises"] in content
        try:
            return json.loads(content) == TOOLS[name]["returns"]
        except ValueError:
            return False
    if name not in TOOLS:
        return "error" in content.lower() and name in content
    return "error" in content.lower()


def look(run, replies, limit, faults):
    record = run(json.loads(json.dumps(GIVEN)), replies, TOOLS, limit)

    if record["ended"] != "returned":
        faults.append("it did not return")
    if record["given"] != GIVEN:
        faults.append("my list was changed")

    used = replies[:limit]
    if len(record["requests"]) != len(used):
        faults.append("the model was asked another number of times")

    # Walk through the messages.
    messages = record["messages"]
    if messages[: len(GIVEN)] != GIVEN:
        faults.append("the beginning is wrong")
    position = len(GIVEN)
    must_run = []
    may_run = []
    for number in range(len(used)):
        reply = used[number]
        last = number == limit - 1
        if number < len(record["requests"]):
            request = record["requests"][number]
            if request["messages"] != messages[:position]:
                faults.append("a request does not have all messages")
            if sorted(request["tools"]) != sorted(TOOLS):
                faults.append("a request does not have all tools")
        if position >= len(messages) or messages[position] != reply:
            faults.append("the reply is not there")
        position = position + 1
        if "tool_calls" in reply and reply["tool_calls"]:
            for call in reply["tool_calls"]:
                if can_run(call):
                    pair = json.dumps([call["function"]["name"], json.loads(call["function"]["arguments"])])
                    may_run.append(pair)
                    if not last:
                        must_run.append(pair)
                if position >= len(messages):
                    faults.append("a result is missing")
                else:
                    result = messages[position]
                    if result.get("role") != "tool":
                        faults.append("the role is wrong")
                    if result.get("tool_call_id") != call["id"]:
                        faults.append("the id is wrong")
                    if not last and not result_is_good(call, result.get("content")):
                        faults.append("the content is wrong")
                    if last and type(result.get("content")) is not str:
                        faults.append("the content is no text")
                position = position + 1
    if len(messages) != position:
        faults.append("the number of messages is wrong")

    ran = []
    for pair in record["executed"]:
        ran.append(json.dumps(pair))
    ran.sort()
    must_run.sort()
    may_run.sort()
    if ran != must_run and ran != may_run:
        faults.append("the wrong calls ran")


def faults_of(run):
    faults = []
    # Only an answer.
    look(run, [ANSWER], 8, faults)
    # Three rounds; the same id comes again, and there is text beside the calls.
    first = make_reply([make_call("m3", "add", '{"a": 2, "b": 3}'), make_call("m1", "hello", '{"to": "Ann"}')])
    second = make_reply([make_call("m3", "add", '{"a": 1, "b": 4}'), make_call("m3", "add", '{"a": 5}')], "Next.")
    third = make_reply([make_call("m1", "hello", '{"to": "Bob"}')], "And now?")
    look(run, [first, second, third, ANSWER], 8, faults)
    # Everything that can go wrong, each together with calls that work.
    bad = make_reply(
        [
            make_call("e1", "crash", '{"now": true}'),
            make_call("e2", "add", '{"a": 7}'),
            make_call("e3", "dance", '{"a": 8}'),
            make_call("e4", "hello", '{"to": "Eve"}'),
            make_call("e5", "burn", "{}"),
        ]
    )
    worse = make_reply([make_call("f1", "add", '{"a": '), make_call("f2", "add", "[2, 3]"), make_call("f3", "hello", "{}")])
    look(run, [bad, worse, first, ANSWER], 8, faults)
    # The limit.
    look(run, [first, ANSWER], 2, faults)
    look(run, [first, second, third, first, second], 3, faults)
    look(run, [second], 1, faults)
    many = []
    for i in range(10):
        many.append(make_reply([make_call("g" + str(i), "add", json.dumps({"a": i}))]))
    look(run, many + [ANSWER], 20, faults)
    look(run, many + many, 12, faults)
    look(run, [second, second], 1, faults)
    look(run, [first, ANSWER, first], 2, faults)
    # All kinds of values, and equal calls.
    values = []
    number = 0
    for name in ["nothing", "all", "long", "empty", "one", "zero", "no", "price", "birth_year", "story", "all"]:
        number = number + 1
        values.append(make_call("v" + str(number), name, ' {"a":0,"b":null} '))
    values.append(make_call("v1", "hello", "{}"))
    silent = {"role": "assistant", "content": "", "tool_calls": []}
    look(run, [make_reply(values), make_reply(values), silent], 8, faults)
    look(run, [{"role": "assistant", "content": None, "tool_calls": None}], 8, faults)
    # All kinds of arguments.
    kinds = []
    for value in ["", [], "12", "{}", " x ", {"deep": [1]}, "y" * 150]:
        kinds.append(make_call("k" + str(len(kinds)), "hello", json.dumps({"B": value})))
    look(run, [make_reply(kinds, ""), ANSWER], 8, faults)
    # All calls of a reply fail.
    crash = make_reply([make_call("c1", "crash", "{}"), make_call("c2", "Hello", "{}")])
    look(run, [crash, crash, ANSWER], 8, faults)
    look(run, [crash, crash, crash, crash], 2, faults)
    look(run, [crash, crash, crash, crash, crash, crash, crash], 6, faults)
    look(run, [make_reply([make_call("u1", "dance", "{}")]), ANSWER], 8, faults)
    look(run, [worse, worse], 1, faults)
    odd = []
    for text in ["", "  ", "null", "false", '"{}"', '""', "{} {}", "7", "[]", '[["a", 1]]', '[{"a": 1}]']:
        odd.append(make_call("o" + text, "hello", text))
    for text in ["so {}", "```json\n{}\n```", "{'a': 1}", '{"a": 1,}']:
        odd.append(make_call("o" + text, "hello", text))
    odd.append(make_call("p", "hello ", "{}"))
    odd.append(make_call("q", "functions.hello", "{}"))
    odd.append(make_call("r", "birth year", "{}"))
    look(run, [make_reply(odd), ANSWER], 8, faults)
    return faults
