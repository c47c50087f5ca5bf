"""*Ask others* of the inspector: a request goes to other models, and a table says what each would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.runs import Trace
from zoolab.show.block_types import MAX_ROWS, Block, Room
from zoolab.text.wording import count
from zoolab_study.asking import AskedAgain, ask_again
from zoolab_study.runner import models_in

#: Requests of one click.
MOST = 200
#: Bytes of the table.
_TABLE = 30_000


class Others:
    """Asks other models for the inspector, which shows the table at the step.

    Args:
        models: Models by name, or functions that make one for each time, as `zoolab.ask_again` takes them.

    Raises:
        InvalidInput: There are no models.

    >>> from zoolab import Scripted, run
    >>> others = Others({"quick": Scripted(["3"])})
    >>> trace = run("What is 1 + 2?", [], Scripted(["It is 3."]))
    >>> [table] = others.ask(trace, 1, [0], 2)
    >>> table["rows"]
    [['quick', 'answer', '', '2 of 2, 100 % (34 to 100)', '3']]
    """

    def __init__(self, models: Any) -> None:
        self._models = models_in(models)

    @property
    def names(self) -> list[str]:
        """What the models are called, in order."""
        return [*self._models]

    def ask(self, trace: Trace, step: int, places: Sequence[Any], repeats: Any) -> Iterator[Block]:
        """Ask the models at these places of `names`, each so often; yield the table after each.

        Raises:
            InvalidInput: There is no such model, none is named, or it would be more than 200 requests; or
                somebody interrupted it.
        """
        known = self.names
        wrong = next((each for each in places if type(each) is not int or not 0 <= each < len(known)), None)
        if wrong is not None or not places or len(set(places)) < len(places):
            what = "no model is chosen" if not places else f"the models are {excerpt(places)}"
            raise InvalidInput(what, expected=f"places from 0 to {len(known) - 1}, each once")
        if type(repeats) is not int or not 0 < repeats * len(places) <= MOST:
            what = f"{count(len(places), 'model')} would be asked {excerpt(repeats)} times each"
            raise InvalidInput(what, expected=f"from 1 to {MOST} requests")
        so_far: list[AskedAgain] = []
        for place in places:
            name = known[place]
            try:
                so_far.append(ask_again(trace, step, {name: self._models[name]}, repeats))
            except KeyboardInterrupt:
                what = f"asking was interrupted at {excerpt(name)}"
                raise InvalidInput(what, advice="the table has the models that came before it") from None
            yield _table_of(so_far, len(places))


def _table_of(asked: Sequence[AskedAgain], wanted: int) -> Block:
    """Return the table of what models said, each line bounded and without secrets."""
    room = Room(_TABLE)
    rows = [row for each in asked for row in each.table]
    left = f"; {len(asked)} of {wanted} models so far" if len(asked) < wanted else ""
    more = f"; {count(len(rows) - MAX_ROWS, 'more row')}" if len(rows) > MAX_ROWS else ""
    told = asked[0].recorded.told or "no reply"
    return {
        "b": "table",
        "label": room.line(f"Others asked: nothing was run{left}{more}. The trace: {told}", 400),
        "heads": [*AskedAgain.HEADS],
        "rows": [[*map(room.line, row)] for row in rows[:MAX_ROWS]],
    }
