"""Waiting for a submission: what counts is the CPU time that it uses, so that a busy machine makes no
verdict."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from zoolab.grading.channel import Channel, Gone, Late

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Use:
    """CPU seconds so far, bytes of memory of its own, and whether anything in it runs or waits to run."""

    cpu: float
    memory: int
    awake: bool


def used_below(pid: int) -> Use | None:
    """What the descendants of a process use; None if the system does not show it."""
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
    return Use(sum(use.cpu for use in uses), sum(use.memory for use in uses), any(use.awake for use in uses))


def _children(pid: int) -> list[int]:
    """The children of all threads; a process that ends meanwhile has none."""
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
        states = [_fields(task / "stat")[0] for task in Path(f"/proc/{pid}/task").iterdir()]
        memory = max(_memory(pid) - inherited, 0)
    except OSError:
        return Use(0.0, 0, False)
    ticks = sum(int(field) for field in fields[11:15])
    return Use(ticks / _TICK, memory, any(state in "RD" for state in states))


def _fields(path: Path) -> list[str]:
    """The fields of a stat file from the state on; the name before it may hold anything."""
    return path.read_text(errors="replace").rpartition(")")[2].split()


def _memory(pid: int) -> int:
    _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * _PAGE


#: Wall-clock seconds for each second that is allowed, whatever the submission uses of them.
PATIENCE = 6.0
#: What all calls of a submission may take together, as a multiple of what one may.
WHOLE = 40
#: Bytes of memory for a submission with all of its processes.
MAX_MEMORY = 3 << 30

_LOOK_EVERY = 0.25


class Process(Protocol):
    """A process that runs one submission, wherever and however it is shut in."""

    channel: Channel
    printed: str

    def ended(self) -> str:
        """Stop the process for good and say in a few words how it ended: `used too much memory`, …; nothing
        if it was stopped while it ran. From then on `printed` is what it wrote to stdout and stderr."""

    def used(self) -> Use | None:
        """What the process and all that it started use; None where the system does not say."""


@dataclass(slots=True)
class Wait:
    """The time that one call may take: `seconds` of CPU time, or of doing nothing at all.

    Time in which the grader itself works, or in which the process waits for its turn on a busy machine,
    costs nothing, as far as the system can tell.
    """

    process: Process
    seconds: float
    charged: float = 0.0
    waited: float = 0.0
    _unseen: float = field(default=0.0, init=False)
    _seen: Use | None = field(default=None, init=False)

    def message(self) -> dict[str, Any]:
        """The next message; raise `Late` when the time is used up, and `Gone`."""
        while True:
            began = time.monotonic()
            try:
                return self.process.channel.receive(min(_LOOK_EVERY, self.seconds / 4))
            except Late:
                pass
            finally:
                passed = time.monotonic() - began
                self.waited += passed
                self._unseen += passed
                if self._unseen >= _LOOK_EVERY / 2:
                    self._look()
            if self.charged >= self.seconds or self.waited >= PATIENCE * self.seconds:
                raise Late

    def _look(self) -> None:
        use, before, passed = self.process.used(), self._seen, self._unseen
        self._unseen, self._seen = 0.0, use
        if use is None:
            return
        if use.memory > MAX_MEMORY:
            raise Gone("used too much memory")
        worked = passed if before is None else use.cpu - before.cpu
        self.charged += worked if use.awake else max(worked, passed)


def in_words(seconds: float) -> str:
    """A time as a person says it."""
    return f"{seconds:g} second{'s' * (seconds != 1)}"
