"""Which tool was chosen in place of which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.colours import GREY, INK, SMALL
from zoolab.plots.display import finish, plain_line, write
from zoolab.plots.inputs import StepsDisplay, is_known, steps_in
from zoolab.text.wording import count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NONE_NEEDED, NO_CALL, UNKNOWN = _NO_TOOLS = ("none needed", "no call", "unknown")
_MOST_TOOLS = 8
_ABREAST = 56
_OTHERS = "others"


class ToolConfusionDisplay(StepsDisplay):
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

    what = "Matrix of the expected tools and the tools that were called"
    nothing = "no run says which tool was expected"

    def __init__(self, matrix: pd.DataFrame) -> None:
        self.matrix_ = matrix
        self.empty = matrix.empty

    @classmethod
    def from_predictions(
        cls, expected: Iterable[str | None], called: Iterable[str | None], *, ax: Axes | None = None
    ) -> Self:
        """Draw the right tool of each run beside the one that was called; None or "" is no tool.

        Raises `InvalidInput` if they are not equally long, or hold something else than names.
        """
        rights = _names(expected, "expected")
        calls = _names(called, "called")
        if len(rights) != len(calls):
            what = f"there are {len(rights)} expected tools and {len(calls)} called tools"
            raise InvalidInput(what, expected="two lists of the same length")
        return cls(_matrix(rights, calls)).plot(ax)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, ax: Axes | None = None) -> Self:
        """Draw the first call of each run of a frame of steps.

        `expected_tool` says what each should be, "" if none is needed; runs without it are left out.

        Raises `InvalidInput` if it is no frame of steps.
        """
        steps = steps_in(frame, "turn", "slot", "tool", "expected_tool", "error_code")
        steps = steps[steps["expected_tool"].map(is_known).astype(bool)]
        expected = steps.drop_duplicates("run_id").set_index("run_id")["expected_tool"]
        place = ["run_id", "turn", "slot"]
        unknown = steps.loc[steps["error_code"] == "unknown_tool", place]
        invented = set(unknown.itertuples(index=False, name=None))
        calls = steps[(steps["step"] == "tool_call") & steps["tool"].notna()].drop_duplicates("run_id")
        called = {
            run: UNKNOWN if (run, turn, slot) in invented else tool
            for run, turn, slot, tool in calls[[*place, "tool"]].itertuples(index=False, name=None)
        }
        return cls(_matrix(expected.tolist(), [called.get(run, "") for run in expected.index])).plot(ax)

    def _summary(self) -> str:
        right, total = self._counts()
        tools = len(set(self.matrix_.index) - {NONE_NEEDED})
        return f"{count(total, 'run')}, {right} right, {count(tools, 'tool')}"

    def _counts(self) -> tuple[int, int]:
        """Return how many runs chose rightly, and how many there are."""
        cells: Any = self.matrix_.loc
        right = sum(cells[row, column] for row, column in _rights(self.matrix_))
        return int(right), int(self.matrix_.to_numpy().sum())

    def _draw(self, ax: Axes) -> None:
        import numpy as np
        from matplotlib.patches import Rectangle

        drawn = _reduced(self.matrix_)
        rows = [*drawn.index]
        columns = [*drawn.columns]
        shares = drawn.div(drawn.sum(axis=1).replace(0, 1), axis=0).to_numpy()
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
        for (y, x), number in np.ndenumerate(drawn.to_numpy()):
            colour = GREY if not number else "white" if shares[y, x] > 0.6 else INK
            write(ax, x, y, f"{number:,}" if number else "·", fontsize=SMALL + 1, color=colour)
        for row, column in _rights(drawn):
            corner = columns.index(column) - 0.47, rows.index(row) - 0.47
            ax.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=INK, lw=1.4))
        names = [plain_line(name, 14) for name in columns]
        ax.set_xticks(range(len(names)), names, parse_math=False)
        if max(map(len, names)) * len(names) > _ABREAST:  # no room to lie flat: the names stand aslant
            ax.tick_params(axis="x", rotation=35)
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), [plain_line(name, 18) for name in rows], parse_math=False)
        right, total = self._counts()
        headline = f"{right:,} of {count(total, 'run')} chose the expected tool (framed)"
        finish(ax, headline, x="called first", y="expected")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)


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


def _matrix(expected: list[str], called: list[str]) -> pd.DataFrame:
    """Return rows and columns in the order of their frequency; those that are no tools come last."""
    import pandas as pd

    rights = [name or NONE_NEEDED for name in expected]
    calls = [name or NO_CALL for name in called]
    uses = Counter([*rights, *calls])
    often = [name for name in sorted(uses, key=lambda name: (-uses[name], name)) if name not in _NO_TOOLS]
    rows = [name for name in (*often, NONE_NEEDED) if name in rights]
    columns = [name for name in (*often, NO_CALL, UNKNOWN) if name in calls or name in rights]
    counts = Counter(zip(rights, calls, strict=True))
    matrix = [[counts[row, column] for column in columns] for row in rows]
    return pd.DataFrame(matrix, pd.Index(rows, name="expected"), pd.Index(columns, name="called"), dtype=int)


def _reduced(matrix: pd.DataFrame) -> pd.DataFrame:
    tools = [name for name in dict.fromkeys((*matrix.columns, *matrix.index)) if name not in _NO_TOOLS]
    if len(tools) <= _MOST_TOOLS + 1:
        return matrix
    rare = {name: f"{len(tools) - _MOST_TOOLS} {_OTHERS}" for name in tools[_MOST_TOOLS:]}
    merged = matrix.rename(index=rare, columns=rare).groupby(level=0, sort=False).sum()
    return merged.T.groupby(level=0, sort=False).sum().T


def _rights(matrix: pd.DataFrame) -> list[tuple[str, str]]:
    pairs = [(name, NO_CALL if name == NONE_NEEDED else name) for name in matrix.index]
    return [pair for pair in pairs if pair[1] in matrix.columns and not pair[1].endswith(f" {_OTHERS}")]
