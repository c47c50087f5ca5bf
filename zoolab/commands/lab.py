"""`zoolab lab`: JupyterLab, on the first notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from zoolab.errors import InvalidInput

FIRST = "01-one-loop.ipynb"


def open_lab(notebook: str | None, options: list[str]) -> int:
    """Start JupyterLab on a notebook; further options are JupyterLab's own. Returns its exit code."""
    target = Path(notebook) if notebook else _first_notebook()
    if notebook and not target.exists():
        raise InvalidInput(f"no notebook {notebook}", expected="the path of a .ipynb file")
    command = [sys.executable, "-m", "jupyterlab", *options]
    root = getattr(os, "geteuid", lambda: 1)() == 0
    if root and "--allow-root" not in options:
        command.append("--allow-root")
    return subprocess.run([*command, *([str(target)] if target.exists() else [])], check=False).returncode


def _first_notebook() -> Path:
    """Beside the package in a checkout, else in the folder where the command runs."""
    beside = Path(__file__).resolve().parents[2] / "notebooks" / FIRST
    return beside if beside.exists() else Path("notebooks") / FIRST
