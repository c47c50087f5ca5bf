"""The warm worker: it has imported everything, is in the jail, and forks a process for each submission.

It never sees a case, a seed or a submission. The grader gives it two sockets for each submission, and only
the forked process reads from them. Beside each submission runs a monitor, which the submission cannot reach:
it kills the submission when the grader lets go, keeps what the submission prints, and reports how it ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import select
import signal
import site
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from zoolab.grading.worker.jail import STATUS, Bounds, Jail, Plan, strongest
from zoolab.grading.worker.kernel import run_in_kernel
from zoolab.grading.worker.linux import System
from zoolab.grading.worker.serve import serve_cells

KEPT_BYTES = 20_000
_CHUNK = 1 << 16
_LOOK_EVERY = 0.05
# What a pipe still holds after its writer has ended; a process that got away may go on writing.
_LAST_CHUNKS = 64


class Kept:
    """The first and the last of what was printed, and how much it was.

    >>> kept = Kept(4)
    >>> kept.add(b"abc"); kept.add(b"defghijk")
    >>> kept.text()
    'abcd\\n… 3 bytes left out …\\nhijk'
    """

    def __init__(self, size: int = KEPT_BYTES) -> None:
        self.size, self.total = size, 0
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take what was printed next."""
        self.total += len(data)
        room = self.size - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[: -self.size]

    def text(self) -> str:
        """What is kept, as text."""
        left_out = self.total - len(self.head) - len(self.tail)
        gap = f"\n… {left_out:,} bytes left out …\n" if left_out else ""
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


def attend(leash: int, channel: int, jail: Jail, student: Callable[[int], None]) -> None:
    """Run `student(output)` in `jail`, until it ends or the grader lets go of the leash; then report on it.

    The report goes to `leash` as one JSON object; this process has nothing to do after that. `channel` is
    the student's: it is closed here, so that the grader sees it end.

    >>> import socket
    >>> from zoolab.grading.worker.jail import strongest
    >>> from zoolab.grading.worker.jail import Plan
    >>> here, there = socket.socketpair()
    >>> def student(output):
    ...     _ = os.write(output, b"hello")
    ...     os._exit(3)
    >>> attend(there.fileno(), os.dup(0), strongest(Plan(steps=("fork",))), student)
    >>> report = json.loads(here.recv(1000))
    >>> report["output"], os.waitstatus_to_exitcode(report["status"])
    ('hello', 3)
    >>> here.close(); there.close()
    """
    output, printed = os.pipe()
    report, reported = os.pipe()
    holder = jail.begin(lambda: student(printed), reported)
    for descriptor in (printed, reported, channel):
        os.close(descriptor)
    watch = _Watch(holder, leash, output)
    status, used = watch.until_it_ends()
    code, memory, cpu = _status_of(report) or (status, used.ru_maxrss, used.ru_utime + used.ru_stime)
    for descriptor in (output, report):
        os.close(descriptor)
    words = {"status": code, "memory": memory * 1024, "cpu": cpu, "stopped": watch.stopped}
    _tell(leash, {**words, "printed": watch.kept.total, "output": watch.kept.text()})


class _Watch:
    """Looks after a process until it ends: keeps what it prints, kills it when the grader lets go."""

    def __init__(self, holder: int, leash: int, output: int) -> None:
        self.holder, self.leash, self.output = holder, leash, output
        self.kept, self.stopped = Kept(), False
        self.poller = _poller(holder, leash, output)

    def until_it_ends(self) -> tuple[int, resource.struct_rusage]:
        ended, status, used = os.wait4(self.holder, os.WNOHANG)
        while not ended:
            self._serve_once()
            ended, status, used = os.wait4(self.holder, os.WNOHANG)
        os.set_blocking(self.output, False)
        for _ in range(_LAST_CHUNKS):
            if not _drain(self.output, self.kept):
                break
        return status, used

    def _serve_once(self) -> None:
        for ready, _ in self.poller.poll(_LOOK_EVERY * 1000):
            if ready == self.leash:
                self.poller.unregister(self.leash)
                os.kill(self.holder, signal.SIGKILL)
                self.stopped = True
            elif ready == self.output and not _drain(self.output, self.kept):
                self.poller.unregister(self.output)


def _poller(holder: int, leash: int, output: int) -> select.poll:
    poller = select.poll()
    for descriptor in (leash, output):
        poller.register(descriptor, select.POLLIN)
    if hasattr(os, "pidfd_open"):
        poller.register(os.pidfd_open(holder), select.POLLIN)
    return poller


def _drain(output: int, kept: Kept) -> bool:
    try:
        data = os.read(output, _CHUNK)
    except BlockingIOError:
        return False
    kept.add(data)
    return bool(data)


def _status_of(report: int) -> tuple[int, int, float] | None:
    """What the first process of a namespace told of the student's."""
    os.set_blocking(report, False)
    try:
        told = os.read(report, STATUS.size)
    except BlockingIOError:
        return None
    if len(told) < STATUS.size:
        return None
    code, memory, cpu = STATUS.unpack(told)
    return int(code), int(memory), float(cpu)


def _tell(leash: int, report: dict[str, object]) -> None:
    data = json.dumps(report).encode()
    deadline = time.monotonic() + 10
    while data and time.monotonic() < deadline:
        try:
            data = data[os.write(leash, data) :]
        except OSError:
            return


# What most submissions import, so that each of them finds it there.
_WARM = (
    *("collections", "concurrent.futures", "copy", "dataclasses", "datetime", "functools", "itertools"),
    *("json", "logging", "math", "random", "re", "statistics", "string", "textwrap", "typing", "warnings"),
)
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def main() -> None:
    """Serve the grader at the other end of the socket that the first argument numbers.

    >>> main.__name__
    'main'
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    plan = _plan(json.loads(sys.argv[2]))
    _settle(plan)
    try:
        jail = strongest(plan)
        jail.enter()
        _import(plan)
    except (OSError, ImportError) as error:
        control.sendall(json.dumps({"failed": str(error)}).encode() + b"\n")
        return
    _forget()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a monitor
    control.sendall(json.dumps({"missing": jail.missing}).encode() + b"\n")
    while _fork_when_told(control, jail, plan.task):
        pass


def _plan(told: dict[str, Any]) -> Plan:
    bounds = Bounds(**told.pop("bounds"))
    task = told.pop("task")
    return Plan(bounds=bounds, task=task, **{name: tuple(value) for name, value in told.items()})


def _settle(plan: Plan) -> None:
    """Be a quiet process that is the first to go when memory is short."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    site.setquit()
    sys.path[:] = [entry for entry in (*sys.path, *plan.path) if entry]
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    if sys.platform == "linux":
        System().fewer_arenas()
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def _import(plan: Plan) -> None:
    """Import afresh what submissions use; the worker keeps a json of its own, which nobody can change."""
    sys.path_importer_cache.clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "json"]:
        del sys.modules[name]
    for name in (*_WARM, *plan.uses):
        importlib.import_module(name)


def _forget() -> None:
    """What a submission need not find: how this process was started, and where zoolab lies."""
    os.environ.clear()
    os.environ["HOME"] = "/tmp"
    sys.argv[:], sys.orig_argv[:] = [""], [""]
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoolab"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()


def _fork_when_told(control: socket.socket, jail: Jail, task: str) -> bool:
    """Wait for two sockets and give them to a new process; False when the grader has gone."""
    told, descriptors, *_ = socket.recv_fds(control, 1, 2)
    if not told or len(descriptors) != 2:
        return False
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        _attend(descriptors[0], descriptors[1], jail, task)
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _attend(channel: int, leash: int, jail: Jail, task: str) -> None:
    try:
        attend(leash, channel, jail, lambda output: _student(channel, output, jail, task))
    finally:
        os._exit(0)


def _student(channel: int, output: int, jail: Jail, task: str) -> None:
    """The student's process: it keeps the channel and its output, and nothing else."""
    code = 1
    try:
        for here, there in ((output, 1), (output, 2), (channel, 3)):
            os.dup2(here, there)
        os.closerange(4, 1 << 16)
        jail.surrender()
        _TASKS[task](socket.socket(fileno=3))
        code = 0
    except SystemExit:
        code = 0
    finally:
        os._exit(code)


_TASKS = {"cells": serve_cells, "kernel": run_in_kernel}
