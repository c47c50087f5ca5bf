"""Grade the mutants of a lab's right answers, and print those that lose no point.

python -m tools.mutation l1
python -m tools.mutation l1 --of plain --seed 2

`labs/mutation.toml` lists the mutants that break no sentence of the lab's text. They are not printed.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence

from tools.mutation.mutants import mutants_of_cells
from tools.wrong_answers import right_answers
from zoolab.files import course_folder
from zoolab_grader import grade_cells
from zoolab_grader.isolation import shut_in
from zoolab_grader.labs import load_lab
from zoolab_grader.submissions import read_cells


def main(arguments: Sequence[str]) -> int:
    """0 if every mutant loses points or is listed as equivalent, 1 if one does not."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("lab")
    parser.add_argument("--of", action="append", metavar="NAME", help="only this right answer")
    parser.add_argument("--seed", action="append", metavar="N")
    options = parser.parse_args(arguments)
    lab, unexplained = load_lab(options.lab), 0
    with shut_in(lab) as isolation:
        for name, path in right_answers(options.lab).items():
            if options.of and name not in options.of:
                continue
            killed, survived, listed = 0, 0, equivalents(options.lab, name)
            for mutant, changed in mutants_of_cells(read_cells(path), lab.functions):
                grades = (grade_cells(lab, changed, isolation, seed) for seed in options.seed or ["1", "2"])
                if not all(grade.points == grade.out_of for grade in grades):
                    killed += 1
                    continue
                survived += 1
                if listed[mutant.name]:
                    listed[mutant.name] -= 1
                else:
                    unexplained += 1
                    print(f"{name}:{mutant.name}", flush=True)
            for mutant_name in listed.elements():
                print(f"{name}:{mutant_name}  is listed as equivalent, and loses points")
            print(f"{options.lab}, {name}: {killed} of {killed + survived} mutants lose points", flush=True)
    return 1 if unexplained else 0


def equivalents(lab: str, name: str) -> Counter[str]:
    """The mutants of a right answer that `labs/mutation.toml` lists as equivalent, by name."""
    measured = tomllib.loads((course_folder("labs") / "mutation.toml").read_text(encoding="utf-8")).get(
        lab, {}
    )
    if measured.get("of") != name:
        return Counter()
    return Counter(mutant for mutants in measured["equivalent"].values() for mutant in mutants)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
