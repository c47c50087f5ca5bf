"""How `messages[]` grew in one run, and what was sent again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from zoolab.messages import Messages
from zoolab.plots.colours import BLUE, GREY, INK, ORANGE, PINK, SKY
from zoolab.plots.display import Display, finish
from zoolab.plots.inputs import check_trace
from zoolab.records import Request
from zoolab.text.wording import as_words, count
from zoolab.tokens import CHARACTERS_A_TOKEN, characters_of, characters_of_tool
from zoolab.trace.frame import frame_of
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_STYLES = {
    "tool_schemas": ("#BBBBBB", "...."),
    "system": (PINK, "||||"),
    "user": (ORANGE, "\\\\\\\\"),
    "assistant": (SKY, ""),
    "tool": (BLUE, "////"),
    "other": (GREY, "xxxx"),
}
#: The roles of messages, as they are named on the wire.
_ROLES = {"system", "user", "assistant", "tool"}


class MessageGrowthDisplay(Display):
    """How many tokens `messages[]` and the tools' schemas hold after each step, by role.

    Each request, a dashed line, sends all that stands below it once more. Endpoints count whole
    requests only, so that the share of each role is estimated, with 4 characters a token; where the
    endpoint did count a request, a diamond shows its number.

    `tokens_` holds a row for each step: seq, step, the estimate for `tool_schemas` and for each role,
    and `counted`, what the endpoint counted for the request that the step is.
    """

    what = "Areas: how messages[] and tool schemas grow"
    nothing = "the run has no messages"

    def __init__(self, tokens: pd.DataFrame) -> None:
        self.tokens_ = tokens
        self._roles = [role for role in _STYLES if tokens[role].any()]
        self.empty = not self._roles
        totals = tokens[[*_STYLES]].sum(axis=1)
        self._grown = float(totals.iloc[-1:].sum())
        self._requests = tokens.assign(total=totals)[tokens["step"] == "request"]

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw the growth of a trace's messages; raises `InvalidInput` if it is no trace."""
        import pandas as pd

        frame = frame_of([check_trace(trace)])
        tokens = pd.DataFrame(list(_held(trace)), columns=[*_STYLES], dtype=float) / CHARACTERS_A_TOKEN
        tokens.insert(0, "seq", frame["seq"])
        tokens.insert(1, "step", frame["step"])
        return cls(tokens.assign(counted=frame["tokens_in"])).plot(ax)

    def _summary(self) -> str:
        sizes = f"{count(len(self.tokens_), 'step')}, {count(len(self._requests), 'request')}"
        return f"{sizes}, about {self._grown:.0f} tokens at the end"

    def _draw(self, ax: Axes) -> None:
        entries = self._draw_roles(ax)
        requests = self._requests
        lines = ax.vlines(requests["seq"] + 1, 0, requests["total"], color=INK, lw=1, linestyle="--")
        if len(requests):
            entries["request"] = lines
        counted = requests[requests["counted"].notna()]
        if len(counted):
            places = counted["seq"] + 1, counted["counted"].astype(float)
            style: dict[str, Any] = {"marker": "D", "s": 26, "facecolor": "white", "edgecolor": INK}
            entries["counted by the endpoint"] = ax.scatter(*places, **style, zorder=4)
        ax.set_xlim(0.5, len(self.tokens_) + 0.5)
        ax.set_ylim(bottom=0)
        sent = f"about {requests['total'].sum():,.0f} in all"
        if 0 < len(requests) == len(counted):
            sent = f"{counted['counted'].sum():,.0f} in all as the endpoint counts"
        said = f"Grows to about {self._grown:,.0f} tokens; {count(len(requests), 'request')}, {sent}"
        label = "tokens, estimated (characters / 4)"
        finish(ax, said, entries, x="step", y=label, grid="y", whole="x")

    def _draw_roles(self, ax: Axes) -> dict[str, Any]:
        # Each step is as wide as one, with its number, from 1, in the middle.
        rows = [*range(len(self.tokens_)), len(self.tokens_) - 1]
        edges = [row + 0.5 for row in range(len(rows))]
        heights = [self.tokens_[role].to_numpy()[rows] for role in self._roles]
        colours = [_STYLES[role][0] for role in self._roles]
        areas = ax.stackplot(edges, heights, colors=colours, step="post", lw=0.4, edgecolor="white")
        for area, role in zip(areas, self._roles, strict=True):
            area.set_hatch(_STYLES[role][1])
        return dict(zip(map(as_words, self._roles), areas, strict=True))


def _held(trace: TraceLog) -> Iterator[list[int]]:
    """Yield how many characters each role has after each step."""
    held = dict.fromkeys(_STYLES, 0)
    before = Messages()
    for step in trace.steps:
        now = step.messages
        kept = len(before) if now.shares(before) and len(now) >= len(before) else 0
        if not kept:
            held |= dict.fromkeys([*_STYLES][1:], 0)
        if isinstance(step.record, Request):
            held["tool_schemas"] = sum(map(characters_of_tool, step.record.tools))
        for message in now.since(kept):
            role = message.get("role")
            held[role if role in _ROLES else "other"] += characters_of(message)
        before = now
        yield [*held.values()]
