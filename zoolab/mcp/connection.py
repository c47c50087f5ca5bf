"""The official MCP client over a server's process, on an event loop in a thread of its own.

The thread is what makes it work inside a notebook, whose own loop is busy.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zoolab.errors import ExecutionFailed, InvalidInput, ToolIOError, ToolTimeout, ZoolabError
from zoolab.mcp.listing import MAX_PAGES, MAX_TOOLS, Listed
from zoolab.mcp.messages import Messages
from zoolab.mcp.process import GRACE, ServerProcess, one_line

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult

#: The command is not repeated: it may hold keys, and the model may read the error.
_BY_HAND = "run its command by hand to see why"

_T = TypeVar("_T")


def require_client() -> None:
    """Raise `InvalidInput` where the extra `mcp` is not installed.

    >>> require_client()
    """
    try:
        import mcp_types  # noqa: F401
        from mcp.client import session  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "MCP needs the official package, version 2 or later", advice="run: pip install 'zoolab[mcp]'"
        ) from None


class Connection:
    """A server that is running, and the client that speaks with it.

    Args:
        name: What errors call the server.
        command: The program and its arguments.
        env: Variables beside the few that the official client hands down.
        cwd: The folder that it runs in.
        patience: Seconds that it has to start.
        timeout: Seconds that it has for an answer.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | Path | None,
        patience: float,
        timeout: float,
    ) -> None:
        self.name, self._command, self._env, self._cwd = name, command, env, cwd
        self._patience, self._timeout = patience, timeout
        self._opened: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._life: asyncio.Task[None] | None = None
        self._messages: Messages | None = None
        self._session: ClientSession | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"zoolab-mcp-{name}", daemon=True)

    def open(self) -> None:
        """Start the server and shake hands with it; raises `InvalidInput` where that fails."""
        require_client()
        self._thread.start()
        try:
            self._opened.result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server and whatever still waits for it; returns when its process is gone."""
        self._closed = True
        loop, life = self._loop, self._life
        if loop is not None and life is not None:
            with suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(life.cancel)
        if self._thread.ident is not None:
            self._thread.join(5 * GRACE)

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run a coroutine on the connection's loop, from any thread."""
        if self._loop is None or not self._thread.is_alive():
            work.close()
            raise ToolIOError(f"the MCP server {self.name} is not running", advice="use it in a with block")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def list_tools(self) -> list[Listed]:
        """All tools that the server lists, whatever they are; at most `MAX_TOOLS`."""
        return await self._in_time(self._all_pages())

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """What the server answers to one call; cancelling the wait tells the server so."""
        import mcp_types as types

        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        answer: CallToolResult = await self._in_time(
            self._ask(types.CallToolRequest(params=params), types.CallToolResult)
        )
        return answer

    async def _all_pages(self) -> list[Listed]:
        import mcp_types as types

        found: list[Listed] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            # Not `session.list_tools`: that keeps output schemas, and checks results against them unbounded.
            reply = await self._ask(types.ListToolsRequest(params=page), types.ListToolsResult)
            found += [Listed(each.name, each.description or "", each.input_schema) for each in reply.tools]
            cursor = reply.next_cursor
            if len(found) > MAX_TOOLS:
                break
            if not cursor:
                return found
        raise ToolIOError(
            f"the MCP server {self.name} lists tools without end",
            expected=f"at most {MAX_TOOLS}, on at most {MAX_PAGES} pages",
            advice="have it offer fewer",
        )

    async def _in_time(self, work: Coroutine[Any, Any, _T]) -> _T:
        import anyio

        try:
            with anyio.fail_after(self._timeout):
                return await work
        except TimeoutError:
            raise ToolTimeout(
                f"the MCP server {self.name} gave no answer within {self._timeout:g} s",
                advice="give it longer with timeout=, or start it again",
            ) from None

    async def _ask(self, request: Any, kind: Any) -> Any:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        who = f"the MCP server {self.name}"
        try:
            assert self._session is not None
            return await self._session.send_request(request, kind)
        except MCPError as error:
            if fault := self._fault():
                raise ToolIOError(f"{who} {fault}", advice=_BY_HAND) from None
            raise ExecutionFailed(
                f"{who} refused: {one_line(error.message)}", advice="give what the tool's schema asks for"
            ) from None
        except ValidationError as error:
            raise ToolIOError(
                f"{who} gave an answer that is not MCP: {_first_problem(error)}",
                advice="report it to its makers",
            ) from None

    def _fault(self) -> str:
        return "" if self._messages is None else self._messages.fault

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_with_processes) as runner:
                runner.run(self._live())
        except (asyncio.CancelledError, Exception) as error:
            self._fail(error)

    async def _live(self) -> None:
        self._loop, self._life = asyncio.get_running_loop(), asyncio.current_task()
        if self._closed:
            return
        from mcp.client.stdio import get_default_environment

        env = {**get_default_environment(), **self._env}
        process = await ServerProcess.start(self._command, env, self._cwd)
        self._messages = Messages(process)
        try:
            await self._speak(self._messages)
        finally:
            await _to_the_end(process.stop())

    async def _speak(self, messages: Messages) -> None:
        import anyio
        from mcp.client.session import ClientSession
        from mcp_types import Implementation

        arriving, inbox = anyio.create_memory_object_stream[Any](0)
        outbox, leaving = anyio.create_memory_object_stream[Any](0)
        pumps = [
            asyncio.create_task(messages.receive(arriving)),
            asyncio.create_task(messages.send(leaving)),
        ]
        us = Implementation(name="zoolab", version="")
        try:
            async with ClientSession(inbox, outbox, client_info=us) as session:
                if await self._greet(session):
                    self._session = session
                    self._opened.set_result(None)
                    await asyncio.Event().wait()
        finally:
            for pump in pumps:
                pump.cancel()
            for stream in (arriving, inbox, outbox, leaving):
                stream.close()

    async def _greet(self, session: ClientSession) -> bool:
        """Whether the handshake succeeds. Nothing is raised: the session would wrap it in a group."""
        import anyio

        try:
            with anyio.fail_after(self._patience):
                await _shake_hands(session)
        except TimeoutError:
            problem = f"did not start within {self._patience:g} s"
        except Exception as error:
            problem = self._fault() or f"cannot be spoken with: {one_line(str(error))}"
        else:
            return True
        self._fail(InvalidInput(f"the MCP server {self.name} {problem}", advice=_BY_HAND))
        return False

    def _fail(self, error: BaseException) -> None:
        if not isinstance(error, ZoolabError):
            error = InvalidInput(f"the MCP server {self.name}: {one_line(repr(error))}", advice=_BY_HAND)
        if not self._opened.done():
            self._opened.set_exception(error)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that has to be done, however often the wait is cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


async def _shake_hands(session: ClientSession) -> None:
    """The handshake that every server knows; `server/discover` for those that have given it up."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION

    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
            raise
        await session.discover()


def _loop_with_processes() -> asyncio.AbstractEventLoop:
    """Jupyter may have chosen a kind of loop that, on Windows, starts no processes."""
    if sys.platform == "win32":
        return asyncio.ProactorEventLoop()
    return asyncio.new_event_loop()


def _first_problem(error: Any) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 120)
