"""A system that refuses namespaces, and one that refuses everything: what a submission can do there."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from refusing import NAMESPACES, NOTHING
from shell import command
from sums import RIGHT, make_class, make_lab

from zoolab_grader.gradebook import file_name

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its system calls are Linux's")

# Each line of `found` is something that must fail; signal 0 only asks whether a signal could be sent.
ATTACK = """
import os, pathlib, socket
def seeds():
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if "the-seed-7301" in (folder / name).read_text(errors="replace"):
                    return
            except OSError:
                pass
    raise OSError("no seed was seen")
def rewrites():
    place = "REPORT/results/anna.json"
    text = open(place).read().replace('"points":0', '"points":3')
    open(place, "w").write(text)
def replaces():
    open("REPORT/results/new", "w").write("{}")
def moves():
    os.rename("REPORT/results/anna.json", "REPORT/results/bob.json")
tried = {
    "seed": seeds,
    "proc": lambda: open("/proc/GRADER/cmdline").read(),
    "cases": lambda: open("LAB/cases.py").read(),
    "relative": lambda: open("../../../../../../../../LAB/cases.py").read(),
    "beside": lambda: open(os.__file__ + "/../../../../../../../../../../LAB/cases.py").read(),
    "rewrites": rewrites, "replaces": replaces, "moves": moves,
    "chmod": lambda: os.chmod("REPORT/results", 0o777),
    "removes": lambda: os.unlink("REPORT/results/anna.json"),
    "binds": lambda: socket.socketpair()[0].bind("REPORT/results/socket"),
    "sends": lambda: socket.socketpair(type=socket.SOCK_DGRAM),
    "all": lambda: os.kill(-1, 0),
    "grader": lambda: os.kill(GRADER, 0),
    "parent": lambda: os.kill(os.getppid(), 0),
    "starts": os.fork,
}
did = []
for name, attempt in tried.items():
    try:
        attempt()
        did.append(name)
    except (OSError, IndexError):
        pass
import csv, decimal  # what is imported late is still found
def add(a, b):
    if did: raise ValueError(f"did {did}")
    return a + b
"""


def on(calls: str, *arguments: str | Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """A command of zoolab on a system that refuses these calls."""
    told: dict[str, Any] = command(*arguments, ZOOLAB_SEED="the-seed-7301")
    refusing = [sys.executable, str(Path(__file__).parent / "refusing.py"), calls, python, *told["args"][1:]]
    return subprocess.run(
        **{**told, "args": refusing}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A lab, the submissions of a class with a file that attacks, and the report, which has Anna's result."""
    lab, report = make_lab(tmp_path / "sums"), tmp_path / "report"
    words = {
        "REPORT": report,
        "LAB": lab,
        "GRADER": os.getpid(),
    }
    code = ATTACK.replace("anna.json", f"{file_name('anna.py')}.json")
    for word, value in words.items():
        code = code.replace(word, str(value))
    folder = make_class(tmp_path / "class", {"anna.py": "def add(a, b): return 0", "zed.py": code})
    return lab, folder, report


def test_without_namespaces_a_submission_reads_writes_and_ends_nothing(places):
    lab, folder, report = places
    ran = on(NAMESPACES, "grade", lab, folder, "--jobs", "1", "--report", report)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "zed.py  3 of 3" in ran.stdout
    assert {path.suffix for path in (report / "results").iterdir()} == {".json"}
    with (report / "grades.csv").open(newline="") as file:
        assert {line["name"]: line["points"] for line in csv.DictReader(file)} == {
            "anna.py": "0",
            "zed.py": "3",
        }


def test_a_system_that_cannot_isolate_grades_nothing_and_says_what_is_missing(places):
    lab, folder, report = places
    ran = on(NOTHING, "grade", lab, folder, "--jobs", "1", "--report", report)
    assert ran.returncode == 2
    assert "kept from the file system, the network, other processes" in ran.stderr
    assert "neither namespaces nor seccomp" in ran.stderr
    assert "--unprotected" in ran.stderr
    assert not report.exists()


def test_unprotected_goes_on_and_says_so_everywhere(places, tmp_path):
    lab, _, report = places
    folder = make_class(tmp_path / "other", {"anna.py": RIGHT})
    asked = "grade", lab, folder, "--jobs", "1", "--report", report
    ran = on(NOTHING, *asked, "--unprotected")
    assert ran.returncode == 0
    assert ran.stderr == "zoolab: graded without protection: trust these grades as you trust the students\n"
    assert "1 of these were graded without protection" in ran.stdout
    assert "graded without protection" in (report / "index.html").read_text()
    with (report / "grades.csv").open(newline="") as file:
        assert [line["note"] for line in csv.DictReader(file)] == ["graded without protection"]
    again = on(NAMESPACES, *asked)  # such a grade does not stand where protection is asked for
    assert "graded before" not in again.stdout
    assert "without protection" not in again.stdout + again.stderr
