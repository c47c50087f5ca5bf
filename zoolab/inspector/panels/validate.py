"""Validate: known, allowed, parsed, repaired, as the schema says: a checklist, and the verdict."""

from __future__ import annotations

from typing import Any, cast

from zoolab.errors import Problem
from zoolab.show.bounds import MAX_ROWS, Room, pretty
from zoolab.show.moment import Moment
from zoolab.show.block_types import Block, check, code, difference, facts, note
from zoolab.show.blocks import call_faults, changed_by_fault
from zoolab.jsontext import pointer_to
from zoolab.records import Repair, Verdict
from zoolab.tools import Tool
from zoolab.show.wording import count, type_of

#: How far validation came before it found something.
_GATES = ("unknown_tool", "permission_denied", "invalid_json", "invalid_arguments")
_QUESTIONS = ("the tool exists", "the tool is allowed", "the arguments are one JSON object")


def validate_blocks(moment: Moment, room: Room, verdict: Verdict) -> list[Block]:
    """What was checked, in order; what a repair made of it; what is wrong; the verdict.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted([[("fly", {})], "I cannot."])), 3)
    >>> validate_blocks(moment, Room(60_000), moment.step.record)[1]["rows"][0]["state"]
    'bad'
    """
    repair, tool = verdict.repair, moment.tool
    repaired = repair is not None and repair.accepted
    first = repair.problems if repair is not None and repaired else verdict.problems
    came = "as they came (a fault changed them)" if changed_by_fault(moment) else "as the model wrote them"
    blocks = call_faults(moment, room)
    blocks += facts(
        room,
        ("verdict", _verdict_words(verdict)),
        ("attempt", f"{moment.step.attempt}" if moment.step.attempt > 1 else None),
        ("problems", count(len(verdict.problems), "problem") if verdict.problems else None),
    )
    blocks.append(_checklist(room, f"the arguments, {came}", tool, first))
    if repair is not None:
        blocks += _repair(room, repair, tool)
    if verdict.arguments is not None:
        blocks.append(code(room, "the arguments, parsed", pretty(verdict.arguments)))
    elif not verdict.ok:
        blocks.append(note(room, "error", "The call does not run, and the model is told why."))
    return blocks


def _verdict_words(verdict: Verdict) -> str:
    if verdict.ok:
        return (
            "may run, after repair" if verdict.repair is not None and verdict.repair.accepted else "may run"
        )
    return f"refused: {verdict.error_code or 'no reason is given'}"


def _checklist(room: Room, label: str, tool: Tool | None, problems: tuple[Problem, ...]) -> Block:
    code_found = problems[0].code if problems else None
    if code_found is not None and code_found not in _GATES:
        rows = [check(room, "bad", problem.code, problem) for problem in problems[:MAX_ROWS]]
        return {"b": "checks", "label": label, "rows": rows}
    reached = len(_GATES) if code_found is None else _GATES.index(code_found)
    rows = [
        check(room, _state(number, reached), question, problems[0] if number == reached else None)
        for number, question in enumerate(_QUESTIONS)
    ]
    rows += _schema_rows(room, tool, problems, came_to_it=reached >= len(_QUESTIONS))
    return {"b": "checks", "label": label, "rows": rows}


def _state(number: int, reached: int) -> str:
    return "ok" if number < reached else "bad" if number == reached else "none"


def _schema_rows(
    room: Room, tool: Tool | None, problems: tuple[Problem, ...], came_to_it: bool
) -> list[dict[str, Any]]:
    """A row for each property, with what is wrong in it; then what is wrong elsewhere."""
    found = problems if came_to_it else ()
    rows: list[dict[str, Any]] = []
    placed: set[int] = set()
    for name, schema in _properties(tool)[:MAX_ROWS]:
        pointer = pointer_to([name])
        own = [(i, p) for i, p in enumerate(found) if (p.pointer + "/").startswith(pointer + "/")]
        placed.update(i for i, _ in own)
        words = f"{name}: {type_of(schema)}{'' if _required(tool, name) else ', optional'}"
        state = "none" if not came_to_it else "bad" if own else "ok"
        rows += [check(room, state, words, problem) for _, problem in own] or [
            check(room, state, words, Problem("", pointer, "", ""))
        ]
    others = [problem for i, problem in enumerate(found) if i not in placed]
    return rows + [
        check(room, "bad", problem.pointer or "the arguments", problem) for problem in others[:MAX_ROWS]
    ]


def _properties(tool: Tool | None) -> list[tuple[str, Any]]:
    properties = None if tool is None else tool.parameters.get("properties")
    return list(cast("dict[str, Any]", properties).items()) if isinstance(properties, dict) else []


def _required(tool: Tool | None, name: str) -> bool:
    required = None if tool is None else tool.parameters.get("required")
    return isinstance(required, list) and name in required


def _repair(room: Room, repair: Repair, tool: Tool | None) -> list[Block]:
    if repair.proposed is None:
        return [note(room, "warn", f"Not repaired: {repair.silence}.")]
    if repair.proposed == repair.raw:
        return [note(room, "warn", "A repair was tried and changed nothing.")]
    said = "accepted: it meets the schema" if repair.accepted else "refused: it does not meet the schema"
    return [
        note(room, "info" if repair.accepted else "warn", f"A repair proposed other arguments; {said}."),
        difference(room, "what the repair changed", repair.raw, repair.proposed),
        _checklist(room, "what the repair proposed", tool, repair.remaining),
    ]
