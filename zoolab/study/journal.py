"""The journal of an experiment: JSONL, a line a run, written as runs end and read when it is asked for.

    {"event": "experiment", "format": "zoolab-experiment", "version": 3, ...}
    {"event": "part", "name": "9f..", "value": ...}                  what many runs share, once
    {"event": "run", "run": "4c..", "meta": {...}, "scores": {...}, "trace": {...}, ...}

Lines are only appended, each with one write, so that a process that is killed loses none that it had
written; the file is synced once a second and at the end, which is what a power cut may cost.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from zoolab.errors import InvalidInput, InvalidTrace
from zoolab.files import locked
from zoolab.jsontext import excerpt

__all__ = ["Journal", "heal"]

FORMAT, VERSION = "zoolab-experiment", 3
MAX_LINE = 64 << 20

_HEADER = f'{{"event":"experiment","format":"{FORMAT}","version":{VERSION}}}\n'.encode()
_RUN = re.compile(rb'\{"event":"run","run":"([0-9a-f]{28})"')
_PART = re.compile(rb'\{"event":"part","name":"([0-9a-f]{16})"')
_EXPECTED = "a journal as zoolab writes it"
_SYNC_SECONDS = 1.0
_BLOCK = 1 << 16


class Journal:
    """A journal, open for appending; nobody else can have it open at the same time.

    Args:
        path: The file; it is made, or healed and gone on with.

    Raises:
        InvalidInput: It holds something else, cannot be opened, or somebody else writes it.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "runs.jsonl"
    >>> with Journal(path) as journal:
    ...     journal.append([b'{"event":"run","run":"0000000000000000000000000000"}\\n'])
    [64]
    >>> with Journal(path) as journal:
    ...     dict(journal.runs())
    {'0000000000000000000000000000': 64}
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = ExitStack()
        self._end = 0
        try:
            make_folder(path.parent)
            self._open.enter_context(locked(path.with_name(f".{path.name}.lock")))
            self._file = self._open.enter_context(_opened(path))
            self._begin()
        except BaseException:
            self._open.close()
            raise
        self._synced = time.monotonic()
        self._parts: set[str] = {name for name, _ in _places(self.path, _PART)}

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Sync and let go."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
        self._open.close()

    def runs(self) -> Iterator[tuple[str, int]]:
        """The names of the runs that are there, and where their lines begin."""
        return _places(self.path, _RUN)

    def add_parts(self, parts: Mapping[str, str]) -> None:
        """Keep what is not there yet."""
        new = {name: text for name, text in parts.items() if name not in self._parts}
        if new:
            lines = [f'{{"event":"part","name":"{name}","value":{text}}}\n' for name, text in new.items()]
            self.append([as_bytes(line) for line in lines])
            self._parts.update(new)

    def append(self, lines: list[bytes]) -> list[int]:
        """Write lines; returns where each begins."""
        end = self._end
        places: list[int] = []
        for line in lines:
            places.append(end)
            end += len(line)
        _write(self._file, b"".join(lines), self.path)
        self._end = end
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
        return places

    def _begin(self) -> None:
        check_begin(self._file, _HEADER, self.path)
        self._end = heal(self._file)
        if self._end == 0:
            self._end = len(_HEADER)
            _write(self._file, _HEADER, self.path)
        check_header(self.path)


class Reader:
    """Reads the runs of a journal, each when it is asked for.

    >>> Reader(Path("no-such-file.jsonl"))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: cannot read no-such-file.jsonl: No such file or directory; expected a journal
    """

    def __init__(self, path: Path, home: object = None) -> None:
        check_header(path)
        self.path = path
        #: The temporary folder that the file is in, which goes with the last reader.
        self.home = home
        self._parts: dict[str, int] = {}
        self.part = lru_cache(maxsize=256)(self._part)

    def runs(self) -> Iterator[tuple[str, int]]:
        """The names of the runs, and where their lines begin."""
        return _places(self.path, _RUN)

    def at(self, places: Iterable[int]) -> Iterator[dict[str, Any]]:
        """The lines that begin at these places."""
        with self.path.open("rb") as file:
            for place in places:
                file.seek(place)
                yield _parsed(file.readline(MAX_LINE), self.path)

    def _part(self, name: str) -> Any:
        if name not in self._parts:
            self._parts = dict(_places(self.path, _PART))
        if name not in self._parts:
            raise InvalidTrace(
                f"the part {excerpt(name)} is missing", expected="a journal as zoolab writes it"
            )
        return next(self.at([self._parts[name]]))["value"]


def check_begin(file: BinaryIO, begin: bytes, path: Path) -> None:
    """Raise `InvalidInput` where a file that has content begins in another way: it is left as it is.

    >>> import io
    >>> check_begin(io.BytesIO(b"dear diary"), _HEADER, Path("notes"))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: notes holds something else; choose another file
    """
    file.seek(0)
    found = file.read(len(begin))
    if found != begin[: len(found)]:
        raise InvalidInput(f"{path} holds something else", advice="choose another file")


def heal(file: BinaryIO) -> int:
    """Cut off a last line that was never finished; returns the length of the file.

    >>> import tempfile
    >>> file = tempfile.TemporaryFile()
    >>> file.write(b'{"a":1}\\n{"b'), heal(file)
    (11, 8)
    """
    end = file.seek(0, os.SEEK_END)
    at = end
    while at > 0:
        begin = max(0, at - _BLOCK)
        file.seek(begin)
        newline = file.read(at - begin).rfind(b"\n")
        if newline >= 0:
            at = begin + newline + 1
            break
        at = begin
    if at < end:
        file.truncate(at)
    return file.seek(0, os.SEEK_END)


def as_bytes(line: str) -> bytes:
    """A line of JSON as UTF-8, lone surrogates escaped.

    >>> as_bytes('"\\\\ud800"'), as_bytes('"é"')
    (b'"\\\\ud800"', b'"\\xc3\\xa9"')
    """
    try:
        return line.encode()
    except UnicodeEncodeError:
        return (json.dumps(json.loads(line), separators=(",", ":")) + "\n" * line.endswith("\n")).encode()


def check_header(path: Path) -> None:
    """Raise `InvalidInput` where a file is no journal.

    >>> check_header(Path(__file__))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: ...journal.py is no journal of an experiment; choose another file
    """
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(1 << 16))
            known = first.get("format") == FORMAT and first.get("version") == VERSION
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", expected="a journal") from None
    except (ValueError, AttributeError, RecursionError):
        known = False
    if not known:
        raise InvalidInput(f"{path} is no journal of an experiment", advice="choose another file")


def make_folder(folder: Path) -> None:
    """Make a folder that may be there already.

    >>> make_folder(Path(__file__) / "sub")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: cannot make ...sub: Not a directory; choose another place
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make {folder}: {error.strerror}", advice="choose another place") from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("a+b", buffering=0)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", advice="choose another place") from None


def _write(file: BinaryIO, data: bytes, path: Path) -> None:
    """A full disk may take a part of it; the rest is tried once more, and then it is an error."""
    try:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", advice="make room, and resume") from None


def _places(path: Path, pattern: re.Pattern[bytes]) -> Iterator[tuple[str, int]]:
    with path.open("rb") as file:
        place = 0
        for line in file:
            found = pattern.match(line)
            if found and line.endswith(b"\n"):
                yield found[1].decode(), place
            place += len(line)


def _parsed(line: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidTrace(f"{path.name}: {error}", expected=_EXPECTED) from None
    if not isinstance(value, dict):
        raise InvalidTrace(f"{path.name}: {excerpt(value)}", expected=_EXPECTED)
    return value
