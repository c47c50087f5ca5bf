"""Calls of the three tools of lab 3, right ones and broken ones; whether the schema accepts them is judged.

Empty texts and whole numbers with a point are not drawn: the table leaves them open.
"""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any

from zoolab.errors import ZoolabError
from zoolab.jsontext import canonical
from zoolab.schema.checker import SchemaChecker
from zoolab_grader import Student, Wrong

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 0.5, -1, -0.001, 2.5, 200, 201, 10**6, "x", "20", "true", "a\nb", "x" * 9000),
    *("Low", "percent", "urgent", "warn", "ERROR", "warning!", ["x"] * 101),
    *([], ["x"], ["x", 1], [["x"]], {}, {"name": "x"}, {"x": "x"}),
)
RIGHT: dict[str, dict[str, tuple[Any, ...]]] = {
    "check_disk_usage": {"host": ("web1", "ö" * 300), "path": ("/", "a b"), "unit": ("percent", "gigabytes")},
    "search_logs": {
        "service": ("nginx", "a, b"),
        "level": ("debug", "info", "warning", "error"),
        "words": (["a"], ["a", "a"], ["word"] * 40),
        "limit": (1, 2, 100, 200),
    },
    "open_ticket": {
        "title": ("slow", "t" * 500),
        "severity": ("low", "normal", "high"),
        "contact": ({"name": "Ada"}, {"name": "Ö", "email": "x"}, {"name": "Bo", "email": "a@b.example"}),
        "hours": (0, 0.5, 7, 7.25, 9000),
        "public": (True, False),
    },
}


def draw(chance: Random) -> dict[str, Any]:
    """Return a tool, and a call of it with none to three arguments changed, left out or added."""
    name = chance.choice(list(RIGHT))
    call: dict[str, Any] = {key: chance.choice(values) for key, values in RIGHT[name].items()}
    for _ in range(chance.choice([0, 1, 1, 1, 1, 2])):
        _change(chance, call)
    return {"tool": name, "call": call if chance.random() < 0.99 else [call]}


def _change(chance: Random, call: dict[str, Any]) -> None:
    inner = call.get("contact")
    if isinstance(inner, dict) and chance.random() < 0.3:
        call["contact"] = inner = dict(inner)
        _change(chance, inner)
        return
    key = chance.choice([*call, "other", "x-y"])
    if chance.random() < 0.25:
        call.pop(key, None)
    else:
        call[key] = chance.choice(ODD)


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return whether the parameters of the tool accept the call."""
    try:
        parameters = student.value(given["tool"])["function"]["parameters"]
        return not _checker(canonical(parameters)).problems(given["call"])
    except (ZoolabError, TypeError, KeyError) as error:
        raise Wrong("not a tool with a schema") from error


@lru_cache(maxsize=50)
def _checker(schema: str) -> SchemaChecker:
    return SchemaChecker(json.loads(schema))
