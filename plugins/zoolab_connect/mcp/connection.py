"""A server, its messages, and the official MCP client on an event loop in a thread of its own.

The thread makes it work inside a notebook, whose own loop is busy. Two kinds of servers have `speaking`:

- `LocalServer` starts a command and speaks over stdio. Messages are bounded lines, and each is checked
  before the client gets it. Only answers and requests go on: the client declines the requests, and nothing
  here needs the notifications, so they are dropped. The official transport has no such bounds, and it
  leaves what the server has started if the server itself ends in time.
- `RemoteServer` speaks over streamable HTTP, through the official transport, which reads answers of any
  size, and whose session ends if a connection breaks. Here each answer is bounded, and whatever goes wrong
  on the way is an error of that one request. The stream of notifications is not opened.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import mcp_types as types
from anyio.from_thread import start_blocking_portal
from mcp.client.session import ClientSession
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import LAST_EVENT_ID, MCP_SESSION_ID, streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from zoolab.errors import ExecutionFailed, InvalidInput, ToolIOError, ToolTimeout
from zoolab_connect.mcp.faults import ADVICE, OWN, broken_off, fault_of, refusal_of
from zoolab_connect.mcp.listing import (
    GRACE,
    MAX_MESSAGE,
    MAX_PAGES,
    MAX_TOOLS,
    MAX_UNASKED,
    Listed,
    Offer,
    safe_line,
)
from zoolab_connect.mcp.reading import (
    SPOILED,
    Apart,
    Kind,
    Spoiled,
    entries_in,
    first_problem,
    offer_in,
    parse_message,
    remark_of,
    structured_in,
    tool_in,
)
from zoolab_connect.mcp.sessions import Sessions, asks, has_ended
from zoolab_connect.processes import signal_group

Offered = Literal["resources", "resource_templates", "prompts"]

MAX_COMPLAINT = 1 << 16
_EACH = 1_000
_POLL = 0.01
_MOST_NOTES = 20
_MOST_URLS = 3
_REPORT = "report it to the authors of the server"


class NotOffered(ExecutionFailed):
    """The server does not know what it was asked for."""


def _note(notes: dict[str, None], note: str) -> None:
    if note and len(notes) < _MOST_NOTES:
        notes[note] = None


def _to_open(error: MCPError) -> str:
    """Return the addresses that the server wants the user to open, for instance to sign in; empty if none."""
    told = error.data if error.code == types.URL_ELICITATION_REQUIRED else None
    asked = told.get("elicitations") if isinstance(told, dict) else None
    found = [each.get("url") for each in asked if isinstance(each, dict)] if isinstance(asked, list) else []
    urls = [safe_line(url) for url in found[:_MOST_URLS] if isinstance(url, str)]
    return f"; it wants the user to open {', '.join(urls)} first" if urls else ""


class LocalServer:
    """A server that runs, in a process group of its own, and what is said to it and by it."""

    #: What to do if it fails. The command is not repeated: it may hold keys, and the model may read this.
    advice = "run the command of the server in a terminal to see why"

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str | Path | None) -> None:
        self._command = command
        self._cwd = cwd
        self._mark = os.urandom(16).hex()
        self._env = {**get_default_environment(), **env, "ZOOLAB_MCP_SERVER": self._mark}
        #: The ids of requests without an answer, as text: some servers answer 1 with "1".
        self._awaited: set[str] = set()
        self._complaint = b""
        #: Why there will be no more answers; empty as long as there may be.
        self.fault = ""
        #: What the server sent and nobody got, each once.
        self.notes: dict[str, None] = {}

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[tuple[Any, Any]]:
        """Start it; the streams of messages from the server and to it; then it is stopped.

        Raises `InvalidInput` if it does not start.
        """
        self._process: Any = await self._start()
        arriving, inbox = anyio.create_memory_object_stream[Any](0)
        outbox, leaving = anyio.create_memory_object_stream[Any](0)
        listening = asyncio.create_task(self._keep_complaint())
        pumps = [asyncio.create_task(self._receive(arriving)), asyncio.create_task(self._send(leaving))]
        try:
            yield inbox, outbox
        finally:
            for pump in pumps:
                pump.cancel()
            for stream in (arriving, inbox, outbox, leaving):
                stream.close()
            with anyio.CancelScope(shield=True):
                await self._stop()
            listening.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        program = shutil.which(self._command[0], path=self._env.get("PATH")) or self._command[0]
        options: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        if sys.platform == "win32":
            options["creationflags"] = subprocess.CREATE_NO_WINDOW
        else:
            options["start_new_session"] = True
        try:
            return await asyncio.create_subprocess_exec(
                program, *self._command[1:], **options, env=self._env, cwd=self._cwd, limit=MAX_MESSAGE
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"cannot start {safe_line(self._command[0])}: {getattr(error, 'strerror', None) or error}",
                advice="check the command, its folder, and that the program is on PATH",
            ) from None

    def fault_in(self, _error: Exception) -> str:
        """Return what is wrong with the server, if an error of the client comes from that; else empty."""
        return self.fault

    def hear(self, message: Any) -> None:
        """Note what a user should know of a message that is not an answer."""
        _note(self.notes, remark_of(message))

    async def _receive(self, arriving: Any) -> None:
        """Hand on what the server says, until there is no more, or it is not fit to be handed on."""
        unasked = 0
        async with arriving:
            while message := await self._next():
                number = getattr(message[0], "id", None)
                asks = hasattr(message[0], "method")
                is_awaited = str(number) in self._awaited
                unasked += _EACH + message[1]
                if isinstance(message[0], Spoiled):
                    if not is_awaited:
                        _note(self.notes, f"a message {message[0].why} was left out")
                        number = None
                    message = message[0].as_error(), message[1]
                elif isinstance(message[0], types.JSONRPCError) and number is None:
                    _note(self.notes, f"an error outside of all calls: {safe_line(message[0].error.message)}")
                elif number is None:
                    self.hear(message[0])
                elif not asks and not is_awaited:
                    _note(
                        self.notes, "an answer was left out: its request was answered before, or never made"
                    )
                if is_awaited and not asks:
                    self._awaited.discard(str(number))
                    unasked = 0
                if unasked > MAX_UNASKED:
                    self.fault = f"sent {MAX_UNASKED >> 20} MiB that were not requested"
                    return
                if number is not None:
                    with suppress(anyio.BrokenResourceError):
                        await arriving.send(SessionMessage(message[0]))
                await asyncio.sleep(0)  # a full pipe must not keep the others from their turn

    async def _next(self) -> tuple[Any, int] | None:
        """Return the next line as a message, or None, and its size; None alone after a fault that ends
        all.
        """
        line = b"\n"
        try:
            while line.isspace():
                line = await self._process.stdout.readline()
        except ValueError:
            self.fault = f"sent a message of more than {MAX_MESSAGE >> 20} MiB"
            return None
        if not line:
            code = await self._exit_code()
            self.fault = "closed its output" if code is None else f"ended with exit code {code}"
            lines = self._complaint.decode(errors="replace").split("\n")[-4:]
            last = " / ".join(safe_line(line, 100) for line in lines).strip(" /")
            self.fault += f"; its last words: {last}" if last else ""
            return None
        try:
            return parse_message(line), len(line)
        except ValueError:
            said = safe_line(line[:400].decode(errors="replace"), 80)
            _note(
                self.notes,
                f"it printed a line that is not an MCP message: {said} (standard error is for these)",
            )
            return None, len(line)

    async def _send(self, leaving: Any) -> None:
        """Hand on what the client says, until it says no more or nobody listens."""
        async with leaving:
            with suppress(OSError):
                async for item in leaving:
                    if hasattr(item.message, "method") and hasattr(item.message, "id"):
                        self._awaited.add(str(item.message.id))
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._process.stdin.write(line.encode() + b"\n")
                    await self._process.stdin.drain()

    async def _stop(self) -> None:
        self._process.stdin.close()
        if await self._exit_code() is None:
            signal_group(self._process.pid, gently=True)
            await self._exit_code()
        signal_group(self._process.pid)
        await self._exit_code()
        self._end_marked()
        # What left the group may hold the pipes open for ever: let go of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _exit_code(self) -> int | None:
        """Poll the exit code: `wait` would wait for whoever else holds the pipes, too."""
        with anyio.move_on_after(GRACE):
            while self._process.returncode is None:
                await anyio.sleep(_POLL)
        code: int | None = self._process.returncode
        return code

    async def _keep_complaint(self) -> None:
        while piece := await self._process.stderr.read(1 << 16):
            self._complaint += piece
            if len(self._complaint) > MAX_COMPLAINT:  # half a line might hold half a secret, unknown as one
                self._complaint = self._complaint[-MAX_COMPLAINT:].partition(b"\n")[2]

    def _end_marked(self) -> None:
        """End what left the group for a session of its own; Linux shows it by the mark in its environment."""
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self._mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


class RemoteServer:
    """A server at an address, and what is said to it and by it."""

    def __init__(self, address: str, headers: Mapping[str, str], timeout: float) -> None:
        self._address = address
        self._client = BoundedClient(headers={**headers, "accept-encoding": "identity"}, timeout=timeout)
        self._heard: dict[str, None] = {}

    @asynccontextmanager
    async def speaking(self) -> AsyncIterator[tuple[Any, Any]]:
        """Give the streams of messages from the server and to it; then the session is ended."""
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
                    if (session := client.sessions.id) is not None:
                        where = client.sessions.address or self._address
                        await client.delete(where, headers={MCP_SESSION_ID: session})

    def fault_in(self, error: Exception) -> str:
        """Return what is wrong with the server, if an error of the client comes from that; else empty."""
        if not isinstance(error, MCPError):
            return ""
        return error.message if error.data == OWN else broken_off(error.message)

    @property
    def advice(self) -> str:
        """What to do if it fails, without the address: it may hold a key, and the model may read this."""
        usual = "check the address and its headers, and that the server runs"
        return ADVICE.get(self._client.status, usual)

    @property
    def notes(self) -> dict[str, None]:
        """What happened on the way and no call tells."""
        renewed = self._client.sessions.renewed
        times = "once" if renewed == 1 else f"{renewed} times"
        told = {f"the server ended the session {times}, and it was begun anew": None} if renewed else {}
        return told | self._heard

    def hear(self, message: Any) -> None:
        """Note what a user should know of a message that is not an answer."""
        _note(self._heard, remark_of(message))


class BoundedClient(httpx2.AsyncClient):
    """An HTTP client that gives an error of MCP in place of an answer that never came or is not fit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sessions = Sessions()
        #: The status of the last answer.
        self.status = 0

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Return the response, whole or as a stream of events, of a bounded size."""
        if request.method == "GET" and LAST_EVENT_ID not in request.headers:
            return httpx2.Response(405, request=request)
        try:
            await request.aread()
            session = self.sessions.enter(request)
            came = await self._bounded(await super().send(request, **options))
            if session and has_ended(came) and await self.sessions.renew(session, self._send_now):
                self.sessions.enter(request)
                came = await self._bounded(await super().send(request, **options))
            self.sessions.note(came)
            self.status = came.status_code
            return self._checked(came)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.SSEError) as error:
            told = {"code": types.CONNECTION_CLOSED, "message": fault_of(error), "data": OWN}
            said = {"jsonrpc": "2.0", "id": None, "error": told}
            return httpx2.Response(502, json=said, request=request)

    async def _send_now(self, request: httpx2.Request) -> httpx2.Response:
        came = await self._bounded(await super().send(request, stream=True, follow_redirects=False))
        try:
            await came.aread()
        finally:
            await came.aclose()
        return came

    async def _bounded(self, came: httpx2.Response) -> httpx2.Response:
        """Return the same answer with a bounded body, which is read already unless it is a stream of
        events.
        """
        events = came.is_success and came.headers.get("content-type", "").startswith("text/event-stream")
        stream = _Bounded(came, MAX_UNASKED if events else MAX_MESSAGE)
        bounded = httpx2.Response(came.status_code, headers=came.headers, stream=stream, request=came.request)
        bounded.next_request = came.next_request
        try:
            if came.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                raise httpx2.SSEError("sent a compressed answer, which was not requested")
            if not events:
                await bounded.aread()
        except BaseException:
            await bounded.aclose()
            raise
        return bounded

    @staticmethod
    def _checked(came: httpx2.Response) -> httpx2.Response:
        """Return the answer, if it holds a message or is a redirect that stays at this server."""
        if came.is_success and (why := _unfit(came)):
            raise httpx2.SSEError(why)
        told_by_headers = came.status_code in ADVICE
        if came.is_success or _stays(came) or (b'"jsonrpc"' in came.content and not told_by_headers):
            return came
        raise httpx2.SSEError(refusal_of(came))


def _unfit(came: httpx2.Response) -> str:
    """Return why an answer to a request is no message; empty if it is one, or is a stream of events."""
    asked = came.request.content if came.request.method == "POST" else b""
    if not asks(asked) or came.headers.get("content-type", "").startswith("text/event-stream"):
        return ""
    if not came.content.strip():
        return f"answered {came.status_code} {came.reason_phrase} with nothing in it"
    try:
        message = parse_message(came.content)
    except ValueError:
        said = safe_line(came.content[:400].decode(errors="replace"), 80)
        return f"sent an answer that is not an MCP message: {said}"
    if isinstance(message, Spoiled):
        return f"sent a message {message.why}"
    came.headers["content-type"] = "application/json"  # whatever it is called, it is a message
    return ""


def _stays(came: httpx2.Response) -> bool:
    """Return whether an answer is a redirect with the same method to the same origin: it is followed."""
    if came.next_request is None or came.next_request.method != came.request.method:
        return False
    here = came.request.url
    there = came.next_request.url
    return (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, up to a limit; raises an error that the official transport passes on."""

    def __init__(self, response: httpx2.Response, limit: int) -> None:
        self._response = response
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._response.aiter_raw():
            size += len(part)
            if size > self._limit:
                raise httpx2.SSEError(f"sent an answer of more than {self._limit >> 20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


class ServerConnection:
    """A server that is running, and the client that speaks with it; see `MCPTools` for what it is given."""

    def __init__(
        self, name: str, server: LocalServer | RemoteServer, patience: float, timeout: float
    ) -> None:
        """Start or find the server and shake hands with it; raises `InvalidInput` if that fails."""
        self.name = name
        self._server = server
        self._patience = patience
        self._timeout = timeout
        self._notes: dict[str, None] = {}
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
        """Return all tools that the server lists, whatever they are; at most `MAX_TOOLS`. A server may have
        none.
        """
        found = await self._in_time(self._all_pages("tools"))
        return [tool_in(number, entry) for number, entry in enumerate(found)]

    async def list_offers(self, kind: Offered) -> list[Offer]:
        """Return all resources, templates or prompts that the server lists; none if it says that it
        has none.
        """
        if not self._says_it_has(kind):
            return []
        try:
            found = await self._in_time(self._all_pages(kind))
        except ExecutionFailed as error:
            if kind != "resource_templates":
                raise
            _note(self._notes, f"the templates of resources are not listed: {error.what}")
            return []
        offers: list[Offer] = []
        for each in (offer_in(kind, number, entry) for number, entry in enumerate(found)):
            if isinstance(each, Offer):
                offers.append(each)
            else:
                _note(self._notes, each)
        return offers

    @property
    def notes(self) -> tuple[str, ...]:
        """What the server sent and nobody got, each once."""
        return (*self._notes, *self._server.notes)

    @property
    def instructions(self) -> str:
        """How the server wants its tools to be used; empty if it does not say."""
        return self._session.instructions or ""

    def _says_it_has(self, kind: Kind) -> bool:
        capability = "resources" if kind == "resource_templates" else kind
        return getattr(self._session.server_capabilities, capability, None) is not None

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Return what the server answers to one call; cancelling the wait tells the server so."""
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        asked = self._ask(types.CallToolRequest(params=params), types.CallToolResult)
        answer: types.CallToolResult = await self._in_time(asked)
        answer.structured_content = structured_in(answer.structured_content)
        return answer

    async def read_resource(self, uri: str) -> list[Any]:
        """Return the contents of a resource."""
        params = types.ReadResourceRequestParams(uri=uri)
        asked = self._ask(types.ReadResourceRequest(params=params), types.ReadResourceResult)
        answer: types.ReadResourceResult = await self._in_time(asked)
        return [*answer.contents]

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[types.PromptMessage]:
        """Return the messages of a prompt."""
        params = types.GetPromptRequestParams(name=name, arguments=dict(arguments))
        asked = self._ask(types.GetPromptRequest(params=params), types.GetPromptResult)
        answer: types.GetPromptResult = await self._in_time(asked)
        return answer.messages

    async def _all_pages(self, kind: Kind) -> list[Any]:
        """Return the entries of a list, as the server sent them."""
        name = kind.title().replace("_", "")
        asks, answers = (getattr(types, f"List{name}{end}") for end in ("Request", "Result"))
        found: list[Any] = []
        latest: list[Any] = []
        cursor: str | None = None
        cursors = set[str | None]()
        for _ in range(MAX_PAGES):
            page = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            # Not `session.list_tools`: that keeps output schemas, and checks results against them unbounded.
            try:
                reply = await self._ask(asks(params=page), answers)
            except ExecutionFailed as error:
                if self._says_it_has(kind) and not isinstance(error, NotOffered):
                    raise
                if kind != "resource_templates":  # few servers have any
                    _note(self._notes, f"the server lists no {kind}")
                return found
            before = latest
            latest = [*entries_in(getattr(reply, kind))]
            cursors.add(cursor)
            cursor = reply.next_cursor
            if cursor in cursors and cursor:
                _note(self._notes, f"the list of {kind} ends where its cursor {cursor[:40]!r} comes again")
                return found if latest == before else found + latest
            found += latest
            if len(found) > MAX_TOOLS:
                break
            if not cursor:
                return found
        raise ToolIOError(
            f"the MCP server {self.name} lists too many {kind}",
            expected=f"at most {MAX_TOOLS}, on at most {MAX_PAGES} pages",
            advice="configure it to offer fewer",
        )

    async def _in_time(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            with anyio.fail_after(self._timeout):
                return await work
        except TimeoutError:
            raise ToolTimeout(
                f"the MCP server {self.name} did not answer within {self._timeout:g} s{self._evidence()}",
                advice="raise timeout=, or start it again",
            ) from None

    def _evidence(self) -> str:
        """Return the first thing that the server sent and nobody got: it may be why an answer is missing."""
        return next((f"; {note}" for note in self._server.notes), "")

    async def _ask(self, request: Any, kind: Any) -> Any:
        who = f"the MCP server {self.name}"
        try:
            return await self._session.send_request(request, kind)
        except MCPError as error:
            if error.data is SPOILED:
                raise ToolIOError(f"{who} {error.message}", advice=_REPORT) from None
            if fault := self._server.fault_in(error):
                raise ToolIOError(f"{who} {fault}", advice=self._server.advice) from None
            kind_of = NotOffered if error.code == types.METHOD_NOT_FOUND else ExecutionFailed
            raise kind_of(f"{who} refused: {safe_line(error.message)}{_to_open(error)}") from None
        except ValidationError as error:
            raise ToolIOError(
                f"{who} sent a response that is not valid MCP: {first_problem(error)}", advice=_REPORT
            ) from None

    async def _live(self, *, task_status: Any) -> None:
        """Start the server and speak with it until this is cancelled."""
        us = types.Implementation(name="zoolab", version="")
        async with (
            self._server.speaking() as (inbox, outbox),
            ClientSession(Apart(inbox, self._server.hear), outbox, client_info=us) as session,
        ):
            problem = await self._greet(session)
            if not problem:
                task_status.started(session)
                await anyio.sleep_forever()
        raise InvalidInput(f"the MCP server {self.name} {problem}", advice=self._server.advice)

    async def _greet(self, session: ClientSession) -> str:
        """Return why the handshake fails, if it does. Nothing is raised: the session would wrap it in a
        group.
        """
        try:
            with anyio.fail_after(self._patience):
                try:
                    await session.initialize()
                except MCPError as error:
                    if error.code not in (types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION):
                        raise
                    await session.discover()  # a server that has given the handshake up
        except TimeoutError:
            return f"did not start within {self._patience:g} s{self._evidence()}"
        except Exception as error:
            why = first_problem(error) if isinstance(error, ValidationError) else safe_line(str(error))
            return self._server.fault_in(error) or f"did not complete the handshake: {why}"
        return ""
