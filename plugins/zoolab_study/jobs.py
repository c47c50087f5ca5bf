"""Jobs: many items on an executor, a few at a time. No item is lost, whatever dies on the way.

`Workers` is an executor that can be replaced when it breaks: threads, processes of this machine, a cluster,
or any executor that a caller passes. `Jobs` hands items to it and yields results as they finish. When a
worker dies and takes the pool with it, all items that were under way run again, one batch after the other
with nothing beside it. So the item that kills its worker is found, and costs no other item.

Processes that are started here end with the process that started them, however that one ends. A Ctrl-C
reaches only the parent process, which then ends its workers.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, Generic, ParamSpec, TypeVar

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.jsontext import excerpt
from zoolab.running.interrupts import ANEW, IN_TURN, interruptible
from zoolab_connect.threads import Threads

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Seconds of work that go out at once, the most items, and how fast a batch may grow.
_SECONDS_AT_ONCE = 0.2
_MOST_AT_ONCE = 500
_GROWTH = 4
#: A cluster that grows with its work has few workers, or none, when it begins.
_FEWEST_ON_CLUSTER = 8
#: Windows cannot wait for more processes in one pool.
_MOST_PROCESSES = 61 if sys.platform == "win32" else 10_000


class Workers:
    """An executor, and the means to replace it when it breaks.

    Args:
        given: "threads" (also None), "processes", any `concurrent.futures` executor, or a function that
            makes one. A process pool that breaks is replaced by another like it.
        count: How many threads or processes to start; by default one process for each processor.
        preload: Modules that processes import before they are started, where the system can fork.
    """

    def __init__(self, given: Any = None, count: int | None = None, *, preload: Sequence[str] = ()) -> None:
        if count is not None and count < 1:
            raise InvalidInput(f"the number of workers is {count}", expected="at least 1")
        self._make, self._own = _maker(given, count, preload)
        self._executor: Executor = self._make()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(now=kind is not None)

    @property
    def shares_memory(self) -> bool:
        """Whether the workers are threads of this process."""
        return type(self._executor) in (Threads, ThreadPoolExecutor)

    @property
    def window(self) -> int:
        """How many batches should be under way: two for each worker, so that none waits."""
        executor: Any = self._executor
        with suppress(Exception):  # unless it is of dask, and its scheduler answers
            return max(2 * int(sum(executor._client.nthreads().values())), _FEWEST_ON_CLUSTER)
        count: int | None = getattr(executor, "_max_workers", 0)
        return 2 * (count or _processors())

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand out work. A broken executor is replaced first."""
        try:
            return self._executor.submit(function, *args, **kwargs)
        except BrokenExecutor:
            self.renew()
            return self._executor.submit(function, *args, **kwargs)

    def renew(self) -> None:
        """Replace the executor; raises `InvalidInput` if only the caller, who passed it, can do that."""
        broken = self._executor
        self._executor = self._make()
        if self._executor is broken:
            raise InvalidInput("the executor is broken", advice="pass a new one; finished work is kept")
        broken.shutdown(wait=False, cancel_futures=True)
        self._own = True

    def check(self) -> None:
        """Replace the executor, and raise `InvalidInput` if the new one cannot do even the simplest work."""
        self.renew()
        try:
            self._executor.submit(os.getpid).result()
        except BrokenExecutor:
            raise InvalidInput(
                "the worker processes ended before they did any work",
                advice='in a script, make this call under if __name__ == "__main__":',
            ) from None

    def close(self, *, now: bool = False) -> None:
        """Shut down what was started here; with `now`, without waiting for work that is under way."""
        if not self._own:
            return
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        if now:
            for process in processes:
                process.terminate()
        self._executor.shutdown(wait=bool(processes) or not now, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Lost(Generic[Item]):
    """An item that was given up: each time it was tried, its worker died or could not be reached."""

    item: Item
    error: Exception
    times: int

    @property
    def killed(self) -> bool:
        """Whether the worker died of it."""
        return isinstance(self.error, BrokenExecutor)


@dataclass(frozen=True, slots=True)
class _Batch(Generic[Item]):
    items: Sequence[Item]
    #: How often the worker was gone before exactly this batch was done.
    failed: int = 0
    #: Nothing else was under way, so that this batch must have ended the worker.
    alone: bool = False


class Jobs(Generic[Item, Result]):
    """Runs items on workers and yields a result for each batch, as they finish.

    Items go out one by one, or, with `seconds`, in batches of some tenths of a second. A batch that breaks
    its workers is halved until one item is left, which is `Lost` after `tries` times.

    Args:
        workers: Where the items run.
        begin: Submits a batch to the workers.
        tries: How often an item may end its worker.
        window: How many batches are under way at the same time.
        seconds: How long an item took, as the result of its batch tells.
    """

    def __init__(
        self,
        workers: Workers,
        begin: Callable[[Sequence[Item]], Future[Result]],
        *,
        tries: int = 3,
        window: int | None = None,
        seconds: Callable[[Result], float] | None = None,
    ) -> None:
        self._workers = workers
        self._begin = begin
        self._seconds = seconds
        self._tries = tries
        self._window = window or workers.window
        self._under_way: dict[Future[Result], _Batch[Item]] = {}
        self._finished: SimpleQueue[Future[Result]] = SimpleQueue()
        #: Items that were running when `run` was left, for instance by Ctrl-C.
        self.abandoned: list[Item] = []
        #: Batches that were under way when a worker died.
        self._suspects: deque[_Batch[Item]] = deque()
        self._size = 1
        self._left = sys.maxsize
        self._has_worked = self._stopped = False

    def run(self, items: Iterable[Item], total: int | None = None) -> Iterator[Result | Lost[Item]]:
        """Run the items; with their number, the last batches are small, so that all workers end together."""
        self._left = sys.maxsize if total is None else total
        waiting = iter(items)
        try:
            while True:
                self._hand_out(waiting)
                if not self._under_way:
                    return
                # The C queue, unlike the locks in Python, stays whole if Ctrl-C comes inside it.
                try:
                    future = interruptible(self._finished.get, True, ANEW)
                except Empty:
                    continue
                yield from self._take(future, self._under_way.pop(future))
        finally:
            left = [batch for future, batch in self._under_way.items() if not future.cancel()]
            self.abandoned = [item for batch in left for item in batch.items]

    def stop(self) -> None:
        """Begin no more items; what is under way still yields its results."""
        self._stopped = True

    def _hand_out(self, waiting: Iterator[Item]) -> None:
        if self._stopped:
            return
        if self._suspects:
            if not self._under_way:
                suspect = self._suspects.popleft()
                self._start(replace(suspect, alone=True))
            return
        while len(self._under_way) < self._window:
            size = min(self._size, self._left // self._window + 1)
            items = list(islice(waiting, size))
            if not items:
                return
            self._left -= len(items)
            self._start(_Batch(items))

    def _start(self, batch: _Batch[Item]) -> None:
        future = self._begin(batch.items)
        self._under_way[future] = batch
        future.add_done_callback(self._finished.put)

    def _take(self, future: Future[Result], batch: _Batch[Item]) -> Iterator[Result | Lost[Item]]:
        try:
            result = future.result()
        except BrokenExecutor as error:
            if not self._has_worked:  # workers that die before anything is done may be unable to start at all
                self._workers.check()
                self._has_worked = True
            yield from self._retry(batch, batch.alone, error)
        except Exception as error:  # of the executor: what goes wrong in the work is in its result
            yield from self._retry(batch, True, error)
        else:
            self._has_worked = True
            if self._seconds is not None:
                fitting = int(_SECONDS_AT_ONCE / max(self._seconds(result), 1e-9))
                self._size = max(1, min(fitting, _GROWTH * self._size, _MOST_AT_ONCE))
            yield result

    def _retry(self, batch: _Batch[Item], guilty: bool, error: Exception) -> Iterator[Lost[Item]]:
        if not guilty:
            self._suspects.append(_Batch(batch.items))
        elif len(batch.items) > 1:
            middle = len(batch.items) // 2
            self._suspects += (_Batch(batch.items[:middle]), _Batch(batch.items[middle:]))
        elif batch.failed + 1 < self._tries:
            # At the end of the queue: if workers are killed at random, the next kill meets another item.
            self._suspects.append(_Batch(batch.items, batch.failed + 1))
        else:
            yield Lost(batch.items[0], error, self._tries)


def is_address(executor: object) -> bool:
    """Return whether an executor is named by the address of a dask scheduler."""
    return isinstance(executor, str) and "://" in executor


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Give the workers of the dask scheduler at `address`, as an executor.

    Raises:
        InvalidInput: dask is not installed, or no scheduler answers.
    """
    needs("distributed")
    from distributed import Client as Untyped

    Client: Any = Untyped
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"no dask scheduler answers at {address}", expected="an address such as tcp://10.0.0.1:8786"
        ) from error
    with client:
        # dask gives the task of a dead worker to another one, and repeats a task that raises.
        yield client.get_executor(pure=False, retries=3)


def pickled(value: Any, what: str) -> bytes:
    """Return the value as bytes for another process; raises `InvalidInput` if it cannot be pickled."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise InvalidInput(
            f"{what} cannot be sent to other processes: {excerpt(str(error), 200)}",
            advice="pass models as functions that make them, such as lambda: OpenAIModel('name')",
        ) from None


@cache
def end_with_parent() -> None:
    """End this process when the one that started it is gone, from now on."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()


def _processors() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return allowed or 1


def _maker(given: Any, count: int | None, preload: Sequence[str]) -> tuple[Callable[[], Executor], bool]:
    """Return what makes the executor, and whether it is ours to shut down."""
    if given is None or given == "threads":
        return partial(Threads, count or min(32, _processors() + 4)), True
    if given == "processes" and IN_TURN.get():
        raise InvalidInput("no process can be started here", advice="leave out the executor")
    if given == "processes":
        return partial(_processes, min(count or _processors(), _MOST_PROCESSES), preload), True
    if isinstance(given, ProcessPoolExecutor):
        pools = chain([given], _others_like(given))
        return lambda: next(pools), False
    if hasattr(given, "submit"):
        return lambda: given, False
    if callable(given):
        return given, True
    raise InvalidInput(
        f"the executor is {excerpt(given)}",
        expected='"threads", "processes", an Executor, or a function that makes one',
    )


def _others_like(given: ProcessPoolExecutor) -> Iterator[Executor]:
    names = ("_max_workers", "_mp_context", "_initializer", "_initargs")
    workers, context, initializer, arguments = (vars(given).get(name) for name in names)
    while True:
        yield ProcessPoolExecutor(workers, context, initializer, arguments or ())


def _processes(count: int, preload: Sequence[str]) -> Executor:
    forks = bool(preload) and "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload(list(preload))
    return ProcessPoolExecutor(count, context, _begin_process, (dict(os.environ),))


def _begin_process(environment: dict[str, str]) -> None:
    # The server that forks was started earlier, perhaps before a key was set.
    os.environ.clear()
    os.environ.update(environment)
    if sys.platform != "win32":
        os.setsid()  # a Ctrl-C is for the parent alone
    end_with_parent()
