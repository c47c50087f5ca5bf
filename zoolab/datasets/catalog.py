"""Which data sets there are, and what a row of each holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

MAX_ROWS = 20_000
DOMAINS = ("devops", "support", "analytics", "security")
MADE = ("recorded", "seeded", "authored")

_TYPES: dict[str, type] = {"text": str, "number": int, "truth": bool, "list": list, "object": dict}


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set: its file, what it is, and the types that each column may have."""

    name: str
    file: str
    what: str
    columns: Mapping[str, tuple[type, ...]]

    def check(self, row: Mapping[str, Any], where: str) -> None:
        """Raise `InvalidInput` if a row does not fit this data set; `where` names the row.

        >>> lookup("traces").check({"id": 1}, "row 1")
        Traceback (most recent call last):
        zoolab.errors.InvalidInput: row 1 of traces lacks made, ...
        """
        missing = [name for name in self.columns if name not in row]
        unknown = [name for name in row if name not in self.columns]
        if missing or unknown:
            found = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}"
            raise InvalidInput(f"{where} of {self.name} {found}", expected=", ".join(self.columns))
        for name, types in self.columns.items():
            if type(row[name]) not in types:
                wanted = " or ".join("null" if kind is NoneType else kind.__name__ for kind in types)
                raise InvalidInput(f"{where} of {self.name}: {name} is {excerpt(row[name])}", expected=wanted)
        if row["made"] not in MADE:
            was = excerpt(row["made"])
            raise InvalidInput(f"{where} of {self.name} was made {was}", expected=", ".join(MADE))


def _data_set(name: str, file: str, what: str, columns: str) -> DataSet:
    """A data set whose columns are written as `name` (a text), `name:type`, or `name:type?` (or null)."""
    types: dict[str, tuple[type, ...]] = {}
    for column in columns.split():
        key, _, kind = column.partition(":")
        known = _TYPES[kind.rstrip("?") or "text"]
        types[key] = (known, NoneType) if kind.endswith("?") else (known,)
    return DataSet(name, f"{name}/{file}", what, types)


_ALL = [
    _data_set(
        "selection-cases",
        "cases.jsonl",
        "requests, the tool that each asks for, and its arguments",
        "id prompt tool:text? arguments:object? difficulty domain offered:list also:list split made",
    ),
    _data_set(
        "selection-outputs",
        "outputs.jsonl.gz",
        "what the local models answered to selection cases",
        "id purpose case prompt made model who date settings:object protocol offered:list difficulty raw"
        " finish_reason:text? calls:list expected_tool:text? expected_arguments:object? tool:text? verdict"
        " codes:list prompt_tokens:number? completion_tokens:number?",
    ),
    _data_set(
        "broken-arguments",
        "arguments.jsonl.gz",
        "arguments that do not parse or do not meet the schema, and what was meant",
        "id case prompt made model who date settings:object protocol offered:list fault:text? tool called"
        " slot:number schema:object raw finish_reason:text? codes:list problems:list meant:object"
        " recoverable:truth why_not",
    ),
    _data_set(
        "trials",
        "trials.jsonl.gz",
        "requests asked again with one thing changed, for what is said of small models",
        "id trial variant case made model who date settings:object request:object raw finish_reason:text?"
        " expected_tool:text? tool:text? verdict codes:list prompt_tokens:number?",
    ),
    _data_set(
        "traces",
        "index.jsonl",
        "whole traces with what went wrong in each, and its root cause",
        "id made who prompt expected_tool:text? codes:list outcome fault:text? root_cause steps:number",
    ),
]
DATA_SETS: Mapping[str, DataSet] = {each.name: each for each in _ALL}


def lookup(name: str) -> DataSet:
    """The data set of that name, or `InvalidInput`."""
    if name not in DATA_SETS:
        raise InvalidInput(f"no data set is named {name!r}", expected="one of " + ", ".join(DATA_SETS))
    return DATA_SETS[name]
