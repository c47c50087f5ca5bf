"""The event loop of a walk, in its own thread; a coroutine cannot end it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable
from contextlib import suppress
from importlib import import_module
from types import CoroutineType
from typing import Any

from zoolab.errors import ExecutionFailed
from zoolab.running.interrupts import CANCEL_GRACE, IN_TURN, Done


class Awaited(Done):
    """Something that is awaited on a loop."""

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        super().__init__()
        self._awaitable = awaitable
        self._task: asyncio.Task[None] | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin. This runs on the loop."""
        self._task = loop.create_task(self.to_end())
        self._task.add_done_callback(self._ended)

    def cancel(self) -> None:
        """Cancel it. This runs on the loop."""
        if self._task is not None:
            self._task.cancel()

    async def to_end(self) -> None:
        """Await it. A SystemExit or a KeyboardInterrupt that a task lets through would end its loop."""
        try:
            self.settle(await self._awaitable)
        except BaseException as error:
            self.settle(None, error)

    def _ended(self, _task: object) -> None:
        if not self.settled:  # cancelled before it had begun
            with suppress(BaseException):
                self._awaitable.close()  # type: ignore[attr-defined]
            self.settle(None, asyncio.CancelledError())


class CallLoop:
    """An event loop for async tools and models: the caller's, or one in a thread of its own.

    A tool may stop the loop, or raise SystemExit in one of its tasks: the loop then runs on. If a tool
    closes it or blocks it for ever, those that wait on it get an error, and the next call a fresh loop.
    """

    def __init__(self, callers: asyncio.AbstractEventLoop | None = None) -> None:
        self.is_closed = False
        self.is_blocked = False
        self._own = callers is None
        self._loop = asyncio.new_event_loop() if callers is None else callers
        self._waiting: set[Awaited] = set()
        if callers is None:
            try:
                threading.Thread(target=self._serve, daemon=True).start()
            except RuntimeError:
                self._loop.close()
                raise

    def start(self, awaitable: Awaitable[Any]) -> Awaited:
        """Begin to await, in the context of the caller."""
        awaited = Awaited(awaitable)
        self._waiting.add(awaited)
        if self.is_closed or not self._soon(awaited.begin, self._loop):
            self._give_up("is closed")
        return awaited

    def cancel(self, awaited: Awaited, seconds: float = 0.0) -> bool:
        """Cancel what is awaited; whether it ended within so many seconds. Finds a loop that is blocked."""
        heard = Done()
        self._soon(awaited.cancel)
        self._soon(heard.settle)
        if seconds:
            awaited.wait(seconds)
            self.is_blocked = not awaited.settled and not heard.settled
        return awaited.settled

    def close(self) -> None:
        """Cancel what is still awaited; end the loop if it is no one else's."""
        self.is_closed = True
        if self.is_blocked:
            self._give_up("is blocked by another tool")
        elif self._own:
            self._soon(self._loop.stop)
        else:
            for awaited in list(self._waiting):
                self._soon(awaited.cancel)

    def _soon(self, call: Any, *given: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(call, *given)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _give_up(self, why: str) -> None:
        error = ExecutionFailed(
            f"the event loop of the async tools {why}", advice="the next async call gets a new one"
        )
        for awaited in list(self._waiting):
            awaited.settle(None, error)

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        while not self.is_closed and not loop.is_closed():
            with suppress(BaseException):  # what a task of a tool let through
                loop.run_forever()
        self.is_closed = True
        if not loop.is_closed():
            with suppress(BaseException):
                loop.run_until_complete(_cancel_all(loop))
            loop.close()
        self._give_up("is closed")


def await_here(awaitable: Awaitable[Any]) -> Any:
    """Await in this thread, with a loop of its own. Raises RuntimeError if a loop runs in this thread.

    In a browser the page's loop always runs. JavaScript Promise Integration (JSPI) can wait on it. Without
    JSPI only a coroutine that never waits comes to its end, and others raise ExecutionFailed.
    """
    awaited = Awaited(awaitable)
    coroutine = awaited.to_end()
    browser = sys.platform == "emscripten"
    if browser and (pyodide := import_module("pyodide.ffi")).can_run_sync():
        pyodide.run_sync(coroutine)
    elif browser or (IN_TURN.get() and asyncio._get_running_loop() is not None):
        with suppress(StopIteration):
            coroutine.send(None)
        if not awaited.settled:
            coroutine.close()
            raise ExecutionFailed(
                "an async function that waits cannot run here, because no thread can be started",
                advice="use a browser with JSPI, such as Chrome 137 or later, or a function without async",
            )
    else:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(coroutine)
        finally:
            loop.close()
    return awaited.result()


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CANCEL_GRACE)
    await loop.shutdown_asyncgens()


def result_of(coroutine: CoroutineType[Any, Any, Any]) -> Any:
    """Await a coroutine to its end, in a thread of its own, because this one may have a loop that runs."""
    done = Done()
    if not done.run_in_thread(lambda: asyncio.run(coroutine)):
        return await_here(coroutine)
    done.wait()
    return done.result()
