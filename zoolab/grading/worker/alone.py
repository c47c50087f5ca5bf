"""A worker for one submission, where the system cannot fork: a fresh Python that is given its socket."""

from __future__ import annotations

import importlib
import os
import socket
import sys

from zoolab.grading.worker.notebook import Notebook, install, main_module
from zoolab.grading.worker.serve import serve


def main() -> None:
    """Serve the grader over the socket that stdin describes (Windows) or that the first argument numbers.

    >>> main.__name__
    'main'
    """
    number, *rest = sys.argv[1:]
    fromshare = getattr(socket, "fromshare", None)
    connection = fromshare(sys.stdin.buffer.read()) if fromshare else socket.socket(fileno=int(number))
    uses, path = rest[0].split(","), rest[1:]
    sys.path[:] = [entry for entry in (*sys.path, *path) if entry]
    for name in filter(None, uses):
        importlib.import_module(name)
    os.environ.clear()
    sys.argv[:] = [""]
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoolab"]:
        del sys.modules[name]
    module = main_module()
    install(module)
    serve(connection, Notebook(module.__dict__))
