"""The inspector in notebook 01: a student steps, allows, edits and forks, and every fork has an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jupytext
import pytest

from zoolab.show.inspector.edits import fields_of
from zoolab.show.inspector.inspector import Inspector

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "01-one-loop.py"


@pytest.fixture
def blackboard() -> Inspector:
    """The inspector that the notebook shows."""
    cells = [cell.source for cell in jupytext.read(NOTEBOOK).cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    for begins in ("LIVE =", "from zoolab import Scripted"):
        [cell] = [cell for cell in cells if cell.startswith(begins)]
        exec(cell, names)
    [shown] = [cell for cell in cells if "\ninspect(" in cell]
    exec(shown.replace("\ninspect(", "\nshown = inspect("), names)
    inspector: Inspector = names["shown"]
    return inspector


def say(inspector: Inspector, type: str, **more: Any) -> None:
    """What the browser sends when a button is pressed."""
    inspector._received(None, {"type": type, **more}, None)


def step_to_the_permission(inspector: Inspector) -> None:
    for _ in range(20):
        if (inspector.live or {})["waits"] == "permission":
            return
        say(inspector, "step")
    pytest.fail("the walk does not ask for permission")


@pytest.mark.parametrize(
    ("choice", "answer"),
    [
        ("once", "Done: laptop7 is isolated from the network."),
        ("deny", "I stopped. isolate_host did not run"),
    ],
)
def test_a_student_allows_or_denies_the_call(blackboard: Inspector, choice: str, answer: str) -> None:
    step_to_the_permission(blackboard)
    say(blackboard, "decide", choice=choice)
    say(blackboard, "run")
    assert (blackboard.trace.answer or "").startswith(answer)


@pytest.mark.parametrize(
    ("kind", "tool", "old", "new", "answer"),
    [
        ("execute", "check_ip_reputation", "malicious", "clean", "198.51.100.23 is clean."),
        ("execute", "query_siem", "198.51.100.23", "192.0.2.10", "192.0.2.10 is clean."),
        ("tool_call", "check_ip_reputation", "198.51.100.23", "192.0.2.10", "192.0.2.10 is clean."),
        ("tool_call", "query_siem", "laptop7", "printer3", "There are no such events."),
    ],
)
def test_a_fork_goes_on_from_what_a_student_edits(
    blackboard: Inspector, kind: str, tool: str, old: str, new: str, answer: str
) -> None:
    step_to_the_permission(blackboard)
    say(blackboard, "decide", choice="once")
    say(blackboard, "run")
    steps = blackboard.trace.steps
    [seq] = [i for i, step in enumerate(steps) if step.kind == kind and step.call and step.call.name == tool]
    fields = [field for field in fields_of(steps[seq].record) if old in field["text"]]
    edits = [{"field": field["field"], "text": field["text"].replace(old, new)} for field in fields]
    say(blackboard, "fork", verb="live", seq=seq, edits=edits)
    assert blackboard.trace.answer == answer
    assert blackboard.other is not None
