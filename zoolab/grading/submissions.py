"""The submissions of a class: which files there are, and what each is called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.grading.source import MAX_BYTES
from zoolab.jsontext import digest

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
        raise InvalidInput(f"there is no {place}", expected="a submission, or a folder of them")
    elif not _is_submission(place.name):
        unpack = "unpack it first" if _is_archive(place.name) else ""
        raise InvalidInput(
            f"{place} is no submission", expected="a notebook (.ipynb) or a .py file", advice=unpack
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
    """Why a file or a folder is none of the submissions; empty where it may be one."""
    if entry.is_symlink():
        return "it is a link"
    if entry.name in (".ipynb_checkpoints", "__pycache__") or "-checkpoint." in entry.name:
        return "it is a checkpoint"
    if entry.name.startswith((".", "__MACOSX")):
        return "it is hidden"
    if entry.is_dir():
        return ""
    if not entry.is_file():
        return "it is no file"
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
