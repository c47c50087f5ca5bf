"""Forms in which other programs write conversations: each is read, or what was not read is named."""

import base64
import gzip
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from zoolab.errors import InvalidInput
from zoolab_connect.imported import read_conversations

ASK = {"role": "user", "content": "Weather?"}
SAID = {"role": "assistant", "content": "Rain."}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
TOOL = {"type": "function", "function": {"name": "now"}}
CHAT = {"model": "m", "messages": [ASK]}
REPLY = {"object": "chat.completion", "choices": [{"index": 0, "message": SAID}]}
DECLARED = {"tools": [{"functionDeclarations": [TOOL["function"]]}]}
MODEL = {"langfuse.observation.type": "generation"}
PARTS_IN = [{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]
PARTS_OUT = [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}]}]
GEN_AI = {"gen_ai.input.messages": json.dumps(PARTS_IN), "gen_ai.output.messages": json.dumps(PARTS_OUT)}
#: What each of the files below says.
TALK = [["user", "Weather?"], ["assistant", "Rain."]]


def value_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": value_of(v)} for k, v in value.items()]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def listed(told: dict[str, Any]) -> list[Any]:
    return [
        {"key": k, "value": {"stringValue": v if isinstance(v, str) else json.dumps(v)}}
        for k, v in told.items()
    ]


def spans(*attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    each = [
        {"traceId": "t", "spanId": f"s{n}", "name": "chat m", "attributes": listed(told), **more}
        for n, told in enumerate(attributes)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": each}]}]}


def event(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"traceId": "t", "spanId": "s0", "eventName": name, "attributes": [], "body": value_of(body)}


EVENTS = [
    event("gen_ai.user.message", {"content": "Weather?"}),
    event("gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "Rain."}}),
]
LOGS = {"resourceLogs": [{"scopeLogs": [{"logRecords": EVENTS}]}]}
CONTENT = [
    {"name": "gen_ai.content.prompt", "attributes": listed({"gen_ai.prompt": [ASK]})},
    {"name": "gen_ai.content.completion", "attributes": listed({"gen_ai.completion": "Rain."})},
]
NESTED = {
    "llm": {"input_messages": [{"message": ASK}], "output_messages": [{"message": SAID}]},
    "openinference": {"span": {"kind": "LLM"}},
}
IDS = {"trace_id": "t", "span_id": "s"}
ROW = {
    "name": "ChatCompletion",
    "context.span_id": "s",
    "context.trace_id": "t",
    "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Weather?"}],
    "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Rain."}],
}
JAEGER = {
    "traceID": "t",
    "spanID": "s",
    "operationName": "chat m",
    "references": [],
    "tags": [{"key": k, "type": "string", "value": v} for k, v in GEN_AI.items()],
}
FORMS: dict[str, Any] = {
    "events of a log": LOGS,
    "a span and its events in a log": [spans({"gen_ai.operation.name": "chat"}), LOGS],
    "events with the whole prompt": spans({"gen_ai.operation.name": "chat"}, events=CONTENT),
    "the whole prompt": spans({"gen_ai.prompt": [ASK], "gen_ai.completion": [SAID]}),
    "Logfire": spans({"request_data": CHAT, "response_data": {"message": SAID}}),
    "rows of Logfire": [{**IDS, "span_name": "chat m", "attributes": GEN_AI}],
    "the AI SDK": spans({"ai.prompt.messages": [ASK], "ai.response.text": "Rain."}),
    "values of OpenInference": spans(
        {"openinference.span.kind": "LLM", "input.value": CHAT, "output.value": "Rain."}
    ),
    "rows of Phoenix": [ROW],
    "nested attributes of Phoenix": {"data": [{"name": "x", "context": IDS, "attributes": NESTED}]},
    "attributes of Phoenix as text": [{"name": "x", "context": IDS, "attributes": json.dumps(NESTED)}],
    "Jaeger": {"data": [{"traceID": "t", "spans": [JAEGER], "processes": {}}]},
    "Tempo": {"trace": spans(GEN_AI)},
    "a table of Phoenix, by columns": {name: {"0": value} for name, value in ROW.items()},
    "a table of Phoenix, by rows": {"0": ROW},
    "a table of Phoenix, split": {"columns": [*ROW], "index": [0], "data": [[*ROW.values()]]},
    "a table of Phoenix with its schema": {"schema": {"fields": []}, "data": [{"index": 0, **ROW}]},
    "a table of Logfire, by rows": {
        "columns": [],
        "rows": [{**IDS, "span_name": "chat m", "attributes": GEN_AI}],
    },
    "a table of Logfire, by columns": {
        "columns": [{"name": k, "values": [v]} for k, v in {**IDS, "attributes": GEN_AI}.items()]
    },
    "Zipkin": [{"traceId": "t", "id": "s", "name": "chat m", "tags": GEN_AI}],
    "Inspect AI without messages": {
        "status": "success",
        "eval": {},
        "samples": [{"id": 1, "epoch": 1, "input": [ASK], "output": {"choices": [{"message": SAID}]}}],
    },
    "Langfuse, bodies of Gemini": [
        {
            "type": "GENERATION",
            "input": {"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]},
            "output": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Rain."}]}}]},
        }
    ],
    "Langfuse, arguments of Google's client": [
        {
            "type": "GENERATION",
            "input": {"model": "m", "contents": "Weather?", "config": {"temperature": 0}},
            "output": json.dumps({"candidates": [{"content": {"parts": [{"text": "Rain."}]}}]}),
        }
    ],
    "LangSmith, the state of a graph": {
        "run_type": "chain",
        "name": "LangGraph",
        "inputs": {"messages": [{"type": "human", "content": "Weather?"}]},
        "outputs": {
            "messages": [{"type": "human", "content": "Weather?"}, {"type": "ai", "content": "Rain."}]
        },
    },
    "Langfuse, observations": [
        {"type": "GENERATION", "traceId": "t", "input": {"messages": [ASK]}, "output": SAID}
    ],
    "Langfuse, its API": {"data": [{"type": "GENERATION", "input": "Weather?", "output": "Rain."}]},
    "Langfuse, traces": [{"id": "t", "sessionId": None, "input": "Weather?", "output": "Rain."}],
    "LangSmith, examples": [{"inputs": {"messages": [ASK]}, "outputs": {"text": "Rain."}}],
    "promptfoo, a line each": {"prompt": {"raw": json.dumps([ASK])}, "response": {"output": "Rain."}},
    "HAR": {
        "log": {
            "entries": [
                {
                    "request": {"url": "https://a/v1", "postData": {"text": json.dumps(CHAT)}},
                    "response": {"status": 200, "content": {"size": 1, "text": json.dumps(REPLY)}},
                }
            ]
        }
    },
    "a log of LiteLLM": {**CHAT, "response": REPLY},
    "ShareGPT": {
        "conversations": [{"from": "human", "value": "Weather?"}, {"from": "gpt", "value": "Rain."}]
    },
    "a prompt and its completion": {"prompt": "Weather?", "completion": "Rain."},
    "a session": [
        {"type": "user", "sessionId": "s", "message": ASK},
        {"type": "assistant", "sessionId": "s", "message": SAID},
    ],
}


def written(folder: Path, content: Any) -> Path:
    path = folder / "file"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def said(path: Path) -> list[list[list[Any]]]:
    return [[[m["role"], m.get("content")] for m in each.messages] for each in read_conversations(path)]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read(tmp_path: Path, name: str):
    assert said(written(tmp_path, FORMS[name])) == [TALK]


@pytest.mark.parametrize(
    ("kind", "text", "content"),
    [
        ("text", "Soon.", "Soon.\nRain."),
        ("text", "Rain.", "Rain."),
        ("reasoning", "Hm.", [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Rain."}]),
    ],
)
def test_the_content_of_a_message_and_its_parts_are_both_read(
    tmp_path: Path, kind: str, text: str, content: Any
):
    answer, part = "llm.output_messages.0.message", "contents.0.message_content"
    told = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi"}
    told |= {f"{answer}.role": "assistant", f"{answer}.content": "Rain."}
    told |= {f"{answer}.{part}.type": kind, f"{answer}.{part}.text": text}
    assert said(written(tmp_path, spans(told))) == [[["user", "Hi"], ["assistant", content]]]


CHOICES = {"choices": [{"index": 0, "message": SAID}, {"index": 1, "message": {**SAID, "content": "Sun."}}]}
CHAINED = [{"text": text, "generation_info": {}} for text in ("Rain.", "Sun.")]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "GENERATION", "input": [ASK], "output": CHOICES}],
        {"run_type": "llm", "inputs": CHAT, "outputs": CHOICES},
        {"run_type": "llm", "inputs": CHAT, "outputs": {"generations": [CHAINED]}},
        spans({"langfuse.observation.input": CHAT, "langfuse.observation.output": CHOICES, **MODEL}),
    ],
)
def test_several_answers_are_a_conversation_each(tmp_path: Path, content: Any):
    assert said(written(tmp_path, content)) == [TALK, [TALK[0], ["assistant", "Sun."]]]


@pytest.mark.parametrize(
    "content",
    [
        {"prompt": {"raw": json.dumps([ASK])}, "response": {"output": CHOICES}},
        {"status": "success", "eval": {}, "samples": [{"input": [ASK], "output": CHOICES}]},
    ],
)
def test_further_answers_are_named(tmp_path: Path, content: Any):
    [trace] = read_conversations(written(tmp_path, content))
    assert [[m["role"], m["content"]] for m in trace.messages] == TALK
    assert any("it has 2 answers; the first one is shown" in line for line in trace.meta["not_read"])


def test_a_choice_says_why_it_ended(tmp_path: Path):
    cut = {"choices": [{"finish_reason": "length", "message": SAID}]}
    [trace] = read_conversations(written(tmp_path, [{"type": "GENERATION", "input": [ASK], "output": cut}]))
    assert trace.outcome == "cut"


def test_json_that_a_model_wrote_is_no_choice(tmp_path: Path):
    text = json.dumps([{"message": {"subject": "a"}}, {"message": {"subject": "b"}}])
    assert said(written(tmp_path, {"prompt": "Hi", "completion": text})) == [
        [["user", "Hi"], ["assistant", text]]
    ]


def test_a_graph_is_told_by_the_runs_of_its_model_if_there_are_any(tmp_path: Path):
    state = {"messages": [{"type": "human", "content": "Weather?"}]}
    asked = {"run_type": "llm", "inputs": CHAT, "outputs": REPLY}
    graph = {"run_type": "chain", "name": "LangGraph", "inputs": state, "outputs": state}
    traces = read_conversations(written(tmp_path, {**graph, "child_runs": [asked]}))
    assert [[[m["role"], m["content"]] for m in trace.messages] for trace in traces] == [TALK]
    assert "LangGraph" in traces[0].meta["not_read"][0]


def exchanges(request: Any, response: Any, **headers: Any) -> dict[str, Any]:
    asked = {"method": "POST", "uri": "https://a.example/v1/chat/completions", "body": request}
    return {"interactions": [{"request": asked, "response": {"headers": headers, **response}}]}


PACKED = json.dumps(REPLY).encode()
BODIES: dict[str, Any] = {
    "base64": {"body": {"base64_string": base64.b64encode(PACKED).decode()}},
    "gzip": {"body": {"base64_string": base64.b64encode(gzip.compress(PACKED)).decode()}},
    "deflate": {
        "headers": {"Content-Encoding": ["deflate"]},
        "body": {"base64_string": base64.b64encode(zlib.compress(PACKED)).decode()},
    },
    "httpx of older versions": {"content": PACKED.decode(), "status_code": 200, "http_version": "HTTP/1.1"},
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_cassettes_are_unpacked(tmp_path: Path, name: str):
    assert said(written(tmp_path, exchanges(json.dumps(CHAT), BODIES[name]))) == [TALK]


def test_what_an_error_of_an_endpoint_says_is_told(tmp_path: Path):
    body = {"string": json.dumps({"error": {"message": "slow down"}})}
    content = exchanges(CHAT, {"status": {"code": 429}, "body": body})
    [trace] = read_conversations(written(tmp_path, content))
    assert trace.outcome == "failed"
    assert "429" in str(trace.error)
    assert "slow down" in str(trace.error)


def test_a_body_that_cannot_be_unpacked_is_named(tmp_path: Path):
    body = {"base64_string": base64.b64encode(b"\x0b\x02\x80abc").decode()}
    content = exchanges(CHAT, {"body": body}, **{"content-encoding": ["unheard"]})
    [trace] = read_conversations(written(tmp_path, content))
    assert any("body" in line for line in trace.meta["not_read"])


def test_lines_of_batches_are_read_and_what_failed_is_told(tmp_path: Path):
    rows: list[Any] = [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "b", "response": {"status_code": 200, "body": REPLY}, "error": None},
        {"custom_id": "c", "params": {**CHAT, "max_tokens": 9}},
        {"custom_id": "d", "response": None, "error": {"message": "expired"}},
    ]
    content = "".join(f"{json.dumps(row)}\n" for row in rows)
    path = written(tmp_path, content.encode())
    assert said(path) == [TALK[:1], TALK[1:], TALK[:1], []]
    last = read_conversations(path)[-1]
    assert last.outcome == "failed"
    assert "expired" in str(last.error)


@pytest.mark.parametrize("begin", ["{", "interactions:", "id,input,output,type\n"])
def test_a_file_may_be_compressed_and_may_be_a_table(tmp_path: Path, begin: str):
    table = 'id,input,output,type\n1,"[{""role"":""user"",""content"":""Weather?""}]",Rain.,GENERATION\n'
    asked = f"- request:\n    uri: https://a\n    body: '{json.dumps(CHAT)}'\n"
    answered = f"  response:\n    body:\n      string: '{json.dumps(REPLY)}'\n"
    plain = {"{": json.dumps({**CHAT, "response": REPLY}), "interactions:": f"{begin}\n{asked}{answered}"}
    content = plain.get(begin, table).encode()
    assert said(written(tmp_path, content)) == said(written(tmp_path, gzip.compress(content))) == [TALK]


def test_parquet_is_refused_with_a_way_out(tmp_path: Path):
    with pytest.raises(InvalidInput, match="Parquet") as refused:
        read_conversations(written(tmp_path, b"PAR1\x15\x04"))
    assert "JSON lines" in refused.value.advice


@pytest.mark.parametrize(
    "content",
    [
        spans({**GEN_AI, "gen_ai.tool.definitions": [TOOL]}),
        spans({"request_data": {**CHAT, "tools": [TOOL]}, "response_data": {"message": SAID}}),
        spans(
            {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi"}
            | {"llm.tools.0.tool.json_schema": TOOL}
        ),
        spans({"gen_ai.prompt.0.content": "Hi", "llm.request.functions.0.name": "now"}),
        [{"type": "GENERATION", "input": {"messages": [ASK], "tools": [TOOL]}, "output": "Rain."}],
        [{"type": "GENERATION", "input": {"contents": ["Hi"], "model": "m", **DECLARED}, "output": "Rain."}],
        {"run_type": "llm", "inputs": {"messages": [ASK]}, "extra": {"invocation_params": {"tools": [TOOL]}}},
        {**FORMS["ShareGPT"], "tools": json.dumps([TOOL])},
    ],
)
def test_the_tools_that_were_offered_are_read(tmp_path: Path, content: Any):
    [trace] = read_conversations(written(tmp_path, content))
    assert [each.name for each in trace.steps[0].record] == ["now"]  # type: ignore[union-attr]


def calls_of(trace: Any) -> list[str]:
    return [call["function"]["name"] for m in trace.messages for call in m.get("tool_calls") or ()]


@pytest.mark.parametrize(
    "content",
    [
        {"prompt": {"raw": "Hi"}, "response": {"output": [CALL]}},
        spans(
            {"llm.output_messages.0.message.function_call_name": "f"}
            | {"llm.output_messages.0.message.function_call_arguments_json": '{"a":1}'}
        ),
        spans(
            {
                "ai.prompt.messages": [ASK],
                "ai.response.toolCalls": [{"toolCallId": "c", "toolName": "f", "args": '{"a":1}'}],
            }
        ),
        [ASK, {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}],
        {"conversations": [{"from": "function_call", "value": '{"name": "f", "arguments": {"a":1}}'}]},
        {"query": "Hi", "answers": '[{"name": "f", "arguments": {"a": 1}}]'},
    ],
)
def test_calls_are_read_as_calls(tmp_path: Path, content: Any):
    [trace] = read_conversations(written(tmp_path, content))
    assert calls_of(trace) == ["f"]


def test_what_a_tool_of_the_server_gave_stands_after_its_call(tmp_path: Path):
    used = {"type": "tool_use", "id": "w", "name": "search", "arguments": "{}", "result": "found"}
    content = {
        "status": "success",
        "eval": {},
        "samples": [{"messages": [{"role": "assistant", "content": [used]}]}],
    }
    [trace] = read_conversations(written(tmp_path, content))
    assert [m["role"] for m in trace.messages] == ["assistant", "tool"]
    assert trace.messages[1]["content"] == "found"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({**CHAT, "expected": "Sun"}, "expected"),
        (spans({"http.request.method": "POST"}, GEN_AI), "no messages"),
        (spans({**GEN_AI, "error.type": "Timeout"}), "Timeout"),
        (spans(GEN_AI, droppedAttributesCount=3), "3 attributes were dropped"),
        (spans(GEN_AI, dropped_events_count=2), "2 events were dropped"),
        (spans(GEN_AI, events=[{"name": "e", "droppedAttributesCount": 1}]), "1 attributes were dropped"),
        (
            exchanges(CHAT, {"body": {**REPLY, "choices": [*REPLY["choices"], *REPLY["choices"]]}}),
            "2 answers",
        ),
        (
            [
                {"type": "GENERATION", "input": [ASK], "output": "x"},
                {"type": "TOOL", "name": "search", "input": 1},
            ],
            "search",
        ),
        ({"prompt": "Hi", "completion": "Ho", "label": "good"}, "label"),
        ({"data": [{"type": "GENERATION", "input": {"messages": [ASK], "more": 1}, "output": "x"}]}, "more"),
    ],
)
def test_what_stands_beside_a_conversation_is_named(tmp_path: Path, content: Any, named: str):
    traces = read_conversations(written(tmp_path, content))
    assert any(named in line for trace in traces for line in trace.meta["not_read"])


def test_how_a_span_failed_is_told(tmp_path: Path):
    told = {"gen_ai.input.messages": json.dumps(PARTS_IN)}
    [trace] = read_conversations(written(tmp_path, spans(told, status={"code": 2, "message": "too many"})))
    assert (trace.outcome, trace.error) == ("failed", "too many")


def test_preferences_and_batches_are_a_conversation_each(tmp_path: Path):
    pair = {"prompt": [ASK], "chosen": [SAID], "rejected": [{"role": "assistant", "content": "Sun."}]}
    traces = read_conversations(written(tmp_path, pair))
    assert [t.meta["preference"] for t in traces] == ["chosen", "rejected"]
    batch = {"run_type": "llm", "inputs": {"messages": [[ASK], [SAID]]}, "outputs": {}}
    assert len(read_conversations(written(tmp_path, batch))) == 2


def test_a_log_that_was_cut_off_keeps_its_samples_and_its_task(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": {"task": "sums"}}))
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "epoch": 1, "messages": [ASK]}))
    [trace] = read_conversations(tmp_path / "file")
    assert trace.meta["task"] == "sums"


def test_a_damaged_sample_of_an_archive_costs_that_sample(tmp_path: Path):
    path = tmp_path / "file"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "sums"}}))
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "messages": [ASK, SAID]}))
        archive.writestr("samples/2_epoch_1.json", '{"id": 2, "mess')
        archive.writestr("samples/3_epoch_1.json", json.dumps({"id": 3, "messages": [ASK, SAID]}))
    path.write_bytes(path.read_bytes().replace(b'{"id": 3', b'{"id": 4', 1))
    [trace] = read_conversations(path)
    assert trace.meta["sample"] == "1"
    for number, why in ((2, "it is not JSON"), (3, "Bad CRC-32")):
        assert any(
            n.startswith(f"samples/{number}_epoch_1.json: left out: {why}") for n in trace.meta["not_read"]
        )


def test_what_a_sample_was_scored_by_is_kept(tmp_path: Path):
    score = {"s": {"value": "I", "answer": "Sun"}}
    samples = [
        {"messages": [ASK], "target": "Rain", "scores": score, "error_retries": [{"message": "reset"}]}
    ]
    [trace] = read_conversations(written(tmp_path, {"status": "success", "eval": {}, "samples": samples}))
    assert trace.meta["target"] == "Rain"
    assert trace.meta["answers"] == {"s": "Sun"}
    assert "reset" in trace.meta["not_read"][0]


@pytest.mark.parametrize("wrap", [bytes, gzip.compress, b"\xef\xbb\xbf".__add__])
def test_lines_that_are_no_objects_are_no_damaged_trace(tmp_path: Path, wrap: Any):
    file = tmp_path / "talks.jsonl"
    file.write_bytes(wrap(f"{json.dumps([ASK, SAID])}\n".encode()))
    command = [sys.executable, "-m", "zoolab", "inspect", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{file.with_suffix('.html')}\n")
