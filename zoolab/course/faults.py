"""Which faults does a run survive? Every kind of fault, at every rate, for every case and model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.loop.options import passes_on
from zoolab.models.faulty import FAULTS, Faulty
from zoolab.study.cases import Setup
from zoolab.study.comparison import scores_by_case
from zoolab.study.results import Experiment
from zoolab.study.runner import experiment
from zoolab.study.statistics import rate

if TYPE_CHECKING:
    import pandas as pd

    from zoolab.plots import FaultRecoveryDisplay

NO_FAULT = "no fault"


@dataclass(frozen=True, slots=True)
class WithFault:
    """A variant with one kind of fault, at most once after a question, seeded for each run."""

    fault: str
    rate: float

    def __call__(self, setup: Setup) -> Setup:
        # Slow and hanging tools cost a study time, and show nothing more for taking longer.
        seconds: dict[str, Any] = {"slow_seconds": 0.02, "hang_seconds": 0.2}
        model = Faulty(setup.model, {self.fault: self.rate}, setup.seed, times=1, **seconds)
        return replace(setup, model=model)


@dataclass(frozen=True, slots=True)
class FaultStudy:
    """What came of a fault study: the experiment, and which variant had which fault at which rate."""

    experiment: Experiment
    grid: Mapping[str, tuple[str, float]]

    @property
    def summary(self) -> pd.DataFrame:
        """One row a run, with `injected` and `rate`: the fault that it was to have, and how often."""
        runs = self.experiment.summary
        injected = [self.grid[variant] for variant in runs["variant"]]
        return runs.assign(injected=[fault for fault, _ in injected], rate=[share for _, share in injected])

    @property
    def rates(self) -> pd.DataFrame:
        """For each model, fault and rate: in how many runs it happened, and how often those succeeded.

        `success`, `low` and `high` are of the runs in which the fault happened, with the 95 % interval of
        `zoolab.study.statistics.rate`, which counts cases. `silently_wrong` is the share of these runs that
        were wrong without any error. They are missing if no case says what is right, or no fault happened.
        """
        import pandas as pd

        steps = self.experiment.frame[["run_id", "fault"]].dropna()
        happened = {(run, name) for run, names in steps.to_numpy() for name in names.split(", ")}
        groups = self.summary.groupby(["model", "injected", "rate"], sort=False)
        return pd.DataFrame([_row(key, runs, happened) for key, runs in groups])

    def plot(self, ax: Any = None) -> FaultRecoveryDisplay:
        """How often runs recover from each fault."""
        from zoolab.plots import FaultRecoveryDisplay

        return FaultRecoveryDisplay.from_frame(self.experiment.frame, summary=self.experiment.summary, ax=ax)


@passes_on(experiment, without=("cases", "variants"))
def fault_study(
    cases: Any,
    models: Any,
    *,
    faults: Iterable[str] = tuple(FAULTS),
    rates: Sequence[float] = (1.0,),
    **options: Any,
) -> FaultStudy:
    """Run every case without a fault, and with every fault at every rate.

    Args:
        cases: As for `zoolab.experiment`; with what is expected, runs can be told right from wrong.
        models: As for `zoolab.experiment`.
        faults: Names of faults, by default all of `zoolab.models.faulty.FAULTS`.
        rates: How likely a fault is wherever it can happen, above 0 to 1.
        options: As for `zoolab.experiment`: repeats, seed, executor, journal and the like.

    Raises:
        InvalidInput: There is no such fault, or a rate is not above 0 and at most 1.

    >>> from zoolab import Scripted
    >>> from zoolab.toolbox.starter import starter_tools
    >>> call = [("add", {"a": 42, "b": 58})]
    >>> case = {"id": "sum", "prompt": "42 + 58?", "tools": starter_tools("add"), "expected_answer": 100}
    >>> script = Scripted([call, lambda r: call if "ERROR" in str(r.messages[-1]) else "100", "100"])
    >>> study = fault_study([case], {"script": script}, faults=["trailing_comma"], progress=False)
    >>> study.rates[["injected", "happened", "success"]].values.tolist()
    [['no fault', 0, 1.0], ['trailing_comma', 1, 1.0]]
    """
    names, shares = list(dict.fromkeys(faults)), list(dict.fromkeys(rates))
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        known = excerpt([*FAULTS], 200)
        raise InvalidInput(f"there is no fault {excerpt(unknown[0])}", expected=f"some of {known}")
    if not shares or not all(0 < share <= 1 for share in shares):
        raise InvalidInput(f"the rates are {excerpt(shares)}", expected="numbers above 0, to 1")
    grid: dict[str, tuple[str, float]] = {NO_FAULT: (NO_FAULT, 0.0)}
    variants: dict[str, Any] = {NO_FAULT: {}}
    for name in names:
        for share in shares:
            label = name if len(shares) == 1 else f"{name} {share:g}"
            grid[label], variants[label] = (name, share), WithFault(name, share)
    return FaultStudy(experiment(cases, variants, models, **options), grid)


def _row(key: Any, runs: pd.DataFrame, happened: set[tuple[str, str]]) -> dict[str, Any]:
    model, fault, share = key
    hit = runs[[(run, fault) in happened for run in runs["run_id"]]]
    scored = (runs if fault == NO_FAULT else hit).dropna(subset="success")
    row = {"model": model, "injected": fault, "rate": share, "runs": len(runs), "happened": len(hit)}
    if scored.empty:
        return {**row, "success": None, "low": None, "high": None, "silently_wrong": None}
    found = rate(scores_by_case(scored, "success"))
    silent = float(scored["silently_wrong"].astype(float).mean())
    return {**row, "success": found.estimate, "low": found.low, "high": found.high, "silently_wrong": silent}
