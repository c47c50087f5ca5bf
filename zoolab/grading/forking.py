"""A warm worker for the submissions of one lab: a process that has all imported and forks one for each."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.grading.channel import Channel
from zoolab.grading.places import places_for
from zoolab.grading.records import Lab
from zoolab.grading.texts import cleaned
from zoolab.grading.tree import Use, used_below
from zoolab.grading.waiting import WHOLE
from zoolab.grading.worker.kernel import USES as KERNEL_USES
from zoolab.grading.worker.plan import NAMESPACES, Bounds, Plan

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


def plan_for(lab: Lab) -> Plan:
    """How a worker for the submissions of a lab is built.

    >>> plan_for(Lab("l1", "Define", ("schemas",), uses=("json",))).uses
    ('json',)
    """
    places = places_for(lab.uses)
    return Plan(tuple(lab.uses), places.path, places.readable, places.masked, bounds=_bounds_for(lab.seconds))


def kernel_plan_for(lab: Lab) -> Plan:
    """How a worker is built that runs the cells in a kernel.

    >>> kernel_plan_for(Lab("l1", "Define", ("schemas",))).task
    'kernel'
    """
    uses = (*KERNEL_USES, *lab.uses)
    places = places_for(uses)
    bounds = _bounds_for(lab.seconds)
    return Plan(uses, places.path, places.readable, places.masked, (NAMESPACES,), "kernel", bounds)


def _bounds_for(seconds: float) -> Bounds:
    """The kernel's own limit on CPU time is the second line: it comes after the grader's patience."""
    return Bounds(cpu=math.ceil(WHOLE * seconds * 1.5) + 10)


@dataclass(slots=True)
class Forking:
    """Starts a worker when the first submission comes, and again should it have gone."""

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
    here, there = socket.socketpair()
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
    return _ready(here, child, plan)


def _ready(control: socket.socket, child: subprocess.Popen[bytes], plan: Plan) -> _Worker:
    try:
        words = _first_words(control)
        if "missing" not in words:
            why = cleaned(words.get("failed", "it ended"))
            raise InvalidInput(f"the worker did not start: {why}", advice="install what the lab uses")
    except BaseException:  # an interrupt too
        child.kill()
        child.wait()
        control.close()
        raise
    return _Worker(control, child, tuple(words["missing"]), plan.bounds.memory)


def _first_words(control: socket.socket) -> dict[str, Any]:
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
    return f"it was killed by signal {-code} ({_name_of(-code)})"


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "no name"
