"""Every call gets exactly one tool message, whatever happens: Ctrl-C, hostile tools, full disks."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from counting import ends
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from walks import check_paired

from zoolab import Decision, Limits, Reply, Scripted, Trace, arun, awalk, run, walk
from zoolab.errors import ModelError, ResourceNotFound, ZoolabError
from zoolab.records import Outcome
from zoolab.running.interrupts import Hold, interruptible
from zoolab.steps.define import as_registry
from zoolab.tools import Tool

STRUCK = Path(__file__).with_name("struck.py")
#: Where the random moments begin; the same for everybody.
SEED = 16
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals from another process")
USER = contextvars.ContextVar("USER", default="nobody")


def plain_tool(name: str, function: Any, timeout: float | None = None) -> Tool:
    return Tool(name, "A tool.", {"type": "object"}, function, timeout=timeout)


def check_whole(trace: Trace, folder: Path) -> None:
    """What holds of every trace, however its walk ended."""
    check_paired(trace.messages)
    assert len(trace.steps) == len(trace.started)
    for seq, step in enumerate(trace.steps):
        assert trace.messages_at(seq) == step.messages.tolist()
    assert Trace.load(trace.save(folder / "trace.jsonl")) == trace


def outcomes(trace: Trace) -> list[Outcome]:
    return [step.record for step in trace.steps if isinstance(step.record, Outcome)]


# Ctrl-C


def struck(count: int, seed: int, folder: Path) -> dict[str, Any]:
    command = [sys.executable, str(STRUCK), str(count), str(seed), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1_800)
    return json.loads(done.stdout)


@posix
def test_nothing_is_lost_at_200_random_moments(tmp_path: Path) -> None:
    told = struck(200, SEED, tmp_path)
    assert (told["lost"], told["threads"]) == ([], 0)
    assert told["interrupted"] > 100


@posix
@pytest.mark.slow
def test_nothing_is_lost_at_2000_random_moments(tmp_path: Path) -> None:
    told = struck(2000, SEED, tmp_path)
    assert (told["lost"], told["threads"]) == ([], 0)


@posix
def test_an_interrupt_in_a_callback_whose_errors_python_drops_is_not_lost(tmp_path: Path) -> None:
    class Watched:
        pass

    def work() -> str:
        watched = Watched()
        callback = weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGINT))
        del watched
        return f"{callback()}"

    trace, hook = Trace(), sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        run("Go", [plain_tool("work", work)], Scripted([[("work", {})], "Done."]), trace=trace)
    check_whole(trace, tmp_path)
    assert (trace.outcome, sys.unraisablehook) == ("interrupted", hook)


def strike_soon(seconds: float = 0.1, times: int = 1) -> None:
    def work() -> None:
        for _ in range(times):
            time.sleep(seconds)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()


@posix
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_hung_tool_can_be_left(tmp_path: Path, count: int, kind: str) -> None:
    release = threading.Event()

    async def hang_async() -> None:
        await asyncio.sleep(60)

    trace, before = Trace(), signal.getsignal(signal.SIGINT)
    function = hang_async if kind == "async" else lambda: release.wait(60)
    strike_soon()
    with pytest.raises(KeyboardInterrupt) as caught:
        run("Hi", [plain_tool("hang", function)], Scripted([[("hang", {})] * count]), trace=trace)
    release.set()
    assert trace.outcome == "interrupted"
    assert caught.value.trace is trace  # type: ignore[attr-defined]
    assert [outcome.error.message for outcome in outcomes(trace) if outcome.error] == [
        "interrupted before it had finished"
    ] * count
    assert signal.getsignal(signal.SIGINT) is before
    check_whole(trace, tmp_path)


@posix
def test_ctrl_c_while_a_person_is_asked_answers_the_calls(tmp_path: Path) -> None:
    def ask(_step: Any) -> Decision:
        time.sleep(30)
        return Decision("once")

    def wipe() -> str:
        return "wiped"

    wiping = Tool("wipe", "Wipe.", {"type": "object"}, wipe, risk="high")
    trace = Trace()
    strike_soon()
    with pytest.raises(KeyboardInterrupt):
        run("Hi", [wiping], Scripted([[("wipe", {})] * 2]), trace=trace, ask=ask)
    assert trace.outcome == "interrupted"
    assert [step.kind for step in trace.steps[-4:]] == ["execute", "execute", "result", "result"]
    check_whole(trace, tmp_path)


@posix
def test_ctrl_c_while_the_model_answers(tmp_path: Path) -> None:
    def model(_request: Any) -> Reply:
        time.sleep(30)
        return Reply({"role": "assistant", "content": "late"})

    trace = Trace()
    strike_soon()
    with pytest.raises(KeyboardInterrupt):
        run("Hi", [], model, trace=trace)
    assert (trace.outcome, len(trace)) == ("interrupted", 2)
    check_whole(trace, tmp_path)


@posix
def test_a_step_by_hand_that_is_interrupted_is_not_lost() -> None:
    steps = walk("Hi", [plain_tool("f", lambda: 1)], Scripted([[("f", {})], "Done."]))
    seen = []
    inner = steps._steps

    class Struck:
        def send(self, answer: Any) -> Any:
            step = inner.send(answer)
            if step.kind == "validate":
                signal.raise_signal(signal.SIGINT)
            return step

    steps._steps = Struck()  # type: ignore[assignment]
    while True:
        try:
            seen.append(next(steps).kind)
        except KeyboardInterrupt:
            seen.append("interrupted")  # type: ignore[arg-type]
        except StopIteration:
            break
    expected = "define request tool_call interrupted validate execute result request tool_call"
    assert seen == expected.split()


@posix
def test_an_interrupt_in_ones_own_loop_leaves_an_open_trace_that_can_be_forked() -> None:
    tools = [plain_tool("f", lambda: 1)]
    trace = Trace()
    steps = trace.follow(walk("Hi", tools, Scripted([[("f", {})], "Done."])))

    def own_loop() -> None:
        for step in steps:
            if step.kind == "tool_call":
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        own_loop()
    assert (trace.outcome, [message["role"] for message in trace.messages]) == ("open", ["user", "assistant"])
    assert trace.fork(-1).answer == "Done."


@posix
def test_a_hold_hands_on_to_the_handler_before_it_and_gives_up_after_some_patience() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with Hold():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert heard == []
            with Hold():
                interruptible(lambda: None)
            assert heard == [signal.SIGINT]
            signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT] * 2
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("names", [["stop"], ["fine", "stop", "fine"]])
@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_tool_that_raises_keyboard_interrupt_interrupts_the_walk(
    tmp_path: Path, names: list[str], parallel: bool, kind: str
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    async def stop_async() -> None:
        raise KeyboardInterrupt

    tools = [plain_tool("stop", stop_async if kind == "async" else stop), plain_tool("fine", lambda: 1)]
    trace = Trace()
    with pytest.raises(KeyboardInterrupt):
        run("Hi", tools, Scripted([[(name, {}) for name in names]]), trace=trace, parallel=parallel)
    assert trace.outcome == "interrupted"
    if len(names) == 3:
        assert [outcome.ok for outcome in outcomes(trace)] == [True, False, parallel]
    check_whole(trace, tmp_path)


# Tools


def in_a_walk(function: Any, *, timeout: float | None = None, turns: int = 2) -> Trace:
    """One call of a hostile tool between two async ones that behave, in each of some turns."""

    async def fine() -> str:
        await asyncio.sleep(0.01)
        return "fine"

    tools = [plain_tool("fine", fine), plain_tool("hostile", function, timeout)]
    calls = [("fine", {}), ("hostile", {}), ("fine", {})]
    return run("Hi", tools, Scripted([calls] * turns + ["Done."]))


async def exits() -> None:
    sys.exit(3)


async def cancels() -> None:
    raise asyncio.CancelledError


async def stops_its_loop() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return "stopped"


async def closes_its_loop() -> None:
    asyncio.get_running_loop().close()


async def exits_in_a_task() -> str:
    async def leave() -> None:
        sys.exit(3)

    asyncio.get_running_loop().create_task(leave())
    await asyncio.sleep(0.01)
    return "left"


async def cancels_itself() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "cancelled"


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (exits, "SystemExit: 3"),
        (cancels, "CancelledError"),
        (stops_its_loop, None),
        (closes_its_loop, "RuntimeError: Cannot close a running event loop"),
        (exits_in_a_task, None),
        (cancels_itself, None),
    ],
)
def test_an_async_tool_cannot_end_the_loop_of_the_others(tmp_path: Path, function: Any, told: Any) -> None:
    trace = in_a_walk(function)
    assert trace.answer == "Done."
    for at, outcome in enumerate(outcomes(trace)):
        if at % 3 != 1:
            assert outcome.value == "fine"
        elif told is None:
            assert outcome.ok
        else:
            assert outcome.error is not None
            assert outcome.error.message == told
    check_whole(trace, tmp_path)


def test_a_blocked_loop_is_left_and_the_next_turn_has_a_fresh_one(tmp_path: Path) -> None:
    release = threading.Event()

    async def blocks() -> None:
        release.wait(30)

    trace = in_a_walk(blocks, timeout=0.1, turns=1)
    release.set()
    found = outcomes(trace)
    assert found[1].error is not None
    assert (found[1].error.code, found[1].still_running) == ("timeout", True)
    assert trace.answer == "Done."
    release.clear()
    again = in_a_walk(blocks, timeout=0.1, turns=2)
    release.set()
    assert again.answer == "Done."
    check_whole(again, tmp_path)


NO_THREADS = """
import json, sys, threading
from zoolab import Scripted, Trace, run, tool

@tool
def plain(n: int) -> int:
    "Return."
    return n

@tool(timeout=5)
async def awaited(n: int) -> int:
    "Return."
    return n

start = threading.Thread.start
left = int(sys.argv[1])

def refuse(thread):
    global left
    left -= 1
    if left < 0:
        raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = refuse
calls = [("plain", {"n": 1}), ("awaited", {"n": 2}), ("plain", {"n": 3})]
trace = run("Hi", [plain, awaited], Scripted([calls, calls, "Done."]))
print(json.dumps([step.record.value for step in trace.steps if step.kind == "execute"]))
"""


@pytest.mark.parametrize("left", [0, 1, 2, 5])
def test_without_threads_calls_run_in_turn(left: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_THREADS, str(left)], capture_output=True, text=True, timeout=60
    )
    assert json.loads(done.stdout or "null") == [1, 2, 3] * 2, done.stderr


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class Marked(Exception):
    trace, fault = "not a trace", 5


class Trap(Exception):
    @property
    def trace(self) -> None:
        raise SystemExit


class OfTheirOwn(ZoolabError):
    code = "their_own"


class Missing(ResourceNotFound):
    code = "missing"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unspeakable(), "execution_failed"),
        (Marked(), "execution_failed"),
        (Trap(), "execution_failed"),
        (OfTheirOwn("odd"), "execution_failed"),
        (Missing("no host"), "resource_not_found"),
    ],
)
def test_an_odd_exception_is_an_outcome(tmp_path: Path, error: Exception, code: str) -> None:
    def fail() -> None:
        raise error

    trace = in_a_walk(fail)
    assert {outcome.error.code for outcome in outcomes(trace) if outcome.error} == {code}
    assert all(outcome.trace is None and outcome.fault is None for outcome in outcomes(trace))
    check_whole(trace, tmp_path)


def test_an_error_with_a_code_of_its_own_has_no_number() -> None:
    assert (OfTheirOwn("odd").number, OfTheirOwn("odd").error_type) == (None, None)


@pytest.mark.parametrize("name", ["model_dump", "to_dict", "tolist"])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ValueError, GeneratorExit])
def test_a_value_that_raises_when_it_is_read_is_a_failure(tmp_path: Path, name: str, error: Any) -> None:
    def fail(_self: Any, *_given: Any, **_named: Any) -> None:
        raise error

    value = type("Value", (), {name: fail, "columns": ()})()
    trace = in_a_walk(lambda: value)
    assert f"cannot be read ({error.__name__})" in str(trace.messages)
    check_whole(trace, tmp_path)


# Models


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("x"), StopIteration(), Unspeakable()])
def test_a_model_that_raises_is_a_model_error_with_the_trace(tmp_path: Path, error: Exception) -> None:
    def model(_request: Any) -> Reply:
        raise error

    with pytest.raises(ModelError, match=f"the model raised {type(error).__name__}") as caught:
        run("Hi", [], model)
    trace: Any = caught.value.trace
    assert caught.value.__cause__ is error
    assert (trace.outcome, trace.error) == ("model_error", str(caught.value))
    check_whole(trace, tmp_path)


@pytest.mark.parametrize("error", [SystemExit(2), GeneratorExit(), asyncio.CancelledError()])
def test_a_model_that_ends_the_program_leaves_a_whole_trace(tmp_path: Path, error: BaseException) -> None:
    def model(_request: Any) -> Reply:
        raise error

    trace = Trace()
    with pytest.raises(type(error)):
        run("Hi", [], model, trace=trace)
    assert trace.outcome == "interrupted"
    assert str(trace.error).startswith(type(error).__name__)
    check_whole(trace, tmp_path)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


def cyclic_reply(_request: Any) -> Reply:
    return Reply({"role": "assistant", "content": CYCLE})


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "text",
        5,
        cyclic_reply,
        lambda _request: Reply(None),  # type: ignore[arg-type]
        Reply({"role": "user", "content": "x"}),
        Reply({"role": "assistant", "content": None, "tool_calls": 5}),
        Reply({"role": "assistant", "content": None, "tool_calls": [5]}),
    ],
)
def test_a_reply_that_is_none_is_a_model_error(tmp_path: Path, reply: Any) -> None:
    trace = Trace()
    with pytest.raises(ModelError):
        run("Hi", [], reply if callable(reply) else lambda _request: reply, trace=trace)
    assert trace.outcome == "model_error"
    check_whole(trace, tmp_path)


def test_an_error_of_somebody_else_answers_the_calls_and_has_the_trace(tmp_path: Path) -> None:
    def ask(_step: Any) -> Decision:
        raise LookupError("nobody there")

    wiping = Tool("wipe", "Wipe.", {"type": "object"}, lambda: 1, risk="high")
    with pytest.raises(LookupError) as caught:
        run("Hi", [wiping], Scripted([[("wipe", {})] * 2]), ask=ask)
    trace: Any = caught.value.trace  # type: ignore[attr-defined]
    assert (trace.outcome, trace.error) == ("failed", "LookupError: nobody there")
    check_whole(trace, tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_clear_error() -> None:
    with pytest.raises(ZoolabError, match="cannot write /dev/full: No space left on device"):
        Trace("/dev/full")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_disk_that_fills_up_leaves_the_trace_in_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "live.jsonl"
    trace = Trace(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, before[1]))
    try:
        with pytest.raises(ZoolabError, match=r"cannot write .*live\.jsonl: File too large") as caught:
            run("Hi", [plain_tool("f", lambda: 1)], Scripted([[("f", {})] * 3, "Done."]), trace=trace)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.trace is trace
    assert trace.outcome == "invalid_input"
    check_whole(trace, tmp_path)


def test_add_appends_a_step_whole_or_not_at_all() -> None:
    trace = run("Hi", [], Scripted(["Hello"]))
    last = trace.steps[-1]
    with pytest.raises(AttributeError):
        trace.add(last._replace(messages=None))  # type: ignore[arg-type]
    assert len(trace.steps) == len(trace.started) == 3
    trace.add(last)
    assert trace.messages_at(3) == trace.messages_at(2)


# Async


async def async_model(request: Any) -> Reply:
    await asyncio.sleep(0.001)
    return Scripted([[("who", {})], "Done."])._as_reply(
        "Done." if len(request.messages) > 1 else [("who", {}), ("who", {})]
    )


class AsyncModel:
    async def __call__(self, request: Any) -> Reply:
        return await async_model(request)


async def who() -> list[Any]:
    return [id(asyncio.get_running_loop()), USER.get()]


@pytest.mark.parametrize("model", [async_model, AsyncModel(), lambda request: async_model(request)])
def test_an_async_model_works_in_a_walk(tmp_path: Path, model: Any) -> None:
    async def in_a_notebook() -> Trace:
        return run("Hi", [plain_tool("who", who)], model)

    for trace in (run("Hi", [plain_tool("who", who)], model), asyncio.run(in_a_notebook())):
        assert trace.answer == "Done."
        check_whole(trace, tmp_path)


@pytest.mark.parametrize("calls", [1, 2])
def test_arun_uses_the_loop_of_the_caller(tmp_path: Path, calls: int) -> None:
    async def main() -> tuple[int, Trace]:
        USER.set("ada")
        model = Scripted([[("who", {})] * calls, "Done."])
        return id(asyncio.get_running_loop()), await arun("Hi", [plain_tool("who", who)], model)

    loop, trace = asyncio.run(main())
    assert [outcome.value for outcome in outcomes(trace)] == [[loop, "ada"]] * calls
    check_whole(trace, tmp_path)


def test_awalk_gives_the_steps_and_takes_answers(tmp_path: Path) -> None:
    async def main() -> tuple[list[str], Trace]:
        trace, seen = Trace(), []
        steps = awalk("Hi", [plain_tool("who", who)], AsyncModel(), trace=trace)
        async for step in steps:
            seen.append(step.kind)
            if step.kind == "execute":
                steps.answer(Outcome("edited"))
        return seen, trace

    seen, trace = asyncio.run(main())
    expected = "define request tool_call tool_call validate validate execute execute result result"
    assert seen == [*expected.split(), "request", "tool_call"]
    assert str(trace.messages).count("edited") == 2
    check_whole(trace, tmp_path)


async def sleeps() -> None:
    await asyncio.sleep(3_600)


@pytest.mark.parametrize("function", [sleeps, lambda: time.sleep(5)])
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("how", ["arun", "awalk", "model"])
def test_a_cancelled_task_leaves_a_whole_trace(tmp_path: Path, function: Any, calls: int, how: str) -> None:
    trace = Trace()
    tools = [plain_tool("sleeps", function)]

    def slow_model(_request: Any) -> Any:
        return function()

    async def stepped() -> None:
        async for _ in awalk("Hi", tools, Scripted([[("sleeps", {})] * calls]), trace=trace):
            pass

    async def main() -> None:
        if how == "awalk":
            task = asyncio.ensure_future(stepped())
        else:
            model: Any = slow_model if how == "model" else Scripted([[("sleeps", {})] * calls])
            task = asyncio.ensure_future(arun("Hi", tools, model, trace=trace))  # type: ignore[arg-type]
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with ends():
        asyncio.run(main())
    assert trace.outcome == "interrupted"
    check_whole(trace, tmp_path)


def test_many_walks_are_awaited_side_by_side() -> None:
    async def in_a_thread() -> int:
        return await asyncio.to_thread(lambda: 1)

    async def main() -> list[Trace]:
        tools = [plain_tool("f", in_a_thread)]
        return await asyncio.gather(
            *[arun("Hi", tools, Scripted([[("f", {})] * 2, "Done."])) for _ in range(40)]
        )

    assert [trace.answer for trace in asyncio.run(main())] == ["Done."] * 40


# Anything


def hostile_values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    odd = st.sampled_from([object(), CYCLE, {1: 2}, {(1, 2)}, "x" * 40_000, "\ud800", Unspeakable, [[[[1]]]]])
    return st.recursive(
        scalars | odd, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
    )


RAISED = [ValueError, SystemExit, GeneratorExit, StopIteration, MemoryError, RecursionError, Unspeakable]
BEHAVIOURS = st.tuples(st.just("return"), hostile_values()) | st.tuples(
    st.sampled_from(["raise", "print", "change", "async", "interrupt"]), st.sampled_from(RAISED)
)


def hostile_tool(behaviour: tuple[str, Any]) -> Tool:
    kind, given = behaviour

    def function(**arguments: Any) -> Any:
        for value in list(arguments.values()):
            if isinstance(value, list | dict):
                value.clear()
        arguments.clear()
        if kind == "return":
            return given
        if kind == "print":
            print("x" * 1_000_000)
            return None
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "async":
            return later()
        if kind == "raise":
            raise given
        return arguments

    async def later() -> None:
        raise given

    return plain_tool("hostile", function)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["hostile", "fine", "no such tool", ""]),
        st.sampled_from(["{}", "", "[", '{"a": [1], "b": {}}', "null", '{"a":' * 100]),
    ),
    max_size=3,
)
ODD_REPLIES = st.sampled_from([None, 5, cyclic_reply, ValueError, SystemExit])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BEHAVIOURS, st.lists(CALLS, max_size=3), ODD_REPLIES | st.just("Done."), st.booleans())
def test_whatever_happens_every_call_has_one_message(
    tmp_path: Path, behaviour: Any, turns: Any, last: Any, parallel: bool
) -> None:
    def model(_request: Any) -> Any:
        reply = next(replies)
        if isinstance(reply, type):
            raise reply
        if reply is cyclic_reply:
            return cyclic_reply(_request)
        return reply if reply is None else Scripted([])._as_reply(reply)

    replies = iter([*turns, last, "Done."])
    tools = as_registry([hostile_tool(behaviour), plain_tool("fine", lambda **_: 1)])
    trace, before = Trace(), sys.stdout
    ended: BaseException | None = None
    try:
        run("Hi", tools, model, trace=trace, parallel=parallel, limits=Limits(retries=9))
    except BaseException as error:
        ended = error
    assert isinstance(ended, ZoolabError | KeyboardInterrupt | SystemExit | None), ended
    assert (ended is None) == (trace.outcome in ("answer", "empty"))
    assert trace.outcome != "open"
    assert sys.stdout is before
    check_whole(trace, tmp_path)
