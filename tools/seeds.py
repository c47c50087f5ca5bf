"""Grade the right and wrong answers of a lab with several seeds: a mistake costs the same, whatever is drawn.

python -m tools.seeds l6                 # every answer, ten seeds: one number each, or the numbers that came
python -m tools.seeds l6 --more DIR      # the .py files of a folder instead

`zoolab labs verify` prints one line a lab. Both grade on all processors, or on --jobs N of them.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from tools.wrong_answers import right_answers, wrong_answers
from zoolab.files import course_folder
from zoolab_grader import grade_cells, lab_names, load_lab
from zoolab_grader.isolation import kept_warm
from zoolab_grader.submissions import read_cells
from zoolab_study.jobs import Workers


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
    """Return the answers of a lab, or those in a folder; there, the names of wrong ones begin with
    `wrong`.
    """
    if folder is not None:
        files = sorted(folder.glob("*.py"))
        return [Answer(file.stem, not file.stem.startswith("wrong"), read_cells(file)) for file in files]
    right = [Answer(name, True, read_cells(path)) for name, path in right_answers(lab).items()]
    return right + [Answer(name, False, [wrong.code]) for name, wrong in wrong_answers(lab).items()]


def verdict(lab: str, answer: Answer, seeds: Sequence[str]) -> Verdict:
    """Grade an answer of a lab with each seed; the worker is kept for this thread's next answer."""
    loaded = load_lab(lab)
    with kept_warm(loaded) as isolation:
        grades = [grade_cells(loaded, answer.cells, isolation, seed) for seed in seeds]
    failed = {case.name: case.happened for grade in grades for case in grade.cases if not case.passed}
    return Verdict(answer, sorted({grade.points for grade in grades}), loaded.points, failed)


def begin(workers: Workers, lab: str, answers: Sequence[Answer], seeds: int) -> list[Future[Verdict]]:
    """Hand out the answers of a lab, one by one; their verdicts come in the same order."""
    names = [str(seed) for seed in range(seeds)]
    return [workers.submit(verdict, lab, answer, names) for answer in answers]


def print_verified(labs: Sequence[str], seeds: int, jobs: int | None = None) -> int:
    """Print a line for each lab (all, if none is named); 1 if an answer has not the points that it should."""
    scores = tomllib.loads((course_folder("labs") / "mutation.toml").read_text(encoding="utf-8"))
    answers = {lab: answers_of(lab) for lab in labs or lab_names()}
    odd = 0
    with Workers("processes", jobs) as workers:
        begun = {lab: begin(workers, lab, answers[lab], seeds) for lab in answers}
        for lab, waiting in begun.items():
            found = _watched(lab, waiting)
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


def _watched(lab: str, waiting: Sequence[Future[Verdict]]) -> list[Verdict]:
    """Return the verdicts, with a bar on a terminal while they come."""
    console = Console(stderr=True)
    hidden = not sys.stderr.isatty()
    bar = track(waiting, lab, console=console, transient=True, disable=hidden)
    return [each.result() for each in bar]


def _told(what: str, found: Sequence[Verdict]) -> str:
    missed = [each.answer.name for each in found if not each.decided]
    names = f" (not {', '.join(missed)})" if missed else ""
    return f"{len(found) - len(missed)} of {len(found)} {what}{names}"


def _score(measured: dict[str, Any] | None) -> str:
    """Return a lab's mutation score: mutants that lose points, of those that break a sentence of the text."""
    if measured is None:
        return "no mutation score"
    killed = measured["killed"]
    count = measured["mutants"] - sum(map(len, measured["equivalent"].values()))
    return f"mutation score {100 * killed / count:.1f} % ({killed} of {count})"


def main(arguments: Sequence[str]) -> int:
    """Return 0 if each right answer has all points, each wrong one fewer, and every seed gives the same
    number.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.seeds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lab")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; by default one a processor")
    parser.add_argument("--more", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    odd = 0
    with Workers("processes", options.jobs) as workers:
        answers = answers_of(options.lab, options.more)
        for each in (future.result() for future in begin(workers, options.lab, answers, options.seeds)):
            odd += not each.as_wanted
            mark = "  " if each.as_wanted else "! "
            failed = ", ".join(each.failed)
            print(f"{mark}{each.answer.name}: {each.points} of {each.out_of}; fails {failed}", flush=True)
            if each.answer.right:
                for case, happened in each.failed.items():
                    print(f"      {case}: {happened}")
    print(f"{options.lab}: {odd} answers with another number of points than they should have")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
