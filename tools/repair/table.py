"""The table: each guard with each repairer, on our own rows and on seeded damage.

How to read it. Each line is one repairer behind one guard. `right` is what may run and is what was meant.
`wrong` is what may run and is not: nobody notices, so this is the column to fear. `refused` is everything
else: no proposal, or one that does not meet the schema. Go down the guards and compare: the rules gain with
"words" what they can put together without a new word. A careful model gains with every guard, because it
was right before and only the guard did not believe it. A careless model gains the same trust, and turns it
into wrong calls. So a guard is worth what the worst model behind it may do, and a weaker one is a choice
for those who have measured their model. The seeded "cut off" shows what no guard sees: half of a text may
be whole as well, and only `finish_reason` tells.

    rules     RuleRepair
    perfect   LLMRepair with a model that answers exactly what was meant
    careless  LLMRepair with one that changes a number, leaves out a key or translates a text
    qwen      LLMRepair with the recorded answers of Qwen2.5-Coder-1.5B, to a part of the rows
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

from tools.repair.asking import answers, asked
from tools.repair.damage import TRANSLATED, Damaged, recorded, seeded
from zoolab.jsontext import encode
from zoolab.models.scripted import Scripted
from zoolab.repair import LLMRepair, RuleRepair
from zoolab.repair.guards import Guard
from zoolab.schema.checker import SchemaChecker
from zoolab_study.datasets.berkeley import same_arguments

GUARDS: tuple[Guard, ...] = (*get_args(get_args(Guard)[0]), None)
OUTCOMES = ("right", "wrong", "refused")
Propose = Callable[[Damaged, Guard], str | None]


def outcome(row: Damaged, proposed: str | None) -> str:
    """Return whether a proposal is right, wrong or refused. Our own rows are judged as Berkeley's are."""
    value = json.loads(proposed) if proposed is not None else None
    if not isinstance(value, dict) or SchemaChecker(row.schema).problems(value):
        return "refused"
    if row.kind == "data":
        return "right" if same_arguments(row.meant, value, row.schema) else "wrong"
    return "right" if encode(value) == encode(row.meant) else "wrong"


def careless(row: Damaged) -> Any:
    """Return what was meant, with one thing wrong."""
    chance = random.Random(row.id)
    places = list(_places(row.meant))
    chance.shuffle(places)
    for holder, key in places:
        value = holder[key]
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            return _with(row.meant, holder, key, value * 10 + 1)
        if isinstance(value, str) and value in TRANSLATED:
            return _with(row.meant, holder, key, TRANSLATED[value])
    return dict(list(row.meant.items())[:-1])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            yield from _places(item)
        else:
            yield value, key


def _with(value: Any, holder: Any, key: Any, other: Any) -> Any:
    """Return a copy of a value, with another item in one of its parts."""
    if isinstance(value, dict):
        copied: Any = {name: _with(item, holder, key, other) for name, item in value.items()}
    elif isinstance(value, list):
        copied = [_with(item, holder, key, other) for item in value]
    else:
        return value
    if value is holder:
        copied[key] = other
    return copied


def repairers() -> dict[str, Propose]:
    """Return who proposes, by name."""
    qwen = answers()

    def by_model(model: Callable[[Damaged], Any]) -> Propose:
        return lambda row, guard: LLMRepair(model(row), guard=guard).propose(row.raw, row.schema)

    return {
        "rules": lambda row, guard: RuleRepair(guard=guard).propose(row.raw, row.schema),
        "perfect": by_model(lambda row: Scripted([json.dumps(row.meant)])),
        "careless": by_model(lambda row: Scripted([json.dumps(careless(row))])),
        "qwen": by_model(lambda _: qwen),
    }


def counted(rows: Iterable[Damaged], propose: Propose, guard: Guard) -> Counter[str]:
    """Return how many rows came out right, wrong and refused."""
    return Counter(outcome(row, propose(row, guard)) for row in rows)


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    rows = list(seeded())
    groups = {
        "our own rows": list(recorded()),
        "one lost mark": [row for row in rows if row.kind == "lost mark"],
        "23 other kinds": [row for row in rows if row.kind != "lost mark"],
    }
    to_qwen = {row.id for row in asked()}
    for group, members in groups.items():
        yield f"{group:15} {'rows':>5}  " + "".join(f"{guard!s:^24}" for guard in GUARDS)
        yield " " * 23 + "".join(f"{name:>8}" for _ in GUARDS for name in OUTCOMES)
        for name, propose in repairers().items():
            put = [row for row in members if name != "qwen" or row.id in to_qwen]
            found = [counted(put, propose, guard) for guard in GUARDS]
            numbers = "".join(f"{each[name]:8}" for each in found for name in OUTCOMES)
            yield f"  {name:13} {len(put):5}  {numbers}"
        yield ""


def kinds() -> Iterator[str]:
    """Yield what the rules make of each kind of damage."""
    rows = list(seeded())
    propose = repairers()["rules"]
    yield f"{'the rules':23}" + "".join(f"{guard!s:^24}" for guard in GUARDS)
    for kind in dict.fromkeys(row.kind for row in rows):
        found = [counted((row for row in rows if row.kind == kind), propose, guard) for guard in GUARDS]
        yield f"{kind:23}" + "".join(f"{each[name]:8}" for each in found for name in OUTCOMES)
