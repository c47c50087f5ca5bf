"""Play drawn inputs to the right answers of a lab, to their mutants, and to its wrong answers.

python -m tools.differential l5                            # all answers, and mutants of each right one
python -m tools.differential l5 --of plain --draws 5000    # mutants of one right answer, more inputs
python -m tools.differential l5 --of none --more DIR       # no mutants; the .py files of a folder too

It prints right answers that differ from the first one (the task does not decide, or one of them is wrong),
mutants that keep all points, with the first input that tells them from the right answer (a case is missing)
if there is one, and wrong answers that no input shows (the inputs are too plain).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.differential.comparing import Inputs
from tools.mutation.mutants import mutants_of_cells
from tools.wrong_answers import right_answers, wrong_answers
from zoolab_grader import Lab, grade_cells, load_lab
from zoolab_grader.isolation import Isolation, shut_in
from zoolab_grader.submissions import read_cells

SEEDS = ("1", "2")


def main(arguments: Sequence[str]) -> int:
    """Return 0 if right answers agree and each mutant that differs from them loses points; else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.differential",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lab")
    parser.add_argument("--of", action="append", metavar="NAME", help="only mutants of this right answer")
    parser.add_argument("--draws", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--more", type=Path, metavar="DIR", help="more answers; names of wrong ones begin so")
    options = parser.parse_args(arguments)
    lab = load_lab(options.lab)
    right = {name: read_cells(path) for name, path in right_answers(options.lab).items()}
    inputs = Inputs.of(lab, options.draws, options.seed)
    missing = 0
    with shut_in(lab) as isolation:
        first, *_ = right
        wanted = inputs.results(right[first], isolation)
        print(
            f"{lab.name}: {len(wanted)} inputs, {len(set(wanted))} different results of {first}", flush=True
        )
        for name, is_right, cells in [*_answers(lab.name, right), *_more(options.more)]:
            found = inputs.difference(cells, isolation, wanted)
            if is_right and found:
                missing += 1
                print(f"! right answer {name} differs:\n{found}", flush=True)
            elif not is_right and found is None:
                print(f"  wrong answer {name}: no input shows it", flush=True)
        for name, cells in right.items():
            if not options.of or name in options.of:
                missing += _mutants(name, cells, inputs, isolation, wanted)
    print(f"{lab.name}: {missing} differences without a failing case")
    return 1 if missing else 0


def _answers(lab: str, right: dict[str, list[str]]) -> Iterator[tuple[str, bool, list[str]]]:
    yield from ((name, True, cells) for name, cells in right.items())
    yield from ((name, False, [wrong.code]) for name, wrong in wrong_answers(lab).items())


def _more(folder: Path | None) -> Iterator[tuple[str, bool, list[str]]]:
    for path in sorted(folder.glob("*.py")) if folder else ():
        yield path.stem, not path.stem.startswith("wrong"), read_cells(path)


def _mutants(name: str, cells: list[str], inputs: Inputs, isolation: Isolation, wanted: Sequence[str]) -> int:
    """Print the mutants of a right answer that keep all points, and count those that an input shows."""
    total = alike = differ = 0
    for mutant, changed in mutants_of_cells(cells, inputs.lab.functions):
        total += 1
        if not all(_has_all_points(inputs.lab, changed, isolation, seed) for seed in SEEDS):
            continue
        found = inputs.difference(changed, isolation, wanted)
        differ += found is not None
        alike += found is None
        said = "! a case is missing for" if found else "  no input shows"
        print(f"{said} {name}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
        if found:
            print(found, flush=True)
    killed = total - alike - differ
    score = 100 * killed / max(total - alike, 1)
    print(
        f"{name}: {killed} of {total} mutants lose points, {alike} are alike; score {score:.1f} %", flush=True
    )
    return differ


def _has_all_points(lab: Lab, cells: list[str], isolation: Isolation, seed: str) -> bool:
    grade = grade_cells(lab, cells, isolation, seed=seed)
    return grade.points == grade.out_of


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
