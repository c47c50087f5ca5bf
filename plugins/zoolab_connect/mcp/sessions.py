"""A session over HTTP that the server has ended is begun anew, with the words that began it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.streamable_http import MCP_SESSION_ID

Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
_BEGINS = ("initialize", "notifications/initialized")


class Sessions:
    """The session of a client: its id, and the requests that began it."""

    def __init__(self) -> None:
        #: The id that the server has given this session, if any.
        self.id: str | None = None
        #: Where the server answered: after a redirect not where it was asked.
        self.address: httpx2.URL | None = None
        #: How many sessions were begun in place of one that had ended.
        self.renewed = 0
        self._begun_by: dict[str, httpx2.Request] = {}
        self._turn = asyncio.Lock()

    def enter(self, request: httpx2.Request) -> str | None:
        """Put the id of the session that holds now into a request; returns the id."""
        method = _message(request.content if request.method == "POST" else b"").get("method")
        if method in _BEGINS:
            self._begun_by[method] = request
        if MCP_SESSION_ID not in request.headers or self.id is None:
            return None
        request.headers[MCP_SESSION_ID] = self.id
        return self.id

    def note(self, came: httpx2.Response) -> None:
        """Keep what an answer says of the session."""
        if came.is_success:
            self.address = came.request.url
            if came.request is self._begun_by.get("initialize"):
                self.id = came.headers.get(MCP_SESSION_ID, self.id)

    async def renew(self, ended: str, send: Send) -> bool:
        """Begin a session in place of one that has ended, unless another request did; say if it worked."""
        async with self._turn:
            if self.id != ended:
                return True
            if any(method not in self._begun_by for method in _BEGINS):
                return False
            known: str | None = None
            for method in _BEGINS:
                before = self._begun_by[method]
                headers = {k: v for k, v in before.headers.items() if k.lower() != MCP_SESSION_ID}
                headers |= {MCP_SESSION_ID: known} if known else {}
                request = httpx2.Request("POST", before.url, headers=headers, content=before.content)
                request.extensions = before.extensions
                came = await send(request)
                if not came.is_success:
                    return False
                known = came.headers.get(MCP_SESSION_ID, known)
            self.id = known
            self.renewed += 1
            return True


def has_ended(came: httpx2.Response) -> bool:
    """Return whether an answer, read already, says that the session of its request has ended."""
    if came.status_code == 404:
        error = _message(came.content).get("error")
        return not (isinstance(error, dict) and error.get("code") == types.METHOD_NOT_FOUND)
    return came.status_code == 400 and b"session" in came.content.lower()


def asks(content: bytes) -> bool:
    """Return whether a body is a request: it has a method, and an id that the answer gives back."""
    message = _message(content)
    return "method" in message and message.get("id") is not None


def _message(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
