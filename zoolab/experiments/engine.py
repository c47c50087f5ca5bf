"""Who does the runs: threads, processes or a cluster, a few runs at a time, whatever dies on the way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.experiments.plan import Card
from zoolab.experiments.working import Done, Kit, Worker, die_with_parent, work_in_process
from zoolab.jsontext import excerpt

__all__ = ["Crash", "Engine", "Executors", "pickled"]

#: Seconds of work that are handed out at once, and the most runs.
_SECONDS_AT_ONCE, _MOST_AT_ONCE = 0.2, 500
_GROWTH = 4

Cards = Callable[[Sequence[int]], dict[int, Card]]
Hire = Callable[[Sequence[int]], "Future[Done]"]


@dataclass(frozen=True, slots=True)
class Crash:
    """A run that killed whoever did it, so often that nobody else shall."""

    number: int
    why: str


@dataclass(frozen=True, slots=True)
class _Batch:
    numbers: Sequence[int]
    #: How often whoever did exactly this was gone before it was done.
    failed: int = 0
    #: Nothing else was under way, so that it must have been this.
    alone: bool = False


class Executors:
    """An executor, and the means to have another one when it breaks.

    Args:
        given: None or "threads", "processes", an executor, or a function that makes one.
        workers: How many threads or processes, where they are made here.
    """

    def __init__(self, given: Any = None, workers: int | None = None) -> None:
        self._make, self._own = _maker(given, workers)
        self._executor: Executor = self._make()

    @property
    def shares_memory(self) -> bool:
        """Whether workers are threads of this process."""
        return type(self._executor) is ThreadPoolExecutor

    @property
    def workers(self) -> int:
        """How many work at the same time, as far as one can know."""
        return getattr(self._executor, "_max_workers", None) or _cluster_threads(self._executor)

    def submit(self, function: Callable[..., Done], *arguments: Any) -> Future[Done]:
        """Hand out work; a pool that is broken is replaced once."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenProcessPool:
            self.renew()
            return self._executor.submit(function, *arguments)

    def renew(self) -> None:
        """Have another pool, which has to work."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        broken, self._executor = self._executor, self._make()
        self._own = self._own or self._executor is not broken

    def check(self) -> None:
        """Raise `InvalidInput` where the executor cannot even do nothing."""
        try:
            self._executor.submit(os.getpid).result()
        except BrokenProcessPool:
            raise InvalidInput(
                "the processes of the executor end before they do anything",
                advice='in a script, call experiment() under if __name__ == "__main__":',
            ) from None

    def close(self, *, now: bool = False) -> None:
        """Let go what was made here."""
        if self._own:
            self._executor.shutdown(wait=not now, cancel_futures=True)


class Engine:
    """Does runs on an executor, few at a time, and yields what came of them as it comes.

    Runs go out in batches of some tenths of a second. When a pool breaks, what was under way is done
    again, one batch after the other with nothing beside it: a batch that breaks the pool so is halved,
    until one run is left, which after `tries` times is a `Crash`.
    """

    def __init__(
        self, executors: Executors, kit: Kit, cards: Cards, *, tries: int = 4, window: int | None = None
    ) -> None:
        self._executors = executors
        self._tries = tries
        self._window = window or 2 * executors.workers
        self._hire = _hiring(executors, kit, cards)
        self._under_way: dict[Future[Done], _Batch] = {}
        self._suspects: deque[_Batch] = deque()
        self._size, self._left = 1, 0
        self._has_worked = False
        #: Why no more runs are begun; "" as long as they are.
        self.stopped = ""

    def run(self, numbers: Iterator[int], count: int) -> Iterator[Done | Crash]:
        """Do all these runs, `count` of them; those that a stop leaves out are not yielded."""
        self._left = count
        while True:
            self._hand_out(numbers)
            if not self._under_way:
                return
            done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield from self._take(future, self._under_way.pop(future))

    def _hand_out(self, numbers: Iterator[int]) -> None:
        if self.stopped:
            return
        if self._suspects:
            if not self._under_way:
                batch = self._suspects.popleft()
                self._submit(_Batch(batch.numbers, batch.failed, alone=True))
            return
        while len(self._under_way) < self._window and (some := list(islice(numbers, self._share()))):
            self._left -= len(some)
            self._submit(_Batch(some))

    def _share(self) -> int:
        """Towards the end fewer, so that all workers are done at about the same time."""
        return min(self._size, self._left // self._window + 1)

    def _submit(self, batch: _Batch) -> None:
        self._under_way[self._hire(batch.numbers)] = batch

    def _take(self, future: Future[Done], batch: _Batch) -> Iterator[Done | Crash]:
        try:
            done = future.result()
        except BrokenProcessPool as error:
            self._check_once()
            yield from self._broken(batch, batch.alone, error)
        except Exception as error:  # of the executor: what goes wrong in a run is in its trace
            yield from self._broken(batch, True, error)
        else:
            self._has_worked = True
            self.stopped = self.stopped or done.stopped
            self._resize(len(done.lines), done.seconds)
            yield done

    def _check_once(self) -> None:
        """A pool that breaks before anything is done may not be able to do anything."""
        if not self._has_worked:
            self._executors.renew()
            self._executors.check()
            self._has_worked = True

    def _broken(self, batch: _Batch, guilty: bool, error: Exception) -> Iterator[Crash]:
        if not guilty:
            self._suspects.append(_Batch(batch.numbers))
        elif len(batch.numbers) > 1:
            middle = len(batch.numbers) // 2
            self._suspects += (_Batch(batch.numbers[:middle]), _Batch(batch.numbers[middle:]))
        elif batch.failed + 1 < self._tries:
            # Last in the row: whoever kills at random hits another one next time.
            self._suspects.append(_Batch(batch.numbers, batch.failed + 1))
        else:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            yield Crash(batch.numbers[0], f"{why} ({self._tries} times)")

    def _resize(self, runs: int, seconds: float) -> None:
        """So many runs at once that handing them out costs little, and losing them, too."""
        if runs:
            fitting = int(_SECONDS_AT_ONCE * runs / max(seconds, 1e-9))
            self._size = max(1, min(fitting, _GROWTH * self._size, _MOST_AT_ONCE))


def pickled(value: Any, what: str) -> bytes:
    """The value as bytes for another process.

    Raises:
        InvalidInput: It cannot travel.

    >>> pickled(iter, "the scorers")[:1]
    b'\\x80'
    """
    try:
        import cloudpickle as pickle
    except ImportError:
        import pickle
    try:
        return bytes(pickle.dumps(value))
    except Exception as error:
        raise InvalidInput(
            f"{what} cannot be sent to other processes: {excerpt(str(error), 200)}",
            advice="give models by a function that makes them, such as lambda: OpenAIModel('name'); "
            "what is defined in a notebook or decorated travels with zoolab[cluster]",
        ) from None


def _hiring(executors: Executors, kit: Kit, cards: Cards) -> Hire:
    """How runs are handed out: threads share the kit, and to processes it is sent."""
    if executors.shares_memory:
        worker = Worker(kit)
        return lambda numbers: executors.submit(worker.work, numbers, cards(numbers))
    packed = pickled(kit, "what the runs have in common")

    def hire(numbers: Sequence[int]) -> Future[Done]:
        return executors.submit(work_in_process, packed, numbers, pickled(cards(numbers), "the cases"))

    return hire


def _maker(given: Any, workers: int | None) -> tuple[Callable[[], Executor], bool]:
    """What makes the executor, and whether it is ours to shut down."""
    if given is None or given == "threads":
        return partial(ThreadPoolExecutor, workers, "zoolab"), True
    if given == "processes":
        return partial(_processes, workers), True
    if isinstance(given, ProcessPoolExecutor):
        return _Lent(given), False
    if hasattr(given, "submit"):
        return lambda: given, False
    if callable(given):
        return given, True
    raise InvalidInput(
        f"the executor is {excerpt(given)}", expected='"threads", "processes", an Executor, or what makes one'
    )


class _Lent:
    """First the pool that was given, and then, once that is broken, others like it."""

    def __init__(self, given: ProcessPoolExecutor) -> None:
        self._given: ProcessPoolExecutor | None = given
        known = vars(given)
        self._again = partial(
            ProcessPoolExecutor,
            known.get("_max_workers"),
            known.get("_mp_context"),
            known.get("_initializer"),
            known.get("_initargs", ()),
        )

    def __call__(self) -> Executor:
        first, self._given = self._given, None
        return self._again() if first is None else first


def _processes(workers: int | None) -> Executor:
    import multiprocessing

    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["zoolab.experiments.working"])
    return ProcessPoolExecutor(workers or os.cpu_count(), context, die_with_parent)


def _cluster_threads(executor: Executor) -> int:
    """Of dask's executor, the threads of the cluster as it is now."""
    client = getattr(executor, "_client", None)
    try:
        return sum(client.nthreads().values()) or 1 if client is not None else os.cpu_count() or 1
    except Exception:
        return os.cpu_count() or 1
