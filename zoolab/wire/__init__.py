"""One conversation in four formats: pure functions on plain dicts, nothing is sent.

openai.py     Chat Completions, which zoolab's own records are written in
anthropic.py  Messages
gemini.py     generateContent
ollama.py     /api/chat

Each has `to_body`, a request as that API wants it, and `from_response`, its response as an assistant
message in OpenAI's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from zoolab.errors import InvalidInput
from zoolab.records import Message, Request
from zoolab.wire import anthropic, gemini, ollama, openai

__all__ = ["FORMATS", "WireFormat", "wire_format"]


class WireFormat(Protocol):
    """What each module of this package can do."""

    def to_body(self, request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
        """The body of the HTTP request."""

    def from_response(self, body: dict[str, Any]) -> Message:
        """The assistant message of a response that was not streamed, in OpenAI's form."""


FORMATS: Mapping[str, WireFormat] = MappingProxyType(
    {"openai": openai, "anthropic": anthropic, "gemini": gemini, "ollama": ollama}
)


def wire_format(name: str) -> WireFormat:
    """The format of that name.

    Raises:
        InvalidInput: There is no such format.

    >>> wire_format("anthropic").to_body(Request([{"role": "user", "content": "Hi"}]), "claude")
    {'max_tokens': 1024, 'model': 'claude', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    >>> wire_format("smoke signals")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no wire format 'smoke signals'; expected openai, anthropic, gemini, ollama
    """
    try:
        return FORMATS[name]
    except (KeyError, TypeError):
        raise InvalidInput(f"no wire format {name!r}", expected=", ".join(FORMATS)) from None
