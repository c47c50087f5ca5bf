"""A request with parts that zoolab has no form for is read, and what is left out is named."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from server import serving

from zoolab import Trace, watch
from zoolab.apis import APIS
from zoolab.errors import InvalidInput

ADD = {"name": "add", "parameters": {"type": "object", "properties": {}}}
PICTURE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}


def chat(**more: Any) -> dict[str, Any]:
    tools = [{"type": "function", "function": ADD}]
    return {"messages": [{"role": "user", "content": "Hi"}], "tools": tools, **more}


def gemini(mode: Any = None, parts: Any = None, **more: Any) -> dict[str, Any]:
    chosen = {} if mode is None else {"toolConfig": {"functionCallingConfig": mode}}
    turns = [{"role": "user", "parts": parts or [{"text": "Hi"}]}]
    return {"contents": turns, "tools": [{"functionDeclarations": [ADD]}], **chosen, **more}


def responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": "Hi"}, *items], **more}


def anthropic(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, *blocks]}]}


def ollama(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi", **more}]}


ALLOWED = {"mode": "required", "tools": [{"type": "function", "name": "add"}]}
LEFT = [
    (
        "openai",
        chat(tool_choice={"type": "allowed_tools", "allowed_tools": ALLOWED}),
        "the choice of allowed",
    ),
    ("gemini", gemini({"mode": "ANY", "allowedFunctionNames": ["add", "sub"]}), "that only some tools"),
    ("gemini", gemini({"mode": "VALIDATED", "allowedFunctionNames": ["add"]}), "that only some tools"),
    ("gemini", gemini(tools=[{"googleSearch": {}}]), "the tool googleSearch"),
    ("gemini", gemini(parts=[{"inlineData": {"mimeType": "image/png", "data": "iVBORw0K"}}]), "inlineData"),
    ("responses", responses(tool_choice={"type": "web_search"}), "the choice of web_search"),
    ("responses", responses({"type": "web_search_call", "id": "ws"}), "web_search_call is not shown"),
    (
        "responses",
        responses({"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}),
        "input_image is not shown",
    ),
    ("anthropic", anthropic({"type": "image", "source": PICTURE}), "image is not shown"),
    ("ollama", ollama(images=["iVBORw0K"]), "image is not shown"),
]


@pytest.mark.parametrize(("api", "body", "named"), LEFT)
def test_what_is_left_out_of_a_request_is_named(api: str, body: dict[str, Any], named: str) -> None:
    left: list[str] = []
    request = APIS[api].from_body(body, left)
    assert request.messages[0]["content"].startswith(("Hi", "["))
    assert [each for each in left if each.startswith(named)]
    with pytest.raises(InvalidInput):
        APIS[api].from_body(body)


@pytest.mark.parametrize("mode", ["VALIDATED", "MODE_UNSPECIFIED", "auto", "AUTO"])
def test_modes_of_gemini_in_which_a_model_may_call_are_auto(mode: str) -> None:
    assert APIS["gemini"].from_body(gemini({"mode": mode})).tool_choice == "auto"
    assert APIS["gemini"].from_body(gemini({"mode": "any"})).tool_choice == "required"


def test_a_tool_that_takes_text_can_be_chosen() -> None:
    choice = {"type": "custom", "custom": {"name": "add"}}
    assert APIS["openai"].from_body(chat(tool_choice=choice)).tool_choice == "add"


def test_instructions_of_gemini_may_be_a_text() -> None:
    messages = APIS["gemini"].from_body(gemini(systemInstruction="Be short.")).messages
    assert messages[0] == {"role": "system", "content": "Be short."}


def test_a_part_with_several_fields_has_one_name_in_every_process() -> None:
    part = {
        "fileData": {"fileUri": "x"},
        "videoMetadata": {"fps": 1},
        "mediaResolution": {},
        "partMetadata": {},
    }
    said = APIS["gemini"].from_body(gemini(parts=[part]), []).messages[0]["content"]
    assert said.startswith("[fileData, not shown: ")


def test_a_tool_of_gemini_says_what_it_is() -> None:
    with pytest.raises(InvalidInput):
        APIS["gemini"].from_body(gemini(tools=[{}]))


def test_pictures_that_differ_are_told_apart_in_a_recording() -> None:
    said = []
    for data in ("iVBORw0K", "iVBORw1K"):
        picture = {"type": "image", "source": {**PICTURE, "data": data}}
        said.append(APIS["anthropic"].from_body(anthropic(picture), []).messages[0]["content"])
    assert said[0] != said[1]


def test_a_request_with_a_picture_is_watched_and_replayed(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "A zoo."}], "stop_reason": "end_turn"}
    picture = anthropic({"type": "image", "source": PICTURE})
    said = []
    with serving({"type": "message", "model": "m", **answer}) as endpoint:
        with watch(to=endpoint.url, folder=tmp_path / "seen") as seen:
            said.append(post("/v1/messages", picture))
        with watch(replay=tmp_path / "seen"):
            said.append(post("/v1/messages", picture))
    assert [each["content"][0]["text"] for each in said] == ["A zoo.", "A zoo."]
    assert seen.traces[0].answer == "A zoo."
    assert [line.endswith(": image is not shown") for line in seen.unread] == [True]
    kept = Trace.load(tmp_path / "seen" / "001.jsonl")
    assert [line.startswith("the first request: ") for line in kept.meta["not_read"]] == [True]
    assert "image is not shown" in kept.to_html()


def post(path: str, body: dict[str, Any]) -> Any:
    place = os.environ["ANTHROPIC_BASE_URL"]
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    asked = urllib.request.Request(place + path, json.dumps({"model": "m", **body}).encode(), headers)
    with urllib.request.urlopen(asked, timeout=60) as came:
        return json.loads(came.read())
