"""A long trace as a data frame, beside a frame made of columns that are there already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from loop import recorded_walk
from pairs import Effort, Row, compare

STEPS, STEPS_A_ROUND = 100_000, 5


def listed(column: pd.Series[Any]) -> list[Any]:
    """The values as one would have collected them, None where there is none."""
    return [None if value is pd.NA else value for value in column.tolist()]


def rows(effort: Effort) -> Iterator[Row]:
    """`to_frame` reads every step; the baseline only lays out what was read."""
    trace = recorded_walk(int(STEPS * effort.part) // STEPS_A_ROUND)
    frame = trace.to_frame()
    columns = {name: listed(frame[name]) for name in frame}
    yield compare(
        "frame",
        f"to_frame of {len(frame):,} steps",
        trace.to_frame,
        lambda: pd.DataFrame(columns),
        "pandas.DataFrame of a dict of ready columns (lists)",
        effort,
    )
