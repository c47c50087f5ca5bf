"""A step as Python code: what a reader runs to do the same with zoolab, from the trace on show."""

from __future__ import annotations

from typing import Any

from zoolab.records import Decision, Outcome, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.blocks import GATES
from zoolab.show.moment import Moment
from zoolab.steps.result import METADATA, make_result
from zoolab.tools import ToolRegistry
from zoolab.trace.codec import Shown

_STEP = """\
# trace: the one that is shown; read a saved one with Trace.load("trace.jsonl")
step = trace.steps[{seq}]
"""
_READ = "read_calls(step.reply.message, turn={turn}, text={text})[{slot}]"


def code_of(moment: Moment) -> str:
    """Code that does what a step did; what somebody answered by hand, it reads from the trace."""
    imported, lines = "", ["record = step.record"]
    by_hand = moment.seq in moment.trace.originals
    match moment.step.record:
        case ToolRegistry():
            lines = ["tools = step.record", "schemas = tools.schemas()"]
        case Request():
            lines = ["request = step.record", "body = request.body()", "# reply = model(request)"]
        case ToolCall() as call if moment.step.reply is not None and not by_hand:
            read = _READ.format(turn=call.turn, text=call.origin == "text", slot=call.slot)
            imported, lines = "from zoolab import read_calls", [f"call = {read}"]
        case Reply():
            asks_nothing = (
                "assert read_calls(reply.message) == []  # no tool is asked for: this is the answer"
            )
            imported, lines = "from zoolab import read_calls", ["reply = step.record", asks_nothing]
        case Verdict() as verdict if not by_hand and _is_checked_by_schema(moment, verdict):
            imported, lines = _check(verdict)
        case Decision() as decision:
            choice = "once" if decision.choice == "pending" else decision.choice
            answer = f"steps.answer(Decision({choice!r}))  # steps: the walk, which waits at this step"
            imported, lines = "from zoolab import Decision", [answer]
        case Outcome() if moment.call.validated is not None:
            lines = [f"arguments = trace.steps[{moment.call.validated}].record.arguments"]
            lines.append("value = tools.execute(step.call.name, arguments)  # tools: with their functions")
        case Result() as result if made := _make_result(moment, result):
            imported, lines = "from zoolab.steps.result import make_result", made
    begin = f"{imported}\n\n" if imported else ""
    return begin + _STEP.format(seq=moment.seq) + "\n".join(lines) + "\n"


def _is_checked_by_schema(moment: Moment, verdict: Verdict) -> bool:
    """Whether the call alone decides, and no person, limit or type of a function gave the verdict."""
    tool, error = moment.tool, verdict.error_code
    known = error == "unknown_tool" if tool is None else verdict.ok or tool.bind is None
    return known and error in (None, *GATES) and isinstance(moment.trace.steps[0].record, ToolRegistry)


def _check(verdict: Verdict) -> tuple[str, list[str]]:
    imported, call = "from zoolab import check_call", "step.call"
    if verdict.repair is not None and verdict.repair.accepted:
        imported = f"from dataclasses import replace\n\n{imported}"
        call = "replace(step.call, arguments=step.record.repair.proposed)"
    return imported, [f"call = {call}", "verdict = check_call(call, trace.steps[0].record)"]


def _make_result(moment: Moment, result: Result) -> list[str]:
    """`make_result` of the outcome, unless that gives another result, as for an edited one."""
    outcome, untrusted = moment.call.outcome, moment.tool.untrusted if moment.tool is not None else ""
    if outcome is None or isinstance(outcome.value, Shown):
        return []
    envelope: Any = "json" if METADATA in result.content else "plain"
    if make_result(outcome, result.tool_call_id, envelope, untrusted) != result:
        return []
    made = f"make_result(outcome, step.record.tool_call_id, {envelope!r}, {untrusted!r})"
    return [f"outcome = trace.steps[{moment.call.ran}].record", f"result = {made}"]
