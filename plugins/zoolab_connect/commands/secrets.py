"""`zoolab secrets`: what of a file looks like a secret, and would be taken out of a trace or a recording."""

from __future__ import annotations

import argparse
import codecs
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from zoolab.commands.listing import print_json
from zoolab.jsontext import excerpt, visible
from zoolab.secrets import HIDDEN, scrub, scrub_json

#: Characters of a token that are shown: they say whose it is, and nothing of the rest.
_SHOWN = 4
_LONG = 16
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:\Z")
_NAME = re.compile(r"([\w.-]{1,60})\W*\Z")
_BEFORE = 200
#: Bytes of what a packed file may unpack to.
MAX_UNPACKED = 1 << 28
#: How files begin that are not text, though their letters may be.
_PACKED = {
    b"PK\x03\x04": "a zip archive",
    **{b"BZh%d1AY&SY" % level: "packed with bzip2" for level in range(1, 10)},
    b"\xfd7zXZ\x00": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"%PDF-": "a PDF document",
}
#: How text begins that is wider than UTF-8; Windows PowerShell writes the first. UTF-32 begins like UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: The share of zeros at every second byte from which on data is UTF-16, and of strange bytes in text.
_ZEROS = 0.7
_STRANGE = 0.05
#: All bytes but control characters that text does not have; it may have the colours of a terminal.
_OF_TEXT = bytes({*b"\b\t\n\f\r\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
#: Side by side they are one place: where the first one ended cannot be told.
_REMOVED = re.compile(f"(?:{re.escape(HIDDEN)})+")


@dataclass(frozen=True, slots=True)
class Found:
    """A secret in a file. Its value is masked."""

    file: str
    #: The line, and in JSON the path to the value.
    place: str
    #: What tells that it is a secret: its own form, or what stands before it.
    form: str
    value: str


def list_secrets(options: argparse.Namespace) -> int:
    """List the secrets of the files; 1 if there are any, or if a file is not looked through."""
    found = list[Found]()
    unread = 0
    for path in options.files:
        read = texts_in(path.read_bytes())
        found += _in_texts(path, read)
        if read.problem:
            unread += 1
            print(
                f"zoolab: {visible(str(path))} is not looked through as text: {read.problem}", file=sys.stderr
            )
    if options.json:
        print_json([asdict(each) for each in found])
        return int(bool(found or unread))
    for each in found:
        print(visible(f"{each.file}: {each.place}: {each.form}: {each.value}"))
    if not found and not unread:
        print("no secrets found, by the forms that zoolab knows; others may be there")
    return int(bool(found or unread))


def secrets_in(path: Path) -> Iterator[Found]:
    """Yield what looks like a secret in a file: JSON, lines of JSON, or any text, also packed with gzip."""
    return _in_texts(path, texts_in(path.read_bytes()))


def _in_texts(path: Path, read: Texts) -> Iterator[Found]:
    for text in read.texts:
        structured = _in_document(text)
        for place, form, value in _in_lines(text) if structured is None else structured:
            yield Found(str(path), place, form, value)


class Texts(NamedTuple):
    """What a file may say, by each encoding that it may have, and why that is not all of it."""

    texts: tuple[str, ...]
    problem: str = ""


def texts_in(data: bytes) -> Texts:
    """Return the text of a file by its bytes; what is not text has the letters in it, and a problem.

    >>> texts_in("key".encode("utf-16")).texts[0]
    'key'
    >>> texts_in(b"PK\\x03\\x04key").problem
    'it is a zip archive; unpack it first'
    """
    if data.startswith(b"\x1f\x8b"):
        return _unpacked(data)
    plain = data.decode("utf-8-sig", "replace")
    packed = next((what for begin, what in _PACKED.items() if data.startswith(begin)), "")
    if packed:
        return Texts((plain,), f"it is {packed}; unpack it first")
    wide = _wide_encoding(data)
    if wide:  # what only begins like UTF-16 may have a key in plain letters
        return Texts((data.decode(wide, "replace"), plain))
    strange = len(data.translate(None, _OF_TEXT))
    return Texts((plain,), "it is not text" if b"\0" in data or strange > len(data) * _STRANGE else "")


def _wide_encoding(data: bytes) -> str:
    """Return the name of UTF-16 or UTF-32 for data that begins with its mark, or has its zeros; else
    empty.
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    begin = data[: _BEFORE * 10]
    even, odd = (begin[start::2].count(0) / (len(begin) // 2 or 1) for start in (0, 1))
    if max(even, odd) > _ZEROS and min(even, odd) < 1 - _ZEROS:
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""


def _unpacked(data: bytes) -> Texts:
    """Return what gzip has packed; only the bytes as they are, with the problem, if they cannot be
    unpacked.
    """
    try:
        with gzip.open(io.BytesIO(data)) as file:
            inside = file.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error):
        return Texts((), "it begins like a gzip file and cannot be unpacked")
    if len(inside) > MAX_UNPACKED:
        return Texts((), f"it unpacks to more than {MAX_UNPACKED >> 20} MiB; unpack it first")
    if inside.startswith(b"\x1f\x8b"):
        return Texts((), "it is packed twice; unpack it first")
    return texts_in(inside)


#: Place, form, and the masked value.
_Row = tuple[str, str, str]


def _in_document(text: str) -> list[_Row] | None:
    """Return the secrets of a text that is one JSON document; None if it is not."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
        return list(_in_json("", value, scrub_json(value)))
    except (ValueError, RecursionError):
        return None


def _in_lines(text: str) -> Iterator[_Row]:
    """Yield the secrets of any text; those of lines that are JSON are found by the structure, too."""
    by_line: dict[int, list[_Row]] = {}
    at = 1
    counted = 0
    for start, end in _hidden(text, scrub(text)):
        at = at + text.count("\n", counted, start)
        counted = start
        told = _form(text[max(0, start - _BEFORE) : start], text[start:end])
        by_line.setdefault(at, []).append((f"line {at}", *told))
    for number, line in enumerate(text.split("\n"), 1):
        structured = _in_document(line)
        if structured is None:
            yield from by_line.get(number, [])
        else:
            yield from ((f"line {number}, {place}", form, value) for place, form, value in structured)


def _in_json(at: str, value: Any, clean: Any) -> Iterator[_Row]:
    """Yield the secrets of a JSON value, by what it is without them."""
    place = at or "/"
    if isinstance(value, dict) and isinstance(clean, dict):
        for name, member in value.items():
            without = str(scrub_json(name))
            yield from _in_json(f"{at}/{_segment(without)} (its name)", name, without)
            yield from _in_json(f"{at}/{_segment(without)}", member, clean.get(without))
    elif isinstance(value, list) and isinstance(clean, list):
        for index, (member, without) in enumerate(zip(value, clean, strict=True)):
            yield from _in_json(f"{at}/{index}", member, without)
    elif value != clean:
        text = value if isinstance(value, str) else json.dumps(value)
        inside = None if clean == HIDDEN else _in_document(text)
        if inside:
            yield from ((f"{place}, as JSON: {row[0]}", *row[1:]) for row in inside)
        elif clean == HIDDEN:
            own = scrub(text) == HIDDEN
            yield place, *_form("" if own else at.rpartition("/")[2], text)
        else:
            for begin, end in _hidden(text, str(clean)):
                yield place, *_form(text[max(0, begin - _BEFORE) : begin], text[begin:end])


def _segment(name: str) -> str:
    return excerpt(name)[1:-1].replace("~", "~0").replace("/", "~1")


def _hidden(text: str, clean: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text stand that are `HIDDEN` in what is left of it.

    >>> list(_hidden("a=12 b=34", f"a={HIDDEN} b={HIDDEN}"))
    [(2, 4), (7, 9)]
    """
    first, *kept = _REMOVED.split(clean)
    end = len(first)
    for number, part in enumerate(kept, 1):
        last = number == len(kept)
        # Only the head of a private key may have nothing after it.
        empty = text.endswith("-----", 0, end) and text.startswith(part, end)
        start = end
        stop = len(text) - len(part) if last else text.find(part, end + (not empty))
        end = stop + len(part)
        if _REMOVED.sub("", text[start:stop]):  # else it was taken out before
            yield start, stop


def _form(before: str, value: str) -> tuple[str, str]:
    """Return what tells that a value is secret, and the value masked."""
    length = f"({len(value)} characters)"
    if HIDDEN in scrub(value):
        begins = value[:_SHOWN] if len(value) >= _LONG else ""
        return "a token by its form", f"{begins}… {length}"
    if before.rstrip().endswith("-----"):
        return "a private key", f"… {length}"
    if _IN_ADDRESS.search(before):
        return "a password in an address", f"… {length}"
    named = _NAME.search(before)
    return f"what follows {named[1]!r}" if named else "by its place", f"… {length}"
