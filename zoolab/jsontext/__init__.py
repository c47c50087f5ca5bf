"""Strict JSON in, compact JSON out.

`json.loads` takes NaN, lets the last of two equal keys win, overflows on 4,301 digits and on deep
nesting. Arguments that a model wrote are parsed here instead, within bounds that are checked first.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from html import escape
from typing import Any, NoReturn

from zoolab.errors import visible

__all__ = ["NotStrictJSON", "encode", "excerpt", "one_line", "parse_json", "visible"]

MAX_CHARS = 1 << 20
MAX_DEPTH = 64
MAX_DIGITS = 400

_BRACKETS = re.compile(r"[\[{]+|[\]}]+")
_LONG_NUMBER = re.compile(rf"[0-9.]{{{MAX_DIGITS + 1}}}")
_COMMA = re.compile(r",[ \t\n\r]*+")
_OF_A_COMMA = {
    "Illegal trailing comma before end of object": "Expecting property name enclosed in double quotes",
    "Illegal trailing comma before end of array": "Expecting value",
}


class NotStrictJSON(ValueError):
    """The text is not strict JSON; says where and why.

    `expected` and `received` are short phrases for a person and for a model.
    """

    def __init__(self, expected: str, received: str) -> None:
        super().__init__(f"expected {expected}, received {received}")
        self.expected = expected
        self.received = received


def parse_json(text: str, most: int = MAX_CHARS) -> Any:
    """Parse `text`, of at most so many characters, as strict JSON, or raise `NotStrictJSON`.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    zoolab.jsontext.NotStrictJSON: expected each key once, received the key "a" twice
    """
    if len(text) > MAX_DEPTH:
        _check_bounds(text, most)
    text = text.strip(" \t\n\r")
    try:
        value, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
    except json.JSONDecodeError as error:
        raise _syntax_problem(text, error) from None
    except RecursionError:
        raise NotStrictJSON(f"at most {MAX_DEPTH} levels of nesting", "more") from None
    odd = "\\u" in text or not text.isascii()
    if odd and not (is_utf8(text) and is_utf8(encode(value))):
        raise NotStrictJSON("text that can be sent as UTF-8", "a lone surrogate")
    return value


def json_or(otherwise: Any, text: str, most: int = MAX_CHARS) -> Any:
    """Return the value of a text in strict JSON; `otherwise` if it is not.

    >>> json_or(None, "[1]"), json_or(None, "[1")
    ([1], None)
    """
    try:
        return parse_json(text, most)
    except NotStrictJSON:
        return otherwise


def encode(value: Any) -> str:
    """Return JSON as short as it gets, keys in their own order.

    >>> encode({"b": 1, "a": "é"})
    '{"b":1,"a":"é"}'
    """
    return _COMPACT(value)


def encode_strict(value: Any) -> str:
    """Encode as `encode` does, but NaN and Infinity raise `ValueError`, because they are not JSON."""
    return _STRICT(value)


def decode_line(line: str, depth: int) -> Any:
    """Return the value of a line of a file that a stranger may have written; `NotStrictJSON` if it is not
    JSON.
    """
    if nesting(line, depth) > depth:
        raise NotStrictJSON(f"at most {depth} levels of nesting", "more")
    return _LINES.decode(line)


def nesting(text: str, limit: int = 0) -> int:
    """Return how deep the brackets of a JSON text are nested. With fewer than `limit` of them none is
    counted.
    """
    depth = deepest = 0
    if text.count("{") + text.count("[") <= limit:
        return deepest
    # Without escaped backslashes and quotes, each quote that is left begins or ends a string.
    outside_strings = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    for run in _BRACKETS.findall(outside_strings):
        if run[0] in "[{":
            depth += len(run)
            deepest = max(deepest, depth)
        else:
            depth -= len(run)
    return deepest


def encode_line(value: Any) -> str:
    """Return JSON for a line of a file: as `encode`, but a lone surrogate is escaped, so that it is UTF-8."""
    line = encode(value)
    return line if is_utf8(line) else json.dumps(value)


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values: compact, with sorted keys.

    >>> canonical({"b": 2, "a": 1})
    '{"a":1,"b":2}'
    """
    return _SORTED(value)


def digest(text: str) -> str:
    """Return a 128-bit name for a text, in hexadecimal."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def excerpt(value: Any, limit: int = 80) -> str:
    """Return a value as JSON on one line, cut at `limit` characters and safe for a terminal; never fails.

    >>> excerpt({"city": "Oslo"}), excerpt("x" * 100, limit=9)
    ('{"city":"Oslo"}', '"xxxxxxx…')
    """
    try:
        text = encode(value)
    except Exception:
        text = _short_repr(value)
    text = visible(text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int) -> str:
    """Return text on one line, cut at `limit` characters.

    >>> one_line("a\\n  b", 9), one_line("long" * 9, 6)
    ('a b', 'longl…')
    """
    line = " ".join(text[: limit + 1].split())
    return line if len(text) <= limit else line[: limit - 1] + "…"


def _short_repr(value: Any) -> str:
    try:
        return str.__str__(repr(value))
    except BaseException:
        return f"a {type(value).__name__} that cannot be shown"


def pointer_to(path: Any) -> str:
    """Return the JSON Pointer (RFC 6901) of a path of keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def lines_as_html(*lines: str) -> str:
    """Return lines of text as notebooks show them, cut at 4,000 characters; nothing in them is markup.

    >>> lines_as_html("a < b", "c")
    '<pre>a &lt; b\\nc</pre>'
    """
    text = "\n".join(lines)
    return f"<pre>{escape(visible(text[:4_000]))}{'…' if len(text) > 4_000 else ''}</pre>"


def is_utf8(text: str) -> bool:
    """Return whether the text can be sent: no lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_bounds(text: str, most: int) -> None:
    if len(text) > most:
        raise NotStrictJSON(f"at most {most:,} characters", f"{len(text):,}")
    if nesting(text, MAX_DEPTH) > MAX_DEPTH:
        raise NotStrictJSON(f"at most {MAX_DEPTH} levels of nesting", "more")


def _syntax_problem(text: str, error: json.JSONDecodeError) -> NotStrictJSON:
    if not text.strip():
        return NotStrictJSON("a JSON value", "nothing")
    # Of a trailing comma Python 3.13 says so, older ones what they miss behind it. What a model is told
    # is a part of the next request, by which a recording knows it: it is the same on every Python.
    if error.msg in _OF_A_COMMA and (comma := _COMMA.match(text, error.pos)):
        error = json.JSONDecodeError(_OF_A_COMMA[error.msg], text, comma.end())
    found = excerpt(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the text"
    where = f"{found} at line {error.lineno} column {error.colno}"
    if error.msg == "Extra data":
        return NotStrictJSON("one JSON value and nothing after it", where)
    return NotStrictJSON(f"valid JSON ({error.msg.lower()})", where)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise NotStrictJSON("each key once", f"the key {excerpt(twice)} twice")
    return made


def _short(text: str) -> str:
    """Return the digits of a number, unless they are too many."""
    if len(text) > MAX_DIGITS and _LONG_NUMBER.search(text):
        raise NotStrictJSON(f"numbers of at most {MAX_DIGITS} digits", "a longer one")
    return text


def _whole(text: str) -> int:
    return int(_short(text))


def _finite(text: str) -> float:
    number = float(_short(text))
    if not math.isfinite(number):
        raise NotStrictJSON("a finite number", excerpt(text, 20))
    return number


def _no_constant(name: str) -> NoReturn:
    raise NotStrictJSON("a JSON value", name)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_int=_whole, parse_float=_finite, parse_constant=_no_constant
)
_LINES = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_STRICT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
