"""What a teacher adds to the grades by hand, in `manual.toml` of the report's folder: points, late days, a
comment. zoolab makes the file and never changes it, so what stands in it survives every grading."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped, write_whole

FILE = "manual.toml"


@dataclass(frozen=True, slots=True)
class Manual:
    """What a teacher added to one grade: points, also below 0; late days and the points that they cost."""

    points: float = 0.0
    late_days: float = 0.0
    late: float = 0.0
    comment: str = ""

    def total(self, points: float) -> float:
        """The points of a submission with what was added by hand, at least 0.

        >>> Manual(points=1.5, late_days=2, late=4).total(10)
        7.5
        """
        return max(points + self.points - self.late, 0) if self != Manual() else points


#: Nothing.
UNCHANGED = Manual()


def read_manual(folder: Path) -> dict[str, Manual]:
    """What was added by hand, by the names of submissions; nothing if there is no file.

    Raises `InvalidInput` if it cannot be read, belongs to another user, or says something else.
    """
    path = folder / FILE
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            found = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {path}: {error}", expected="TOML as in its first lines") from None
    # It is not signed as results are: who may only write into the folder must not give points.
    if hasattr(os, "geteuid") and owner not in (os.geteuid(), 0):
        raise InvalidInput(f"{path} belongs to another user", advice="look at it, and save it yourself")
    rate = _number(found.pop("late_day", 0), f"{path}: late_day", least=0)
    return {name: _manual(table, rate, f"{path}: {name!r}") for name, table in found.items()}


def _manual(table: object, rate: float, where: str) -> Manual:
    if not isinstance(table, Mapping) or not table.keys() <= {"points", "late_days", "comment"}:
        raise InvalidInput(f"{where} is not known", expected="a table with points, late_days or comment")
    days = _number(table.get("late_days", 0), f"{where}: late_days", least=0)
    comment = table.get("comment", "")
    if not isinstance(comment, str):
        raise InvalidInput(f"{where}: the comment is not text", expected='comment = "..."')
    return Manual(_number(table.get("points", 0), f"{where}: points"), days, days * rate, comment)


def _number(value: Any, where: str, least: float = -math.inf) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < least:
        raise InvalidInput(
            f"{where} is {value!r}", expected="a number from 0 on" if least == 0 else "a number"
        )
    return float(value)


def write_example(folder: Path) -> None:
    """Make the file if there is none, with an example that says nothing."""
    if not (folder / FILE).exists():
        write_whole(folder / FILE, [read_shipped("zoolab.grading", FILE)])
