"""Step 5, execute: the calls run, and whatever happens to them becomes an outcome.

An exception, `SystemExit` included, is an outcome too: the model reads it. Calls that run side by
side run in threads, `async def` tools on an event loop that belongs to the walk, so that both work
inside a running notebook.
"""

from __future__ import annotations

import contextvars
import copy
import inspect
import threading
import time
from dataclasses import replace
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple

from zoolab.errors import ERROR_CODES, ToolTimeout, ZoolabError
from zoolab.faults import GOING_ON, Fault
from zoolab.records import Context, Failure, Outcome, ToolCall, Verdict
from zoolab.steps.printed import STAGE, Printed
from zoolab.tools import ToolReturn

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Mapping, Sequence

    from zoolab.tools import Tool

MAX_MESSAGE = 2_000
#: Seconds that an `async def` tool has to be cancelled, before it counts as running on.
CANCEL_GRACE = 0.2

INTERRUPTED = Outcome(error=Failure("execution_failed", "interrupted before it had finished"))


class Job(NamedTuple):
    """One call that is ready to run."""

    tool: Tool
    arguments: Mapping[str, Any]
    #: Seconds it may take; None for as long as it wants.
    timeout: float | None = None
    #: The arguments as validation has bound them, for this run alone; None to bind them now.
    bound: dict[str, Any] | None = None


class Runner:
    """Runs the calls of a walk; owns the event loop of its `async def` tools. Close it at the end.

    >>> from zoolab.tools import Tool
    >>> double = Tool("double", "Double it.", {"type": "object"}, lambda x: 2 * x)
    >>> Runner().run([Job(double, {"x": 21})])[0].value
    42
    """

    def __init__(self, context: Context | None = None, *, parallel: bool = True) -> None:
        self._context = context
        self._parallel = parallel
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs and return their outcomes, in their order.

        On `KeyboardInterrupt` the outcomes so far are raised as `Interrupted`.
        """
        STAGE.enter()
        try:
            if len(jobs) == 1 and jobs[0].timeout is None:
                return [_timed(jobs[0], self._call)]
            if not self._parallel:
                return self._run_in_turn(jobs)
            return _collect([_Worker(job, self._call) for job in jobs])
        except Interrupted:
            raise
        except KeyboardInterrupt as error:
            raise Interrupted([INTERRUPTED]) from error
        finally:
            STAGE.leave()

    def close(self) -> None:
        """Stop the event loop, if there is one; tools that still wait on it are cancelled."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _run_in_turn(self, jobs: Sequence[Job]) -> list[Outcome]:
        done: list[Outcome] = []
        for job in jobs:
            try:
                done += self.run([job]) if job.timeout is None else _collect([_Worker(job, self._call)])
            except Interrupted as error:
                missing = len(jobs) - len(done) - 1
                raise Interrupted(done + error.outcomes + [INTERRUPTED] * missing) from error
        return done

    def _call(self, job: Job) -> Any:
        if job.bound is not None:
            value = job.tool.call_bound(job.bound, self._context)
        else:
            value = job.tool.invoke(_own_copy(job.arguments), self._context)
        if isinstance(value, CoroutineType):
            return self._await(value, job.timeout)
        return value

    def _await(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None) -> Any:
        import asyncio

        future = asyncio.run_coroutine_threadsafe(coroutine, self._event_loop())
        try:
            return future.result(timeout)
        except BaseException as error:
            if future.cancel() and isinstance(error, TimeoutError):
                raise ToolTimeout(
                    f"gave up after {timeout:g} s; the tool was cancelled", advice="raise its timeout"
                ) from None
            raise

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        import asyncio

        with _LOOP_START:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), daemon=True).start()
        return self._loop


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while calls were running; `outcomes` has one for each call, finished or not."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        super().__init__("interrupted")
        self.outcomes = outcomes


class _Worker:
    """A call in a thread of its own. Python cannot stop a thread: one that is given up goes on."""

    def __init__(self, job: Job, call: Any) -> None:
        self.job = job
        self.outcome: Outcome | None = None
        self._done = threading.Event()
        self._started = time.time()
        self._began = time.perf_counter()
        self._context = contextvars.copy_context()
        threading.Thread(target=self._context.run, args=(self._work, call), daemon=True).start()

    def wait(self) -> Outcome:
        timeout = self.job.timeout
        if timeout is None:
            self._done.wait()
        else:
            grace = CANCEL_GRACE if inspect.iscoroutinefunction(self.job.tool.function) else 0.0
            self._done.wait(max(0.0, timeout + grace - (time.perf_counter() - self._began)))
        if self.outcome is not None:
            return self.outcome
        failure = Failure("timeout", f"gave up after {timeout:g} s; the tool may still be running")
        elapsed = (time.perf_counter() - self._began) * 1000
        fault = self._context.get(GOING_ON)
        return Outcome(None, failure, elapsed, int(self._started * 1000), still_running=True, fault=fault)

    def _work(self, call: Any) -> None:
        try:
            self.outcome = _timed(self.job, call)
        except KeyboardInterrupt as error:
            self.outcome = Outcome(error=_failure(error))
        finally:
            self._done.set()


_LOOP_START = threading.Lock()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    loop.run_forever()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def _collect(workers: Sequence[_Worker]) -> list[Outcome]:
    done: list[Outcome] = []
    try:
        for worker in workers:
            done.append(worker.wait())
    except KeyboardInterrupt as error:
        missing = [
            worker.outcome or replace(INTERRUPTED, still_running=True) for worker in workers[len(done) :]
        ]
        raise Interrupted(done + missing) from error
    return done


def _timed(job: Job, call: Any) -> Outcome:
    started = time.time_ns() // 1_000_000
    began = time.perf_counter()
    value, failure, trace, fault = None, None, None, None
    printed = Printed()
    try:
        value = call(job)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failure = _failure(error)
        trace, fault = _trace_of(error), _fault_of(error)
    finally:
        text = printed.text()
    elapsed = (time.perf_counter() - began) * 1000
    if type(value) is ToolReturn:
        value, trace, fault = value.value, value.trace, value.fault
    return Outcome(value, failure, elapsed, started, False, trace, fault, text)


def _own_copy(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool may change its arguments; the record of the call must not."""
    for value in arguments.values():
        if isinstance(value, (dict, list)):
            return copy.deepcopy(arguments)
    return arguments


def _failure(error: BaseException) -> Failure:
    name = type(error).__name__
    if isinstance(error, ZoolabError):
        code = error.code if ERROR_CODES[error.code].returned else "execution_failed"
        return Failure(code, _message(error), name)
    text = _message(error)
    return Failure(_code(error), f"{name}: {text}" if text else name, name)


def _trace_of(error: BaseException) -> Any:
    """The trace of a walk that ended so; an exception of somebody else may call something else `trace`."""
    trace = getattr(error, "trace", None)
    return trace if callable(getattr(type(trace), "messages_at", None)) else None


def _fault_of(error: BaseException) -> Fault | None:
    fault = getattr(error, "fault", None)
    return fault if isinstance(fault, Fault) else None


def _message(error: BaseException) -> str:
    try:
        return str(error)[:MAX_MESSAGE]
    except Exception:
        return "an error that cannot be shown"


def _code(error: BaseException) -> str:
    known = (
        (FileNotFoundError, "resource_not_found"),
        (PermissionError, "permission_denied"),
        (TimeoutError, "timeout"),
        (OSError, "io_error"),
    )
    return next((code for kind, code in known if isinstance(error, kind)), "execution_failed")


def refused(call: ToolCall, verdict: Verdict) -> Outcome:
    """The outcome of a call that did not pass validation: what is wrong with it, for the model to read.

    >>> from zoolab.records import Problem, ToolCall, Verdict
    >>> problem = Problem("invalid_arguments", "/a", "integer", '"2"')
    >>> refused(ToolCall(1, 0, "call_1", "add", ""), Verdict(False, None, (problem,))).error.message
    'add: /a: expected integer, received "2"'
    """
    problems = "; ".join(problem.message for problem in verdict.problems)
    return _not_run(verdict.error_code or "invalid_arguments", call, f": {problems}")


def denied(call: ToolCall, reason: str) -> Outcome:
    """The outcome of a call that had no permission.

    >>> from zoolab.records import ToolCall
    >>> denied(ToolCall(1, 0, "call_1", "rm", "{}"), "the policy denies rm").error.message
    'rm did not run: the policy denies rm'
    """
    return _not_run("permission_denied", call, f" did not run: {reason or 'it was denied'}")


def _not_run(code: str, call: ToolCall, why: str) -> Outcome:
    failure = Failure(code, (call.name or "a tool without a name") + why)
    return Outcome(error=failure, started_ms=time.time_ns() // 1_000_000)
