"""The benchmarks run, and what they tell are numbers. How good the numbers are is not tested here."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "bench" / "run.py"
ALL = {
    *("loop", "replay", "validation", "definition", "recording"),
    *("frame", "inspector", "grading", "experiment", "proxy", "imports"),
}


def bench(*arguments):
    """What the benchmarks print."""
    return subprocess.run(
        [sys.executable, str(RUN), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_every_benchmark_has_a_row_with_a_ratio(tmp_path):
    file = tmp_path / "bench.json"
    done = bench("--quick", "--json", file)
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert {row["benchmark"] for row in rows} == ALL
    for row in rows:
        for name in ("ours", "baseline", "ratio"):
            assert math.isfinite(row[name]), row
            assert row[name] > 0, row
        assert row["what"] in done.stdout
        assert row["beside"] in done.stdout


@pytest.mark.slow
def test_some_of_them_as_markdown_have_one_line_each_below_the_head():
    done = bench("--quick", "--markdown", "definition", "validation")
    assert done.returncode == 0, done.stderr
    told, _, table = done.stdout.partition("\n\n")
    assert told.startswith("Python ")
    lines = table.splitlines()
    assert [line.count("|") for line in lines] == [6] * 5
    assert [line.split(":")[0] for line in lines[2:]] == ["| definition", "| validation", "| validation"]


@pytest.mark.slow
def test_frameworks_that_cannot_be_installed_are_named(tmp_path):
    no_folder = tmp_path / "file"
    no_folder.write_text("environments cannot be made here", encoding="utf-8")
    file = tmp_path / "bench.json"
    done = bench("--quick", "definition", "--peers", no_folder, "--json", file)
    assert done.returncode == 0, done.stderr
    told = json.loads(file.read_text(encoding="utf-8"))
    missing = [line.split(":")[0] for line in told["missing"]]
    assert missing == ["openai-agents", "pydantic-ai", "langgraph", "smolagents"]
    assert all(f"not measured: {name}" in done.stdout for name in missing)
    rows = [row for row in told["rows"] if row["benchmark"] == "peers"]
    assert [row["beside"].split(",")[0] for row in rows] == ["by hand", "by hand"]
