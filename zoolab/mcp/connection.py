"""A server's process, its messages, and the official MCP client on an event loop in a thread of its own.

The thread makes it work inside a notebook, whose own loop is busy. Messages are bounded lines, and each is
checked before the client gets it. Only answers and requests go on: the client declines the requests, and
nothing here needs the notifications, so they are dropped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zoolab.errors import ExecutionFailed, InvalidInput, ToolIOError, ToolTimeout, ZoolabError
from zoolab.mcp.listing import MAX_PAGES, MAX_TOOLS, Listed, one_line

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult

#: Bytes of one message; the rest of a longer one is never read.
MAX_MESSAGE = 4 << 20
MAX_COMPLAINT = 2_000
#: Seconds that a server has to end by itself once its input is closed, and then once more when told to.
GRACE = 2.0
_POLL = 0.01


class ServerProcess:
    """A server that runs, in a process group of its own. Made by `ServerProcess.start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stdin, self._stdout, stderr = process.stdin, process.stdout, process.stderr
        self._complaint = b""
        self._listening = asyncio.create_task(self._keep_complaint(stderr))

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str], cwd: str | Path | None
    ) -> ServerProcess:
        """Start a command; raises `InvalidInput` if that fails."""
        program = shutil.which(command[0], path=env.get("PATH")) or command[0]
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *command[1:],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                limit=MAX_MESSAGE,
                **_own_group(),
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"cannot start {one_line(command[0])}: {getattr(error, 'strerror', None) or error}",
                advice="check the command, its folder, and that the program is on PATH",
            ) from None
        return cls(process)

    async def read(self) -> bytes:
        """The next line; empty at the end. Raises `ValueError` for a line longer than a message may be."""
        assert self._stdout is not None
        return await self._stdout.readline()

    async def write(self, line: bytes) -> None:
        """Send a line; raises `OSError` once the server has gone."""
        assert self._stdin is not None
        self._stdin.write(line)
        await self._stdin.drain()

    async def last_words(self) -> str:
        """How the server ended, and what it said last on its standard error, in one line."""
        code = await self._exit_code(GRACE)
        ended = "closed its output" if code is None else f"ended with exit code {code}"
        said = one_line(" / ".join(self._complaint.decode(errors="replace").split("\n")[-4:]).strip(" /"))
        return f"{ended}; its last words: {said}" if said else ended

    async def stop(self) -> None:
        """Close its input, wait a moment, then end it and all that it started."""
        if self._stdin is not None:
            self._stdin.close()
        if await self._exit_code(GRACE) is None:
            _signal_group(self._process.pid, gently=True)
            await self._exit_code(GRACE)
        _signal_group(self._process.pid, gently=False)
        await self._exit_code(GRACE)
        self._listening.cancel()
        # What left the group may hold the pipes open for ever: let go of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _exit_code(self, seconds: float) -> int | None:
        """Polled: `wait` would wait for whoever else holds the pipes, too."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL)
        return self._process.returncode

    async def _keep_complaint(self, stderr: asyncio.StreamReader | None) -> None:
        while stderr is not None and (piece := await stderr.read(1 << 16)):
            self._complaint = (self._complaint + piece)[-MAX_COMPLAINT:]


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _signal_group(pid: int, *, gently: bool) -> None:
    if sys.platform == "win32":
        if not gently:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)
        return
    # The group lives on without its leader, so the leader's end proves nothing.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM if gently else signal.SIGKILL)


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
                    self.fault = f"sent {MAX_UNASKED >> 20} MiB that were not requested"
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
            self.fault = (
                f"printed a line that is not an MCP message: {said} (print to standard error instead)"
            )
            return None


#: The command is not repeated: it may hold keys, and the model may read the error.
_BY_HAND = "run its command by hand to see why"

_T = TypeVar("_T")


def require_client() -> None:
    """Raise `InvalidInput` if the extra `mcp` is not installed.

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
        """Start the server and shake hands with it; raises `InvalidInput` if that fails."""
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
            f"the MCP server {self.name} lists too many tools",
            expected=f"at most {MAX_TOOLS}, on at most {MAX_PAGES} pages",
            advice="configure it to offer fewer",
        )

    async def _in_time(self, work: Coroutine[Any, Any, _T]) -> _T:
        import anyio

        try:
            with anyio.fail_after(self._timeout):
                return await work
        except TimeoutError:
            raise ToolTimeout(
                f"the MCP server {self.name} did not answer within {self._timeout:g} s",
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
                f"{who} sent an answer that is not MCP: {_first_problem(error)}",
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
            problem = self._fault() or f"did not complete the handshake: {one_line(str(error))}"
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
