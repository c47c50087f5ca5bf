"""Did the run get there?"""

from __future__ import annotations

from zoolab.experiments.records import UNSAID, Run, Score
from zoolab.experiments.scorers.answer import score_answer
from zoolab.experiments.scorers.arguments import fault_in_run
from zoolab.experiments.scorers.selection import score_selection


def score_success(run: Run) -> dict[str, Score]:
    """Whether the run came to an answer, and the right one; None where the case does not say what is right.

    The expected answer decides, where there is one; else the expected calls; else the expected tool.
    Who gets to the right answer by another way has succeeded, too.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("sum-1", "What is 42 + 58?", expected_tool="add", expected_answer="100")
    >>> score_success(Run(case, run(case.prompt, [], Scripted(["It is 100."]))))
    {'success': True}
    """
    return {"success": succeeded(run)}


def succeeded(run: Run) -> bool | None:
    """As `score_success` has it.

    >>> from zoolab import Trace
    >>> from zoolab.experiments.records import Case
    >>> cases = Case("a", "Hello!"), Case("b", "What is 1 + 1?", expected_answer=2)
    >>> [succeeded(Run(case, Trace())) for case in cases]
    [None, False]
    """
    case = run.case
    if case.expected_answer is not UNSAID:
        right: Score = score_answer(run)["answer"]
    elif case.expected_calls is not UNSAID:
        right = not fault_in_run(run)
    else:
        right = score_selection(run)["selection"]
    return None if right is None else bool(right) and run.trace.outcome == "answer"
