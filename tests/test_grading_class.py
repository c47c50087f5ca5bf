"""A class is graded: every submission once, whatever dies in between, on whatever executes it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import command
from sums import CASES, HALF, POINTS, RIGHT, WRONG, journal, make_class, make_lab, notebook
from waiting import wait_until

from zoolab.errors import InvalidInput, LockHeld
from zoolab_grader.classes import grade_all, grade_class, grade_task
from zoolab_grader.gradebook import GradeTerms, NotGraded, Store, file_name
from zoolab_grader.labs import folder_of, lab_version
from zoolab_grader.report import class_page, write_report
from zoolab_grader.submissions import Handed, find_submissions, hand_in
from zoolab_study.jobs import Workers, dask_executor

CODES = (RIGHT, HALF, WRONG)


def mixed(count: int) -> dict[str, str]:
    """So many submissions, every third of them right."""
    return {f"s{number:03}.py": CODES[number % 3] for number in range(count)}


def expected(count: int) -> list[float]:
    return [POINTS[CODES[number % 3]] for number in range(count)]


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return make_lab(tmp_path / "sums")


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


# What is a submission


def names_at(*places: Path) -> list[str]:
    return list(find_submissions(places)[0])


def test_a_submission_is_called_by_its_path_within_the_folder(tmp_path):
    folder = make_class(tmp_path / "class", {"anna/l1.ipynb": "", "bob/l1.ipynb": "", "carla.py": ""})
    (folder / "anna" / "notes.txt").write_text("no submission")
    assert names_at(folder) == ["anna/l1.ipynb", "bob/l1.ipynb", "carla.py"]
    assert names_at(folder / "anna" / "l1.ipynb") == ["l1.ipynb"]


def test_no_two_submissions_have_the_same_name_and_none_comes_twice(tmp_path):
    for group in ("blue", "red"):
        make_class(tmp_path / group, {"anna/l1.py": group})
    places = tmp_path / "blue", tmp_path / "red", tmp_path / "red" / "anna" / "l1.py"
    assert names_at(*places) == ["blue/anna/l1.py", "red/anna/l1.py"]


def test_what_came_with_the_handout_or_was_installed_is_nobodys_work(tmp_path):
    given = "from zoolab_grader import Lab, case\n\nLAB = Lab('sums', 'Sums', functions=('add',))\n"
    own = {"anna/l1/l1.ipynb": RIGHT, "bob/cases.py": RIGHT, "carl/l1.py": RIGHT, "carl/pyvenv.cfg": ""}
    others = {
        "anna/l1/cases.py": given,
        "anna/.keep": "",
        "anna/env/pyvenv.cfg": "",
        "anna/env/bin/activate_this.py": "x = 1",
        "bob/__init__.py": "\n",
        "bob/node_modules/gyp.py": "x = 1",
        "carl/lib/site-packages/pip.py": "x = 1",
    }
    folder = make_class(tmp_path / "class", {**own, **others})
    submissions, skipped = find_submissions([folder])
    assert list(submissions) == ["anna/l1/l1.ipynb", "bob/cases.py", "carl/l1.py"]
    told = dict(skipped)
    assert told["anna/l1/cases.py"] == "it came with the lab"
    assert told["anna/env"] == "it is a virtual environment"
    assert told["bob/__init__.py"] == "it is empty"
    packages = "it is a folder of installed packages"
    assert (told["bob/node_modules"], told["carl/lib/site-packages"]) == (packages, packages)


@pytest.mark.slow
def test_what_defines_nothing_of_the_lab_is_noted(tmp_path, lab):
    codes = {
        "a.py": WRONG,
        "b.py": "def sub(a, b):\n    return add(a, b)\n",
        "c.ipynb": "if True:\n    add = 1",
    }
    rows = grade_class(lab, make_class(tmp_path / "class", codes), jobs=1).rows
    assert [row.beside for row in rows] == [False, True, False]


def test_hidden_files_checkpoints_and_links_are_passed_over_and_named(tmp_path):
    folder = make_class(
        tmp_path / "class",
        {"anna.py": "", ".secret.py": "", ".ipynb_checkpoints/anna.ipynb": "", "x/y.py": ""},
    )
    outside = make_class(tmp_path / "outside", {"bob.py": ""})
    (folder / "bob.py").symlink_to(outside / "bob.py")
    (folder / "all").symlink_to(outside)
    (folder / "x" / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.py")
    submissions, skipped = find_submissions([folder])
    assert list(submissions) == ["anna.py", "x/y.py"]
    assert dict(skipped) == {
        ".ipynb_checkpoints": "it is a checkpoint",
        ".secret.py": "it is hidden",
        "all": "it is a link",
        "bob.py": "it is a link",
        "pipe.py": "it is not a file",
        "x/loop": "it is a link",
    }


def test_what_might_be_somebody_s_work_is_named_where_it_cannot_be_graded(tmp_path):
    folder = make_class(
        tmp_path / "class", {"anna.py": "", "l3_bob.zip": "", "carla/l1.ipynb.txt": "", "dora/.DS_Store": ""}
    )
    archive, other = "it is an archive: unpack it first", "it is neither a notebook (.ipynb) nor a .py file"
    assert find_submissions([folder])[1] == (("carla/l1.ipynb.txt", other), ("l3_bob.zip", archive))
    with pytest.raises(InvalidInput, match="unpack it first"):
        find_submissions([folder / "l3_bob.zip"])
    (folder / "anna.py").unlink()
    with pytest.raises(InvalidInput, match=r"l3_bob\.zip: it is an archive"):
        grade_class("l1", folder)


@pytest.mark.parametrize("place", ["nowhere", "notes.txt"])
def test_a_place_without_a_submission_is_refused(tmp_path, place):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InvalidInput, match=place):
        find_submissions([tmp_path / place])


def test_names_that_cannot_be_shown_are_made_visible_and_stay_different(tmp_path):
    odd = ["a\x1b[2J.py", "a\\x1b[2J.py", os.fsdecode(b"a\xff.py"), "a\\udcff.py", "a\nb.py"]
    for name in odd:
        (tmp_path / name).write_text("")
    names = names_at(tmp_path)
    assert len(set(names)) == len(odd)
    assert all(name.isprintable() and name.encode() for name in names)


@given(st.text(min_size=1), st.text(min_size=1))
def test_file_names_are_safe_everywhere_and_one_submission_s_only(one, other):
    name = file_name(one)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(name) <= 60
    assert not name.startswith("-")
    assert (name == file_name(other)) == (one == other)


def test_no_more_of_a_submission_is_read_than_is_graded(tmp_path):
    huge = tmp_path / "huge.py"
    with huge.open("wb") as file:
        file.truncate(200_000_000)
    handed = hand_in(huge.name, huge)
    assert len(handed.data) == 20_000_001


def test_a_cell_without_a_source_is_an_empty_one(tmp_path):
    cells = [{"cell_type": "code", "source": None}, {"cell_type": "code", "source": ["a = 1\n", "b = 2"]}]
    (tmp_path / "odd.ipynb").write_text(json.dumps({"cells": cells}))
    assert hand_in("odd.ipynb", tmp_path / "odd.ipynb").cells() == ["a = 1\nb = 2"]


# What a class gets


def test_each_submission_gets_its_points(tmp_path, lab, executor):
    folder = make_class(tmp_path / "class", {**mixed(6), "carla/l.ipynb": RIGHT, "empty.ipynb": ""})
    grades = grade_class(lab, [folder], executor=executor)
    assert [row.name for row in grades.rows] == ["carla/l.ipynb", "empty.ipynb", *mixed(6)]
    assert [row.points for row in grades.rows] == [3, 0, *expected(6)]
    assert grades.passed() == {"adds": 5, "adds_negatives": 3}
    assert grades.mean == pytest.approx(11 / 8)
    assert grades.median == 1
    happened = grades.grade_of("s001.py").grade.cases[1].happened
    assert happened == "the sum of two numbers was another number"


def test_the_same_work_gets_the_same_values_whatever_its_name_and_other_work_gets_others(
    tmp_path, lab, executor
):
    tells = "def add(a, b):\n    raise ValueError(f'{a} {b}')\n"
    codes = {"anna/l.py": tells, "bob/l (1).ipynb": tells, "carl.py": f"# Mine.\n{tells}"}
    grades = grade_class(lab, [make_class(tmp_path / "class", codes)], executor=executor)
    anna, bob, carl = (grades.grade_of(name).grade.cases[0].happened.partition("(")[0] for name in codes)
    assert anna == bob != carl
    assert [[row.name for row in rows] for rows in grades.same()] == [["anna/l.py", "bob/l (1).ipynb"]]
    copies = class_page(grades).partition("The same code to the letter")[2].partition("</ul>")[0]
    assert copies.count("<a ") == 2


@pytest.mark.parametrize("meant_for", ["l1", "l4", "l8", "l11"])
def test_work_that_is_meant_for_another_lab_is_said(executor, meant_for):
    grades = grade_class("l3", [folder_of(meant_for) / "solution.ipynb"], executor=executor)
    grade = grades.grade_of("solution.ipynb").grade
    assert grade.points == 0
    assert f"it has what {meant_for} asks for: `zoolab grade {meant_for}` grades it" in grade.nothing


def test_work_with_a_function_of_this_lab_is_meant_for_it(tmp_path, executor):
    code = "def run_loop(): ...\ndef validate(): ..."
    grades = grade_class("l5", [make_class(tmp_path / "class", {"a.py": code})], executor=executor)
    assert not any("asks for" in note for note in grades.grade_of("a.py").grade.notes)


def test_what_cannot_be_read_has_no_points_and_is_said(tmp_path, lab, executor):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    (folder / "cut.ipynb").write_text(notebook(RIGHT)[:-5])
    (folder / "latin.py").write_bytes("x = 'é'".encode("latin-1"))
    (folder / "deep.ipynb").write_text("[" * 100_000)
    grades = grade_class(lab, [folder], executor=executor)
    assert [(row.name, row.points) for row in grades.rows if not row.unreadable] == [("anna.py", 3)]
    assert len(grades.rows) == 4
    assert grades.grade_of("latin.py").grade.notes[0].endswith("expected a notebook or a .py file")


def test_a_lab_that_cannot_start_here_gives_nobody_zero(tmp_path, executor):
    broken = make_lab(tmp_path / "sums", CASES.replace("seconds=", 'uses=("no_such_module_here",), seconds='))
    grades = grade_class(broken, [make_class(tmp_path / "class", mixed(1))], executor=executor)
    assert grades.rows == ()
    assert [each.name for each in grades.failed] == ["s000.py"]


def test_another_version_of_the_lab_grades_nobody(lab):
    found = grade_task(GradeTerms(str(lab), "another", "seed"), Handed("a.py", ".py", RIGHT.encode()))
    assert isinstance(found, NotGraded)
    assert "another version" in found.why


def test_a_folder_that_describes_no_lab_is_refused(tmp_path, executor):
    folder = make_class(tmp_path / "class", {"anna.py": RIGHT})
    with pytest.raises(InvalidInput, match="does not describe a lab: ZeroDivisionError"):
        grade_class(make_lab(tmp_path / "odd", "1 / 0"), [folder], executor=executor)
    with pytest.raises(InvalidInput, match="there is no lab"):
        grade_class("no-such-lab", [folder], executor=executor)


# What is kept


def test_nothing_is_graded_again_unless_something_is_new(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", mixed(3)), tmp_path / "report"

    def graded(**settings: object) -> int:
        before = len(journal(report)) if report.exists() else 0
        grades = grade_class(lab, [folder], report, executor=executor, **settings)  # type: ignore[arg-type]
        assert [row.points for row in grades.rows][:3] == expected(3)[: len(grades.rows)]
        return len(journal(report)) - before

    assert graded() == 3
    assert graded() == 0
    make_class(folder, {"s003.py": HALF})
    assert graded() == 1
    make_class(folder, {"s003.py": RIGHT})
    assert graded() == 1
    assert graded(again=True) == 4
    assert graded(seed="another") == 4
    make_lab(lab, CASES.replace("below 0", "less than 0"))
    assert graded(seed="another") == 4


def test_a_result_that_was_damaged_is_graded_again(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", mixed(3)), tmp_path / "report"
    grade_class(lab, [folder], report, executor=executor)
    results = sorted((report / "results").iterdir())
    results[0].write_text(results[0].read_text()[:-10])
    results[1].write_text(json.dumps({**json.loads(results[1].read_text()), "cases": [{"name": 1}]}))
    results[2].write_text(results[0].read_text())
    grades = grade_class(lab, [folder], report, executor=executor)
    assert [row.points for row in grades.rows] == expected(3)
    assert grades.before == 0


def test_a_result_that_somebody_changed_is_graded_again_even_if_the_journal_agrees(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", {"anna.py": WRONG}), tmp_path / "report"

    def graded() -> float:
        return grade_class(lab, [folder], report, executor=executor).rows[0].points

    assert graded() == 0
    result = next((report / "results").iterdir())
    signed = result.read_text()
    for before, after in (('"points":0,', '"points":3,'), ('":"anna.py"', '":"bob.py"')):
        for path in (result, report / "journal.jsonl"):
            path.write_text(path.read_text().replace(before, after))
        assert graded() == 0
    assert result.read_text() == signed
    result.write_text(signed.partition(',"signature"')[0] + "}")
    assert graded() == 0
    assert len(journal(report)) == 4


def test_results_are_stored_as_they_finish(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", mixed(4)), tmp_path / "report"
    stored: list[int] = []

    def watch(_result: object, _done: int, _total: int) -> None:
        stored.append(len(list((report / "results").glob("*.json"))))

    grade_class(lab, [folder], report, executor=executor, watch=watch)
    assert stored == [1, 2, 3, 4]


def test_the_book_has_all_of_the_folder_under_the_same_terms(tmp_path, lab, executor):
    report = tmp_path / "report"
    grade_class(lab, [make_class(tmp_path / "one", {"a.py": RIGHT})], report, executor=executor)
    grade_class(lab, [make_class(tmp_path / "x", {"c.py": RIGHT})], report, executor=executor, seed="x")
    grades = grade_class(lab, [make_class(tmp_path / "two", {"b.py": HALF})], report, executor=executor)
    assert [row.name for row in grades.rows] == ["a.py", "b.py"]
    assert (grades.left, grades.given) == (1, {"b.py"})


def test_a_grade_of_an_earlier_version_does_not_stand_for_what_could_not_be_graded(tmp_path, lab):
    report, folder = tmp_path / "report", make_class(tmp_path / "class", {"a.py": RIGHT, "b.py": RIGHT})
    with ThreadPoolExecutor(1) as executor:
        grade_class(lab, [folder], report, executor=executor)
    make_class(folder, {"a.py": HALF})
    grades = grade_class(lab, [folder], report, executor=Fails())
    assert [row.name for row in grades.rows] == ["b.py"]
    assert grades.failed == (NotGraded("a.py", "the worker was lost: OSError: no such worker"),)


class Fails(Executor):
    """An executor whose worker is not to be reached."""

    def submit(self, _function, /, *_args, **_kwargs):
        future: Future[object] = Future()
        future.set_exception(OSError("no such worker"))
        return future


def test_a_folder_keeps_the_grades_of_one_lab(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", mixed(1)), tmp_path / "report"
    grade_class(lab, [folder], report, executor=executor)
    other = make_lab(tmp_path / "other", CASES.replace('"sums"', '"other"'))
    with pytest.raises(InvalidInput, match="has the grades of sums; choose another folder for other"):
        grade_class(other, [folder], report, executor=executor)


def test_one_grader_works_on_a_folder_at_a_time(tmp_path, lab, executor):
    folder, report = make_class(tmp_path / "class", mixed(1)), tmp_path / "report"
    with (
        Store(report, b"").locked(),
        pytest.raises(LockHeld, match=r"another grader is working on .*report; wait"),
    ):
        grade_class(lab, [folder], report, executor=executor)
    assert len(grade_class(lab, [folder], report, executor=executor).rows) == 1


# On whatever executes it


def test_few_submissions_are_in_memory_at_a_time(lab, executor):
    out = most = 0

    def handed() -> Iterator[Handed]:
        nonlocal out, most
        for number in range(12):
            out += 1
            most = max(most, out)
            yield Handed(f"{number}.py", ".py", RIGHT.encode())

    terms = GradeTerms(str(lab), lab_version(str(lab)), "seed")
    workers = Workers(executor)
    for _ in grade_all(workers, terms, handed()):
        out -= 1
    assert (out, most) == (0, workers.window)


@pytest.mark.slow
def test_a_pool_of_the_caller_s_that_breaks_is_replaced_by_another_like_it(tmp_path, lab):
    ends = make_lab(lab, CASES.replace("    _adds", "    __import__('os')._exit(9)\n    _adds"))
    folder = make_class(tmp_path / "class", mixed(2))
    with ProcessPoolExecutor(1, get_context("spawn")) as broken:
        grades = grade_class(ends, [folder], executor=broken)
    assert [failed.why for failed in grades.failed] == [
        "the grader's own process ended 3 times while grading it"
    ] * 2


def test_a_broken_executor_that_only_the_caller_can_replace_is_an_error(tmp_path, lab):
    folder = make_class(tmp_path / "class", mixed(2))
    with pytest.raises(InvalidInput, match="the executor is broken; pass a new one; finished work is kept"):
        grade_class(lab, [folder], executor=Breaks())


class Breaks(Executor):
    """An executor that is broken for good."""

    def submit(self, _function, /, *_args, **_kwargs):
        raise BrokenExecutor("out of order")


@pytest.mark.slow
def test_a_script_that_would_start_itself_again_is_told_so(tmp_path, lab):
    folder, script = make_class(tmp_path / "class", mixed(2)), tmp_path / "script.py"
    script.write_text(
        f"from zoolab_grader.classes import grade_class\ngrade_class({str(lab)!r}, {str(folder)!r}, jobs=1)"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    said = ran.stderr.splitlines()[-1]
    assert said.startswith(
        "zoolab.errors.InvalidInput: the worker processes ended before they did any work; in a script,"
    )


@pytest.mark.slow
def test_a_class_is_graded_the_same_however_many_jobs_there_are(tmp_path, lab):
    folder = make_class(tmp_path / "class", mixed(7))
    paths = sorted(folder.iterdir())

    def graded(name: str, jobs: int, order: list[Path]) -> list[str]:
        report = tmp_path / name
        write_report(grade_class(lab, order, report, jobs=jobs, seed="one"))
        files = [report / "grades.csv", report / "grades.json", *sorted((report / "students").iterdir())]
        return [path.read_text() for path in files]

    assert graded("a", 1, paths) == graded("b", 2, paths[::-1]) == graded("c", 2, [*paths[3:], *paths[:3]])


@pytest.mark.slow
def test_workers_that_are_killed_lose_nothing_and_nothing_is_graded_twice(tmp_path, lab):
    folder, report = make_class(tmp_path / "class", mixed(24)), tmp_path / "report"
    killed = []

    def watch(_result: object, done: int, _total: int) -> None:
        if done in (3, 11, 12):
            workers = [each for each in psutil.Process().children() if "spawn_main" in command_of(each)]
            for worker in workers[-1:]:  # after the first of two kills in a row, none may be there
                worker.kill()
                killed.append(done)

    grades = grade_class(lab, [folder], report, jobs=2, watch=watch)
    assert len(killed) >= 2
    assert [row.points for row in grades.rows] == expected(24)
    assert grades.failed == ()
    assert sorted(journal(report)) == sorted(mixed(24))


@pytest.mark.slow
def test_a_submission_that_ends_the_grader_s_own_process_costs_only_itself(tmp_path, lab):
    ends = make_lab(lab, CASES.replace("    _adds", "    fall(student)\n    _adds") + FALL)
    folder = make_class(tmp_path / "class", {**mixed(9), "s100.py": f"{RIGHT}\ndef fall(): pass\n"})
    grades = grade_class(ends, [folder], jobs=2)
    assert [row.points for row in grades.rows] == expected(9)
    assert grades.failed == (NotGraded("s100.py", "the grader's own process ended 3 times while grading it"),)


FALL = """

def fall(student: Student) -> None:
    try:
        student.call("fall")
    except Wrong:
        return
    __import__("os")._exit(9)
"""
SLOW = f"import time\ntime.sleep(0.1)\n{RIGHT}"


def begun(report: Path, folder: Path, lab: Path, results: int) -> subprocess.Popen[str]:
    """A command that grades, once it has so many results."""
    asked = command("grade", lab, folder, "--report", report, "--jobs", "2")
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        **asked, stdout=quiet, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_until(
        lambda: len(list((report / "results").glob("*.json"))) >= results or process.poll() is not None
    )
    return process


def command_of(process: psutil.Process) -> str:
    """How a process was started; empty if it has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie is one
        return ""


def below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def all_gone(processes: list[psutil.Process]) -> bool:
    return not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes)


@pytest.mark.slow
def test_a_grader_that_is_killed_at_any_moment_goes_on_where_it_was(tmp_path, lab):
    count, report = 30, tmp_path / "report"
    folder = make_class(tmp_path / "class", dict.fromkeys(mixed(count), SLOW))
    chance = random.Random(5)
    for results in sorted(chance.sample(range(count - 5), 3)):
        process = begun(report, folder, lab, results)
        time.sleep(chance.random() / 5)
        children = below(process) if process.poll() is None else []
        process.kill()
        process.communicate()
        wait_until(lambda children=children: all_gone(children))  # type: ignore[misc]
    grades = grade_class(lab, [folder], report, jobs=2)
    assert [row.points for row in grades.rows] == [3] * count
    assert 0 < grades.before < count
    named = journal(report)
    assert len(named) == len(set(named))


@pytest.mark.slow
def test_ctrl_c_ends_everything_and_says_how_to_go_on(tmp_path, lab):
    report = tmp_path / "report"
    folder = make_class(tmp_path / "class", dict.fromkeys(mixed(30), SLOW))
    process = begun(report, folder, lab, 3)
    children = below(process)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert told.splitlines()[-1] == "zoolab: interrupted; what was graded is kept: the same command goes on"
    wait_until(lambda: all_gone(children))
    grades = grade_class(lab, [folder], report, jobs=2)
    assert [row.points for row in grades.rows] == [3] * 30
    assert 3 <= grades.before < 30
    assert sorted(journal(report)) == sorted(mixed(30))


@pytest.mark.slow
def test_a_cluster_whose_worker_is_killed_grades_every_submission_once(tmp_path, lab):
    distributed = pytest.importorskip("distributed")
    folder, report = make_class(tmp_path / "class", mixed(20)), tmp_path / "report"
    settings = {"dashboard_address": None, "host": "127.0.0.1", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **settings) as local:
        workers = [worker.process.pid for worker in local.workers.values()]

        def watch(_result: object, done: int, _total: int) -> None:
            if done == 5:
                os.kill(workers[0], signal.SIGKILL)

        with dask_executor(local.scheduler_address) as cluster:
            grades = grade_class(lab, [folder], report, executor=cluster, watch=watch)
    assert [row.points for row in grades.rows] == expected(20)
    assert grades.failed == ()
    assert sorted(journal(report)) == sorted(mixed(20))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="counts open files")
def test_a_class_leaves_no_file_and_no_process_open(tmp_path, lab):
    folder = make_class(tmp_path / "class", mixed(3))
    grade_class(lab, [folder], jobs=1)
    me = psutil.Process()
    files, children = me.num_fds(), len(me.children(recursive=True))
    grade_class(lab, [folder], jobs=1)
    assert (me.num_fds(), len(me.children(recursive=True))) == (files, children)
