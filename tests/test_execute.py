"""Step 5: calls run, side by side or in turn, and whatever happens to them becomes an outcome."""

import asyncio
import contextvars
import json
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from counting import ends
from moved import Moved

from zoolab.errors import (
    ExecutionFailed,
    InvalidInput,
    ModelError,
    PermissionDenied,
    ResourceNotFound,
    ToolIOError,
    ToolTimeout,
)
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Context, Outcome
from zoolab.running.calls import Job, Runner
from zoolab.runs import Trace
from zoolab.steps import execute
from zoolab.steps.define import tool
from zoolab.steps.execute import MAX_MESSAGE
from zoolab.steps.validate import check_arguments
from zoolab.tools import Tool

USER = contextvars.ContextVar("USER", default="nobody")


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def run(*functions, timeout=None, parallel=True, context=None):
    """The outcomes of one call each of functions without parameters."""
    jobs = [Job(Tool("f", "F.", {"type": "object"}, function), {}, timeout) for function in functions]
    runner = Runner(context, parallel=parallel)
    try:
        return runner.run(jobs)
    finally:
        runner.close()


def raising(error):
    """A tool that raises `error`."""

    def fail():
        raise error

    return fail


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "beside another"])
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("bad"), "execution_failed", "ValueError: bad"),
        (KeyError("k"), "execution_failed", "KeyError: 'k'"),
        (ValueError(), "execution_failed", "ValueError"),
        (SystemExit(3), "execution_failed", "SystemExit: 3"),
        (GeneratorExit(), "execution_failed", "GeneratorExit"),
        (StopIteration(), "execution_failed", "StopIteration"),
        (RecursionError("deep"), "execution_failed", "RecursionError: deep"),
        (FileNotFoundError("a.txt"), "resource_not_found", "FileNotFoundError: a.txt"),
        (PermissionError("no"), "permission_denied", "PermissionError: no"),
        (TimeoutError("slow"), "timeout", "TimeoutError: slow"),
        (ConnectionError("down"), "io_error", "ConnectionError: down"),
        (OSError("disk"), "io_error", "OSError: disk"),
        (ExecutionFailed("broke"), "execution_failed", "broke"),
        (PermissionDenied("no"), "permission_denied", "no"),
        (ResourceNotFound("no host"), "resource_not_found", "no host"),
        (ToolIOError("disk"), "io_error", "disk"),
        (ToolTimeout("slow"), "timeout", "slow"),
        (InvalidInput("odd"), "execution_failed", "odd"),
        (ModelError("down"), "execution_failed", "down"),
        (Unspeakable(), "execution_failed", "Unspeakable: an error that cannot be shown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_exception_becomes_an_error_with_a_code(error, code, message, count):
    *others, outcome = run(*[lambda: 1] * (count - 1), raising(error))
    assert [other.value for other in others] == [1] * (count - 1)
    assert not outcome.ok
    assert (outcome.error.code, outcome.error.message) == (code, message)
    assert outcome.error.exception == type(error).__name__


def test_a_long_error_is_cut():
    (outcome,) = run(raising(ValueError("x" * 1_000_000)))
    assert len(outcome.error.message) < MAX_MESSAGE + 50


def passing(clock, seconds, error=None):
    """A tool during which this time passes by the clock; then it fails, if there is an error."""

    def passes():
        clock.move(seconds)
        if error is not None:
            raise error

    return passes


@pytest.mark.parametrize("error", [None, ValueError("no"), ToolTimeout("late")])
def test_an_outcome_knows_when_it_began_and_how_long_it_took(monkeypatch, error):
    clock = Moved(1_900_000_000)
    monkeypatch.setattr(execute, "time", clock)
    first, second = run(passing(clock, 0.05, error), passing(clock, 2, error), parallel=False)
    assert (first.started_ms, first.duration_ms) == (1_900_000_000_000, pytest.approx(50))
    assert (second.started_ms, second.duration_ms) == (1_900_000_000_050, pytest.approx(2000))


@pytest.mark.parametrize("count", [1, 2])
def test_a_tool_that_hangs_is_given_up_and_said_to_run_on(count):
    release = threading.Event()
    with ends():
        outcomes = run(*[release.wait] * count, timeout=0.1)
    release.set()
    for outcome in outcomes:
        assert (outcome.error.code, outcome.still_running) == ("timeout", True)
        assert "gave up after 0.1 s" in outcome.error.message


def test_a_hanging_tool_does_not_take_the_values_of_its_siblings():
    release = threading.Event()
    slow, quick = run(release.wait, lambda: 7, timeout=0.1)
    release.set()
    assert (slow.ok, quick.value) == (False, 7)


def test_a_tool_in_time_has_its_value():
    (outcome,) = run(lambda: "done", timeout=120)
    assert (outcome.value, outcome.still_running) == ("done", False)


async def answer():
    await asyncio.sleep(0.01)
    return 42


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("timeout", [None, 5])
@pytest.mark.parametrize("parallel", [True, False])
def test_async_tools_are_awaited(count, timeout, parallel):
    outcomes = run(*[answer] * count, timeout=timeout, parallel=parallel)
    assert [outcome.value for outcome in outcomes] == [42] * count


def test_async_tools_run_inside_a_running_event_loop():
    async def in_a_notebook():
        return run(answer, answer) + run(answer)

    assert [outcome.value for outcome in asyncio.run(in_a_notebook())] == [42] * 3


def test_an_async_tool_that_hangs_is_cancelled():
    ended = threading.Event()

    async def hang():
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    (outcome,) = run(hang, timeout=0.1)
    assert (outcome.error.code, outcome.still_running) == ("timeout", False)
    assert "cancelled" in outcome.error.message
    assert ended.wait(2)


def test_an_async_tool_that_raises_is_an_error():
    async def fail():
        raise FileNotFoundError("gone")

    (outcome,) = run(fail)
    assert outcome.error.code == "resource_not_found"


def test_a_plain_tool_that_returns_a_coroutine_is_awaited():
    (outcome,) = run(lambda: answer())
    assert outcome.value == 42


def test_parallel_calls_overlap_and_keep_their_order():
    barrier = threading.Barrier(3)

    def meet(n):
        barrier.wait(5)
        time.sleep(0.03 * (3 - n))
        return n

    outcomes = run(*[lambda n=n: meet(n) for n in range(3)])
    assert [outcome.value for outcome in outcomes] == [0, 1, 2]


def test_async_calls_overlap():
    arrived = []

    async def meet():
        arrived.append(1)
        while len(arrived) < 3:
            await asyncio.sleep(0.001)
        return len(arrived)

    assert [outcome.value for outcome in run(meet, meet, meet, timeout=120)] == [3, 3, 3]


@pytest.mark.parametrize("timeout", [None, 5])
def test_without_parallel_calls_run_one_after_the_other(timeout):
    running, order = [], []

    def alone(n):
        running.append(n)
        time.sleep(0.02)
        order.append(list(running))
        running.remove(n)

    run(*[lambda n=n: alone(n) for n in range(3)], parallel=False, timeout=timeout)
    assert order == [[0], [1], [2]]


def test_arguments_that_a_tool_changes_stay_in_the_record():
    @tool
    def clear(items: list[int], options: dict[str, list[int]]) -> int:
        """Clear."""
        items.clear()
        options["x"].append(1)
        return len(items)

    steps = list(
        walk("Hi", [clear], Scripted([[("clear", {"items": [1, 2], "options": {"x": []}})], "Done."]))
    )
    (verdict,) = [step.record for step in steps if step.kind == "validate"]
    assert verdict.arguments == {"items": [1, 2], "options": {"x": []}}


class Session(Context):
    def __init__(self, user):
        super().__init__()
        self.user = user


@tool
def greet(word: str, session: Session) -> str:
    """Greet."""
    return f"{word} {session.user}"


@tool
def show(context: Context) -> str:
    """Show."""
    return str(context.data)


def test_a_context_reaches_the_tool_and_not_the_model():
    steps = list(walk("Hi", [greet], Scripted([[("greet", {"word": "Hi"})], "."]), context=Session("ada")))
    (outcome,) = [step.record for step in steps if step.kind == "execute"]
    assert outcome.value == "Hi ada"
    assert list(greet.parameters["properties"]) == ["word"]
    assert not check_arguments('{"word": "Hi", "session": {}}', greet).ok


def test_any_other_object_arrives_as_the_data_of_a_context():
    steps = list(walk("Hi", [show], Scripted([[("show", {})], "."]), context={"user": "ada"}))
    assert [step.record.value for step in steps if step.kind == "execute"] == ["{'user': 'ada'}"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("timeout", [None, 5])
def test_context_variables_are_seen_by_tools(count, timeout):
    token = USER.set("ada")
    outcomes = run(*[USER.get] * count, timeout=timeout)
    USER.reset(token)
    assert [outcome.value for outcome in outcomes] == ["ada"] * count


def test_context_variables_are_seen_by_async_tools():
    async def who():
        return USER.get()

    token = USER.set("ada")
    outcomes = run(who) + run(who, who)
    USER.reset(token)
    assert [outcome.value for outcome in outcomes] == ["ada"] * 3


def test_closing_a_runner_ends_its_threads():
    before = threading.active_count()
    run(answer, answer)
    deadline = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_tool_without_a_function_is_an_error_and_not_a_crash():
    (outcome,) = Runner().run([Job(Tool("f", "F.", {"type": "object"}), {})])
    assert isinstance(outcome, Outcome)
    assert outcome.error.code == "execution_failed"


INTERRUPTED = """
import json, os, signal, threading, time
from zoolab import Scripted, Trace, tool, walk

@tool
def quick() -> int:
    "Return."
    return 1

@tool
def interrupt() -> int:
    "Have the person press Ctrl-C."
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    for _ in range(100):
        time.sleep(0.02)
    return 2

trace = Trace()
calls = [("quick", {}), ("interrupt", {}), ("quick", {})][%s]
try:
    Trace.record(walk("Hi", [quick, interrupt], Scripted([calls, "Done."]), parallel=%s), into=trace)
except KeyboardInterrupt:
    print(json.dumps([trace.outcome, trace.messages]))
"""


@pytest.mark.parametrize(("chosen", "count"), [("1:2", 1), (":", 3)])
@pytest.mark.parametrize("parallel", [True, False])
def test_ctrl_c_fills_the_missing_results_and_goes_on_up(parallel, chosen, count):
    code = textwrap.dedent(INTERRUPTED) % (chosen, parallel)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    outcome, messages = json.loads(done.stdout)
    assert outcome == "interrupted"
    results = [message for message in messages if message["role"] == "tool"]
    asked = [call["id"] for call in messages[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in results] == asked
    successes = [json.loads(message["content"])["success"] for message in results]
    assert len(successes) == count
    assert False in successes
    assert successes[0] is (count == 3)


def test_what_a_tool_prints_is_shown_and_kept_beside_its_value(capsys, tmp_path):
    @tool
    def loud(name: str) -> str:
        """Say it."""
        print("reading", name)
        time.sleep(0.02)
        print("done", name)
        return name

    @tool
    async def aloud(name: str) -> str:
        """Say it."""
        print("awaiting", name)
        return name

    calls = [("loud", {"name": "a"}), ("loud", {"name": "b"}), ("aloud", {"name": "c"})]
    before = sys.stdout
    trace = Trace.record(walk("Read.", [loud, aloud], Scripted([calls, "Done."])))
    outcomes = [step.record for step in trace.steps if isinstance(step.record, Outcome)]
    assert [outcome.stdout for outcome in outcomes] == [
        "reading a\ndone a\n",
        "reading b\ndone b\n",
        "awaiting c\n",
    ]
    shown = "reading a done a reading b done b awaiting c"
    assert sorted(capsys.readouterr().out.split()) == sorted(shown.split())
    assert sys.stdout is before
    assert "reading" not in str(trace.messages[1:])
    assert Trace.load(trace.save(tmp_path / "trace.jsonl")) == trace


def test_a_tool_that_prints_without_end_is_kept_in_part(capsys):
    def flood() -> None:
        """Print."""
        for _ in range(1_000):
            print("x" * 999)
        raise ValueError("enough")

    trace = Trace.record(walk("Print.", [flood], Scripted([[("flood", {})], "Done."])))
    outcome = next(step.record for step in trace.steps if isinstance(step.record, Outcome))
    assert outcome.stdout.endswith("\n[cut: the first 16,384 of 1,000,000 characters]")
    assert len(outcome.stdout) < 17_000
    assert outcome.error.message == "ValueError: enough"
    assert len(capsys.readouterr().out) == 1_000_000


def test_walks_side_by_side_leave_standard_output_as_it_was(capsys):
    @tool
    def loud(number: int) -> None:
        """Print."""
        print(number)

    def hold(number: int) -> str:
        model = Scripted([[("loud", {"number": number})], "Done."])
        trace = Trace.record(walk("Print.", [loud], model))
        return next(step.record.stdout for step in trace.steps if isinstance(step.record, Outcome))

    before = sys.stdout
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(hold, range(100))) == [f"{number}\n" for number in range(100)]
    assert sys.stdout is before
    assert len(capsys.readouterr().out.split()) == 100
