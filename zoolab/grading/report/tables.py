"""The grade book as tables for other programs: CSV for a spreadsheet, JSON for the rest."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from zoolab.grading.book import ClassGrades
from zoolab.jsontext import encode_line

# A spreadsheet takes a cell that begins so for a formula; the wide forms are turned into these by some.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def grades_csv(grades: ClassGrades) -> Iterator[str]:
    """The lines of grades.csv: name, lab, points, out_of, the points of each case, and why there are none.

    >>> import pathlib, tempfile
    >>> from zoolab.grading.book import ClassGrades, Lab, Row, Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()))
    >>> print(*grades_csv(ClassGrades(lab, terms, (Row("=a.py", 0, ()),), store)), sep="", end="")
    "name","lab","points","out_of","note"
    "'=a.py","l0",0,0,""
    """
    lab = grades.lab
    yield _line(["name", "lab", "points", "out_of", *(case.name for case in lab.cases), "note"])
    for row in grades.rows:
        yield _line([row.name, lab.name, row.points, lab.points, *row.by_case, row.nothing])


def grades_json(grades: ClassGrades) -> Iterator[str]:
    """The parts of grades.json: the class, and all that is known of each submission, one a line.

    >>> import pathlib, tempfile
    >>> from zoolab.grading.book import ClassGrades, Lab, Row, Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()))
    >>> "".join(grades_json(ClassGrades(lab, terms, (), store))).splitlines()[1:]
    ['', ']}']
    """
    yield encode_line(summary(grades))[:-1] + ',"submissions":[\n'
    for number, row in enumerate(grades.rows):
        yield ("" if number == 0 else ",\n") + encode_line(grades.grade_of(row.name).to_dict())
    yield "\n]}\n"


def summary(grades: ClassGrades) -> dict[str, Any]:
    """What there is to say of a class in a few numbers.

    >>> import pathlib, tempfile
    >>> from zoolab.grading.book import ClassGrades, Lab, Row, Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()))
    >>> summary(ClassGrades(lab, terms, (Row("a.py", 1, ()), Row("b.py", 2, ())), store))["mean"]
    1.5
    """
    return {
        "lab": grades.lab.name,
        "title": grades.lab.title,
        "version": grades.terms.version,
        "seed": grades.terms.seed,
        "faithful": grades.terms.faithful,
        "out_of": grades.lab.points,
        "mean": grades.mean,
        "median": grades.median,
        "passed": grades.passed(),
        "not_graded": {each.name: each.why for each in grades.failed},
    }


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> guarded("=1+1"), guarded(" @SUM(1)"), guarded("anna")
    ("'=1+1", "' @SUM(1)", 'anna')
    """
    begins = text.lstrip(" \u00a0\ufeff").startswith(_FORMULA)
    return f"'{text}" if begins else text


def _line(cells: list[str | float]) -> str:
    """Texts stand in quotes, whichever sign a spreadsheet takes for the end of a cell."""
    out = io.StringIO()
    shown = [guarded(cell) if isinstance(cell, str) else _number(cell) for cell in cells]
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(shown)
    return out.getvalue()


def _number(value: float) -> float:
    return int(value) if value == int(value) else round(value, 6)
