"""The notebooks of a lab, made from one master in py:percent: the student's and the solution, and assignments
for otter-grader and nbgrader. The tests of those are the lab's public cases, and run in the notebook's own
process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import indent
from typing import Any

from zoolab.errors import InvalidInput, needs
from zoolab.files import read_table, write_whole
from zoolab.grading.labs import Case, Lab, folder_of, lab_names, labs_folder, load_lab

BEGIN, END, STUB = "# BEGIN SOLUTION", "# END SOLUTION", "# STUB:"
YOUR_CODE = "...  # your code"
Marked = Callable[[str, list[str], list[str]], list[str]]
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def build_labs(names: Iterable[str] = (), check: bool = False) -> list[Path]:
    """Write the notebooks of these labs, by default of all, that differ from their master; return those.

    A lab is named, or is a folder of your own with a `cases.py` and a `master.py`. With `check=True` only
    look. Raises `InvalidInput` for an unknown lab, a master whose marks do not pair, and if jupytext is
    not installed.
    """
    files = {path: text for name in names or lab_names() for path, text in built_files(name).items()}
    return write_stale(files, check)


def write_stale(files: dict[Path, str], check: bool = False) -> list[Path]:
    """Write the files whose text is another one, and return those; with `check=True` only look."""
    stale = []
    for path, text in files.items():
        wanted = text.encode()
        if path.is_file() and path.read_bytes() == wanted:
            continue
        stale.append(path)
        if not check:
            path.write_bytes(wanted)
    return stale


def built_files(name: str) -> dict[Path, str]:
    """The text of each file that is built for a lab: the student's notebook and the solution."""
    folder = folder_of(name)
    source, notebook = folder / "master.py", folder / f"{folder.name}.ipynb"
    try:
        master = source.read_text(encoding="utf-8")
        texts = {notebook: for_student(master), folder / "solution.ipynb": solved(master)}
    except OSError as error:
        raise InvalidInput(f"{source}: {error.strerror}", expected="the lab's master.py") from None
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}", advice="correct its markers of solutions") from None
    return {path: rendered(text) for path, text in texts.items()}


def for_student(master: str) -> str:
    """A master with each solution replaced by its stub: `...  # your code`, or the lines after `# STUB:`."""
    return rewritten(master, lambda before, prompt, _solution: prompt or [before + YOUR_CODE])


def solved(master: str) -> str:
    """A master without its marks."""
    return rewritten(master, lambda _before, _prompt, solution: solution)


def rewritten(master: str, marked: Marked) -> str:
    """A master with what `marked` makes of each solution in its place.

    `marked(before, prompt, solution)` gets the lines of the lab's own stub, none for the usual one, and those
    of the solution. Raises `InvalidInput` for marks that do not pair.
    """
    lines: list[str] = []
    prompt: list[str] = []
    solution: list[str] = []
    inside, before = False, ""
    for number, line in enumerate(master.split("\n"), start=1):
        mark = line.strip()
        if mark == (BEGIN if inside else END):
            raise InvalidInput(f"line {number}: {mark}", expected=END if inside else BEGIN)
        if mark == BEGIN:
            inside, before, prompt, solution = True, line.partition("#")[0], [], []
        elif mark == END:
            inside = False
            lines += marked(before, prompt, solution)
        elif not inside:
            lines.append(line)
        elif mark.startswith(STUB):
            prompt.append(before + mark.removeprefix(STUB).removeprefix(" "))
        else:
            solution.append(line)
    if inside:
        raise InvalidInput("a solution block is not closed", expected=END)
    return "\n".join(lines)


def rendered(text: str) -> str:
    """A notebook as Jupyter saves it, from py:percent text: without outputs, and the same bytes each time.

    Raises `InvalidInput` if jupytext is not installed.
    """
    needs("jupytext", "nbformat")
    import jupytext
    import nbformat

    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell["id"] = str(index)
        # jupytext's note on blank lines: it would change with the layout of the source.
        cell.metadata.pop("lines_to_next_cell", None)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"  # type: ignore[no-untyped-call]


Files = dict[str, str]
Cell = dict[str, Any]

NBGRADER_CONFIG = "nbgrader_config.py"
_TEXTS = read_table("zoolab.grading", "export.toml")
_QUOTES = '"""'


def export_labs(names: Iterable[str], kind: str, out: Path) -> list[Path]:
    """Write labs, by default all, for otter-grader or nbgrader, and return the files that are new.

    A file that a teacher has changed is not written over. Raises `InvalidInput` for a notebook that exists
    and differs, for an unknown lab or format, and if the masters or the `dev` extra are not installed.
    """
    if kind not in FORMATS:
        raise InvalidInput(f"there is no format {kind!r}", expected=f"one of {', '.join(FORMATS)}")
    wanted = list(names) or lab_names()
    for name in wanted:
        if name not in lab_names():
            raise InvalidInput(f"there is no lab {name!r}", expected=f"one of {', '.join(lab_names())}")
    return write_new({out / place: text for name in wanted for place, text in FORMATS[kind](name).items()})


def write_new(files: dict[Path, str]) -> list[Path]:
    """Write the files that are not there, and return those; `InvalidInput` if one is there and differs."""
    new = {path: text for path, text in files.items() if _is_new(path, text)}
    for path, text in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text])
    return list(new)


def _is_new(path: Path, text: str) -> bool:
    if not path.exists() or path.name == NBGRADER_CONFIG:
        return not path.exists()
    if path.read_text(encoding="utf-8") == text:
        return False
    raise InvalidInput(
        f"{path} exists already with other content", advice="remove it, or name another folder"
    )


def nbgrader_files(name: str) -> Files:
    """The files of a lab for nbgrader, by their path below the folder of the course."""
    lab = load_lab(name)
    cells = _cells(lab, _for_nbgrader)
    for number, cell in enumerate(cells):
        if BEGIN in "".join(cell["source"]):
            _tell_nbgrader(cell, f"{name}-{number}", grade=False, solution=True, locked=False)
    for case in lab.public:
        cells.append(_new_cell("code", case.name, _test_of(lab, case, "globals()")))
        about = {"grade": True, "solution": False, "locked": True, "points": case.points}
        _tell_nbgrader(cells[-1], f"{name}-{case.name}", **about)
    return {NBGRADER_CONFIG: _TEXTS["nbgrader"], f"source/{name}/{name}.ipynb": _notebook(cells)}


def _for_nbgrader(before: str, prompt: list[str], solution: list[str]) -> list[str]:
    """A stub of the lab's own goes before the solution, which overrides it."""
    return [*prompt, f"{before}##{BEGIN}", *solution, f"{before}##{END}"]


def _tell_nbgrader(cell: Cell, name: str, **about: Any) -> None:
    cell["metadata"]["nbgrader"] = {"grade_id": name, "schema_version": 3, "task": False, **about}


def otter_files(name: str) -> Files:
    """The files of a lab for otter-grader, by their path below the output folder."""
    lab = load_lab(name)
    cases = lab.public
    points = sum(case.points for case in cases)
    cells = [
        _new_cell("raw", "config", _TEXTS["otter"].format(lab=name)),
        *_cells(lab, _for_otter),
        _new_cell("raw", "question", f"# BEGIN QUESTION\nname: {name}\npoints: {points:g}"),
        _new_cell("raw", "tests", "# BEGIN TESTS"),
        *(_new_cell("code", case.name, _otter_test(lab, case)) for case in cases),
        _new_cell("raw", "tests-end", "# END TESTS"),
        _new_cell("raw", "question-end", "# END QUESTION"),
    ]
    return {f"{name}/{name}.ipynb": _notebook(cells)}


def _for_otter(before: str, prompt: list[str], solution: list[str]) -> list[str]:
    """A stub of the lab's own is otter's prompt; the usual stub is otter's own three dots."""
    if not prompt:
        return [before + BEGIN, *solution, before + END]
    return [
        f"{before}{BEGIN} NO PROMPT",
        *solution,
        before + END,
        f"{before}{_QUOTES} # BEGIN PROMPT",
        *prompt,
        f"{before}{_QUOTES} # END PROMPT",
    ]


def _otter_test(lab: Lab, case: Case) -> str:
    config = f"{_QUOTES} # BEGIN TEST CONFIG\npoints: {case.points:g}\n{_QUOTES} # END TEST CONFIG"
    return f"{config}\ndef {case.name}(env):\n{indent(_test_of(lab, case, 'env'), '    ')}"


#: What each format writes for a lab: a path below the output folder, and the text.
FORMATS: dict[str, Callable[[str], Files]] = {"nbgrader": nbgrader_files, "otter": otter_files}


def _cells(lab: Lab, marked: Marked) -> list[Cell]:
    """The cells of a lab's master, up to those that call `check`, and a note about the tests."""
    try:
        master = (labs_folder() / lab.name / "master.py").read_text(encoding="utf-8")
    except OSError as error:
        advice = "export from a checkout of zoolab"
        raise InvalidInput(f"{lab.name} has no master: {error.strerror}", advice=advice) from None
    cells: list[Cell] = json.loads(rendered(rewritten(master, marked)))["cells"]
    last = next((n for n, cell in enumerate(cells) if "## Check it" in "".join(cell["source"])), len(cells))
    return [
        *cells[:last],
        _new_cell("markdown", "who-decides", _TEXTS["note"].format(lab=lab.name, left_out=left_out(lab))),
    ]


def left_out(lab: Lab) -> str:
    """What other tools are not given of a lab, in words: its hidden cases would be where students read."""
    hidden = [case for case in lab.cases if not case.public]
    points = sum(case.points for case in hidden)
    return f"{len(hidden)} hidden cases for {points:g} points; all {len(lab.public)} public ones are here"


def _new_cell(kind: str, name: str, text: str) -> Cell:
    """A cell whose id is `name`."""
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": text, **code}


def _test_of(lab: Lab, case: Case, names: str) -> str:
    """The code that plays a public case against the namespace that the expression `names` gives."""
    played = f'assert passes("{lab.name}", "{case.name}", {names})'
    return f"from zoolab.grading.checking import passes\n\n{played}"


def _notebook(cells: list[Cell]) -> str:
    book = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"
