"""Submissions: which files were handed in, what each is called, and the cells of code in it."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import digest

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


SUFFIXES = (".ipynb", ".py")
ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz", ".zip")


@dataclass(frozen=True, slots=True)
class Submission:
    """A file that was handed in; `name` is its path within the folder that was given."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Handed:
    """What a submission consists of: its bytes, or why they could not be read."""

    name: str
    suffix: str
    data: bytes
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The submissions, by name, and what was passed over, each with the reason."""

    submissions: tuple[Submission, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def find_submissions(places: Sequence[Path]) -> Found:
    """The submissions at `places`: files, and folders that are searched for `.ipynb` and `.py`.

    No two have the same name, and a file that is reached twice is one submission. Checkpoints, links, hidden
    files, archives and files of other kinds are passed over and named. Raises `InvalidInput` for a place
    that does not exist.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "anna").mkdir()
    >>> _ = (folder / "anna" / "l3.py").write_text(""), (folder / "bob.py").write_text("")
    >>> [each.name for each in find_submissions([folder]).submissions]
    ['anna/l3.py', 'bob.py']
    """
    bases: dict[Path, Path] = {}
    skipped: list[tuple[str, str]] = []
    for place in places:
        base = place if place.is_dir() else place.parent
        for path in _files(place, skipped):
            bases.setdefault(path.resolve(), base.resolve())
    named = sorted(_names(bases).items())
    return Found(
        tuple(Submission(name, path) for name, path in named),
        tuple((_clean(where), why) for where, why in sorted(skipped)),
    )


def hand_in(submission: Submission) -> Handed:
    """Read a submission, no more of it than is graded.

    >>> hand_in(Submission("anna.py", Path("no-such-folder/anna.py"))).unreadable
    'anna.py cannot be read: No such file or directory'
    """
    name, suffix = submission.name, submission.path.suffix.lower()
    try:
        with submission.path.open("rb") as file:
            return Handed(name, suffix, file.read(MAX_BYTES + 1))
    except OSError as error:
        return Handed(name, suffix, b"", f"{name} cannot be read: {error.strerror}")


def _files(place: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    if place.is_dir():
        yield from _within(place, skipped)
    elif not place.is_file():
        raise InvalidInput(f"{place} does not exist", expected="a submission, or a folder of them")
    elif not _is_submission(place.name):
        unpack = "unpack it first" if _is_archive(place.name) else ""
        raise InvalidInput(
            f"{place} is not a submission", expected="a notebook (.ipynb) or a .py file", advice=unpack
        )
    else:
        yield place


def _within(folder: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            skipped.append((here.relative_to(folder).as_posix(), error.strerror or "cannot be read"))
            continue
        for entry in entries:
            if entry.name.startswith(".") and not entry.is_dir() and not _is_submission(entry.name):
                continue
            if why := _passed_over(entry):
                skipped.append((Path(entry.path).relative_to(folder).as_posix(), why))
            elif entry.is_dir():
                waiting.append(Path(entry.path))
            else:
                yield Path(entry.path)


def _is_submission(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def _is_archive(name: str) -> bool:
    return Path(name).suffix.lower() in ARCHIVES


def _passed_over(entry: os.DirEntry[str]) -> str:
    """Why a file or a folder is none of the submissions; empty if it may be one."""
    if entry.is_symlink():
        return "it is a link"
    if entry.name in (".ipynb_checkpoints", "__pycache__") or "-checkpoint." in entry.name:
        return "it is a checkpoint"
    if entry.name.startswith((".", "__MACOSX")):
        return "it is hidden"
    if entry.is_dir():
        return ""
    if not entry.is_file():
        return "it is not a file"
    if _is_archive(entry.name):
        return "it is an archive: unpack it first"
    return "" if _is_submission(entry.name) else "it is neither a notebook (.ipynb) nor a .py file"


def _names(bases: dict[Path, Path]) -> dict[str, Path]:
    """A name for each file: its path within its base; where two would be the same, more of the path."""
    found = {path: path.relative_to(base).parts for path, base in bases.items()}
    while True:
        times = Counter(found.values())
        shared = [path for path, parts in found.items() if times[parts] > 1 and parts != path.parts]
        if not shared:
            return {_clean("/".join(parts)): path for path, parts in found.items()}
        for path in shared:
            found[path] = path.parts[-len(found[path]) - 1 :]


def _clean(name: str) -> str:
    """A name that can be shown and written anywhere; one that had to be changed still has no double."""
    if name.isprintable():
        return name
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"{shown}~{digest(name)[:8]}"
