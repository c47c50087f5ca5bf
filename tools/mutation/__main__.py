"""Put small faults into a lab's right answers or into a part of zoolab, and print those that nothing notices.

python -m tools.mutation l1
python -m tools.mutation l1 --of plain --seed 2
python -m tools.mutation l1 --number 20    # only so many, drawn by the seed, as each night does
python -m tools.mutation l1 --capacity     # lists, memories and sums that hold only so much
python -m tools.mutation policy --number 30 --seed 2

The mutants of a lab are graded: they have to lose points. The mutants of a part of zoolab (policy, forks,
conversations, jobs) are drawn: a test of the part has to fail. `labs/mutation.toml` and
`tools/mutation/modules.toml` list the mutants that are no faults. They are not printed.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from tools.mutation.capacity import capacity_mutants_of_cells
from tools.mutation.modules import Part, parts, survivors
from tools.mutation.mutants import Mutant, mutants_of_cells
from tools.wrong_answers import SOLUTION, right_answers
from zoolab.files import course_folder
from zoolab_grader import grade_cells
from zoolab_grader.isolation import shut_in
from zoolab_grader.labs import load_lab
from zoolab_grader.submissions import read_cells


def main(arguments: Sequence[str]) -> int:
    """Return 0 if every mutant is noticed or listed as equivalent, 1 if one is not."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", help="a lab, or a part of zoolab")
    parser.add_argument("--of", action="append", metavar="NAME", help="of a lab, only this right answer")
    parser.add_argument("--seed", action="append", metavar="N")
    parser.add_argument("--capacity", action="store_true", help="of a lab, what holds only so much")
    parser.add_argument("--number", type=int, help="how many mutants are drawn: of a part, 25 by default")
    options = parser.parse_args(arguments)
    part = parts().get(options.name)
    if part is not None:
        return try_part(options.name, part, options.number or 25, options.seed or ["1"])
    of = options.of
    seeds = options.seed or ["1", "2"]
    unknown = [name for name in of or [] if name not in right_answers(options.name)]
    if unknown:
        there = ", ".join(right_answers(options.name))
        parser.error(f"{options.name} has no right answer called {unknown[0]}; there are {there}")
    if options.capacity:
        return grade_lab(options.name, of, seeds, options.number, capacity_mutants_of_cells, "capacity")
    if options.number:
        of = of or [_measured(options.name).get("of", SOLUTION)]
        seeds = options.seed or ["1"]
    return grade_lab(options.name, of, seeds, options.number)


def try_part(name: str, part: Part, number: int, seeds: Sequence[str]) -> int:
    """Print the drawn mutants of a part that no test notices. Return 1 if there are any."""
    tried = 0
    survived = 0
    for seed in seeds:
        for file, mutant, passed in survivors(part, number, seed):
            tried += 1
            if passed:
                survived += 1
                print(f"{file}:{mutant.name}", flush=True)
    print(f"{name}: {tried - survived} of {tried} mutants are noticed", flush=True)
    return 1 if survived else 0


def grade_lab(
    lab_name: str,
    answers: Sequence[str] | None,
    seeds: Sequence[str],
    number: int | None = None,
    made: Callable[[Sequence[str], Sequence[str]], Iterator[tuple[Mutant, list[str]]]] = mutants_of_cells,
    kind: str = "equivalent",
) -> int:
    """Print the mutants of a lab's right answers that keep all points. Return 1 if one is not listed.

    With `number`, so many of them are drawn by the first seed. `kind` is the table of those that are listed.
    """
    lab = load_lab(lab_name)
    unexplained = 0
    with shut_in(lab) as isolation:
        for name, path in right_answers(lab_name).items():
            if answers and name not in answers:
                continue
            killed = 0
            survived = 0
            listed = equivalents(lab_name, name, kind)
            every = [*made(read_cells(path), lab.functions)]
            tried = every if number is None else Random(seeds[0]).sample(every, min(number, len(every)))
            for mutant, changed in tried:
                grades = (grade_cells(lab, changed, isolation, seed) for seed in seeds)
                if not all(grade.points == grade.out_of for grade in grades):
                    killed += 1
                    continue
                survived += 1
                if listed[mutant.name]:
                    listed[mutant.name] -= 1
                else:
                    unexplained += 1
                    print(f"{name}:{mutant.name}", flush=True)
            for mutant_name in listed.elements() if number is None else ():
                print(f"{name}:{mutant_name}  is listed as equivalent, and loses points")
            print(f"{lab_name}, {name}: {killed} of {killed + survived} mutants lose points", flush=True)
    return 1 if unexplained else 0


def equivalents(lab: str, name: str, kind: str = "equivalent") -> Counter[str]:
    """Return the mutants of a right answer that `labs/mutation.toml` lists as equivalent, by name.

    Those of capacity are listed in the table `capacity`.
    """
    measured = _measured(lab)
    if measured.get("of") != name:
        return Counter()
    return Counter(mutant for mutants in measured.get(kind, {}).values() for mutant in mutants)


def _measured(lab: str) -> dict[str, Any]:
    """Return what `labs/mutation.toml` says of a lab; nothing if the lab is not in it."""
    text = (course_folder("labs") / "mutation.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text).get(lab, {})
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
