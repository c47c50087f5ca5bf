"""`zoolab lab`: JupyterLab, on the first notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from zoolab.errors import InvalidInput

FIRST = "00-can-it-call-tools.ipynb"
#: JupyterLab asks the network for news and for newer versions; nobody asked for that.
QUIET = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)
#: Options by which a user says where it begins.
PLACES = {"--notebook-dir", "--ServerApp.root_dir", "--ServerApp.notebook_dir", "--LabApp.default_url"}


def open_lab(no_browser: bool, port: int | None, options: list[str]) -> int:
    """Start JupyterLab; further options are its own, but for the notebook to open. Returns its exit code."""
    return subprocess.run(lab_command(no_browser, port, options), check=False).returncode


def lab_command(no_browser: bool, port: int | None, options: list[str]) -> list[str]:
    """The command that starts JupyterLab; what the options say themselves is not said twice.

    >>> lab_command(True, None, ["--notebook-dir=work", "--LabApp.news_url=None"])[3:5]
    ['--notebook-dir=work', '--LabApp.news_url=None']
    >>> [option for option in lab_command(True, None, ["--notebook-dir=work"]) if "root_dir" in option]
    []
    """
    named = [option for option in options if option.endswith(".ipynb") and not option.startswith("-")]
    target = Path(named[0]) if named else _first_notebook()
    if named and not target.exists():
        raise InvalidInput(f"there is no notebook {named[0]}", expected="the path of a .ipynb file")
    given = [option for option in options if option not in named]
    own = {option.partition("=")[0] for option in given}
    usual = list(QUIET)
    if not own & PLACES:
        usual += place(target) if target.exists() else []
    elif named:
        usual.append(str(target))
    if getattr(os, "geteuid", lambda: 1)() == 0:
        usual.append("--allow-root")
    usual += ["--no-browser"] if no_browser else []
    usual += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    usual = [option for option in usual if option.partition("=")[0] not in own]
    return [sys.executable, "-m", "jupyterlab", *given, *usual]


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
