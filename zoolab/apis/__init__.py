"""What zoolab knows of each API, one file each; nothing is sent here.

chat.py       Chat Completions, in whose form zoolab's own records are written

Others are registered in the group `zoolab.apis` (see `zoolab.plugins`); those of `zoolab_connect` are. Each
is an `Api` (interface.py): the form of its requests, replies, streams and tools, where it is, its words.

What they share: wire_warnings.py has a named warning for each part that an API cannot say (warnings.toml).
reading.py reads what others wrote. events.py has the events of streams, call_deltas.py and merging.py put a
reply together from them. conversation.py has the rules that endpoints hold a conversation to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from zoolab import plugins
from zoolab.apis.chat import ChatCompletions
from zoolab.apis.interface import Api, check
from zoolab.apis.wire_warnings import WireWarning
from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.messages import Message
from zoolab.records.exchange import Request

__all__ = ["APIS", "Api", "WireBody", "WireWarning", "api", "api_of", "apis_by_name", "check", "translate"]
__all__ += ["translate_reply"]


def apis_by_name(*kinds: type[Api]) -> Mapping[str, Api]:
    """Return APIs by their names.

    Raises:
        InvalidInput: One lacks something, as `check` says, or two have the same name.

    >>> class Mine(ChatCompletions):
    ...     name, label, address = "mine", "My own API", "https://mine.invalid"
    >>> [*apis_by_name(ChatCompletions, Mine)]
    ['openai', 'mine']
    """
    found: dict[str, Api] = {}
    for kind in kinds:
        problem = check(kind)
        if not problem and kind.name in found:
            problem = f"two APIs have the name {kind.name!r}"
        if problem:
            raise InvalidInput(problem, expected="an API as zoolab.apis.interface describes it")
        found[kind.name] = kind()
    return MappingProxyType(found)


#: The group of APIs, with all that an API must have.
REGISTERED = plugins.APIS.also(check)


class _Registered(Mapping[str, Api]):
    """Chat Completions, and the APIs that are registered; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> Api:
        found = _registered(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        yield ChatCompletions.name
        found = sorted(REGISTERED.everything(), key=lambda named: (named[1].place, named[0]))
        yield from (name for name, _ in found if name != ChatCompletions.name)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _registered(name: str) -> Api | None:
    kind = ChatCompletions if name == ChatCompletions.name else REGISTERED.find(name)
    return None if kind is None else apis_by_name(kind)[name]


#: The APIs, by their names.
APIS: Mapping[str, Api] = _Registered()


@dataclass(frozen=True, slots=True)
class WireBody:
    """A request or a reply in the form of an API, with a warning for each part that it cannot say."""

    format: str
    body: dict[str, Any]
    warnings: tuple[WireWarning, ...] = ()


def api(name: str) -> Api:
    """Return the API of that name.

    Raises:
        InvalidInput: There is no such API.

    >>> api("anthropic").to_body(Request([{"role": "user", "content": "Hi"}]), "claude")
    {'max_tokens': 8192, 'model': 'claude', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    try:
        return APIS[name]
    except (KeyError, TypeError):
        raise InvalidInput(f"there is no API {name!r}", expected=", ".join(APIS)) from None


def api_of(body: Mapping[str, Any]) -> Api:
    """Return the API whose request a body is, by its fields; Chat Completions if no other recognises it.

    An API that recognises messages alone, which are a request of Chat Completions, is not asked.

    >>> api_of({"contents": []}).name
    'gemini'
    """
    others = (each for each in APIS.values() if each.name != "openai")
    asked = (each for each in others if plugins.APIS.attempt(each.name, _recognises, each, body))
    return next(asked, APIS["openai"])


def _recognises(asked: Api, body: Mapping[str, Any]) -> bool:
    """Return whether an API recognises a body, and by a field of its own."""
    if not asked.recognises(body):
        return False
    with suppress(Exception):  # it may need its own field
        return not asked.recognises({"messages": []})
    return True


def translate(request: Request, format: str, model: str = "", **settings: Any) -> WireBody:
    """Return a request in the form of an API, and a warning for each part that this API cannot say as it is.

    Without a warning, `from_body` gives the very same request back (`Request.withheld` apart: what a
    retriever left out is in no body).

    `format` is a name of `APIS`; `model` and `settings` are as for `Api.to_body`, but the model
    is left out if it belongs in the address.

    Raises:
        InvalidInput: There is no such API, or a message or a tool has no form in it.

    >>> tools = ({"type": "function", "function": {"name": "now"}},)
    >>> asked = Request([{"role": "user", "content": "Hi"}], tools, "required", {"stream": False})
    >>> for warning in translate(asked, "ollama").warnings: print(warning)
    tool_choice at /tool_choice: 'required' cannot be asked for: there is no tool_choice here
    """
    spoken = api(format)
    named = {"model": model} if model and "{model}" not in spoken.path else {}
    asked = replace(request, settings={**named, **settings, **request.settings})
    return WireBody(format, spoken.to_body(asked), spoken.normalise(asked)[1])


def translate_reply(message: Message, format: str) -> WireBody:
    """Return an assistant message as an API would answer it, and a warning for each part that it cannot say.

    Without a warning, `from_response` gives the very same message back.

    Raises:
        InvalidInput: There is no such API, or the message has no form in it.
        ModelError: No model can have sent the message.

    >>> translate_reply({"role": "assistant", "content": "Hi"}, "anthropic").body["content"]
    [{'type': 'text', 'text': 'Hi'}]
    """
    spoken = api(format)
    if message.get("role") != "assistant":
        raise InvalidInput(f"a reply has role {excerpt(message.get('role'))}", expected="assistant")
    return WireBody(format, spoken.to_response(message), spoken.normalise_reply(message)[1])
