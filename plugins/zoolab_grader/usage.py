"""What processes use of the computer, as the system shows it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Use:
    """CPU seconds so far, bytes of memory of its own, whether it may be waiting for its turn now, and the
    seconds that it has waited for it, where the system counts them."""

    cpu: float
    memory: int
    awake: bool
    queued: float | None = None


def used_below(pid: int, usual: int) -> Use | None:
    """Return what the descendants of a process use; None if the system does not show it.

    With more than the `usual` number of processes, none is taken to wait for its turn: a parent can hide the
    CPU time of its children, and can sleep as if it waited for a disk.
    """
    if not Path("/proc/self/task").is_dir():
        return None
    uses: list[Use] = []
    try:
        own = _memory(pid)
        waiting = _children(pid)
        while waiting:
            child = waiting.pop()
            waiting += _children(child)
            uses.append(_use(child, own))
    except OSError:
        return None
    few = len(uses) <= usual
    counted = Path("/proc/self/schedstat").is_file()
    return Use(
        sum(use.cpu for use in uses),
        sum(use.memory for use in uses),
        few and any(use.awake for use in uses),
        sum(use.queued or 0.0 for use in uses) if few and counted else None,
    )


def _children(pid: int) -> list[int]:
    """Return the children of all threads; a process that ends meanwhile has none."""
    found: list[int] = []
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        return []
    for task in tasks:
        with suppress(ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def _use(pid: int, inherited: int) -> Use:
    try:
        fields = _fields(Path(f"/proc/{pid}/stat"))
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        states = [_fields(task / "stat")[0] for task in tasks]
        memory = max(_memory(pid) - inherited, 0)
    except OSError:
        return Use(0.0, 0, False)
    ticks = sum(int(field) for field in fields[11:15])
    return Use(ticks / _TICK, memory, any(state in "RD" for state in states), sum(map(queued_in, tasks)))


def queued_in(task: str | Path) -> float:
    """Return seconds in which a thread was ready to run and others ran, if the system counts them."""
    with suppress(OSError):
        return int(Path(task, "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _fields(path: Path) -> list[str]:
    """Return the fields of a stat file from the state on; the name before it may hold anything."""
    return path.read_text(errors="replace").rpartition(")")[2].split()


def _memory(pid: int) -> int:
    _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * _PAGE


#: The files of the calling thread, for `queued_in`.
THIS_THREAD = "/proc/thread-self"
