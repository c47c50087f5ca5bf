"""The cells of a .py file that was a notebook, whichever program wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zoolab.errors import InvalidInput

#: Marks of jupytext, Spyder and VS Code (`# %%`, `#%%`) and of nbconvert (`# In[3]:`).
_MARK = re.compile(r"^#[ \t]?(?:%%(.*)|In ?\[[ \d]*\]:?[ \t]*)$", re.MULTILINE)
_TEXTS = ("[markdown]", "[md]", "[raw]")
#: How a notebook of Databricks begins, what is between its cells, and what stands before what is not Python.
_DATABRICKS = "# Databricks notebook source"
_COMMAND = re.compile(r"^# COMMAND -+[ \t]*$", re.MULTILINE)
_MAGIC = re.compile(r"^# MAGIC ?", re.MULTILINE)
_OTHERS = re.compile(r"\s*%(?:md|md-sandbox|sql|sh|fs|r|scala|run)\b")
#: A cell of jupytext's light format that has blank lines begins with `# +` and ends with `# -`.
_LIGHT = re.compile(r"\A# ---\n(?:#.*\n)*?#[ \t]+format_name: light$", re.MULTILINE)
_LIGHT_MARK = re.compile(r"^# ([+-])(?: .*)?$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n(?=\S)")
_MARIMO = re.compile(r"^app = marimo\.App\(", re.MULTILINE)


def cells_of_script(text: str, name: str = "the file") -> list[str]:
    """Return the cells of code of a script; a file without marks is one cell.

    Raises `InvalidInput` for a notebook of marimo, whose cells are functions.

    >>> cells_of_script("#%%\\nx = 1\\n# In[2]:\\ny = 2")
    ['x = 1\\n', 'y = 2']
    """
    if _MARIMO.search(text):
        advice = f"`marimo export ipynb {name} -o NAME.ipynb` makes one"
        raise InvalidInput(f"{name} is a marimo notebook", expected="a notebook of Jupyter", advice=advice)
    if text.startswith(_DATABRICKS):
        return list(_of_databricks(text))
    if _LIGHT.search(text):
        return [cell for cell in _of_light(text) if not _only_comments(cell)]
    return _between_marks(text)


def _between_marks(text: str) -> list[str]:
    before, *marked = _MARK.split(text)
    pairs = zip(marked[::2], marked[1::2], strict=True)
    code = [part for head, part in pairs if not any(each in (head or "") for each in _TEXTS)]
    # What a program writes above the first cell would only shift their numbers.
    head = [] if marked and _only_comments(before) else [before]
    return [part.removeprefix("\n") for part in (*head, *code)]


def _of_databricks(text: str) -> Iterator[str]:
    for cell in _COMMAND.split(text.removeprefix(_DATABRICKS)):
        code = _MAGIC.sub("", cell.strip("\n")) if _MAGIC.match(cell.strip("\n")) else cell.strip("\n")
        if not _OTHERS.match(code):
            yield code.removeprefix("%python")


def _of_light(text: str) -> Iterator[str]:
    before, *marked = _LIGHT_MARK.split(text)
    yield from _PARAGRAPH.split(before)
    for mark, part in zip(marked[::2], marked[1::2], strict=True):
        if mark == "+":
            yield part.removeprefix("\n")
        else:
            yield from _PARAGRAPH.split(part)


def _only_comments(cell: str) -> bool:
    return all(not line.strip() or line.startswith("#") for line in cell.splitlines())
