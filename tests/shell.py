"""Commands of zoolab, in this process and in one of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from server import TestServer

from zoolab.commands import cli

KEY = "sk-proj-" + "Zq81TestTestTestTest9xW"
ESCAPE = "\x1b"
HOSTILE = f"a{ESCAPE}[2J{ESCAPE}]0;owned\x07\x9b1mb\r\u202ec"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ran:
        self.capsys.readouterr()
        try:
            code = cli.run_command([str(each) for each in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ran(code, *self.capsys.readouterr())


def live(server: TestServer) -> list[str]:
    return ["--model", "test", "--base-url", server.url]


def command(*arguments: str | Path, **environment: str) -> dict[str, Any]:
    """What `subprocess` needs to run a command of its own."""
    nobodys = str(Path(__file__).parent / "no-such-folder")
    known = {name: text for name, text in os.environ.items() if not name.startswith(("OPENAI_", "ZOOLAB_"))}
    return {
        "args": [sys.executable, "-m", "zoolab", *map(str, arguments)],
        "env": {
            **known,
            "OPENAI_API_KEY": KEY,
            "TERM": "xterm",
            "ZOOLAB_CONFIG": nobodys,
            **environment,
        },
        "cwd": Path(__file__).parents[1],
    }
