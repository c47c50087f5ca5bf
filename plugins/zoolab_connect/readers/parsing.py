"""A file as JSON values: one, several, or one a line; what is odd in it is noted and not refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt, is_utf8, nesting
from zoolab_connect.readers.found import Unread

#: Levels of brackets: spans with structured attributes need five for one of a message.
MAX_DEPTH = 200
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


def text_in(content: bytes) -> str:
    """Return the text of a file; raises `InvalidInput` if it is none."""
    coding = next((coding for mark, coding in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return content.decode(coding)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"byte {error.start:,} is not {coding.upper()}", expected="text") from None


def values_in(text: str, unread: Unread) -> list[Any]:
    """Return the JSON values of a text, one after the other; raises `InvalidInput` if it begins with none.

    NaN and numbers that are too large become text. Lines between the values are noted.

    >>> values_in('{"a": NaN}', Unread()), values_in("[1]\\n[2]\\n", Unread())
    ([{'a': 'NaN'}], [[1], [2]])
    """
    if nesting(text, MAX_DEPTH) > MAX_DEPTH:
        raise InvalidInput("its brackets are nested too deep", expected=f"at most {MAX_DEPTH} levels")
    text = _without_surrogates(text, unread)
    return list(_values(text, unread))


def _values(text: str, unread: Unread) -> Iterator[Any]:
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _made(pairs, unread), parse_constant=str, parse_float=_number
    )
    at = 0
    found = False
    if not text.strip():
        raise InvalidInput("it is empty", expected="a file of JSON")
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, at) + 1
            why = _reason(error)
            following = _next_value(text, at)
            if following < 0 and not found:
                raise InvalidInput(f"it is not JSON: {why}", expected="a file of JSON") from None
            unread.add(f"line {line:,}", f"not JSON, left out: {why}")
            at = len(text) if following < 0 else following
        else:
            found = True
            yield _mended(value, unread)


def _reason(error: Exception) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "a number is too long" if isinstance(error, ValueError) else "it is nested too deep"
    what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
    return f"{what} at line {error.lineno:,} column {error.colno:,}"


def _next_value(text: str, at: int) -> int:
    """Return where the next line begins that may be a value; -1 if there is none."""
    places = (text.find(f"\n{bracket}", at) for bracket in "{[")
    return min((place + 1 for place in places if place >= 0), default=-1)


def _made(pairs: list[tuple[str, Any]], unread: Unread) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        unread.add(f"the key {excerpt(twice)}", "it is there twice in one object; the last one counts")
    return made


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text[:40]


def _without_surrogates(text: str, unread: Unread) -> str:
    if is_utf8(text):
        return text
    unread.add("the file", "it has lone surrogates, which are no text; � stands for them")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mended(value: Any, unread: Unread) -> Any:
    """Return the value without lone surrogates, which JSON may escape."""
    text = json.dumps(value, ensure_ascii=False)
    return value if is_utf8(text) else json.loads(_without_surrogates(text, unread))
