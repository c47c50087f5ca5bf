"""Submissions: which files were handed in, their names, and the cells of code in them."""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from codecs import lookup
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import decode_source
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.jsontext import digest
from zoolab_grader.missing import NO_REST, Rest
from zoolab_grader.outputs import MAX_WITH_OUTPUTS, without_outputs
from zoolab_grader.scripts import cells_of_script

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000
MAX_CODE = 1_000_000
# Codecs of the standard library for names of hosts: their time grows with the square of the text.
_NO_TEXT = ("idna", "punycode")

#: Folders that hold what others wrote.
_PACKAGES = ("site-packages", "dist-packages", "node_modules")
#: Characters at the head of a file that tell whether it came with a handout.
_HEAD = 20_000
_CASES = re.compile(r"^from zoolab_grader import .*?^LAB = Lab\(", re.MULTILINE | re.DOTALL)

#: How files begin that are something else, whatever their name is.
_FOREIGN = (
    (re.compile(rb"PK\x03\x04"), "a zip archive; unpack it first"),
    (re.compile(rb"%PDF-"), "a PDF document; hand in the notebook itself"),
    (re.compile(rb"version https://git-lfs"), "a pointer of git-lfs; the file itself was not handed in"),
    (re.compile(rb"\0+\Z"), "only zero bytes; it was damaged when it was saved or copied"),
    (re.compile(rb"\s*<(?:!doctype )?html\b", re.I), "a web page; download the notebook itself"),
)
_NOTEBOOK = re.compile(r'\s*\{\s*"(?:cells|metadata|nbformat|worksheets)"')
_PYTHON = re.compile(r"""\s*(?:#|\"{3}|'{3}|(?:import|from|def|class|print|async|%%?\w+)\b)""")

_CONFLICT = re.compile(r"^<{7} |^>{7} ", re.MULTILINE)


SUFFIXES = (".ipynb", ".py")
ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz", ".zip")


def read_cells(path: Path) -> list[str]:
    """Return the code cells of the file at `path`; raises `InvalidInput` if it cannot be read."""
    return hand_in(path.name, path).cells()


def _cells_of_notebook(text: str, name: str) -> list[str]:
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell.get("cell_type") == "code"]
        sources = [cell.get("source") or "" for cell in cells]
        return [source if isinstance(source, str) else "".join(source) for source in sources]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        wanted = "a notebook as Jupyter saves it"
        why = _why_unread(text, error)
        raise InvalidInput(f"{name} cannot be read as a notebook: {why}", expected=wanted) from error


def _why_unread(text: str, error: Exception) -> str:
    if not text.strip():
        return "it is empty"
    if (mark := _CONFLICT.search(text)) is not None:
        return (
            f"line {text.count(chr(10), 0, mark.start()) + 1:,} is a mark of git, of a merge that is not done"
        )
    if isinstance(error, json.JSONDecodeError) and _PYTHON.match(text):
        return "it is Python code; name the file .py"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON from line {error.lineno:,}, column {error.colno:,} on"
    if isinstance(error, (ValueError, RecursionError)):
        return "a number in it is too long" if isinstance(error, ValueError) else "it is nested too deep"
    if '"worksheets"' in text[:MAX_CODE]:
        return "it is of a format of before 2015; Jupyter converts it when it saves it"
    return "its cells are not there, or are no list of cells"


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
        """Return the code cells as they were written; raises `InvalidInput` if they cannot be read."""
        name = self.name
        is_notebook = self.suffix == ".ipynb"
        if self.unreadable:
            raise InvalidInput(self.unreadable)
        if len(self.data) > MAX_BYTES:
            raise InvalidInput(f"{name} is larger than 20 MB", expected="a notebook without large outputs")
        if what := next((what for begin, what in _FOREIGN if begin.match(self.data)), ""):
            read = "cannot be read as a notebook: it is" if is_notebook else "is"
            raise InvalidInput(f"{name} {read} {what}", expected="a notebook or a .py file")
        try:
            text = self.data.decode("utf-8-sig") if is_notebook else _source(self.data)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise InvalidInput(f"{name} is not text in UTF-8", expected="a notebook or a .py file") from error
        if not is_notebook and _NOTEBOOK.match(text):
            raise InvalidInput(f"{name} is a notebook", expected="Python code", advice="name it .ipynb")
        cells = _cells_of_notebook(text, name) if is_notebook else cells_of_script(text, name)
        if len(cells) > MAX_CELLS:
            raise InvalidInput(f"{name} has {len(cells)} cells", expected=f"at most {MAX_CELLS}")
        if sum(map(len, cells)) > MAX_CODE:
            raise InvalidInput(f"{name} has more than {MAX_CODE:,} characters of code", expected="less")
        return [cell for cell in cells if cell.strip()]

    def rest(self) -> Rest:
        """Return what a notebook has besides its code; nothing if that cannot be read."""
        if self.suffix != ".ipynb":
            return NO_REST
        kinds = {"markdown": "the Markdown cell", "raw": "the raw cell"}
        try:
            found = json.loads(self.data.decode("utf-8-sig"))
            texts = [
                (f"{kinds[cell['cell_type']]} at place {place} of the notebook", "".join(cell["source"]))
                for place, cell in enumerate(found["cells"], 1)
                if cell["cell_type"] in kinds
            ]
        except (ValueError, KeyError, TypeError, RecursionError):
            return NO_REST
        try:
            return Rest(texts, str(found["metadata"]["language_info"]["version"]))
        except (KeyError, TypeError):
            return Rest(texts)


def _source(data: bytes) -> str:
    encoding = lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    if encoding.name in _NO_TEXT:
        raise LookupError(encoding.name)
    return decode_source(data)


def hand_in(name: str, path: Path) -> Handed:
    """Read a submission, no more of it than is graded. Of a large notebook the outputs are left out."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as file:
            # Python makes room for as much as is asked for.
            data = file.read(MAX_BYTES + 1)
            if suffix == ".ipynb" and len(data) > MAX_BYTES:
                data += file.read(MAX_WITH_OUTPUTS + 1 - len(data))
    except OSError as error:
        return Handed(name, suffix, b"", f"{name} cannot be read: {error.strerror}")
    if suffix == ".ipynb" and MAX_BYTES < len(data) <= MAX_WITH_OUTPUTS:
        data = without_outputs(data)
    return Handed(name, suffix, data[: MAX_BYTES + 1])


def find_submissions(places: Sequence[Path]) -> tuple[dict[str, Path], tuple[tuple[str, str], ...]]:
    """Return the submissions at `places`, in the order of their names, and what was passed over, with the
    reasons.

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
    def pass_over(path: str | Path, why: str | None) -> None:
        skipped.append((Path(path).relative_to(folder).as_posix(), why or "cannot be read"))

    for here, folders, names in os.walk(
        folder, onerror=lambda error: pass_over(error.filename, error.strerror)
    ):
        for path in (Path(here, name) for name in (*folders, *names)):
            if why := _passed_over(path):
                # Of hidden files only those are named that might be somebody's work.
                if not path.name.startswith(".") or path.is_dir() or path.suffix.lower() in SUFFIXES:
                    pass_over(path, why)
            elif path.is_file():
                yield path
        folders[:] = [name for name in folders if not _passed_over(Path(here, name))]


def _passed_over(path: Path) -> str:
    """Return why a file or a folder is none of the submissions; empty if it may be one."""
    if path.is_symlink():
        return "it is a link"
    if path.name in (".ipynb_checkpoints", "__pycache__") or "-checkpoint." in path.name:
        return "it is a checkpoint"
    if path.name.startswith((".", "__MACOSX")):
        return "it is hidden"
    if path.is_dir():
        return _not_own(path)
    if not path.is_file():
        return "it is not a file"
    suffix = path.suffix.lower()
    if suffix in ARCHIVES:
        return "it is an archive: unpack it first"
    if suffix not in SUFFIXES:
        return "it is neither a notebook (.ipynb) nor a .py file"
    return _given(path) if suffix == ".py" else ""


def _not_own(folder: Path) -> str:
    """Return why nobody wrote what is in a folder; empty if somebody may have."""
    if folder.name in _PACKAGES:
        return "it is a folder of installed packages"
    # Somebody may have made the environment in the folder of the work itself.
    if not (folder / "pyvenv.cfg").is_file() or any(folder.glob("*.ipynb")) or any(folder.glob("*.py")):
        return ""
    return "it is a virtual environment"


def _given(path: Path) -> str:
    """Return why a .py file is nobody's work; empty if it may be somebody's."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).decode(errors="replace")
    except OSError:
        return ""  # that it cannot be read is said when it is graded
    if path.name == "__init__.py" and not head.strip():
        return "it is empty"
    return "it came with the lab" if _CASES.search(head) else ""


def _names(bases: dict[Path, Path]) -> dict[str, Path]:
    """Return a name for each file: its path within its base; if two would be the same, more of the path."""
    found = {path: path.relative_to(base).parts for path, base in bases.items()}
    while True:
        times = Counter(found.values())
        shared = [path for path, parts in found.items() if times[parts] > 1 and parts != path.parts]
        if not shared:
            return {_clean("/".join(parts)): path for path, parts in found.items()}
        for path in shared:
            found[path] = path.parts[-len(found[path]) - 1 :]


def _clean(name: str) -> str:
    """Return a name that can be shown and written anywhere; one that had to be changed still has no
    double.
    """
    if name.isprintable():
        return name
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"{shown}~{digest(name)[:8]}"


_MADE = re.compile(r"^[ \t]*(?:(?:async )?def |class )(\w+)|^[ \t]*(\w+) *[:=](?!=)", re.MULTILINE)


def names_made(cells: Sequence[str]) -> set[str]:
    """Return the names that these cells may define; nothing in them is run or compiled.

    >>> sorted(names_made(["def add(a):\\n  b = a\\nx: int = 1", "print(add)"]))
    ['add', 'b', 'x']
    """
    return {name for found in _MADE.findall("\n".join(cells)) for name in found if name}
