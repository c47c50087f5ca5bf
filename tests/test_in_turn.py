"""Without threads, as in a browser: everything works in the caller's turn, and says what it cannot do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from zoolab import Scripted, ToolRegistry, check, experiment, run, tool
from zoolab.errors import ExecutionFailed, InvalidInput
from zoolab.running.interrupts import IN_TURN
from zoolab_connect.threads import Threads
from zoolab_grader.checking import passes
from zoolab_study.jobs import Workers

RIGHT = """
def run_loop(*given):
    print("noise")
    return 1 / 0
"""


@pytest.fixture(autouse=True)
def _in_turn() -> Iterator[None]:
    token, before = IN_TURN.set(True), set(threading.enumerate())
    yield
    IN_TURN.reset(token)
    assert set(threading.enumerate()) <= before, "a thread was started"


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@tool(timeout=0.01)
def slow() -> str:
    """Wait."""
    time.sleep(0.05)
    return "done"


@tool
async def at_once(n: int) -> int:
    """Return without waiting."""
    return n


@tool
async def waits(n: int) -> int:
    """Wait, then return."""
    await asyncio.sleep(0.001)
    return n


def outcomes(*calls: tuple[str, dict[str, int]]) -> list[object]:
    trace = run("Hi", [double, slow, at_once, waits], Scripted([list(calls), "Done."]))
    assert trace.answer == "Done."
    records = [step.record for step in trace.steps if step.kind == "execute"]
    return [record.error or record.value for record in records]


def test_calls_run_and_async_tools_are_awaited() -> None:
    assert outcomes(("double", {"n": 2}), ("at_once", {"n": 3}), ("waits", {"n": 4})) == [4, 3, 4]


def test_a_timeout_is_measured_and_the_record_says_that_it_was_not_enforced() -> None:
    late, fine = outcomes(("slow", {}), ("double", {"n": 1}))
    assert fine == 2
    assert getattr(late, "code", None) == "timeout"
    assert "ran to its end" in getattr(late, "message", "")


def test_in_a_running_loop_only_what_never_waits_comes_to_its_end() -> None:
    async def page() -> list[object]:
        return outcomes(("at_once", {"n": 3}), ("waits", {"n": 4}), ("double", {"n": 5}))

    at_once_, waited, doubled = asyncio.run(page())
    assert (at_once_, doubled) == (3, 10)
    assert "JSPI" in getattr(waited, "message", "")


def test_a_registry_awaits_too() -> None:
    registry = ToolRegistry([at_once, waits])
    assert registry.execute("waits", {"n": 4}) == 4

    async def page() -> object:
        assert registry.execute("at_once", {"n": 5}) == 5
        return registry.execute("waits", {"n": 6})

    with pytest.raises(ExecutionFailed, match="no thread can be started"):
        asyncio.run(page())


def test_an_executor_does_its_work_when_it_is_submitted() -> None:
    with Workers() as workers:
        done = workers.submit(threading.get_ident)
        assert done.done()
        assert done.result() == threading.get_ident()
        assert isinstance(workers.submit(lambda: 1 / 0).exception(), ZeroDivisionError)
        assert workers.shares_memory
    with pytest.raises(InvalidInput, match="no process can be started here"):
        Workers("processes")


def test_an_executor_of_the_caller_is_used_all_the_same() -> None:
    with Workers(Threads(1)) as workers:
        assert workers.submit(threading.get_ident).result() == threading.get_ident()


def test_the_runs_of_an_experiment_go_in_turn() -> None:
    seen: list[int] = []

    @tool
    def who() -> int:
        """Say which thread runs this."""
        seen.append(threading.get_ident())
        return 1

    cases = [{"id": str(n), "prompt": "Who?", "tools": [who]} for n in range(5)]
    script = Scripted([[("who", {})], "Done."])
    done = experiment(cases, None, {"script": script}, repeats=2, progress=False, scorers=())
    assert [trace.answer for trace in done.traces] == ["Done."] * 10
    assert set(seen) == {threading.get_ident()}


def test_a_check_runs_in_this_process_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    checked = check("l1", RIGHT)
    assert (
        checked.failed[0].happened == "`run_loop` raised ZeroDivisionError: division by zero (cell 1, line 4)"
    )
    assert any("ran in this process" in note for note in checked.notes)
    assert "noise" not in capsys.readouterr().out


def test_a_submission_gets_a_stand_in_for_zoolab() -> None:
    checked = check("l1", "from zoolab import check\ncheck('l1')\nfrom zoolab.loop import runner\nrunner()")
    assert "cannot be used while a submission is graded" in str(checked.grade.notes)
    assert "no `run_loop`" in checked.failed[0].happened


def test_one_case_against_the_names_of_a_notebook() -> None:
    from zoolab_grader.labs import load_lab

    case = load_lab("l1").public[0].name
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        passes("l1", case, {"run_loop": lambda *_, **__: 1 / 0})
