"""Jobs: what kills its worker is found, and nothing else is lost. (Real kills: test_experiment_kills.py.)"""

import os
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab_study.jobs import Jobs, Lost, Workers, dask_executor


class Mortal(Executor):
    """An executor that is broken for good once it was given a deadly item."""

    def __init__(self, deadly):
        self.deadly, self.broken = deadly, False

    def submit(self, function, /, *arguments):
        if self.broken:
            raise BrokenExecutor("the pool is broken")
        future = Future()
        if function is os.getpid:
            future.set_result(1)
        elif self.deadly & set(arguments[0]):
            self.broken = True
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(list(arguments[0]))
        return future


@given(st.integers(0, 60), st.sets(st.integers(0, 60), max_size=4), st.integers(1, 4), st.integers(1, 9))
def test_only_the_items_that_kill_their_worker_are_lost(count, deadly, tries, window):
    workers = Workers(lambda: Mortal(deadly))
    jobs = Jobs(
        workers,
        lambda batch: workers.submit(list, batch),
        tries=tries,
        window=window,
        seconds=lambda _batch: 0.02,
    )
    done, lost = [], []
    for found in jobs.run(range(count), count):
        if isinstance(found, Lost):
            lost.append(found.item)
            assert (found.killed, found.times) == (True, tries)
        else:
            done += found
    assert sorted(lost) == sorted(deadly & set(range(count)))
    assert sorted(done) == sorted(set(range(count)) - deadly)


@pytest.mark.parametrize("tries", [1, 2, 3, 4])
@pytest.mark.parametrize("error", [BrokenExecutor("a worker died"), OSError("no connection")])
def test_an_item_may_end_its_worker_so_often_and_no_more(tries, error):
    tried = []

    def begin(batch):
        tried.append(list(batch))
        future = Future()
        if 1 in batch:
            future.set_exception(error)
        else:
            future.set_result(list(batch))
        return future

    found = list(Jobs(Workers(lambda: Mortal(set())), begin, tries=tries, window=2).run(range(3), 3))
    assert [lost.item for lost in found if isinstance(lost, Lost)] == [1]
    assert sorted(one for done in found if isinstance(done, list) for one in done) == [0, 2]
    # The first time, something else was under way: only an error of the item itself counts.
    beside = isinstance(error, BrokenExecutor)
    assert tried.count([1]) == tries + beside


def test_an_item_that_works_at_last_is_not_lost():
    errors = [BrokenExecutor("a worker died")] * 3

    def begin(batch):
        future = Future()
        if errors:
            future.set_exception(errors.pop())
        else:
            future.set_result(list(batch))
        return future

    jobs = Jobs(Workers(lambda: Mortal(set())), begin, tries=3, window=1)
    assert list(jobs.run([7], 1)) == [[7]]


def test_what_was_under_way_when_a_worker_died_runs_again_with_nothing_beside_it():
    told = []

    def begin(batch):
        future = Future()
        if batch == [0] and ("begun", 0) not in told:
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(batch)
        told.append(("begun", *batch))
        return future

    for batch in Jobs(Workers(lambda: Mortal(set())), begin, window=3).run(range(3)):
        told.append(("done", *batch))
    assert told[:3] == [("begun", 0), ("begun", 1), ("begun", 2)]
    assert told[3:] == [("done", 1), ("done", 2), ("begun", 0), ("done", 0)]


@pytest.mark.parametrize(("deaths", "times"), [({1}, 1), ({2}, 0), ({1, 2}, 1)])
def test_a_new_pool_is_tried_once_and_only_if_the_first_one_did_no_work(deaths, times):
    tried, begun = [], []

    class Tried(Mortal):
        def submit(self, function, /, *arguments):
            tried.append(function)
            return super().submit(function, *arguments)

    def begin(batch):
        begun.append(batch)
        future = Future()
        if len(begun) in deaths:
            future.set_exception(BrokenExecutor("a worker died"))
        else:
            future.set_result(batch)
        return future

    assert list(Jobs(Workers(lambda: Tried(set())), begin, window=1).run([1, 2])) == [[1], [2]]
    assert tried == [os.getpid] * times


def test_as_many_batches_are_under_way_as_the_window_says():
    begun = []

    def begin(batch):
        begun.extend(batch)
        future = Future()
        future.set_result(batch)
        return future

    jobs = Jobs(Workers(lambda: Mortal(set())), begin, window=3)
    assert [len(begun) for _ in jobs.run(range(6))] == [3, 4, 5, 6, 6, 6]


def test_after_a_stop_no_more_items_begin():
    with Workers("threads", 1) as workers:
        jobs = Jobs(workers, lambda batch: workers.submit(sum, batch), window=1)
        found = []
        for result in jobs.run(range(100)):
            found.append(result)
            if result == 3:
                jobs.stop()
    assert found == [0, 1, 2, 3]


def test_an_executor_that_does_not_say_how_many_workers_it_has_gets_as_much_as_processes_would():
    with Workers("processes") as processes:
        assert Workers(lambda: Mortal(set())).window == processes.window


@pytest.mark.parametrize("error", [None, KeyError])
def test_work_in_a_thread_is_waited_for_unless_there_was_an_error(error):
    begun, done, go = threading.Event(), [], threading.Event()

    def work():
        begun.set()
        go.wait(0.3 if error is None else None)
        done.append(1)

    workers = Workers("threads", 1)
    work_ = workers.submit(work)
    begun.wait()
    workers.__exit__(error, None, None)
    assert len(done) == (error is None)
    go.set()
    work_.result()


def test_who_leaves_with_an_error_waits_for_no_process():
    workers = Workers("processes", 1)
    work = workers.submit(time.sleep, 3_000)
    while not work.running():
        time.sleep(0.01)
    workers.__exit__(KeyError, KeyError(), None)
    with pytest.raises(BrokenExecutor):
        work.result(60)


def test_processes_of_the_caller_that_died_are_replaced_by_processes_like_them(tmp_path):
    given_ = ProcessPoolExecutor(1, get_context("spawn"), os.chdir, (tmp_path,))
    with Workers(given_) as workers:
        for _ in range(2):
            assert workers.submit(os.getcwd).result(60) == str(tmp_path.resolve())
            assert (workers.window, workers.shares_memory) == (2, False)
            with pytest.raises(BrokenExecutor):
                workers.submit(os._exit, 1).result(60)


def test_the_workers_of_a_dask_scheduler_do_the_work_and_are_nobodys_default():
    distributed = pytest.importorskip("distributed")
    here = {"processes": False, "protocol": "tcp", "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(1, threads_per_worker=7, dashboard_address=None, **here) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
        Workers(executor) as workers,
    ):
        assert workers.window == 14
        futures = [workers.submit(uuid4) for _ in range(2)]
        assert len({future.result() for future in futures}) == 2
        with pytest.raises(ValueError, match="No client"):
            distributed.default_client()
    with (  # one that begins without workers gets them when there is work
        distributed.LocalCluster(0, dashboard_address=None, **here) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        assert Workers(executor).window == 8
    with (
        pytest.raises(InvalidInput, match="no dask scheduler answers"),
        dask_executor("nonsense://nowhere:1"),
    ):
        pass


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Workers(7), "the executor is 7"),
        (lambda: Workers("threads", 0), "the number of workers is 0; expected at least 1"),
    ],
)
def test_workers_that_cannot_be_meant_are_an_error(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        wrong()
