"""The cells of a submission in a real kernel: nbclient beside it, both of them shut in.

The kernel is forked, so that it need not import everything again. Once the cells have run, it answers the
grader itself, with the names that they defined.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
import types
from typing import Any

from zoolab.grading.worker.notebook import Notebook, StandIn
from zoolab.grading.worker.serve import Channel, serve

#: What has to be installed for it, and is imported before any submission.
USES = ("ipykernel.kernelapp", "nbclient", "nbformat", "jupyter_client.manager")

_ANSWERS = "_zoolab_answers"


def run_in_kernel(connection: socket.socket) -> None:
    """Serve the grader: load cells through nbclient, then let the kernel answer."""
    from jupyter_client.connect import write_connection_file

    file, _ = write_connection_file("/tmp/kernel.json", transport="ipc", ip="/tmp/kernel")
    kernel = os.fork()
    if kernel == 0:
        _be_the_kernel(file, connection)
    watching = threading.Thread(target=_end_with, args=(kernel,))
    watching.start()
    asyncio.run(_load_then_hand_over(connection, file))
    watching.join()


def _be_the_kernel(file: str, connection: socket.socket) -> None:
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance(connection_file=file, parent_handle=1)

    def begin(text: str) -> None:
        serve(connection, Notebook(app.shell.user_ns), json.loads(text))

    answers = sys.modules[_ANSWERS] = types.ModuleType(_ANSWERS)
    vars(answers).update(begin=begin)
    sys.meta_path.insert(0, StandIn(("zoolab",)))
    try:
        app.initialize([])
        app.start()
    finally:
        os._exit(0)


def _end_with(kernel: int) -> None:
    """End when the kernel does and as it did, for the report."""
    code = os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])
    if code < 0:
        signal.raise_signal(-code)
    os._exit(max(code, 0))


async def _load_then_hand_over(connection: socket.socket, file: str) -> None:
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbformat import v4

    class Attached(AsyncKernelManager):
        """A kernel manager for a kernel that runs already."""

        has_kernel = True

    made: Any = v4
    manager: Any = Attached(owns_kernel=False)
    manager.load_connection_file(file)
    channel, book = Channel(connection), made.new_notebook()
    client: Any = NotebookClient(book, km=manager, timeout=None)
    async with client.async_setup_kernel(cleanup_kc=False):
        while (message := channel.receive())["do"] == "load":
            reply = {}
            book.cells.append(made.new_code_cell(message["cell"]))
            try:
                await client.async_execute_cell(book.cells[-1], len(book.cells) - 1)
            except CellExecutionError as error:
                kind, told = str(error.ename)[:100], str(error.evalue)[:2000]
                reply = {"problem": {"type": kind, "message": told}}
            channel.begin(message["call"])
            channel.finish(reply)
        client.kc.execute(
            f"import {_ANSWERS}\n{_ANSWERS}.begin({json.dumps(message)!r})", store_history=False
        )
