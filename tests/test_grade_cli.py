"""`zoolab grade`: exit codes, lines that no submission can forge, and the options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shell import HOSTILE, Shell, command
from sums import HALF, RIGHT, WRONG, journal, make_class, make_lab


@pytest.fixture
def shell(capsys):
    return Shell(capsys)


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return make_lab(tmp_path / "sums")


def test_a_class_in_one_command(shell, tmp_path, lab):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT, "bob.py": HALF, "carl.py": WRONG})
    ran = shell("grade", lab, folder, "--jobs", "1", "--csv", tmp_path / "g.csv", "--report", tmp_path / "r")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "1/3  anna.py  3 of 3",
        "2/3  bob.py  1 of 3  not adds_negatives",
        "3/3  carl.py  0 of 3  the sum of two numbers was another number",
        "sums: 3 submissions",
        "mean 1.33, median 1, of 3 points",
        "most often failed: adds_negatives (2), adds (1)",
        f"report: {tmp_path / 'r' / 'index.html'}",
    ]
    assert (tmp_path / "g.csv").read_text() == (tmp_path / "r" / "grades.csv").read_text()


def test_a_submission_that_cannot_be_read_falls_short(shell, tmp_path, lab):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    (folder / "cut.ipynb").write_text("{")
    make_class(folder, {"other.py": "def subtract(a, b):\n    raise SystemExit", "bob.zip": ""})
    ran = shell("grade", lab, folder, "--jobs", "1")
    assert ran.code == 1
    assert "cut.ipynb  0 of 3  cut.ipynb cannot be read as a notebook" in ran.out
    assert "other.py  0 of 3  there is no `add` in the submission" in ran.out
    assert "could not be read, and have no points: cut.ipynb" in ran.out
    assert "passed over: bob.zip: it is an archive: unpack it first" in ran.out


@pytest.mark.slow
def test_what_was_graded_is_not_graded_again_unless_it_is_asked_for(shell, tmp_path, lab):
    folder, report = make_class(tmp_path / "class", {"anna.py": RIGHT}), tmp_path / "r"
    asked = "grade", lab, folder, "--jobs", "1", "--report", report
    shell(*asked)
    assert "sums: 1 submission, 1 of them graded before" in shell(*asked, "--report", report).out
    assert journal(report) == ["anna.py"]
    assert "sums: 1 submission\n" in shell(*asked, "--again").out
    assert journal(report) == ["anna.py"] * 2


def test_no_name_commands_the_terminal(shell, tmp_path, lab):
    name = f"{HOSTILE}[red]\n99/99 ok.py"
    folder = make_class(tmp_path / "class", {name: HALF, f".{name}": HALF})
    (folder / f"{HOSTILE}.ipynb").write_text("{")
    ran = shell("grade", lab, folder, "--jobs", "1")
    assert all(line.isprintable() for line in ran.out.splitlines())
    assert not [line for line in ran.out.splitlines() if line.startswith("99/99")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_on_a_terminal_a_bar_moves_and_what_went_wrong_is_said(tmp_path, lab):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    (folder / f"{HOSTILE}[red].ipynb").write_text("{")
    ours, theirs = os.openpty()
    process = subprocess.Popen(**command("grade", lab, folder, "--jobs", "1", COLUMNS="80"), stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # what Linux says when the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait() == 1
    text = shown.decode()
    assert "2/2" in text
    assert "[red]" in text
    assert "could not be read" in text
    assert "mean 1.5" in text
    assert "\x1b]0;owned" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["nowhere"], "nowhere does not exist"),
        ([], "no submission was found"),
        (["--csv", "no-such-folder/g.csv"], "there is no folder for no-such-folder/g.csv"),
        (["--jobs", "0"], "the number of workers is 0; expected at least 1"),
        (["--dask", "nowhere://x"], "no dask scheduler answers at nowhere://x"),
    ],
)
def test_what_cannot_run_is_one_line(shell, tmp_path, lab, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT} if more else {})
    folder.mkdir(exist_ok=True)
    ran = shell("grade", lab, folder, *more)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_unknown_lab_cannot_run(shell, tmp_path):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    ran = shell("grade", "l99", folder)
    assert ran.code == 2
    assert "there is no lab 'l99'" in ran.err


def test_without_a_seed_a_random_one_is_drawn_and_kept_for_its_owner(shell, tmp_path, lab, monkeypatch):
    monkeypatch.delenv("ZOOLAB_SEED", raising=False)
    folder, reports = make_class(tmp_path / "class", {"anna.py": RIGHT}), [tmp_path / "r", tmp_path / "s"]
    for report in (*reports, reports[0]):
        ran = shell("grade", lab, folder, "--jobs", "1", "--report", report)
    assert "1 of them graded before" in ran.out
    seeds = {(report / "seed").read_text() for report in reports}
    assert len(seeds) == 2
    assert {(report / "seed").stat().st_mode & 0o777 for report in reports} == {0o600}
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "seed"]
    texts = [path.read_text(errors="replace") for path in files]
    assert not [seed for seed in seeds for text in texts if seed in text]


def test_a_seed_comes_from_a_file_or_the_environment(shell, tmp_path, lab, monkeypatch):
    folder, report, file = make_class(tmp_path / "class", {"anna.py": RIGHT}), tmp_path / "r", tmp_path / "f"
    asked = "grade", lab, folder, "--jobs", "1", "--report", report
    file.write_text("the-seed\n")
    assert "graded before" not in shell(*asked, "--seed-file", file).out
    monkeypatch.setenv("ZOOLAB_SEED", "the-seed")
    assert "1 of them graded before" in shell(*asked).out
    assert "graded before" not in shell(*asked, "--seed", "another").out
    monkeypatch.delenv("ZOOLAB_SEED")
    ran = shell(*asked)  # forgotten: another seed would change grades that students know
    assert (ran.code, ran.out) == (2, "")
    assert "does not have the seed of its grades; give it as you did before" in ran.err
    assert not (report / "seed").exists()
    file.write_text("\n")
    ran = shell(*asked, "--seed-file", file)
    assert (ran.code, ran.err) == (2, f"zoolab: {file} is empty; expected a seed in it\n")
    ran = shell(*asked, "--seed-file", file, "--seed", "another")
    assert (ran.code, ran.err) == (2, "zoolab: --seed and --seed-file are both given; give one of them\n")


@pytest.mark.parametrize("name", ["json", "typing", "re", "argparse", "multiprocessing", "socket", "numpy"])
def test_nothing_is_imported_from_the_folder_of_the_submissions(tmp_path, lab, name):
    folder, marker = make_class(tmp_path / "class", {"anna.py": RIGHT}), tmp_path / "imported"
    (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\nraise SystemExit(9)\n")
    asked = command("grade", lab, "anna.py", "--jobs", "2", PYTHONPATH=str(Path(__file__).parents[1]))
    ran = subprocess.run(**{**asked, "cwd": folder}, capture_output=True, text=True, timeout=60, check=False)
    assert not marker.exists(), ran.stderr
    assert "1/1  anna.py  3 of 3" in ran.stdout, ran.stderr
