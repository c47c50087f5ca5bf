"""Scorers: functions from a run that has ended to numbers by name.

    selection   the right tool, or no call if the case needs none
    arguments   the right calls with the right arguments
    answer      the right final answer
    success     all that the case asks for
    recovery    success in spite of an error
    silence     wrong, without any error
    cost        tokens, time, turns

Any function from a `Run` to a number, or to several by name, is a scorer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.trace.log import tools_of
from zoolab.trace.summary import tokens_used
from zoolab_study.cases import UNSAID, Run, Score, Scorer, Unsaid
from zoolab_study.expected import ANY_CALL, are_expected, expected_calls, is_named

MAX_ANSWER = 100_000
_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?(?!\w)"
)


def score_answer(run: Run) -> dict[str, Score]:
    """Return whether the final answer names `expected_answer`, or one of several; None where the case has
    none.

    A text is looked for as whole words, whatever the case and the spaces; a number as a number, so that
    1,234.50 is 1234.5. An answer that names what is right beside what is wrong passes: for more, write
    a scorer of your own.

    Raises `InvalidInput` if the expected answer is neither text nor number, nor a list of them.
    """
    if run.case.expected_answer is UNSAID:
        return {"answer": None}
    return {"answer": says(run.trace.answer or "", run.case.expected_answer)}


def says(text: str, expected: Any) -> bool:
    """Return whether a text names what is expected: a text, a number, or one of a list of them.

    Raises `InvalidInput` if it is something else.
    """
    text = text[:MAX_ANSWER]
    if isinstance(expected, str):
        words = " ".join(expected.casefold().split())
        if not words:
            return not text.strip()
        pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
        return re.search(pattern, " ".join(text.casefold().split())) is not None
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        numbers = (float(n.replace(",", "").replace("\u2212", "-")) for n in _NUMBER.findall(text))
        return any(math.isclose(number, expected, rel_tol=1e-9) for number in numbers)
    if isinstance(expected, Iterable) and not isinstance(expected, dict | bytes):
        return any(says(text, one) for one in expected)
    what = f"expected_answer is {excerpt(expected)}"
    raise InvalidInput(what, expected="a text, a number, or a list of them")


def score_arguments(run: Run) -> dict[str, Score]:
    """Return whether the calls are the expected ones, by the rules of the Berkeley leaderboard.

    It looks at all calls of the run that passed validation. None if the case has no `expected_calls`; if that
    is empty, no call is the right answer.
    """
    if run.case.expected_calls is UNSAID:
        return {"arguments": None}
    made = (call for turn in run.trace.turns for call in turn.calls.values())
    passed = (call for call in made if call.verdict is not None and call.verdict.ok)
    calls = [(call.call.name, call.arguments) for call in passed]
    if run.case.expected_calls == ANY_CALL:
        return {"arguments": bool(calls)}
    schemas = {tool.name: tool.parameters for tool in tools_of(run.trace)}  # as the model saw them
    return {"arguments": are_expected(calls, expected_calls(run.case.expected_calls), schemas)}


def score_selection(run: Run) -> dict[str, Score]:
    """Return whether the first call of the run is of the expected tool, and in which way it is not.

    Where no tool is needed (`expected_tool` is None), no call is the right choice. All are None where
    the case does not say what it expects.
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


def score_success(run: Run) -> dict[str, Score]:
    """Return whether the run came to an answer, and the right one; None where the case does not say what is
    right.

    The expected answer decides, where there is one; else the expected calls; else the expected tool.
    Who gets to the right answer by another way has succeeded, too.
    """
    case = run.case
    if case.expected_answer is not UNSAID:
        right: Score = score_answer(run)["answer"]
    elif case.expected_calls is not UNSAID:
        right = score_arguments(run)["arguments"]
    else:
        right = score_selection(run)["selection"]
    return {"success": None if right is None else bool(right) and run.trace.outcome == "answer"}


def score_recovery(run: Run) -> dict[str, Score]:
    """Return how many errors there were, and whether the run succeeded all the same.

    `recovered` is None where there was no error, or where the case does not say what is right.
    """
    errors = len(run.trace.errors)
    return {"errors": errors, "recovered": score_success(run)["success"] if errors else None}


def score_silence(run: Run) -> dict[str, Score]:
    """Return whether the run came to an answer without any error, and to a wrong one: what nobody would
    notice.

    None where the case does not say what is right.
    """
    right = score_success(run)["success"]
    if right is None:
        return {"silently_wrong": None}
    return {"silently_wrong": not right and run.trace.outcome == "answer" and not run.trace.errors}


def measure_cost(run: Run) -> dict[str, Score]:
    """Return tokens sent and received, seconds, turns and calls.

    Tokens hold those of sub-agents. They are None if no reply says them: the endpoint counts them, and
    zoolab never guesses. Seconds are None for a run that did not end.
    """
    trace = run.trace
    tokens = tokens_used(trace.steps)
    return {
        "tokens_in": tokens.input,
        "tokens_out": tokens.output,
        "seconds": trace.ended,
        "turns": len(trace.turns),
        "calls": len(trace.tool_calls),
    }


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
