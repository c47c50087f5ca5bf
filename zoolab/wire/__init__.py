"""One conversation in five formats: pure functions on plain dicts, nothing is sent.

openai.py     Chat Completions, which zoolab's own records are written in
responses.py  OpenAI's Responses
anthropic.py  Messages
gemini.py     generateContent
ollama.py     /api/chat

format.py is what they have in common: `to_body`, a request as that API wants it, and `from_body`, the way
back; `to_response`, an assistant message as that API would answer, and `from_response`, the way back. What a
format cannot say is in `normalise` and `normalise_reply`: a request made plain, whose way there and back
changes nothing, and a named warning for each change that this took (warnings.toml has their codes).

chat.py       reads messages in OpenAI's form, and what other programs wrote; says what endpoints refuse in
              OpenAI's form: a call without its result, for instance
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message, Request
from zoolab.wire.anthropic import Anthropic
from zoolab.wire.format import WireFormat, WireWarning
from zoolab.wire.gemini import Gemini
from zoolab.wire.ollama import Ollama
from zoolab.wire.openai import ChatCompletions
from zoolab.wire.responses import Responses

__all__ = ["FORMATS", "WireBody", "WireFormat", "WireWarning", "translate", "translate_reply", "wire_format"]

FORMATS: Mapping[str, WireFormat] = MappingProxyType(
    {each.name: each() for each in (ChatCompletions, Responses, Anthropic, Gemini, Ollama)}
)


@dataclass(frozen=True, slots=True)
class WireBody:
    """A request or a reply in one format, with a warning for each part that it cannot say as it is."""

    format: str
    body: dict[str, Any]
    warnings: tuple[WireWarning, ...] = ()


def wire_format(name: str) -> WireFormat:
    """The format of that name.

    Raises:
        InvalidInput: There is no such format.

    >>> wire_format("anthropic").to_body(Request([{"role": "user", "content": "Hi"}]), "claude")
    {'max_tokens': 1024, 'model': 'claude', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    try:
        return FORMATS[name]
    except (KeyError, TypeError):
        raise InvalidInput(f"there is no wire format {name!r}", expected=", ".join(FORMATS)) from None


def translate(request: Request, format: str, model: str = "", **settings: Any) -> WireBody:
    """A request in a format, and a warning for each part that this format cannot say as it is.

    Without a warning, `from_body` gives the very same request back (`Request.withheld` apart: what a
    retriever left out is in no body).

    `format` is a name of `FORMATS`; `model` and `settings` are as for `WireFormat.to_body`, but the model
    of gemini belongs in the address.

    Raises:
        InvalidInput: There is no such format, or a message or a tool has no form in it.

    >>> tools = ({"type": "function", "function": {"name": "now"}},)
    >>> asked = Request([{"role": "user", "content": "Hi"}], tools, "required", {"stream": False})
    >>> for warning in translate(asked, "ollama").warnings: print(warning)
    tool_choice at /tool_choice: 'required' cannot be asked for: there is no tool_choice here
    """
    wire = wire_format(format)
    named = {"model": model} if model and format != "gemini" else {}
    asked = replace(request, settings={**named, **settings, **request.settings})
    return WireBody(format, wire.to_body(asked), wire.normalise(asked)[1])


def translate_reply(message: Message, format: str) -> WireBody:
    """An assistant message as an API would answer it, and a warning for each part that it cannot say.

    Without a warning, `from_response` gives the very same message back.

    Raises:
        InvalidInput: There is no such format, or the message has no form in it.
        ModelError: No model can have sent the message.

    >>> translate_reply({"role": "assistant", "content": "Hi"}, "anthropic").body["content"]
    [{'type': 'text', 'text': 'Hi'}]
    """
    wire = wire_format(format)
    if message.get("role") != "assistant":
        raise InvalidInput(f"a reply has role {excerpt(message.get('role'))}", expected="assistant")
    return WireBody(format, wire.to_response(message), wire.normalise_reply(message)[1])
