"""Pairs for the metric of lab 4. Its descriptions are one constant, and not compared."""

from __future__ import annotations

from random import Random
from typing import Any

from zoolab_grader import Student, Wrong

NAMES = ("find_order", "track_parcel", "None", "FIND_ORDER", "find_order ", None, None)


def draw(chance: Random) -> list[list[str | None]]:
    """Return pairs of few names, so that they are often right; often none at all, or none of a kind."""
    names = chance.sample(NAMES, chance.randrange(2, 6))
    pairs = [[chance.choice(names), chance.choice(names)] for _ in range(chance.choice([0, 2, 5, 12, 30]))]
    return [[one, one if chance.random() < 0.5 else other] for one, other in pairs]


def play(student: Student, given: list[list[str | None]]) -> Any:
    """Return the four shares, to nine digits."""
    found = student.call("measure", given).value
    if not isinstance(found, dict):
        raise Wrong("`measure` did not return a dict")
    return [
        share if share is None else round(float(share), 9)
        for share in map(found.get, ("accuracy", "balanced", "needless", "missed"))
    ]
