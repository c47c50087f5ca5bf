"""The warm worker: it has everything imported, is shut in, and forks a process for each submission.

It never sees a case, a seed or a submission: the grader gives it two sockets for each submission, and only
the process that was forked reads from them.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import site
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from zoolab.grading.worker.jail import Jail, strongest
from zoolab.grading.worker.kernel import run_in_kernel
from zoolab.grading.worker.linux import System
from zoolab.grading.worker.monitor import attend
from zoolab.grading.worker.notebook import Notebook, install, main_module
from zoolab.grading.worker.plan import Bounds, Plan
from zoolab.grading.worker.serve import serve

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


def _serve_cells(connection: socket.socket) -> None:
    module = main_module()
    install(module)
    serve(connection, Notebook(module.__dict__))


_TASKS = {"cells": _serve_cells, "kernel": run_in_kernel}
