"""`check("l1")`: the public cases for the student who is at work, in a shell, in a kernel, on a file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import check
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab_grader import CaseGrade, Grade, load_lab
from zoolab_grader.checking import Checked
from zoolab_grader.submissions import read_cells

SOLUTION = "\n".join(read_cells(course_folder("labs") / "l1" / "solution.ipynb"))
FIRST_ONLY = SOLUTION.replace("for call in calls:", "for call in calls[:1]:")
PUBLIC = [case.name for case in load_lab("l1").cases if case.public]
HOSTILE = "<script>alert(1)</script>\x1b[2J"


@pytest.fixture
def shell() -> Iterator[Any]:
    """An IPython shell without a kernel."""
    from IPython.core.interactiveshell import InteractiveShell

    kept = InteractiveShell.instance()
    kept.reset()
    yield kept
    InteractiveShell.clear_instance()


def ran(shell: Any, *cells: str) -> Checked:
    """What `check` says once these cells have run."""
    for cell in cells:
        shell.run_cell(cell, store_history=True)
    shell.run_cell('from zoolab import check\nchecked = check("l1")', store_history=True)
    found: Checked = shell.user_ns["checked"]
    return found


def failed(checked: Checked) -> dict[str, str]:
    return {case.name: case.happened for case in checked.failed}


def a_case(happened: str = "", walk: tuple[dict[str, Any], ...] = ()) -> CaseGrade:
    return CaseGrade("adds", f"`add` adds. {HOSTILE}", 0, 1, True, happened, HOSTILE, walk)


def of(*cases: CaseGrade, notes: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> Checked:
    return Checked(Grade("l1", "check", "s", cases, notes, missing), "the code given")


def test_only_the_public_cases_are_played():
    checked = check("l1", SOLUTION)
    assert [case.name for case in checked.grade.cases] == PUBLIC
    assert checked.failed == ()


def test_a_mistake_is_told_with_a_hint_and_the_walk():
    checked = check("l1", FIRST_ONLY)
    text = str(checked)
    assert "several_calls" in failed(checked)
    assert "FAILED  Every call of a reply runs once" in text
    assert "hint: Go through all of `tool_calls`" in text
    inspector = checked.inspect("several_calls")
    assert "your loop in several_calls" in str(inspector.trace.meta)
    assert checked.inspect("no_such_case") is None


@pytest.mark.parametrize("suffix", [".ipynb", ".py"])
def test_a_saved_file_is_checked_as_it_is_saved(suffix: str, tmp_path: Path):
    path = tmp_path / f"l1{suffix}"
    cell = {"cell_type": "code", "metadata": {}, "source": SOLUTION, "outputs": [], "execution_count": None}
    path.write_text(json.dumps({"cells": [cell]}) if suffix == ".ipynb" else SOLUTION, encoding="utf-8")
    checked = check("l1", path)
    assert checked.failed == ()
    assert re.fullmatch(rf"l1{suffix} as saved at \d\d:\d\d on \d\d \w+", checked.source)
    assert check("l1", str(path)).grade == checked.grade


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "a value of type int cannot be checked"),
        (b"x = 1", "a value of type bytes cannot be checked"),
        (["x = 1"], "a value of type list cannot be checked"),
        (len, "the function itself cannot be checked"),
        (" \n", "there is no code in what was given"),
        ("/", "/ is a folder"),
        (Path("/"), "/ is a folder"),
        (Path(__file__).with_name("data.txt"), "no file .*data.txt"),
        ("nowhere.IPYNB\n", "no file nowhere.IPYNB"),
    ],
)
def test_what_cannot_be_checked_is_said(given: Any, said: str):
    with pytest.raises(InvalidInput, match=f"^{said}; expected a notebook, a .py file, or code$"):
        check("l1", given)


@pytest.mark.parametrize("name", ["l1.IPYNB", "l1.Py"])
def test_the_suffix_may_be_of_capitals(name: str, tmp_path: Path):
    text = (
        json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]}) if name == "l1.IPYNB" else "x = 1"
    )
    (tmp_path / name).write_text(text)
    assert name in check("l1", f"{tmp_path / name}").source
    (tmp_path / "l1.md").write_text("x = 1")
    with pytest.raises(InvalidInput, match=r"l1.md is not a notebook"):
        check("l1", f"{tmp_path}/l1.md")


def test_outside_of_a_notebook_a_file_must_be_named():
    with pytest.raises(InvalidInput, match=r"no file nowhere\.ipynb"):
        check("l1", "nowhere.ipynb")
    with pytest.raises(InvalidInput, match="there is no lab 'l99'"):
        check("l99", "x = 1")
    code = "from zoolab import check\ncheck('l1')"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert plain.stderr.splitlines()[-1].endswith("expected check(lab, submission); name a file")


def test_in_a_shell_the_cells_that_ran_are_checked(shell: Any):
    checked = ran(shell, "import json", SOLUTION)
    assert checked.failed == ()
    assert checked.source == "the cells that you ran, in that order, not the saved notebook"


def test_what_was_run_last_counts(shell: Any):
    assert "several_calls" in failed(ran(shell, SOLUTION, FIRST_ONLY))
    assert ran(shell, SOLUTION).failed == ()


def test_a_cell_below_a_magic_counts(shell: Any):
    assert ran(shell, f"%%time\n{SOLUTION}", "%pwd", "!true").failed == ()


def test_a_cell_that_fails_is_named_by_its_number_in_the_notebook(shell: Any):
    checked = ran(shell, "from zoolab import check", "1 / 0", "def run_loop(*args):\n    return 1 / 0")
    assert "cell 2, line 1: ZeroDivisionError: division by zero" in checked.notes
    assert set(failed(checked).values()) == {
        "`run_loop` raised ZeroDivisionError: division by zero (cell 3, line 2)"
    }
    assert ran(shell, SOLUTION).notes == ()


def test_a_cell_that_was_interrupted_is_left_out(shell: Any):
    checked = ran(shell, SOLUTION, "while True:\n    raise KeyboardInterrupt")
    assert checked.failed == ()
    if getattr(shell.history_manager, "exceptions", None):
        assert checked.source.endswith("without 2, which you interrupted")


def test_where_nothing_was_run_yet_it_says_so(shell: Any):
    checked = ran(shell)
    assert len(checked.failed) == len(PUBLIC)
    assert "run them from the top" in str(checked)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Saves these cells as the notebook of this shell."""
    path = tmp_path / "l1.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))  # as Jupyter Server does for its kernels

    def save(*cells: str) -> None:
        code = [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": []} for cell in cells]
        path.write_text(json.dumps({"cells": code}), encoding="utf-8")

    return save


def test_a_helper_that_was_broken_after_a_good_run_costs_what_it_will_cost(
    shell: Any, saved: Callable[..., None]
):
    saved("def helper(:", SOLUTION.replace("def run_loop", "helper()\ndef run_loop"))
    good = "def helper(): pass", SOLUTION.replace("def run_loop", "helper()\ndef run_loop")
    checked = ran(shell, *good, "def helper(:")
    assert checked.grade.points == 0
    assert "l1.ipynb as saved at" in checked.source
    assert str(checked).startswith("Not saved yet: `helper`, as run in [1], is not in l1.ipynb.")
    if getattr(shell.history_manager, "exceptions", None):
        assert "Code cell 1 (`def helper(:`) ended with an error." in checked.states


def test_a_solution_that_was_saved_but_not_run_has_its_points(shell: Any, saved: Callable[..., None]):
    saved("import json", SOLUTION, "from zoolab import check\ncheck('l1')")
    checked = ran(shell, "import json", FIRST_ONLY)
    assert checked.failed == ()
    assert checked.states[-1].startswith("Code cell 2 (`")
    assert checked.states[-1].endswith("was edited after it was run.")


def test_what_was_run_but_not_saved_has_no_points_and_is_said(shell: Any, saved: Callable[..., None]):
    saved(FIRST_ONLY)
    checked = ran(shell, FIRST_ONLY, SOLUTION)
    assert "several_calls" in failed(checked)
    assert "`run_loop`" in checked.unsaved[0]
    assert "as run in [2], is not in l1.ipynb. Save (Ctrl+S)" in checked.unsaved[0]
    first, second, *_ = str(checked).splitlines()
    assert first == checked.unsaved[0]
    assert second.startswith("l1: ")
    assert checked._repr_html_().index("Not saved yet") < checked._repr_html_().index("points")
    saved(SOLUTION)
    checked = ran(shell)
    assert (checked.failed, checked.states) == ((), ())


def test_a_variable_that_is_graded_counts_as_it_is_saved(shell: Any, saved: Callable[..., None]):
    given, solved = (
        read_cells(course_folder("labs") / "l3" / f"{name}.ipynb") for name in ("l3", "solution")
    )
    tools = [cell for cell in solved if "search_logs" in cell and "check(" not in cell][:1]
    saved(*given)
    for cell in tools:
        shell.run_cell(cell, store_history=True)
    shell.run_cell("from zoolab import check\nchecked = check('l3')", store_history=True)
    unsaved = shell.user_ns["checked"].unsaved
    assert unsaved[0].startswith("Not saved yet: `search_logs`, as run in [1], is not in l1.ipynb.")
    shell.run_cell("scratch = 1\ntools = 2", store_history=True)  # which no saved cell has
    shell.run_cell("checked = check('l3')", store_history=True)
    assert shell.user_ns["checked"].unsaved == unsaved


def test_a_helper_that_was_dropped_from_a_newer_version_is_not_missing(
    shell: Any, saved: Callable[..., None]
):
    saved(SOLUTION)
    old = "def helper(): pass\n\n" + SOLUTION
    assert ran(shell, old, SOLUTION).states == ()
    assert "`run_loop`, as run in [4]" in ran(shell, old).unsaved[0]


def test_a_solution_whose_cell_was_deleted_has_no_points(shell: Any, saved: Callable[..., None]):
    saved("import json")
    checked = ran(shell, "import json", SOLUTION)
    assert checked.grade.points == 0
    assert "Not saved yet: `run_loop`, as run in [2]" in checked.unsaved[0]


def test_in_a_terminal_there_is_text_and_no_widget(shell: Any, capsys: pytest.CaptureFixture[str]):
    ran(shell, FIRST_ONLY)
    capsys.readouterr()
    shell.run_cell("checked")
    out = capsys.readouterr().out
    assert "what happened" in out
    assert "<td" not in out
    assert "Inspector" not in out


def test_hostile_text_is_escaped_and_shown():
    checked = of(a_case(HOSTILE), notes=(HOSTILE,), missing=("the network",))
    html, text = checked._repr_html_(), str(checked)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html + text
    assert "Protections that this computer cannot give: the network." in text


def test_the_table_has_no_colour_of_its_own_and_words_beside_its_signs():
    html = check("l1", FIRST_ONLY)._repr_html_()
    assert "color" not in html
    assert "✗ failed" in html
    assert "✓ passed" in html


_KEYS = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "function", "name"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["assistant", "tool", "{}", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(_KEYS, _VALUES, max_size=4), min_size=1, max_size=4))
def test_whatever_the_students_loop_said_the_check_is_shown(messages: list[dict[str, Any]]):
    walk = tuple({"role": "assistant", **message} for message in messages)
    shown = of(a_case("what", walk)).inspect()
    assert shown is None or len(shown.trace)


# What a notebook's process does; `workers` are the processes that it started itself and that live.
_NOTEBOOK = """
import os, signal, sys, threading, time
import psutil
from zoolab import check
from zoolab.files import course_folder
from zoolab_grader.submissions import read_cells

SOLUTION = "\\n".join(read_cells(course_folder("labs") / "l1" / "solution.ipynb"))

def living(processes):
    return {each.pid for each in processes if each.is_running() and each.status() != "zombie"}

def workers():
    return living(psutil.Process().children())

"""
_SPOILS = "import builtins, json, sys\njson.loads = builtins.sorted = len\nsys.modules['left'] = json"
_LOOKS = "import json, sys\nif len in (json.loads, sorted) or 'left' in sys.modules:\n    raise SystemExit"


def in_a_notebook(code: str) -> str:
    """What a program prints that checks."""
    program = [sys.executable, "-c", _NOTEBOOK + code]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=120).stdout


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="keeps no worker")


@forks
def test_the_next_check_finds_its_worker_warm_and_clean():
    told = in_a_notebook(f"""
check("l1", {_SPOILS!r})
worker = workers()
checked = check("l1", {_LOOKS!r} + "\\n" + SOLUTION)
print(len(worker), workers() == worker, len(checked.failed), checked.grade.notes)
check("l5", "x = 1")
print(len(workers()), workers().isdisjoint(worker))
""")
    assert told.splitlines() == ["1 True 0 ()", "1 True"]


@forks
def test_a_check_that_was_interrupted_leaves_no_process_and_the_next_one_works():
    told = in_a_notebook("""
signal.signal(signal.SIGINT, signal.default_int_handler)
below, kept = [], []

def interrupt():
    below[:] = psutil.Process().children(recursive=True)
    os.kill(os.getpid(), signal.SIGINT)

for cell in ("while True: pass", "def run_loop(*args):\\n    while True: pass"):
    threading.Timer(1, interrupt).start()
    try:
        check("l1", cell)
    except KeyboardInterrupt as error:
        kept.append(error)  # as a shell keeps the last one, with all that its traceback holds
    until = time.monotonic() + 30
    while living(below) and time.monotonic() < until:
        time.sleep(0.02)
    print(len(kept), bool(below), living(below), workers())
print(len(check("l1", SOLUTION).failed), len(workers()))
""")
    assert told.splitlines() == ["1 True set() set()", "2 True set() set()", "0 1"]


@forks
@pytest.mark.slow
def test_a_fork_of_the_notebook_gets_a_worker_of_its_own():
    told = in_a_notebook("""
check("l1", SOLUTION)
worker = workers()
child = os.fork()
if child == 0:
    check("l1", SOLUTION)
    print(len(workers()), workers().isdisjoint(worker), flush=True)
    sys.exit()
os.waitpid(child, 0)
check("l1", SOLUTION)
print(workers() == worker)
""")
    assert told.splitlines() == ["1 True", "True"]


@forks
@pytest.mark.slow
@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_the_worker_ends_with_the_notebook_however_that_ends(end: str):
    worker = int(in_a_notebook(f"check('l1', 'x = 1')\nprint(*workers(), flush=True)\n{end}\n"))
    until = time.monotonic() + 60
    while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
def test_in_a_kernel_the_table_and_the_inspector_are_shown():
    import nbformat
    from nbclient import NotebookClient

    cells = [FIRST_ONLY, 'from zoolab import check\n\ncheck("l1")']
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    line, table, above, widget, *_ = (output["data"] for output in notebook.cells[1]["outputs"])
    assert line["text/plain"] == f"checked {len(PUBLIC)} of {len(PUBLIC)} cases"
    assert "✗ failed" in table["text/html"]
    assert "Here is the conversation in which this case failed" in above["text/html"]
    assert "several" not in table["text/plain"].splitlines()[0]
    assert "application/vnd.jupyter.widget-view+json" in widget
