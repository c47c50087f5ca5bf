"""One request of a program and the answer to it, as they pass through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoolab.errors import Fault
from zoolab.jsontext import NotStrictJSON, parse_json

#: Bytes of a request, and of what is kept of an answer.
MAX_BYTES = 64 * 1024 * 1024
#: The APIs whose conversations are understood, by the path of their requests; names are those of
#: `zoolab.wire.FORMATS`.
APIS: Mapping[str, str] = {
    "/v1/chat/completions": "openai",
    "/v1/responses": "responses",
    "/v1/messages": "anthropic",
}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the program sent it. The names of headers are in small letters."""

    method: str
    #: With the query, if there is one.
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def api(self) -> str | None:
        """The API of a request for a reply; None for any other request."""
        return APIS.get(self.path.partition("?")[0]) if self.method == "POST" else None

    @property
    def body(self) -> dict[str, Any]:
        """The content as an object; empty if it is none."""
        try:
            found = parse_json(self.content.decode("utf-8"), MAX_BYTES)
        except (UnicodeDecodeError, NotStrictJSON):
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer; `content` comes in the pieces in which it is to be passed on, and may raise half-way.

    The names of headers are in small letters.
    """

    status: int
    headers: Mapping[str, str]
    content: Iterable[bytes]
    #: What was broken on purpose in it.
    faults: tuple[Fault, ...] = ()

    def close(self) -> None:
        """Give the content back, read or not."""
        close = getattr(self.content, "close", None)
        if close is not None:
            close()


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that got no reply: why, and whether that was on purpose."""

    why: str
    fault: Fault | None = None


#: Who answers a request: the real endpoint, or a model of zoolab.
Upstream = Callable[[HttpRequest], HttpResponse]
