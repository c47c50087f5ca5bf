"""The notebooks of a lab, built from its master in py:percent: the student's and the solution."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.masters import for_student, rewritten
from zoolab.errors import InvalidInput
from zoolab.files import write_whole
from zoolab_grader.labs import folder_of, lab_names

#: nbgrader's settings, which a teacher changes: they are never written over.
NBGRADER_CONFIG = "nbgrader_config.py"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_HEAD = re.compile(r"\A# ---\n.*?^# ---\n", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^# %%(.*)\n", re.MULTILINE)
_COMMENT = re.compile(r"^# ?", re.MULTILINE)
_METADATA = re.compile(r"(\w+)=(\[.*?\]|\{.*?\})")

Cell = dict[str, Any]


def build_labs(names: Iterable[str] = (), check: bool = False) -> list[Path]:
    """Write the notebooks of these labs, by default of all, that differ from their master; return those.

    A lab is named, or is a folder of your own with a `cases.py` and a `master.py`. With `check=True` only
    look. Raises `InvalidInput` for an unknown lab, and for a master whose marks do not pair.
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
    """Return the text of each file that is built for a lab: the student's notebook and the solution."""
    folder = folder_of(name)
    source = folder / "master.py"
    notebook = folder / f"{folder.name}.ipynb"
    try:
        master = source.read_text(encoding="utf-8")
        texts = {notebook: for_student(master), folder / "solution.ipynb": solved(master)}
    except OSError as error:
        raise InvalidInput(f"{source}: {error.strerror}", expected="the lab's master.py") from None
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}", advice="correct its markers of solutions") from None
    return {path: rendered(text) for path, text in texts.items()}


def solved(master: str) -> str:
    """Return a master without its marks."""
    return rewritten(master, lambda _before, _prompt, solution: solution)


def rendered(text: str) -> str:
    """Return a notebook as Jupyter saves it, from py:percent text: without outputs, and the same bytes each
    time.
    """
    return notebook_of(cells_of(text))


def cells_of(text: str) -> list[Cell]:
    """Return the cells of py:percent text; the first lines, between `# ---`, are for other programs.

    >>> cells_of('# %% [markdown] tags=["slide"]\\n# # Title\\n#\\n# Words.\\n')[0]["source"]
    ['# Title\\n', '\\n', 'Words.']
    """
    before, *marked = _MARK.split(_HEAD.sub("", text))
    parts = [("", before)] * bool(before.strip()) + list(zip(marked[::2], marked[1::2], strict=True))
    cells = []
    for number, (mark, body) in enumerate(parts):
        kind = next((kind for kind in ("markdown", "raw") if f"[{kind}]" in mark), "code")
        body = body.strip("\n")
        cell = new_cell(kind, str(number), body if kind == "code" else _COMMENT.sub("", body))
        cell["metadata"] = {name: json.loads(value) for name, value in _METADATA.findall(mark)}
        cells.append(cell)
    return cells


def new_cell(kind: str, name: str, text: str) -> Cell:
    """Return a cell whose id is `name`."""
    code: Cell = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True), **code}


def notebook_of(cells: list[Cell]) -> str:
    """Return the text of a notebook."""
    book = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def write_new(files: dict[Path, str]) -> list[Path]:
    """Write the files that are not there, and return those; `InvalidInput` if one is there and differs."""
    new = {path: text for path, text in files.items() if _is_new(path, text)}
    for path, text in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text], mode=0o666)
    return list(new)


def _is_new(path: Path, text: str) -> bool:
    if not path.exists() or path.name == NBGRADER_CONFIG:
        return not path.exists()
    if path.read_text(encoding="utf-8") == text:
        return False
    raise InvalidInput(
        f"{path} exists already with other content", advice="remove it, or name another folder"
    )
