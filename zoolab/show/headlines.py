"""The headline of a step: what happened, in one line of plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zoolab.jsontext import excerpt
from zoolab.records import Decision, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.tools import ToolRegistry


def headline(step: Step) -> str:
    """What happened in a step, in one line.

    >>> from zoolab import Scripted, walk
    >>> [headline(step) for step in walk("Hi", [], Scripted(["Hello"]))]
    ['no tools', '1 message is sent', 'no tool is asked for: this is the answer']
    """
    return _HEADLINES[type(step.record)](step.record)


def _tools(registry: ToolRegistry) -> str:
    count = len(registry)
    names = ", ".join(tool.name for tool in registry)
    return f"{count} tool{'s' * (count != 1)}: {names}" if count else "no tools"


def _request(request: Request) -> str:
    count = len(request.prefix)
    sent = f"{count} message is sent" if count == 1 else f"{count} messages are sent"
    if not request.tools:
        return sent
    tools = f"{len(request.tools)} tool{'s' * (len(request.tools) != 1)}"
    tools += f" of {len(request.tools) + len(request.withheld)}" if request.withheld else ""
    return f"{sent} with {tools}" + (
        "" if request.tool_choice == "auto" else f", tool_choice {request.tool_choice}"
    )


def _verdict(verdict: Verdict) -> str:
    repaired = " after repair" if verdict.repair and verdict.repair.accepted else ""
    return f"may run{repaired}" if verdict.ok else f"refused: {verdict.error_code}"


def _outcome(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"failed: {outcome.error.code}"
    return f"returned {excerpt(outcome.value)} in {outcome.duration_ms:.1f} ms"


def _decision(decision: Decision) -> str:
    if decision.choice == "pending":
        return f"waits for permission: {decision.reason}"
    return f"permission: {decision.choice}"


def _result(result: Result) -> str:
    size = f"{result.data_bytes:,} byte{'s' * (result.data_bytes != 1)}"
    told = f"error {result.error_code}" if result.error_code else size
    cut = f", cut to {result.sent_bytes:,}" if result.truncated else ""
    again = f"; loop detected: {result.repeats} times the same" if result.loop_detected else ""
    return f"goes back to the model as {result.tool_call_id}: {told}{cut}{again}"


_HEADLINES: dict[type, Callable[[Any], str]] = {
    ToolRegistry: _tools,
    Request: _request,
    ToolCall: lambda call: f"the model asks for {call.name}, as {call.id}",
    Reply: lambda _reply: "no tool is asked for: this is the answer",
    Verdict: _verdict,
    Outcome: _outcome,
    Decision: _decision,
    Result: _result,
}
