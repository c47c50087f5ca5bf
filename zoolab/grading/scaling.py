"""Many submissions at once, through `concurrent.futures`: none is lost, none is counted twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from types import FrameType, TracebackType
from typing import NoReturn, Protocol

from zoolab.errors import InvalidInput
from zoolab.grading.onworker import Graded, NotGraded, Terms, grade_task, release
from zoolab.grading.submissions import Handed

#: A submission that has ended a worker this often, with no other beside it, is given up.
TRIES = 3

# Seconds that a worker has to end what it holds once nobody waits for it.
_GRACE = 5.0


class Pool(Protocol):
    """Where submissions are graded."""

    def submit(self, terms: Terms, handed: Handed) -> Future[Graded | NotGraded]:
        """Begin to grade one."""

    def renew(self) -> None:
        """Go on after a worker has ended the others with it."""


def as_they_finish(
    pool: Pool, terms: Terms, handed: Iterable[Handed], at_once: int
) -> Iterator[Graded | NotGraded]:
    """Results in the order in which they come; at most `at_once` submissions are in memory.

    When a worker dies, and the pool with it, what was under way is graded again, one at a time, so that
    whichever ended it takes no other along.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from zoolab.grading.versions import lab_version
    >>> terms, handed = Terms("l3", lab_version("l3"), "seed"), [Handed("a.py", ".py", b"x = 1")]
    >>> with ThreadPoolExecutor(1) as executor:
    ...     [found.grade.points for found in as_they_finish(Lent(executor), terms, handed, 2)]
    [0]
    """
    waiting = iter(handed)
    while True:
        lost: list[Handed] = []
        yield from _until_broken(pool, terms, waiting, at_once, lost)
        if not lost:
            return
        pool.renew()
        for each in lost:
            yield _alone(pool, terms, each)


def _until_broken(
    pool: Pool, terms: Terms, waiting: Iterator[Handed], at_once: int, lost: list[Handed]
) -> Iterator[Graded | NotGraded]:
    """Results until all are in, or until the pool breaks; then `lost` names what was under way."""
    under_way: dict[Future[Graded | NotGraded], Handed] = {}
    try:
        while not lost:
            for each in islice(waiting, at_once - len(under_way)):
                under_way[_begun(pool, terms, each)] = each
            if not under_way:
                return
            wait(under_way, return_when=FIRST_COMPLETED)
            yield from _collected(under_way, lost)
        wait(under_way)
        yield from _collected(under_way, lost)
    finally:  # nobody waits for these any more
        for future in under_way:
            future.cancel()


def _collected(
    under_way: dict[Future[Graded | NotGraded], Handed], lost: list[Handed]
) -> Iterator[Graded | NotGraded]:
    for future in [future for future in under_way if future.done()]:
        handed = under_way.pop(future)
        result = _result(future, handed.name)
        if result is None:
            lost.append(handed)
        else:
            yield result


def _begun(pool: Pool, terms: Terms, handed: Handed) -> Future[Graded | NotGraded]:
    try:
        return pool.submit(terms, handed)
    except BrokenExecutor as error:
        broken: Future[Graded | NotGraded] = Future()
        broken.set_exception(error)
        return broken


def _result(future: Future[Graded | NotGraded], name: str) -> Graded | NotGraded | None:
    """None if the worker died."""
    try:
        return future.result()
    except BrokenExecutor:
        return None
    except Exception as error:
        return NotGraded(name, f"the worker was lost: {type(error).__name__}: {error}"[:500])


def _alone(pool: Pool, terms: Terms, handed: Handed) -> Graded | NotGraded:
    for _ in range(TRIES):
        result = _result(_begun(pool, terms, handed), handed.name)
        if result is not None:
            return result
        pool.renew()
    return NotGraded(handed.name, f"the grader's own process ended {TRIES} times while grading it")


@dataclass(frozen=True, slots=True)
class Lent:
    """An executor that belongs to the caller."""

    executor: Executor

    def submit(self, terms: Terms, handed: Handed) -> Future[Graded | NotGraded]:
        """Begin to grade one."""
        return self.executor.submit(grade_task, terms, handed)

    def renew(self) -> None:
        """A broken executor can only be replaced by whoever made it."""
        raise InvalidInput("the executor is broken", advice="what was graded is kept: go on with a new one")


class Processes:
    """Processes on this machine, each with one isolation for its life.

    They end when the grader ends, however it ends; until then, they are in a session of their own, so that
    a Ctrl-C reaches the grader alone and no submission is taken for one that was killed.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._proven = False
        self._begin()

    def _begin(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._theirs, self._ours = spawn.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(self._jobs, spawn, _begin_worker, (self._theirs,))

    def submit(self, terms: Terms, handed: Handed) -> Future[Graded | NotGraded]:
        """Begin to grade one."""
        return self._executor.submit(_in_worker, terms, handed)

    def renew(self) -> None:
        """Go on with new processes. Raises `InvalidInput` where none can start at all."""
        self._end()
        self._begin()
        try:
            self._proven = self._proven or bool(self._executor.submit(os.getpid).result())
        except BrokenExecutor:
            raise InvalidInput(
                "no process can start that grades",
                advice='in a script, grade within if __name__ == "__main__"',
            ) from None

    def _end(self) -> None:
        self._ours.close()
        self._executor.shutdown(cancel_futures=True)
        self._theirs.close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._executor.shutdown()
        self._end()


def _in_worker(terms: Terms, handed: Handed) -> Graded | NotGraded:
    """As `grade_task`; told to end, the process ends what it holds and then itself."""
    try:
        return grade_task(terms, handed)
    except SystemExit:
        try:
            release()
        finally:
            os._exit(1)


def _begin_worker(lifeline: Connection) -> None:
    if sys.platform != "win32":
        os.setsid()
    signal.signal(signal.SIGTERM, _terminated)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    """Nothing is ever sent: what comes is the end, when the grader closes its side or dies."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os.kill(os.getpid(), signal.SIGTERM)


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    last = threading.Timer(_GRACE, os._exit, (1,))
    last.daemon = True
    last.start()
    raise SystemExit(1)
