"""Does the final answer say what was to be found out?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.experiments.records import UNSAID, Run, Score
from zoolab.jsontext import excerpt

MAX_ANSWER = 100_000
_NUMBER = re.compile(
    r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,12}|\d{1,40})(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?(?!\w)"
)


def score_answer(run: Run) -> dict[str, Score]:
    """Whether the final answer names `expected_answer`, or one of several; None where the case has none.

    A text is looked for as whole words, whatever the case and the spaces; a number as a number, so that
    1,234.50 is 1234.5. An answer that names what is right beside what is wrong passes: for more, write
    a scorer of your own.

    Raises:
        InvalidInput: The expected answer is neither text nor number, nor a list of them.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("sum-1", "What is 42 + 58?", expected_answer=100)
    >>> score_answer(Run(case, run(case.prompt, [], Scripted(["It is 100."]))))
    {'answer': True}
    """
    if run.case.expected_answer is UNSAID:
        return {"answer": None}
    return {"answer": says(run.trace.answer or "", run.case.expected_answer)}


def says(text: str, expected: Any) -> bool:
    """Whether a text names what is expected: a text, a number, or one of a list of them.

    Raises:
        InvalidInput: It is something else.

    >>> says("It costs 1,234.50 EUR.", 1234.5), says("It is Paris.", "pari"), says("Yes", ["yes", "no"])
    (True, False, True)
    """
    text = text[:MAX_ANSWER]
    if isinstance(expected, str):
        return _names(text, expected)
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return any(math.isclose(found, expected, rel_tol=1e-9) for found in _numbers(text))
    if isinstance(expected, Iterable) and not isinstance(expected, dict | bytes):
        return any(says(text, one) for one in expected)
    raise InvalidInput(
        f"expected_answer is {excerpt(expected)}",
        expected="a text, a number, or a list of them",
    )


def _names(text: str, expected: str) -> bool:
    words = " ".join(expected.casefold().split())
    if not words:
        return not text.strip()
    pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
    return re.search(pattern, " ".join(text.casefold().split())) is not None


def _numbers(text: str) -> Iterable[float]:
    for found in _NUMBER.findall(text):
        yield float(found.replace(",", "").replace("\u2212", "-"))
