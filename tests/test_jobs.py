"""Jobs: what kills its worker is found, and nothing else is lost. (Real kills: test_experiment_kills.py.)"""

import os
import time
from concurrent.futures import BrokenExecutor, Executor, Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab_study.jobs import Jobs, Lost, Workers


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


def test_after_a_stop_no_more_items_begin():
    with Workers("threads", 1) as workers:
        jobs = Jobs(workers, lambda batch: workers.submit(sum, batch), window=1)
        found = []
        for result in jobs.run(range(100)):
            found.append(result)
            if result == 3:
                jobs.stop()
    assert found == [0, 1, 2, 3]


def test_who_leaves_with_an_error_waits_for_no_process():
    workers = Workers("processes", 1)
    work = workers.submit(time.sleep, 3_000)
    while not work.running():
        time.sleep(0.01)
    workers.__exit__(KeyError, KeyError(), None)
    with pytest.raises(BrokenExecutor):
        work.result(60)


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
