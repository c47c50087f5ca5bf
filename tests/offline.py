"""Notebooks run in this process, on a machine that is on no network: python tests/offline.py NOTEBOOK...

Each runs in its own folder. A line a notebook says how long it took; a lab's solution must have full marks.
`offline_kernel.py` is a kernel on such a machine.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

#: An address that is kept for documentation: nobody answers there, but only without a route is that an error.
NOWHERE = ("192.0.2.1", 80)


def has_a_route() -> bool:
    """Whether a packet could leave this machine; none is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(NOWHERE)
        except OSError:
            return False
    return True


def may_unshare() -> bool:
    """Whether a process of ours may leave the network."""
    unshare = shutil.which("unshare")
    return bool(unshare) and subprocess.run([unshare, "-rn", "true"], capture_output=True).returncode == 0


def bare_environment(home: Path) -> dict[str, str]:
    """A machine that nobody has set up. If there is a network, a proxy that does not exist is in the way."""
    needed = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG", "VIRTUAL_ENV", "PYTHONPATH")
    kept = {name: os.environ[name] for name in needed if name in os.environ}
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    return {**kept, **proxies, "HOME": str(home), "USERPROFILE": str(home)}


def start_loopback() -> None:
    """Give a machine without a network its own address 127.0.0.1, as every machine has it."""
    import fcntl  # there is none on Windows

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sh", b"lo", 0x41)  # IFF_UP and IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS


def extra_modules() -> list[str]:
    """What extras install and `python3 start.py` alone does not: readers of the course have none of it."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {**project["optional-dependencies"], "dev": [], "always": project["dependencies"]}
    named = {group: {re.split(r"[^\w-]", each)[0] for each in needs} for group, needs in groups.items()}
    readers = named["always"].union(*(named[group] for group in ("course", "notebook", "mcp")))
    extra = set().union(*named.values()) - readers
    return [module for module, owners in packages_distributions().items() if set(owners) <= extra]


class Shell(InteractiveShell):
    """IPython's shell without a screen: `%matplotlib` has no event loop to start."""

    def enable_gui(self, gui: str | None = None) -> None: ...


def run_in_process(source: Path) -> Any:
    """Run the cells in one IPython shell without a kernel; what the last one gave."""
    import jupytext  # a kernel has no use for it

    Shell.clear_instance()
    shell = Shell.instance(config=Config(HistoryManager={"enabled": False}))
    try:
        for cell in jupytext.read(source).cells:
            if cell.cell_type != "code":
                continue
            done = shell.run_cell(cell.source, store_history=True)
            meant_to_raise = "raises-exception" in cell.metadata.get("tags", [])
            if done.success and meant_to_raise:
                sys.exit(f"this cell was meant to raise:\n{cell.source}")
            if not done.success and not meant_to_raise:
                raise done.error_before_exec or done.error_in_exec
        return done.result
    finally:
        shell.reset()
        Shell.clear_instance()


def seconds_for(notebook: Path) -> float:
    """Run one, and say how long it took."""
    os.chdir(notebook.parent)
    started = time.monotonic()
    result = run_in_process(notebook)
    if missed := getattr(result, "failed", ()):
        sys.exit(f"{notebook}: {[case.name for case in missed]}")
    return time.monotonic() - started


def main(notebooks: list[Path]) -> None:
    """Run them all; the last line says whether there was a way out."""
    if not has_a_route() and sys.platform == "linux":
        start_loopback()
    sys.modules.update(dict.fromkeys(extra_modules()))  # None in the place of a module: importing it fails
    for notebook in notebooks:
        print(f"ran {notebook.parent.name}/{notebook.name} in {seconds_for(notebook):.1f} s", file=sys.stderr)
    print("a route" if has_a_route() else "no route", file=sys.stderr)


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
