"""Threads for work that goes on beside the program, and that ends with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from zoolab.running.interrupts import IN_TURN

P = ParamSpec("P")
T = TypeVar("T")


class Threads(Executor):
    """Threads that do not keep the process from ending, unlike those of `ThreadPoolExecutor`.

    Without threads, as in a browser, work is done when it is submitted.
    """

    def __init__(self, count: int) -> None:
        self._max_workers = count
        self._threads: list[threading.Thread] = []
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._waiting.put((future, partial(function, *args, **kwargs)))
        if IN_TURN.get():
            self._waiting.put(None)
            self._work()
        elif len(self._threads) < self._max_workers:
            self._threads.append(threading.Thread(target=self._work, name="zoolab", daemon=True))
            self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with suppress(Empty):
            while cancel_futures and (work := self._waiting.get_nowait()):
                work[0].cancel()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            future, call = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)
