"""The tools of an MCP server, for a walk: started, listed, compared with what they were, called."""

from __future__ import annotations

import asyncio
import atexit
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zoolab.errors import ExecutionFailed, InvalidInput, PermissionDenied, ResourceNotFound
from zoolab.extras import needs
from zoolab.jsontext import canonical, encode, visible
from zoolab.records import Message
from zoolab.secrets import scrub
from zoolab.tools import Risk, Tool, ToolRegistry
from zoolab_connect.mcp.listing import (
    Listed,
    PinChange,
    compare_with_pins,
    pins_folder,
    read_pins,
    safe_line,
    sort_out,
    write_pins,
)

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from zoolab_connect.mcp.connection import ServerConnection
    from zoolab_connect.mcp.listing import Offer

MAX_ERROR = 2_000


def result_value(result: CallToolResult) -> Any:
    """Return the structured value of a result, or its text without one; raises `ExecutionFailed` for an
    error.

    If the other parts say what the value does not repeat, both are returned, under their names in MCP.
    """
    parts = [_words(block) for block in result.content]
    text = "\n".join(parts)
    value: Any = result.structured_content
    unsaid = "\n".join(_not_in(value, parts)) if value is not None else text
    if result.is_error:
        said = unsaid if value is None else f"{unsaid}\n{encode(value)}".lstrip("\n")
        said = visible(scrub(said[: 2 * MAX_ERROR])[:MAX_ERROR])
        raise ExecutionFailed(said or "the server reports an error without a message")
    if value is None or (
        isinstance(value, dict) and [*value] == ["result"] and encode(value["result"]) == text
    ):
        return text  # the value is no object, and the text says it already
    return {"structuredContent": value, "content": unsaid} if unsaid else value


def _not_in(value: Any, parts: Sequence[str]) -> list[str]:
    """Return the parts that are neither the structured value, nor a member of it or an item of a member."""
    inside = [value, *_children(value)]
    known = {canonical(each) for each in [*inside, *chain.from_iterable(map(_children, inside[1:]))]}
    return [part for part in parts if part.strip() and not known & {canonical(part), _as_json(part)}]


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _as_json(text: str) -> str:
    """Return the canonical form of a text that is JSON; empty if it is not."""
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):
        return ""


def _words(block: Any) -> str:
    """Return a block of a result as text: what is not text is named and not poured out."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource_link":
        size = "of unknown size" if block.size is None else f"{block.size:,} bytes"
        return f"[resource {safe_line(block.uri)}, {size}, not fetched]"
    if block.type == "resource":
        what = f"resource {safe_line(block.resource.uri)}"
        data = getattr(block.resource, "blob", None)
    else:
        what = f"{block.type} of type {safe_line(block.mime_type, 80)}"
        data = block.data
    length = len(block.resource.text.encode()) if data is None else _size(data)
    return f"[{what}, {length:,} bytes, not shown]"


def _size(data: str) -> int:
    """Return bytes of what is written in base64."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def _text_of(contents: Any) -> str:
    """Return the text of a part of a resource; what is not text is named."""
    data = getattr(contents, "blob", None)
    if data is None:
        return str(contents.text)
    return f"[{safe_line(contents.mime_type or 'data', 80)}, {_size(data):,} bytes, not shown]"


_ADDRESS = re.compile(r"https?://[!-~]+\Z")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class MCPTools:
    """The tools of an MCP server: one that is started here and speaks over stdio, or one at an address.

        with MCPTools([sys.executable, "server.py"], "files") as tools:
            trace = run("What is in notes.txt?", tools, model)

        with MCPTools("https://tools.example.org/mcp", "shop") as tools: ...

    Nothing that the server says is trusted: its tools are of medium risk, so that a policy asks before
    each call, and what they return is marked as data for the model. The first time that a server is seen
    its tools are pinned as they are; from then on a tool that is new, or described otherwise, waits in
    `new` or `changed` and is refused until you `accept` it. Each call looks again before it is made.

    Args:
        command: The program and its arguments, for instance `["npx", "-y", "some-server"]`; or the address of
            a server that speaks over streamable HTTP.
        name: What you call the server; its tools are pinned under this name.
        risk: The risk of its tools: one for all, or one by tool name; medium for those that are not named.
        prefix: Begins the names of its tools, by default the name and `_`: so no server can take the name
            of another's tool, and with it what you have allowed that tool to do.
        env: Environment variables for the server, beside PATH and its like. Yours are not passed on.
        cwd: The folder that it runs in.
        headers: HTTP headers for a server at an address, for instance with a key.
        timeout: Seconds that it has for each answer.
        patience: Seconds that it has to start.
        pins: The file of its pins; by default one by its name in the platform's configuration folder.
    """

    def __init__(
        self,
        command: Sequence[str] | str,
        name: str,
        *,
        risk: Risk | Mapping[str, Risk] = "medium",
        prefix: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        patience: float = 30.0,
        pins: str | Path | None = None,
    ) -> None:
        address = command if isinstance(command, str) else ""
        if not command or (address and not _ADDRESS.match(address)):
            a_command = 'a list, for instance ["python", "s.py"], or an address that begins with http'
            raise InvalidInput(f"the command is {safe_line(repr(command))}", expected=a_command)
        if (env or cwd) if address else headers:
            who = "headers are for a server at an address, env and cwd for one that is started"
            raise InvalidInput(who, advice="leave them out")
        if not all(word.isascii() and word.isprintable() for word in (headers or {}).values()):
            raise InvalidInput("a header holds a character that HTTP does not allow", advice="check the key")
        if not _SERVER_NAME.match(name):
            raise InvalidInput(
                f"{name!r} is not a valid name of a server", expected="1 to 64 letters, digits, _ or -"
            )
        self.name = name
        self.prefix = f"{name}_" if prefix is None else prefix
        #: Whether the server was never seen before: its tools are trusted as they are.
        self.first_time = False
        #: The tools that cannot be used, and why, by the names that the server gives them.
        self.left_out: Mapping[str, str] = {}
        self._risk = risk
        self._path = pins_folder() / f"{name}.json" if pins is None else Path(pins)
        self._command = address or [*map(str, command)]
        self._env = env or {}
        self._cwd = cwd
        self._headers = headers or {}
        self._patience = patience
        self._timeout = timeout
        self._connection: ServerConnection | None = None
        self._pinned: dict[str, Listed] = {}
        self._listed: list[Listed] | None = None
        self._seen: dict[str, Listed] = {}
        self._registry = ToolRegistry()

    def __enter__(self) -> MCPTools:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)

    def __repr__(self) -> str:
        waiting = len(self.changed) + len(self.new)
        counts = f"{len(self._registry)} tools, {waiting} to accept, {len(self.left_out)} left out"
        return f"MCPTools({self.name}: {counts})"

    def start(self) -> MCPTools:
        """Start the server and list its tools, where there is no `with` block; `close` it at the end.

        Raises `InvalidInput` or `ToolIOError`, with what the server said last and what to do.
        """
        if self._connection is not None:
            raise InvalidInput(f"the MCP server {self.name} is running already", advice="close it first")
        self._connection = connection = self._connect()
        atexit.register(self.close)
        try:
            self._see(connection.portal.call(connection.list_tools))
            pinned = read_pins(self._path, self.name)
            self.first_time = pinned is None
            if pinned is None:
                pinned = {tool.name: tool for tool in self._seen.values()}
                write_pins(self._path, self.name, pinned.values())
            self._pinned = pinned
            self._rebuild()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the server; returns when its process is gone."""
        connection = self._connection
        self._connection = None
        atexit.unregister(self.close)
        if connection is not None:
            connection.close()

    @property
    def registry(self) -> ToolRegistry:
        """The tools that may be called: those that are as they were pinned."""
        if self._connection is None:
            raise InvalidInput(
                f"the MCP server {self.name} is not running", advice="use it in a with block, or call start()"
            )
        return self._registry

    @property
    def changed(self) -> tuple[PinChange, ...]:
        """The tools that are not as they were pinned, with the difference; refused until accepted."""
        return compare_with_pins(self._pinned, self._seen)[0]

    @property
    def new(self) -> tuple[PinChange, ...]:
        """The tools that were not there when the server was pinned; refused until accepted."""
        return compare_with_pins(self._pinned, self._seen)[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the server sent and is not used, beside the tools in `left_out`: a sentence each."""
        return self._running().notes

    @property
    def instructions(self) -> str:
        """How the server wants its tools to be used: a stranger's text, which no model gets."""
        return self._running().instructions

    def offers(self, kind: Literal["resources", "resource_templates", "prompts"]) -> tuple[Offer, ...]:
        """Return the resources, their templates or the prompts that the server lists now; no model
        sees them.
        """
        connection = self._running()
        return tuple(connection.portal.call(connection.list_offers, kind))

    def read(self, uri: str) -> str:
        """Return the text of a resource that the server offers; what is not text is named in its place.

        It is a stranger's text: if a model gets it, say whose it is.
        """
        connection = self._running()
        contents = connection.portal.call(connection.read_resource, uri)
        return "\n".join(_text_of(each) for each in contents)

    def prompt(self, name: str, **arguments: str) -> list[Message]:
        """Return the messages of a prompt that the server offers, as a walk takes them: a stranger's text."""
        connection = self._running()
        given = connection.portal.call(connection.get_prompt, name, arguments)
        return [{"role": each.role, "content": _words(each.content)} for each in given]

    def accept(self, *names: str) -> None:
        """Pin tools as they are now: those of `changed` and `new` that are named, or all of them."""
        waiting = {change.name for change in (*self.changed, *self.new)}
        unknown = [name for name in names if name not in waiting]
        if unknown:
            listed = f"one of {', '.join(sorted(waiting))}"
            known = listed if waiting else "no name, because no tool is new or changed"
            raise InvalidInput(f"no tool {unknown[0]!r} is new or changed", expected=known)
        wanted = names or waiting
        self._pinned |= {tool.name: tool for name, tool in self._seen.items() if name in wanted}
        write_pins(self._path, self.name, self._pinned.values())
        self._rebuild()

    def _connect(self) -> ServerConnection:
        needs("mcp_types", "mcp")
        from zoolab_connect.mcp.connection import LocalServer, RemoteServer, ServerConnection

        if isinstance(self._command, str):
            server: LocalServer | RemoteServer = RemoteServer(self._command, self._headers, self._timeout)
        else:
            server = LocalServer(self._command, self._env, self._cwd)
        return ServerConnection(self.name, server, self._patience, self._timeout)

    def _running(self) -> ServerConnection:
        if self._connection is None:
            raise ResourceNotFound(f"the MCP server {self.name} has been closed", advice="start it again")
        return self._connection

    async def _ask(self, name: str, listed: Listed, arguments: Mapping[str, Any]) -> Any:
        """Call a tool, if it is still what somebody has accepted; the look costs one round trip."""
        connection = self._running()
        self._see(await connection.list_tools())
        now = self._seen.get(name)
        if now is None:
            raise ResourceNotFound(
                f"the MCP server {self.name} no longer offers {name}", advice="call one that it lists"
            )
        if now != listed:
            raise PermissionDenied(
                f"{name} has another description than the one that you accepted",
                advice=f"read it in .changed, then call accept({name!r})",
            )
        return result_value(await connection.call_tool(listed.name, arguments))

    def _see(self, listed: list[Listed]) -> None:
        if listed != self._listed:  # compiling the schemas takes longer than most calls
            self._listed = listed
            self._seen, self.left_out = sort_out(listed, self.prefix)
            self._rebuild()

    def _rebuild(self) -> None:
        self._registry = ToolRegistry(
            self._tool(name, tool) for name, tool in self._seen.items() if self._pinned.get(tool.name) == tool
        )

    def _tool(self, name: str, listed: Listed) -> Tool:
        async def call(**arguments: Any) -> Any:
            future = self._running().portal.start_task_soon(self._ask, name, listed, arguments)
            return await asyncio.wrap_future(future)

        risk = self._risk if isinstance(self._risk, str) else self._risk.get(name, "medium")
        return Tool(
            name, listed.description, listed.schema, call, risk, untrusted=f"the MCP server {self.name}"
        )
