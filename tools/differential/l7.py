"""Runs for lab 7: real walks whose calls fail as was drawn. Rows are compared, not their order."""

from __future__ import annotations

from random import Random
from typing import Any

from labs.l7.cases import COLUMNS, KINDS, OTHER_CODES, Plan, frame_of, trace_of
from zoolab.jsontext import canonical
from zoolab_grader import Student

TOOLS = ("read_file", "send_mail", "find_user", "flyHome", "Read_file", "fly Home ")
LAST = ("cut", "fine")
ENDS = ("answer", "answer", "loop_limit", "model_error", "timeout", "cancelled")
REASONS = ("length", "length", "stop", "tool_calls", "content_filter")


def draw(chance: Random) -> list[dict[str, Any]]:
    """Return the events of a run in another order, some with other codes and reasons; some runs are long."""
    plan: Plan = []
    for _ in range(chance.choice([0, 1, 2, 3, 4, 5, 14])):
        kinds = [kind for kind in KINDS if kind != "cut"]
        turn = [(chance.choice(TOOLS), chance.choice([*kinds, "fine", "fine", "fine"])) for _ in range(12)]
        last = chance.choice(TOOLS), chance.choice([*kinds, *LAST, *LAST])
        plan.append([*turn[: chance.choice([0, 0, 1, 1, 2, 2, 12])], last])
        if not _is_decided(trace_of(plan, chance)):
            plan.pop()
    *steps, end = trace_of(plan, chance, chance.choice(["answer", "loop_limit"]) if plan else "answer")
    reasons = {turn: chance.choice(REASONS) for turn in range(1, len(plan) + 1) if chance.random() < 0.4}
    for event in steps:
        if event.get("reply") and event["turn"] in reasons:
            event["reply"]["finish_reason"] = reasons[event["turn"]]
        if event.get("kind") == "result" and event["record"]["error_code"] and chance.random() < 0.15:
            event["record"]["error_code"] = chance.choice([*OTHER_CODES, "invalid_arguments"])
    if chance.random() < 0.2:
        steps.append({"event": "note", "text": "of another kind"})
    return [*chance.sample(steps, len(steps)), {**end, "outcome": chance.choice(ENDS)}]


def play(student: Student, given: list[dict[str, Any]]) -> Any:
    """Return the rows of both tables."""
    tables = (("find_errors", COLUMNS), ("per_tool", ("tool", "calls", "failed")))
    return [
        sorted(
            canonical([_plain(row[name]) for name in columns])
            for row in frame_of(student, function, given, columns)
        )
        for function, columns in tables
    ]


def _plain(value: Any) -> Any:
    """Return a value in which 2.0 is 2, as pandas may have it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_decided(events: list[dict[str, Any]]) -> bool:
    """Return whether the task says which call each retry belongs to: several calls of one tool may wait, but
    none of them may have failed in its retry.
    """
    steps = [event for event in events if event.get("slot") is not None]
    asked = {(e["turn"], e["slot"]): e["record"]["name"] for e in steps if e["kind"] == "tool_call"}
    codes = {(e["turn"], e["slot"]): e["record"]["error_code"] for e in steps if e["kind"] == "result"}
    tries: dict[str, list[int]] = {}
    for turn in sorted({turn for turn, _slot in codes}):
        waiting = {name: list(counts) for name, counts in tries.items()}
        for place in sorted(place for place in codes if place[0] == turn):
            name = asked[place]
            if len(waiting.get(name, [])) > 1 and max(waiting[name]) > 1:
                return False
            before = waiting[name].pop(0) if waiting.get(name) else 0
            if before:
                tries[name].remove(before)
            if codes[place]:
                tries.setdefault(name, []).append(before + 1)
    return True
