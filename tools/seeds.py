"""Grade the right and wrong answers of a lab with several seeds, and print the points of each.

python -m tools.seeds l5                 # every answer, ten seeds: one number each, or the numbers that came
python -m tools.seeds l5 --more DIR      # the .py files of a folder instead
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.wrong_answers import right_answers, wrong_answers
from zoolab.grading import grade_cells, load_lab
from zoolab.grading.isolation import shut_in
from zoolab.grading.submissions import read_cells


def answers(lab: str, folder: Path | None) -> Iterator[tuple[str, bool, list[str]]]:
    """Name, whether it is right, and the cells of each answer; in a folder the names of wrong ones say so."""
    if folder is not None:
        for path in sorted(folder.glob("*.py")):
            yield path.stem, not path.stem.startswith("wrong"), read_cells(path)
        return
    for name, path in right_answers(lab).items():
        yield name, True, read_cells(path)
    for name, wrong in wrong_answers(lab).items():
        yield name, False, [wrong.code]


def main(arguments: Sequence[str]) -> int:
    """0 if each right answer has all points, each wrong one fewer, and every seed gives the same number."""
    parser = argparse.ArgumentParser(prog="python -m tools.seeds", description=__doc__)
    parser.add_argument("lab")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--more", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    lab, odd = load_lab(options.lab), 0
    with shut_in(lab) as isolation:
        for name, right, cells in answers(options.lab, options.more):
            grades = [grade_cells(lab, cells, isolation, seed=str(n)) for n in range(options.seeds)]
            points = sorted({grade.points for grade in grades})
            failed = {case.name: case.happened for grade in grades for case in grade.cases if not case.passed}
            as_wanted = len(points) == 1 and (points[0] == lab.points) == right
            odd += not as_wanted
            print(f"{'  ' if as_wanted else '! '}{name}: {points} of {lab.points}; fails {', '.join(failed)}")
            if right:
                print(*(f"      {case}: {happened}" for case, happened in failed.items()), sep="\n", end="")
    print(f"{options.lab}: {odd} answers with another number of points than they should have")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
