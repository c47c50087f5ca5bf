"""Curves: what a conversation costs as it grows, how often all of k tries succeed, who finds the tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.plots.colours import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from zoolab.plots.display import Display, finish, plain_line
from zoolab.plots.inputs import check_trace
from zoolab.text.wording import count
from zoolab.tokens import Price, Tokens, tokens_in
from zoolab.trace.log import TraceLog
from zoolab_study.plots.ablation import scores_of_variants
from zoolab_study.plots.labels import percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_LINES = list(zip((BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY), "osD^vP*", strict=True))


class CurveDisplay(Display):
    """Curves over whole numbers from 1: `curves_` has them as its index, and a column for each curve."""

    #: The names of the axes, and whether the values are shares.
    x = "k"
    y = ""
    shares = True

    def __init__(self, curves: Mapping[str, list[float]]) -> None:
        import pandas as pd

        longest = max(map(len, curves.values()), default=0)
        self.curves_ = pd.DataFrame(curves, index=pd.RangeIndex(1, longest + 1, name=self.x))
        self.empty = self.curves_.empty

    def _summary(self) -> str:
        told = [count(self.curves_.shape[1], "curve")]
        last = len(self.curves_)
        for place in sorted({min(1, last), (last + 1) // 2, last} - {0}):
            values: dict[Any, float] = self.curves_.loc[place].to_dict()
            shown = (
                f"{plain_line(n)} {percent(v) if self.shares else format(v, '.3g')}"
                for n, v in values.items()
            )
            told.append(f"{self.x} {place}: {', '.join(shown)}")
        return "; ".join(told)

    def _draw(self, ax: Axes) -> None:
        entries: dict[str, Any] = {}
        for number, name in enumerate(self.curves_):
            colour, marker = _LINES[number % len(_LINES)]
            entries[str(name)] = ax.plot(self.curves_[name], color=colour, marker=marker, ms=4, lw=1.6)[0]
        if self.shares:
            ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        ax.set_ylim(0, 1.03 if self.shares else None)
        finish(ax, self.what, entries, x=self.x, y=self.y, grid="y", whole="x")


class RecallDisplay(CurveDisplay):
    """recall@k of retrievers: how often the right tool is among the k tools with the best scores.

    >>> RecallDisplay.from_ranks({"by name": [1, 1, 3, 2]}).curves_["by name"].tolist()
    [0.5, 0.75, 1.0]
    """

    what = "recall@k of each retriever"
    nothing = "no retriever was asked"
    y = "requests whose tool is among the k"

    @classmethod
    def from_ranks(cls, ranks: Mapping[str, Iterable[int]], *, ax: Axes | None = None) -> Self:
        """Draw, for each retriever, the rank of the right tool in each request, 1 for the best.

        Raises `InvalidInput` if a retriever has no ranks, or one that is not a whole number from 1.
        """
        found = {str(name): [*each] for name, each in ranks.items()}
        for name, each in found.items():
            if not each or any(rank not in range(1, 1 << 20) for rank in each):
                raise InvalidInput(
                    f"ranks of {plain_line(name)}: {excerpt(each)}", expected="whole numbers from 1"
                )
        ks = range(1, max(map(max, found.values()), default=0) + 1)
        return cls(
            {n: [sum(r <= k for r in each) / len(each) for k in ks] for n, each in found.items()}
        ).plot(ax)


class ReliabilityDisplay(CurveDisplay):
    """pass^k: how often all of k tries of a task succeed, for each variant.

    From n tries with c successes it is C(c, k) / C(n, k), then the mean over the tasks (Yao and others, 2024,
    https://arxiv.org/abs/2406.12045). A score of 0.5 is a success. k ends at the fewest tries.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"case_id": [1, 1, 2, 2], "variant": "plain", "success": [1, 1, 1, 0]})
    >>> ReliabilityDisplay.from_frame(frame).curves_["plain"].tolist()
    [0.75, 0.5]
    """

    what = "pass^k: all of k tries succeed"
    nothing = "no runs"
    y = "tasks, on average"

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, by: str = "variant", score: str = "success", ax: Axes | None = None
    ) -> Self:
        """Draw the runs of a frame; takes and raises what `AblationDisplay.from_frame` does."""
        variants = scores_of_variants(frame, by, score)
        tasks = {
            name: [[value >= 0.5 for value in tries] for tries in cases.values()]
            for name, cases in variants.items()
        }
        ks = range(1, min((len(tries) for each in tasks.values() for tries in each), default=0) + 1)

        def pass_k(tries: list[list[bool]], k: int) -> float:
            return sum(comb(sum(task), k) / comb(len(task), k) for task in tries) / len(tries)

        return cls({name: [pass_k(tries, k) for k in ks] for name, tries in tasks.items()}).plot(ax)


class CostDisplay(CurveDisplay):
    """What a run has cost after each of its requests, with and without a cache.

    Tokens are those that the endpoint counted, else an estimate. With a cache, what the request before sent
    counts as cached, as far as a request begins with the same messages and has the same tools.
    """

    what = "Cost of a conversation"
    nothing = "the run has no requests"
    x = "request"
    y = "cost so far"
    shares = False

    @classmethod
    def from_trace(cls, trace: TraceLog, price: Price, *, ax: Axes | None = None) -> Self:
        """Draw a trace; raises `InvalidInput` if it is no trace or the price no `Price`."""
        if not isinstance(price, Price):
            raise InvalidInput(f"price={excerpt(price)}", expected="a Price, as Price(2.0, 8.0, cached=0.2)")
        costs: dict[str, list[float]] = {"without a cache": [], "with a cache": []}
        before = None
        sent = 0
        for turn in check_trace(trace).turns:
            now = turn.request
            usage = Tokens.of(turn.reply.usage if turn.reply else None)
            grew = (
                before
                and now.tools == before.tools
                and now.messages[: len(before.messages)] == before.messages
            )
            known = sent if grew else 0
            sent = usage.input or tokens_in(now.messages, now.tools)
            received = usage.output or tokens_in([turn.reply.message] if turn.reply else ())
            for spent, cached in zip(costs.values(), (0, min(known, sent)), strict=True):
                paid = price.of(Tokens(sent, cached, received).usage or {})
                spent.append(paid + (spent[-1] if spent else 0))
            before = now
        return cls(costs).plot(ax)
