"""The messages between an MCP server's process and the client, each looked at before it is handed on.

Of what the server sends, answers and requests go on; the client declines the requests. Notifications
are dropped: nothing here needs them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from zoolab.mcp.process import MAX_MESSAGE, ServerProcess, one_line

#: Bytes that a server may send unasked between two answers; each message counts for a little more.
MAX_UNASKED = 16 << 20
_EACH = 1_000


class Messages:
    """Both directions of a conversation with a server."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._awaited: set[int | str] = set()
        #: Why there will be no more answers; empty as long as there may be.
        self.fault = ""

    async def receive(self, arriving: Any) -> None:
        """Hand on what the server says, until there is no more, or it is not fit to be handed on."""
        import anyio
        from mcp.shared.message import SessionMessage

        unasked = 0
        async with arriving:
            while line := await self._next():
                message = self._read(line)
                if message is None:
                    return
                number = getattr(message, "id", None)
                unasked += _EACH + len(line)
                if number in self._awaited and not hasattr(message, "method"):
                    self._awaited.remove(number)
                    unasked = 0
                if unasked > MAX_UNASKED:
                    self.fault = f"floods: {MAX_UNASKED >> 20} MiB that nobody asked for"
                    return
                if number is not None:
                    with suppress(anyio.BrokenResourceError):
                        await arriving.send(SessionMessage(message))
                await asyncio.sleep(0)  # a full pipe must not keep the others from their turn

    async def send(self, leaving: Any) -> None:
        """Hand on what the client says, until it says no more or nobody listens."""
        async with leaving:
            with suppress(OSError):
                async for item in leaving:
                    if hasattr(item.message, "method") and hasattr(item.message, "id"):
                        self._awaited.add(item.message.id)
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.write(line.encode() + b"\n")

    async def _next(self) -> bytes:
        """The next line; empty, with the fault that ends the conversation, where there is none."""
        try:
            while (line := await self._process.read()).isspace():
                pass
        except ValueError:
            self.fault = f"sent a message of more than {MAX_MESSAGE >> 20} MiB"
            return b""
        if not line:
            self.fault = await self._process.last_words()
        return line

    def _read(self, line: bytes) -> Any:
        """The message that a line holds, or None, with the fault."""
        from mcp_types import jsonrpc_message_adapter

        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            said = one_line(line[:400].decode(errors="replace"), 80)
            self.fault = f"printed what is no MCP message: {said} (print to standard error instead)"
            return None
