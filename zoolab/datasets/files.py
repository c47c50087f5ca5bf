"""Where the data sets lie, and their rows as they are read: bounded, one JSON object a line."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, encode_line, excerpt, parse_json

MAX_BYTES = 16 << 20
MAX_LINE = 1 << 20


def folder() -> Path:
    """The folder of the data sets: beside the package in a checkout, within it in a wheel.

    >>> (folder() / "selection-cases").is_dir()
    True
    """
    package = Path(str(files("zoolab")))
    inside = package / "_datasets"
    return inside if inside.is_dir() else package.parent / "datasets"


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file, packed by gzip or not.

    Raises:
        InvalidInput: It cannot be read, or a line is no strict JSON object; names the line.

    >>> next(read_rows(folder() / "selection-cases" / "tools.jsonl"))["name"]
    'scale_service'
    """
    for number, line in enumerate(_lines(path), 1):
        where = f"{path.name}, line {number},"
        try:
            row = parse_json(line)
        except NotStrictJSON as error:
            raise InvalidInput(f"{where} is no JSON: {error}", advice="restore the file") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{where} is {excerpt(row)}", expected="an object")
        yield cast("dict[str, Any]", row)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSONL, packed where the name ends in .gz: the same rows give the same bytes.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl.gz"
    >>> write_rows(path, [{"a": 1}]), list(read_rows(path))
    (None, [{'a': 1}])
    """
    data = "".join(encode_line(row) + "\n" for row in rows).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", advice="choose another place") from None


def _lines(path: Path) -> Iterator[str]:
    """Lines of bounded length, of a file of bounded size, however much it unpacks to."""
    read = 0
    try:
        with _opened(path) as file:
            while line := file.readline(MAX_LINE + 1):
                read += len(line)
                if len(line) > MAX_LINE or read > MAX_BYTES:
                    raise InvalidInput(f"{path.name} is too large", expected=f"lines of {MAX_LINE:,} bytes")
                yield line.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise InvalidInput(f"cannot read {path}: {reason}", expected="a data set of zoolab") from None


def _opened(path: Path) -> io.BufferedIOBase:
    return cast("io.BufferedIOBase", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
