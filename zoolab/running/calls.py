"""Runs the calls of a walk, in threads or on an event loop, and asks its model.

Calls that run side by side run in threads, `async def` tools on an event loop that belongs to the walk, so
that both work inside a running notebook. What becomes of each call is for `zoolab.steps.execute` to say.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple

from zoolab.errors import ExecutionFailed, ToolTimeout
from zoolab.fault import GOING_ON
from zoolab.jsontext.readonly import plain
from zoolab.records import Context, Failure, Model, Outcome, Reply, Request, Tool
from zoolab.running.interrupts import BRIDGE, CANCEL_GRACE, IN_TURN, Bridge, Done, interruptible
from zoolab.running.printed import STAGE
from zoolab.steps.execute import INTERRUPTED, RunsOn, outcome_of

if TYPE_CHECKING:
    import asyncio

    from zoolab.running.awaited import CallLoop


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

    If no more threads can be started, or never as in a browser, calls run in turn in the thread that asks
    for them. A call that takes longer than its timeout then fails, but it runs to its end first.
    """

    def __init__(self, context: Context | None = None, *, parallel: bool = True) -> None:
        self._context = context
        self._parallel = parallel
        self._loop: CallLoop | None = None
        self._starting = threading.Lock()
        self._closed = False
        #: The event loop that awaits this walk; None if nobody does.
        self._callers: asyncio.AbstractEventLoop | None = None

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run the jobs and return their outcomes, in their order.

        On `KeyboardInterrupt` the outcomes so far are raised as `Interrupted`.
        """
        bridge = BRIDGE.get()
        self._callers = _callers_loop(bridge)
        alone = len(jobs) == 1 and jobs[0].timeout is None and bridge is None
        works = [] if alone else [_Work(job, self._call) for job in jobs]
        STAGE.enter()
        try:
            if alone:
                return [outcome_of(self._call, jobs[0])]
            interruptible(lambda: None)  # an interrupt that came already: no call begins
            for group in [works] if self._parallel else [[work] for work in works]:
                for work in [work for work in group if not work.start()]:
                    work.here()
                for work in group:
                    work.to_end()
                for work in group:
                    work.result()
        except KeyboardInterrupt as error:
            raise Interrupted([work.so_far() for work in works] or [INTERRUPTED]) from error
        finally:
            STAGE.leave()
        return [work.so_far() for work in works]

    def ask(self, model: Model, request: Request) -> Any:
        """Ask the model and return its reply; await an async model. An interrupt ends the waiting."""
        bridge = BRIDGE.get()
        self._callers = _callers_loop(bridge)
        if bridge is not None and (done := Done()).run_in_thread(partial(model, request)):
            done.wait()  # which can be interrupted
            reply: Any = done.result()
        else:
            reply = interruptible(model, request)
        if isinstance(reply, Reply) or not inspect.isawaitable(reply):
            return reply
        return self._await(reply)

    def close(self) -> None:
        """Stop the event loop, if there is one; tools that still wait on it are cancelled."""
        with self._starting:
            loop = self._loop
            self._loop = None
            self._closed = True
        if loop is not None:
            loop.close()

    def _call(self, job: Job, work: _Work | None = None) -> Any:
        call: Callable[[Any, Context | None], Any]
        arguments: Any
        if job.bound is not None:
            call = job.tool.call_bound
            arguments = job.bound
        else:
            # The tool may change its arguments; the record of the call must not.
            call = job.tool.invoke
            arguments = plain(job.arguments)
        code = getattr(job.tool.function, "__code__", None)
        if code is not None and code.co_flags & inspect.CO_COROUTINE:
            # The call returns at once; a coroutine must not get lost.
            value = call(arguments, self._context)
        else:
            value = interruptible(call, arguments, self._context)
        if isinstance(value, CoroutineType):
            if work is not None:
                work.awaits = True
            return self._await(value, job.timeout)
        return value

    def _await(self, awaitable: Awaitable[Any], timeout: float | None = None) -> Any:
        from zoolab.running.awaited import await_here  # it loads asyncio

        if IN_TURN.get():
            return interruptible(await_here, awaitable)
        try:
            loop = self._event_loop()
        except ExecutionFailed:
            if isinstance(awaitable, CoroutineType):
                awaitable.close()
            raise
        except RuntimeError:  # no thread for it
            return interruptible(await_here, awaitable)
        awaited = loop.start(awaitable)
        try:
            awaited.wait(timeout)
        except KeyboardInterrupt:
            loop.cancel(awaited)
            raise
        if awaited.settled:
            return awaited.result()
        given_up = f"gave up after {timeout:g} s; the tool "
        if loop.cancel(awaited, CANCEL_GRACE):
            raise ToolTimeout(given_up + "was cancelled", advice="raise its timeout")
        if self._loop is loop and loop.is_blocked:
            self._loop = None
            loop.close()
        raise RunsOn(given_up + "may still be running")

    def _event_loop(self) -> CallLoop:
        with self._starting:
            if self._closed:  # a call that was given up comes too late
                raise ExecutionFailed(
                    "the walk has ended, so no further call can run", advice="start another walk"
                )
            if self._loop is None or self._loop.is_closed:
                from zoolab.running.awaited import CallLoop

                self._loop = CallLoop(self._callers)
            return self._loop


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while calls were running; `outcomes` has one for each call, finished or not."""

    def __init__(self, outcomes: list[Outcome]) -> None:
        super().__init__("interrupted")
        self.outcomes = outcomes


class _Work(Done):
    """A call, in a thread of its own or here. Python cannot stop a thread: one that is given up goes on."""

    def __init__(self, job: Job, call: Callable[[Job, _Work | None], Any]) -> None:
        super().__init__()
        self.job = job
        self.awaits = False
        self.in_thread = False
        self._work: Callable[[], Outcome] = lambda: outcome_of(call, job, self)
        self._started_ms = time.time_ns() // 1_000_000
        self._began = time.perf_counter()
        self._context = contextvars.copy_context()

    def start(self) -> bool:
        """Begin in a thread; False if the system has no more of them."""
        self.in_thread = self.run_in_thread(self._work, self._context)
        return self.in_thread

    def here(self) -> None:
        """Run in this thread, to the end: the time is measured, and cannot be limited."""
        outcome = self._work()
        timeout = self.job.timeout
        if timeout is not None and outcome.duration_ms > timeout * 1000:
            took = f"took {outcome.duration_ms / 1000:.2g} s, and may take {timeout:g} s"
            why = "it ran to its end, because it could not have a thread of its own"
            outcome = replace(outcome, value=None, error=Failure("timeout", f"{took}; {why}"))
        self.settle(outcome)

    def to_end(self) -> None:
        """Wait for the end, or for the timeout."""
        timeout = self.job.timeout
        if not self.in_thread:
            return
        if timeout is None:
            self.wait()
            return
        self.wait(timeout - (time.perf_counter() - self._began))
        if not self.settled and self.awaits:  # the event loop keeps the time, and cancels
            self.wait(5 * CANCEL_GRACE)
        if not self.settled:
            failure = Failure("timeout", f"gave up after {timeout:g} s; the tool may still be running")
            elapsed = (time.perf_counter() - self._began) * 1000
            fault = self._context.get(GOING_ON)
            self.settle(Outcome(None, failure, elapsed, self._started_ms, still_running=True, fault=fault))

    def so_far(self) -> Outcome:
        """Return the outcome; if the call has not ended, the outcome that it was interrupted."""
        try:
            outcome: Outcome | None = self.result()
        except KeyboardInterrupt:  # a tool interrupts the walk
            return INTERRUPTED
        return outcome or replace(INTERRUPTED, still_running=self.in_thread)


def _callers_loop(bridge: Bridge | None) -> asyncio.AbstractEventLoop | None:
    """Find the event loop that awaits this walk; None if that loop runs in this very thread."""
    if bridge is None:
        return None
    import asyncio

    return None if asyncio._get_running_loop() is bridge.loop else bridge.loop
