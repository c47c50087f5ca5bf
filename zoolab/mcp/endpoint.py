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

from zoolab.mcp.connection import GRACE, MAX_MESSAGE, MAX_UNASKED
from zoolab.mcp.listing import one_line


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
            response = await super().send(request, **options)
            try:
                return await self._checked(response)
            except BaseException:
                await response.aclose()
                raise
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.SSEError) as error:
            fault = one_line(str(error)) or type(error).__name__
            said = {"jsonrpc": "2.0", "id": None, "error": {"code": CONNECTION_CLOSED, "message": fault}}
            return httpx2.Response(502, json=said, request=request)

    async def _checked(self, response: httpx2.Response) -> httpx2.Response:
        status, kind = response.status_code, response.headers.get("content-type", "").lower()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.SSEError("sent a compressed answer, which was not requested")
        self.session = response.headers.get(MCP_SESSION_ID, self.session)
        made = {"status_code": status, "headers": response.headers, "request": response.request}
        if status < 300 and kind.startswith("text/event-stream"):
            return httpx2.Response(**made, stream=_Events(response))
        content = b"".join([part async for part in _bounded(response, MAX_MESSAGE)])
        if status >= 300 and not (kind.startswith("application/json") and b'"jsonrpc"' in content):
            said = one_line(content[:400].decode(errors="replace"), 80)
            raise httpx2.SSEError(f"answered {status} {response.reason_phrase}: {said}")
        return httpx2.Response(**made, content=content)


class _Events(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in _bounded(self._response, MAX_UNASKED):
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


async def _bounded(response: httpx2.Response, limit: int) -> AsyncIterator[bytes]:
    """The bytes of a response, up to a limit; raises an error that the official transport passes on."""
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > limit:
            raise httpx2.SSEError(f"sent an answer of more than {limit >> 20} MiB")
        yield part
    await response.aclose()
