"""A check for each rule, with asserts that are caught and counted; talks on every channel."""

import json
import logging
import sys
import warnings

logging.basicConfig(level=logging.INFO)
OLD = {"id": "q9", "type": "function", "function": {"name": "a", "arguments": "{}"}}
USER = [
    {"role": "developer", "content": "Short. "},
    {"role": "assistant", "content": None, "tool_calls": [OLD]},
    {"role": "tool", "tool_call_id": "q9", "content": "before"},
]
END = {"role": "assistant", "content": "Over."}


def asks(*calls, **more):
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls
        ],
        **more,
    }


def lead(run, replies, tools, limit=8):
    record = run([dict(message) for message in USER], replies, tools, limit=limit)
    assert record["ended"] == "returned", record["ended"]
    return record


def whole_conversations(run):
    first = asks(
        ("q9", "a", '{"n": 1}'), ("q3", "b", '{"n": 2}'), ("q7", "a", '{"n": 3}'), content="Let me see."
    )
    second = asks(("q9", "a", '{"n": 4}'))
    record = lead(run, [first, second, END], {"a": {"returns": [1.5, None]}, "b": {"returns": "text"}})
    said = record["messages"]
    assert [m["role"] for m in said[3:]] == [
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert said[:3] == USER and said[3] == first and said[7] == second and said[9] == END
    assert [m["tool_call_id"] for m in said[3:] if m["role"] == "tool"] == ["q9", "q3", "q7", "q9"]
    assert [json.loads(said[i]["content"]) for i in (4, 6, 8)] == [[1.5, None]] * 3 and said[5][
        "content"
    ] == "text"
    assert [r["messages"] for r in record["requests"]] == [said[:3], said[:7], said[:9]]
    assert all(set(r["tools"]) == {"a", "b"} for r in record["requests"])
    assert sorted(record["executed"], key=str) == [
        ["a", {"n": 1}],
        ["a", {"n": 3}],
        ["a", {"n": 4}],
        ["b", {"n": 2}],
    ]


def callers_list(run):
    assert lead(run, [asks(("x", "a", "{}")), END], {"a": {"returns": 1}})["given"] == USER


def errors_are_results(run):
    calls = asks(
        ("w1", "bad", "{}"),
        ("w2", "none_such", "{}"),
        ("w3", "good", "{"),
        ("w4", "good", '"text"'),
        ("w5", "good", "{}"),
        ("w6", "worse", "{}"),
    )
    gone = "Disk 7: gone\nand " + ", ".join(f"disk {n}" for n in range(8, 30))
    tools = {"bad": {"raises": gone}, "good": {"returns": 5}, "worse": {"raises": "no disk at all"}}
    record = lead(run, [calls, END], tools)
    contents = [m["content"] for m in record["messages"][3:] if m["role"] == "tool"]
    assert len(contents) == 6 and contents[4] == "5"
    assert all("error" in content.casefold() for content in contents[:4])
    assert gone in contents[0] and "none_such" in contents[1] and "no disk at all" in contents[5]
    assert sorted(map(str, record["executed"])) == ["['bad', {}]", "['good', {}]", "['worse', {}]"]
    assert record["messages"][-1] == END
    unknown = asks(("w7", "none_such", "{}"))
    assert lead(run, [unknown, END], tools)["messages"][3] == unknown


def values(run):
    texts = [" 12345 <X> " * 25, "one\ntwo\n", "", "77", "error? None."]
    others = [None, ["x", *range(60)], ["x"], [], {}, True, False, 0, 2.25, {"error": "no", "n": 0}]
    tools = {f"t{n}": {"returns": value} for n, value in enumerate([*texts, *others])}
    calls = asks(*((f"v{name}", name, "{}") for name in tools))
    record = lead(run, [calls, calls, END], tools)
    contents = [m["content"] for m in record["messages"][3:] if m["role"] == "tool"]
    assert contents[: len(texts)] == texts
    assert [json.loads(one) for one in contents[len(texts) : len(tools)]] == others
    assert contents == contents[: len(tools)] * 2
    assert record["requests"][1]["messages"] == record["messages"][: 4 + len(tools)]
    assert all(set(request["tools"]) == set(tools) for request in record["requests"])


def arguments(run):
    given = ['{"n":1,"m":null}', " {} ", '{"n":1,"m":null}', " {} ", '{"N": "5", "M": "{}"}', '{"n": "", "m": 0}']
    given += ['{"n": [1], "m": {"l": 2}}', json.dumps({"n": " long" * 30})]
    calls = asks(*((f"g{n}", "a", text) for n, text in enumerate(given)), content="")
    record = lead(run, [calls, calls, END], {"a": {"returns": "."}})
    assert record["messages"][3] == calls
    assert sorted(map(str, record["executed"])) == sorted(str(["a", json.loads(text)]) for text in given * 2)


def bad_arguments(run):
    texts = ["", "   ", "{} {}", "so {}", "```json\n{}\n```", "{'a': 1}", '{"a": 1,}', "null", "false", "3", '""', '"{}"']
    texts += ["[]", '[["a", 1]]', '[{"a": 1}]', "[1]", "{"]
    tools = {"a": {"returns": "."}, "b_c": {"returns": "."}}
    calls = asks(("k", "a", "{}"), *((f"k{n}", "a", text) for n, text in enumerate(texts)))
    record = lead(run, [calls, END], tools)
    assert record["messages"][3] == calls and record["executed"] == [["a", {}]]
    assert all("error" in m["content"].lower() for m in record["messages"][5:-1])
    late = lead(run, [asks(("k1", "a", "{}"), ("k2", "a", "{"))] * 2, tools, 1)
    assert late["executed"] in ([], [["a", {}]]) and len(late["messages"]) == 6
    names = ("A", "a ", "functions.a", "b c")
    record = lead(run, [asks(*(("n", name, "{}") for name in names)), END], tools)
    assert not record["executed"]
    for name, result in zip(names, record["messages"][4:-1], strict=True):
        assert name in result["content"]


def same_id(run):
    record = lead(run, [asks(("k", "a", "{}"), ("k", "b", "{}")), END], {"a": {"returns": "A"}, "b": {"returns": "B"}})
    assert [(m["tool_call_id"], m["content"]) for m in record["messages"][4:6]] == [("k", "A"), ("k", "B")]
    assert [call["id"] for call in record["messages"][3]["tool_calls"]] == ["k", "k"]


def failing_again(run):
    tools = {"a": {"raises": "no"}}
    record = lead(run, [asks(("k", "a", "{}"))] * 2 + [END], tools)
    assert len(record["executed"]) == 2 and len(record["requests"]) == 3
    for most in (2, 6):
        record = lead(run, [asks(("k", "a", "{}"))] * 7, tools, most)
        assert len(record["requests"]) == most and len(record["messages"]) == 3 + 2 * most


def silent_answer(run):
    for more in ({"tool_calls": []}, {}, {"content": None}, {"tool_calls": None}):
        silent = {"role": "assistant", "content": "", **more}
        record = lead(run, [silent, END], {})
        assert record["messages"] == [*USER, silent] and len(record["requests"]) == 1


def limits(run):
    tools = {"a": {"returns": "."}}
    for most in (1, 12):
        record = lead(run, [asks(("k", "a", "{}"))] * (most + 1), tools, most)
        assert len(record["requests"]) == most and len(record["messages"]) == 3 + 2 * most
        assert all(r["messages"] == record["messages"][: 3 + 2 * n] for n, r in enumerate(record["requests"]))
        assert all(r["tools"] == ["a"] for r in record["requests"])
    assert lead(run, [asks(("k", "a", "{}")), END], tools, 2)["messages"][-1] == END


def limit(run):
    record = lead(
        run, [asks((f"z{n}", "a", "{}"), (f"y{n}", "a", "{}")) for n in range(12)], {"a": {"returns": 0}}, 4
    )
    assert len(record["requests"]) == 4
    assert [m.get("tool_call_id") for m in record["messages"][3:]][-3:] == [None, "z3", "y3"]
    last = asks(("z", "a", "{}"), ("y", "a", "{}"), content="The last one.")
    record = lead(run, [last, last], {"a": {"returns": 0}}, 1)
    assert record["messages"][:4] == [*USER, last] and record["given"] == USER
    for result, id in zip(record["messages"][4:], "zy", strict=True):
        assert result["role"] == "tool" and result["tool_call_id"] == id and isinstance(result["content"], str)
    assert len(record["executed"]) in (0, 2)


def faults_of(run):
    faults = []
    first = (whole_conversations, callers_list, errors_are_results, limit, values, arguments, bad_arguments)
    for rule in (*first, same_id, failing_again, silent_answer, limits):
        warnings.warn(f"checking {rule.__name__}", stacklevel=1)
        print("checking", rule.__name__, flush=True)
        try:
            rule(run)
        except Exception as error:
            logging.info("found %r", error)
            print("broken:", repr(error), file=sys.stderr)
            faults.append(f"{rule.__name__}: {error!r}")
    return faults
