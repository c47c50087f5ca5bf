"""Datasets whose turns hold calls and their results as text."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoolab import Trace
from zoolab_connect.imported import read_conversations


def read(folder: Path, *turns: tuple[str, str], **row: Any) -> Trace:
    told = [{"from": who, "value": said} for who, said in turns]
    (folder / "row.json").write_text(json.dumps({**row, "conversations": told}))
    [trace] = read_conversations(folder / "row.json")
    return trace


def calls_of(trace: Trace) -> list[tuple[str, str, str]]:
    """Each call of a trace: its name, its arguments, and its result."""
    results = {m["tool_call_id"]: m["content"] for m in trace.messages if m["role"] == "tool"}
    calls = [call for m in trace.messages for call in m.get("tool_calls") or ()]
    return [(c["function"]["name"], c["function"]["arguments"], results.get(c["id"], "")) for c in calls]


def hermes(*calls: str) -> str:
    return "\n".join(f"<tool_call>\n{each}\n</tool_call>" for each in calls)


ONE, TWO = '{"name": "f", "arguments": {"a": 1}}', '{"name": "f", "arguments": {"a": 2}}'


def test_calls_in_the_text_of_hermes_have_their_results(tmp_path: Path):
    trace = read(
        tmp_path,
        ("human", "Hi"),
        ("gpt", f"I look.\n{hermes(ONE, TWO)}"),
        ("tool", "<tool_response>\n7\n</tool_response>\n<tool_response>\n8\n</tool_response>"),
        ("gpt", "Done"),
    )
    assert calls_of(trace) == [("f", '{"a": 1}', "7"), ("f", '{"a": 2}', "8")]
    assert [m["content"] for m in trace.messages if m["role"] == "assistant"] == ["I look.", "Done"]


def test_calls_in_the_text_of_toolace_are_matched_by_name(tmp_path: Path):
    results = [{"name": "g", "results": 8}, {"name": "f", "results": 7}]
    trace = read(
        tmp_path,
        ("user", "Hi"),
        ("assistant", "[f(a=1), g()]"),
        ("tool", json.dumps(results)),
        ("assistant", "Done"),
    )
    assert [(name, "7" in result) for name, _, result in calls_of(trace)] == [("f", True), ("g", False)]


def test_a_result_belongs_to_the_calls_just_before_it(tmp_path: Path):
    trace = read(
        tmp_path,
        ("human", "Hi"),
        ("gpt", hermes(ONE, TWO)),
        ("tool", "7"),
        ("gpt", hermes('{"name": "f", "arguments": {"a": 3}}')),
        ("tool", "9"),
    )
    assert [result for _, _, result in calls_of(trace)] == ["7", "", "9"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            hermes("{'arguments': {}, 'name': 'f'}"),
            "conversations[1]: the text looks like the begin of a call",
        ),
        ("[Get Weather(city=1)]", "conversations[2]: it is the result of a call that was not found"),
        (f"{hermes(ONE)}\nWait.", 'conversations[1]: the text after its calls is left out: "Wait."'),
    ],
)
def test_what_is_not_read_of_a_call_in_a_text_is_named(tmp_path: Path, text: str, named: str):
    trace = read(tmp_path, ("human", "Hi"), ("gpt", text), ("tool", "7"))
    assert any(line.startswith(named) for line in trace.meta["not_read"])


def test_a_text_about_calls_is_no_call_in_a_conversation_without_tools(tmp_path: Path):
    text = f"Write {ONE} to call it."
    trace = read(tmp_path, ("human", "How?"), ("gpt", text))
    assert (trace.answer, trace.meta) == (text, {})


def test_turns_with_roles_keep_their_model_and_name_what_stands_beside(tmp_path: Path):
    turns = [{"role": "user", "content": "Hi", "toxic": True}, {"role": "assistant", "content": "Hello"}]
    (tmp_path / "row.json").write_text(json.dumps({"model": "m", "conversation": turns, "turn": 1}))
    [trace] = read_conversations(tmp_path / "row.json")
    assert (trace.answer, trace.meta["model"]) == ("Hello", "m")
    assert [line.partition(":")[0] for line in trace.meta["not_read"]] == ["conversation[0].toxic", "turn"]
