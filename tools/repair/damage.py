"""Valid objects with their schemas, and 24 ways to break the text of one; each row the same at every run.

lost mark       one brace, bracket, quote, colon or comma of the text is missing: 600 objects
all the others  20 objects each
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from zoolab_study.datasets.loading import rows_of

LOST = 600
OTHERS = 20
#: What a careless model takes the one for: the other.
TRANSLATED = {
    "restart the nightly job": "den nächtlichen Auftrag neu starten",
    "Hello, Bob": "Hallo, Bob",
    "New York": "Nueva York",
    "cold: below 0": "kalt: unter 0",
    "it's late": "es ist spät",
    "Ada": "Eva",
    "nginx": "apache",
    "red": "rot",
    "b@x.org": "c@x.org",
    "/var/log/app-1.log": "/var/log/app.log",
    "2026-11-22": "2026-12-22",
    "10:30": "10:50",
    "v1.10": "v1.1",
    "a = b; c": "a = c; b",
    "rm -rf /tmp/x": "rm -rf /tmp",
    'say "hi" to me': "grüße mich",
    "line 1\nline 2": "Zeile 1\nZeile 2",
    "Crème brûlée": "Karamellcreme",
    "": "none",
}
_TAGGED = 'see <a href="x.html">this</a> now'
_CHOICES = (["celsius", "fahrenheit"], ["low", "medium", "high"], ["open", "closed"])
_NAMES = (
    *("name", "city", "days", "unit", "limit", "notify", "tags", "contact", "filter", "hours", "path"),
    *("level", "items", "range", "status", "user", "when", "size", "note", "target", "max_count", "to"),
)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A broken text, what was meant by it, and the schema that both are for."""

    id: str
    kind: str
    raw: str
    meant: dict[str, Any]
    schema: dict[str, Any]


def seeded() -> Iterator[Damaged]:
    """Yield every kind of damage, on objects that it can befall.

    >>> row = next(seeded())
    >>> row.kind, len(json.dumps(row.meant)) > len(row.raw) - 3
    ('lost mark', True)
    """
    for kind, damage in KINDS.items():
        made = 0
        number = 0
        while made < (LOST if kind == "lost mark" else OTHERS):
            number += 1
            chance = random.Random(f"{kind}/{number}")
            schema, meant = _object(chance, 3)
            text = json.dumps(meant, ensure_ascii=False, separators=chance.choice([(", ", ": "), (",", ":")]))
            raw = damage(chance, text, meant, schema)
            if raw and raw != text and not _is_object(raw, meant):
                made += 1
                yield Damaged(f"{kind}/{number}", kind, raw, meant, schema)


def recorded() -> Iterator[Damaged]:
    """Yield the rows of the data set broken-arguments that hold all that was meant."""
    for row in rows_of("broken-arguments"):
        if row["recoverable"]:
            yield Damaged(
                row["id"], "data", row["raw"], row["meant"], {**row["schema"], "title": row["tool"]}
            )


def _is_object(raw: str, meant: dict[str, Any]) -> bool:
    """Return whether a text is an object all the same: it is meant, or another, and nobody sees it."""
    try:
        found = json.loads(raw)
    except ValueError:
        return False
    return isinstance(found, dict) and json.dumps(found) == json.dumps(meant)


def _object(chance: random.Random, depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema of an object, and an object that meets it; some keys may be left out, and some are."""
    names = chance.sample(_NAMES, chance.randint(2 if depth == 3 else 1, 4))
    made = {name: _value(chance, depth - 1) for name in names}
    optional = [name for name in names[1:] if chance.random() < 0.4]
    left_out = [name for name in optional if chance.random() < 0.4]
    schema = {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in made.items()},
        "required": [name for name in names if name not in optional],
        "additionalProperties": False,
    }
    return schema, {name: value for name, (_, value) in made.items() if name not in left_out}


def _value(chance: random.Random, depth: int) -> tuple[dict[str, Any], Any]:
    kind = chance.choice(("text", "text", "choice", "integer", "number", "boolean", "list", "object"))
    if kind == "object" and depth > 0:
        return _object(chance, depth)
    if kind == "list" and depth > 0:
        seed = chance.random()
        items = [_value(random.Random(seed), depth - 1) for _ in range(chance.randint(1, 3))]
        return {"type": "array", "items": items[0][0]}, [_like(chance, *item) for item in items]
    if kind == "choice":
        choices = chance.choice(_CHOICES)
        return {"type": "string", "enum": choices}, chance.choice(choices)
    plain = {"integer": {"type": "integer"}, "number": {"type": "number"}, "boolean": {"type": "boolean"}}
    schema = plain.get(kind, {"type": "string"})
    return schema, _like(chance, schema, 0)


def _like(chance: random.Random, schema: dict[str, Any], value: Any) -> Any:
    """Return another value that meets a schema; of lists and objects the same one."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    made: dict[str, Callable[[], Any]] = {
        "string": lambda: chance.choice([*TRANSLATED, _TAGGED]),
        "integer": lambda: chance.choice([-5, 0, 7, 12, 120, 4096]),
        "number": lambda: chance.choice([-1.5, 0.25, 2.5, 7.0, 98.6]),
        "boolean": lambda: chance.random() < 0.5,
    }
    return made[schema["type"]]() if schema["type"] in made else value


_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')


def marks(text: str, wanted: str) -> list[int]:
    """Return where a text has a mark of its structure: outside strings, or at the ends of one."""
    places: list[int] = []
    for found in _MARK.finditer(text):
        places += [found.start()] if found[0][0] != '"' else [found.start(), found.end() - 1]
    return [place for place in places if text[place] in wanted]


Damage = Callable[[random.Random, str, dict[str, Any], dict[str, Any]], str]


def _replaced(wanted: str, by: str, last: bool = False) -> Damage:
    """Replace one mark by something else."""

    def damage(chance: random.Random, text: str, *_: Any) -> str:
        places = marks(text, wanted)[-1:] if last else marks(text, wanted)
        if not places:
            return ""
        place = chance.choice(places)
        return text[:place] + by.replace("MARK", text[place]) + text[place + 1 :]

    return damage


def _rewritten(pattern: str, by: str | Callable[[re.Match[str]], str]) -> Damage:
    """Write in another way all that a pattern finds outside strings, or a string as a whole."""
    either = re.compile(rf'(?P<it>{pattern})|"(?:[^"\\]|\\.)*"')

    def written(found: re.Match[str]) -> str:
        if not found["it"]:
            return found[0]
        return by if isinstance(by, str) else by(found)

    return lambda _, text, *__: either.sub(written, text)


_STRING = r'"(?:[^"\\]|\\.)*"'
_KEY = r'"\w+"(?=:)'
_PYTHON = {"true": "True", "false": "False", "null": "None"}


def _bare_key_without_comma(chance: random.Random, text: str, *_: Any) -> str:
    places = [found.start() for found in re.finditer(r', ?"\w+":', text) if found.start() in marks(text, ",")]
    if not places:
        return ""
    place = chance.choice(places)
    return text[:place] + re.sub(r'\A, ?"(\w+)":', r" \1:", text[place:])


def _retyped(change: Callable[[Any, dict[str, Any]], Any]) -> Damage:
    """Write some values as another type, or in another case."""

    def changed(value: Any, schema: dict[str, Any]) -> Any:
        if isinstance(value, dict):
            return {key: changed(item, schema["properties"][key]) for key, item in value.items()}
        if isinstance(value, list):
            return [changed(item, schema["items"]) for item in value]
        return change(value, schema)

    return lambda _, __, meant, schema: json.dumps(changed(meant, schema), ensure_ascii=False)


KINDS: dict[str, Damage] = {
    "lost mark": _replaced('{}[]":,', ""),
    "cut off": lambda chance, text, *_: text[: chance.randrange(2, len(text))],
    "comma at the end": _replaced("}]", ",MARK"),
    "comma at the start": _replaced("{[", "MARK,"),
    "comma twice": _replaced(",", ",,"),
    "; for ,": _rewritten(",", ";"),
    "= for :": _rewritten(":", "="),
    "one more brace": _replaced("}", "}}", last=True),
    "} for ]": _replaced("]", "}"),
    "single quotes": _rewritten(
        _STRING, lambda m: "'" + m[0][1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    ),
    "curly quotes": _rewritten(_STRING, lambda found: f"“{found[0][1:-1]}”"),
    "&quot;": lambda _, text, *__: html.escape(text),
    "bare keys": _rewritten(_KEY, lambda found: found[0][1:-1]),
    "bare key, no comma": _bare_key_without_comma,
    "Python's literals": _rewritten("true|false|null", lambda found: _PYTHON[found[0]]),
    "upper case literals": _rewritten("true|false|null", lambda found: found[0].upper()),
    "quotes in a text": lambda _, text, *__: text.replace('\\"', '"'),
    "line break in a text": lambda _, text, *__: text.replace("\\n", "\n"),
    "comment": _replaced(",", ", // as asked\n"),
    "fence": lambda _, text, *__: f"```json\n{text}\n```",
    "talk": lambda _, text, *__: f"Here are the arguments: {text}\nLet me know how it goes.",
    "encoded twice": lambda _, text, *__: json.dumps(text),
    "7.0 for an integer": _retyped(lambda value, _: value + 0.0 if type(value) is int else value),
    "case of a choice": _retyped(lambda value, schema: value.title() if "enum" in schema else value),
}
