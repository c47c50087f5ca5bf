"""A registry as an MCP server over stdio: its tools listed, checked, decided about and run as in a walk."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import redirect_stdout
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput, needs
from zoolab.jsontext import excerpt
from zoolab.jsontext.values import to_json_value
from zoolab.loop.runner import Job, Runner
from zoolab.policy import Permissions
from zoolab.steps.result import make_result
from zoolab.tools import ToolRegistry


class Answer(NamedTuple):
    """What one call gave: text, the value if it is a JSON object, and whether it failed."""

    text: str
    value: dict[str, Any] | None = None
    failed: bool = False


def serve(registry: ToolRegistry, permissions: Permissions | None = None, name: str = "zoolab") -> None:
    """Serve the tools on standard input and output until the input ends.

    Tools that the permissions leave to the user are refused, because nobody can be asked. What tools
    print goes to standard error: standard output belongs to the protocol.

    >>> serve(ToolRegistry())
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: the registry has no tools to serve; expected a registry with tools
    """
    if not len(registry):
        raise InvalidInput("the registry has no tools to serve", expected="a registry with tools")
    needs("mcp_types", "mcp")
    asyncio.run(_serve(registry, permissions or Permissions(), name))


def answer_call(
    registry: ToolRegistry, permissions: Permissions, runner: Runner, name: str, arguments: Mapping[str, Any]
) -> Answer:
    """What a client gets for one call: never an exception, and never a call that nobody decided about."""
    tool = registry.get(name)
    if tool is None:
        return Answer(f"no tool is named {excerpt(name)}; expected {registry.names_as_text()}", failed=True)
    problems = tool.checker.problems(dict(arguments))
    if problems:
        return Answer(f"{name}: " + "; ".join(problem.message for problem in problems), failed=True)
    if registry.denies(name):
        return Answer(f"{name} is denied", failed=True)
    decision = permissions.decide(tool, arguments)
    if decision.choice == "pending":
        permissions.settle(tool, arguments, decision)
        how = f"nobody is here to ask; the server has to be started with --allow {name}"
        return Answer(f"{name} is of {tool.risk} risk, and {how}", failed=True)
    if not decision.allowed:
        return Answer(f"{name} did not run: {decision.reason}", failed=True)
    outcome = runner.run([Job(tool, arguments, tool.timeout)])[0]
    if outcome.error is not None:
        return Answer(outcome.error.message, failed=True)
    result = make_result(outcome, "", "plain", tool.untrusted)
    if result.error_code or result.truncated or not isinstance(outcome.value, dict):
        return Answer(result.content, failed=bool(result.error_code))
    return Answer(result.content, to_json_value(outcome.value))


async def _serve(registry: ToolRegistry, permissions: Permissions, name: str) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    runner = Runner()
    listed = [types.Tool.model_validate(schema, by_alias=True) for schema in registry.schemas("mcp")]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_context: Any, params: Any) -> types.CallToolResult:
        asked = params.name, params.arguments or {}
        answer = await _in_thread(lambda: answer_call(registry, permissions, runner, *asked))
        text = types.TextContent(text=answer.text)
        return types.CallToolResult(content=[text], structured_content=answer.value, is_error=answer.failed)

    server: Server[Any] = Server(name, on_list_tools=list_tools, on_call_tool=call_tool)
    try:
        async with stdio_server() as (reading, writing):
            # Only now: the transport has taken the real standard output.
            with redirect_stdout(sys.stderr):
                await server.run(reading, writing, server.create_initialization_options())
    finally:
        runner.close()


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    """In a thread that does not keep the process alive: a tool that hangs must not outlive its client."""
    done: Future[Answer] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
