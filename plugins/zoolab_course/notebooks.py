"""The course asked of another model: the code of its notebooks is run, and what they ask is recorded.

A notebook runs in a process of its own, without Jupyter, and with its switch `LIVE` at `"record:..."`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from zoolab.errors import ModelError
from zoolab.extras import needs
from zoolab.models.recording import OWN_RECORDINGS, Recording, shipped
from zoolab.models.replay import Replay
from zoolab.records import Model, Request
from zoolab.tokens import tokens_in
from zoolab_grader.submissions import read_cells

_SWITCH = re.compile(r"^LIVE = None\b", re.MULTILINE)
_NAMED = re.compile(r'\bmodel_for\([^)]*\bLIVE, "([\w-]+)"')


def recordings_of(notebooks: Iterable[Path]) -> list[str]:
    """Return the names of the recordings whose model the switch of these notebooks can replace."""
    named = (name for path in notebooks for cell in read_cells(path) for name in _NAMED.findall(cell))
    return list(dict.fromkeys(named))


def amount_of(name: str) -> tuple[int, int, int]:
    """Return about how much a model will be asked: requests, and the tokens of these and of the replies to
    them.
    """
    recording = Recording(shipped()[name])
    sent = received = 0
    for body in recording.requests:
        response = recording.response(recording.key_of(body)) or {}
        sent += tokens_in(body["messages"], body.get("tools", ()))
        received += tokens_in([response["choices"][0]["message"]])
    return len(recording), sent, received


def record_notebook(notebook: Path, live: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a notebook whose model is `live`, as `model_for` knows it, and record what it says into `folder`.

    Returns what went wrong, in a line; empty if nothing did. `environment` is added to that of the process.
    """
    own = {OWN_RECORDINGS: str(folder.absolute()), "MPLBACKEND": "agg", **environment}
    command = [sys.executable, "-m", "zoolab_course.notebooks", str(notebook.absolute()), live]
    done = subprocess.run(
        command, env={**os.environ, **own}, capture_output=True, encoding="utf-8", check=False
    )
    try:
        return str(json.loads(done.stdout.splitlines()[-1]))
    except (ValueError, IndexError):
        return f"the process ended with code {done.returncode}"


def ask_openings(name: str, live: Model, folder: Path) -> None:
    """Put to a model what a recording of zoolab's asks before any tool ran: exercises ask it, too."""
    replay = Replay(folder / f"{name}.jsonl", live=live)
    for body in Recording(shipped()[name]).requests:
        if all(message["role"] != "tool" for message in body["messages"]):
            choice = body.get("tool_choice", "auto")
            named = choice["function"]["name"] if isinstance(choice, dict) else choice
            replay(Request(body["messages"], tuple(body.get("tools", ())), named))


def _run(notebook: Path, live: str) -> str:
    """Run all cells, also after one that fails, unless no model answers; what went wrong first."""
    needs("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell: Any = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    wrong = ""
    for number, cell in enumerate(read_cells(notebook), 1):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            done = shell.run_cell(_SWITCH.sub(f"LIVE = {live!r}", cell), store_history=True)
        error = done.error_before_exec or done.error_in_exec
        if error is not None:
            wrong = wrong or f"cell {number}: {type(error).__name__}: {error}"
        if isinstance(error, ModelError):
            break
    return wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        os.chdir(scratch)
        print(json.dumps(_run(Path(sys.argv[1]), sys.argv[2])))
