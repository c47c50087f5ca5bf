"""The guards: what a repair may change, and whether a proposal keeps to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from zoolab.errors import InvalidSchema
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.repair.parts import inner, properties
from zoolab.repair.reading import read, read_inside, read_word
from zoolab.repair.unwrapping import Refused, unwrapped
from zoolab.schema.checker import SchemaChecker, check_schema_bounds

#: What a repair may change. strict: no value, and nothing is completed; words: JSON's own marks, but no word
#: and no number; schema: as words, and a value to the nearest that the schema allows; None: anything.
Guard = Literal["strict", "words", "schema"] | None
Schema = dict[str, Any] | None

#: Words and numbers: all that is not white space, a quote or a mark of JSON.
_WORD = re.compile(r"""[^\s{}\[\],:"'“”‘’`\\]+""")
#: A value that is changed to another is at most so many words long.
_MAX_WORDS = 8
#: To look for so many values, each at the places where it may begin, takes a few seconds at most.
_MAX_READINGS = 1_000
#: What may close the last value of a text.
_CLOSERS = "}]"
_QUOTES = "\"'”’"
#: An empty string, and what may close the text after it.
_EMPTY = re.compile(r"""["'“‘]\s*+["'”’][\s}\]]*+\Z""")
#: Whole numbers below this are exact as floats.
_EXACT = 1 << 53


def keeps_intent(raw: str, proposed: str) -> bool:
    """Tell whether `raw` is a sloppy way to write the JSON `proposed`: no word is lost or added.

    A number, a boolean, a list or an object may stand in quotes in `raw`, 5 may be written as 5.0, a pair
    or all of it may stand there twice, and brackets may be missing at its end. Strings that are not closed,
    and two different objects, keep nothing. Never raises.

    >>> keeps_intent("{'to': 'Ada', 'n': '58'", '{"to": "Ada", "n": 58}')
    True
    >>> keeps_intent('{"to": "Ada"', '{"to": "Bob"}'), keeps_intent('{"to": "Ad', '{"to": "Ad"}')
    (False, False)
    """
    try:
        _check_same(read(raw)[0], parse_json(proposed))
    except (Refused, NotStrictJSON):
        return False
    return True


def _check_same(written: Any, proposed: Any) -> None:
    if isinstance(written, str) and isinstance(proposed, dict | list):
        written = read_inside(written)
    if isinstance(written, dict) and isinstance(proposed, dict) and list(written) == list(proposed):
        for key in written:
            _check_same(written[key], proposed[key])
        return
    if isinstance(written, list) and isinstance(proposed, list) and len(written) == len(proposed):
        for one, other in zip(written, proposed, strict=True):
            _check_same(one, other)
        return
    if isinstance(written, str) and isinstance(proposed, bool | int | float):
        written = read_word(written)
    if _is_whole(written) and type(proposed) is int and written == proposed:
        return
    if isinstance(proposed, dict | list) or type(written) is not type(proposed) or written != proposed:
        raise Refused(f"{excerpt(proposed)} is not what stands in the text: {excerpt(written)}")


def _is_whole(value: Any) -> bool:
    """Tell whether a number such as 5.0 equals 5; a larger one may have lost digits."""
    return type(value) is float and value.is_integer() and abs(value) < _EXACT


def check_guard(guard: Guard, raw: str, proposed: Any, schema: Schema) -> None:
    """Raise `Refused` with what the guard has against a proposal. What a guard accepts, weaker ones do."""
    if guard == "schema" and (problem := problem_of(proposed, schema)):
        raise Refused(problem)
    if guard is None:
        return
    try:
        _check_same(read_all(raw, schema, "strict"), proposed)
    except Refused:
        if guard == "strict":
            raise
        words = _WORD.findall(unwrapped(raw))
        reached = {0}
        readings = 0
        for leaf, known in _leaves(proposed, schema):
            choices = known if guard == "schema" else None
            readings += len(reached) if choices else 0
            if readings > _MAX_READINGS:
                raise Refused("the text can be read in too many ways") from None
            reached = {end for start in reached for end in _ends(words, start, leaf, choices)}
        if len(words) not in reached:
            raise Refused("a word of the text is lost, added or moved") from None
    check_end(raw, proposed)


def check_end(raw: str, proposed: Any) -> None:
    """Raise `Refused` if the last value may go on: no quote and no bracket of its own ends it in the text.

    >>> check_end('{"to": "Ada"', {"to": "Ada"})
    >>> check_end('{"path": "/home', {"path": "/home"})
    Traceback (most recent call last):
    zoolab.repair.unwrapping.Refused: the text ends in the middle of a value, or where more may follow
    """
    with suppress(Refused):
        if not read(raw)[2]:
            return
    text = unwrapped(raw).rstrip()
    leaf = proposed
    while isinstance(leaf, dict | list) and leaf:
        leaf = list(leaf.values())[-1] if isinstance(leaf, dict) else leaf[-1]
    if not isinstance(leaf, str):
        is_cut = type(leaf) in (int, float) and text[-1:] not in (*_CLOSERS, *_QUOTES)
    elif leaf.strip():
        is_cut = text.endswith(
            tuple(form.rstrip() for form in (leaf, encode(leaf)[1:-1], json.dumps(leaf)[1:-1]))
        )
    else:
        is_cut = not _EMPTY.search(text)
    if is_cut or text[-1:] in tuple("{[,;:=\\"):
        raise Refused("the text ends in the middle of a value, or where more may follow")


def problem_of(value: Any, schema: Schema) -> str:
    """Find the first problem of a value; empty if it meets the schema."""
    check_schema_bounds(schema or {})
    problems = _checker(encode(schema or {})).problems(value)
    return problems[0].message if problems else ""


@lru_cache(maxsize=256)
def _checker(schema: str) -> SchemaChecker:
    """Return a checker that is compiled once, since a guard judges each word by the schema of its value; to
    compile takes longest.
    """
    return SchemaChecker(json.loads(schema))


def _leaves(value: Any, schema: Any) -> Iterator[tuple[Any, Schema]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, None
            yield from _leaves(item, inner(schema, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, inner(schema))
    else:
        yield value, schema if isinstance(schema, dict) else None


def _ends(words: list[str], start: int, leaf: Any, choices: Schema) -> Iterator[int]:
    if isinstance(leaf, str):
        for written in (leaf, encode(leaf), json.dumps(leaf)):  # `\n` may be written as such, or as an escape
            own = _WORD.findall(written)
            if words[start : start + len(own)] == own:
                yield start + len(own)
    elif start < len(words):
        said = read_word(words[start])  # 7.0 says the same as 7, and true not the same as 1
        if said == leaf and isinstance(said, bool) == isinstance(leaf, bool):
            yield start + 1
    if not choices:
        return
    for end in range(start + 1, min(start + _MAX_WORDS, len(words)) + 1):
        written = " ".join(words[start:end])
        like = (each for each in _near(written, choices) if each == leaf and type(each) is type(leaf))
        if any(True for _ in like) and nearest(written, choices) == leaf:
            yield end


def nearest(value: Any, schema: Any) -> Any:
    """Find the allowed value that is nearest to a plain one; the value itself if none is near."""
    if isinstance(schema, dict):
        with suppress(InvalidSchema, StopIteration):
            return next(each for each in _near(value, schema) if not problem_of(each, schema))
    return value


def _near(value: Any, schema: dict[str, Any]) -> list[Any]:
    """List a value and those near to it, the nearest first, whether the schema allows them or not."""
    said = read_word(value) if isinstance(value, str) else value
    near = [value, said]
    if isinstance(choices := schema.get("enum"), list):
        folded = {each.casefold(): each for each in choices if isinstance(each, str)}
        word = str(value).casefold()
        similar = [word] if word in folded else get_close_matches(word, folded, n=2)
        near += [folded[each] for each in similar] if len(similar) == 1 else []
    if type(said) in (int, float) and isfinite(said):
        bounds = [each for each in map(schema.get, ("minimum", "maximum")) if type(each) in (int, float)]
        near += [round(said), *sorted(bounds, key=lambda bound: abs(bound - said))]
    return near


def fitted(value: Any, schema: Any, guard: Guard) -> Any:
    """Move each plain value in a value as near to the schema as the guard allows."""
    if isinstance(value, dict):
        return {key: fitted(item, inner(schema, key), guard) for key, item in value.items()}
    if isinstance(value, list):
        return [fitted(item, inner(schema), guard) for item in value]
    if (opened := _opened(value, schema, guard)) is not None:
        return opened
    near = nearest(value, schema)
    written = isinstance(value, str) and near is not None and encode(near) == value
    written |= _is_whole(value) and type(near) is int and near == value
    if guard in ("schema", None) or written or (guard == "words" and near == value):
        return near
    return value


def _opened(value: Any, schema: Any, guard: Guard) -> Any:
    """Read the list or object in a string, if the schema takes that and not the string; else None."""
    inside = read_inside(value) if isinstance(value, str) and isinstance(schema, dict) else None
    with suppress(InvalidSchema):
        if inside is not None and problem_of(value, schema):
            made = fitted(inside, schema, guard)
            return None if problem_of(made, schema) else made
    return None


def fits(value: Any, schema: Schema, guard: Guard) -> bool:
    """Tell whether a value meets the schema, as far as the guard lets it."""
    return not problem_of(fitted(value, schema, guard), schema)


def read_all(raw: str, schema: Schema, guard: Guard) -> Any:
    """Read the one value of a text and fit it. If the schema asks for an object, it is a whole one."""
    value, unclosed, is_cut = read(raw, lambda value: fits(value, schema, guard))
    asked = isinstance(schema, dict) and (schema.get("type") == "object" or "properties" in schema)
    if asked and (_has_room(one_object(value), schema, unclosed) or is_cut):
        raise Refused("the text ends where more may follow")
    return fitted(value, schema, guard)


def one_object(value: Any) -> dict[str, Any]:
    """Return the value; raise `Refused` if it is not an object."""
    if not isinstance(value, dict):
        raise Refused(f"not one object: {excerpt(value)}")
    return value


def _has_room(value: Any, schema: Any, levels: int) -> bool:
    """Tell whether more can follow in a list or object that is not closed, or in one around it."""
    if not levels or isinstance(value, list):
        return levels > 0
    last = next(reversed(value), None)
    return bool(properties(schema) - value.keys()) or (
        last is not None and _has_room(value[last], inner(schema, last), levels - 1)
    )
