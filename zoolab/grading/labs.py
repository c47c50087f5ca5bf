"""Where the labs are, and what each consists of."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from zoolab.errors import InvalidInput
from zoolab.grading.records import Case, Lab


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
    return lab_of(_import(labs_folder() / name / "cases.py"))


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


def _import(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"zoolab_lab_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look their module up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
