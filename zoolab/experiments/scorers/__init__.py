"""Scorers: what can be said of a run that is over. Each is a function from a `Run` to numbers by name.

selection.py   the right tool, or none where none is needed
arguments.py   the right calls with the right arguments
answer.py      the right final answer
success.py     all that the case asks for
recovery.py    success in spite of an error
silence.py     wrong, without any error
cost.py        tokens, time, turns
rules.py       when calls are the ones that were expected
expected.py    how a case writes them down

A scorer of your own is a function, too:

>>> from zoolab import Scripted, run
>>> from zoolab.experiments.records import Case, Run
>>> def is_short(run):
...     return {"short": len(run.trace.answer or "") < 80}
>>> is_short(Run(Case("hello", "Hello!"), run("Hello!", [], Scripted(["Hello!"]))))
{'short': True}
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from zoolab.experiments.records import Scorer
from zoolab.experiments.scorers.answer import score_answer
from zoolab.experiments.scorers.arguments import score_arguments
from zoolab.experiments.scorers.cost import measure_cost
from zoolab.experiments.scorers.recovery import score_recovery
from zoolab.experiments.scorers.selection import score_selection
from zoolab.experiments.scorers.silence import score_silence
from zoolab.experiments.scorers.success import score_success

__all__ = [
    "SCORERS",
    "measure_cost",
    "score_answer",
    "score_arguments",
    "score_recovery",
    "score_selection",
    "score_silence",
    "score_success",
]

#: The scorers by the names that a file of settings calls them by; all of them are the default.
SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        "success": score_success,
        "selection": score_selection,
        "arguments": score_arguments,
        "answer": score_answer,
        "recovery": score_recovery,
        "silence": score_silence,
        "cost": measure_cost,
    }
)
