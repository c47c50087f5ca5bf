"""The tool that was expected against the tool that was called."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.display import GREY, INK, SMALL, Display, count, headline, plain, tidy
from zoolab.plots.frames import check_trace, is_known, steps_in
from zoolab.trace.frame import to_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace.log import TraceLog

NONE_NEEDED, NO_CALL, UNKNOWN = "none needed", "no call", "unknown"

_MOST_TOOLS = 8
_ABREAST = 56
_OTHERS = "others"


class ToolConfusionDisplay(Display):
    """Rows are the tools that were expected, columns the tools that were called first.

    Right choices stand in the framed boxes. `none needed` is a row for questions that need no tool, `no
    call` a column for answers without one, `unknown` a column for tools that do not exist.

    `matrix_` holds all counts, however many tools there are; drawn are the most frequent ones, the rest
    as `others`.

    >>> display = ToolConfusionDisplay.from_predictions(["add", "add", None], ["add", None, None])
    >>> display
    <ToolConfusionDisplay: 3 runs, 2 right, 1 tool>
    >>> display.matrix_.loc["add"].to_dict()
    {'add': 1, 'no call': 1}
    """

    nothing = "no run says which tool was expected"

    def __init__(self, matrix: pd.DataFrame) -> None:
        self.matrix_ = matrix

    @classmethod
    def from_predictions(
        cls,
        expected: Iterable[str | None],
        called: Iterable[str | None],
        *,
        tools: Collection[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw pairs of an expected and a called tool; None or "" is no tool.

        Args:
            expected: The right tool of each run.
            called: The tool that was called.
            tools: The tools that exist; a call of another one is `unknown`. By default all exist.
            ax: Axes to draw on.

        Raises:
            InvalidInput: They are not equally long, or hold something else than names.
        """
        rights, calls = _names(expected, "expected"), _names(called, "called")
        if len(rights) != len(calls):
            raise InvalidInput(
                f"{len(rights)} expected and {len(calls)} called", expected="as many of one as of the other"
            )
        if tools is not None:
            calls = [name if not name or name in tools else UNKNOWN for name in calls]
        return cls(_matrix(rights, calls)).plot(ax)

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw the choice of one run, whose meta names the `expected_tool`."""
        return cls.from_frame(to_frame(check_trace(trace)), ax=ax)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, ax: Axes | None = None) -> Self:
        """Draw the first call of each run of a frame of steps.

        `expected_tool` says what each should be, "" if none is needed; runs without it are left out.

        Raises:
            InvalidInput: It is no frame of steps.
        """
        steps = steps_in(frame, "turn", "slot", "tool", "expected_tool", "error_code")
        steps = steps[steps["expected_tool"].map(is_known).astype(bool)]
        expected = steps.drop_duplicates("run_id").set_index("run_id")["expected_tool"]
        called = _first_calls(steps)
        names = [called.get(run, "") for run in expected.index]
        return cls(_matrix(expected.tolist(), names)).plot(ax)

    def _is_empty(self) -> bool:
        return self.matrix_.empty

    def _summary(self) -> str:
        tools = len(set(self.matrix_.index) - {NONE_NEEDED})
        return f"{count(self._total(), 'run')}, {self._right(self.matrix_)} right, {count(tools, 'tool')}"

    def _total(self) -> int:
        return int(self.matrix_.to_numpy().sum())

    def _right(self, matrix: pd.DataFrame) -> int:
        counts: Any = matrix.loc
        return int(sum(counts[row, column] for row, column in _rights(matrix)))

    def _draw(self, ax: Axes) -> None:
        drawn = _reduced(self.matrix_)
        shares = drawn.div(drawn.sum(axis=1).replace(0, 1), axis=0).to_numpy()
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
        numbers: Any = drawn.to_numpy().flat
        for (row, column), share, number in zip(_places(drawn), shares.flat, numbers, strict=True):
            colour = GREY if not number else "white" if share > 0.6 else INK
            ax.text(
                column,
                row,
                f"{number:,}" if number else "·",
                ha="center",
                va="center",
                fontsize=SMALL + 1,
                color=colour,
            )
        _frame_rights(ax, drawn)
        _name_columns(ax, [plain(name, 14) for name in drawn.columns])
        ax.set_yticks(range(drawn.shape[0]), [plain(name, 18) for name in drawn.index], parse_math=False)
        ax.set_xlabel("called first", fontsize=SMALL + 1)
        ax.set_ylabel("expected", fontsize=SMALL + 1)
        tidy(ax)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        right, total = self._right(self.matrix_), self._total()
        headline(ax, f"{right:,} of {count(total, 'run')} chose the expected tool (framed)")


def _name_columns(ax: Axes, names: list[str]) -> None:
    """Names lie flat if they have room, else aslant."""
    ax.set_xticks(range(len(names)), names, parse_math=False)
    if max(map(len, names)) * len(names) > _ABREAST:
        ax.tick_params(axis="x", rotation=35)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def _names(values: Iterable[object], what: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} is {excerpt(values)}", expected="a list of tools' names")
    names = [value if is_known(value) else "" for value in values]
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise InvalidInput(
            f"{what} holds {excerpt(wrong)}", expected='a tool\'s name, or None or "" for none'
        )
    return [str(name) for name in names]


def _first_calls(steps: pd.DataFrame) -> dict[str, str]:
    """The tool that each run called first, where it called one."""
    place = ["run_id", "turn", "slot"]
    invented = set(steps.loc[steps["error_code"] == "unknown_tool", place].itertuples(index=False, name=None))
    calls = steps[(steps["step"] == "tool_call") & steps["tool"].notna()].drop_duplicates("run_id")
    found = calls[[*place, "tool"]].itertuples(index=False, name=None)
    return {call[0]: UNKNOWN if call[:3] in invented else call[3] for call in found}


def _matrix(expected: list[str], called: list[str]) -> pd.DataFrame:
    """Rows and columns in the order of their frequency; those that are no tools come last."""
    import pandas as pd

    counts = pd.crosstab(
        pd.Series([name or NONE_NEEDED for name in expected], name="expected", dtype=object),
        pd.Series([name or NO_CALL for name in called], name="called", dtype=object),
    )
    often = (
        counts.sum(axis=1).add(counts.sum(axis=0), fill_value=0).sort_values(ascending=False, kind="stable")
    )
    order = [name for name in often.index if name not in (NONE_NEEDED, NO_CALL, UNKNOWN)]
    rows = [name for name in (*order, NONE_NEEDED) if name in counts.index]
    columns = [
        name for name in (*order, NO_CALL, UNKNOWN) if name in counts.columns or name in rows[: len(order)]
    ]
    columns = [name for name in columns if name != NONE_NEEDED]
    return counts.reindex(index=rows, columns=columns, fill_value=0)


def _reduced(matrix: pd.DataFrame) -> pd.DataFrame:
    """The most frequent tools, and the rest in one row and one column."""
    tools = dict.fromkeys(
        name for name in (*matrix.columns, *matrix.index) if name not in (NONE_NEEDED, NO_CALL, UNKNOWN)
    )
    if len(tools) <= _MOST_TOOLS + 1:
        return matrix
    rare = {name: f"{len(tools) - _MOST_TOOLS} {_OTHERS}" for name in [*tools][_MOST_TOOLS:]}
    merged = matrix.rename(index=rare, columns=rare)
    merged = merged.groupby(level=0, sort=False).sum()
    return merged.T.groupby(level=0, sort=False).sum().T


def _rights(matrix: pd.DataFrame) -> list[tuple[str, str]]:
    pairs = [(name, NO_CALL if name == NONE_NEEDED else name) for name in matrix.index]
    return [
        (row, column)
        for row, column in pairs
        if column in matrix.columns and not column.endswith(f" {_OTHERS}")
    ]


def _places(matrix: pd.DataFrame) -> list[tuple[int, int]]:
    rows, columns = matrix.shape
    return [(row, column) for row in range(rows) for column in range(columns)]


def _frame_rights(ax: Axes, matrix: pd.DataFrame) -> None:
    from matplotlib.patches import Rectangle

    for row, column in _rights(matrix):
        x, y = [*matrix.columns].index(column), [*matrix.index].index(row)
        ax.add_patch(Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, fill=False, edgecolor=INK, lw=1.4))
