"""Work counted in lines of Python, which is the same on every machine, however busy it is."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def lines_of(work: Callable[[], object]) -> int:
    """How many lines of Python `work` runs in this thread. What C does within a line is not seen.

    >>> lines_of(lambda: [0 for _ in range(5)]) < lines_of(lambda: sum(n for n in range(500)))
    True
    """
    count = 0

    def line(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    gc.disable()  # the garbage of other tests may run Python when it goes
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@contextmanager
def ends(seconds: float = 120) -> Iterator[None]:
    """Fail if the block hangs: a guard, and no measurement. Give C a text so long that it would hang."""
    guarded = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not guarded:
        yield
        return

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"no end in {seconds} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
