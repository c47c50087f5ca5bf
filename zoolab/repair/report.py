"""What a repair did, and why it did nothing, for whoever wants to know."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from zoolab.jsontext import NotStrictJSON, encode, parse_json


class Refused(Exception):
    """There is no proposal, and the message says why."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What one call of `propose` came to, and why."""

    raw: str
    proposed: str | None
    #: kept: the raw text says the same already; changed: something else is proposed; refused: nothing is.
    outcome: Literal["kept", "changed", "refused"]
    reason: str


def note(report: list[RepairReport], raw: str, proposed: str | None, reason: str) -> str | None:
    """Add to a report what came of a repair, and return the proposal.

    >>> report: list[RepairReport] = []
    >>> note(report, '{"a": 1', '{"a":1}', "a brace was missing"), report[0].outcome
    ('{"a":1}', 'changed')
    """
    outcome: Literal["kept", "changed", "refused"] = "refused" if proposed is None else "changed"
    if proposed is not None:
        with suppress(NotStrictJSON):
            outcome = "kept" if encode(parse_json(raw)) == proposed else "changed"
    report.append(RepairReport(raw, proposed, outcome, "as it was" if outcome == "kept" else reason))
    return proposed
