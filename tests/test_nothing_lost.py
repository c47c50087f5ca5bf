"""Kills and full disks, for each kind of file: nothing that was done is lost, and nothing else is let in.

ZOOLAB_KILLS=50 is how often each kind is struck in the runs that SECURITY.md tells of; without it, 3 times.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killed import KINDS

KILLED = Path(__file__).with_name("killed.py")
TIMES = int(os.environ.get("ZOOLAB_KILLS", "3"))
#: Where the random moments begin; the same for everybody.
SEED = 16
QUICK = ",".join(name for name in KINDS if name not in ("weights", "page"))
SWEEPS = [pytest.param(QUICK, id="quick"), pytest.param("all", id="all", marks=pytest.mark.slow)]
posix = pytest.mark.skipif(sys.platform == "win32", reason="no kill -9, no limits of files")


def struck(how: str, folder: Path, which: str, *given: int, within: tuple[str, ...] = ()) -> dict[str, Any]:
    # A person is warned of an audit log that cannot be written; anything else on standard error is a fault.
    python = [sys.executable, "-W", "ignore:the decision cannot be written down"]
    command = [*within, *python, str(KILLED), how, which, *map(str, given), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_800)
    assert (done.returncode, done.stderr) == (0, "")
    counts: dict[str, Any] = json.loads(done.stdout)
    assert {name: (count["lost"], count["let_in"]) for name, count in counts.items()} == {
        name: ([], []) for name in counts
    }
    print(how, sum(count["tried"] for count in counts.values()), counts)
    return counts


@posix
@pytest.mark.parametrize("which", SWEEPS)
def test_a_kill_at_any_moment_loses_nothing_that_was_done(tmp_path: Path, which: str) -> None:
    counts = struck("kill", tmp_path, which, TIMES, SEED)
    assert {count["tried"] for count in counts.values()} == {TIMES}
    assert sum(count["done"] for count in counts.values()) > 2 * len(counts)


@posix
@pytest.mark.parametrize("which", SWEEPS)
def test_a_disk_that_is_full_anywhere_in_a_write_loses_nothing(tmp_path: Path, which: str) -> None:
    counts = struck("full", tmp_path, which, 2 * TIMES)
    assert min(count["tried"] for count in counts.values()) >= TIMES


ON_A_SMALL_DISK = 'mount -t tmpfs -o size=600k tmpfs "${@: -1}" && exec "$@"'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no namespaces, so no disk of one's own")
def test_a_real_small_disk_that_fills_up_loses_nothing(tmp_path: Path) -> None:
    within = ("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", ON_A_SMALL_DISK, "bash")
    if subprocess.run([*within, "true", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("no namespaces, so no disk of one's own")
    counts = struck("disk", tmp_path, QUICK, within=within)
    assert sum(count["tried"] for count in counts.values()) >= 5
