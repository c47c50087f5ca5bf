"""Execute: the Python call, the permission for it, and what came of it."""

from __future__ import annotations

from typing import Any

from zoolab.show.bounds import LINE, Room, pretty
from zoolab.show.moment import Moment
from zoolab.show.block_types import Block, code, facts, fault_note, nested, note
from zoolab.records import Decision, Outcome
from zoolab.runs import Trace
from zoolab.trace.codec import Shown
from zoolab.show.wording import as_text, duration, python_call, size

_CHOICES = {
    "pending": "nobody gave it",
    "once": "once",
    "session": "for the session",
    "always": "always",
    "deny": "denied",
}


def execute_blocks(moment: Moment, room: Room, outcome: Outcome) -> list[Block]:
    """What running the call gave: the bound call, the time, the value or the error.

    >>> from zoolab import Scripted, run, tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> moment = Moment(run("Hi", [add], Scripted([[("add", {"a": 1, "b": 2})], "3"])), 4)
    >>> execute_blocks(moment, Room(60_000), moment.step.record)[0]["text"]
    'add(a=1, b=2)'
    """
    error, decision, asked, tool = outcome.error, moment.decision, moment.asked, moment.tool
    blocks = [code(room, "the Python call", bound_call(moment))]
    if error is None:
        blocks.append(_value(room, outcome.value))
    else:
        blocks.append(note(room, "error", f"{error.code}: {error.message}"))
    if outcome.stdout:
        blocks.append(code(room, "what it printed; the model does not see it", outcome.stdout))
    blocks += facts(
        room,
        ("duration", duration(outcome.duration_ms)),
        ("timeout", f"{tool.timeout:g} s" if tool is not None and tool.timeout is not None else "none"),
        ("permission", _permission(decision, asked)),
        ("risk", asked.risk or None if asked is not None else None),
        ("resource", asked.resource or None if asked is not None else None),
        ("reason", decision.reason if decision is not None and decision.reason else None),
        ("exception", error.exception if error is not None else None),
        ("its thread", "still runs: Python cannot stop it" if outcome.still_running else None),
    )
    if outcome.fault is not None:
        blocks += fault_note(room, outcome.fault)
    if isinstance(outcome.trace, Trace):
        blocks.append(nested(room, outcome.trace, as_text(_arguments(moment).get("task", ""))))
    return blocks


def decision_blocks(moment: Moment, room: Room, decision: Decision) -> list[Block]:
    """A permission that is asked, given or refused: for what, at what risk, touching what.

    >>> from zoolab import Scripted, run, tool
    >>> @tool(risk="high")
    ... def wipe(disk: str = "x") -> str:
    ...     "Wipe a disk."
    ...     return "wiped"
    >>> moment = Moment(run("Hi", [wipe], Scripted([[("wipe", {})], "No."])), 4)
    >>> decision_blocks(moment, Room(60_000), moment.step.record)[0]["risk"]
    'high'
    """
    tool, call, recorded = moment.tool, moment.step.call, moment.asked or decision
    arguments = _arguments(moment) if recorded.arguments is None else dict(recorded.arguments)
    asked: Block = {
        "b": "permission",
        "tool": room.line("" if call is None else call.name, 80),
        "risk": room.line(recorded.risk or ("unknown" if tool is None else tool.risk), 40),
        "resource": room.line(recorded.resource or "", 400),
        "arguments": room.text(pretty(arguments), 4_000)["text"],
        "choice": room.line(decision.choice, 20),
        "reason": room.line(decision.reason, 400),
    }
    return [asked, code(room, "the Python call", bound_call(moment))]


def bound_call(moment: Moment) -> str:
    """The Python call that a moment's tool call stands for.

    >>> from zoolab import Scripted, run
    >>> bound_call(Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 3))
    'fly()'
    """
    call = moment.step.call
    return python_call("tool" if call is None else call.name, _arguments(moment))


def _arguments(moment: Moment) -> dict[str, Any]:
    verdict = moment.verdict
    return (verdict.arguments if verdict is not None else None) or {}


def _permission(decision: Decision | None, asked: Decision | None) -> str:
    if decision is not None:
        return _CHOICES.get(decision.choice, decision.choice)
    return "needs none" if asked is None else "not given: a value was, in place of running it"


def _value(room: Room, value: Any) -> Block:
    whole = value.size if isinstance(value, Shown) else None
    kept = "" if whole is None else f"; the trace file keeps the beginning of {size(whole)}"
    kind = "" if isinstance(value, Shown) else f", {type(value).__name__}"
    return code(room, f"it returned{kind[:LINE]}{kept}", python_form(value))


def python_form(value: Any) -> str:
    """A value as Python shows it; of what a file kept of one, that.

    >>> python_form({"a": None}), python_form(Shown("abc"))
    ("{'a': None}", 'abc')
    """
    if isinstance(value, Shown):
        return value.text
    try:
        return repr(value)
    except Exception:
        return as_text(value)
