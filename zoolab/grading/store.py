"""What was graded, in a folder: one file a submission, whole or not there, and a journal of them all."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import append_text, locked, write_whole
from zoolab.grading.onworker import Graded, Terms
from zoolab.grading.records import CaseGrade, Grade
from zoolab.jsontext import digest, encode_line

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """A graded submission as it is kept; equal terms and content would give the same grade again."""

    grade: Grade
    version: str
    faithful: bool
    content: str
    unreadable: bool
    work: str = ""

    @classmethod
    def of(cls, terms: Terms, graded: Graded) -> Kept:
        """A grade with the terms under which it was given."""
        told = graded.content, graded.unreadable, graded.work
        return cls(graded.grade, terms.version, terms.faithful, *told)

    @property
    def name(self) -> str:
        """The submission's name."""
        return self.grade.submission

    def under(self, terms: Terms, lab: str) -> bool:
        """Whether this grade is of the lab and was given under `terms`."""
        mine = self.grade.lab, self.version, self.grade.seed, self.faithful
        return mine == (lab, terms.version, terms.seed, terms.faithful)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it, without what the submission printed."""
        grade = self.grade
        head = {"format": FORMAT, "name": self.name, "lab": grade.lab, "points": grade.points}
        cases = [{key: value for key, value in asdict(case).items() if key != "walk"} for case in grade.cases]
        return {
            **head,
            "out_of": grade.out_of,
            "unreadable": self.unreadable,
            "cases": cases,
            "notes": list(grade.notes),
            "missing": list(grade.missing),
            "seed": grade.seed,
            "version": self.version,
            "faithful": self.faithful,
            "content": self.content,
            "work": self.work,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Kept:
        """The record that `to_dict` described; raises `KeyError`, `TypeError` or `ValueError` for others."""
        if found["format"] != FORMAT:
            raise ValueError("another format")
        cases = tuple(CaseGrade(**case) for case in found["cases"])
        if not all(isinstance(each.points, (int, float)) for each in cases):
            raise ValueError("points that are no number")
        notes, missing = (tuple(str(line) for line in found[key]) for key in ("notes", "missing"))
        printed = str(found.get("printed", ""))
        grade = Grade(found["lab"], found["name"], found["seed"], cases, notes, missing, printed)
        told = found["content"], found["unreadable"], str(found.get("work", ""))
        return cls(grade, found["version"], found["faithful"], *told)


def file_name(name: str) -> str:
    """A name for files about a submission: readable, safe everywhere, and its own.

    >>> file_name("../Ännä & co/L3.ipynb"), file_name("x" * 300)[:8]
    ('nn-co-l3-ipynb-2915bf64277e', 'xxxxxxxx')
    """
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    return f"{readable or 'submission'}-{digest(name)[:12]}"


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of a grading. Several graders may work on it at once: each submission is one's only."""

    folder: Path
    _claims: dict[str, ExitStack] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in (self._results, self._locks):
            try:
                each.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidInput(
                    f"cannot make {each}: {error.strerror}", advice="choose another folder"
                ) from None

    @property
    def _results(self) -> Path:
        return self.folder / "results"

    @property
    def _locks(self) -> Path:
        return self.folder / ".locks"

    def find(self, name: str) -> Kept | None:
        """What is kept of a submission; a file that cannot be read counts for nothing."""
        return _read(self._results / f"{file_name(name)}.json")

    def save(self, kept: Kept) -> None:
        """Keep a grade, and write down in the journal that it was given."""
        found = kept.to_dict()
        whole = encode_line({**found, "printed": kept.grade.printed})
        write_whole(self._results / f"{file_name(kept.name)}.json", [whole])
        line = {key: found[key] for key in ("name", "points", "out_of", "version", "seed", "content")}
        at = datetime.now(UTC).isoformat(timespec="seconds")
        append_text(self.folder / "journal.jsonl", encode_line({"at": at, **line}) + "\n")

    def all(self) -> Iterator[Kept]:
        """Everything that is kept, one by one."""
        for path in sorted(self._results.glob("*.json")):
            kept = _read(path)
            if kept is not None:
                yield kept

    def claim(self, name: str) -> bool:
        """Take a submission for this grader; False where another one has it, for as long as that lives."""
        stack = ExitStack()
        try:
            stack.enter_context(locked(self._locks / file_name(name), seconds=0))
        except InvalidInput as error:
            if not error.what.endswith("held by somebody else"):
                raise
            return False
        self._claims[name] = stack
        return True

    def give_back(self, name: str) -> None:
        """Let others have a submission that was claimed."""
        self._claims.pop(name, ExitStack()).close()

    @contextmanager
    def claims(self) -> Generator[None]:
        """Whatever was claimed within is given back at the end, whichever way it ends."""
        try:
            yield
        finally:
            for name in list(self._claims):
                self.give_back(name)


def _read(path: Path) -> Kept | None:
    try:
        kept = Kept.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    return kept if path.stem == file_name(kept.name) else None
