"""Grade the right and wrong answers of a lab with several seeds: a mistake costs the same, whatever is drawn.

python -m tools.seeds l6                 # every answer, ten seeds: one number each, or the numbers that came
python -m tools.seeds l6 --more DIR      # the .py files of a folder instead

`zoolab labs verify` prints one line a lab.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.wrong_answers import right_answers, wrong_answers
from zoolab.files import course_folder
from zoolab.grading import grade_cells, lab_names, load_lab
from zoolab.grading.isolation import shut_in
from zoolab.grading.submissions import read_cells


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a lab: its name, whether it is right, and its cells."""

    name: str
    right: bool
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer got: each number of points that came, in order, and its failed cases with what happened.

    >>> wrong = Answer("no_limit", False, ["x = 1"])
    >>> [Verdict(wrong, points, 20, {}).as_wanted for points in ([18], [17, 18], [20])]
    [True, False, False]
    """

    answer: Answer
    points: list[float]
    out_of: float
    failed: dict[str, str]

    @property
    def decided(self) -> bool:
        """Whether a right answer has all points with every seed, or a wrong one fewer."""
        return all((points == self.out_of) == self.answer.right for points in self.points)

    @property
    def as_wanted(self) -> bool:
        """Whether the answer is decided, with one number of points."""
        return self.decided and len(self.points) == 1


def answers_of(lab: str, folder: Path | None = None) -> list[Answer]:
    """The answers of a lab, or those in a folder; there, the names of wrong ones begin with `wrong`."""
    if folder is not None:
        files = sorted(folder.glob("*.py"))
        return [Answer(file.stem, not file.stem.startswith("wrong"), read_cells(file)) for file in files]
    right = [Answer(name, True, read_cells(path)) for name, path in right_answers(lab).items()]
    return right + [Answer(name, False, [wrong.code]) for name, wrong in wrong_answers(lab).items()]


def verdicts(name: str, answers: Iterable[Answer], seeds: Iterable[str]) -> Iterator[Verdict]:
    """Grade each answer of a lab with each seed."""
    lab, seeds = load_lab(name), list(seeds)
    with shut_in(lab) as isolation:
        for answer in answers:
            grades = [grade_cells(lab, answer.cells, isolation, seed) for seed in seeds]
            failed = {case.name: case.happened for grade in grades for case in grade.cases if not case.passed}
            yield Verdict(answer, sorted({grade.points for grade in grades}), lab.points, failed)


def print_verified(labs: Sequence[str], seeds: int) -> int:
    """Print a line for each lab (all, if none is named); 1 if an answer has not the points that it should."""
    scores = tomllib.loads((course_folder("labs") / "mutation.toml").read_text(encoding="utf-8"))
    odd = 0
    for lab in labs or lab_names():
        found = list(verdicts(lab, answers_of(lab), map(str, range(seeds))))
        told = [
            _told("right answers have all points", [each for each in found if each.answer.right]),
            _told("wrong answers lose points", [each for each in found if not each.answer.right]),
        ]
        if vary := [f"{each.answer.name} {each.points}" for each in found if len(each.points) > 1]:
            told.append(f"other points by the seed: {', '.join(vary)}")
        else:
            told.append(f"the same points with each of {seeds} seeds")
        told.append(_score(scores.get(lab)))
        print(f"{lab}: {'; '.join(told)}", flush=True)
        odd += sum(not each.as_wanted for each in found)
    return 1 if odd else 0


def _told(what: str, found: Sequence[Verdict]) -> str:
    missed = [each.answer.name for each in found if not each.decided]
    names = f" (not {', '.join(missed)})" if missed else ""
    return f"{len(found) - len(missed)} of {len(found)} {what}{names}"


def _score(measured: dict[str, Any] | None) -> str:
    """A lab's mutation score: mutants that lose points, of those that break a sentence of the text."""
    if measured is None:
        return "no mutation score"
    killed, count = measured["killed"], measured["mutants"] - sum(map(len, measured["equivalent"].values()))
    return f"mutation score {100 * killed / count:.1f} % ({killed} of {count})"


def main(arguments: Sequence[str]) -> int:
    """0 if each right answer has all points, each wrong one fewer, and every seed gives the same number."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.seeds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lab")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--more", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    odd, seeds = 0, map(str, range(options.seeds))
    for each in verdicts(options.lab, answers_of(options.lab, options.more), seeds):
        odd += not each.as_wanted
        mark = "  " if each.as_wanted else "! "
        print(f"{mark}{each.answer.name}: {each.points} of {each.out_of}; fails {', '.join(each.failed)}")
        if each.answer.right:
            print(*(f"      {case}: {happened}" for case, happened in each.failed.items()), sep="\n", end="")
    print(f"{options.lab}: {odd} answers with another number of points than they should have")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
