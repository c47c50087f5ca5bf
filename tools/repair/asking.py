"""What a recorded model is asked to mend: a part of the rows, and of each kind of damage some."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tools.repair.damage import KINDS, Damaged, recorded, seeded
from zoolab import Replay
from zoolab_study.datasets.loading import rows_of

ANSWERS = Path(__file__).parents[1] / "recordings" / "qwen" / "repairs.jsonl.gz"
_LOST = 32
_OTHER = 1
_DATA = 24


def asked() -> list[Damaged]:
    """Return the rows that are put to a recorded model, in an order that mixes them.

    >>> len(asked())
    79
    """
    rows = list(seeded())
    chosen = []
    for kind in KINDS:
        of_kind = (row for row in rows if row.kind == kind)
        chosen.append(list(islice(of_kind, _LOST if kind == "lost mark" else _OTHER)))
    own = list({(row.schema["title"], row.raw): row for row in recorded() if len(row.raw) < 400}.values())
    lost = chosen[0]
    others = [row for part in chosen[1:] for row in part]
    data = own[:: len(own) // _DATA][:_DATA]
    mixed = []
    for number in range(max(len(lost), len(others), len(data))):
        mixed += [part[number] for part in (lost, others, data) if number < len(part)]
    return mixed


def of_the_course() -> list[Damaged]:
    """Return what notebook 07 asks about: rows of the data set broken-arguments, so many of each kind.

    Of every seeded fault two, of what models broke all that can be mended, and every sixteenth of the rest.

    >>> len(of_the_course())
    81
    """
    rows = {(row["tool"], row["raw"]): row for row in rows_of("broken-arguments") if len(row["raw"]) < 400}
    by_models = [row for row in rows.values() if row["made"] == "recorded"]
    chosen = [row for row in by_models if row["recoverable"]]
    chosen += [row for row in by_models if not row["recoverable"]][::16]
    for fault in dict.fromkeys(row["fault"] for row in rows.values() if row["made"] == "seeded"):
        chosen += list(islice((row for row in rows.values() if row["fault"] == fault), 2))
    return [
        Damaged(row["id"], row["made"], row["raw"], row["meant"], {**row["schema"], "title": row["tool"]})
        for row in chosen
    ]


def answers() -> Replay:
    """Return the recorded model."""
    return Replay(ANSWERS)
