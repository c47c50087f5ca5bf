"""What the loops of all frameworks share: the tool, the prompt, and how they are told to run.

Needs the standard library only: each loop is run by the Python of its own environment.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

KEY, MODEL = "none", "scripted"
called: list[int] = []


def add(a: int, b: int) -> int:
    """Add two integers.

    Args:
        a: The first one.
        b: The second one.
    """
    called.append(a)
    return a + b


def url() -> str:
    """Where the scripted server listens."""
    return os.environ["BENCH_URL"]


def timed(run: Callable[[str, int], object], prompt: str, rounds: int) -> float:
    """CPU seconds of one run, which must have called the tool once a round and ended with the answer."""
    called.clear()
    gc.collect()
    began = time.process_time()
    answer = run(prompt, rounds)
    took = time.process_time() - began
    if (len(called), answer) != (rounds, "done"):
        raise RuntimeError(f"{len(called)} calls of {rounds}, and the answer {answer!r}")
    return took


def serve(run: Callable[[str, int], object], *packages: str) -> None:
    """Say which versions these are; then run as each line says, and answer with the seconds.

    `run` takes a prompt and the number of calls and returns the final answer. Frameworks print: what
    they print goes to standard error.
    """
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        print(json.dumps([f"{name} {version(name)}" for name in packages]), file=out, flush=True)
        for line in sys.stdin:
            mark, rounds = line.split()
            prompt = f"Add numbers until you are done: run-{mark}-{rounds}."
            print(json.dumps(timed(run, prompt, int(rounds))), file=out, flush=True)
