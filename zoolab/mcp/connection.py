"""A server's process, its messages, and the official MCP client on an event loop in a thread of its own.

The thread makes it work inside a notebook, whose own loop is busy. Messages are bounded lines, and each is
checked before the client gets it. Only answers and requests go on: the client declines the requests, and
nothing here needs the notifications, so they are dropped. The official transport has no such bounds, and it
leaves what the server has started if the server itself ends in time. A server behind an address is in
endpoint.py.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from zoolab.errors import ExecutionFailed, InvalidInput, ToolIOError, ToolTimeout, needs
from zoolab.mcp.listing import GRACE, MAX_MESSAGE, MAX_PAGES, MAX_TOOLS, MAX_UNASKED, Listed, Offer, one_line
from zoolab.running.jobs import signal_group

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult

    from zoolab.mcp.endpoint import Endpoint

MAX_COMPLAINT = 1 << 16
_EACH = 1_000
_POLL = 0.01


class Process:
    """A server that runs, in a process group of its own, and what is said to it and by it."""

    #: What to do if it fails. The command is not repeated: it may hold keys, and the model may read this.
    advice = "run the command of the server in a terminal to see why"

    def __init__(self, process: Any, mark: str) -> None:
        self._process, self._mark = process, mark
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._awaited: set[int | str] = set()
        self._complaint = b""
        self._listening = asyncio.create_task(self._keep_complaint())
        #: Why there will be no more answers; empty as long as there may be.
        self.fault = ""

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str], cwd: str | Path | None) -> Process:
        """Start a command; raises `InvalidInput` if that fails."""
        from mcp.client.stdio import get_default_environment

        mark = os.urandom(16).hex()
        env = {**get_default_environment(), **env, "ZOOLAB_MCP_SERVER": mark}
        program = shutil.which(command[0], path=env.get("PATH")) or command[0]
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        own_group: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NO_WINDOW}
        try:
            process = await asyncio.create_subprocess_exec(
                program, *command[1:], **pipes, env=env, cwd=cwd, limit=MAX_MESSAGE, **own_group
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"cannot start {one_line(command[0])}: {getattr(error, 'strerror', None) or error}",
                advice="check the command, its folder, and that the program is on PATH",
            ) from None
        return cls(process, mark)

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[tuple[Any, Any]]:
        """The streams of messages from the server and to it; then the server is stopped."""
        import anyio

        arriving, inbox = anyio.create_memory_object_stream[Any](0)
        outbox, leaving = anyio.create_memory_object_stream[Any](0)
        pumps = [asyncio.create_task(self.receive(arriving)), asyncio.create_task(self.send(leaving))]
        try:
            yield inbox, outbox
        finally:
            for pump in pumps:
                pump.cancel()
            for stream in (arriving, inbox, outbox, leaving):
                stream.close()
            with anyio.CancelScope(shield=True):
                await self.stop()

    def fault_in(self, _error: Exception) -> str:
        """What is wrong with the server, if an error of the client comes from that; else empty."""
        return self.fault

    async def receive(self, arriving: Any) -> None:
        """Hand on what the server says, until there is no more, or it is not fit to be handed on."""
        import anyio
        from mcp.shared.message import SessionMessage

        unasked = 0
        async with arriving:
            while message := await self._next():
                number = getattr(message[0], "id", None)
                unasked += _EACH + message[1]
                if number in self._awaited and not hasattr(message[0], "method"):
                    self._awaited.remove(number)
                    unasked = 0
                if unasked > MAX_UNASKED:
                    self.fault = f"sent {MAX_UNASKED >> 20} MiB that were not requested"
                    return
                if number is not None:
                    with suppress(anyio.BrokenResourceError):
                        await arriving.send(SessionMessage(message[0]))
                await asyncio.sleep(0)  # a full pipe must not keep the others from their turn

    async def _next(self) -> tuple[Any, int] | None:
        """The next message and its size; None if there is none, with the fault that ends all."""
        from mcp_types import jsonrpc_message_adapter

        line = b"\n"
        try:
            while line.isspace():
                line = await self._stdout.readline()
        except ValueError:
            self.fault = f"sent a message of more than {MAX_MESSAGE >> 20} MiB"
            return None
        if not line:
            code = await self._exit_code()
            self.fault = "closed its output" if code is None else f"ended with exit code {code}"
            lines = self._complaint.decode(errors="replace").split("\n")[-4:]
            last = " / ".join(one_line(line, 100) for line in lines).strip(" /")
            self.fault += f"; its last words: {last}" if last else ""
            return None
        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False), len(line)
        except ValueError:
            said = one_line(line[:400].decode(errors="replace"), 80)
            self.fault = (
                f"printed a line that is not an MCP message: {said} (print to standard error instead)"
            )
            return None

    async def send(self, leaving: Any) -> None:
        """Hand on what the client says, until it says no more or nobody listens."""
        async with leaving:
            with suppress(OSError):
                async for item in leaving:
                    if hasattr(item.message, "method") and hasattr(item.message, "id"):
                        self._awaited.add(item.message.id)
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._stdin.write(line.encode() + b"\n")
                    await self._stdin.drain()

    async def stop(self) -> None:
        """Close its input, wait a moment, then end it and all that it started."""
        self._stdin.close()
        if await self._exit_code() is None:
            signal_group(self._process.pid, gently=True)
            await self._exit_code()
        signal_group(self._process.pid)
        await self._exit_code()
        self._end_marked()
        self._listening.cancel()
        # What left the group may hold the pipes open for ever: let go of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _exit_code(self) -> int | None:
        """Polled: `wait` would wait for whoever else holds the pipes, too."""
        deadline = asyncio.get_running_loop().time() + GRACE
        while self._process.returncode is None and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL)
        code: int | None = self._process.returncode
        return code

    async def _keep_complaint(self) -> None:
        while piece := await self._stderr.read(1 << 16):
            self._complaint += piece
            if len(self._complaint) > MAX_COMPLAINT:  # half a line might hold half a secret, unknown as one
                self._complaint = self._complaint[-MAX_COMPLAINT:].partition(b"\n")[2]

    def _end_marked(self) -> None:
        """End what left the group for a session of its own; Linux shows it by the mark in its environment."""
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self._mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


_T = TypeVar("_T")


async def find(address: str, headers: Mapping[str, str], timeout: float) -> Endpoint:
    """A server at an address."""
    from zoolab.mcp.endpoint import Endpoint

    return Endpoint(address, headers, timeout)


class Connection:
    """A server that is running, and the client that speaks with it; see `MCPTools` for what it is given."""

    def __init__(
        self,
        name: str,
        reach: Callable[[], Coroutine[Any, Any, Process | Endpoint]],
        patience: float,
        timeout: float,
    ) -> None:
        """Start or find the server and shake hands with it; raises `InvalidInput` if that fails."""
        needs("mcp_types", "mcp")
        from anyio.from_thread import start_blocking_portal

        self.name, self._reach, self._patience, self._timeout = name, reach, patience, timeout
        options: dict[str, Any] = {}
        if sys.platform == "win32":  # Jupyter may have chosen a kind of loop that starts no processes
            options = {"loop_factory": asyncio.ProactorEventLoop}
        self._thread = start_blocking_portal(backend_options=options, name=f"zoolab-mcp-{name}")
        #: Runs what is asked of the server, from any thread.
        self.portal = self._thread.__enter__()
        try:
            self._session: ClientSession = self.portal.start_task(self._live)[1]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the server and whatever still waits for it; returns when its process is gone."""
        # As after an error: what still runs there is cancelled.
        self._thread.__exit__(InterruptedError, InterruptedError(), None)

    async def list_tools(self) -> list[Listed]:
        """All tools that the server lists, whatever they are; at most `MAX_TOOLS`."""
        tools = await self._in_time(self._all_pages("tools"))
        return [Listed(each.name, each.description or "", each.input_schema) for each in tools]

    async def list_offers(self, kind: Literal["resources", "prompts"]) -> list[Offer]:
        """All resources or all prompts that the server lists; none if it says that it has none."""
        offers = getattr(self._session.server_capabilities, kind, None) is not None
        return [Offer.of(each) for each in await self._in_time(self._all_pages(kind))] if offers else []

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """What the server answers to one call; cancelling the wait tells the server so."""
        import mcp_types as types

        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        asked = self._ask(types.CallToolRequest(params=params), types.CallToolResult)
        answer: CallToolResult = await self._in_time(asked)
        return answer

    async def _all_pages(self, kind: Literal["tools", "resources", "prompts"]) -> list[Any]:
        import mcp_types as types

        asks, answers = (getattr(types, f"List{kind.title()}{end}") for end in ("Request", "Result"))
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            # Not `session.list_tools`: that keeps output schemas, and checks results against them unbounded.
            reply = await self._ask(asks(params=page), answers)
            found += getattr(reply, kind)
            cursor = reply.next_cursor
            if len(found) > MAX_TOOLS:
                break
            if not cursor:
                return found
        raise ToolIOError(
            f"the MCP server {self.name} lists too many {kind}",
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
                advice="raise timeout=, or start it again",
            ) from None

    async def _ask(self, request: Any, kind: Any) -> Any:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        who = f"the MCP server {self.name}"
        try:
            return await self._session.send_request(request, kind)
        except MCPError as error:
            if fault := self._server.fault_in(error):
                raise ToolIOError(f"{who} {fault}", advice=self._server.advice) from None
            raise ExecutionFailed(
                f"{who} refused: {one_line(error.message)}", advice="give what the tool's schema asks for"
            ) from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            problem = one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 120)
            raise ToolIOError(
                f"{who} sent a response that is not valid MCP: {problem}",
                advice="report it to the authors of the server",
            ) from None

    async def _live(self, *, task_status: Any) -> None:
        """Start the server and speak with it until this is cancelled."""
        import anyio
        from mcp.client.session import ClientSession
        from mcp_types import Implementation

        self._server = server = await self._reach()
        us = Implementation(name="zoolab", version="")
        async with (
            server.speaking() as (inbox, outbox),
            ClientSession(inbox, outbox, client_info=us) as session,
        ):
            problem = await self._greet(session)
            if not problem:
                task_status.started(session)
                await anyio.sleep_forever()
        raise InvalidInput(f"the MCP server {self.name} {problem}", advice=server.advice)

    async def _greet(self, session: ClientSession) -> str:
        """Why the handshake fails, if it does. Nothing is raised: the session would wrap it in a group."""
        import anyio
        from mcp.shared.exceptions import MCPError
        from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION

        try:
            with anyio.fail_after(self._patience):
                try:
                    await session.initialize()
                except MCPError as error:
                    if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
                        raise
                    await session.discover()  # a server that has given the handshake up
        except TimeoutError:
            return f"did not start within {self._patience:g} s"
        except Exception as error:
            return self._server.fault_in(error) or f"did not complete the handshake: {one_line(str(error))}"
        return ""
