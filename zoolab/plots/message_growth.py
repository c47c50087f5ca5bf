"""How `messages[]` grows, by role, and what every request sends again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from zoolab.plots.display import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PINK,
    SKY,
    SMALL,
    Display,
    count,
    headline,
    tidy,
    whole_numbers,
)
from zoolab.plots.frames import check_trace
from zoolab.records import Message, Messages, Request
from zoolab.tokens import CHARACTERS_A_TOKEN, characters_of, characters_of_tool
from zoolab.trace.frame import to_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from zoolab.trace.log import TraceLog

_ROLES = ("tool schemas", "system", "user", "assistant", "tool", "other")
_STYLES = {
    "tool schemas": ("#BBBBBB", "...."),
    "system": (PINK, "||||"),
    "user": (ORANGE, "\\\\\\\\"),
    "assistant": (SKY, ""),
    "tool": (BLUE, "////"),
    "other": (GREY, "xxxx"),
}


class MessageGrowthDisplay(Display):
    """How many tokens `messages[]` and the tools' schemas hold after each step, by role.

    Each request, a dashed line, sends all that stands below it once more. Endpoints count whole
    requests only, so that the share of each role is estimated, with 4 characters a token; where the
    endpoint did count a request, a diamond shows its number.

    `tokens_` holds a row for each step: seq, step, the estimate for each role, and `counted`, what the
    endpoint counted for the request that the step is.

    >>> from zoolab import Scripted, run
    >>> trace = run("What is 42 + 58?", [], Scripted(["It is 100."]))
    >>> display = MessageGrowthDisplay.from_trace(trace)
    >>> display
    <MessageGrowthDisplay: 3 steps, 1 request, about 6 tokens at the end>
    >>> display.tokens_["user"].tolist()
    [0.0, 4.0, 4.0]
    """

    nothing = "the run has no messages"

    def __init__(self, tokens: pd.DataFrame) -> None:
        self.tokens_ = tokens

    @classmethod
    def from_trace(cls, trace: TraceLog, *, ax: Axes | None = None) -> Self:
        """Draw the growth of a trace's messages.

        Raises:
            InvalidInput: It is no trace.
        """
        import pandas as pd

        frame = to_frame(check_trace(trace))
        tokens = pd.DataFrame(list(_held(trace)), columns=[*_ROLES], dtype=float) / CHARACTERS_A_TOKEN
        tokens.insert(0, "seq", frame["seq"])
        tokens.insert(1, "step", frame["step"])
        return cls(tokens.assign(counted=frame["tokens_in"])).plot(ax)

    def _is_empty(self) -> bool:
        return not self._roles()

    def _summary(self) -> str:
        sizes = count(len(self.tokens_), "step"), count(len(self._requests()), "request")
        return f"{', '.join(sizes)}, about {self._totals().iloc[-1:].sum():.0f} tokens at the end"

    def _roles(self) -> list[str]:
        return [role for role in _ROLES if self.tokens_[role].any()]

    def _totals(self) -> pd.Series[float]:
        return self.tokens_[[*_ROLES]].sum(axis=1)

    def _requests(self) -> pd.DataFrame:
        return self.tokens_.assign(total=self._totals())[self.tokens_["step"] == "request"]

    def _draw(self, ax: Axes) -> None:
        requests = self._requests()
        entries = self._draw_roles(ax) | _draw_requests(ax, requests)
        ax.set_xlim(0.5, len(self.tokens_) + 0.5)
        whole_numbers(ax.xaxis)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("step", fontsize=SMALL + 1)
        ax.set_ylabel("tokens, estimated (characters / 4)", fontsize=SMALL + 1)
        tidy(ax, grid="y")
        grown = self._totals().iloc[-1]
        headline(ax, f"Grows to about {grown:,.0f} tokens; {_sent(requests)}", entries)

    def _draw_roles(self, ax: Axes) -> dict[str, Any]:
        roles = self._roles()
        # Each step is as wide as one, with its number, from 1, in the middle.
        rows = [*range(len(self.tokens_)), len(self.tokens_) - 1]
        edges = [row + 0.5 for row in range(len(rows))]
        heights = [self.tokens_[role].to_numpy()[rows] for role in roles]
        colours = [_STYLES[role][0] for role in roles]
        areas = ax.stackplot(edges, heights, colors=colours, step="post", lw=0.4, edgecolor="white")
        for area, role in zip(areas, roles, strict=True):
            area.set_hatch(_STYLES[role][1])
        return dict(zip(roles, areas, strict=True))


def _draw_requests(ax: Axes, requests: pd.DataFrame) -> dict[str, Any]:
    lines = ax.vlines(requests["seq"] + 1, 0, requests["total"], color=INK, lw=1, linestyle="--")
    entries: dict[str, Any] = {"request": lines} if len(requests) else {}
    counted = requests[requests["counted"].notna()]
    if len(counted):
        places = counted["seq"] + 1, counted["counted"].astype(float)
        style: dict[str, Any] = {"marker": "D", "s": 26, "facecolor": "white", "edgecolor": INK}
        entries["counted by the endpoint"] = ax.scatter(*places, **style, zorder=4)
    return entries


def _sent(requests: pd.DataFrame) -> str:
    said = count(len(requests), "request")
    if len(requests) and requests["counted"].notna().all():
        return f"{said}, {requests['counted'].sum():,.0f} in all as the endpoint counts"
    return f"{said}, about {requests['total'].sum():,.0f} in all"


def _held(trace: TraceLog) -> Iterator[list[int]]:
    """How many characters each role has after each step."""
    held, before, schemas = dict.fromkeys(_ROLES, 0), Messages(), 0
    for step in trace.steps:
        now = step.messages
        if isinstance(step.record, Request):
            schemas = sum(map(characters_of_tool, step.record.tools))
        kept = len(before) if now.shares(before) and len(now) >= len(before) else 0
        if not kept:
            held = dict.fromkeys(_ROLES, 0)
        for message in now.since(kept):
            held[_role(message)] += characters_of(message)
        before = now
        yield [schemas, *(held[role] for role in _ROLES[1:])]


def _role(message: Message) -> str:
    role = message.get("role")
    return role if role in _ROLES[1:] else "other"
