"""Which lab is meant, by its name or by its folder, and which version of it is here."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from zoolab.grading.labs import lab_in, lab_names, labs_folder, load_lab
from zoolab.grading.records import Lab


def place_of(lab: str) -> str:
    """A lab's name as it is, a folder with a `cases.py` as its whole path: a worker may be elsewhere.

    >>> place_of("l3")
    'l3'
    """
    return lab if lab in lab_names() or not (Path(lab) / "cases.py").is_file() else str(Path(lab).resolve())


def folder_of(place: str) -> Path:
    """The folder of a lab; `InvalidInput` where there is none.

    >>> folder_of("l3").name
    'l3'
    """
    cases = _cases_file(place)
    if not cases.is_file():
        load_lab(place)
    return cases.resolve().parent


def lab_at(place: str) -> Lab:
    """A lab by its name, or by the path of a folder of your own with a `cases.py` in it.

    Raises `InvalidInput` where there is none, or where its file does not describe one.

    >>> lab_at("l3").name
    'l3'
    >>> lab_at("no-such-lab")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: there is no lab 'no-such-lab'; expected one of ...
    """
    cases = _cases_file(place)
    if place in lab_names() or not cases.is_file():
        return load_lab(place)
    return lab_in(cases)


def lab_version(place: str) -> str:
    """A name for the cases of a lab together with zoolab's own version; another one may grade otherwise.

    >>> len(lab_version("l3"))
    16
    """
    cases = (folder_of(place) / "cases.py").read_text(encoding="utf-8")
    return sha256(f"{_own_version()}\n{cases}".encode()).hexdigest()[:16]


def _cases_file(place: str) -> Path:
    return (labs_folder() / place if place in lab_names() else Path(place)) / "cases.py"


def _own_version() -> str:
    try:
        return version("zoolab")
    except PackageNotFoundError:
        return "not installed"
