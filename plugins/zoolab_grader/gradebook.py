"""The grades of a class: the folder that keeps them, and the rows of the grade book."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import sys
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hmac import compare_digest, new
from pathlib import Path
from statistics import StatisticsError, correlation, fmean, median
from tempfile import TemporaryDirectory
from typing import Any

from zoolab.errors import InvalidInput, LockHeld
from zoolab.files import (
    append_text,
    course_folder,
    locked,
    make_folder,
    needs_home,
    read_shipped,
    write_whole,
)
from zoolab.jsontext import digest, encode_line
from zoolab.running.interrupts import Hold
from zoolab_grader.judge import CaseGrade, Grade
from zoolab_grader.labs import Lab, lab_names
from zoolab_grader.likeness import Shape, alike, shape_of
from zoolab_grader.submissions import read_cells

#: What a teacher adds to the grades by hand. zoolab makes the file and never changes it, so what stands in it
#: survives every grading.
MANUAL = "manual.toml"


@dataclass(frozen=True, slots=True)
class GradeTerms:
    """What a grade depends on besides the submission: the lab, its version and the seed.

    `unprotected` also takes grades that were given where nothing kept a submission from anything.
    """

    place: str
    version: str
    seed: str = field(repr=False)
    unprotected: bool = False

    @property
    def seed_name(self) -> str:
        """What a grade says of the seed: it does not tell the seed, but another seed has another name."""
        return digest(f"zoolab seed {self.seed}")[:16]


@dataclass(frozen=True, slots=True)
class NotGraded:
    """A submission that the grader could not grade, and why; it has no points, neither zero nor more."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A graded submission as it is kept; equal terms and content would give the same grade again.

    `content` is the hash of the bytes that were graded, `work` that of the code in them, if there is any, and
    `shape` what is compared with others' work. `beside` is true if it can be read and defines nothing that
    the lab asks for: it may be a file that belongs to the work.
    """

    grade: Grade
    version: str
    content: str
    unreadable: bool
    work: str = ""
    shape: Shape = frozenset()
    beside: bool = False

    @property
    def name(self) -> str:
        """The submission's name."""
        return self.grade.submission

    def under(self, terms: GradeTerms, lab: str) -> bool:
        """Return whether this grade is of the lab and was given under `terms`."""
        same = (self.grade.lab, self.version, self.grade.seed) == (lab, terms.version, terms.seed_name)
        return same and (terms.unprotected or not self.grade.unprotected)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON has it."""
        return {**asdict(self), "shape": sorted(self.shape)}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Kept:
        """Return the record that was described; raises `KeyError` or `TypeError` for others."""
        told = found["grade"]
        cases = tuple(CaseGrade(**{**case, "walk": tuple(case["walk"])}) for case in told["cases"])
        lists = {key: tuple(told[key]) for key in ("notes", "missing")}
        grade = Grade(**{**told, "cases": cases, **lists})
        return cls(**{**found, "grade": grade, "shape": frozenset(found["shape"])})


def file_name(name: str) -> str:
    """Return a name for files about a submission: readable, safe everywhere, and its own."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    return f"{readable or 'submission'}-{digest(name)[:12]}"


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of a grading, which one grader works on at a time.

    Each result is signed with `key`, which is not in the folder: whoever can write there could change a
    result, and the journal with it. A result without a right signature counts for nothing.
    """

    folder: Path
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("results", ".locks"):
            make_folder(self.folder / name)

    def find(self, name: str) -> Kept | None:
        """Return what is kept of a submission; a file that cannot be read counts for nothing."""
        return self._read(self._result(name))

    def save(self, kept: Kept) -> None:
        """Keep a grade, and write down in the journal that it was given."""
        grade = kept.grade
        text = encode_line(kept.to_dict())
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": kept.name,
            "points": grade.points,
            "out_of": grade.out_of,
            "version": kept.version,
            "seed": grade.seed,
            "content": kept.content,
        }
        with Hold():  # Ctrl-C comes before both, or after
            write_whole(self._result(kept.name), [text[:-1], f',"signature":"{self._signature(text)}"}}'])
            append_text(self.folder / "journal.jsonl", encode_line(line) + "\n")

    def all(self) -> Iterator[Kept]:
        """Yield everything that is kept, one by one."""
        for path in sorted((self.folder / "results").glob("*.json")):
            kept = self._read(path)
            if kept is not None:
                yield kept

    def seed(self) -> str:
        """Return the random seed of this folder, which is drawn at the first call and which only its owner
        reads.

        Raises `InvalidInput` if its grades had a seed that was given: another one would change them.
        """
        path = self.folder / "seed"
        if not path.is_file() and any((self.folder / "results").glob("*.json")):
            advice = "give it as you did before, for example with --seed-file, or choose another folder"
            raise InvalidInput(f"{self.folder} does not have the seed of its grades", advice=advice)
        return _secret(path)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other graders out while this one works on the folder; raise `LockHeld` if there is one."""
        try:
            with locked(self.folder / ".locks" / "grading", seconds=0):
                yield
        except LockHeld:
            advice = "wait until it ends, or choose another folder"
            raise LockHeld(f"another grader is working on {self.folder}", advice=advice) from None

    def _result(self, name: str) -> Path:
        return self.folder / "results" / f"{file_name(name)}.json"

    def _signature(self, text: str) -> str:
        return new(self.key, text.encode(), "sha256").hexdigest()

    def _read(self, path: Path) -> Kept | None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if not compare_digest(found.pop("signature"), self._signature(encode_line(found))):
                return None
            kept = Kept.from_dict(found)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return None
        return kept if path.stem == file_name(kept.name) else None


def own_key() -> bytes:
    """Return the key of this user for results, drawn at the first call: `zoolab/results.key` in
    $XDG_STATE_HOME.

    Raises `InvalidInput` if it cannot be kept.
    """
    with needs_home("XDG_STATE_HOME"):
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "zoolab"
    make_folder(folder, advice="set XDG_STATE_HOME to a folder of your own")
    path = folder / "results.key"
    if path.is_symlink():
        advice = "remove the link: a key is drawn at the next call, and results are graded again"
        raise InvalidInput(f"{path} is a link, and whoever set it may know the key", advice=advice)
    key = _secret(path).encode()
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        advice = "delete it: whoever read it can forge results; a new key grades them again"
        raise InvalidInput(f"others than its owner can read or change {path}", advice=advice)
    return key


def _secret(path: Path) -> str:
    """Return the text of a file that only its owner reads; it is drawn if there is none."""
    with locked(path.with_name(f".{path.name}.lock")):
        if not path.is_file() or path.stat().st_size == 0:
            write_whole(path, [secrets.token_hex(32)])
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot read {path}: {error}", advice="check who owns it") from None


@dataclass(frozen=True, slots=True)
class Manual:
    """What a teacher added to one grade: points, also below 0; late days and the points that they cost."""

    points: float = 0.0
    late_days: float = 0.0
    late: float = 0.0
    comment: str = ""

    def total(self, points: float) -> float:
        """Return the points of a submission with what was added by hand, at least 0.

        >>> Manual(points=1.5, late_days=2, late=4).total(10)
        7.5
        """
        return max(points + self.points - self.late, 0) if self != Manual() else points


#: Nothing.
UNCHANGED = Manual()


def read_manual(folder: Path) -> dict[str, Manual]:
    """Return what was added by hand, by the names of submissions; nothing if there is no file.

    Raises `InvalidInput` if it cannot be read, belongs to another user, or says something else.
    """
    path = folder / MANUAL
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            found = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {path}: {error}", expected="TOML as in its first lines") from None
    # It is not signed as results are: who may only write into the folder must not give points.
    if hasattr(os, "geteuid") and owner not in (os.geteuid(), 0):
        raise InvalidInput(f"{path} belongs to another user", advice="look at it, and save it yourself")
    rate = _number(found.pop("late_day", 0), f"{path}: late_day", least=0)
    return {name: _manual(table, rate, f"{path}: {name!r}") for name, table in found.items()}


def _manual(table: object, rate: float, where: str) -> Manual:
    if not isinstance(table, Mapping) or not table.keys() <= {"points", "late_days", "comment"}:
        raise InvalidInput(f"{where} is not known", expected="a table with points, late_days or comment")
    days = _number(table.get("late_days", 0), f"{where}: late_days", least=0)
    comment = table.get("comment", "")
    if not isinstance(comment, str):
        raise InvalidInput(f"{where}: the comment is not text", expected='comment = "..."')
    return Manual(_number(table.get("points", 0), f"{where}: points"), days, days * rate, comment)


def _number(value: Any, where: str, least: float = -math.inf) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < least:
        raise InvalidInput(
            f"{where} is {value!r}", expected="a number from 0 on" if least == 0 else "a number"
        )
    return float(value)


def write_example(folder: Path) -> None:
    """Make the file if there is none, with an example that says nothing."""
    if not (folder / MANUAL).exists():
        write_whole(folder / MANUAL, [read_shipped("zoolab_grader", MANUAL)])


@dataclass(frozen=True, slots=True)
class Row:
    """A submission in the grade book: its points, those of each case in the lab's order, why there are none
    if one reason says it, the hash of its code, what was added by hand, and the cases that failed with a
    conversation."""

    name: str
    points: float
    by_case: tuple[float, ...]
    unreadable: bool = False
    nothing: str = ""
    work: str = ""
    unprotected: bool = False
    shape: Shape = frozenset()
    manual: Manual = UNCHANGED
    walks: frozenset[str] = frozenset()
    beside: bool = False

    @property
    def total(self) -> float:
        """The points with what was added by hand."""
        return self.manual.total(self.points)


@dataclass(frozen=True, slots=True)
class ClassGrades:
    """The grade book of a class, by name. What a grade consists of is read from the folder when asked for.

    It has all that was ever graded into the folder under the same terms; `left` counts the results of others.
    `unknown` are the submissions to which something was added by hand, but which have no grade.
    `failed` names what the grader could not grade, `skipped` what was passed over, each with the reason;
    `before` counts the grades that were there already, and `given` has the submissions that were asked for.
    """

    lab: Lab
    terms: GradeTerms
    rows: tuple[Row, ...]
    store: Store
    failed: tuple[NotGraded, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    before: int = 0
    given: frozenset[str] = frozenset()
    left: int = 0
    unknown: tuple[str, ...] = ()
    temporary: TemporaryDirectory[str] | None = field(default=None, repr=False)

    @property
    def mean(self) -> float:
        """The mean of all points; 0 for an empty class."""
        return fmean(row.total for row in self.rows) if self.rows else 0.0

    @property
    def median(self) -> float:
        """The median of all points; 0 for an empty class."""
        return float(median(row.total for row in self.rows)) if self.rows else 0.0

    def grade_of(self, name: str) -> Kept:
        """Return everything about a submission's grade; raises `InvalidInput` for an unknown name."""
        kept = self.store.find(name)
        if kept is None:
            raise InvalidInput(f"{name!r} has no grade", expected="the name of a submission")
        return kept

    def remarks(self) -> list[str]:
        """Return what is to be known of results that were in the folder before."""
        unprotected = sum(row.unprotected for row in self.rows)
        others = sum(row.name not in self.given for row in self.rows)
        installed = self.terms.place in lab_names() and course_folder("labs").name != "labs"
        told = {
            f"all cases of {self.lab.name} are public here; its hidden ones are in a checkout of"
            " zoolab": installed,
            f"{others:,} of these were graded before and are not among the submissions given now": others,
            f"{MANUAL} names what has no grade: {', '.join(self.unknown[:4])}": len(self.unknown),
            f"{self.left:,} more results here have another seed or lab version": self.left,
            f"{unprotected:,} of these were graded without protection: each could read and change files, use"
            " the network and end processes": unprotected,
        }
        return [remark for remark, number in told.items() if number]

    def passed(self) -> dict[str, int]:
        """Return for each case, in the lab's order, how many submissions have all of its points."""
        return {
            case.name: sum(row.by_case[number] == case.points for row in self.rows)
            for number, case in enumerate(self.lab.cases)
        }

    def discrimination(self, number: int) -> float | None:
        """Return how the points of a case go with those of all other cases, from -1 to 1: low if those who
        are good fail it as often as the others. None if it cannot be said, as when everybody passes.
        """
        of_case = [row.by_case[number] for row in self.rows]
        others = [row.points - row.by_case[number] for row in self.rows]
        try:
            return correlation(of_case, others)
        except StatisticsError:
            return None

    def same(self) -> list[list[Row]]:
        """Return the submissions that have the same code to the letter, those of each in one list."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.work, []).append(row)
        return [rows for work, rows in found.items() if work and len(rows) > 1]

    def alike(self) -> list[tuple[float, Row, Row]]:
        """Return the pairs whose code is alike, and not the same to the letter; how much, from 0 to 1, and
        who.
        """
        rows = {row.name: row for row in self.rows}
        folder = course_folder("labs") / self.terms.place  # the path of a folder stays as it is
        given = folder / f"{folder.name}.ipynb"
        known = shape_of(read_cells(given)) if given.is_file() else frozenset[int]()
        found = alike({name: row.shape for name, row in rows.items()}, known)
        pairs = [(share, rows[one], rows[other]) for share, one, other in found]
        return [(share, one, other) for share, one, other in pairs if one.work != other.work]

    def up_to_date(self) -> ClassGrades:
        """Return the book with what the folder has now; what could not be graded has no row, not even an old
        one.
        """
        failed = {each.name for each in self.failed}
        names = [case.name for case in self.lab.cases]
        manual = read_manual(self.store.folder)
        rows = []
        left = 0
        for kept in self.store.all():
            cases = kept.grade.cases
            if [case.name for case in cases] != names or not kept.under(self.terms, self.lab.name):
                left += 1
            elif kept.name not in failed:
                by_case = tuple(case.points for case in cases)
                grade = kept.grade
                told = kept.unreadable, grade.nothing, kept.work, grade.unprotected, kept.shape
                walks = frozenset(case.name for case in cases if case.walk)
                by_hand = manual.pop(kept.name, UNCHANGED)
                rows.append(Row(kept.name, grade.points, by_case, *told, by_hand, walks, kept.beside))
        rows.sort(key=lambda row: row.name)
        return replace(self, rows=tuple(rows), left=left, unknown=tuple(sorted(manual)))
