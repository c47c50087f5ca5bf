"""The cases: reports of other people about clients and endpoints, as small replies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab.jsontext import excerpt

#: A JSON object.
Body = dict[str, Any]

APIS = ("chat", "responses", "anthropic", "gemini", "ollama")
#: How a reply ends.
ENDS = ("answered", "calls", "cut", "filtered", "failed", "empty")
_FOLDER = "endpoint-reports"


@dataclass(frozen=True, slots=True)
class ReportedCase:
    """One report: what the endpoint says in turn, and what a client must make of it.

    The columns are explained in the card of the data set.
    """

    id: str
    made: str
    source: list[str]
    day: str
    kind: str
    api: str
    happened: str
    must: str
    prompt: str
    tools: list[str]
    settings: Body
    #: The replies in turn, each a body; or a status with a body (an error, or a text that broke off).
    plain: list[Any]
    #: The same replies as lists of events.
    streamed: list[Any]
    #: How each reply ends, in a word of `ENDS`.
    ends: list[str]
    must_run: list[Body]
    must_not_run: list[Body]
    must_return: list[Body]
    must_say: list[str]
    #: Names of `zoolab_connect.endpoint.strict.RULES`.
    refuses: list[str]
    rejects: list[Body]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ReportedCase:
        """Return the case that a row describes; raises `InvalidInput` if it lacks something.

        >>> ReportedCase.of({"id": "mine"})
        Traceback (most recent call last):
        zoolab.errors.InvalidInput: the case "mine" lacks made; expected id, made, source, ...
        """
        names = [field.name for field in fields(cls)]
        missing = [name for name in names if name not in row]
        what = f"the case {excerpt(row.get('id'))}"
        if missing:
            raise InvalidInput(f"{what} lacks {missing[0]}", expected=", ".join(names))
        case = cls(**{name: row[name] for name in names})
        replies = len(case.ends)
        if case.api not in APIS or not set(case.ends) <= set(ENDS):
            raise InvalidInput(f"{what} has an unknown API or end", expected=", ".join((*APIS, *ENDS)))
        if not replies or (len(case.plain), len(case.streamed)) != (replies, replies):
            raise InvalidInput(f"{what} has no replies, or not as many as ends", expected="one end for each")
        return case


@cache
def all_cases() -> Mapping[str, ReportedCase]:
    """Return all cases of the data set, by id.

    >>> all_cases()["chat-cut-blank"].must_not_run
    [{'name': 'cleanup'}]
    """
    return {row["id"]: ReportedCase.of(row) for row in _rows("reports.jsonl")}


@cache
def all_tools() -> Mapping[str, Body]:
    """Return the tools that clients offer, by name, each with its parameters and with what it returns."""
    return {row["name"]: row for row in _rows("tools.jsonl")}


def find_cases(names: Iterable[str] = ()) -> list[ReportedCase]:
    """Return the cases of these ids, APIs or kinds; without a name, all. Raises `InvalidInput` for an unknown
    one.

    >>> [case.id for case in find_cases(["cut text", "gemini-safety"])]
    ['chat-text-cut', 'gemini-safety']
    """
    found: dict[str, ReportedCase] = {}
    for name in names:
        matching = [case for case in all_cases().values() if name in (case.id, case.api, case.kind)]
        if not matching:
            advice = "zoolab endpoint --list shows them"
            raise InvalidInput(
                f"no case is named {excerpt(name)}", expected="a case or an API", advice=advice
            )
        found |= {case.id: case for case in matching}
    return list(found.values() if found else all_cases().values())


def _rows(name: str) -> list[Body]:
    path = course_folder("datasets") / _FOLDER / name
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {path}: {error}", advice="restore the data set") from None
