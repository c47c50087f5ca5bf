"""The process of a submission, isolated as far as the system allows, and what it sees of the disk."""

from __future__ import annotations

import builtins
import io
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.running.interrupts import IN_TURN
from zoolab_grader.channel import Channel
from zoolab_grader.labs import Lab
from zoolab_grader.process import WHOLE, Process
from zoolab_grader.student import cleaned
from zoolab_grader.usage import Use, used_below
from zoolab_grader.worker.jail import FORK, STEPS, UNPROTECTED, Bounds, WorkerPlan
from zoolab_grader.worker.notebook import Notebook, Nothing, importing
from zoolab_grader.worker.serve import answer_to

#: Seconds for a worker to import what a lab uses, on a slow disk.
START_SECONDS = 180.0

_END_SECONDS = 10.0
# For a process that has closed its channel to end by itself, so that it can be said how.
_LAST_SECONDS = 2.0
_MAX_REPORT = 1_000_000
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# The worker's own files, found without zoolab: its packages are empty there.
_BOOT = """
import importlib, sys, types
for name, path in (("zoolab", []), ("zoolab_grader", []), ("zoolab_grader.worker", [sys.argv.pop(1)])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = path
importlib.import_module("zoolab_grader.worker." + sys.argv.pop(1)).main()
"""
# A Python that knows nothing of its surroundings, and the folder of what it runs; a module's name follows.
_PYTHON = (
    *(sys.executable, "-s", "-P", "-S", "-B", "-X", "utf8", "-c", _BOOT),
    str(Path(__file__).resolve().parent / "worker"),
)
# Sets of text have one order in every run, so that a grade can be had again.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


def shut_in(lab: Lab, unprotected: bool = False) -> closing[Isolation]:
    """Return the strongest isolation that this system has, for the submissions of one lab, in one thread.

    Raises `InvalidInput` if this system cannot isolate a submission that may not run `unprotected`.
    """
    return closing(_isolation(lab, unprotected))


@contextmanager
def kept_warm(lab: Lab, unprotected: bool = False) -> Iterator[Isolation]:
    """Isolate as `shut_in` does, but the worker waits for this thread's next submission of the same lab.

    A submission still gets a fresh process. The worker ends with this thread, after an exception, and when
    another lab comes.
    """
    # A fork of this process must not use its parent's worker.
    key = lab.name, lab.uses, lab.seconds, unprotected, os.getpid(), IN_TURN.get()
    idle = _IDLE.isolation
    _IDLE.isolation = None
    if idle is not None and _IDLE.key != key:
        idle.close()
        idle = None
    isolation = idle or _isolation(lab, unprotected)
    try:
        yield isolation
    except BaseException:
        isolation.close()
        raise
    _IDLE.key = key
    _IDLE.isolation = isolation


class _Idle(threading.local):
    """The worker that waits for a thread's next submission."""

    key: object = None
    isolation: Isolation | None = None


_IDLE = _Idle()


def _isolation(lab: Lab, unprotected: bool) -> Isolation:
    if IN_TURN.get():
        if not unprotected:
            raise _not_isolated("no process can be started here")
        return InProcess()
    if hasattr(os, "fork"):
        return Forking(plan_for(lab, unprotected))
    if not unprotected:
        raise _not_isolated(f"{sys.platform} has no means to do it")
    return Plain(lab)


def _not_isolated(why: str) -> InvalidInput:
    return InvalidInput(
        f"a submission cannot be kept from {', '.join(UNPROTECTED)}: {why}",
        advice="grade on Linux, or in a container that allows one of these; if you trust every submission,"
        " go on with --unprotected",
    )


def plan_for(lab: Lab, unprotected: bool = False) -> WorkerPlan:
    """Return how to build a worker for the submissions of a lab."""
    # The system's own limit on CPU time comes second, after the grader's patience.
    bounds = Bounds(cpu=math.ceil(max(WHOLE, lab.seconds) * 1.5) + 10)
    steps = tuple(step for step in STEPS if unprotected or step != FORK)
    return replace(places_for(lab.uses), steps=steps, bounds=bounds)


class Forking:
    """Starts a worker for the first submission, and a new worker if that one has died."""

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self._worker: _Worker | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The protections that this system does not give."""
        return self._running().missing

    def start(self) -> Forked:
        """Return a fresh process that has loaded nothing yet."""
        try:
            return self._fork()
        except OSError:
            self.close()
            return self._fork()

    def close(self) -> None:
        """End the worker, and with it all that it started."""
        if self._worker is not None:
            self._end()
            self._worker = None

    def _running(self) -> _Worker:
        if self._worker is None:
            worker = _launched(self.plan)
            self._end = weakref.finalize(self, worker.close)
            self._worker = worker
        return self._worker

    def _fork(self) -> Forked:
        worker = self._running()
        here, there = socket.socketpair()
        leash, monitor = socket.socketpair()
        with there, monitor:
            socket.send_fds(worker.control, [b"f"], [there.fileno(), monitor.fileno()])
        # The monitor, the first process of a namespace, and the student's.
        usual = 2 + (not worker.missing)
        return Forked(Channel(here), leash, worker.child.pid, self.plan.bounds.memory, usual)


@dataclass(frozen=True, slots=True)
class _Worker:
    control: socket.socket
    child: subprocess.Popen[bytes]
    missing: tuple[str, ...]
    group: str

    def close(self) -> None:
        self.control.close()
        try:
            self.child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        with suppress(OSError):
            Path(self.group).rmdir()


def _launched(plan: WorkerPlan) -> _Worker:
    """Start a worker and wait until it has imported everything. Raises `InvalidInput` if it cannot."""
    control, there = socket.socketpair()
    quiet = subprocess.DEVNULL
    with there:
        child = subprocess.Popen(
            [*_PYTHON, "zygote", str(there.fileno()), json.dumps(asdict(plan))],
            pass_fds=[there.fileno()],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    try:
        control.settimeout(START_SECONDS)
        try:
            with control.makefile("rb") as lines:
                report = dict(json.loads(lines.readline(_MAX_REPORT) or b"{}"))
        except (OSError, ValueError):
            report = {}
        if "refused" in report:
            raise _not_isolated(str(report["refused"]))
        if "missing" not in report:
            why = cleaned(report.get("failed", "it ended"))
            raise InvalidInput(f"the worker did not start: {why}", advice="install what the lab uses")
    except BaseException:  # an interrupt too
        child.kill()
        child.wait()
        control.close()
        raise
    return _Worker(control, child, tuple(report["missing"]), str(report["group"] or "/nowhere"))


@dataclass(slots=True)
class Forked(Process):
    """A submission's process; a monitor outside of it holds the other end of the leash."""

    leash: socket.socket
    worker: int
    bound: int
    usual: int

    def ended(self) -> str | None:
        """Stop the process and all that it started, and say how it ended; None if its monitor did not."""
        if self.leash.fileno() < 0:
            return ""
        self.leash.settimeout(_LAST_SECONDS if self.channel.ended() else 0)
        report = self._report()
        if report is None:
            self.leash.shutdown(socket.SHUT_WR)
            self.leash.settimeout(_END_SECONDS)
            report = self._report() or {}
        self.leash.close()
        self.channel.socket.close()
        return self._in_words(report)

    def used(self) -> Use | None:
        """Return what the worker's descendants use: they are this submission's."""
        return used_below(self.worker, self.usual)

    def _report(self) -> dict[str, Any] | None:
        """Return the monitor's report, None if it does not come in time."""
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

    def _in_words(self, report: dict[str, Any]) -> str | None:
        if not report:
            return None
        if report["stopped"]:
            return ""
        code = os.waitstatus_to_exitcode(report["status"])
        if code >= 0:
            return f"it ended with exit code {code}"
        if -code == signal.SIGXCPU:
            return "it used too much CPU time"
        if report["memory"] > self.bound * 0.7:
            return "it used too much memory"
        known = -code in set(signal.Signals)
        return f"it was killed by signal {-code} ({signal.Signals(-code).name if known else 'no name'})"


@dataclass(slots=True)
class Plain:
    """A fresh Python for each submission, for a system that cannot fork: it protects as a process does."""

    lab: Lab
    missing: tuple[str, ...] = (*UNPROTECTED, "memory")

    def start(self) -> PlainProcess:
        """Return a fresh process that has loaded nothing yet."""
        here, there = socket.socketpair()
        path = places_for(self.lab.uses).path
        needed = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # by Windows
        share = getattr(there, "share", None)
        with there:
            child = subprocess.Popen(
                [*_PYTHON, "serve", str(there.fileno()), ",".join(self.lab.uses), *path],
                pass_fds=[] if share else [there.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**_ENVIRONMENT, **needed},
            )
            assert child.stdin is not None
            # On Windows a socket goes to another process as bytes that describe it.
            with suppress(OSError), child.stdin as stdin:
                stdin.write(share(child.pid) if share else b"")
        return PlainProcess(Channel(here), child)

    def close(self) -> None:
        """Keep nothing."""


@dataclass(slots=True)
class PlainProcess(Process):
    """A child process."""

    child: subprocess.Popen[bytes]

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


class InProcess:
    """Runs each submission in this process, for a system that can start no other one, such as a browser.

    It protects from nothing, and a call that never returns is not stopped. It is for `check` alone, where
    students run their own code. Values go through JSON here, too.
    """

    missing: tuple[str, ...] = (*UNPROTECTED, "memory")

    def start(self) -> Process:
        """Return a place for a submission that has loaded nothing yet."""
        own: dict[str, Any] = {"__name__": "__main__", "display": Nothing()}
        own["__builtins__"] = {**vars(builtins), "__import__": importing(__import__, own)}
        return Process(Direct(own))

    def close(self) -> None:
        """Keep nothing."""


class Direct(Channel):
    """To the names of a submission: a message is done when `send` returns. What it prints is not kept."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.answer = None
        self._notebook = Notebook(names)
        self._reply = dict[str, Any]()

    def send(self, message: dict[str, Any], seconds: float = 10.0) -> None:  # noqa: ARG002
        with redirect_stdout(io.StringIO()):
            reply = answer_to(_copied(message), self._notebook, self._ask)
        self._reply = _copied({**reply, "call": message["call"]})

    def receive(self, seconds: float) -> dict[str, Any]:  # noqa: ARG002
        return self._reply

    def _ask(self, _call: object, question: dict[str, Any]) -> dict[str, Any]:
        if self.answer is None:
            raise RuntimeError("this function was called after the call that received it had ended")
        return _copied(self.answer(_copied(question)))


def _copied(message: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(message, allow_nan=False))
    return copy


#: Makes processes for submissions, one at a time; `missing` names the protections that it cannot give.
Isolation = Forking | Plain | InProcess


def places_for(uses: Sequence[str]) -> WorkerPlan:
    """Return the plan of a worker that imports the modules `uses`, and what it reads for that."""
    packages = sorted({place for module in uses for place in _files_of(module.partition(".")[0])})
    base = [*_pythons_own(), "/etc/ld.so.cache", "/usr/share/zoneinfo"]
    masked = _package_folders(base)
    readable = [*dict.fromkeys(place for place in base if Path(place).exists()), *packages]
    outermost = []
    for place in readable:
        above = {str(parent) for parent in Path(place).parents}
        if above.isdisjoint(readable) or not above.isdisjoint(masked):  # no other place shows it already
            outermost.append(place)
    path = dict.fromkeys(str(Path(place).parent) for place in packages)
    return WorkerPlan(uses, tuple(path), tuple(outermost), tuple(masked))


def _pythons_own() -> list[str]:
    """Return the standard library, and the shared libraries of the system and of Python."""
    # Not the folder of a virtual environment: it may lie in the checkout, and holds packages only.
    prefixes = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    modules = [sysconfig.get_path(name, vars=prefixes) for name in ("stdlib", "platstdlib")]
    several = sysconfig.get_config_var("MULTIARCH")
    folders = [f"/lib/{several}", f"/usr/lib/{several}"] if several else ["/lib", "/usr/lib"]
    # A Python that was moved knows only where it was, and this user may not look there.
    libraries = {Path(sys.base_prefix, "lib"), Path(str(sysconfig.get_config_var("LIBDIR")))}
    shared = {
        str(file) for each in libraries if os.access(each, os.R_OK) for file in each.glob("libpython*.so*")
    }
    return [*modules, *folders, "/lib64", "/usr/lib64", *sorted(shared)]


def _package_folders(base: list[str]) -> list[str]:
    """Return where others' packages lie within Python's own folders; zoolab or a solution may be among
    them.
    """
    patterns = [f"{under}{kind}-packages" for kind in ("site", "dist") for under in ("", "python3*/")]
    found = {path for place in base for pattern in patterns for path in Path(place).glob(pattern)}
    return sorted(str(path) for path in found if path.is_dir())


def _files_of(module: str) -> list[str]:
    """Return the files of a module's distribution, and of every distribution that it requires; for a module
    that no distribution lists, its folder or its file.
    """
    if module in sys.stdlib_module_names:
        return []
    try:
        waiting = [metadata.distribution(module).metadata["Name"]]
    except metadata.PackageNotFoundError:
        waiting = metadata.packages_distributions().get(module, [])[:1]
    found: dict[str, list[str]] = {}
    while waiting:
        name = waiting.pop()
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in found:
            continue
        found[plain] = []
        with suppress(metadata.PackageNotFoundError):
            distribution = metadata.distribution(name)
            tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
            paths = [Path(str(distribution.locate_file(top))).absolute() for top in sorted(tops)]
            found[plain] = [str(path) for path in paths if path.exists() and path.suffix != ".pth"]
            wanted = [text for text in distribution.requires or () if "extra ==" not in text]
            waiting += [match.group() for text in wanted if (match := _REQUIREMENT.match(text))]
    places = [place for tops in found.values() for place in tops]
    spec = None if places else find_spec(module)
    if spec is not None:
        folders = [str(Path(folder)) for folder in spec.submodule_search_locations or ()]
        places = folders or [str(spec.origin)]
    return places
