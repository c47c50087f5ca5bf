"""`zoolab progress` and `progress()`: what the student's saved notebooks show, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import jupytext
import pytest
from exercises import exercises
from shell import Shell

from tools import notebooks
from tools.handout import hand_out
from zoolab import progress
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_course.commands.course import copy_course
from zoolab_course.progress import own_folder, submission_in
from zoolab_grader import lab_names

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
COURSE = [source for source in notebooks.sources(NOTEBOOKS) if source.stem[0].isdigit()]
each_notebook = pytest.mark.parametrize("source", COURSE, ids=lambda source: source.stem)
NAME = "04-selection.ipynb"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def cell(text: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    """A code cell, and what it showed."""
    return {"cell_type": "code", "source": text, "metadata": {}, "outputs": list(outputs)}


def said(text: str) -> dict[str, Any]:
    """What a cell printed, as Jupyter saves it."""
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def prose(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": text.splitlines(keepends=True), "metadata": {}}


FAILED = {"output_type": "error", "ename": "NameError", "evalue": "right", "traceback": []}
RESULT = {"output_type": "execute_result", "data": {"text/plain": "'right'"}, "metadata": {}}


def saved(folder: Path, first: list[dict[str, Any]], second: list[dict[str, Any]]) -> Path:
    """A notebook with two exercises, as a student saved it, with what the cells of each showed."""
    tasks = (
        cell("1", said("right, but this is no exercise\n")),
        prose("# 04 · Choosing\n\n## Your turn\n\n**1. Count.** How many?\n"),
        cell("x = 1", *first),
        prose("**2. Rewrite.** Better.\n"),
        *(cell("y = 1", output) for output in second),
        prose("## What to keep\n\n- All\n"),
        cell("2", said("not yet, but this is none either\n")),
    )
    path = folder / NAME
    path.write_text(json.dumps({"cells": tasks, "metadata": {}, "nbformat": 4}), encoding="utf-8")
    return path


def fourth(folder: Path) -> tuple[int, int, str]:
    [part] = [part for part in progress(folder).notebooks if part.name == "04-selection"]
    return part.right, part.of, part.next


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([], [], (0, 2, "1 not run, 2 not run")),
        ([said("right   | a\nright   | b\n")], [], (1, 2, "2 not run")),
        ([said("right   | a\nnot yet | b\n")], [RESULT], (1, 2, "1 not yet")),
        ([said("a table\n")], [said("right: 8\n"), said("more\n")], (1, 2, "1 not run")),
        ([said("right\n"), FAILED], [FAILED], (0, 2, "1 not yet, 2 not yet")),
        ([said("upright\nrighteous\nall right\n")], [RESULT], (1, 2, "1 not run")),
        ([said("right\n")], [said("right\n"), RESULT], (2, 2, "")),
    ],
    ids=["fresh", "one right", "one line wrong", "two cells", "an error", "other words", "all right"],
)
def test_an_exercise_is_right_if_its_checks_said_so_and_nothing_else(tmp_path, first, second, expected):
    saved(tmp_path, first, second)
    assert fourth(tmp_path) == expected


def contents(folder: Path) -> dict[Path, str]:
    return {p: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_copy_of_the_course_counts_from_zero_and_nothing_is_written(tmp_path: Path):
    copy_course(tmp_path)
    before = contents(tmp_path)
    found = progress(tmp_path)
    assert re.fullmatch(rf"0 of \d\d exercises right, 0 of {len(lab_names())} labs done", found.summary)
    assert len(found.notebooks) == 17
    assert contents(tmp_path) == before


def test_the_files_of_the_student_count_in_a_copy_of_the_course(tmp_path, shell, monkeypatch):
    """They were compared with the package's own files, and so were always untouched."""
    copy_course(tmp_path)
    saved(tmp_path / "notebooks", [said("right\n")], [said("not yet\n")])
    shutil.copy(course_folder("labs") / "l1" / "solution.ipynb", tmp_path / "labs" / "l1" / "l1.ipynb")
    for place in ("", "notebooks", "labs", "labs/l1"):
        monkeypatch.chdir(tmp_path / place)
        assert own_folder() == tmp_path
    ran = shell("progress")
    assert ran.code == 0
    assert re.match(rf"1 of \d\d exercises right, 1 of {len(lab_names())} labs done, in ", ran.out)
    assert "Nothing is stored anywhere else." in ran.out


def test_a_folder_with_handouts_and_one_with_files_count_too(tmp_path, monkeypatch):
    handouts, flat = tmp_path / "handouts", tmp_path / "flat"
    hand_out("l1", handouts)
    flat.mkdir()
    for path in (handouts / "l1" / "l1.ipynb", flat / "l1.ipynb"):
        shutil.copy(course_folder("labs") / "l1" / "solution.ipynb", path)
        monkeypatch.chdir(path.parent)
        [lab] = [part for part in progress().labs if part.name == "l1 The loop"]
        assert (lab.right, lab.next) == (lab.of, "")
    monkeypatch.chdir(handouts / "l1")
    assert own_folder() == handouts


def test_the_checkout_itself_is_found_from_its_folders(monkeypatch):
    for folder in (NOTEBOOKS, course_folder("labs") / "l1", NOTEBOOKS.parent):
        monkeypatch.chdir(folder)
        assert own_folder() == NOTEBOOKS.parent


@pytest.mark.parametrize(
    "damage", [b"", b"[1]", b"{", b"\xff", b'{"cells": [{"cell_type": 3}]}', b"[" * 99_999]
)
def test_a_broken_file_is_one_line_and_costs_nothing_else(tmp_path, shell, damage):
    saved(tmp_path, [RESULT], [RESULT])
    broken, lab = tmp_path / "05-many-tools.ipynb", tmp_path / "l1.ipynb"
    for path in (broken, lab):
        path.write_bytes(damage)
    lines = shell("progress", tmp_path).out.splitlines()
    assert lines[0].startswith("2 of ")
    assert len([line for line in lines if "05-many-tools.ipynb cannot be read as a notebook" in line]) == 1
    assert len([line for line in lines if re.match(r" +0 of \d+ +l1 ", line)]) == 1
    assert broken.read_bytes() == lab.read_bytes() == damage


def test_an_unread_notebook_says_why_and_its_exercises_still_count(tmp_path, shell):
    saved(tmp_path, [RESULT], [RESULT])
    whole = re.search(r"of (\d+)", shell("progress", tmp_path).out)
    (tmp_path / "05-many-tools.ipynb").write_text("<<<<<<< HEAD\n{}\n")
    out = shell("progress", tmp_path).out
    assert re.search(r"of (\d+)", out).group(1) == whole.group(1)
    assert "05-many-tools.ipynb cannot be read as a notebook: line 1 is a mark of git" in out


def test_a_folder_that_is_not_there_is_named(shell):
    ran = shell("progress", "no-such-folder")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    with pytest.raises(InvalidInput, match="no folder"):
        progress("no-such-folder")


@each_notebook
def test_each_exercise_is_checked_in_the_words_that_progress_reads(source: Path):
    for number, cells in exercises(jupytext.read(source).cells).items():
        code = "\n".join(each.source for each in cells if each.cell_type == "code")
        assert re.search(r"""["']right\b""", code), number
        assert re.search(r"""["']not yet\b""", code), number


def test_a_notebook_goes_before_a_script_and_a_folder_of_its_own_is_found(tmp_path: Path):
    inner = tmp_path / "l3"
    inner.mkdir()
    for place in (inner / "l3.ipynb", tmp_path / "l3.py", tmp_path / "l3.ipynb"):
        place.touch()
        assert submission_in(tmp_path, "l3") == place


def test_what_students_are_given_is_not_played_and_what_they_began_is(tmp_path: Path):
    notebook = tmp_path / "l1.ipynb"
    shutil.copy(course_folder("labs") / "l1" / "l1.ipynb", notebook)
    given = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in given["cells"] if cell["cell_type"] == "code"]

    def lab():
        notebook.write_text(json.dumps(given), encoding="utf-8")
        [found] = [part for part in progress(tmp_path).labs if part.name.startswith("l1 ")]
        return found

    for cell in code:
        cell["outputs"], cell["execution_count"] = [{"output_type": "stream", "text": "1"}], 7
    assert (lab().right, lab().next) == (0, "Open l1.ipynb, write your code, and save it.")
    code[0]["source"] += "\nx = 1"
    assert lab().right == 0
    assert not lab().next.startswith("Open")
