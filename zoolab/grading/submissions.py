"""Submissions: which files were handed in, what each is called, and the cells of code in it."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import decode_source
from pathlib import Path

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
    """The code cells of the file at `path`; raises `InvalidInput` if it cannot be read."""
    return hand_in(path.name, path).cells()


def _cells_of_notebook(text: str, name: str) -> list[str]:
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell.get("cell_type") == "code"]
        sources = [cell.get("source", "") for cell in cells]
        return [source if isinstance(source, str) else "".join(source) for source in sources]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        wanted = "a notebook as Jupyter saves it"
        raise InvalidInput(f"{name} cannot be read as a notebook", expected=wanted) from error


def cells_of_script(text: str) -> list[str]:
    """The cells of code of a py:percent file; a file without marks is one cell."""
    before, *marked = _CELL_MARK.split(text)
    pairs = zip(marked[::2], marked[1::2], strict=True)
    code = [part for head, part in pairs if "[markdown]" not in head and "[raw]" not in head]
    return [part.removeprefix("\n") for part in (before, *code)]


def without_magics(cell: str) -> str:
    """A cell as Python: lines and cells that only IPython or another language understands do nothing."""
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
class Handed:
    """What a submission consists of: its bytes, or why they could not be read."""

    name: str
    suffix: str
    data: bytes
    unreadable: str = ""

    @property
    def content(self) -> str:
        """The hash of what was handed in."""
        head = f"{self.suffix}\n{'unreadable' if self.unreadable else ''}\n"
        return sha256(head.encode() + self.data).hexdigest()

    def cells(self) -> list[str]:
        """The code cells without IPython's magics; raises `InvalidInput` if they cannot be read."""
        name, is_notebook = self.name, self.suffix == ".ipynb"
        if self.unreadable:
            raise InvalidInput(self.unreadable)
        if len(self.data) > MAX_BYTES:
            raise InvalidInput(f"{name} is larger than 20 MB", expected="a notebook without large outputs")
        try:
            text = self.data.decode("utf-8-sig") if is_notebook else decode_source(self.data)
        except (SyntaxError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{name} is not text in UTF-8", expected="a notebook or a .py file") from error
        cells = _cells_of_notebook(text, name) if is_notebook else cells_of_script(text)
        if len(cells) > MAX_CELLS:
            raise InvalidInput(f"{name} has {len(cells)} cells", expected=f"at most {MAX_CELLS}")
        if sum(map(len, cells)) > MAX_CODE:
            raise InvalidInput(f"{name} has more than {MAX_CODE:,} characters of code", expected="less")
        return [without_magics(cell) for cell in cells if cell.strip()]


def hand_in(name: str, path: Path) -> Handed:
    """Read a submission, no more of it than is graded."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as file:
            return Handed(name, suffix, file.read(MAX_BYTES + 1))
    except OSError as error:
        return Handed(name, suffix, b"", f"{name} cannot be read: {error.strerror}")


def find_submissions(places: Sequence[Path]) -> tuple[dict[str, Path], tuple[tuple[str, str], ...]]:
    """The submissions at `places`, in the order of their names, and what was passed over, with the reasons.

    Places are files, and folders that are searched for `.ipynb` and `.py`. A name is the path within the
    folder, no two are the same, and a file that is reached twice is one submission. Raises `InvalidInput` for
    a place that does not exist.
    """
    bases: dict[Path, Path] = {}
    skipped: list[tuple[str, str]] = []
    for place in places:
        if place.is_dir():
            for path in _within(place, skipped):
                bases.setdefault(path.resolve(), place.resolve())
        elif not place.is_file():
            raise InvalidInput(f"{place} does not exist", expected="a submission, or a folder of them")
        elif place.suffix.lower() not in SUFFIXES:
            unpack = "unpack it first" if place.suffix.lower() in ARCHIVES else ""
            wanted = "a notebook (.ipynb) or a .py file"
            raise InvalidInput(f"{place} is not a submission", expected=wanted, advice=unpack)
        else:
            bases.setdefault(place.resolve(), place.parent.resolve())
    return dict(sorted(_names(bases).items())), tuple((_clean(where), why) for where, why in sorted(skipped))


def _within(folder: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError as error:
            skipped.append((here.relative_to(folder).as_posix(), error.strerror or "cannot be read"))
            continue
        for entry in entries:
            path = Path(entry.path)
            if why := _passed_over(entry):
                # Of hidden files only those are named that might be somebody's work.
                if not entry.name.startswith(".") or entry.is_dir() or path.suffix.lower() in SUFFIXES:
                    skipped.append((path.relative_to(folder).as_posix(), why))
            elif entry.is_dir():
                waiting.append(path)
            else:
                yield path


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
    suffix = Path(entry.name).suffix.lower()
    if suffix in ARCHIVES:
        return "it is an archive: unpack it first"
    return "" if suffix in SUFFIXES else "it is neither a notebook (.ipynb) nor a .py file"


def _names(bases: dict[Path, Path]) -> dict[str, Path]:
    """A name for each file: its path within its base; if two would be the same, more of the path."""
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
