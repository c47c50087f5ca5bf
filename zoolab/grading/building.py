"""The notebooks of a lab: the student's and the solution, both made from one master in py:percent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.grading.labs import folder_of, lab_names

BEGIN, END, STUB = "# BEGIN SOLUTION", "# END SOLUTION", "# STUB:"
YOUR_CODE = "...  # your code"
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
    """A master with each solution replaced by its stub: `...  # your code`, or the lines after `# STUB:`.

    >>> print(for_student("def f(x):\\n    # BEGIN SOLUTION\\n    return x + 1\\n    # END SOLUTION"))
    def f(x):
        ...  # your code
    """
    lines: list[str] = []
    for inside, part in parts(master):
        if inside:
            indent = part[0].partition("#")[0]
            lines += [indent + text for text in stub(part) or [YOUR_CODE]]
        else:
            lines += part
    return "\n".join(lines)


def solved(master: str) -> str:
    """A master without its marks."""
    return "\n".join(line for inside, part in parts(master) for line in (solution(part) if inside else part))


def parts(master: str) -> Iterator[tuple[bool, list[str]]]:
    """The lines of a master in turns: outside of a solution, inside with its marks, outside, …"""
    inside = False
    lines: list[str] = []
    for number, line in enumerate(master.split("\n"), start=1):
        if line.strip() == (BEGIN if inside else END):
            raise InvalidInput(f"line {number}: {line.strip()}", expected=END if inside else BEGIN)
        if line.strip() == BEGIN:
            yield inside, lines
            inside, lines = True, []
        lines.append(line)
        if line.strip() == END:
            yield inside, lines
            inside, lines = False, []
    if inside:
        raise InvalidInput("a solution block is not closed", expected=END)
    yield inside, lines


def stub(part: list[str]) -> list[str]:
    """What the lab itself puts in place of a solution, without its indent; nothing for the usual stub."""
    marked = [line.strip() for line in part if line.strip().startswith(STUB)]
    return [line.removeprefix(STUB).removeprefix(" ") for line in marked]


def solution(part: list[str]) -> list[str]:
    """The lines between the marks of a solution."""
    return [line for line in part[1:-1] if not line.strip().startswith(STUB)]


def rendered(text: str) -> str:
    """A notebook as Jupyter saves it, from py:percent text: without outputs, and the same bytes each time.

    Raises `InvalidInput` if jupytext is not installed.
    """
    try:
        jupytext: Any = import_module("jupytext")
        nbformat: Any = import_module("nbformat")
    except ImportError as error:
        wanted, remedy = "what builds notebooks", "run: pip install jupytext"
        raise InvalidInput(f"{error.name} is not installed", expected=wanted, advice=remedy) from None
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell["id"] = str(index)
        # jupytext's note on blank lines: it would change with the layout of the source.
        cell.metadata.pop("lines_to_next_cell", None)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"
