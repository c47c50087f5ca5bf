"""In an experiment with recorded tools each call of a case runs once, whoever asks."""

from collections import Counter

import pytest

from zoolab.errors import InvalidInput
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Outcome
from zoolab.steps.define import tool
from zoolab_study.runner import experiment


class Till:
    """A world that costs money."""

    def __init__(self):
        self.paid = Counter()

        @tool(risk="medium")
        def pay(euros: int, to: str) -> int:
            """Pay."""
            self.paid[to, euros] += 1
            if euros == 3:
                raise ValueError("not three")
            return sum(self.paid.values())

        self.tools = [pay]

    def cases(self, names="ab"):
        """A case for each payee."""
        return [{"id": name, "prompt": f"Pay {name}.", "tools": self.tools} for name in names]


def paying(case):
    """A model that pays twice the same, and once what fails."""
    calls = [[("pay", {"euros": euros, "to": case.id})] for euros in (1, 1, 3)]
    return Scripted([*calls, "Paid."])


ALLOWED = {"policy": Policy(allow=["pay"])}


def test_each_call_of_a_case_runs_once(tmp_path):
    till, journal = Till(), tmp_path / "runs.jsonl"
    variants = {"one": ALLOWED, "two": {**ALLOWED, "envelope": "plain"}, "never": {}}

    def done(repeats):
        return experiment(
            till.cases(),
            variants,
            {"m": paying},
            repeats,
            journal=journal,
            tools="recorded",
            progress=False,
            workers=4,
        )

    first = done(2)
    once = {(name, euros): 2 if euros == 1 else 1 for name in "ab" for euros in (1, 3)}
    assert till.paid == once
    origins = Counter(
        step.record.origin
        for trace in first.traces
        for step in trace.steps
        if isinstance(step.record, Outcome) and trace.meta["variant"] != "never"
    )
    assert origins == {"": 6, "tape": 18}
    denied = [trace for trace in first.traces if trace.meta["variant"] == "never"]
    assert all("permission_denied" in {error.code for error in trace.errors} for trace in denied)
    done(4)  # the file is beside the journal
    assert till.paid == once


def test_what_cannot_be_recorded_is_refused(tmp_path):
    till = Till()
    with pytest.raises(InvalidInput, match="recorded tools need threads"):
        experiment(till.cases(), {"a": {}}, {"m": paying}, executor="processes", tools="recorded")
    with pytest.raises(InvalidInput, match='tools is "taped"'):
        experiment(till.cases(), {"a": {}}, {"m": paying}, tools="taped")
    (tmp_path / "r.tools.jsonl").write_text('{"recording":"other"}\n')
    with pytest.raises(InvalidInput, match="not the header of a recording"):
        experiment(till.cases(), {"a": {}}, {"m": paying}, journal=tmp_path / "r.jsonl", tools="recorded")
    assert not till.paid
