"""What a process and all that it started use of the machine, read from outside, where Linux shows it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Use:
    """CPU seconds so far, bytes of memory of its own, and whether anything in it runs or waits to run."""

    cpu: float
    memory: int
    awake: bool


def used_below(pid: int) -> Use | None:
    """What the descendants of a process use; None if the system does not show it.

    >>> import subprocess, sys
    >>> child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    >>> use = used_below(os.getpid())
    >>> use is None or use.cpu >= 0
    True
    >>> _ = child.communicate(b"done")
    """
    try:
        own = _memory(pid)
        waiting, uses = _children(pid), []
        while waiting:
            child = waiting.pop()
            waiting += _children(child)
            uses.append(_use(child, own))
    except OSError:
        return None
    return Use(sum(use.cpu for use in uses), sum(use.memory for use in uses), any(use.awake for use in uses))


def _children(pid: int) -> list[int]:
    """The children of all threads; a process that ends meanwhile has none."""
    found: list[int] = []
    try:
        tasks = [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    except FileNotFoundError:
        if not Path("/proc/self/task").is_dir():
            raise
        return []
    for task in tasks:
        try:
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
        except ProcessLookupError:
            continue
        found += map(int, text.split())
    return found


def _use(pid: int, inherited: int) -> Use:
    try:
        fields = _fields(f"/proc/{pid}/stat")
        states = [_fields(f"{task}/stat")[0] for task in Path(f"/proc/{pid}/task").iterdir()]
        memory = max(_memory(pid) - inherited, 0)
    except OSError:
        return Use(0.0, 0, False)
    ticks = sum(int(field) for field in fields[11:15])
    return Use(ticks / _TICK, memory, any(state in "RD" for state in states))


def _fields(path: str) -> list[str]:
    """The fields of a stat file from the state on; the name before it may hold anything."""
    return Path(path).read_text(errors="replace").rpartition(")")[2].split()


def _memory(pid: int) -> int:
    _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * _PAGE
