"""Data sets as data frames, each row checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zoolab.datasets.catalog import MAX_ROWS, lookup
from zoolab.datasets.files import folder, read_rows
from zoolab.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from zoolab.runs import Trace

Row = dict[str, Any]


def load(name: str) -> pd.DataFrame:
    """A data set as a data frame, one row an item; `zoolab datasets list` names them.

    Raises:
        InvalidInput: No data set has that name, or its file is missing or damaged.

    >>> cases = load("selection-cases")
    >>> len(cases) >= 400, cases.tool.isna().sum() >= 80, cases.tool.nunique()
    (True, np.True_, 40)
    """
    return frame_of(list(rows_of(name)), list(lookup(name).columns))


def rows_of(name: str) -> Iterator[Row]:
    """The rows of a data set as plain dicts, each checked.

    >>> next(rows_of("selection-cases"))["id"]
    'ping-1'
    """
    data_set = lookup(name)
    for number, row in enumerate(read_rows(folder() / data_set.file), 1):
        if number > MAX_ROWS:
            raise InvalidInput(f"{name} has more than {MAX_ROWS:,} rows", advice="restore its file")
        data_set.check(row, f"row {number}")
        yield row


def frame_of(rows: Sequence[Row], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as a data frame; what is missing stays None, also beside texts.

    >>> frame_of([{"a": "x"}, {"a": None}], ["a"]).a.tolist()
    ['x', None]
    """
    import pandas as pd

    plain = {int, bool, str}
    made = {}
    for name in columns:
        values = [row[name] for row in rows]
        uniform = len(kinds := {type(value) for value in values}) == 1 and kinds <= plain
        made[name] = pd.Series(values, dtype=None if uniform else object)
    return pd.DataFrame(made, columns=list(columns))


def load_trace(name: str) -> Trace:
    """A trace of the data set `traces`, by its id.

    >>> load_trace("no-such")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no trace is named 'no-such'; expected an id of load("traces")
    """
    from zoolab.runs import Trace

    if name not in {row["id"] for row in rows_of("traces")}:
        raise InvalidInput(f"no trace is named {name!r}", expected='an id of load("traces")')
    return Trace.load(folder() / "traces" / f"{name}.jsonl")
