"""A server at an address: MCP over streamable HTTP, through the official transport, within bounds.

The official transport reads an answer of any size, and a connection that breaks ends its session. Here each
answer is bounded, and whatever goes wrong on the way is an error of that one request. The stream of
notifications is not opened, because nothing here needs them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import LAST_EVENT_ID, MCP_SESSION_ID, streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from zoolab.mcp.listing import GRACE, MAX_MESSAGE, MAX_UNASKED, one_line


class Endpoint:
    """A server at an address, and what is said to it and by it."""

    #: What to do if it fails. The address is not repeated: it may hold a key, and the model may read this.
    advice = "check the address and its headers, and that the server runs"

    def __init__(self, address: str, headers: Mapping[str, str], timeout: float) -> None:
        self._address = address
        self._client = BoundedClient(headers={**headers, "accept-encoding": "identity"}, timeout=timeout)

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[tuple[Any, Any]]:
        """The streams of messages from the server and to it; then the session is ended."""
        official = logging.getLogger("mcp.client.streamable_http")
        if not official.handlers:  # else it prints what a server said to the terminal
            official.addHandler(logging.NullHandler())
        async with (
            self._client as client,
            streamable_http_client(
                self._address, http_client=client, terminate_on_close=False, max_sse_event_size=MAX_MESSAGE
            ) as streams,
        ):
            try:
                yield streams
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(GRACE):
                    if client.session is not None:
                        await client.delete(self._address, headers={MCP_SESSION_ID: client.session})

    def fault_in(self, error: Exception) -> str:
        """What is wrong with the server, if an error of the client comes from that; else empty."""
        broken = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED
        return one_line(str(error)) if broken else ""


class BoundedClient(httpx2.AsyncClient):
    """An HTTP client that gives an error of MCP in place of an answer that never came or is not fit."""

    #: The id that the server has given this session, if any.
    session: str | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response, whole or as a stream of events, of a bounded size."""
        if request.method == "GET" and LAST_EVENT_ID not in request.headers:
            return httpx2.Response(405, request=request)
        try:
            return await self._checked(await super().send(request, **options))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.SSEError) as error:
            fault = one_line(str(error)) or type(error).__name__
            said = {"jsonrpc": "2.0", "id": None, "error": {"code": CONNECTION_CLOSED, "message": fault}}
            return httpx2.Response(502, json=said, request=request)

    async def _checked(self, came: httpx2.Response) -> httpx2.Response:
        self.session = came.headers.get(MCP_SESSION_ID, self.session)
        events = came.is_success and came.headers.get("content-type", "").startswith("text/event-stream")
        stream = _Bounded(came, MAX_UNASKED if events else MAX_MESSAGE)
        checked = httpx2.Response(came.status_code, headers=came.headers, stream=stream, request=came.request)
        try:
            if "content-encoding" in came.headers:
                raise httpx2.SSEError("sent a compressed answer, which was not requested")
            if not (events or came.is_success or b'"jsonrpc"' in await checked.aread()):
                said = one_line(checked.text[:400], 80)
                raise httpx2.SSEError(f"answered {came.status_code} {came.reason_phrase}: {said}")
            if not events:
                await checked.aread()
        except BaseException:
            await checked.aclose()
            raise
        return checked


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, up to a limit; raises an error that the official transport passes on."""

    def __init__(self, response: httpx2.Response, limit: int) -> None:
        self._response, self._limit = response, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._response.aiter_raw():
            size += len(part)
            if size > self._limit:
                raise httpx2.SSEError(f"sent an answer of more than {self._limit >> 20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()
