"""The grade book as files: a page for each student, a page for the class, a CSV and JSON.

student.py   the page of one submission
overview.py  the page of the class
tables.py    grades.csv and grades.json
page.py      what the pages have in common
report.css   how they look
"""

from __future__ import annotations

from pathlib import Path

from zoolab.files import locked, write_whole
from zoolab.grading.book import ClassGrades
from zoolab.grading.report.overview import class_page
from zoolab.grading.report.page import page_name
from zoolab.grading.report.student import student_page
from zoolab.grading.report.tables import grades_csv, grades_json

__all__ = ["class_page", "grades_csv", "grades_json", "student_page", "write_report"]


def write_report(grades: ClassGrades) -> Path:
    """Write everything into the folder of the grades, and return the page of the class.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from zoolab.grading.classes import grade_class
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "anna.py").write_text("x = 1")
    >>> with ThreadPoolExecutor(1) as executor:
    ...     grades = grade_class("l3", [folder / "anna.py"], folder / "report", executor=executor)
    >>> write_report(grades).name, sorted(path.name for path in (folder / "report").glob("g*"))
    ('index.html', ['grades.csv', 'grades.json'])
    """
    folder = grades.store.folder
    pages = folder / "students"
    pages.mkdir(exist_ok=True)
    with locked(folder / ".locks" / "report"):
        grades = grades.up_to_date()
        for row in grades.rows:
            page = student_page(grades.grade_of(row.name), grades.lab)
            _write_if_new(pages / page_name(row.name), page)
        write_whole(folder / "grades.csv", grades_csv(grades))
        write_whole(folder / "grades.json", grades_json(grades))
        write_whole(folder / "index.html", [class_page(grades)])
    return folder / "index.html"


def _write_if_new(path: Path, text: str) -> None:
    """A page that is as it was is not written again: most are, where a grading goes on."""
    if not path.is_file() or path.read_bytes() != text.encode():
        write_whole(path, [text])
