"""Which data sets there are, and what a row of each holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

MAX_ROWS = 20_000
DOMAINS = ("devops", "support", "analytics", "security")

_TEXT, _NUMBER, _TRUTH, _LIST, _OBJECT = (str,), (int,), (bool,), (list,), (dict,)
_OR_NONE = (NoneType,)
MADE = ("recorded", "seeded", "authored")

_ASKED = {
    "case": _TEXT,
    "prompt": _TEXT,
    "made": _TEXT,
    "model": _TEXT,
    "who": _TEXT,
    "date": _TEXT,
    "settings": _OBJECT,
    "protocol": _TEXT,
    "offered": _LIST,
}


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
            raise InvalidInput(
                f"{where} of {self.name} was made {excerpt(row['made'])}", expected=", ".join(MADE)
            )


DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {
        each.name: each
        for each in (
            DataSet(
                "selection-cases",
                "selection-cases/cases.jsonl",
                "requests, the tool that each asks for, and its arguments",
                {
                    "id": _TEXT,
                    "prompt": _TEXT,
                    "tool": _TEXT + _OR_NONE,
                    "arguments": _OBJECT + _OR_NONE,
                    "difficulty": _TEXT,
                    "domain": _TEXT,
                    "offered": _LIST,
                    "also": _LIST,
                    "split": _TEXT,
                    "made": _TEXT,
                },
            ),
            DataSet(
                "selection-outputs",
                "selection-outputs/outputs.jsonl.gz",
                "what the local models answered to selection cases",
                {
                    "id": _TEXT,
                    "purpose": _TEXT,
                    **_ASKED,
                    "difficulty": _TEXT,
                    "raw": _TEXT,
                    "finish_reason": _TEXT + _OR_NONE,
                    "calls": _LIST,
                    "expected_tool": _TEXT + _OR_NONE,
                    "expected_arguments": _OBJECT + _OR_NONE,
                    "tool": _TEXT + _OR_NONE,
                    "verdict": _TEXT,
                    "codes": _LIST,
                    "prompt_tokens": _NUMBER + _OR_NONE,
                    "completion_tokens": _NUMBER + _OR_NONE,
                },
            ),
            DataSet(
                "broken-arguments",
                "broken-arguments/arguments.jsonl.gz",
                "arguments that do not parse or do not meet the schema, and what was meant",
                {
                    "id": _TEXT,
                    **_ASKED,
                    "fault": _TEXT + _OR_NONE,
                    "tool": _TEXT,
                    "called": _TEXT,
                    "slot": _NUMBER,
                    "schema": _OBJECT,
                    "raw": _TEXT,
                    "finish_reason": _TEXT + _OR_NONE,
                    "codes": _LIST,
                    "problems": _LIST,
                    "meant": _OBJECT,
                    "recoverable": _TRUTH,
                    "why_not": _TEXT,
                },
            ),
            DataSet(
                "trials",
                "trials/trials.jsonl.gz",
                "requests asked again with one thing changed, for what is said of small models",
                {
                    "id": _TEXT,
                    "trial": _TEXT,
                    "variant": _TEXT,
                    **{name: _ASKED[name] for name in ("case", "made", "model", "who", "date", "settings")},
                    "request": _OBJECT,
                    "raw": _TEXT,
                    "finish_reason": _TEXT + _OR_NONE,
                    "expected_tool": _TEXT + _OR_NONE,
                    "tool": _TEXT + _OR_NONE,
                    "verdict": _TEXT,
                    "codes": _LIST,
                    "prompt_tokens": _NUMBER + _OR_NONE,
                },
            ),
            DataSet(
                "traces",
                "traces/index.jsonl",
                "whole traces with what went wrong in each, and its root cause",
                {
                    "id": _TEXT,
                    "made": _TEXT,
                    "who": _TEXT,
                    "prompt": _TEXT,
                    "expected_tool": _TEXT + _OR_NONE,
                    "codes": _LIST,
                    "outcome": _TEXT,
                    "fault": _TEXT + _OR_NONE,
                    "root_cause": _TEXT,
                    "steps": _NUMBER,
                },
            ),
        )
    }
)


def lookup(name: str) -> DataSet:
    """The data set of that name, or `InvalidInput`.

    >>> lookup("cats")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no data set is named 'cats'; expected one of selection-cases, ...
    """
    if name not in DATA_SETS:
        raise InvalidInput(f"no data set is named {name!r}", expected="one of " + ", ".join(DATA_SETS))
    return DATA_SETS[name]
