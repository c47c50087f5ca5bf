"""An MCP server's process: its messages as bounded lines, its complaints kept, its end made sure."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import visible

#: Bytes of one message; the rest of a longer one is never read.
MAX_MESSAGE = 4 << 20
MAX_COMPLAINT = 2_000
#: Seconds that a server has to end by itself once its input is closed, and then once more when told to.
GRACE = 2.0
_POLL = 0.01


class ServerProcess:
    """A server that runs, in a process group of its own. Made by `ServerProcess.start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stdin, self._stdout, stderr = process.stdin, process.stdout, process.stderr
        self._complaint = b""
        self._listening = asyncio.create_task(self._keep_complaint(stderr))

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str], cwd: str | Path | None
    ) -> ServerProcess:
        """Start a command; raises `InvalidInput` where that cannot be done."""
        program = shutil.which(command[0], path=env.get("PATH")) or command[0]
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *command[1:],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                limit=MAX_MESSAGE,
                **_own_group(),
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"cannot start {one_line(command[0])}: {getattr(error, 'strerror', None) or error}",
                advice="check the command, its folder, and that the program is on PATH",
            ) from None
        return cls(process)

    async def read(self) -> bytes:
        """The next line; empty at the end. Raises `ValueError` for a line longer than a message may be."""
        assert self._stdout is not None
        return await self._stdout.readline()

    async def write(self, line: bytes) -> None:
        """Send a line; raises `OSError` once the server has gone."""
        assert self._stdin is not None
        self._stdin.write(line)
        await self._stdin.drain()

    async def last_words(self) -> str:
        """How the server ended, and what it said last on its standard error, in one line."""
        code = await self._exit_code(GRACE)
        ended = "closed its output" if code is None else f"ended with exit code {code}"
        said = one_line(" / ".join(self._complaint.decode(errors="replace").split("\n")[-4:]).strip(" /"))
        return f"{ended}; its last words: {said}" if said else ended

    async def stop(self) -> None:
        """Close its input, wait a moment, then end it and all that it started."""
        if self._stdin is not None:
            self._stdin.close()
        if await self._exit_code(GRACE) is None:
            _signal_group(self._process.pid, gently=True)
            await self._exit_code(GRACE)
        _signal_group(self._process.pid, gently=False)
        await self._exit_code(GRACE)
        self._listening.cancel()
        # What left the group may hold the pipes open for ever: let go of them.
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()

    async def _exit_code(self, seconds: float) -> int | None:
        """Polled: `wait` would wait for whoever else holds the pipes, too."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL)
        return self._process.returncode

    async def _keep_complaint(self, stderr: asyncio.StreamReader | None) -> None:
        while stderr is not None and (piece := await stderr.read(1 << 16)):
            self._complaint = (self._complaint + piece)[-MAX_COMPLAINT:]


def one_line(text: str, limit: int = 300) -> str:
    """Text of a stranger for an error message: on one line, cut, and without power over a terminal.

    >>> one_line("a\\n\\x1b[2Jb"), one_line("long" * 9, limit=6)
    ('a \\\\x1b[2Jb', 'longl…')
    """
    line = visible(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def _signal_group(pid: int, *, gently: bool) -> None:
    if sys.platform == "win32":
        if not gently:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)
        return
    # The group lives on without its leader, so the leader's end proves nothing.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM if gently else signal.SIGKILL)
