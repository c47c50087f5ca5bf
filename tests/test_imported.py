"""What other programs have written becomes traces: spans, logs of Inspect AI, requests of five APIs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Replay, Scripted, ToolRegistry, Trace, run, walk
from zoolab.apis import APIS
from zoolab.errors import InvalidInput
from zoolab.records import Request
from zoolab.runs.imported import read_conversations
from zoolab.toolbox.starter import add, check_status, get_weather

CALLS = [("add", {"a": 42, "b": 58})]
WALKED = run("What is 42 + 58?", [add], Scripted([CALLS, "It is 100."]))
KINDS = ["define", "request", "tool_call", "validate", "result", "request", "tool_call"]

# A sample as Inspect AI 0.3 writes it: its log API wrote these messages.
SAMPLE = {
    "id": 2,
    "epoch": 1,
    "messages": [
        {"id": "m1", "role": "user", "content": [{"type": "text", "text": "a + 1?"}]},
        {
            "id": "m2",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c2", "function": "add", "arguments": {"a": "a"}, "type": "function"}],
        },
        {
            "id": "m3",
            "role": "tool",
            "content": "",
            "tool_call_id": "c2",
            "error": {"type": "parsing", "message": "a is not an integer"},
        },
        {"id": "m4", "role": "assistant", "content": "Sorry."},
    ],
}


def written(folder: Path, content: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_spans_name_the_conversation_the_agent_and_the_model_that_was_asked():
    meta = {"agent": "adder", "conversation": "a talk"}
    trace = Trace(meta=meta)
    list(trace.follow(walk("What is 42 + 58?", [add, get_weather, check_status], Replay("starter"))))
    walked, *others = [dict(span.attributes or {}) for span in trace.to_otel()]
    chats = [each for each in others if each["gen_ai.operation.name"] == "chat"]
    assert walked["gen_ai.agent.name"] == "adder"
    assert {each["gen_ai.conversation.id"] for each in (walked, *chats)} == {"a talk"}
    assert (chats[0]["gen_ai.request.model"], chats[0]["gen_ai.request.temperature"]) == ("needle+smollm2", 0)
    [unnamed, *_] = WALKED.to_otel()
    assert dict(unnamed.attributes or {})["gen_ai.conversation.id"] == WALKED.run_id


def test_spans_of_our_own_export_come_back(tmp_path: Path):
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    from google.protobuf.json_format import MessageToDict

    spans = MessageToDict(encoder.encode_spans(WALKED.to_otel(content=True)))
    [trace] = read_conversations(written(tmp_path, spans))
    assert [step.kind for step in trace.steps] == KINDS
    assert (trace.answer, trace.outcome) == ("It is 100.", "answer")
    assert json.loads(trace.tool_calls[0].arguments) == {"a": 42, "b": 58}
    assert [each["role"] for each in trace.messages] == [each["role"] for each in WALKED.messages]


def test_a_log_of_inspect_ai_is_one_trace_a_sample(tmp_path: Path):
    log = {"version": 2, "status": "success", "eval": {}, "samples": [SAMPLE, {**SAMPLE, "id": "two"}]}
    one, two = read_conversations(written(tmp_path, log))
    assert (one.meta["sample"], two.meta["sample"]) == ("2", "two")
    assert [step.kind for step in one.steps] == ["request", "tool_call", "result", "request", "tool_call"]
    assert one.steps[2].record.content == "ERROR: a is not an integer"
    assert one.answer == "Sorry."


@pytest.mark.parametrize("api", APIS)
def test_the_request_of_an_api_is_read(tmp_path: Path, api: str):
    request = Request(WALKED.messages, tuple(ToolRegistry([add]).schemas()))
    [trace] = read_conversations(written(tmp_path, APIS[api].to_body(request)))
    assert trace.answer == "It is 100."
    assert [call.name for call in trace.tool_calls] == ["add"]
    assert trace.turns[0].calls[0].verdict.ok


def test_a_list_of_messages_is_a_conversation(tmp_path: Path):
    [trace] = read_conversations(written(tmp_path, list(WALKED.messages)))
    assert trace.answer == "It is 100."


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", "{", "cannot be read"),
        ("a.json", "[]", "holds no conversation"),
        ("a.json", '{"samples": [{"messages": 7}]}', "form that is not known"),
        ("a.json", '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": 1}]}]}]}', "not known"),
        ("a.eval", "PK", "inspect log convert a.eval --to json"),
    ],
)
def test_what_is_no_conversation_is_one_clear_line(tmp_path: Path, name: str, content: str, said: str):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_conversations(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_conversations(tmp_path / "missing.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["messages", "samples", "resourceSpans", "input", "contents", "tools", "system", "max_tokens"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1) | st.lists(JSON, max_size=3))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, content):
    path = written(tmp_path_factory.getbasetemp(), content, "hostile.json")
    try:
        for trace in read_conversations(path):
            trace.to_html()
    except InvalidInput:
        pass


def test_inspect_writes_a_page_for_each_conversation(tmp_path: Path):
    log = written(tmp_path, {"samples": [SAMPLE, SAMPLE]}, "log.json")
    command = [sys.executable, "-m", "zoolab", "inspect", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pages = [Path(line) for line in done.stdout.splitlines()]
    assert [page.name for page in pages] == ["log-1.html", "log-2.html"]
    assert all("Sorry." in page.read_text("utf-8") for page in pages)
