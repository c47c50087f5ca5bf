"""Where a submission runs: a process of its own, shut in as far as the system allows."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from zoolab.grading.channel import Channel
from zoolab.grading.forking import ENVIRONMENT, Forking, kernel_plan_for, plan_for, worker_command
from zoolab.grading.places import places_for
from zoolab.grading.records import Lab
from zoolab.grading.waiting import Process
from zoolab.grading.worker.plan import Plan


class Isolation(Protocol):
    """Makes processes for submissions, one at a time; `missing` names the protections that it cannot give."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What a submission is not kept from, in plain words."""

    def start(self) -> Process:
        """A fresh process that has loaded nothing yet."""


@contextmanager
def shut_in(lab: Lab) -> Iterator[Isolation]:
    """The strongest isolation that this system has, for the submissions of one lab.

    It is for one thread: what grades several submissions at once has one for each.

    >>> from zoolab.grading import Lab, grade_cells
    >>> with shut_in(Lab("l0", "Nothing", ())) as isolation:
    ...     grade_cells(Lab("l0", "Nothing", ()), ["x = 1"], isolation).points
    0
    """
    if not hasattr(os, "fork"):
        yield Plain(lab)
        return
    forking = Forking(plan_for(lab))
    try:
        yield forking
    finally:
        forking.close()


@contextmanager
def kept_warm(lab: Lab) -> Iterator[Isolation]:
    """As `shut_in`, where the same lab comes again and again: the worker waits for the next time.

    A submission gets a fresh process of it each time, as in a class. It is given up for another lab's, after
    anything that was raised meanwhile, and with this thread or process, however that ends.

    >>> from zoolab.grading import Lab, grade_cells
    >>> with kept_warm(Lab("l0", "Nothing", ())) as isolation:
    ...     grade_cells(Lab("l0", "Nothing", ()), ["x = 1"], isolation).points
    0
    """
    if not hasattr(os, "fork"):
        yield Plain(lab)
        return
    warm = _taken(plan_for(lab))
    try:
        yield warm.forking
    except BaseException:
        warm.close()
        raise
    _WARM.idle = warm


class _Warm:
    """A worker and the process that it belongs to: a fork of that must not share it."""

    def __init__(self, plan: Plan) -> None:
        self.forking, self.owner = Forking(plan), os.getpid()
        self.close = weakref.finalize(self, self.forking.close)


class _Idle(threading.local):
    """The worker that waits for a thread's next submission."""

    idle: _Warm | None = None


_WARM = _Idle()


def _taken(plan: Plan) -> _Warm:
    """The worker that waits, if it is of this plan; from now on none does."""
    warm, _WARM.idle = _WARM.idle, None
    if warm is not None and warm.forking.plan == plan and warm.owner == os.getpid():
        return warm
    return _Warm(plan)


@contextmanager
def in_kernel(lab: Lab) -> Iterator[Isolation]:
    """As `shut_in`, with the cells run by nbclient in a real kernel; slower, and only where the system has
    namespaces. Raises `InvalidInput` where nbclient or ipykernel is not installed.

    >>> in_kernel.__name__
    'in_kernel'
    """
    forking = Forking(kernel_plan_for(lab))
    try:
        yield forking
    finally:
        forking.close()


@dataclass(slots=True)
class Plain:
    """A fresh Python for each submission, where the system cannot fork, with no more protection than a
    process gives; what it prints is not kept."""

    lab: Lab
    missing: tuple[str, ...] = ("the file system", "the network", "memory", "other processes")

    def start(self) -> PlainProcess:
        """A fresh process that has loaded nothing yet."""
        here, there = socket.socketpair()
        path = places_for(self.lab.uses).path
        quiet = subprocess.DEVNULL
        with there:
            child = subprocess.Popen(
                worker_command("alone", str(there.fileno()), ",".join(self.lab.uses), *path),
                pass_fds=[] if hasattr(there, "share") else [there.fileno()],
                stdin=subprocess.PIPE,
                stdout=quiet,
                stderr=quiet,
                env={**ENVIRONMENT, **_needed_by_windows()},
            )
            _hand_over(there, child)
        return PlainProcess(Channel(here), child)


@dataclass(slots=True)
class PlainProcess:
    """A child process."""

    channel: Channel
    child: subprocess.Popen[bytes]
    printed: str = ""

    def ended(self) -> str:
        """Kill it, and say how it ended."""
        if self.channel.ended():
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(1)
        code = self.child.poll()
        self.child.kill()
        self.child.wait()
        self.channel.socket.close()
        return "" if code is None else f"it ended with code {code}"

    def used(self) -> None:
        """Not known here."""


def _needed_by_windows() -> dict[str, str]:
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


def _hand_over(there: socket.socket, child: subprocess.Popen[bytes]) -> None:
    """On Windows a socket goes to another process as bytes that describe it."""
    share = getattr(there, "share", None)
    assert child.stdin is not None
    with suppress(OSError), child.stdin as stdin:
        stdin.write(share(child.pid) if share else b"")
