"""A class list of a learning platform with the grades filled in: everything else in it stays to the letter.

A grade is filled in only if it is certain whose it is. The outermost name of a submission decides, because
the platform or the teacher gave it: a student can choose the name of a file, also that of another student.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.text.wording import guarded
from zoolab_grader.gradebook import ClassGrades, Row
from zoolab_grader.labs import Lab


@dataclass(frozen=True, slots=True)
class Platform:
    """The columns of a platform's class list, and the names that it gives to submissions."""

    name: str
    #: The column of the number that stands in the names of submissions.
    number: str
    #: That number in the name of a submission.
    in_name: re.Pattern[str]
    #: Further columns that have one value for each student.
    keys: tuple[str, ...]
    #: Columns that make a person's name, one list for each way to write it.
    names: tuple[tuple[str, ...], ...]
    #: The column of the grade, if the platform has one.
    grade: str = ""
    #: Whether a column for the grade may be added: elsewhere a new column means something else.
    adds: bool = False
    #: What stands in the place of a grade if there is to be none.
    excused: str = ""


PLATFORMS: Mapping[str, Platform] = {
    each.name: each
    for each in (
        Platform(
            "canvas",
            "ID",
            re.compile(r"_(\d+)(?=_\d+_)"),
            ("SIS User ID", "SIS Login ID", "Integration ID"),
            (("Student",),),
            excused="EX",
        ),
        Platform(
            "moodle",
            "Identifier",
            re.compile(r"_(\d+)_assignsubmission_"),
            ("Email address", "ID number", "Username"),
            (("Full name",), ("First name", "Surname"), ("First name", "Last name")),
            grade="Grade",
        ),
        Platform(
            "gradescope",
            "Submission ID",
            re.compile(r"^submission_(\d+)$"),
            ("SID", "Email"),
            (("Name",), ("First Name", "Last Name")),
            grade="Total Score",
            adds=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the list: its number in the file, and its cells as they are written, quotes included."""

    number: int
    cells: list[str]
    #: What ends it: a line break, or nothing.
    end: str


@dataclass(frozen=True, slots=True)
class Filled:
    """The text of the list with the grades in it, and a line for each thing that is to be known."""

    text: str
    filled: int
    remarks: list[str] = field(default_factory=list[str])


def fill_roster(path: Path, platform: str, grades: ClassGrades, column: str | None = None) -> Filled:
    """Fill the grades of a class into a list.

    Raises:
        InvalidInput: The file is no list of this platform, or has no column for the grade.
    """
    kind = PLATFORMS[platform]
    marked, head, lines, separator = _table(path, kind)
    names = [cell_value(cell) for cell in head.cells]
    at, new = _column(path, kind, names, grades.lab, column)
    remarks = [] if new is None else [f"the column {new} is new in the list"]
    owners = _Owners(kind, names, lines, grades)
    if new is not None:
        head.cells.append(_quoted(new, separator))
    filled = 0
    for line in lines:
        row = owners.rows.get(line.number)
        called = _called(kind, names, line)
        if row is None:
            if _is_student(kind, names, line):
                why = "no certain submission" if line.number in owners.uncertain else owners.otherwise
                remarks.append(f"line {line.number}, {called}: {why}")
            continue
        line.cells.extend([""] * (at + 1 - len(line.cells)))
        before = cell_value(line.cells[at])
        grade = _number(row.total)
        if kind.excused and before.strip().upper() == kind.excused:
            remarks.append(f"line {line.number}, {called}: stays {kind.excused}, the grade would be {grade}")
            continue
        if before.strip() not in ("", "-", grade):
            remarks.append(f"line {line.number}, {called}: was {excerpt(before)}, is {grade}")
        line.cells[at], filled = grade, filled + 1
    if owners.wrapper:
        remarks.append(f"{owners.wrapper} is the folder of all submissions, so it is no name of a student")
    remarks += [f"{name}: {why}" for name, why in owners.left_out.items()]
    written = marked + "".join(separator.join(line.cells) + line.end for line in (head, *lines))
    return Filled(written, filled, [*_other_points(kind, names, lines, at, grades), *remarks])


def check_roster(path: Path, platform: str, lab: Lab, column: str | None = None) -> None:
    """Raise `InvalidInput` if a list could not be filled, before hours of grading."""
    kind = PLATFORMS[platform]
    _, head, _, _ = _table(path, kind)
    _column(path, kind, [cell_value(cell) for cell in head.cells], lab, column)


def lines_of(text: str, separator: str, number: int = 1) -> Iterator[Line]:
    r"""Yield the lines of a CSV text; joined again they are the text. A quoted cell may have line breaks.

    >>> [line.cells for line in lines_of('a,"b\n,c"\r\nd', ",")]
    [['a', '"b\n,c"'], ['d']]
    """
    rest = rf"[^{re.escape(separator)}\r\n]*"
    cell = re.compile(rf'"(?:[^"]|"")*"{rest}|{rest}')
    place = 0
    cells = list[str]()
    first = number
    while place < len(text) or cells:
        found = cell.match(text, place)
        raw = found[0] if found else ""
        cells.append(raw)
        number += raw.count("\n")
        place += len(raw)
        if text.startswith(separator, place):
            place += 1
            continue
        end = re.compile(r"\r?\n|\r|").match(text, place)
        ending = end[0] if end else ""
        place += len(ending)
        yield Line(first, cells, ending)
        cells = []
        number = number + 1
        first = number


def cell_value(cell: str) -> str:
    """Return the value of a cell as it is written.

    >>> cell_value('"a ""b"" c"'), cell_value(" c")
    ('a "b" c', ' c')
    """
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"', cell)
    return quoted[1].replace('""', '"') if quoted else cell


def _quoted(value: str, separator: str) -> str:
    value = guarded(value)
    odd = any(each in value for each in (separator, '"', "\n", "\r"))
    return '"' + value.replace('"', '""') + '"' if odd else value


def _table(path: Path, kind: Platform) -> tuple[str, Line, list[Line], str]:
    """Return what stands before the head, if anything, the head, the lines, and what separates cells."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8", advice="export it again, or save it as UTF-8") from None
    # A byte order mark, and a line in which Excel is told what separates cells.
    before = re.match(r"\ufeff?(?:sep=(.)(?:\r?\n|\r))?", text)
    marked, told = (before[0], before[1]) if before else ("", None)
    known = {kind.number, *kind.keys}
    for separator in (told,) if told else (",", ";", "\t"):
        lines = list(lines_of(text[len(marked) :], separator, 2 if told else 1))
        if lines and known & {cell_value(cell).strip() for cell in lines[0].cells}:
            return marked, lines[0], lines[1:], separator
    raise InvalidInput(
        f"{path} has none of the columns of {kind.name}",
        expected=f"one of {', '.join((kind.number, *kind.keys))}",
    )


def _column(
    path: Path, kind: Platform, names: Sequence[str], lab: Lab, column: str | None
) -> tuple[int, str | None]:
    """Return where the grade goes; and the name of the column if it has to be added."""
    own = [kind.grade] if kind.grade else [lab.name, lab.title, f"{lab.name}: {lab.title}"]
    wanted = [column] if column else own
    folded = {_folded(each) for each in wanted}
    # Canvas writes the number of an assignment behind its name.
    found = [at for at, name in enumerate(names) if _folded(re.sub(r" \(\d+\)$", "", name)) in folded]
    if column and column in names:
        found = [at for at, name in enumerate(names) if name == column]
    if len(found) == 1:
        return found[0], None
    if found:
        raise InvalidInput(f"{path} has {len(found)} columns {wanted[0]!r}", advice="name one with --column")
    if column or kind.adds:
        return len(names), column or lab.name
    advice = "name the column of the grade with --column"
    raise InvalidInput(f"{path} has no column {' or '.join(map(repr, wanted))}", advice=advice)


class _Owners:
    """Whose submission is whose: the submission of each line, by its number, and those that have no line."""

    def __init__(
        self, kind: Platform, names: Sequence[str], lines: Sequence[Line], grades: ClassGrades
    ) -> None:
        self.rows: dict[int, Row] = {}
        self.left_out: dict[str, str] = {}
        #: Lines that a submission may belong to, and that get no grade.
        self.uncertain = set[int]()
        #: What is said of the other lines.
        self.otherwise = "no submission"
        self._kind = kind
        self._numbers, self._others = _index(kind, names, lines)
        given: dict[str, Row | None] = {row.name: row for row in grades.rows}
        given |= {each.name: None for each in grades.failed}
        lacking = kind.number not in map(str.strip, names)
        self.wrapper = self._shared(list(given))
        found: dict[int, list[str]] = {}
        for name in given:
            possible = self._possible(name.removeprefix(self.wrapper))
            if len(possible) == 1:
                found.setdefault(min(possible), []).append(name)
            else:
                told = f"lines {', '.join(map(str, sorted(possible)))} could be meant"
                unknown = "nobody in the list"
                if lacking and kind.in_name.search(name.removeprefix(self.wrapper).partition("/")[0]):
                    unknown = f"named by the {kind.number}, and the list has no such column"
                    self.otherwise = f"unknown, because the list has no column {kind.number}"
                self._leave_out([name], told if possible else unknown, *possible)
        for line, several in found.items():
            several = _without_helpers(several, given)
            row = given[several[0]]
            if len(several) > 1:
                self._leave_out(several, f"line {line} has {len(several)} submissions", line)
            elif row is None or row.unreadable:
                why = "could not be graded" if row is None else "could not be read"
                self._leave_out(several, f"{why}; line {line} is not filled in", line)
            else:
                self.rows[line] = row

    def _leave_out(self, names: Sequence[str], why: str, *lines: int) -> None:
        self.left_out |= dict.fromkeys(names, why)
        self.uncertain.update(lines)

    def _shared(self, names: Sequence[str]) -> str:
        """Return the folder that all submissions are in, if it is nobody's; a student's folder is none."""
        levels = zip(*(name.split("/")[:-1] for name in names), strict=False)
        folders = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
        shared = "".join(f"{each}/" for each in folders)
        several = len({name.removeprefix(shared).partition("/")[0] for name in names}) > 1
        owned = any(self._kind.in_name.search(each) or self._possible(f"{each}/") for each in folders)
        return shared if several and not owned else ""

    def _possible(self, name: str) -> set[int]:
        """Return the lines that a submission may belong to, by its outermost name."""
        first, *inside = name.split("/")
        named = {*self._kind.in_name.findall(first)} & self._numbers.keys()
        if named:
            return {line for number in named for line in self._numbers[number]}
        own = [first] if inside else [first, first.rpartition(".")[0]]
        return {line for each in own for line in self._others.get(_folded(each), ())}


def _without_helpers(names: list[str], given: Mapping[str, Row | None]) -> list[str]:
    """Return a student's submissions without those that define nothing of the lab, unless all are like
    that.
    """
    rows = {name: given[name] for name in names}
    return [name for name, row in rows.items() if row is None or not row.beside] or names


def _index(
    kind: Platform, names: Sequence[str], lines: Sequence[Line]
) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """Return the lines by the platform's number, and by all that identifies a student."""
    numbers: dict[str, set[int]] = {}
    others: dict[str, set[int]] = {}
    for line in lines:
        values = _values(names, line)
        for digits in _digits(values.get(kind.number, "")):
            numbers.setdefault(digits, set()).add(line.number)
        told = [values.get(name, "") for name in (kind.number, *kind.keys)]
        for key in {_folded(each) for each in (*told, *_spellings(kind, values))} - {""}:
            others.setdefault(key, set()).add(line.number)
    return numbers, others


def _digits(value: str) -> list[str]:
    """Return the number at the end of a value. A table program may have made it a fraction, or rounded it.

    >>> _digits("Participant 12"), _digits("1001.0"), _digits("1.002E+03")
    (['12'], ['1001'], [])
    """
    value = value.strip()
    rounded = re.fullmatch(r"\d+([.,]\d+)?[eE]\+?\d+", value)
    return [] if rounded else re.findall(r"\d+$", re.sub(r"^(\d+)[.,]0+$", r"\1", value))


def _values(names: Sequence[str], line: Line) -> dict[str, str]:
    return dict(zip((name.strip() for name in names), map(cell_value, line.cells), strict=False))


def _spellings(kind: Platform, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the ways to write a person's name: `First Last`, and `Last, First`."""
    for columns in kind.names:
        parts = [values.get(name, "").strip() for name in columns]
        if all(parts):
            yield " ".join(parts)
            last, comma, first = " ".join(parts).partition(",")
            if comma:
                yield f"{first.strip()} {last.strip()}"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _called(kind: Platform, names: Sequence[str], line: Line) -> str:
    values = _values(names, line)
    keys = (values.get(key, "") for key in (kind.number, *kind.keys))
    return excerpt(next(filter(None, (*_spellings(kind, values), *keys)), ""), 100)[1:-1]


def _is_student(kind: Platform, names: Sequence[str], line: Line) -> bool:
    """Tell a student from an empty line, and from Canvas's line of possible points."""
    values = _values(names, line)
    return any(values.get(key, "").strip() for key in (kind.number, *kind.keys))


def _other_points(
    kind: Platform, names: Sequence[str], lines: Sequence[Line], at: int, grades: ClassGrades
) -> list[str]:
    """Return what to know if the platform counts to another number of points than the lab."""
    most = [name.strip() for name in names if name.strip() in ("Maximum Grade", "Max Points")]
    told = [_values(names, line).get(name, "").strip() for name in most for line in lines]
    for line in lines:
        if cell_value(line.cells[0]).strip() == "Points Possible" and at < len(line.cells):
            told.append(cell_value(line.cells[at]).strip())
    lab = grades.lab.points
    others = dict.fromkeys(each for each in told if each and not _equal(each, lab))
    scale = f"the lab to {_number(lab)}: grades are not scaled"
    return [f"{kind.name} counts to {excerpt(each)[1:-1]} points, {scale}" for each in others]


def _equal(text: str, number: float) -> bool:
    try:
        return float(text.replace(",", ".")) == number
    except ValueError:
        return False


def _number(value: float) -> str:
    return str(int(value) if value == int(value) else round(value, 6))
