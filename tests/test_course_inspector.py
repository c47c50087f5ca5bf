"""What notebooks 08 and 09 ask of the inspector can be done: each step, decision and fork is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from zoolab import inspect, walk
from zoolab.show.inspector.inspector import Inspector

FOLDER = Path(__file__).parents[1] / "notebooks"


def run_until(notebook: str, line: str) -> dict[str, Any]:
    """Run the cells of a notebook up to the one that begins with a line; the names that they define."""
    InteractiveShell.clear_instance()
    shell: Any = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        for cell in jupytext.read(FOLDER / notebook).cells:
            if cell.cell_type == "code":
                shell.run_cell(cell.source, store_history=True).raise_error()
                if line in cell.source.splitlines():
                    return dict(shell.user_ns)
        raise AssertionError(f"{notebook} has no line {line}")
    finally:
        InteractiveShell.clear_instance()


def say(inspector: Inspector, message: dict[str, Any]) -> None:
    """Send what the browser would send; what cannot be done is raised, not reported."""
    inspector._handle(json.loads(json.dumps(message)))


@pytest.fixture(scope="module")
def night() -> dict[str, Any]:
    return run_until("09-traces.py", "show(night)")


@pytest.mark.parametrize(
    ("step", "field", "text", "prices"),
    [(8, "arguments", '{"order_id": 31}', [9.0]), (5, "value", "[2, 5]", [80.0, 120.0])],
    ids=["the call", "the result"],
)
def test_the_forks_of_notebook_09_run_to_their_end(
    night: dict[str, Any], step: int, field: str, text: str, prices: list[float]
) -> None:
    trace = night["night"]
    assert trace.errors[0].code == "invalid_arguments"
    inspector = trace.inspect(model=night["qwen"], tools=night["TOOLS"])
    edits = [{"field": field, "text": text}]
    say(inspector, {"type": "fork", "verb": "live", "seq": step - 1, "edits": edits})
    values = [each.record.value for each in inspector.trace.steps if each.kind == "execute"]
    assert inspector.trace.outcome == "empty"  # Qwen says nothing after the last result
    assert prices == sorted({each["price"] for each in values if isinstance(each, dict)})
    assert inspector.view.comparing


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return run_until("08-execution.py", "SERVICES = [check_status, restart_service]")


@pytest.mark.parametrize("choice", ["once", "session", "always", "deny"])
def test_every_answer_to_the_permission_of_notebook_08_goes_on_to_the_end(
    services: dict[str, Any], choice: str
) -> None:
    inspector = inspect(walk("Restart cron.", services["SERVICES"], services["qwen"]))
    asked = 0
    while inspector.live["state"] == "paused":
        waits = inspector.live["waits"] == "permission"
        asked += waits
        say(inspector, {"type": "decide", "choice": choice} if waits else {"type": "step"})
    ended = {"once": ("empty", 3), "session": ("empty", 1), "always": ("empty", 1)}
    assert (inspector.trace.outcome, asked) == ended.get(choice, ("loop_limit", 5))
