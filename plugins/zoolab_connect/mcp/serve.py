"""A registry as an MCP server: its tools listed, checked, decided about and run as in a walk."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.jsontext import excerpt
from zoolab.jsontext.values import to_json_value
from zoolab.policy import Permissions
from zoolab.running.calls import Job, Runner
from zoolab.steps.result import make_result
from zoolab.tools import Tool, ToolRegistry
from zoolab_connect.mcp.listing import MAX_MESSAGE
from zoolab_connect.threads import Threads

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


class CallAnswer(NamedTuple):
    """What one call gave: text, the value if it is a JSON object, and whether it failed."""

    text: str
    value: dict[str, Any] | None = None
    failed: bool = False


def serve(
    registry: ToolRegistry,
    permissions: Permissions | None = None,
    name: str = "zoolab",
    port: int | None = None,
) -> None:
    """Serve the tools on standard input and output until the input ends, or over HTTP until an interrupt.

    With a `port` (0: any that is free), the address is `http://127.0.0.1:PORT/mcp`. Every program of this
    machine may call the tools, and no other: foreign Host and Origin headers are refused, so that no web
    page reaches them through a browser.

    Tools that the permissions leave to the user are refused, because nobody can be asked. What tools
    print goes to standard error: standard output belongs to the protocol.

    >>> serve(ToolRegistry())
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: the registry has no tools to serve; expected a registry with tools
    """
    if not len(registry):
        raise InvalidInput("the registry has no tools to serve", expected="a registry with tools")
    needs("mcp_types", "mcp")
    try:
        listening = None if port is None else socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"cannot listen at port {port}: {error}", advice="take another, or 0") from None
    asyncio.run(_serve(registry, permissions or Permissions(), name, listening))


def answer_call(
    registry: ToolRegistry, permissions: Permissions, runner: Runner, name: str, arguments: Mapping[str, Any]
) -> CallAnswer:
    """Return what a client gets for one call: never an exception, and never a call that nobody decided
    about.
    """
    tool = registry.get(name)
    if tool is None:
        return CallAnswer(
            f"no tool is named {excerpt(name)}; expected {registry.names_as_text()}", failed=True
        )
    problems = tool.checker.problems(dict(arguments))
    if problems:
        return CallAnswer(f"{name}: " + "; ".join(problem.message for problem in problems), failed=True)
    if registry.denies(name):
        permissions.note_denied(tool, arguments)
        return CallAnswer(f"{name} is denied", failed=True)
    decision = permissions.decide(tool, arguments)
    if decision.choice == "pending":
        permissions.settle(tool, arguments, decision)
        return CallAnswer(f"{name} is of {tool.risk} risk, and nobody is here to be asked", failed=True)
    if not decision.allowed:
        return CallAnswer(f"{name} did not run: {decision.told}", failed=True)
    outcome = runner.run([Job(tool, arguments, tool.timeout)])[0]
    if outcome.error is not None:
        return CallAnswer(outcome.error.message, failed=True)
    result = make_result(outcome, "", "plain", tool.untrusted)
    if result.error_code or result.truncated or isinstance(outcome.value, str):
        return CallAnswer(result.content, failed=bool(result.error_code))
    value = to_json_value(outcome.value)
    # Until revision 2026-07-28 structured content is an object: what is none is put into one.
    return CallAnswer(result.content, value if isinstance(value, dict) else {"result": value})


def described(tool: Tool) -> dict[str, Any]:
    """Return a tool as it is listed: its schema, and hints that follow from its risk.

    >>> described(Tool.from_schema("now", "Tell the time.", {"type": "object"}))["annotations"]
    {'readOnlyHint': True, 'destructiveHint': False}
    """
    hints = {"readOnlyHint": tool.risk == "safe", "destructiveHint": tool.risk == "high"}
    return {**tool.schema("mcp"), "annotations": hints}


async def _serve(
    registry: ToolRegistry, permissions: Permissions, name: str, listening: socket.socket | None
) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    runner = Runner()
    listed = [types.Tool.model_validate(described(tool), by_alias=True) for tool in registry]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_context: Any, params: Any) -> types.CallToolResult:
        asked = params.name, params.arguments or {}
        # In a thread that does not keep the process alive: a tool that hangs must not outlive its client.
        thread = Threads(1)
        answered = thread.submit(answer_call, registry, permissions, runner, *asked)
        thread.shutdown(wait=False)
        answer = await asyncio.wrap_future(answered)
        text = types.TextContent(text=answer.text)
        return types.CallToolResult(content=[text], structured_content=answer.value, is_error=answer.failed)

    server: Server[Any] = Server(name, version=_version(), on_list_tools=list_tools, on_call_tool=call_tool)
    try:
        if listening is not None:
            return await _over_http(server, listening)
        async with stdio_server() as (reading, writing):
            # Only now: the transport has taken the real standard output.
            with redirect_stdout(sys.stderr):
                return await server.run(reading, writing, server.create_initialization_options())
    finally:
        runner.close()


def _version() -> str:
    try:
        return version("zoolab")
    except PackageNotFoundError:  # a copy that was never installed
        return ""


async def _over_http(server: Server[Any], listening: socket.socket) -> None:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    own = [f"{host}:{listening.getsockname()[1]}" for host in ("127.0.0.1", "localhost")]
    safe = TransportSecuritySettings(allowed_hosts=own, allowed_origins=[f"http://{host}" for host in own])
    app = server.streamable_http_app(transport_security=safe, max_request_body_size=MAX_MESSAGE)
    print(f"serving at http://{own[0]}/mcp", file=sys.stderr, flush=True)
    with redirect_stdout(sys.stderr):
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve(sockets=[listening])
