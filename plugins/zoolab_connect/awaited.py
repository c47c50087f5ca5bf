"""Async walks: `arun` and `awalk` run the same generator in a thread.

Async tools and models run on the loop that awaits. If its task is cancelled, the walk is interrupted:
the calls that are pending are answered, and the trace is whole before `CancelledError` goes up.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from zoolab.keywords import passes_on
from zoolab.loop import Tools, walk
from zoolab.options import WalkOptions
from zoolab.records import Model, Record, Step
from zoolab.running.interrupts import BRIDGE, Bridge
from zoolab.runs import RunOptions, Trace, run


@passes_on(run)
async def arun(prompt: str | None, tools: Tools, model: Model, **options: Unpack[RunOptions]) -> Trace:
    """Do what `run` does, awaited. Async tools and an async model run on the loop of the caller.

    If the task is cancelled, the trace (pass one as `trace=`) ends as `interrupted`, with all calls answered.

    >>> from zoolab import Scripted
    >>> import asyncio
    >>> asyncio.run(arun("Hi", [], Scripted(["Hello"]))).answer
    'Hello'
    """
    bridge = _Thread()
    trace: Trace = await bridge.call(lambda: run(prompt, tools, model, **options))
    return trace


@passes_on(walk)
def awalk(
    prompt: str | None,
    tools: Tools,
    model: Model,
    *,
    trace: Trace | None = None,
    **options: Unpack[WalkOptions],
) -> AsyncWalk:
    """Walk as `walk` does, for `async for`; `trace` records it. Options are checked at the call.

    >>> from zoolab import Scripted
    >>> import asyncio
    >>> async def kinds():
    ...     return [step.kind async for step in awalk("Hi", [], Scripted(["Hello"]))]
    >>> asyncio.run(kinds())
    ['define', 'request', 'tool_call']
    """
    steps = walk(prompt, tools, model, **options)
    if trace is None:
        return AsyncWalk(steps)
    trace.options = {**options, "model": model}
    return AsyncWalk(trace.follow(steps))


class AsyncWalk(AsyncIterator[Step]):
    """The steps of one conversation, awaited one at a time; see `Walk`."""

    def __init__(self, steps: Any) -> None:
        self._steps = steps
        self._bridge: _Thread | None = None

    async def __anext__(self) -> Step:
        if self._bridge is None:
            self._bridge = _Thread()
        rest: partial[deque[Step]] = partial(deque, self._steps, 0)
        step: Step | None = await self._bridge.call(partial(next, self._steps, None), rest)
        if step is None:
            raise StopAsyncIteration
        return step

    def answer(self, record: Record | Step) -> None:
        """Replace the record of the step that was just seen, for the rest of the walk."""
        self._steps.answer(record)

    async def aclose(self) -> None:
        """End the walk here."""
        self._steps.close()


class _Thread:
    """Runs the parts of one walk in threads, one after another, in the context of whoever began it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._bridge = Bridge(self._loop)
        self._context = contextvars.copy_context()
        self._context.run(BRIDGE.set, self._bridge)

    async def call(self, function: Callable[[], Any], finish: Callable[[], object] | None = None) -> Any:
        """Return what the function returns. When the task is cancelled, `finish` ends the interrupted
        walk.
        """
        ended = self._start(function)
        try:
            value, error = await asyncio.shield(ended)
        except asyncio.CancelledError:
            self._bridge.interrupt()
            _, error = await _whatever_comes(ended)
            if error is None and finish is not None:
                await _whatever_comes(self._start(finish))
            raise
        if error is not None:
            raise error
        return value

    def _start(self, function: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
        ended: Future[tuple[Any, BaseException | None]] = Future()

        def work() -> None:
            try:
                told: tuple[Any, BaseException | None] = self._context.run(function), None
            except BaseException as error:
                told = None, error
            ended.set_result(told)

        threading.Thread(target=work, daemon=True).start()
        return asyncio.wrap_future(ended, loop=self._loop)


async def _whatever_comes(ended: asyncio.Future[Any]) -> Any:
    """Await the end of an interrupted part, which is near; a second cancellation does not keep us from it."""
    while not ended.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(ended)
    return ended.result()
