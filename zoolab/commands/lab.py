"""`zoolab lab`: JupyterLab, on the first notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from zoolab.errors import InvalidInput

FIRST = "00-can-it-call-tools.ipynb"


def open_lab(no_browser: bool, port: int | None, options: list[str]) -> int:
    """Start JupyterLab; further options are its own, but for the notebook to open. Returns its exit code."""
    named = [option for option in options if option.endswith(".ipynb") and not option.startswith("-")]
    target = Path(named[0]) if named else _first_notebook()
    if named and not target.exists():
        raise InvalidInput(f"no notebook {named[0]}", expected="the path of a .ipynb file")
    command = [sys.executable, "-m", "jupyterlab", *(option for option in options if option not in named)]
    command += ["--no-browser"] if no_browser else []
    command += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    if getattr(os, "geteuid", lambda: 1)() == 0 and "--allow-root" not in options:
        command.append("--allow-root")
    return subprocess.run([*command, *(place(target) if target.exists() else [])], check=False).returncode


def place(notebook: Path) -> list[str]:
    """Options that open a notebook, in the checkout if it is there, so that links to the labs lead somewhere.

    >>> [root, address] = place(_first_notebook())
    >>> address
    '--LabApp.default_url=/lab/tree/notebooks/00-can-it-call-tools.ipynb'
    """
    notebook, checkout = notebook.resolve(), Path(__file__).resolve().parents[2]
    root = checkout if notebook.is_relative_to(checkout) else notebook.parent
    address = quote(notebook.relative_to(root).as_posix())
    return [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{address}"]


def _first_notebook() -> Path:
    """Beside the package in a checkout, else in the folder where the command runs."""
    beside = Path(__file__).resolve().parents[2] / "notebooks" / FIRST
    return beside if beside.exists() else Path("notebooks") / FIRST
