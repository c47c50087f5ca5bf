"""The guards: what a repair may change, and whether a proposal keeps to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Literal

from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.repair.reading import WORD, read, read_word
from zoolab.repair.wrapping import Refused, unwrapped
from zoolab.schema.checker import SchemaChecker

#: What a repair may change. strict: no value, and nothing is completed; words: JSON's own marks, but no word
#: and no number; schema: as words, and a value to the nearest that the schema allows; None: anything.
Guard = Literal["strict", "words", "schema"] | None
Schema = dict[str, Any] | None

_WORD = re.compile(r"""[^\s{}\[\],:"'“”‘’`\\]+""")
_ESCAPE = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|["'\\/bfnrt])""")
#: A value that is changed to another is at most so many words long.
_MAX_WORDS = 8
#: What a text must have in common with the nearest choice.
_SIMILAR = 0.6
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def keeps_intent(raw: str, proposed: str) -> bool:
    """Whether `raw` is a sloppy way to write the JSON `proposed`: no word is lost, added or moved.

    A number or a boolean may stand in quotes in `raw`, a pair may stand there twice, and brackets may be
    missing at its end. Strings that are not closed, and more than one object, keep nothing. Never raises.

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
    if isinstance(proposed, dict | list) or type(written) is not type(proposed) or written != proposed:
        raise Refused(f"{excerpt(proposed)} is not what stands in the text: {excerpt(written)}")


def check(guard: Guard, raw: str, proposed: Any, schema: Schema) -> None:
    """Raise `Refused` with what the guard has against a proposal. What a guard accepts, weaker ones do.

    >>> check("words", '{"to": Ada Lovelace"}', {"to": "Ada Lovelace"}, None)
    >>> check("words", '{"n": 7', {"n": 8}, None)
    Traceback (most recent call last):
    zoolab.repair.wrapping.Refused: a word of the text is lost, added or moved
    """
    if guard == "schema" and (problem := problem_of(proposed, schema)):
        raise Refused(problem)
    if guard is None:
        return
    try:
        written, may_go_on = read(raw, lambda value: not problem_of(value, schema))
        _check_same(written, proposed)
        if may_go_on:
            raise Refused("the text ends where more may follow")
    except Refused:
        if guard == "strict":
            raise
        nearest_too = guard == "schema"
        inner = unwrapped(raw)
        texts = (inner, _ESCAPE.sub(_unescaped, inner))
        if not any(_says_all(_words_of(text), proposed, schema, nearest_too) for text in texts):
            raise Refused("a word of the text is lost, added or moved") from None


def problem_of(value: Any, schema: Schema) -> str:
    """The first thing that is wrong with a value; empty if it meets the schema."""
    problems = SchemaChecker(schema or {}).problems(value)
    return problems[0].message if problems else ""


def _unescaped(found: re.Match[str]) -> str:
    return str(parse_json(f'"{found[0]}"')) if found[0] != "\\'" else "'"


def _words_of(text: str) -> list[str]:
    """The words and numbers of a text: all that is not white space, a quote or a mark of JSON."""
    return [word for word in _WORD.findall(text) if word not in ("=", "=>")]


def _says_all(words: list[str], proposed: Any, schema: Schema, nearest_too: bool) -> bool:
    """Whether keys and values say the words, one after the other, each once."""
    reached = {0}
    for leaf, known in _leaves(proposed, schema):
        choices = known if nearest_too else None
        reached = {end for start in reached for end in _ends(words, start, leaf, choices)}
    return len(words) in reached


def _leaves(value: Any, schema: Any) -> Iterator[tuple[Any, Schema]]:
    """Keys and plain values in order, values with their schemas."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, None
            yield from _leaves(item, _inner(schema, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, _inner(schema))
    else:
        yield value, schema if isinstance(schema, dict) else None


def _inner(schema: Any, key: str | None = None) -> Any:
    """The schema of a property, or of the items of a list; None if there is none."""
    inner = schema.get("items" if key is None else "properties") if isinstance(schema, dict) else None
    return inner.get(key) if key is not None and isinstance(inner, dict) else inner


def _ends(words: list[str], start: int, leaf: Any, choices: Schema) -> Iterator[int]:
    """Where the words end that a key or a value stands for."""
    if isinstance(leaf, str):
        said = _words_of(leaf)
        if words[start : start + len(said)] == said:
            yield start + len(said)
    elif start < len(words) and _same_value(read_word(words[start]), leaf):
        yield start + 1
    for end in range(start + 1, min(start + _MAX_WORDS, len(words)) + 1) if choices else ():
        near = nearest(" ".join(words[start:end]), choices)
        if near == leaf and type(near) is type(leaf):
            yield end


def _same_value(one: Any, other: Any) -> bool:
    """Whether two values are the same; 7.0 and 7 are."""
    numbers = {type(one), type(other)} <= {int, float}
    return bool(one == other) and (numbers or type(one) is type(other))


def nearest(value: Any, schema: Any) -> Any:
    """The nearest that a schema allows to a plain value; the value itself if nothing is near.

    >>> nearest("Celsius", {"enum": ["celsius", "kelvin"]}), nearest("7.2", {"type": "integer"})
    ('celsius', 7)
    >>> nearest(120, {"type": "integer", "maximum": 100}), nearest("nine", {"type": "integer"})
    (100, 'nine')
    """
    if not isinstance(schema, dict) or isinstance(value, dict | list):
        return value
    if isinstance(choices := schema.get("enum"), list):
        return value if value in choices else _most_similar(str(value), choices)
    types = types_of(schema)
    if "string" in types:
        return value
    said = read_word(value) if isinstance(value, str) else value
    if isinstance(said, str) and "boolean" in types:
        return _BOOLEANS.get(said.casefold(), value)
    if type(said) not in (int, float) or not types & {"integer", "number"}:
        return said if said is None or isinstance(said, bool) else value
    for bound, choose in (("minimum", max), ("maximum", min)):
        limit = schema.get(bound)
        said = choose(said, limit) if type(limit) in (int, float) else said
    return said if "number" in types else round(said)


def _most_similar(said: str, choices: list[Any]) -> Any:
    """The one choice that a text is like; the text itself if it is like none, or like two."""
    matched = {
        choice: SequenceMatcher(None, said.casefold(), choice.casefold()).ratio()
        for choice in choices
        if isinstance(choice, str)
    }
    best = max(matched.values(), default=0)
    found = [choice for choice, ratio in matched.items() if ratio == best]
    return found[0] if best >= _SIMILAR and len(found) == 1 else said


def types_of(schema: dict[str, Any]) -> set[str]:
    """The types that a schema names; "string" as well, if it may take anything."""
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list) and branches and all(isinstance(branch, dict) for branch in branches):
        return set().union(*map(types_of, branches))
    named = schema.get("type")
    names = {named} if isinstance(named, str) else set(named) if isinstance(named, list) else set()
    return names or {"string"}


def fitted(value: Any, schema: Any, guard: Guard) -> Any:
    """The value with each plain value in it as near to the schema as the guard allows."""
    if isinstance(value, dict):
        return {key: fitted(item, _inner(schema, key), guard) for key, item in value.items()}
    if isinstance(value, list):
        return [fitted(item, _inner(schema), guard) for item in value]
    if not isinstance(schema, dict):
        return value
    if guard not in ("strict", "words"):
        return nearest(value, schema)
    types = types_of(schema)
    if guard == "words" and type(value) is float and "integer" in types and not types & {"number", "string"}:
        return int(value) if value.is_integer() else value
    if not isinstance(value, str) or "string" in types or not WORD.fullmatch(value):
        return value
    if types <= {"boolean", "null"} and value in ("true", "false"):
        return value == "true"
    if types <= {"integer", "number", "null"} and types & {"integer", "number"}:
        number = read_word(value)
        exact = type(number) is int or (type(number) is float and "number" in types)
        return number if exact and encode(number) == value else value
    return value
