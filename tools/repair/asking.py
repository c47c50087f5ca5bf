"""What a recorded model is asked to mend: a part of the rows, and of each kind of damage some."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tools.repair.damage import KINDS, Damaged, recorded, seeded
from zoolab import Replay

ANSWERS = Path(__file__).parents[1] / "recordings" / "qwen" / "repairs.jsonl.gz"
_LOST, _OTHER, _DATA = 32, 1, 24


def asked() -> list[Damaged]:
    """The rows that are put to a recorded model, in an order that mixes them.

    >>> len(asked())
    79
    """
    rows = list(seeded())
    chosen = []
    for kind in KINDS:
        of_kind = (row for row in rows if row.kind == kind)
        chosen.append(list(islice(of_kind, _LOST if kind == "lost mark" else _OTHER)))
    own = list({(row.schema["title"], row.raw): row for row in recorded() if len(row.raw) < 400}.values())
    lost, others, data = (
        chosen[0],
        [row for part in chosen[1:] for row in part],
        own[:: len(own) // _DATA][:_DATA],
    )
    mixed = []
    for number in range(max(len(lost), len(others), len(data))):
        mixed += [part[number] for part in (lost, others, data) if number < len(part)]
    return mixed


def answers() -> Replay:
    """The recorded model."""
    return Replay(ANSWERS)
