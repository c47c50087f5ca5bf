"""A step as Python code: what a reader runs to do the very same with zoolab."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from zoolab.jsontext import NotStrictJSON, encode, parse_json
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.records import (
    Decision,
    Failure,
    Outcome,
    Reply,
    Request,
    Result,
    ToolCall,
    Verdict,
)
from zoolab.show.moment import Moment
from zoolab.steps.result import METADATA, make_result
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown

_MAX_CODE = 6_000
_MAX_DEPTH = 50
_MAX_MESSAGES = 60


class _Long(Exception):
    """The code would be too long, or hold a value that Python source cannot."""


def code_of(moment: Moment) -> str:
    """Code that does what a step did; if that would be too long, code that reads it from the trace.

    >>> from zoolab import Scripted, run
    >>> code = code_of(Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 3))
    >>> namespace = {}
    >>> exec(code, namespace)
    >>> namespace["verdict"].error_code
    'unknown_tool'
    """
    record: Any = moment.step.record
    try:
        code = _WRITERS[type(record)](moment, record)
        if len(code) > _MAX_CODE or not _compiles(code):
            raise _Long
    except (_Long, NotJSON, ValueError, TypeError, RecursionError):
        return _from_the_trace(moment)
    return code


def _compiles(code: str) -> bool:
    try:
        compile(code, "<step>", "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def _from_the_trace(moment: Moment) -> str:
    return (
        "from zoolab import Trace\n\n"
        'trace = Trace.load("trace.jsonl")  # saved with trace.save("trace.jsonl")\n'
        f"step = trace.steps[{moment.seq}]\n"
        "record, messages = step.record, step.messages\n"
    )


def _define(registry: ToolRegistry) -> str:
    tools = "".join(f"    {_tool(tool)},\n" for tool in registry)
    denied = "".join(f"tools.deny({tool.name!r})\n" for tool in registry if registry.denies(tool.name))
    return f"from zoolab import Tool, ToolRegistry\n\ntools = ToolRegistry([\n{tools}])\n{denied}"


def _request(request: Request) -> str:
    if len(request.prefix) > _MAX_MESSAGES:
        raise _Long
    messages = "".join(f"    {literal(message)},\n" for message in request.messages)
    tools = "".join(f"    {literal(tool)},\n" for tool in request.tools)
    settings = f", settings={literal(dict(request.settings))}" if request.settings else ""
    return (
        "from zoolab import Request\n\n"
        f"messages = [\n{messages}]\ntools = (\n{tools})\n"
        f"request = Request(messages, tools, {request.tool_choice!r}{settings})\n"
        "body = request.body()\n"
        "# reply = model(request)\n"
    )


def _tool_call(moment: Moment, call: ToolCall) -> str:
    if moment.step.reply is None or moment.seq in moment.trace.originals:
        return f"from zoolab import ToolCall\n\ncall = {_call(call)}\n"
    text = ", text=True" if call.origin == "text" else ""
    return (
        "from zoolab import read_calls\n\n"
        f"message = {literal(moment.step.reply.message)}\n"
        f"call = read_calls(message, turn={call.turn}{text})[{call.slot}]\n"
    )


def _reply(reply: Reply) -> str:
    return (
        "from zoolab import Reply, read_calls\n\n"
        f"reply = Reply({literal(reply.message)})\n"
        "assert read_calls(reply.message) == []  # it asks for no tool: this is the answer\n"
    )


def _validate(moment: Moment, verdict: Verdict) -> str:
    call = moment.step.call
    if call is None or not _checked_as_written(moment, verdict):
        imports = "from zoolab import Verdict\nfrom zoolab.errors import Problem\n\n"
        return f"{imports}verdict = {_verdict(verdict)}\n"
    repaired = verdict.repair is not None and verdict.repair.accepted
    again = f"replace(call, arguments={verdict.repair.proposed!r})" if repaired and verdict.repair else "call"
    denied = f"registry.deny({call.name!r})\n" if verdict.error_code == "permission_denied" else ""
    return (
        ("from dataclasses import replace\n\n" if repaired else "")
        + "from zoolab import Tool, ToolCall, ToolRegistry, check_call\n\n"
        + f"registry = ToolRegistry([\n{_tools_for(moment)}])\n{denied}"
        + f"call = {_call(call)}\n"
        + f"verdict = check_call({again}, registry){'  # as the repair proposed' if repaired else ''}\n"
    )


def _checked_as_written(moment: Moment, verdict: Verdict) -> bool:
    """Whether checking the call gives this verdict: no person gave it, no limit, no function's own types."""
    by_hand = moment.seq in moment.trace.originals
    other = verdict.error_code not in (
        None,
        "unknown_tool",
        "permission_denied",
        "invalid_json",
        "invalid_arguments",
    )
    tool = moment.tool
    known = tool is not None or verdict.error_code == "unknown_tool"
    bound = tool is not None and tool.bind is not None and not verdict.ok
    return known and not (by_hand or other or bound)


def _tools_for(moment: Moment) -> str:
    """The called tool; if there is none of that name, the names of all."""
    tool = moment.tool
    if tool is not None:
        return f"    {_tool(tool)},\n"
    return "".join(f'    Tool({other.name!r}, "", {{}}),\n' for other in moment.tools)


def _execute(moment: Moment) -> str:
    call, verdict = moment.step.call, moment.call.verdict
    if call is None or verdict is None:
        raise _Long
    allow = "# somebody has to allow this call first\n" if moment.call.decision is not None else ""
    return (
        f"{allow}# tools: the ToolRegistry of this run, with its functions\n"
        f"value = tools.execute({call.name!r}, {literal(verdict.arguments or {})})\n"
    )


def _decision(decision: Decision) -> str:
    choice = decision.choice if decision.choice != "pending" else "once"
    return (
        "from zoolab import Decision\n\n"
        "# steps: the walk, which waits at this step\n"
        f"steps.answer(Decision({choice!r}))\n"
    )


def _result(moment: Moment, result: Result) -> str:
    """`make_result` of the outcome; the result itself if that gives another, as for an edited one."""
    outcome, envelope = moment.call.outcome or _refusal(result), _envelope(result)
    untrusted = moment.tool.untrusted if moment.tool is not None else ""
    if (
        outcome is None
        or isinstance(outcome.value, Shown)
        or not _gives(outcome, result, envelope, untrusted)
    ):
        return f"from zoolab import Result\n\nresult = {_fields('Result', result, _RESULT)}\n"
    return (
        "from zoolab import Outcome\nfrom zoolab.records import Failure\n"
        "from zoolab.steps.result import make_result\n\n"
        f"outcome = {_outcome(outcome)}\n"
        f"result = make_result(outcome, {result.tool_call_id!r}, {envelope!r}, {untrusted!r})\n"
    )


_RESULT = ("content", "tool_call_id", "data_bytes", "sent_bytes", "error_code", "repeats")


def _gives(outcome: Outcome, result: Result, envelope: Any, untrusted: str) -> bool:
    return make_result(outcome, result.tool_call_id, envelope, untrusted) == result


def _envelope(result: Result) -> str:
    return "json" if METADATA in result.content else "plain"


def _refusal(result: Result) -> Outcome | None:
    """The outcome of a call that did not run, which is no step of its own, as its message tells it."""
    if result.error_code is None:
        return None
    if result.content.startswith("ERROR: "):
        return Outcome(error=Failure(result.error_code, result.content.removeprefix("ERROR: ")))
    try:
        told = parse_json(result.content)
        began = told["metadata"]["timestamp"]
        return Outcome(error=Failure(result.error_code, told["error_message"]), started_ms=int(began))
    except (NotStrictJSON, LookupError, TypeError, ValueError):
        return None


def _outcome(outcome: Outcome) -> str:
    times = f"duration_ms={literal(outcome.duration_ms)}, started_ms={outcome.started_ms}"
    if outcome.error is not None:
        return f"Outcome(error=Failure({outcome.error.code!r}, {outcome.error.message!r}), {times})"
    return f"Outcome({literal(to_json_value(outcome.value))}, {times})"


def _verdict(verdict: Verdict) -> str:
    problems = "".join(
        f"{_fields('Problem', problem, ('code', 'pointer', 'expected', 'received'))}, "
        for problem in verdict.problems
    )
    return f"Verdict({verdict.ok}, {literal(verdict.arguments)}, ({problems}))"


def _tool(tool: Tool) -> str:
    return f"Tool({tool.name!r}, {tool.description!r}, {literal(tool.parameters)})"


def _call(call: ToolCall) -> str:
    return (
        f"ToolCall({call.turn}, {call.slot}, {call.id!r}, {call.name!r}, {call.arguments!r}, {call.origin!r})"
    )


def _fields(name: str, record: Any, fields: tuple[str, ...]) -> str:
    return f"{name}({', '.join(literal(getattr(record, field)) for field in fields)})"


def literal(value: Any) -> str:
    """Plain data as Python source.

    Raises `ValueError` for what is no plain data, or too deep.

    >>> literal({"a": [1, None, float("inf")]})
    "{'a': [1, None, float('inf')]}"
    """
    if _depth(value) > _MAX_DEPTH or len(encode(value)) > _MAX_CODE:
        raise ValueError("too much for a piece of code")
    return _source(value)


def _source(value: Any) -> str:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{key!r}: {_source(child)}" for key, child in members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_source, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _depth(value: Any, most: int = _MAX_DEPTH + 1) -> int:
    if most <= 0 or not isinstance(value, dict | list | tuple):
        return 0
    children = value.values() if isinstance(value, dict) else value
    return 1 + max((_depth(child, most - 1) for child in children), default=0)


_WRITERS: dict[type, Callable[[Moment, Any], str]] = {
    ToolRegistry: lambda _moment, registry: _define(registry),
    Request: lambda _moment, request: _request(request),
    ToolCall: _tool_call,
    Reply: lambda _moment, reply: _reply(reply),
    Verdict: _validate,
    Decision: lambda _moment, decision: _decision(decision),
    Outcome: lambda moment, _outcome: _execute(moment),
    Result: _result,
}
