"""The larger local model: what it is sent, with a stand-in engine; what it says, if its weights are here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from server import completion

from zoolab import Replay, run
from zoolab.errors import InvalidInput
from zoolab.records import Reply, Request
from zoolab.toolbox.starter import add, multiply
from zoolab_course import weights
from zoolab_course.doctor import examine
from zoolab_course.local import Engine, LocalModel

FENCED = '```json\n{"name": "multiply", "arguments": {"a": 7, "b": 6}}\n```'


class Standing:
    """An engine that says what it is told to in turn, and keeps what it was asked."""

    def __init__(self, *says: str) -> None:
        self.says, self.asked = list(says), list[dict[str, Any]]()

    def __call__(self, name: str) -> Engine:
        return Engine(name, self._answer)

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body)
        return completion(self.says[len(self.asked) - 1])


def after_a_call(arguments: str, content: str | None = None) -> Request:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    return Request(
        [
            {"role": "user", "content": "What is 1 + 2?"},
            {"role": "assistant", "content": content, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
        ],
        (add.schema(),),
    )


def ask(request: Request, **settings: Any) -> tuple[Reply, dict[str, Any]]:
    engines = Standing("3")
    return LocalModel("qwen", engines=engines, **settings)(request), engines.asked[0]


def test_it_gets_the_whole_conversation_with_its_tools() -> None:
    request = after_a_call('{"a": 1, "b": 2}')
    reply, asked = ask(request)
    assert asked == request.body(model="qwen", temperature=0, seed=42, max_tokens=256)
    assert reply.sent_instead is None


def test_settings_go_into_every_request_of_any_local_model() -> None:
    _, asked = ask(Request([{"role": "user", "content": "Hi"}]), temperature=0.8, seed=3, max_tokens=96)
    assert (asked["temperature"], asked["seed"], asked["max_tokens"]) == (0.8, 3, 96)
    assert LocalModel("smollm2", seed=7).settings == {"temperature": 0, "seed": 7, "max_tokens": 160}


@pytest.mark.parametrize("broken", ['{"a": 1', "", "[1]", '"a"', '{"a": NaN}'])
def test_a_call_that_the_template_fails_on_is_sent_as_an_object_and_told(broken: str) -> None:
    request = after_a_call(broken)
    reply, asked = ask(request)
    first, called, result = asked["messages"]
    assert (first, result) == (request.messages[0], request.messages[2])
    (sent,) = called["tool_calls"]
    assert json.loads(sent["function"]["arguments"]) == ({"_raw": broken} if broken else {})
    assert reply.sent_instead is None
    assert reply.changed == request.changes != ()


def test_fenced_calls_in_its_text_are_read() -> None:
    engines = Standing(FENCED, "It is 42.")
    trace = run("Multiply 7 by 6.", [add, multiply], LocalModel("qwen", engines=engines))
    assert [(call.name, json.loads(call.arguments)) for call in trace.tool_calls] == [
        ("multiply", {"a": 7, "b": 6})
    ]
    assert trace.answer == "It is 42."


def test_the_doctor_reads_fenced_calls_too() -> None:
    said = ["Hello.", '```json\n{"name": "add", "arguments": {"a": 42, "b": 58}}\n```', *["No."] * 5]
    model = LocalModel("qwen", engines=Standing(*said))
    assert [result.name for result in examine(model) if result.ok] == ["answers", "calls", "abstains"]


def test_it_says_which_file_answers() -> None:
    who = LocalModel("qwen").who
    assert "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M), qwen2.5-coder-1.5b-instruct-q4_k_m.gguf" in who
    assert "SHA-256 cc324af070c2, run by xllamacpp" in who


@pytest.mark.slow
@pytest.mark.local
def test_it_says_what_was_recorded() -> None:
    """The weights are large, so they are never fetched for a test."""
    pytest.importorskip("xllamacpp")
    try:
        weights.find("qwen")
    except InvalidInput as missing:
        pytest.skip(str(missing))
    recorded = Replay("qwen-tasks")
    request = recorded.recording.requests[0]
    asked = Request(request["messages"], tuple(request["tools"]))
    assert LocalModel("qwen")(asked).message == recorded(asked).message
