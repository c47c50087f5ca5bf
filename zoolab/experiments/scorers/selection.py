"""Was the right tool chosen, or none where none is needed?"""

from __future__ import annotations

from zoolab.experiments.records import Run, Score, Unsaid
from zoolab.experiments.scorers.rules import is_named


def score_selection(run: Run) -> dict[str, Score]:
    """Whether the first call of the run is of the expected tool, and in which way it is not.

    Where no tool is needed (`expected_tool` is None), no call is the right choice. All are None where
    the case does not say what it expects.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("hello", "Hello!", expected_tool=None)
    >>> score_selection(Run(case, run(case.prompt, [], Scripted(["Hello!"]))))
    {'selection': True, 'missed_call': False, 'needless_call': False, 'wrong_tool': False}
    """
    expected = run.case.expected_tool
    if isinstance(expected, Unsaid):
        return {"selection": None, "missed_call": None, "needless_call": None, "wrong_tool": None}
    calls = run.trace.tool_calls
    called = calls[0].name if calls else None
    right = called is expected if None in (called, expected) else is_named(str(called), str(expected))
    return {
        "selection": right,
        "missed_call": called is None and expected is not None,
        "needless_call": called is not None and expected is None,
        "wrong_tool": not right and None not in (called, expected),
    }
