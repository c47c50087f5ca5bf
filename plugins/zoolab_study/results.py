"""What comes of an experiment: tables, traces, comparisons, a plot, a page."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.extras import needs
from zoolab.jsontext import lines_as_html
from zoolab.runs import Trace
from zoolab.text.wording import count
from zoolab.trace.frame import frame_of
from zoolab_study.comparison import Comparisons, check_scored, compare_runs, decisive_ones
from zoolab_study.design import Place, Plan
from zoolab_study.journal import WHICH_RUN, JournalReader, summary_of, trace_of

if TYPE_CHECKING:
    import pandas as pd

    from zoolab_study.plots import AblationDisplay


#: How many traces are made a frame at once.
_AT_ONCE = 2_000


class Traces:
    """The traces of the runs that are done, in the order of the plan; each is read when it is asked for."""

    def __init__(self, reader: JournalReader, places: Sequence[int]) -> None:
        self._reader = reader
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Trace]:
        return map(trace_of, self._reader.at(self._places))

    def __getitem__(self, index: int) -> Trace:
        return trace_of(next(self._reader.at([self._places[index]])))


class Experiment:
    """The runs of an experiment. They stay in the journal, and are read when they are asked for.

    `stopped` says why runs are missing, "" where none are; `path` is the journal.
    """

    def __init__(
        self, reader: JournalReader, places: array[int], plan: Plan | None, stopped: str = ""
    ) -> None:
        self._reader = reader
        self._all = places
        self._plan = plan
        self._places = array("q", (place for place in places if place >= 0))
        self.stopped = stopped
        self.path = reader.path

    @classmethod
    def load(cls, path: str | Path) -> Experiment:
        """Return all runs of a journal, in the order in which they ended; also while it is being written.

        Raises `InvalidInput` if it is not the journal of an experiment.
        """
        reader = JournalReader(Path(path))
        return cls(reader, array("q", dict(reader.runs()).values()), None)

    @property
    def traces(self) -> Traces:
        """The traces, in the order of `summary`."""
        return Traces(self._reader, self._places)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row a run: which one it is, how it ended, what it took, and its scores."""
        needs("pandas")
        import pandas as pd

        rows = [summary_of(line) for line in self._reader.at(self._places)]
        frame = pd.DataFrame(rows)
        first = [name for name in WHICH_RUN if name in frame]
        return frame[[*first, *(name for name in frame if name not in first)]]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a step, of all runs: the columns of `Trace.to_frame`."""
        return frame_of_many(self.traces)

    @property
    def unfinished(self) -> list[Place]:
        """The runs that are not done; the same call with the same journal does them."""
        plan = self._plan
        left = (number for number, place in enumerate(self._all) if place < 0)
        return [] if plan is None else [plan.place(number) for number in left]

    def compare(
        self, a: str | None = None, b: str | None = None, *, metric: str = "success", by: str = "variant"
    ) -> Comparisons:
        """Return how much more `b` has than `a`, case by case, and whether that can be told from luck.

        Without `b` all others are compared with `a`, by default the first; with several models (or,
        `by="model"`, several variants), within each of them.

        Args:
            a: The variant to compare with.
            b: The other.
            metric: A score from 0 to 1, or any other number: tokens_in, seconds, turns.
            by: What is compared: "variant" or "model".

        Raises:
            InvalidInput: There is no such variant or metric, it is no number, or they share no case.
        """
        return compare_runs(self.summary, a, b, metric, by)

    def plot(self, metric: str = "success", *, by: str = "variant", ax: Any = None) -> AblationDisplay:
        """Return the rates of the variants side by side, with intervals, and the differences to the first.

        What it calls decisive is decisive among all of them, as in `compare`.

        Raises `InvalidInput` if no run has that score, or it is none from 0 to 1.
        """
        from zoolab_study.plots import AblationDisplay

        summary = self.summary
        check_scored(summary, metric, by)
        known = summary[summary[metric].notna()]
        decisive = decisive_ones(known, metric, by)
        return AblationDisplay.from_frame(known, by=by, score=metric, decisive=decisive, ax=ax)

    def to_html(self, path: str | Path | None = None, *, title: str = "Experiment") -> str:
        """Return a page with tables, comparisons and plots that needs nothing else; written to `path`, if
        given.
        """
        from zoolab.files import write_whole
        from zoolab_study.report import render_report

        cases = self._plan.cases if self._plan is not None else ()
        left = [(cases[p.case].id, p.variant, p.model, p.repeat) for p in self.unfinished]
        said = f"{repr(self)[1:-1]}."
        page = render_report(self.summary, lambda: self.frame, title, said, left, self.stopped)
        if path is not None:
            write_whole(Path(path), [page])
        return page

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        plan = self._plan
        if plan is None:
            return f"<Experiment: {len(self)} runs of {self.path.name}>"
        sizes = {"case": len(plan.cases), "variant": len(plan.variants), "model": len(plan.models)}
        told = " x ".join(count(size, name) for name, size in {**sizes, "repeat": plan.repeats}.items())
        why = f"; {self.stopped}" if self.stopped else ""
        return f"<Experiment: {len(self)} of {len(plan)} runs: {told}{why}>"

    def _repr_html_(self) -> str:
        rows = str(self.summary.head(10).to_html()) if len(self) and find_spec("pandas") else ""
        return lines_as_html(repr(self)) + rows


def frame_of_many(traces: Iterable[Trace]) -> pd.DataFrame:
    """Put the steps of many traces into one frame, trace by trace; few traces are held at a time."""
    needs("pandas")
    import pandas as pd

    rest = iter(traces)
    frames = [frame_of(some) for some in iter(lambda: list(islice(rest, _AT_ONCE)), [])]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else frame_of([])
