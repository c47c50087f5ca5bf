"""The pytest plugin, in a real run of pytest on a file of tests."""

import subprocess
import sys
from pathlib import Path

TESTS = """
from zoolab import Scripted, run

def test_wrong(zoolab_trace):
    trace = zoolab_trace(run("Hi", [], Scripted(["Hello, key sk-ant-REDACTED"])))
    assert trace.answer == "Bye"

def test_right(zoolab_trace):
    assert zoolab_trace(run("Hi", [], Scripted(["Hello"]))).answer == "Hello"
"""


def test_the_story_of_a_failing_test_is_kept(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text(
        TESTS.replace("REDACTED", "api03-" + "A1b2" * 20), encoding="utf-8"
    )
    options = [
        "-p",
        "zoolab",
        "--basetemp",
        "kept",
        "-q",
        "-c",
        "none.ini",
        "--rootdir",
        ".",
    ]
    (tmp_path / "none.ini").touch()
    command = [sys.executable, "-m", "pytest", *options, "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    [page] = (tmp_path / "kept").glob("stories0/*.html")
    assert f"the story of the walk: {page}" in done.stdout
    assert "test_wrong" in page.name
    assert "Hello, key" in page.read_text("utf-8")
    assert "A1b2A1b2" not in page.read_text("utf-8")
