"""Jobs: what kills its worker is found, and nothing else is lost. (Real kills: test_experiment_kills.py.)"""

import os
from concurrent.futures import BrokenExecutor, Executor, Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput
from zoolab.running.jobs import Jobs, Lost, Workers


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


def test_after_a_stop_no_more_items_begin():
    with Workers("threads", 1) as workers:
        jobs = Jobs(workers, lambda batch: workers.submit(sum, batch), window=1)
        found = []
        for result in jobs.run(range(100)):
            found.append(result)
            if result == 3:
                jobs.stop()
    assert found == [0, 1, 2, 3]


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
