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
from zoolab.grading.worker.serve import Channel, Message, serve

#: What has to be installed for it, and is imported before any submission.
USES = ("ipykernel.kernelapp", "nbclient", "nbformat", "jupyter_client.manager")

_ANSWERS = "_zoolab_answers"


def run_in_kernel(connection: socket.socket) -> None:
    """Serve the grader: load cells through nbclient, then let the kernel answer.

    >>> run_in_kernel.__name__
    'run_in_kernel'
    """
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

    answers: Any = types.ModuleType(_ANSWERS)
    answers.begin = lambda text: serve(connection, Notebook(_names()), json.loads(text))
    sys.modules[_ANSWERS] = answers
    sys.meta_path.insert(0, StandIn(("zoolab",)))
    try:
        app: Any = IPKernelApp.instance(connection_file=file, parent_handle=1)
        app.initialize([])
        app.start()
    finally:
        os._exit(0)


def _names() -> dict[str, Any]:
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    names: dict[str, Any] = shell.user_ns
    return names


async def _load_then_hand_over(connection: socket.socket, file: str) -> None:
    from nbclient import NotebookClient
    from nbformat import v4

    made: Any = v4
    channel, book = Channel(connection), made.new_notebook()
    client: Any = NotebookClient(book, km=_attached(file), timeout=None)
    async with client.async_setup_kernel(cleanup_kc=False):
        while (message := channel.receive())["do"] == "load":
            problems = []
            for number, cell in enumerate(message["cells"], start=message.get("first", 1)):
                book.cells.append(made.new_code_cell(cell))
                problems += await _problems_of(client, len(book.cells) - 1, number)
            channel.begin(message.get("call"))
            channel.finish({"problems": problems})
        client.kc.execute(
            f"import {_ANSWERS}\n{_ANSWERS}.begin({json.dumps(message)!r})", store_history=False
        )


async def _problems_of(client: Any, index: int, number: int) -> list[Message]:
    from nbclient.exceptions import CellExecutionError

    try:
        await client.async_execute_cell(client.nb.cells[index], index)
    except CellExecutionError as error:
        return [{"cell": number, "type": str(error.ename)[:100], "message": str(error.evalue)[:2000]}]
    return []


def _attached(file: str) -> Any:
    """A kernel manager for a kernel that runs already."""
    from jupyter_client.manager import AsyncKernelManager

    class Attached(AsyncKernelManager):
        has_kernel = True

    manager: Any = Attached(owns_kernel=False)
    manager.load_connection_file(file)
    return manager


def _end_with(kernel: int) -> None:
    """End when the kernel does and as it did, for the report."""
    code = os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])
    if code < 0:
        signal.raise_signal(-code)
    os._exit(max(code, 0))
