"""A request through a watch, beside the same request through a plain pass-through."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pairs import Effort, Row

from zoolab import watch

PASSING = [sys.executable, str(Path(__file__).parent / "passing.py")]
REQUESTS = 210
BESIDE, LARGE = 400, 20_000_000
SIZES = {"a short conversation": (2, 100), "a conversation of 200 kB": (100, 200_000)}


@contextmanager
def started(*words: object) -> Iterator[int]:
    """A server of passing.py in a process of its own; its port."""
    with subprocess.Popen([*PASSING, *map(str, words)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def watching(endpoint: int) -> Iterator[int]:
    """A watch of an endpoint that writes to a folder; its port."""
    with (
        tempfile.TemporaryDirectory() as folder,
        watch(to=f"http://127.0.0.1:{endpoint}", folder=Path(folder)) as seen,
    ):
        yield int(seen.url.rpartition(":")[2])


def seconds(*words: object) -> tuple[float, float]:
    """What passing.py measures without and with a watch."""
    command = [*PASSING, *map(str, words)]
    timed = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    plain, ours = (milliseconds / 1000 for milliseconds in json.loads(timed.stdout))
    return plain, ours


def rows(effort: Effort) -> Iterator[Row]:
    """The whole answer, and the first byte of a streamed one; medians of the requests.

    And the longest of many short requests beside a large one.
    """
    requests = int(REQUESTS * max(effort.part, 0.2))
    with started("endpoint") as endpoint, started("through", endpoint) as through:
        for what, (messages, size) in SIZES.items():
            for stream, part in ((False, "whole"), (True, "first byte")):
                with watching(endpoint) as watched:
                    words = ["time", through, watched, requests, messages, size, int(stream)]
                    plain, ours = seconds(*words)
                yield Row("proxy", f"{what}, {part}", ours, plain, ours / plain, "a plain pass-through")
        with watching(endpoint) as watched:
            plain, ours = seconds("beside", through, watched, BESIDE, LARGE)
        what = f"the longest of {BESIDE} beside one of 20 MB"
        yield Row("proxy", what, ours, plain, ours / plain, "a plain pass-through")
