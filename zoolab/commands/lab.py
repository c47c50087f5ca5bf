"""`zoolab lab`: JupyterLab, on the first notebook."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from zoolab.errors import InvalidInput

FIRST = Path("notebooks", "00-can-it-call-tools.ipynb")
CHECKOUT = Path(__file__).resolve().parents[2]
#: JupyterLab asks the network for news and for newer versions; nobody asked for that.
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
#: Options by which a user says where it begins.
PLACES = {"--notebook-dir", "--ServerApp.root_dir", "--ServerApp.notebook_dir", "--LabApp.default_url"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "zoolab lab [NOTEBOOK.ipynb] [--no-browser] [--port N] [any option of jupyter lab]"
    parser.add_argument("--no-browser", action="store_true", help="only serve")
    parser.add_argument("--port", type=int, help="where to serve")


def run(options: argparse.Namespace) -> int:
    """Start JupyterLab, and return its exit code."""
    command = lab_command(options.no_browser, options.port, options.more)
    return subprocess.run(command, check=False).returncode


def lab_command(no_browser: bool, port: int | None, more: Sequence[str]) -> list[str]:
    """The command that starts JupyterLab; what `more` says of itself is not said twice.

    >>> lab_command(True, None, ["--notebook-dir=work", "--LabApp.news_url=None"])[3:5]
    ['--notebook-dir=work', '--LabApp.news_url=None']
    >>> lab_command(True, None, [])[6]
    '--LabApp.default_url=/lab/tree/notebooks/00-can-it-call-tools.ipynb'
    """
    named = [option for option in more if option.endswith(".ipynb") and not option.startswith("-")]
    given = [option for option in more if option not in named]
    own = {option.partition("=")[0] for option in given}
    beside = CHECKOUT / FIRST
    target = Path(named[0]) if named else beside if beside.exists() else FIRST
    if named and not target.exists():
        raise InvalidInput(f"there is no notebook {named[0]}", expected="the path of a .ipynb file")
    usual = list(QUIET)
    if own & PLACES:
        usual += named[:1]
    elif target.exists():
        # JupyterLab shows the whole checkout if the notebook is in it, so that links to the labs work.
        notebook = target.resolve()
        root = CHECKOUT if notebook.is_relative_to(CHECKOUT) else notebook.parent
        address = quote(notebook.relative_to(root).as_posix())
        usual += [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{address}"]
    usual += ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    usual += ["--no-browser"] if no_browser else []
    usual += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    usual = [option for option in usual if option.partition("=")[0] not in own]
    return [sys.executable, "-m", "jupyterlab", *given, *usual]
