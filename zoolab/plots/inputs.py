"""The frames that displays are made from: checked, and reduced to what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import Display
from zoolab.records import KINDS
from zoolab.trace.frame import frame_of
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NUMBERS = {"seq", "turn", "slot", "attempt", "t_start", "duration_ms"}


class StepsDisplay(Display):
    """A display of a frame of steps, and so of a trace, which has one."""

    from_frame: ClassVar[Any]

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw one run, in `ax` if it is given; raises `InvalidInput` if it is not a trace."""
        made: Self = cls.from_frame(frame_of([check_trace(trace)]), ax=ax)
        return made


def check_trace(trace: object) -> TraceLog:
    """Return the trace, or an `InvalidInput` that says what came instead."""
    if not isinstance(trace, TraceLog):
        advice = "from_frame takes data frames"
        raise InvalidInput(f"found {excerpt(trace)}", expected="a Trace", advice=advice)
    return trace


def check_frame(frame: object, *columns: str) -> pd.DataFrame:
    """Return the frame; raises `InvalidInput` if it is none, or a column is missing or there twice."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        advice = "trace.to_frame() makes one"
        raise InvalidInput(f"found {excerpt(frame)}", expected="a data frame", advice=advice)
    names = list(frame.columns)
    missing = [name for name in columns if names.count(name) != 1]
    if missing:
        raise InvalidInput(
            f"the frame has the columns {', '.join(map(str, names[:30])) or 'no columns'}",
            expected=f"one column each of {', '.join(missing)}",
            advice="trace.to_frame() makes a frame of steps",
        )
    return frame


def steps_in(frame: object, *columns: str) -> pd.DataFrame:
    """Return the rows of a frame of steps, in order, with these columns and those that every step has.

    Raises `InvalidInput` if it is not a frame of steps.
    """
    rows = check_frame(frame, "run_id", "seq", "step", "status", *columns)
    unknown = next((kind for kind in rows["step"] if kind not in KINDS), None)
    if unknown is not None:
        raise InvalidInput(f"unknown kind of step {excerpt(unknown)}", expected=f"one of {', '.join(KINDS)}")
    rows = rows.reset_index(drop=True)
    rows["run_id"] = rows["run_id"].map(str)
    for name in ("seq", "status", *columns):
        rows[name] = _checked_column(rows[name], name)
    # Runs stay in the order in which they come.
    return rows.sort_values("seq", kind="stable", ignore_index=True)


def _checked_column(values: Any, name: str) -> Any:
    import pandas as pd

    if name in _NUMBERS:
        try:
            return pd.to_numeric(values).astype(float)
        except (TypeError, ValueError, OverflowError) as error:
            wrong = excerpt(str(error), 120)
            raise InvalidInput(f"the column {name} holds {wrong}", expected="numbers") from None
    strange = next((value for value in values if not isinstance(value, str) and is_known(value)), None)
    if strange is not None:
        raise InvalidInput(f"the column {name} holds {excerpt(strange)}", expected="text")
    return values


def is_known(value: Any) -> bool:
    """Return whether a cell of a frame holds something: None, NaN and their like do not."""
    import pandas as pd

    return not (pd.api.types.is_scalar(value) and pd.isna(value))
