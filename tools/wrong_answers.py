"""The right and wrong answers that a lab is tested with.

A right answer is a file: the solution, or `right/NAME.py`. A wrong answer is a small change of a right one: a
table in the lab's `wrong.toml`, which says what is changed, why that is wrong, and which cases must fail. The
table `stays` gives the reason for each case that no wrong answer fails alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from zoolab.commands.listing import print_json
from zoolab.errors import InvalidInput
from zoolab_grader import grade_cells
from zoolab_grader.isolation import shut_in
from zoolab_grader.labs import folder_of, load_lab
from zoolab_grader.submissions import read_cells

SOLUTION = "solution"
STAYS = "stays"
KEYS = {"why", "why_so_many", "of", "change", "code", "fails", "fails_only"}
#: A mistake costs its own case, maybe one that needs the same rule, and the case that has all rules.
FEW_CASES = 3


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A wrong answer, its code in full; the grader must take points off it for the cases in `fails`.

    If `only` is true, no other case may fail. `why_so_many` is the reason if more than `FEW_CASES` fail.
    """

    name: str
    why: str
    code: str
    fails: frozenset[str]
    only: bool
    why_so_many: str = ""

    def is_caught_by(self, failed: Collection[str]) -> bool:
        """Return whether these are the cases that must fail.

        >>> wrong = WrongAnswer("no_limit", "Goes on for ever.", "", frozenset({"limit"}), only=True)
        >>> wrong.is_caught_by({"limit"}), wrong.is_caught_by({"limit", "errors"}), wrong.is_caught_by(set())
        (True, False, False)
        """
        return self.fails == set(failed) if self.only else bool(failed) and self.fails <= set(failed)


def right_answers(lab: str) -> dict[str, Path]:
    """Return the right answers of a lab, by name: its solution and the files in `right/`.

    >>> sorted(right_answers("l1"))
    ['last_calls_not_run', 'latin1', 'plain', 'recursive_noisy', 'solution', 'threads']
    """
    folder = folder_of(lab)
    files = {path.stem: path for path in sorted((folder / "right").glob("*.py"))}
    return {SOLUTION: folder / "solution.ipynb", **files}


def wrong_answers(lab: str) -> dict[str, WrongAnswer]:
    """Return the wrong answers of a lab, by name; none if it has no `wrong.toml`.

    Raises `InvalidInput` if a table is not complete, or if a change does not fit the right answer.

    >>> wrong_answers("l2")["keeps_the_oldest"].why
    'Fills the budget from the front, so the newest messages go first.'
    """
    file, tables = _tables_of(lab)
    usual = tables.pop("of", SOLUTION)
    right = right_answers(lab)
    found = {}
    tables.pop(STAYS, None)
    for name, table in tables.items():
        try:
            found[name] = _wrong_answer(name, {"of": usual, **table}, right)
        except InvalidInput as error:
            raise InvalidInput(
                f"{file}: [{name}]: {error.what}", expected=error.expected, advice=error.advice
            ) from error
    return found


def reasons_to_stay(lab: str) -> dict[str, str]:
    """Return why a case stays although no wrong answer fails it alone: the table `stays` of `wrong.toml`.

    >>> list(reasons_to_stay("l10"))
    ['recorded_attacks']
    """
    reasons: dict[str, str] = _tables_of(lab)[1].get(STAYS, {})
    return reasons


def _tables_of(lab: str) -> tuple[Path, dict[str, Any]]:
    """Return the file of a lab's wrong answers, and what it says; nothing if there is no file."""
    file = folder_of(lab) / "wrong.toml"
    try:
        return file, tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file}: {error}", expected="TOML") from error


def print_findings(name: str, as_json: bool = False) -> int:
    """Grade a lab's wrong answers and print which of them fail each case.

    Returns 1 if an answer is of no use or has another verdict than it must have, or if a case is of no use
    and nobody says why it stays; else 0.
    """
    lab = load_lab(name)
    answers = wrong_answers(name)
    failed: dict[str, set[str]] = {}
    with shut_in(lab) as isolation:
        for wrong in answers.values():
            graded = grade_cells(lab, [wrong.code], isolation, name=wrong.name)
            failed[wrong.name] = {case.name for case in graded.cases if not case.passed}
    finding = {case.name: [wrong for wrong in failed if case.name in failed[wrong]] for case in lab.cases}
    for case in [] if as_json else lab.cases:
        found = {wrong: names for wrong, names in failed.items() if case.name in names}
        told = [f"{wrong} (alone)" if len(names) == 1 else wrong for wrong, names in found.items()]
        print(f"{case.name}: {', '.join(told) or 'no wrong answer'}")
    alone = {next(iter(names)) for names in failed.values() if len(names) == 1}
    reasons = reasons_to_stay(name)
    questionable = [case.name for case in lab.cases if case.name not in alone and case.name not in reasons]
    missed = [wrong for wrong, names in failed.items() if not names]
    odd = [wrong for wrong, names in failed.items() if names and not answers[wrong].is_caught_by(names)]
    if as_json:
        known = {"cases": finding, "questionable": questionable, "stays": reasons}
        print_json({"lab": lab.name, **known, "missed": missed, "odd": odd})
        return 1 if questionable or missed or odd else 0
    print(f"\n{lab.name}: {len(failed)} wrong answers, {len(lab.cases)} cases")
    if questionable:
        print(f"questionable, since no wrong answer fails it alone: {', '.join(questionable)}")
    for stays, why in reasons.items():
        print(f"no wrong answer fails {stays} alone; it stays: {why}")
    if missed:
        print(f"found by no case: {', '.join(missed)}")
    if odd:
        print(f"other cases fail than wrong.toml says: {', '.join(odd)}")
    return 1 if questionable or missed or odd else 0


def _wrong_answer(name: str, table: dict[str, Any], right: dict[str, Path]) -> WrongAnswer:
    if unknown := table.keys() - KEYS:
        raise InvalidInput(f"unknown key {min(unknown)!r}", expected=f"one of {', '.join(sorted(KEYS))}")
    if not table.get("why"):
        raise InvalidInput("the wrong answer has no reason", expected='why = "what this answer does wrong"')
    if ("change" in table) == ("code" in table):
        raise InvalidInput(
            "the wrong answer needs either a change or code", expected="exactly one of the two"
        )
    if ("fails" in table) == ("fails_only" in table):
        raise InvalidInput("the wrong answer needs exactly one verdict", expected="fails or fails_only")
    fails = frozenset(table.get("fails") or table.get("fails_only") or ())
    if not fails:
        raise InvalidInput(
            "the verdict of the wrong answer names no case", expected="the cases that must fail"
        )
    if table["of"] not in right:
        raise InvalidInput(f"there is no right answer {table['of']!r}", expected=f"one of {', '.join(right)}")
    if "code" in table:
        code = table["code"]
    else:
        code = changed("\n".join(read_cells(right[table["of"]])), table["change"])
    reason = table.get("why_so_many", "")
    return WrongAnswer(name, table["why"], code, fails, only="fails_only" in table, why_so_many=reason)


def changed(code: str, change: str) -> str:
    """Return the code after a change, which is written as in a diff, with an empty line between two places.

    A line begins with `-` if it goes, with `+` if it is new, and with a space if it only shows the place. The
    lines of a place that the code has already must occur in it exactly once.

    >>> print(changed("a = 1\\nb = 2\\nreturn a", "-b = 2\\n+b = 3\\n\\n return a\\n+# the end"))
    a = 1
    b = 3
    return a
    # the end
    """
    lines = code.split("\n")
    places = [place.split("\n") for place in change.strip("\n").split("\n\n")]
    found = sorted(_find(place, lines) for place in places)
    for (at, old, _new), (following, _old, _following) in pairwise(found):
        if at + len(old) > following:
            raise InvalidInput(
                f"two parts of the change contain the line {lines[following]!r}", expected="one"
            )
    for at, old, new in reversed(found):
        lines[at : at + len(old)] = new
    return "\n".join(lines)


def _find(place: list[str], lines: list[str]) -> tuple[int, list[str], list[str]]:
    """Return where a place of a change is in the code, its lines there, and the lines that come instead."""
    if odd := [line for line in place if line[:1] not in ("-", "+", " ")]:
        raise InvalidInput(
            f"the change has a line without a mark: {odd[0]!r}", expected="-, + or a space before each line"
        )
    old = [line[1:] for line in place if line[0] != "+"]
    new = [line[1:] for line in place if line[0] != "-"]
    if not old:
        raise InvalidInput(
            f"a part of the change has only new lines: {new}", expected="also the line before or after them"
        )
    if old == new:
        raise InvalidInput(f"the change leaves {old} as it is", expected="lines with - or +")
    found = [at for at in range(len(lines)) if lines[at : at + len(old)] == old]
    if not found:
        raise InvalidInput(f"the right answer does not contain {old}", expected="its lines as they are")
    if len(found) > 1:
        what = f"the right answer contains {old} {len(found)} times"
        raise InvalidInput(what, expected="once", advice="add the line before or after it")
    return found[0], old, new
