"""A lab as an assignment for the tools of others: its public cases, run in the student's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.files import write_whole
from zoolab.grading.export import nbgrader, otter
from zoolab.grading.labs import lab_names

Files = dict[str, str]
#: What each format writes for a lab: a path below the output folder, and the text.
FORMATS: dict[str, Callable[[str], Files]] = {"nbgrader": nbgrader.files_of, "otter": otter.files_of}


def export_labs(names: Iterable[str], kind: str, out: Path) -> list[Path]:
    """Write labs, by default all, for otter-grader or nbgrader, and return the files that are new.

    What a teacher has changed is not written over: raises `InvalidInput` for a notebook that is there and
    differs, for an unknown lab or format, and where the masters or the `dev` extra are not installed.

    >>> export_labs(["l3"], "canvas", Path("out"))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no format 'canvas'; expected one of nbgrader, otter
    """
    if kind not in FORMATS:
        raise InvalidInput(f"no format {kind!r}", expected=f"one of {', '.join(FORMATS)}")
    wanted = list(names) or lab_names()
    files = {out / place: text for name in wanted for place, text in FORMATS[kind](name).items()}
    return [path for path, text in files.items() if _is_new(path, text) and _written(path, text)]


def _is_new(path: Path, text: str) -> bool:
    if not path.exists() or path.name == nbgrader.CONFIG:
        return not path.exists()
    if path.read_text(encoding="utf-8") == text:
        return False
    raise InvalidInput(f"{path} is there and differs", advice="remove it, or name another folder")


def _written(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [text])
    return True
