"""Other frameworks beside zoolab: the same loop, the same scripted server, an environment for each.

All loops ask one OpenAI-compatible server on loopback, which runs in a process of its own and is not
counted. What is told is the CPU time of the process that runs the loop, its HTTP client included.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from pairs import Effort, Row

LOOPS = Path(__file__).parent / "loops"
ROUNDS = (10, 100)
#: What is installed for each, and the loop that runs there.
PEERS = {
    "openai-agents": ("with_openai_agents.py", ["openai-agents"]),
    "pydantic-ai": ("with_pydantic_ai.py", ["pydantic-ai-slim[openai]"]),
    "langgraph": ("with_langgraph.py", ["langgraph", "langchain-openai"]),
    "smolagents": ("with_smolagents.py", ["smolagents[openai]"]),
}
OUT_OF_THE_WAY = {
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
    "OPENAI_API_KEY": "none",
    "NO_PROXY": "127.0.0.1",
}


class Missing(Exception):
    """Why a framework is not in the table."""


@dataclass(frozen=True, slots=True)
class Found:
    """The rows, and the frameworks that are not among them, each with the reason."""

    rows: list[Row]
    missing: list[str]


class Loop:
    """A framework's loop, in a process that waits to be told to run it."""

    def __init__(self, python: Path, script: str, url: str) -> None:
        environment = {**os.environ, **OUT_OF_THE_WAY, "BENCH_URL": url}
        environment.pop("PYTHONPATH", None)
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [str(python), str(LOOPS / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment,
        )
        self.versions = ", ".join(self._answer())

    def seconds(self, mark: int, rounds: int) -> float:
        """CPU seconds of one run; `mark` is another one for each."""
        assert self._process.stdin is not None
        print(mark, rounds, file=self._process.stdin, flush=True)
        return float(self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._said.seek(0)
            raise Missing(last_line(self._said.read()))
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._said.close()


def cache_folder() -> Path:
    """Where the environments go unless a folder is given."""
    from platformdirs import user_cache_path

    return user_cache_path("zoolab") / "peers"


def last_line(text: str | None) -> str:
    """What went wrong, in a line."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it ended without a word"


def python_of(name: str, requirements: list[str], folder: Path) -> Path:
    """The Python of a framework's environment, which is made if it is not there.

    Raises `Missing` with the installer's last line.
    """
    home = folder / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = home / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == requirements:
        return python
    uv = shutil.which("uv")
    if uv:
        _do(uv, "venv", "--quiet", "--clear", "--python", sys.executable, home)
        _do(uv, "pip", "install", "--quiet", "--python", python, *requirements)
    else:
        _do(sys.executable, "-m", "venv", "--clear", home)
        _do(python, "-m", "pip", "install", "--quiet", *requirements)
    stamp.write_text(json.dumps(requirements))
    return python


def _do(*command: object) -> None:
    try:
        subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(last_line(getattr(error, "stderr", None) or str(error))) from None


@contextmanager
def serving() -> Iterator[str]:
    """The scripted server, in a process of its own; its address."""
    with subprocess.Popen(
        [sys.executable, str(LOOPS / "server.py")], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def measure(folder: Path, effort: Effort) -> Found:
    """Install what is not there, then run all loops in turns."""
    loops: dict[str, Loop] = {}
    missing = []
    marks = count(1)
    with serving() as url, ExitStack() as open_loops:
        here = Path(sys.executable)
        wanted = {"zoolab": ("with_zoolab.py", []), "by hand": ("with_client.py", []), **PEERS}
        for name, (script, requirements) in wanted.items():
            try:
                python = python_of(name, requirements, folder) if requirements else here
                loop = Loop(python, script, url)
                open_loops.callback(loop.close)
                loop.seconds(next(marks), ROUNDS[0])
                loops[name] = loop
            except Missing as why:
                missing.append(f"{name}: {why}")
        rows = [row for rounds in ROUNDS for row in _rows(loops, rounds, marks, effort)]
    return Found(rows, missing)


def _rows(loops: dict[str, Loop], rounds: int, marks: Iterator[int], effort: Effort) -> Iterator[Row]:
    """One row for each of the others; all of them take turns, as pairs do."""
    turns: list[dict[str, float]] = []
    end = time.monotonic() + effort.seconds * len(loops)
    while len(turns) < effort.pairs or (time.monotonic() < end and len(turns) < effort.most):
        turns.append({name: loop.seconds(next(marks), rounds) / rounds for name, loop in loops.items()})
    ours = median(turn["zoolab"] for turn in turns)
    for name, loop in loops.items():
        if name != "zoolab":
            theirs = median(turn[name] for turn in turns)
            ratio = median(turn["zoolab"] / turn[name] for turn in turns)
            beside = f"{'by hand, ' if name == 'by hand' else ''}{loop.versions}"
            yield Row("peers", f"a call of {rounds}, through the server", ours, theirs, ratio, beside)
