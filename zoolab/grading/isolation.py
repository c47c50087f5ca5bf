"""The process in which a submission runs, isolated as far as the system allows."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from zoolab.errors import InvalidInput
from zoolab.grading.channel import Channel
from zoolab.grading.filesystem import places_for
from zoolab.grading.labs import Lab
from zoolab.grading.student import cleaned
from zoolab.grading.waiting import WHOLE, Process, Use, used_below
from zoolab.grading.worker.jail import NAMESPACES, Bounds, Plan
from zoolab.grading.worker.kernel import USES as KERNEL_USES

#: Seconds for a worker to import what a lab uses, on a slow disk.
START_SECONDS = 180.0

_END_SECONDS = 10.0
_MAX_REPORT = 1_000_000

# The worker's own files, found without zoolab: its packages are empty there.
_BOOT = """
import importlib, sys, types
for name, path in (("zoolab", []), ("zoolab.grading", []), ("zoolab.grading.worker", [sys.argv.pop(1)])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = path
importlib.import_module("zoolab.grading.worker." + sys.argv.pop(1)).main()
"""


def plan_for(lab: Lab, kernel: bool = False) -> Plan:
    """How to build a worker for the submissions of a lab; with `kernel=True`, it runs the cells in a kernel.

    >>> plan_for(Lab("l1", "Define", ("schemas",), uses=("json",))).uses
    ('json',)
    """
    uses = (*KERNEL_USES, *lab.uses) if kernel else tuple(lab.uses)
    places = places_for(uses)
    # The system's own limit on CPU time comes second, after the grader's patience.
    bounds = Bounds(cpu=math.ceil(WHOLE * lab.seconds * 1.5) + 10)
    plan = Plan(uses, places.path, places.readable, places.masked, bounds=bounds)
    return replace(plan, steps=(NAMESPACES,), task="kernel") if kernel else plan


@dataclass(slots=True)
class Forking:
    """Starts a worker for the first submission, and a new worker if that one has died."""

    plan: Plan
    _worker: _Worker | None = field(default=None, init=False)

    @property
    def missing(self) -> tuple[str, ...]:
        """The protections that this system does not give."""
        return self._running().missing

    def start(self) -> Forked:
        """A fresh process that has loaded nothing yet."""
        try:
            return self._running().fork()
        except OSError:
            self.close()
            return self._running().fork()

    def close(self) -> None:
        """End the worker, and with it all that it started."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _running(self) -> _Worker:
        if self._worker is None:
            self._worker = _launched(self.plan)
        return self._worker


@dataclass(frozen=True, slots=True)
class _Worker:
    control: socket.socket
    child: subprocess.Popen[bytes]
    missing: tuple[str, ...]
    bounds_memory: int

    def fork(self) -> Forked:
        here, there = socket.socketpair()
        leash, monitor = socket.socketpair()
        with there, monitor:
            socket.send_fds(self.control, [b"f"], [there.fileno(), monitor.fileno()])
        return Forked(Channel(here), leash, self.child.pid, self.bounds_memory)

    def close(self) -> None:
        self.control.close()
        try:
            self.child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def worker_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the worker's, in a Python that knows nothing of its surroundings.

    >>> worker_command("zygote", "3")[-2:]
    ['zygote', '3']
    """
    options = ["-s", "-P", "-S", "-B", "-X", "utf8", "-c", _BOOT]
    return [sys.executable, *options, str(Path(__file__).resolve().parent / "worker"), module, *arguments]


# Sets of text have one order in every run, so that a grade can be had again.
ENVIRONMENT = {"PYTHONHASHSEED": "0"}


def _launched(plan: Plan) -> _Worker:
    """Start a worker and wait until it has imported everything. Raises `InvalidInput` if it cannot."""
    control, there = socket.socketpair()
    quiet = subprocess.DEVNULL
    with there:
        child = subprocess.Popen(
            worker_command("zygote", str(there.fileno()), json.dumps(asdict(plan))),
            pass_fds=[there.fileno()],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    try:
        report = _first_report(control)
        if "missing" not in report:
            why = cleaned(report.get("failed", "it ended"))
            raise InvalidInput(f"the worker did not start: {why}", advice="install what the lab uses")
    except BaseException:  # an interrupt too
        child.kill()
        child.wait()
        control.close()
        raise
    return _Worker(control, child, tuple(report["missing"]), plan.bounds.memory)


def _first_report(control: socket.socket) -> dict[str, Any]:
    control.settimeout(START_SECONDS)
    with control.makefile("rb") as lines:
        try:
            return dict(json.loads(lines.readline(_MAX_REPORT) or b"{}"))
        except (OSError, ValueError):
            return {}


@dataclass(slots=True)
class Forked:
    """A submission's process; a monitor outside of it holds the other end of the leash."""

    channel: Channel
    leash: socket.socket
    worker: int
    bound: int
    printed: str = field(default="", init=False)

    def ended(self) -> str:
        """Stop the process and all that it started, and say how it ended."""
        if self.leash.fileno() < 0:
            return ""
        self.leash.settimeout(_END_SECONDS if self.channel.ended() else 0)
        report = self._report()
        if report is None:
            self.leash.shutdown(socket.SHUT_WR)
            self.leash.settimeout(_END_SECONDS)
            report = self._report() or {}
        self.leash.close()
        self.channel.socket.close()
        self.printed = str(report.get("output", ""))
        return how_it_ended(report, self.bound)

    def used(self) -> Use | None:
        """What the worker's descendants use: they are this submission's."""
        return used_below(self.worker)

    def _report(self) -> dict[str, Any] | None:
        """The monitor's report, None if it does not come in time."""
        data = bytearray()
        try:
            while part := self.leash.recv(1 << 16):
                data += part
        except OSError:
            return None
        try:
            return dict(json.loads(data))
        except ValueError:
            return {}


def how_it_ended(report: dict[str, Any], bound: int) -> str:
    """A monitor's report in words.

    >>> how_it_ended({"status": 9, "memory": 0, "cpu": 1.0, "stopped": False}, 1 << 30)
    'it was killed by signal 9 (SIGKILL)'
    >>> how_it_ended({"status": 3 << 8, "memory": 0, "cpu": 1.0, "stopped": False}, 1 << 30)
    'it ended with exit code 3'
    """
    if not report or report["stopped"]:
        return ""
    code = os.waitstatus_to_exitcode(report["status"])
    if code >= 0:
        return f"it ended with exit code {code}"
    if -code == signal.SIGXCPU:
        return "it used too much CPU time"
    if report["memory"] > bound * 0.7:
        return "it used too much memory"
    known = -code in set(signal.Signals)
    return f"it was killed by signal {-code} ({signal.Signals(-code).name if known else 'no name'})"


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

    Only one thread may use it.

    >>> from zoolab.grading import Lab, grade_cells
    >>> with shut_in(Lab("l0", "Nothing", ())) as isolation:
    ...     grade_cells(Lab("l0", "Nothing", ()), ["x = 1"], isolation).points
    0
    """
    if not hasattr(os, "fork"):
        yield Plain(lab)
        return
    with closing(Forking(plan_for(lab))) as forking:
        yield forking


@contextmanager
def kept_warm(lab: Lab) -> Iterator[Isolation]:
    """As `shut_in`, but the worker waits for this thread's next submission of the same lab.

    A submission still gets a fresh process. The worker ends when another lab comes, when an exception is
    raised meanwhile, and when this thread or process ends.

    >>> from zoolab.grading import Lab, grade_cells
    >>> with kept_warm(Lab("l0", "Nothing", ())) as isolation:
    ...     grade_cells(Lab("l0", "Nothing", ()), ["x = 1"], isolation).points
    0
    """
    if not hasattr(os, "fork"):
        yield Plain(lab)
        return
    plan = plan_for(lab)
    warm, _WARM.idle = _WARM.idle, None
    # A fork of this process must not use its parent's worker.
    if warm is None or warm.forking.plan != plan or warm.owner != os.getpid():
        warm = _Warm(plan)
    try:
        yield warm.forking
    except BaseException:
        warm.close()
        raise
    _WARM.idle = warm


class _Warm:
    """A worker, and the process that started it."""

    def __init__(self, plan: Plan) -> None:
        self.forking, self.owner = Forking(plan), os.getpid()
        self.close = weakref.finalize(self, self.forking.close)


class _Idle(threading.local):
    """The worker that waits for a thread's next submission."""

    idle: _Warm | None = None


_WARM = _Idle()


@contextmanager
def in_kernel(lab: Lab) -> Iterator[Isolation]:
    """As `shut_in`, but nbclient runs the cells in a real kernel. This is slower, and needs namespaces.

    Raises `InvalidInput` if nbclient or ipykernel is not installed.

    >>> in_kernel.__name__
    'in_kernel'
    """
    with closing(Forking(plan_for(lab, kernel=True))) as forking:
        yield forking


@dataclass(slots=True)
class Plain:
    """A fresh Python for each submission, for a system that cannot fork.

    It protects only as much as a process does, and does not keep what the submission prints.
    """

    lab: Lab
    missing: tuple[str, ...] = ("the file system", "the network", "memory", "other processes")

    def start(self) -> PlainProcess:
        """A fresh process that has loaded nothing yet."""
        here, there = socket.socketpair()
        path = places_for(self.lab.uses).path
        needed = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # by Windows
        quiet = subprocess.DEVNULL
        with there:
            child = subprocess.Popen(
                worker_command("serve", str(there.fileno()), ",".join(self.lab.uses), *path),
                pass_fds=[] if hasattr(there, "share") else [there.fileno()],
                stdin=subprocess.PIPE,
                stdout=quiet,
                stderr=quiet,
                env={**ENVIRONMENT, **needed},
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


def _hand_over(there: socket.socket, child: subprocess.Popen[bytes]) -> None:
    """On Windows a socket goes to another process as bytes that describe it."""
    share = getattr(there, "share", None)
    assert child.stdin is not None
    with suppress(OSError), child.stdin as stdin:
        stdin.write(share(child.pid) if share else b"")
