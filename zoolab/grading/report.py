"""The grade book as files: a page for each student, a page for the class, grades.csv and grades.json."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from zoolab.files import locked, write_whole
from zoolab.grading.gradebook import ClassGrades, Kept, Row, file_name
from zoolab.grading.judge import CaseGrade
from zoolab.grading.labs import Lab
from zoolab.jsontext import encode_line
from zoolab.show.markup import Html, code, facts, join, note, style_sheet, table, tag


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
            path, page = pages / page_name(row.name), student_page(grades.grade_of(row.name), grades.lab)
            if not path.is_file() or path.read_bytes() != page.encode():
                write_whole(path, [page])
        write_whole(folder / "grades.csv", grades_csv(grades))
        write_whole(folder / "grades.json", grades_json(grades))
        write_whole(folder / "index.html", [class_page(grades)])
    return folder / "index.html"


def class_page(grades: ClassGrades) -> str:
    """The grade book as a page, with links to the students' pages.

    >>> import tempfile
    >>> from zoolab.grading.gradebook import Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> "1 submission" in class_page(ClassGrades(lab, terms, (Row("<b>.py", 0, ()),), store))
    True
    """
    lab, count = grades.lab, len(grades.rows)
    return whole_page(
        f"{lab.name}: grades",
        tag("header", tag("p", f"{lab.name} · {lab.title}", class_="lab"), tag("h1", "Grades")),
        facts(
            ("class", f"{count:,} submission{'s' * (count != 1)}"),
            ("mean", f"{points(grades.mean)} of {points(lab.points)}"),
            ("median", points(grades.median)),
            ("seed", code(grades.terms.seed)),
            ("lab version", code(grades.terms.version)),
        ),
        *_remarks(grades),
        tag("h2", "Cases"),
        _cases(grades),
        tag("h2", "Submissions"),
        _book(grades),
    )


def _remarks(grades: ClassGrades) -> Iterator[Html]:
    if nothing := [row for row in grades.rows if row.nothing]:
        told: list[str] = [join(_link(row), ": ", prose(row.nothing)) for row in nothing]
        yield _list("No points, for one reason", told)
    if same := grades.same():
        yield _list("The same code to the letter", [_linked(rows) for rows in same])
    if grades.failed:
        yield _list("Could not be graded", [f"{each.name}: {each.why}" for each in grades.failed])
    if grades.skipped:
        yield _list("Passed over", [f"{name}: {why}" for name, why in grades.skipped])
    if others := sum(row.name not in grades.given for row in grades.rows):
        yield note(f"{others:,} of these were graded before and are not among the submissions given now.")
    if grades.left:
        yield note(f"{grades.left:,} more results here have another seed, lab version or way to run.")


def _list(title: str, lines: list[str]) -> Html:
    return tag("section", tag("h2", title), tag("ul", *(tag("li", line) for line in lines)), class_="notes")


def _cases(grades: ClassGrades) -> Html:
    passed, count = grades.passed(), len(grades.rows)
    return table(
        "How many passed each case",
        ["", "case", "passed", "", "asks"],
        (
            [
                str(number),
                code(case.name),
                f"{passed[case.name]} of {count}",
                bar(passed[case.name], count, f"{passed[case.name]} of {count} passed"),
                prose(case.asks),
            ]
            for number, case in enumerate(grades.lab.cases, 1)
        ),
    )


def _book(grades: ClassGrades) -> Html:
    numbers = [str(number) for number, _ in enumerate(grades.lab.cases, 1)]
    out_of = points(grades.lab.points)
    return tag(
        "div",
        table(
            "Points; the cases by their numbers above",
            ["submission", f"of {out_of}", "", *numbers],
            (_line(row, grades) for row in grades.rows),
        ),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label="the grade book",
    )


def _line(row: Row, grades: ClassGrades) -> list[str]:
    whole = grades.lab.points
    share = bar(row.points, whole, f"{points(row.points)} of {points(whole)}")
    marks = (
        mark(got, case.points, points(got)) for got, case in zip(row.by_case, grades.lab.cases, strict=True)
    )
    return [_link(row), points(row.points), share, *marks]


def _linked(rows: list[Row]) -> Html:
    first, *others = map(_link, rows)
    return join(first, *(part for each in others for part in (", ", each)))


def _link(row: Row) -> Html:
    return link(f"students/{page_name(row.name)}", row.name)


def student_page(kept: Kept, lab: Lab) -> str:
    """A submission's grade as a page of its own.

    >>> from zoolab.grading.judge import Grade
    >>> case = CaseGrade("adds", "`add` adds.", 0, 2, True, "returned <b>3</b>", "Look at the sign.")
    >>> grade = Grade("l0", "anna.py", "s", (case,))
    >>> page = student_page(Kept(grade, "v", False, "c", False), Lab("l0", "Sums", ("add",)))
    >>> "0 of 2 points" in page, "returned &lt;b&gt;3&lt;/b&gt;" in page
    (True, True)
    """
    grade = kept.grade
    score = f"{points(grade.points)} of {points(grade.out_of)} points"
    return whole_page(
        f"{lab.name}: {grade.submission}",
        tag("header", tag("p", f"{lab.name} · {lab.title}", class_="lab"), tag("h1", grade.submission)),
        tag("p", tag("strong", score), bar(grade.points, grade.out_of, score), class_="score"),
        _list("About the submission as a whole", list(grade.notes)) if grade.notes else None,
        tag("h2", "Cases"),
        tag("ol", *(_case(case) for case in grade.cases), class_="cases"),
        _how(kept),
    )


def _case(case: CaseGrade) -> Html:
    kind = "shown in the lab" if case.public else "hidden"
    counted = f"{points(case.points)} of {points(case.out_of)} · {kind}"
    how = "passed" if case.passed else "in part" if case.points else "not passed"
    went = mark(case.points, case.out_of, how)
    return tag(
        "li",
        tag("p", went, code(case.name), tag("span", counted, class_="of")),
        tag("p", prose(case.asks), class_="asks"),
        *(() if case.passed else (_paragraph("What happened", case.happened), _paragraph("Hint", case.hint))),
        class_="case",
    )


def _paragraph(by: str, text: str) -> Html | None:
    said = tag("p", tag("strong", f"{by}: "), prose(text), class_="said")
    return said if text else None


def _how(kept: Kept) -> Html:
    grade = kept.grade
    protections = ", ".join(grade.missing)
    return tag(
        "section",
        tag("h2", "How this was graded"),
        facts(
            ("seed", code(grade.seed)),
            ("lab version", code(kept.version)),
            ("submission", code(kept.content[:16])),
            ("run", "in a real kernel" if kept.faithful else "cell by cell"),
        ),
        note("The same submission, lab version and seed give the same grade again."),
        note(f"Protections that this system could not give: {protections}.") if protections else None,
        class_="how",
    )


# A spreadsheet takes a cell that begins so for a formula; the wide forms are turned into these by some.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def grades_csv(grades: ClassGrades) -> Iterator[str]:
    """The lines of grades.csv: name, lab, points, out_of, the points of each case, and why there are none.

    >>> import tempfile
    >>> from zoolab.grading.gradebook import Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> print(*grades_csv(ClassGrades(lab, terms, (Row("=a.py", 0, ()),), store)), sep="", end="")
    "name","lab","points","out_of","note"
    "'=a.py","l0",0,0,""
    """
    lab = grades.lab
    yield _csv_line(["name", "lab", "points", "out_of", *(case.name for case in lab.cases), "note"])
    for row in grades.rows:
        yield _csv_line([row.name, lab.name, row.points, lab.points, *row.by_case, row.nothing])


def grades_json(grades: ClassGrades) -> Iterator[str]:
    """The parts of grades.json: the class, and all that is known of each submission, one a line.

    >>> import tempfile
    >>> from zoolab.grading.gradebook import Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> "".join(grades_json(ClassGrades(lab, terms, (), store))).splitlines()[1:]
    ['', ']}']
    """
    yield encode_line(summary(grades))[:-1] + ',"submissions":[\n'
    for number, row in enumerate(grades.rows):
        yield ("" if number == 0 else ",\n") + encode_line(grades.grade_of(row.name).to_dict())
    yield "\n]}\n"


def summary(grades: ClassGrades) -> dict[str, Any]:
    """A class in a few numbers.

    >>> import tempfile
    >>> from zoolab.grading.gradebook import Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(Path(tempfile.mkdtemp()))
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
    """A text that a spreadsheet does not take for a formula.

    >>> guarded("=1+1"), guarded(" @SUM(1)"), guarded("anna")
    ("'=1+1", "' @SUM(1)", 'anna')
    """
    begins = text.lstrip(" \u00a0\ufeff").startswith(_FORMULA)
    return f"'{text}" if begins else text


def _csv_line(cells: list[str | float]) -> str:
    """Each text is quoted, because spreadsheets differ in the sign that ends a cell."""
    out = io.StringIO()
    shown = [guarded(cell) if isinstance(cell, str) else _number(cell) for cell in cells]
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(shown)
    return out.getvalue()


def _number(value: float) -> float:
    return int(value) if value == int(value) else round(value, 6)


def whole_page(title: str, *children: str | None) -> str:
    """A page that runs and fetches nothing; text among the children is escaped.

    >>> page = whole_page("<Grades>", tag("p", "1 < 2"))
    >>> "<title>&lt;Grades&gt;</title>" in page, "<script" in page, "1 &lt; 2" in page
    (True, False, True)
    """
    style = style_sheet("zoolab.grading", "report.css")
    named = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{named}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", tag("main", *children))
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def page_name(name: str) -> str:
    """The file name of a submission's page.

    >>> page_name("<b>anna</b>.py")
    'b-anna-b-py-f10cc1b937de.html'
    """
    return f"{file_name(name)}.html"


def link(target: str, text: str) -> Html:
    """A link to another page of the report.

    >>> link("students/anna.html", "anna <3")
    '<a href="students/anna.html">anna &lt;3</a>'
    """
    return Html(f'<a href="{escape(target)}">{join(text)}</a>')


def bar(part: float, whole: float, label: str) -> Html:
    """How much of something there is, as a bar; it prints where a background would not.

    >>> bar(1, 4, "1 of 4")
    '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="1 of 4">...'
    """
    width = 100 * part / whole if whole else 0
    return Html(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><rect class="track" width="100" height="8"/>'
        f'<rect class="part" width="{width:.4g}" height="8"/></svg>'
    )


def mark(got: float, out_of: float, text: str) -> Html:
    """A text about a case, with a sign for how it went.

    >>> mark(0, 2, "0 of 2")
    '<span class="mark failed"><span aria-hidden="true">✗ </span>0 of 2</span>'
    """
    if got == out_of:
        style, sign = "passed", "✓ "
    else:
        style, sign = ("partly", "◐ ") if got else ("failed", "✗ ")
    return tag("span", tag("span", sign, aria_hidden="true"), text, class_=f"mark {style}")


def points(number: float) -> str:
    """Points as a person writes them.

    >>> points(2.0), points(2.5), points(1 / 3)
    ('2', '2.5', '0.33')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> Html:
    """A sentence in which `code` stands between backticks.

    >>> prose("`add` takes <two> numbers")
    '<code>add</code> takes &lt;two&gt; numbers'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return join(text)
    return join(*(code(part, len(part)) if number % 2 else part for number, part in enumerate(parts)))
