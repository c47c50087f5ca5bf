"""A submission as cells of code: a notebook or a Python file becomes plain text that was never run."""

from __future__ import annotations

import json
import re
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000
MAX_CODE = 1_000_000
# A stranger's cell is compiled here only if it seems to hold magics, and is of a size that people write.
MAX_COMPILED = 50_000

_CELL_MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)
# %magic, !command, ?help, help?, and a variable that is given what a magic or a command returns.
_MAGIC_LINE = re.compile(r"^([ \t]*+)((?:[%!?]|[\w.]++\?|\w++ *+= *+[%!]).*)$", re.MULTILINE)


def read_cells(path: Path) -> list[str]:
    """The code cells of a submission, `.ipynb` or `.py`, without IPython's magics.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "answer.py"
    >>> _ = file.write_text("# %%\\nx = 1\\n# %% [markdown]\\n# Words.\\n# %%\\n%time y = 2\\n")
    >>> read_cells(file)
    ['x = 1\\n', 'pass  # %time y = 2\\n']
    """
    text = _read_text(path)
    cells = _cells_of_notebook(text, path) if path.suffix == ".ipynb" else _cells_of_script(text)
    if len(cells) > MAX_CELLS:
        raise InvalidInput(f"{path.name} has {len(cells)} cells", expected=f"at most {MAX_CELLS}")
    if sum(map(len, cells)) > MAX_CODE:
        raise InvalidInput(f"{path.name} has more than {MAX_CODE:,} characters of code", expected="less")
    return [without_magics(cell) for cell in cells if cell.strip()]


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{path.name} is larger than 20 MB", expected="a notebook without large outputs")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path.name} is not text in UTF-8", expected="a notebook or a .py file"
        ) from error


def _cells_of_notebook(text: str, path: Path) -> list[str]:
    wanted = "a notebook as Jupyter saves it"
    try:
        notebook = json.loads(text)
        cells = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code"]
        return [_joined(cell.get("source", "")) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"{path.name} cannot be read as a notebook", expected=wanted) from error


def _joined(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def _cells_of_script(text: str) -> list[str]:
    """Parts of a py:percent file; a file without marks is one cell."""
    marks = list(_CELL_MARK.finditer(text))
    bounds = [0, *(mark.start() for mark in marks), len(text)]
    parts = [text[a:b] for a, b in pairwise(bounds)]
    heads = ["", *(mark.group(1) for mark in marks)]
    return [
        _CELL_MARK.sub("", part, count=bool(head or (marks and part.startswith("# %%")))).removeprefix("\n")
        for part, head in zip(parts, heads, strict=True)
        if "[markdown]" not in head and "[raw]" not in head
    ]


def without_magics(cell: str) -> str:
    """A cell as Python: lines that only IPython understands do nothing, whole cells of another language too.

    >>> without_magics("!pip install x\\nif a:\\n    %matplotlib inline\\n")
    'pass  # !pip install x\\nif a:\\n    pass  # %matplotlib inline\\n'
    >>> without_magics("%%bash\\nls\\n"), without_magics("%%time\\nx = 1\\n")
    ('', '# %%time\\nx = 1\\n')
    """
    first, newline, rest = cell.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        runs = first.split()[0] in ("%%time", "%%timeit", "%%capture")
        return f"# {first}{newline}{_without_magic_lines(rest)}" if runs else ""
    return _without_magic_lines(cell)


def _without_magic_lines(cell: str) -> str:
    if not _MAGIC_LINE.search(cell) or _compiles(cell):
        return cell
    return _MAGIC_LINE.sub(r"\1pass  # \2", cell)


def _compiles(cell: str) -> bool:
    """Whether a cell is Python already; then a line that begins with % is part of an expression."""
    if len(cell) > MAX_COMPILED:
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(cell, "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
