"""Where the labs are, and what each consists of."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from zoolab.errors import InvalidInput
from zoolab.grading.records import Case, Lab
from zoolab.jsontext import digest


def labs_folder() -> Path:
    """The folder of the labs: beside the package in a checkout, inside it in an installation.

    >>> (labs_folder() / "l3" / "cases.py").is_file()
    True
    """
    package = Path(__file__).resolve().parents[1]
    beside = package.parent / "labs"
    return beside if beside.is_dir() else package / "_labs"


def lab_names() -> list[str]:
    """The labs that there are, in their order.

    >>> "l3" in lab_names()
    True
    """
    return sorted(path.parent.name for path in labs_folder().glob("*/cases.py"))


def load_lab(name: str) -> Lab:
    """A lab with its cases.

    >>> load_lab("l3").functions
    ('run_loop',)
    """
    if name not in lab_names():
        raise InvalidInput(f"there is no lab {name!r}", expected=f"one of {', '.join(lab_names())}")
    return lab_in(labs_folder() / name / "cases.py")


def lab_of(module: ModuleType) -> Lab:
    """The lab that a `cases.py` describes: its `LAB`, with every `Case` of the module in the file's order.

    >>> module = ModuleType("cases")
    >>> module.LAB = Lab("l0", "Nothing", functions=())
    >>> lab_of(module).points
    0
    """
    cases = tuple(value for value in vars(module).values() if isinstance(value, Case))
    lab: Lab = module.LAB
    return replace(lab, cases=cases)


def lab_in(cases: Path) -> Lab:
    """The lab of a `cases.py` anywhere; `InvalidInput` where it cannot be imported, or describes none.

    >>> lab_in(labs_folder() / "l3" / "cases.py").name
    'l3'
    """
    name = f"zoolab_lab_{digest(str(cases))}"
    spec = spec_from_file_location(name, cases)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{cases} cannot be imported", expected="a Python file")
    module = sys.modules[name] = module_from_spec(spec)  # a dataclass looks its own module up
    try:
        spec.loader.exec_module(module)
        lab = lab_of(module)
    except Exception as error:
        raise InvalidInput(
            f"{cases} describes no lab: {type(error).__name__}: {error}", expected="LAB and its cases"
        ) from error
    unsaid = [case.name for case in lab.cases if not case.asks]
    if unsaid or not lab.cases:
        what = f"has cases without a sentence: {', '.join(unsaid)}" if unsaid else "has no case"
        raise InvalidInput(f"{cases} {what}", expected="functions under @case, each with a docstring")
    return lab
