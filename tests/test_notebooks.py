"""Every notebook is fresh, has no outputs, and runs in a kernel without a network, a key or a home.

`browser/test_pages.py` runs all of them once more, as a user of this machine would.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jupytext
import nbformat
import pytest
from exercises import TASKS, solve
from nbclient import NotebookClient
from offline import bare_environment, extra_modules, may_unshare
from traitlets.config import Config

from tools import notebooks
from tools.building import cells_of
from zoolab.errors import InvalidInput
from zoolab_course.progress import Part, progress

FOLDER = Path(__file__).parents[1] / "notebooks"
SOURCES = notebooks.sources(FOLDER) if FOLDER.is_dir() else []
each_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)

#: Before the exercises run a second time, in the same kernel, what they made the first time is forgotten.
KEEP = "_kept = {name: value for name, value in globals().items() if name[0] != '_'}"
FORGET = """for _name in [name for name in globals() if name[0] != "_" and name not in _kept]:
    del globals()[_name]
globals().update(_kept)"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the notebooks to run in: what a cell writes stays out of the checkout."""
    copy = tmp_path / "notebooks"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.chdir(copy)
    return copy


@cache
def absent_modules() -> str:
    """What readers of the course have not installed."""
    return ",".join(extra_modules())


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """A kernel called `bare`, on no network where the system allows that; and how to reach it."""
    alone = may_unshare()
    python = [sys.executable, str(Path(__file__).with_name("offline_kernel.py"))]
    words = ["alone" if alone else "beside", absent_modules(), "-f", "{connection_file}"]
    command = [*(["unshare", "-rn"] if alone else []), *python, *words]
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    spec = tmp_path / "jupyter" / "kernels" / "bare" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": command, "display_name": "bare", "language": "python"}), "utf-8")
    # Out of its network nothing leads but files; the path of a socket has at most 107 characters.
    with TemporaryDirectory() as short:
        ways = {"transport": "ipc", "ip": f"{short}/kernel"} if alone else {}
        yield Config(KernelManager=ways)


def is_meant_to_raise(cell: Any) -> bool:
    return "raises-exception" in cell.metadata.get("tags", [])


def run_in_kernel(
    notebook: nbformat.NotebookNode,
    folder: Path,
    kernel: str = "python3",
    way: Config | None = None,
    **more: Any,
) -> None:
    """Run the cells as Jupyter does; they get their outputs."""
    resources = {"metadata": {"path": folder}}
    NotebookClient(
        notebook, timeout=120, kernel_name=kernel, resources=resources, config=way or Config()
    ).execute(**more)
    for cell in notebook.cells:
        if is_meant_to_raise(cell):
            kinds = [output.output_type for output in cell.outputs]
            assert "error" in kinds, f"this cell was meant to raise:\n{cell.source}"


def twice(cells: list[Any], solved: list[Any]) -> list[Any]:
    """The cells, and after them the exercises once more, as if they were run for the first time."""
    begin = next((at for at, cell in enumerate(cells) if TASKS in cell.source), len(cells))
    keep, forget = map(nbformat.v4.new_code_cell, (KEEP, FORGET))
    return [*cells[:begin], keep, *cells[begin:], forget, *solved[begin:]]


def exercises_in(notebook: nbformat.NotebookNode, cells: list[Any], path: Path) -> list[Part]:
    """What `progress` says of a notebook that is saved with these cells; nothing of one without exercises."""
    path.parent.mkdir()
    nbformat.write(nbformat.from_dict({**notebook, "cells": cells}), path)
    return [part for part in progress(path.parent).notebooks if part.name == path.stem]


def test_the_first_notebook_is_there():
    assert (FOLDER / "01-one-loop.py").is_file()


@each_notebook
def test_built_from_its_source(source: Path):
    built = source.with_suffix(".ipynb")
    assert built.is_file(), "run: python -m tools.notebooks"
    assert built.read_text(encoding="utf-8") == notebooks.render(source), "run: python -m tools.notebooks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_committed_without_outputs(path: Path):
    assert path.with_suffix(".py") in SOURCES
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert "widgets" not in notebook["metadata"]


@each_notebook
def test_runs_in_a_kernel_and_each_exercise_is_right_with_its_solution_and_not_before(
    source: Path, folder: Path, bare: Config, tmp_path: Path
):
    name = source.with_suffix(".ipynb").name
    notebook = nbformat.read(folder / name, as_version=4)
    given, solved = notebook.cells, deepcopy(notebook.cells)
    solve(solved)
    (tmp_path / "home").mkdir()
    notebook.cells = twice(given, solved)
    run_in_kernel(notebook, folder, "bare", bare, env=bare_environment(tmp_path / "home"))
    for part in exercises_in(notebook, given, tmp_path / "given" / name):
        assert part.right == 0
        assert "not run" not in part.next
    for part in exercises_in(notebook, solved, tmp_path / "solved" / name):
        assert part.right == part.of
        assert "not run" not in part.next


RAISING = '# %%\nvalue = 1\n\n# %% tags=["raises-exception"]\nassert value == 2\n\n# %%\nassert value == 1\n'


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (RAISING, True),
        (RAISING.replace("value == 2", "value == 1"), False),
        ("# %%\nimport no_such_module\n", False),
        ("# %%\nimport asyncio\nawait asyncio.sleep(0)\n", True),
        ("# %%\n# %matplotlib inline\nimport ipywidgets\ndisplay(ipywidgets.HTML())\n", True),
    ],
    ids=["raises as tagged", "tagged and does not raise", "raises untagged", "awaits", "shows"],
)
def test_a_cell_raises_as_its_tag_says(tmp_path: Path, text: str, runs: bool):
    (tmp_path / "01-x.py").write_text(text, encoding="utf-8")
    [built] = notebooks.build(tmp_path)
    notebook = nbformat.read(built, as_version=4)
    if runs:
        run_in_kernel(notebook, tmp_path)
    else:
        with pytest.raises(BaseException, match=r"meant to raise|no_such_module"):
            run_in_kernel(notebook, tmp_path)


def test_building_twice_writes_once(tmp_path: Path):
    (tmp_path / "01-x.py").write_text("# %% [markdown]\n# # é\n\n# %%\n1\n\n\n\n# %%\n2\n", encoding="utf-8")
    [built] = notebooks.build(tmp_path)
    first = built.read_bytes()
    assert notebooks.build(tmp_path) == []
    built.unlink()
    notebooks.build(tmp_path)
    assert built.read_bytes() == first
    assert b"\r" not in first


def test_check_writes_nothing_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "01-x.py").write_text("# %%\n1\n", encoding="utf-8")
    assert notebooks.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"{tmp_path / '01-x.ipynb'}: stale")
    assert not (tmp_path / "01-x.ipynb").exists()
    assert notebooks.main([str(tmp_path)]) == 0
    assert notebooks.main(["--check", str(tmp_path)]) == 0


def test_a_missing_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(InvalidInput, match="no folder"):
        notebooks.build(tmp_path / "none")
    assert notebooks.main([str(tmp_path / "none")]) == 2
    assert "no folder" in capsys.readouterr().err


def test_a_notebook_is_built_without_the_dev_extra():
    heavy = {"jupytext", "nbformat"}
    code = f"import sys, tools.building as b; b.rendered(''); sys.exit(bool({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@each_notebook
def test_the_cells_are_those_that_jupytext_reads(source: Path):
    read = [(cell.cell_type, cell.source.strip("\n")) for cell in jupytext.read(source).cells]
    own = cells_of(source.read_text("utf-8"))
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in own] == read
