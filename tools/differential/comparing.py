"""Play drawn inputs to an answer, and find the first one for which something else comes than is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from random import Random
from typing import Any

from zoolab.jsontext import canonical
from zoolab_grader import Lab, Student, Wrong, grade_cells
from zoolab_grader.isolation import Isolation
from zoolab_grader.labs import Case
from zoolab_grader.process import WHOLE

FAILED = '"no value"'
#: So many inputs are played to one process: what a process may send in its life is bounded, and its time too.
AT_ONCE = 200
#: Characters of a difference that are shown.
MOST = 1_500


@dataclass(frozen=True, slots=True)
class Difference:
    """An input for which two answers do not give the same; all three are JSON."""

    given: str
    wanted: str
    came: str

    def __str__(self) -> str:
        names = ("given", "right", "this ")
        texts = (self.given, self.wanted, self.came)
        return "\n".join(f"      {name} {text[:MOST]}" for name, text in zip(names, texts, strict=True))


@dataclass(frozen=True, slots=True)
class Inputs:
    """The drawn inputs of a lab, and how one of them is played."""

    lab: Lab
    given: Sequence[Any]
    play: Callable[[Student, Any], Any]

    @classmethod
    def of(cls, lab: Lab, count: int, seed: int = 0) -> Inputs:
        """Draw `count` inputs with what `tools/differential/LAB.py` says; raises `ImportError` without it."""
        module = import_module(f"tools.differential.{lab.name}")
        given = [module.draw(Random(f"{lab.name}/{seed}/{number}")) for number in range(count)]
        return cls(lab, given, module.play)

    def results(self, cells: Sequence[str], isolation: Isolation) -> list[str]:
        """Return what an answer makes of each input, as JSON."""
        return list(self._played(cells, isolation, lambda _number, _came: True))

    def difference(
        self, cells: Sequence[str], isolation: Isolation, wanted: Sequence[str]
    ) -> Difference | None:
        """Return the first input for which something else comes than `wanted`; None if there is none."""
        played = list(self._played(cells, isolation, lambda number, came: came == wanted[number]))
        for given, right, came in zip(self.given, wanted, played, strict=False):
            if came != right:
                return Difference(canonical(given), right, came)
        return None

    def _played(
        self, cells: Sequence[str], isolation: Isolation, go_on: Callable[[int, str], bool]
    ) -> Iterator[str]:
        found: list[str] = []

        def play_all(student: Student, _chance: Random) -> None:
            for number, given in enumerate(self.given):
                if number % AT_ONCE == 0:
                    student.stop()
                    student.left = WHOLE
                try:
                    came = canonical(self.play(student, given))
                except Wrong:
                    came = FAILED
                found.append(came)
                if not go_on(number, came):
                    return

        case = Case("drawn", "Drawn inputs are played.", "", 1, False, play_all)
        grade_cells(replace(self.lab, cases=(case,)), cells, isolation)
        yield from found
