"""A hundred walks at once, in threads and on one event loop: none crosses another, and nothing leaks."""

import asyncio
import gc
import json
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from zoolab import Scripted, Trace, arun, run, tool

WALKS = 100
SECRETS = st.lists(st.integers(0, 10**9), min_size=WALKS, max_size=WALKS, unique=True)


@tool
def echo(n: int) -> int:
    """Give it back."""
    time.sleep(0.001)
    return n


@tool
async def echo_soon(n: int) -> int:
    """Give it back, and let others go first."""
    await asyncio.sleep(0.001)
    return n


def script(number: int, name: str) -> Scripted:
    """Calls with its own number twice, the second time for two tools at once; answers what it was given."""
    calls = [(name, {"n": number})]
    return Scripted([calls, [*calls, *calls], lambda request: request.messages[-1]["content"]])


def in_threads(numbers: list[int]) -> list[Trace]:
    with ThreadPoolExecutor(WALKS) as pool:
        asked = [pool.submit(run, f"Say {n}.", [echo], script(n, "echo")) for n in numbers]
        return [each.result() for each in asked]


def on_one_loop(numbers: list[int]) -> list[Trace]:
    async def all_of_them() -> list[Trace]:
        asked = [arun(f"Say {n}.", [echo_soon], script(n, "echo_soon")) for n in numbers]
        return list(await asyncio.gather(*asked))

    return asyncio.run(all_of_them())


def threads_of_walks() -> int:
    return sum(thread.is_alive() for thread in threading.enumerate())


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").glob("*")))


def settled(count: object, most: int, seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while count() > most and time.monotonic() < until:  # type: ignore[operator]
        time.sleep(0.02)
    return count() <= most  # type: ignore[operator]


@pytest.mark.parametrize("together", [in_threads, on_one_loop])
def test_a_hundred_walks_at_once_do_not_cross_and_do_not_leak(together):
    together(list(range(WALKS)))  # what is made once, such as caches, is made now
    before = threads_of_walks(), descriptors()

    @settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
    @given(SECRETS)
    def check(numbers):
        traces = together(numbers)
        for number, trace in zip(numbers, traces, strict=True):
            told = [json.loads(each["content"])["data"] for each in trace.messages if each["role"] == "tool"]
            assert [*told, json.loads(trace.answer)["data"]] == [number] * 4
            asked = [each["content"] for each in trace.messages if each["role"] == "user"]
            assert asked == [f"Say {number}."]
        seen.extend(weakref.ref(trace) for trace in traces)

    seen: list[weakref.ref[Trace]] = []
    check()
    gc.collect()
    assert sum(ref() is not None for ref in seen) == 0
    assert len(seen) >= WALKS
    assert settled(threads_of_walks, before[0])
    assert settled(descriptors, before[1])
