"""What is wrong with a value in a file, by its schema, in the words of TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.schema.checker import schema_words
from zoolab.schema.drafts import compiled
from zoolab.schema.work import bounded

#: What a schema says, as one says it of a TOML file.
_WORDS = read_table("zoolab_study", "words.toml")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in a file."""

    #: Where it is, key by key.
    where: tuple[str, ...]
    expected: str
    #: What is there instead, in short.
    received: str
    #: Whether the schema does not know the key itself.
    unknown_key: bool = False
    #: The known key that an unknown one resembles; "" if it resembles none.
    meant: str = ""

    def __str__(self) -> str:
        place = ".".join(self.where) or "the file"
        hint = f" (do you mean {self.meant}?)" if self.meant else ""
        return f"{place}: expected {self.expected}, received {self.received}{hint}"


def mistakes_in(value: Any, schema: Mapping[str, Any]) -> list[Mistake]:
    """Return what is wrong with a value; unknown keys come first.

    A key that is misspelt is missing, too: which one it is says more.

    >>> schema = {"properties": {"turns": {"type": "integer"}}, "required": ["turns"]}
    >>> for each in mistakes_in({"turn": 3}, {**schema, "additionalProperties": False}): print(each)
    turn: expected only turns, received 3 (do you mean turns?)
    turns: expected a whole number, received nothing
    """
    judge = compiled(schema)
    with bounded(len(str(value))):
        errors = [*judge.iter_errors(value)]
    found = [mistake for error in errors for mistake in _mistakes_of(error)]
    return sorted(found, key=lambda mistake: not mistake.unknown_key)


def _mistakes_of(error: Any) -> Iterator[Mistake]:
    keyword = error.validator
    limit = error.validator_value
    came = error.instance
    where = tuple(map(str, error.absolute_path))
    known = error.schema.get("properties", {})
    if keyword == "required":
        for name in limit:
            if name not in came:
                yield Mistake((*where, name), _words(known.get(name)), "nothing")
    elif keyword == "additionalProperties" and limit is False:
        for name in came:
            if name not in known:
                meant = get_close_matches(name, known, 1)
                expected = f"only {', '.join(known) or 'no arguments'}"
                yield Mistake((*where, name), expected, excerpt(came[name]), True, "".join(meant))
    elif keyword in ("type", "enum", "anyOf"):
        yield Mistake(where, _words({keyword: limit}), excerpt(came))
    else:
        yield Mistake(
            where, _WORDS["bounds"].get(keyword, f"{keyword} {{}}").format(excerpt(limit)), excerpt(came)
        )


def _words(schema: Any) -> str:
    """Return a schema in the words of TOML if it is plain types; else as other errors say it."""
    kinds = _kinds(schema)
    names = [_WORDS["kinds"].get(kind) for kind in kinds]
    return " or ".join(names) if names and all(names) else schema_words(schema)


def _kinds(schema: Any) -> list[str]:
    """Return the types that a schema allows, without repetition; none if it says more than types."""
    if not isinstance(schema, dict) or "enum" in schema or "const" in schema:
        return []
    if "anyOf" in schema:
        inner = [_kinds(choice) for choice in schema["anyOf"]]
        return list(dict.fromkeys(kind for kinds in inner for kind in kinds)) if all(inner) else []
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)
