"""The objects that a text becomes by one mark of JSON more, or else by one mark less or another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from zoolab.jsontext import NotStrictJSON, encode, parse_json
from zoolab.repair.wrapping import Refused

_MARKS = '{}[]":,'
#: A word may begin or end in a place where a mark is missing; within a word none is.
_PLACES = re.compile(r'(?=[{}\[\]":,\s])|(?<=[{}\[\]":,\s])|\A|\Z')
#: Characters times places: beyond this it takes seconds.
_MAX_WORK = 4_000_000


def one_mark_away(text: str) -> list[dict[str, Any]]:
    """The different objects that a text becomes if one mark is put in; else, if one is taken out or replaced.

    >>> one_mark_away('{"service": "nginx}'), one_mark_away('{"a": [1, 2}}')
    ([{'service': 'nginx'}], [{'a': [1, 2]}])
    >>> one_mark_away('{"to": {"name": "Ada", "n": 1}')
    [{'to': {'name': 'Ada'}, 'n': 1}, {'to': {'name': 'Ada', 'n': 1}}]
    """
    places = [found.start() for found in _PLACES.finditer(text)]
    if len(text) * len(places) > _MAX_WORK:
        raise Refused("too many places for one mark")
    more = (text[:place] + mark + text[place:] for place in places for mark in _MARKS)
    marks = [place for place in places if text[place : place + 1] in tuple(_MARKS)]
    other = (text[:place] + mark + text[place + 1 :] for place in marks for mark in ("", *_MARKS))
    return _objects(more) or _objects(other)


def _objects(texts: Iterator[str]) -> list[dict[str, Any]]:
    found = {}
    for text in texts:
        try:
            json.loads(text)  # quick, and refuses most
            value = parse_json(text)
        except (NotStrictJSON, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found[encode(value)] = value
    return list(found.values())
