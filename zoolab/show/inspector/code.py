"""A step as Python code: what a reader runs to do the very same with zoolab."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from zoolab.jsontext.values import to_json_value
from zoolab.records import Decision, Failure, Outcome, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.blocks import GATES
from zoolab.show.moment import Moment
from zoolab.steps.result import METADATA, make_result
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown

_MAX_CODE = 6_000
_MAX_MESSAGES = 60

_LOAD = """\
from zoolab import Trace

trace = Trace.load("trace.jsonl")  # saved with trace.save("trace.jsonl")
step = trace.steps[{seq}]
record, messages = step.record, step.messages
"""
_DEFINE = """\
from zoolab import Tool, ToolRegistry

tools = ToolRegistry([
{tools}])
{denied}"""
_REQUEST = """\
from zoolab import Request

messages = [
{messages}]
tools = (
{tools})
request = Request(messages, tools, {choice}, {settings})
body = request.body()
# reply = model(request)
"""
_READ = """\
from zoolab import read_calls

message = {message}
call = read_calls(message, turn={turn}, text={text})[{slot}]
"""
_REPLY = """\
from zoolab import Reply, read_calls

reply = Reply({message})
assert read_calls(reply.message) == []  # it asks for no tool: this is the answer
"""
_CHECK = """\
from zoolab import Tool, ToolCall, ToolRegistry, check_call

registry = ToolRegistry([
{tools}])
{denied}call = {call}{repaired}
verdict = check_call(call, registry)
"""
_VERDICT = """\
from zoolab import Verdict
from zoolab.errors import Problem

verdict = {verdict}
"""
_EXECUTE = """\
{asked}# tools: the ToolRegistry of this run, with its functions
value = tools.execute({name}, {arguments})
"""
_DECIDE = """\
from zoolab import Decision

# steps: the walk, which waits at this step
steps.answer(Decision({choice}))
"""
_MAKE_RESULT = """\
from zoolab import Outcome
from zoolab.records import Failure
from zoolab.steps.result import make_result

outcome = {outcome}
result = make_result(outcome, {call_id}, {envelope}, {untrusted})
"""


def code_of(moment: Moment) -> str:
    """Code that does what a step did; if that would be too long, code that reads it from the trace.

    >>> from zoolab import Scripted, run
    >>> code = code_of(Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 3))
    >>> namespace = {}
    >>> exec(code, namespace)
    >>> namespace["verdict"].error_code
    'unknown_tool'
    """
    try:
        code = _code(moment)
        if len(code) <= _MAX_CODE:
            compile(code, "<step>", "exec")
            return code
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        pass  # it holds what Python source cannot
    return _LOAD.format(seq=moment.seq)


def _code(moment: Moment) -> str:
    step = moment.step
    match step.record:
        case ToolRegistry() as tools:
            denied = [tool.name for tool in tools if tools.denies(tool.name)]
            return _DEFINE.format(tools=_lines(map(_bare, tools)), denied=_deny("tools", denied))
        case Request() as request:
            if len(request.prefix) > _MAX_MESSAGES:
                raise ValueError("too many messages for a piece of code")
            return _REQUEST.format(
                messages=_lines(request.messages),
                tools=_lines(request.tools),
                choice=source(request.tool_choice),
                settings=source(dict(request.settings)),
            )
        case ToolCall() as call:
            if step.reply is None or moment.seq in moment.trace.originals:
                return f"from zoolab import ToolCall\n\ncall = {source(call)}\n"
            message = source(step.reply.message)
            return _READ.format(message=message, turn=call.turn, text=call.origin == "text", slot=call.slot)
        case Reply() as reply:
            return _REPLY.format(message=source(reply.message))
        case Verdict() as verdict:
            return _validate(moment, verdict)
        case Decision() as decision:
            return _DECIDE.format(choice=repr(decision.choice if decision.choice != "pending" else "once"))
        case Outcome():
            if moment.call.verdict is None:
                raise ValueError("it belongs to no call")
            asked = "" if moment.call.decision is None else "# somebody has to allow this call first\n"
            arguments = source(moment.call.arguments)
            return _EXECUTE.format(asked=asked, name=source(moment.call.call.name), arguments=arguments)
        case Result() as result:
            return _result(moment, result)


def _validate(moment: Moment, verdict: Verdict) -> str:
    """A check of the call; the verdict itself if a person, a limit or a function's own types gave it."""
    tool, call, error = moment.tool, moment.step.call, verdict.error_code
    known = error == "unknown_tool" if tool is None else verdict.ok or tool.bind is None
    by_hand = moment.seq in moment.trace.originals
    if call is None or not known or by_hand or error not in (None, *GATES):
        return _VERDICT.format(verdict=source(replace(verdict, repair=None)))
    repair, repaired = verdict.repair, ""
    if repair is not None and repair.accepted and repair.proposed is not None:
        call, repaired = replace(call, arguments=repair.proposed), "  # as the repair proposed"
    return _CHECK.format(
        tools=_lines([_bare(tool)] if tool is not None else [Tool(t.name, "", {}) for t in moment.tools]),
        denied=_deny("registry", [call.name] if error == "permission_denied" else []),
        call=source(call),
        repaired=repaired,
    )


def _result(moment: Moment, result: Result) -> str:
    """`make_result` of the outcome; the result itself if that gives another, as for an edited one."""
    outcome, untrusted = moment.call.outcome, moment.tool.untrusted if moment.tool is not None else ""
    if outcome is not None and not isinstance(outcome.value, Shown):
        envelope: Any = "json" if METADATA in result.content else "plain"
        if make_result(outcome, result.tool_call_id, envelope, untrusted) == result:
            error = outcome.error and Failure(outcome.error.code, outcome.error.message)
            value = to_json_value(outcome.value)
            return _MAKE_RESULT.format(
                outcome=source(Outcome(value, error, outcome.duration_ms, outcome.started_ms)),
                call_id=source(result.tool_call_id),
                envelope=source(envelope),
                untrusted=source(untrusted),
            )
    return f"from zoolab import Result\n\nresult = {source(result)}\n"


def _bare(tool: Tool) -> Tool:
    """What the model sees of a tool."""
    return Tool(tool.name, tool.description, tool.parameters)


def _deny(registry: str, names: list[str]) -> str:
    return "".join(f"{registry}.deny({source(name)})\n" for name in names)


def _lines(values: Iterable[Any]) -> str:
    return "".join(f"    {source(value)},\n" for value in values)


def source(value: Any) -> str:
    """Plain data and records of it as Python source; raises `ValueError` for anything else.

    >>> source({"a": [1, None, float("inf")]}), source(Failure("timeout", "gave up"))
    ("{'a': [1, None, float('inf')]}", "Failure(code='timeout', message='gave up')")
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{source(key)}: {source(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(source, value))}]"
    if isinstance(value, tuple):
        return f"({''.join(f'{source(child)}, ' for child in value)})"
    if not is_dataclass(value):
        raise ValueError(f"a {type(value).__name__} has no form in Python source")
    given = ((field, getattr(value, field.name)) for field in fields(value) if field.compare)
    told = (f"{field.name}={source(child)}" for field, child in given if child != field.default)
    return f"{type(value).__name__}({', '.join(told)})"
