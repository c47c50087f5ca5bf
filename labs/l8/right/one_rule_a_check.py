"""A check for each rule, with asserts that are caught and counted; talks on every channel."""

import json
import logging
import sys
import warnings

logging.basicConfig(level=logging.INFO)
USER = [
    {"role": "developer", "content": "Short."},
    {"role": "system", "content": "."},
    {"role": "user", "content": "?"},
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
    assert [m["tool_call_id"] for m in said if m["role"] == "tool"] == ["q9", "q3", "q7", "q9"]
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
    )
    record = lead(run, [calls, END], {"bad": {"raises": "disk 7 is gone"}, "good": {"returns": 5}})
    contents = [m["content"] for m in record["messages"] if m["role"] == "tool"]
    assert len(contents) == 5 and contents[4] == "5"
    assert all("error" in content.casefold() for content in contents[:4])
    assert "disk 7 is gone" in contents[0] and "none_such" in contents[1]
    assert sorted(map(str, record["executed"])) == ["['bad', {}]", "['good', {}]"]
    assert record["messages"][-1] == END


def limit(run):
    record = lead(
        run, [asks((f"z{n}", "a", "{}"), (f"y{n}", "a", "{}")) for n in range(12)], {"a": {"returns": 0}}, 4
    )
    assert len(record["requests"]) == 4
    assert [m.get("tool_call_id") for m in record["messages"][3:]][-3:] == [None, "z3", "y3"]


def faults_of(run):
    faults = []
    for rule in (whole_conversations, callers_list, errors_are_results, limit):
        warnings.warn(f"checking {rule.__name__}", stacklevel=1)
        print("checking", rule.__name__, flush=True)
        try:
            rule(run)
        except Exception as error:
            logging.info("found %r", error)
            print("broken:", repr(error), file=sys.stderr)
            faults.append(f"{rule.__name__}: {error!r}")
    return faults
