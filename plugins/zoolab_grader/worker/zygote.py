"""The warm worker: it has imported everything, is in the jail, and forks a process for each submission.

It never sees a case, a seed or a submission. The grader gives it two sockets for each submission, and only
the forked process reads from them. Beside each submission runs a monitor, which the submission cannot reach:
it kills the submission when the grader lets go, and reports how it ended. What a submission prints goes to
/dev/null.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource  # noqa: F401 - os.wait4 imports it, and a jail may hide it from the monitor while it is built
import select
import signal
import site
import socket
import sys
from contextlib import suppress
from pathlib import Path

from zoolab_grader.worker.jail import STATUS, Bounds, Jail, WorkerPlan, forked, strongest
from zoolab_grader.worker.opener import Opener
from zoolab_grader.worker.serve import drop_modules, serve_cells
from zoolab_grader.worker.system import System, memory_group

_LOOK_EVERY = 0.05
_REPORT_SECONDS = 10.0

# What most submissions import, so that each of them finds it there.
_WARM = (
    *("collections", "concurrent.futures", "copy", "dataclasses", "datetime", "functools", "itertools"),
    *("json", "logging", "math", "random", "re", "statistics", "string", "textwrap", "typing", "warnings"),
)
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def main() -> None:
    """Serve the grader at the other end of the socket that the first argument numbers."""
    control = socket.socket(fileno=int(sys.argv[1]))
    told = json.loads(sys.argv[2])
    plan = WorkerPlan(**{**told, "bounds": Bounds(**told["bounds"])})
    _settle(plan)
    report = "refused"
    group = ""
    join = -1
    try:
        jail = strongest(plan)
        report = "failed"
        with suppress(OSError):
            group, join = memory_group(plan.bounds.together)
        jail.enter()
        sys.path_importer_cache.clear()
        drop_modules("json")  # the worker keeps one of its own, which no submission can change
        for name in (*_WARM, *plan.uses):
            importlib.import_module(name)
    except (OSError, ImportError) as error:
        control.sendall(json.dumps({report: str(error)}).encode() + b"\n")
        return
    _forget()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a monitor
    control.sendall(json.dumps({"missing": jail.missing, "group": group}).encode() + b"\n")
    while _fork_when_told(control, jail, join):
        pass


def _settle(plan: WorkerPlan) -> None:
    """Be a quiet process that is the first to go when memory is short."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    site.setquit()
    sys.path[:] = [entry for entry in (*sys.path, *plan.path) if entry]
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    if sys.platform == "linux":
        System().fewer_arenas()
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def _forget() -> None:
    """Forget what a submission need not find: how this process was started, and where zoolab lies."""
    os.environ.clear()
    os.environ["HOME"] = "/tmp"
    sys.argv[:], sys.orig_argv[:] = [""], [""]
    drop_modules("zoolab")
    gc.collect()
    gc.freeze()


def _fork_when_told(control: socket.socket, jail: Jail, join: int) -> bool:
    """Wait for two sockets and give them to a new process; False when the grader has gone."""
    told, descriptors, *_ = socket.recv_fds(control, 1, 2)
    if not told or len(descriptors) != 2:
        return False

    def attend() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        channel, leash = descriptors
        _attend(channel, leash, jail, join)

    forked(attend)
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _attend(channel: int, leash: int, jail: Jail, join: int) -> None:
    """Monitor the submission: run it in its jail, until it ends or the grader lets go of the leash, and
    report on it there, as one JSON object.

    The student's channel is closed here, so that the grader sees it end.
    """
    report, reported = os.pipe()
    holder = jail.begin(lambda: _run_student(channel, jail, join), reported)
    for descriptor in (reported, channel):
        os.close(descriptor)
    status, memory, stopped = _wait(holder, leash, jail.opener)
    os.set_blocking(report, False)
    with suppress(BlockingIOError):
        told = os.read(report, STATUS.size)
        if len(told) == STATUS.size:  # by the first process of a namespace, about the student's
            status, memory = STATUS.unpack(told)
    found = {"status": status, "memory": memory * 1024, "stopped": stopped}
    grader = socket.socket(fileno=leash)
    grader.settimeout(_REPORT_SECONDS)
    with suppress(OSError):
        grader.sendall(json.dumps(found).encode())


def _run_student(channel: int, jail: Jail, join: int) -> None:
    """Run the student's process: it keeps the channel, and nothing else."""
    with suppress(OSError):  # without a group, the limits of each process remain
        os.write(join, b"0")
    os.dup2(channel, 3)
    os.closerange(4, jail.kept)
    os.closerange(jail.kept + 1, 1 << 16)
    jail.surrender()
    serve_cells(socket.socket(fileno=3))


def _wait(holder: int, leash: int, opener: Opener | None) -> tuple[int, int, bool]:
    """Wait for a process, open what it may read, and kill it when the grader lets go: how it ended, the most
    memory that it used, in KiB, and whether it was killed."""
    poller = select.poll()
    stopped = False
    poller.register(leash, select.POLLIN)
    if hasattr(os, "pidfd_open"):
        poller.register(os.pidfd_open(holder), select.POLLIN)
    if opener is not None:
        poller.register(opener.listener, select.POLLIN)
    ended, status, used = os.wait4(holder, os.WNOHANG)
    while not ended:
        for ready, _ in poller.poll(_LOOK_EVERY * 1000):
            if ready == leash:
                poller.unregister(leash)
                os.kill(holder, signal.SIGKILL)
                stopped = True
            elif opener is not None and ready == opener.listener:
                with suppress(OSError):  # the call was interrupted, or its process has ended
                    opener.serve()
        ended, status, used = os.wait4(holder, os.WNOHANG)
    return status, used.ru_maxrss, stopped
