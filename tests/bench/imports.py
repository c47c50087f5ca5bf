"""`import zoolab`, beside `python -c pass`, in CPU seconds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from pairs import Effort, Row, children_cpu_seconds, compare

CODES = ("import zoolab", "from zoolab import tool, walk, run, Trace, Scripted")


def fresh(code: str) -> None:
    """A new interpreter that runs this."""
    subprocess.run([sys.executable, "-c", code], check=True)


def rows(effort: Effort) -> Iterator[Row]:
    """The package alone, and with what a walk needs."""
    for code in CODES:
        ours, bare = partial(fresh, code), partial(fresh, "pass")
        yield compare("imports", code, ours, bare, "python -c pass", effort, clock=children_cpu_seconds)
