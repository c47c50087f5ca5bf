"""What other programs have written becomes traces: spans, logs of Inspect AI, requests of five APIs."""

import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Replay, Scripted, ToolRegistry, Trace, run, walk
from zoolab.apis import APIS
from zoolab.errors import InvalidInput
from zoolab.records import Request
from zoolab.toolbox.starter import add, check_status, get_weather
from zoolab_connect.imported import read_conversations
from zoolab_connect.readers.messages import call

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
        ("a.json", '{"samples": [{"messages": 7}]}', r"samples\[0\].messages: it is 7; expected a list"),
        ("a.json", '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": 1}]}]}]}', "not known"),
        ("a.json", '{"samples": [{"messages": []}]}', r"samples\[0\]: it has no messages"),
        ("a.json", '{"object": "' + "x" * 300 + '"}', "form that is not known: expected an object"),
        ("a.eval", "PK", "a.eval cannot be read: it is not JSON"),
        ("a.eval", "PK\x03\x04", "the archive is damaged"),
        ("a.yaml", "interactions: [", "it is not YAML"),
    ],
)
def test_what_is_no_conversation_is_one_clear_line(tmp_path: Path, name: str, content: str, said: str):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_conversations(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_conversations(tmp_path / "missing.json")


# Spans.

CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Graz"}}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Weather in Graz?"}]}
CALLED = {"role": "assistant", "parts": [CALL]}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}]}


def in_otlp(value: Any) -> dict[str, Any]:
    """A value in OTLP's form, with its type as the key."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [in_otlp(each) for each in value]}}
    pairs = [{"key": key, "value": in_otlp(each)} for key, each in value.items()]
    return {"kvlistValue": {"values": pairs}}


def span(asked: list[Any], answered: list[Any], structured: bool = False, **more: Any) -> dict[str, Any]:
    told = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered, **more.pop("told", {})}
    form = (
        in_otlp
        if structured
        else lambda value: in_otlp(value if isinstance(value, str) else json.dumps(value))
    )
    attributes = [{"key": key, "value": form(value)} for key, value in told.items()]
    return {"traceId": "t1", "spanId": "s1", "name": "chat m", "attributes": attributes, **more}


def spans(*told: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(told)}]}]}


def said(traces: list[Trace]) -> list[list[Any]]:
    return [[message["content"] for message in trace.messages] for trace in traces]


def test_the_system_prompt_of_a_span_is_a_message(tmp_path: Path):
    told = {"gen_ai.system_instructions": [{"type": "text", "content": "Speak like a pirate."}]}
    [trace] = read_conversations(written(tmp_path, spans(span([ASKED], [ANSWER], told=told))))
    assert trace.messages[0] == {"role": "system", "content": "Speak like a pirate."}


def test_reasoning_is_kept_apart_from_the_answer(tmp_path: Path):
    thought = {"type": "reasoning", "content": "Graz is in Austria."}
    answer = {"role": "assistant", "parts": [thought, *ANSWER["parts"]]}
    [trace] = read_conversations(written(tmp_path, spans(span([ASKED], [answer]))))
    assert trace.answer == "Rain."
    assert trace.messages[1]["content"][0] == {"type": "reasoning", "text": "Graz is in Austria."}


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ({"type": "uri", "modality": "image", "uri": "https://example.org/a.png"}, "image"),
        ({"type": "blob", "mime_type": "audio/wav", "content": "AAAA"}, "audio"),
        ({"type": "file", "mime_type": "application/pdf", "file_id": "f1"}, "file"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "image"),
        ({"type": "hologram", "content": 7}, "hologram"),
    ],
)
def test_what_is_not_text_is_named_in_its_place_and_among_what_was_not_read(
    tmp_path: Path, part: dict[str, Any], word: str
):
    asked = {"role": "user", "parts": [{"type": "text", "content": "Look:"}, part]}
    [trace] = read_conversations(written(tmp_path, spans(span([asked], [ANSWER]))))
    assert trace.messages[0]["content"] == f"Look:\n[{word}, not shown]"
    assert trace.meta["not_read"][0].startswith(f"gen_ai.input.messages[0].parts[1]: {word}, not shown")
    for page in (trace.to_html(), trace.to_html(interactive=True), trace.to_markdown()):
        assert "not read" in page.lower()


def test_content_may_stand_in_place_of_parts_and_calls_beside_it(tmp_path: Path):
    function = {"name": "get_weather", "arguments": '{"city": "Graz"}'}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}
    told = [{"role": "user", "content": "Weather?"}, called]
    told += [{"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "rain"}]}]
    [trace] = read_conversations(
        written(tmp_path, spans(span(told, [{"role": "assistant", "content": "Rain."}])))
    )
    assert said([trace]) == [["Weather?", "", "rain", "Rain."]]
    assert trace.tool_calls[0].arguments == '{"city": "Graz"}'


def test_every_conversation_and_branch_of_a_trace_is_one(tmp_path: Path):
    other = {"role": "user", "parts": [{"type": "text", "content": "Another?"}]}
    sun = {"role": "assistant", "parts": [{"type": "text", "content": "Sun."}]}
    told = spans(
        span([ASKED], [CALLED]),
        span([ASKED, CALLED, RESULT], [ANSWER], spanId="s2"),
        span([other], [ANSWER], spanId="s3", parentSpanId="s2", told={"gen_ai.agent.name": "helper"}),
        span([ASKED], [ANSWER, sun], spanId="s4"),
        span([ASKED], [ANSWER], spanId="s5", told={"gen_ai.operation.name": "invoke_agent"}),
    )
    traces = read_conversations(written(tmp_path, told))
    whole = ["Weather in Graz?", "", "rain", "Rain."]
    assert said(traces) == [
        whole,
        ["Another?", "Rain."],
        ["Weather in Graz?", "Rain."],
        ["Weather in Graz?", "Sun."],
    ]
    assert traces[1].meta["agent"] == "helper"


def test_the_same_conversation_twice_is_shown_once_and_noted(tmp_path: Path):
    told = spans(span([ASKED], [ANSWER]), span([ASKED], [ANSWER], spanId="s2"))
    [trace] = read_conversations(written(tmp_path, told))
    assert "it says the same as spans[0]" in trace.meta["not_read"][0]


@pytest.mark.parametrize("structured", [True, False])
def test_attributes_are_text_or_structured(tmp_path: Path, structured: bool):
    [trace] = read_conversations(
        written(tmp_path, spans(span([ASKED, CALLED, RESULT], [ANSWER], structured)))
    )
    assert said([trace]) == [["Weather in Graz?", "", "rain", "Rain."]]


def test_lines_of_a_collector_and_noise_between_them_are_read(tmp_path: Path):
    lines = [json.dumps(spans(span([ASKED], [ANSWER], traceId=f"t{number}"))) for number in range(2)]
    (tmp_path / "a.json").write_text("\n".join([lines[0], "a warning", lines[1]]) + "\n")
    traces = read_conversations(tmp_path / "a.json")
    assert said(traces) == [["Weather in Graz?", "Rain."]] * 2
    assert traces[0].meta["not_read"] == ["line 2: not JSON, left out: expecting value at line 2 column 1"]


def test_what_the_console_exporter_prints_is_read(tmp_path: Path):
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    provider = sdk.TracerProvider()
    printed = io.StringIO()
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=printed)))
    WALKED.to_otel(provider, content=True)
    (tmp_path / "out.txt").write_text(printed.getvalue())
    [trace] = read_conversations(tmp_path / "out.txt")
    assert [step.kind for step in trace.steps] == KINDS
    assert trace.answer == "It is 100."


@pytest.mark.parametrize(
    "told",
    [
        {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Weather?"},
        {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Weather?"},
        {"events": [{"event.name": "gen_ai.user.message", "content": "Weather?"}]},
        {"pydantic_ai.all_messages": [{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]},
    ],
)
def test_older_conventions_are_read(tmp_path: Path, told: dict[str, Any]):
    older = span([], [], told=told)
    older["attributes"] = older["attributes"][2:]
    [trace] = read_conversations(written(tmp_path, spans(older)))
    assert said([trace]) == [["Weather?"]]


def test_a_part_that_was_cut_costs_itself(tmp_path: Path):
    cut = span([], [ANSWER])
    cut["attributes"][0]["value"] = {"stringValue": '[{"role": "user", "par'}
    untold = span([], [], spanId="s2")
    untold["attributes"] = []
    [trace] = read_conversations(written(tmp_path, spans(cut, untold)))
    assert said([trace]) == [["Rain."]]
    without, left_out = trace.meta["not_read"]
    assert "chat m" in without
    assert "it has no messages" in without
    assert "gen_ai.input.messages: left out: it is not JSON" in left_out


# Logs of Inspect AI.


def logged(folder: Path, *samples: dict[str, Any]) -> list[Trace]:
    path = folder / "log.json"
    path.write_text(json.dumps({"eval": {"task": "t", "model": "m"}, "samples": samples}))
    return read_conversations(path)


def test_scores_errors_and_limits_of_a_sample_are_told(tmp_path: Path):
    scores = {"match": {"value": float("nan"), "explanation": "no answer"}}
    limited = {**SAMPLE, "limit": {"type": "token", "limit": 100}}
    one, two, three = logged(
        tmp_path, {**SAMPLE, "scores": scores}, {**SAMPLE, "error": {"message": "boom"}}, limited
    )
    assert one.meta["scores"] == {"match": "NaN"}
    assert one.meta["explanations"] == {"match": "no answer"}
    assert one.meta["model"] == "m"
    assert (two.outcome, two.error) == ("failed", "boom")
    assert (three.outcome, three.error) == ("loop_limit", "the limit of token was reached: 100")


def test_arguments_that_did_not_parse_are_shown_as_they_were(tmp_path: Path):
    why = "Error parsing the following tool call arguments:\n\n{city:\n\nError details: expected a name"
    call = {"id": "c", "function": "f", "arguments": {}, "parse_error": why}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    [trace] = logged(tmp_path, {"id": 1, "messages": [SAMPLE["messages"][0], asked]})
    assert trace.tool_calls[0].arguments == "{city:"
    assert trace.meta["not_read"][0].startswith(
        "samples[0].messages[1].tool_calls[0].arguments: they could not"
    )


def test_a_sample_without_messages_is_named(tmp_path: Path):
    one, two = logged(tmp_path, SAMPLE, {"id": 7, "messages": []})
    assert (one.answer, two.meta["sample"], two.steps, two.outcome) == ("Sorry.", "7", [], "open")
    assert two.meta["not_read"] == ["samples[1]: it has no messages"]
    assert "1 place of the file not read" in two.to_html()


def test_long_texts_that_a_log_keeps_apart_are_put_back(tmp_path: Path):
    asked = {"role": "user", "content": "attachment://a1"}
    [trace] = logged(tmp_path, {"id": 1, "messages": [asked], "attachments": {"a1": "Long."}})
    assert said([trace]) == [["Long."]]


def archive(path: Path, packed: bool) -> Path:
    """An `.eval` file; `zipfile` of older Pythons writes no Zstandard, so its members are packed by hand."""
    members = {"header.json": {"eval": {"model": "m"}}, "samples/1_epoch_1.json": SAMPLE, "other.bin": 1}
    with zipfile.ZipFile(path, "w") as made:
        for name, content in members.items():
            made.writestr(name, json.dumps(content))
    if not packed:
        return path
    import zstandard

    plain, body, directory = path.read_bytes(), b"", b""
    with zipfile.ZipFile(path) as read:
        for member in read.infolist():
            small = zstandard.compress(read.read(member))
            name = member.filename.encode()
            sizes = struct.pack("<LLL", member.CRC, len(small), member.file_size)
            common = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
            directory += b"PK\x01\x02" + struct.pack("<H", 63) + common
            directory += struct.pack("<HHHLL", 0, 0, 0, 0, len(body)) + name
            body += b"PK\x03\x04" + common + name + small
    assert plain
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 3, 3, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_is_known_by_what_is_in_it(tmp_path: Path, packed: bool):
    path = archive(tmp_path / "log.bin", packed)
    [trace] = read_conversations(path)
    assert (trace.answer, trace.meta["model"]) == ("Sorry.", "m")
    if packed:
        path.write_bytes(path.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"))
        with pytest.raises(InvalidInput, match="the archive is damaged"):
            read_conversations(path)


# Exchanges and exports.

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Weather?"}]}
REPLY = {"choices": [{"message": {"role": "assistant", "content": "Rain."}, "finish_reason": "stop"}]}
STREAM = 'data: {"choices":[{"index":0,"delta":{"content":"Rain."}}]}\n\ndata: [DONE]\n\n'


def exchange(
    body: Any, answer: Any, uri: str = "https://api.example.org/v1/chat/completions"
) -> dict[str, Any]:
    asked = {"method": "POST", "uri": uri, "body": json.dumps(body), "headers": {}}
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {"request": asked, "response": {"status": {"code": 200}, "body": {"string": text}}}


@pytest.mark.parametrize("as_yaml", [True, False])
@pytest.mark.parametrize("answer", [REPLY, STREAM])
def test_cassettes_are_read(tmp_path: Path, answer: Any, as_yaml: bool):
    others = exchange({"input": 7}, {}, "https://api.example.org/v1/embeddings?key=abc")
    content = {"version": 1, "interactions": [exchange(CHAT, answer), others]}
    path = tmp_path / "cassette"
    path.write_text(yaml.safe_dump(content) if as_yaml else json.dumps(content))
    [trace] = read_conversations(path)
    assert said([trace]) == [["Weather?", "Rain."]]
    assert trace.meta["model"] == "m"
    [line] = trace.meta["not_read"]
    assert line.startswith("interactions[1]")
    assert "abc" not in line


def test_a_request_that_a_later_one_repeats_is_no_conversation_of_its_own(tmp_path: Path):
    longer = [
        *CHAT["messages"],
        {"role": "assistant", "content": "Rain."},
        {"role": "user", "content": "Sure?"},
    ]
    content = {"interactions": [exchange(CHAT, REPLY), exchange({**CHAT, "messages": longer}, REPLY)]}
    [trace] = read_conversations(written(tmp_path, content))
    assert said([trace]) == [["Weather?", "Rain.", "Sure?", "Rain."]]


HUMAN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "HumanMessage"],
    "kwargs": {"content": "Weather?"},
}
GENERATED = {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "Rain."}}
EXPORTS = {
    "langfuse": {
        "id": "t",
        "observations": [
            {"type": "SPAN", "name": "other"},
            {
                "type": "GENERATION",
                "input": CHAT["messages"],
                "output": {"role": "assistant", "content": "Rain."},
            },
        ],
    },
    "langsmith": {
        "runs": [
            {"run_type": "chain", "name": "other"},
            {
                "run_type": "llm",
                "inputs": {"messages": [[HUMAN]]},
                "outputs": {"generations": [[{"text": "Rain.", "message": GENERATED}]]},
            },
        ]
    },
    "promptfoo": {
        "version": 3,
        "results": {"results": ["other", {"prompt": {"raw": "Weather?"}, "response": {"output": "Rain."}}]},
    },
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_are_read(tmp_path: Path, name: str):
    [trace] = read_conversations(written(tmp_path, EXPORTS[name]))
    assert said([trace]) == [["Weather?", "Rain."]]
    assert len(trace.meta["not_read"]) == 1


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_a_file_may_begin_with_a_mark_of_its_coding(tmp_path: Path, coding: str):
    (tmp_path / "a.json").write_text(json.dumps(CHAT), encoding=coding)
    assert said(read_conversations(tmp_path / "a.json")) == [["Weather?"]]


def test_what_strict_json_refuses_is_read_with_a_note(tmp_path: Path):
    (tmp_path / "a.json").write_text(
        '[{"role":"user","role":"system","content":"cut \\ud83d","score":1e999}]'
    )
    [trace] = read_conversations(tmp_path / "a.json")
    assert trace.messages == [{"role": "system", "content": "cut �"}]
    assert len(trace.meta["not_read"]) == 3


def test_a_trace_of_ours_is_known_by_what_is_in_it(tmp_path: Path):
    WALKED.save(tmp_path / "trace.txt")
    lines = tmp_path / "chats.jsonl"
    lines.write_text("\n".join(json.dumps(CHAT) for _ in range(2)))
    for file, pages in ((tmp_path / "trace.txt", 1), (lines, 2)):
        done = subprocess.run(
            [sys.executable, "-m", "zoolab", "inspect", str(file)], capture_output=True, text=True
        )
        assert (done.returncode, len(done.stdout.splitlines())) == (0, pages)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["messages", "samples", "resourceSpans", "input", "contents", "tools", "system", "max_tokens"]
KEYS += ["interactions", "observations", "runs", "results", "request", "response", "context", "attributes"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1) | st.lists(JSON, max_size=3))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, content):
    path = written(tmp_path_factory.getbasetemp(), content, "hostile.json")
    try:
        for trace in read_conversations(path):
            trace.to_html()
    except InvalidInput:
        pass


WHOLE: list[Any] = [
    spans(span([ASKED, CALLED, RESULT], [ANSWER], structured=True)),
    {"samples": [{**SAMPLE, "scores": {"a": {"value": 1}}, "limit": {"type": "token", "limit": 1}}]},
    {"interactions": [exchange(CHAT, REPLY)]},
    *EXPORTS.values(),
]


def places_in(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each part of a value, the value itself first."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in parts for place in places_in(part, (*at, key)))]


@given(st.data())
def test_one_odd_part_of_a_file_is_read_around_or_refused(tmp_path_factory: Any, data: st.DataObject):
    content = json.loads(json.dumps(data.draw(st.sampled_from(WHOLE))))
    place = data.draw(st.sampled_from(places_in(content)[1:]))
    at = content
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = data.draw(JSON)
    path = written(tmp_path_factory.getbasetemp(), content, "odd.json")
    try:
        for trace in read_conversations(path):
            trace.to_html()
            trace.to_markdown()
    except InvalidInput:
        pass


def test_inspect_writes_a_page_for_each_conversation(tmp_path: Path):
    log = written(tmp_path, {"samples": [SAMPLE, SAMPLE]}, "log.json")
    command = [sys.executable, "-m", "zoolab", "inspect", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pages = [Path(line) for line in done.stdout.splitlines()]
    assert [page.name for page in pages] == ["log-1.html", "log-2.html"]
    assert all("Sorry." in page.read_text("utf-8") for page in pages)


def asks(name: str, number: Any = None) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": {}, **({} if number is None else {"id": number})}


def answers(said: str, number: Any = None, **more: Any) -> dict[str, Any]:
    part = {"type": "tool_call_response", "response": said, **({} if number is None else {"id": number})}
    return {"role": "tool", "parts": [part], **more}


@pytest.mark.parametrize("number", [None, "c"])
def test_results_find_their_calls_without_an_id_of_their_own(tmp_path: Path, number: Any):
    messages = [
        {"role": "user", "parts": [{"type": "text", "content": "Go"}]},
        {"role": "assistant", "parts": [asks("f", number), asks("g", number)]},
        answers("of f", number),
        answers("of g", number),
    ]
    [trace] = read_conversations(written(tmp_path, messages))
    calls = trace.turns[0].calls
    assert [(call.call.name, call.result.content) for call in calls.values()] == [
        ("f", "of f"),
        ("g", "of g"),
    ]
    assert len({call.call.id for call in calls.values()}) == 2
    assert any("no ids of their own" in line for line in trace.meta["not_read"])


@pytest.mark.parametrize(
    ("reason", "outcome"), [("length", "cut"), ("content_filter", "filtered"), ("stop", "answer")]
)
@pytest.mark.parametrize("form", ["span", "reply"])
def test_how_a_reply_ended_is_told(tmp_path: Path, reason: str, outcome: str, form: str):
    reply = {"choices": [{**REPLY["choices"][0], "finish_reason": reason}]}
    message = {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": reason}
    content = {"interactions": [exchange(CHAT, reply)]} if form == "reply" else [message]
    [trace] = read_conversations(written(tmp_path, content))
    assert trace.outcome == outcome


def test_a_stream_that_breaks_off_is_no_answer(tmp_path: Path):
    cut = STREAM.partition("data: [DONE]")[0]
    [trace] = read_conversations(written(tmp_path, {"interactions": [exchange(CHAT, cut)]}))
    assert trace.outcome == "cut"


@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_of_a_framework_are_read_in_an_object_too(tmp_path: Path, wrapped: bool):
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no disk", "is_error": True}],
        },
    ]
    [trace] = read_conversations(written(tmp_path, {"messages": messages} if wrapped else messages))
    assert [call.name for call in trace.tool_calls] == ["f"]
    assert trace.turns[0].calls[0].result.content == "ERROR: no disk"


def test_the_older_form_of_a_call_is_read_with_its_tools(tmp_path: Path):
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "7"},
    ]
    functions = [{"name": "f", "description": "Does it.", "parameters": {"type": "object"}}]
    [trace] = read_conversations(written(tmp_path, {"messages": messages, "functions": functions}))
    assert trace.turns[0].calls[0].result.content == "7"
    assert trace.turns[0].calls[0].verdict.ok


def test_a_result_within_a_message_ends_what_was_said_before_it(tmp_path: Path):
    search = {"type": "server_tool_call", "id": "s", "name": "search", "server_tool_call": {"q": 1}}
    found = {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": "a page"}
    parts = [search, found, {"type": "text", "content": "ok"}]
    messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "parts": parts}]
    [trace] = read_conversations(written(tmp_path, messages))
    assert [message["role"] for message in trace.messages] == ["user", "assistant", "tool", "assistant"]
    assert trace.answer == "ok"


def test_a_call_that_langchain_could_not_parse_is_shown(tmp_path: Path):
    odd = {"name": "f", "args": '{"a": ', "id": "c2", "error": "no JSON"}
    more = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
    message = {"type": "ai", "content": "", "invalid_tool_calls": [odd], "additional_kwargs": more}
    [trace] = read_conversations(
        written(tmp_path, [{"role": "user", "content": "Go"}, message | {"role": "ai"}])
    )
    assert [(call.name, call.arguments) for call in trace.tool_calls] == [("f", '{"a": '), ("g", "{}")]
    assert any("could not be parsed" in line for line in trace.meta["not_read"])


def test_an_imported_trace_claims_neither_a_time_nor_that_a_call_did_not_run(tmp_path: Path):
    messages = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [call("c", "f", {})]},
        {"role": "tool", "tool_call_id": "c", "content": "7"},
    ]
    [trace] = read_conversations(written(tmp_path, messages))
    page = trace.to_html()
    assert "Another program ran the call." in page
    assert "did not run" not in page
    assert "no tool has this name" not in page
    assert "under 1 ms" not in page
    assert not any(trace.started)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (
            {
                "candidates": [
                    {"content": {"parts": [{"text": "Hm", "thought": True}, {"text": "Rain."}]}},
                    {"content": {"parts": [{"text": "Sun."}]}},
                ]
            },
            ["a thought is not shown", "it has 2 answers"],
        ),
        (
            {"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}, {"text": "Rain."}]}}]},
            ["executableCode is not shown"],
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "rain"}},
                    {"type": "text", "text": "Rain."},
                ],
            },
            ["server_tool_use is not shown"],
        ),
        (
            {
                "object": "response",
                "output": [
                    {"type": "mcp_call", "name": "look", "output": "wet"},
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "Rain."}],
                    },
                ],
            },
            ["mcp_call is not shown"],
        ),
    ],
)
def test_what_a_reply_has_beside_its_message_is_named(tmp_path: Path, reply: Any, named: list[str]):
    [trace] = read_conversations(written(tmp_path, reply))
    assert trace.answer == "Rain."
    lines = trace.meta["not_read"]
    assert [any(what in line for line in lines) for what in named] == [True] * len(named)


def test_a_stream_that_was_saved_as_text_is_a_reply(tmp_path: Path):
    (tmp_path / "stream.txt").write_text(STREAM)
    [trace] = read_conversations(tmp_path / "stream.txt")
    assert trace.answer == "Rain."


def test_a_message_may_have_a_line_of_its_own(tmp_path: Path):
    lines = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Rain."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert said(read_conversations(tmp_path / "a.jsonl")) == [["Weather?", "Rain."]]


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("form", ["data", "kwargs", "plain"])
def test_messages_of_langchain_are_read_without_a_run(tmp_path: Path, form: str, wrapped: bool):
    told = [("human", "Weather?"), ("ai", "Rain.")]
    plain = [{"type": kind, "content": content} for kind, content in told]
    kept = {"data": [{"type": each["type"], "data": each} for each in plain], "plain": plain}
    ids = {"human": "HumanMessage", "ai": "AIMessage"}
    names = [["langchain", "schema", "messages", ids[each["type"]]] for each in plain]
    made = {"lc": 1, "type": "constructor"}
    kept["kwargs"] = [{**made, "id": name, "kwargs": each} for name, each in zip(names, plain, strict=True)]
    content = {"messages": kept[form]} if wrapped else kept[form]
    assert said(read_conversations(written(tmp_path, content))) == [["Weather?", "Rain."]]


def test_a_batch_keeps_its_ids_and_names_what_is_no_conversation(tmp_path: Path):
    lines = [
        {"custom_id": "a", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "b", "url": "/v1/embeddings", "body": {"model": "e", "input": "Weather?"}},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    [trace] = read_conversations(tmp_path / "a.jsonl")
    assert trace.meta["custom_id"] == "a"
    assert any("/v1/embeddings takes no conversation" in line for line in trace.meta["not_read"])
