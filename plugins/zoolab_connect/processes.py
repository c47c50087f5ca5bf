"""Other programs that are started here, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import NoReturn


def signal_group(pid: int, *, gently: bool = False) -> None:
    """End a process that leads a group, and what it has started: the group lives on without its leader.

    With `gently`, they may tidy up first; Windows has no such way, so nothing happens there.
    """
    if sys.platform == "win32":
        if not gently:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM if gently else signal.SIGKILL)


def wait_for_interrupt() -> NoReturn:
    """Wait until Ctrl-C raises KeyboardInterrupt: on Windows, `time.sleep` hears it and a lock does not."""
    while True:
        time.sleep(3600)
