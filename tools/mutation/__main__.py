"""Grade the mutants of a lab's right answers, and print those that lose no point.

python -m tools.mutation l3
python -m tools.mutation l3 --of plain --seed 2
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.mutation.mutants import mutants_of_cells
from tools.wrong_answers import right_answers
from zoolab.grading import grade_cells
from zoolab.grading.isolation import shut_in
from zoolab.grading.labs import load_lab
from zoolab.grading.submissions import read_cells


def main(arguments: Sequence[str]) -> int:
    """0 if every mutant loses points, 1 if one does not."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("lab")
    parser.add_argument("--of", action="append", metavar="NAME", help="only this right answer")
    parser.add_argument("--seed", action="append", metavar="N")
    options = parser.parse_args(arguments)
    lab = load_lab(options.lab)
    survived = total = 0
    with shut_in(lab) as isolation:
        for name, path in right_answers(options.lab).items():
            if options.of and name not in options.of:
                continue
            for mutant, changed in mutants_of_cells(read_cells(path), lab.functions):
                total += 1
                kept = all(
                    (found := grade_cells(lab, changed, isolation, seed=seed)).points == found.out_of
                    for seed in options.seed or ["1", "2"]
                )
                if kept:
                    survived += 1
                    print(f"{name}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{options.lab}: {total - survived} of {total} mutants lose points")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
