"""Labs: what a lab consists of, and which labs there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab.jsontext import digest
from zoolab_grader.student import Student

Check = Callable[[Student, Random], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a lab: a function that calls the student's code, and raises `Wrong` if the code fails.

    `name` is the function's name, `asks` its docstring: the sentence of the task that the student reads.
    """

    name: str
    asks: str
    hint: str
    points: float
    public: bool
    check: Check


def case(points: float, hint: str, public: bool = False) -> Callable[[Check], Case]:
    """Make a function of `(student, random)` a case. Its docstring is the sentence that the student reads.

    >>> @case(points=2, hint="Look at the sign.")
    ... def adds_negatives(student, random):
    ...     "`add` also adds negative numbers."
    >>> adds_negatives.name, adds_negatives.asks, adds_negatives.points
    ('adds_negatives', '`add` also adds negative numbers.', 2)
    """

    def described(check: Check) -> Case:
        words = " ".join((check.__doc__ or "").split())
        name: Any = getattr(check, "__name__", "case")
        return Case(name, words, hint, points, public, check)

    return described


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab as its `cases.py` describes it, and its cases in the order of the file.

    `uses` names the modules that a submission may expect beside the standard library; they are imported
    before it starts. `seconds` is what one call of the student's code may take.
    """

    name: str
    title: str
    functions: tuple[str, ...]
    uses: tuple[str, ...] = ()
    seconds: float = 5.0
    cases: tuple[Case, ...] = ()

    @property
    def public(self) -> list[Case]:
        """The cases that students may see."""
        return [case for case in self.cases if case.public]

    @property
    def points(self) -> float:
        """What a right submission gets."""
        return sum(case.points for case in self.cases)


def lab_names() -> list[str]:
    """Return the names of zoolab's own labs, in order.

    >>> "l1" in lab_names()
    True
    """
    names = (path.parent.name for path in course_folder("labs").glob("*/cases.py"))
    return sorted(names, key=lambda name: (len(name), name))


def folder_of(lab: str) -> Path:
    """Return the folder of a lab, which is named, or is the path of a folder with a `cases.py`.

    Raises `InvalidInput` if there is no such lab.
    """
    folder = course_folder("labs") / lab if lab in lab_names() else Path(lab)
    if not (folder / "cases.py").is_file():
        raise InvalidInput(f"there is no lab {lab!r}", expected=f"one of {', '.join(lab_names())}")
    return folder.resolve()


def lab_version(lab: str) -> str:
    """Return a hash of a lab's cases and of zoolab's version; with another one, grades may differ."""
    cases = (folder_of(lab) / "cases.py").read_text(encoding="utf-8")
    try:
        own = version("zoolab")
    except PackageNotFoundError:
        own = "not installed"
    return sha256(f"{own}\n{cases}".encode()).hexdigest()[:16]


def load_lab(lab: str) -> Lab:
    """Load a lab with its cases: the `LAB` of its `cases.py`, with every `Case` of that file in order.

    Raises `InvalidInput` if there is no such lab, or if its file cannot be imported or describes no lab.

    >>> load_lab("l1").functions
    ('run_loop',)
    """
    file = folder_of(lab) / "cases.py"
    name = f"zoolab_lab_{digest(str(file))}"
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)  # a dataclass looks up its own module
    try:
        spec.loader.exec_module(module)
        cases = tuple(value for value in vars(module).values() if isinstance(value, Case))
        found: Lab = replace(module.LAB, cases=cases)
    except Exception as error:
        raise InvalidInput(
            f"{file} does not describe a lab: {type(error).__name__}: {error}", expected="LAB and its cases"
        ) from error
    unsaid = [case.name for case in cases if not case.asks]
    if unsaid or not cases:
        what = f"has cases without a sentence: {', '.join(unsaid)}" if unsaid else "has no case"
        raise InvalidInput(f"{file} {what}", expected="functions under @case, each with a docstring")
    return found
