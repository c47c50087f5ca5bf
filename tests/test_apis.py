"""Each API is one file behind one interface: what it lacks is said, and what names the APIs agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from zoolab.apis import APIS, api, api_of, apis_by_name, check
from zoolab.apis.interface import ENDS, Api
from zoolab.errors import InvalidInput
from zoolab.models import OpenAIModel
from zoolab.models.replay import ANY_API, registered_model
from zoolab.plugins import MODELS
from zoolab.records import Reply, Request
from zoolab.tools import ToolRegistry
from zoolab_connect.apis.ollama import Ollama
from zoolab_connect.apis.translated import Translated
from zoolab_connect.providers import PROVIDERS, model_of


class Mine(Ollama):
    """An API of somebody else: what differs from Ollama's."""

    name, label = "mine", "My API"
    address, address_from, path = "https://mine.invalid", "MINE_URL", "/chat"


def test_an_api_of_somebody_else_is_one_class() -> None:
    mine = apis_by_name(*map(type, APIS.values()), Mine)["mine"]
    body = mine.to_body(Request([{"role": "user", "content": "Hi"}]), "m")
    assert mine.from_body(body).messages == [{"role": "user", "content": "Hi"}]


class Nameless(Api):
    """An API with nothing."""


class Bodiless(Translated):
    """An API that has no form."""

    name, label, ends = "bodiless", "No form", {"done": "stop"}
    address, address_from, path = "https://mine.invalid", "MINE_URL", "/chat"

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "mine" in body


LACKING = {
    "Nameless has no name, label, address, address_from, path, ends": Nameless,
    "Bodiless does not define _end_said, _read_reply, _response_fields, _turns, _turns_in, assemble, events, "
    "to_response": Bodiless,
    "the address of Pathless is 'https://mine.invalidchat', which is not a URL with a path": type(
        "Pathless", (Mine,), {"path": "chat"}
    ),
    "the ends of Odd have 'finished', which is not one of stop, tool_calls, length, content_filter, error, "
    "incomplete": type("Odd", (Mine,), {"ends": {"done": "finished"}}),
    'key_from of Odd is "MY_KEY", which is not a tuple of names': type(
        "Odd", (Mine,), {"key_from": "MY_KEY"}
    ),
    "also_from of Odd is null, which is not a tuple of names": type("Odd", (Mine,), {"also_from": None}),
    "Odd has a stream_path, so streams_unasked has no meaning": type(
        "Odd", (Mine,), {"stream_path": "/stream"}
    ),
    "the settings of Odd have 'heat', which is not a setting of Chat Completions": type(
        "Odd", (Mine,), {"renamed": {"heat": "temperature"}}
    ),
}


@pytest.mark.parametrize("said", LACKING)
def test_what_an_api_lacks_is_said_in_one_sentence(said: str) -> None:
    assert check(LACKING[said]) == said
    with pytest.raises(InvalidInput, match=said.split("'")[0]):
        apis_by_name(LACKING[said])


def test_a_name_is_given_once() -> None:
    with pytest.raises(InvalidInput, match="two APIs have the name 'mine'"):
        apis_by_name(Mine, Mine)


@pytest.mark.parametrize("name", APIS)
def test_each_api_has_all_that_it_needs(name: str) -> None:
    assert check(type(api(name))) == ""
    assert set(api(name).ends.values()) <= set(ENDS)


def test_what_names_the_apis_agrees() -> None:
    assert set(PROVIDERS) <= set(APIS) - {"openai"}
    assert set(PROVIDERS) | {"local", ANY_API} <= MODELS.entries().keys()
    assert [model.api.name for model in PROVIDERS.values()] == list(PROVIDERS)
    assert OpenAIModel.__module__ == "zoolab.models.openai"
    assert all(each.watched for each in APIS.values())


@pytest.mark.parametrize("name", sorted(set(APIS) - {"openai"}))
def test_each_api_has_a_model(name: str) -> None:
    make = registered_model(name)
    assert make is not None
    model = make("some-model", base_url="http://127.0.0.1:9", api_key="none")
    assert model.api is api(name)
    assert model.body(Request([{"role": "user", "content": "Hi"}]))


def test_a_model_of_no_api_is_refused() -> None:
    assert registered_model("openai") is None
    with pytest.raises(InvalidInput, match="there is no API ''"):
        model_of()


TOOL = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("name", APIS)
def test_a_body_is_recognised(name: str) -> None:
    request = Request(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        ({"type": "function", "function": TOOL},),
        settings={"temperature": 0},
    )
    assert api_of(api(name).to_body(request, "m")).name == name


@pytest.mark.parametrize("name", APIS)
def test_a_tool_has_the_form_of_each_api(name: Any) -> None:
    assert ToolRegistry().schemas(name) == []
    assert "now" in str(api(name).tool_form(TOOL))


REPLY = Reply(
    {
        "role": "assistant",
        "content": "Let me see: é 東京.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}],
    },
    "tool_calls",
    {"prompt_tokens": 90, "completion_tokens": 8},
)


@pytest.mark.parametrize("name", APIS)
def test_a_response_is_streamed_and_read_in_each_api(name: str) -> None:
    made = api(name)
    whole = made.response(REPLY, "some-model", "7", 1_790_000_000)
    for reply in (made.reply(whole), made.streamed(made.events(whole))):
        assert (reply.message, reply.finish_reason) == (REPLY.message, "tool_calls")
        assert (reply.model, reply.usage["prompt_tokens"]) == ("some-model", 90)
    assert b"".join(made.stream_bytes(made.events(whole))).strip()


def test_a_cut_reply_says_so_in_the_words_of_each_api() -> None:
    for made in APIS.values():
        cut = made.response(Reply(REPLY.message, "length"), "m", "7")
        assert made.reply(cut).finish_reason == "length"


def said(name: str, word: str) -> dict[str, Any]:
    """An answer of an API that ended with one of its words."""
    answer = api(name).to_response({"role": "assistant", "content": "Hi"})
    match name:
        case "openai":
            answer["choices"][0]["finish_reason"] = word
        case "responses" if word in ("max_output_tokens", "content_filter"):
            answer |= {"status": "incomplete", "incomplete_details": {"reason": word}}
        case "responses":
            answer["status"] = word
        case "anthropic":
            answer["stop_reason"] = word
        case "gemini":
            answer["candidates"][0]["finishReason"] = word
        case _:
            answer["done_reason"] = word
    return answer


def words() -> list[tuple[str, str, str]]:
    return [(name, word, end) for name, made in APIS.items() for word, end in made.ends.items()]


@pytest.mark.parametrize(("name", "word", "end"), words())
def test_each_word_for_an_end_is_one_of_chat_completions(name: str, word: str, end: str) -> None:
    assert api(name).reply(said(name, word)).finish_reason == end


def test_a_word_that_nobody_knows_stays() -> None:
    for name in APIS:
        assert api(name).reply(said(name, "tired")).finish_reason == "tired"
