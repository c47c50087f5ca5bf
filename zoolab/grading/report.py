"""The grade book as files: a page for each student, a page for the class, grades.csv and grades.json."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path

from zoolab.files import locked, write_whole
from zoolab.grading.gradebook import ClassGrades, Kept, Row, file_name
from zoolab.grading.judge import CaseGrade
from zoolab.grading.labs import Lab
from zoolab.jsontext import encode_line
from zoolab.show.markup import Html, code, facts, join, note, page, style_sheet, table, tag

# A spreadsheet takes a cell that begins so for a formula; the wide forms are turned into these by some.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def write_report(grades: ClassGrades) -> Path:
    """Write everything into the folder of the grades, and return the page of the class."""
    folder = grades.store.folder
    pages = folder / "students"
    pages.mkdir(exist_ok=True)
    with locked(folder / ".locks" / "report"):
        grades = grades.up_to_date()
        for row in grades.rows:
            path, text = pages / page_name(row.name), student_page(grades.grade_of(row.name), grades.lab)
            if not path.is_file() or path.read_bytes() != text.encode():
                write_whole(path, [text])
        write_whole(folder / "grades.csv", [grades_csv(grades)])
        write_whole(folder / "grades.json", grades_json(grades))
        write_whole(folder / "index.html", [class_page(grades)])
    return folder / "index.html"


def class_page(grades: ClassGrades) -> str:
    """The grade book as a page, with links to the students' pages."""
    lab, count = grades.lab, len(grades.rows)
    return _page(
        lab,
        "Grades",
        facts(
            ("class", f"{count:,} submission{'s' * (count != 1)}"),
            ("mean", f"{points(grades.mean)} of {points(lab.points)}"),
            ("median", points(grades.median)),
            ("name of the seed", code(grades.terms.seed_name)),
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
        copies: list[str] = []
        for first, *rest in same:
            copies.append(join(_link(first), *(part for row in rest for part in (", ", _link(row)))))
        yield _list("The same code to the letter", copies)
    if grades.failed:
        yield _list("Could not be graded", [f"{each.name}: {each.why}" for each in grades.failed])
    if grades.skipped:
        yield _list("Passed over", [f"{name}: {why}" for name, why in grades.skipped])
    yield from (note(f"{remark}.") for remark in grades.remarks())


def _list(title: str, lines: list[str]) -> Html:
    return tag("section", tag("h2", title), tag("ul", *(tag("li", line) for line in lines)), class_="notes")


def _cases(grades: ClassGrades) -> Html:
    passed, count = grades.passed(), len(grades.rows)
    rows = []
    for number, case in enumerate(grades.lab.cases, 1):
        share = f"{passed[case.name]} of {count}"
        of_all = _bar(passed[case.name], count, f"{share} passed")
        rows.append([str(number), code(case.name), share, of_all, prose(case.asks)])
    return table("How many passed each case", ["", "case", "passed", "", "asks"], rows)


def _book(grades: ClassGrades) -> Html:
    cases, whole = grades.lab.cases, grades.lab.points
    rows = []
    for row in grades.rows:
        share = _bar(row.points, whole, f"{points(row.points)} of {points(whole)}")
        marks = (_mark(got == case.points, points(got)) for got, case in zip(row.by_case, cases, strict=True))
        rows.append([_link(row), points(row.points), share, *marks])
    numbers = [str(number) for number, _ in enumerate(cases, 1)]
    head = ["submission", f"of {points(whole)}", "", *numbers]
    book = table("Points; the cases by their numbers above", head, rows)
    return tag("div", book, class_="wide", tabindex=0, role="region", aria_label="the grade book")


def _link(row: Row) -> Html:
    return Html(f'<a href="{escape("students/" + page_name(row.name))}">{join(row.name)}</a>')


def student_page(kept: Kept, lab: Lab) -> str:
    """A submission's grade as a page of its own."""
    grade = kept.grade
    score = f"{points(grade.points)} of {points(grade.out_of)} points"
    protections = ", ".join(grade.missing)
    return _page(
        lab,
        grade.submission,
        tag("p", tag("strong", score), _bar(grade.points, grade.out_of, score), class_="score"),
        _list("About the submission as a whole", list(grade.notes)) if grade.notes else None,
        tag("h2", "Cases"),
        tag("ol", *(_case(case) for case in grade.cases), class_="cases"),
        tag("h2", "How this was graded"),
        facts(
            ("lab version", code(kept.version)),
            ("submission", code(kept.content[:16])),
            ("run", "in a real kernel" if kept.faithful else "cell by cell"),
        ),
        note("The same submission, lab version and seed give the same grade again."),
        note(f"Protections that this system could not give: {protections}.") if protections else None,
    )


def _case(case: CaseGrade) -> Html:
    kind = "shown in the lab" if case.public else "hidden"
    counted = f"{points(case.points)} of {points(case.out_of)} · {kind}"
    told = [] if case.passed else [("What happened", case.happened), ("Hint", case.hint)]
    return tag(
        "li",
        tag(
            "p",
            _mark(case.passed, "passed" if case.passed else "not passed"),
            code(case.name),
            tag("span", counted, class_="of"),
        ),
        tag("p", prose(case.asks), class_="asks"),
        *(tag("p", tag("strong", f"{by}: "), prose(text), class_="said") for by, text in told if text),
        class_="case",
    )


def grades_csv(grades: ClassGrades) -> str:
    """The text of grades.csv; a note says why there are no points, and that nothing protected the grader.

    Each text is quoted, because spreadsheets differ in the sign that ends a cell.
    """
    lab = grades.lab
    out = io.StringIO()
    lines = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    names = [case.name for case in lab.cases]
    lines.writerow(map(_cell, ["name", "lab", "points", "out_of", *names, "note"]))
    for row in grades.rows:
        note = "; ".join(filter(None, [row.nothing, "graded without protection" * row.unprotected]))
        line: list[str | float] = [row.name, lab.name, row.points, lab.points, *row.by_case, note]
        lines.writerow(map(_cell, line))
    return out.getvalue()


def _cell(value: str | float) -> str | float:
    if not isinstance(value, str):
        return int(value) if value == int(value) else round(value, 6)
    return guarded(value)


def guarded(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    begins = text.lstrip(" \u00a0\ufeff").startswith(_FORMULA)
    return f"'{text}" if begins else text


def grades_json(grades: ClassGrades) -> Iterator[str]:
    """The parts of grades.json: the class, and all that is known of each submission, one a line."""
    about = {
        "lab": grades.lab.name,
        "title": grades.lab.title,
        "version": grades.terms.version,
        "seed": grades.terms.seed_name,
        "faithful": grades.terms.faithful,
        "out_of": grades.lab.points,
        "mean": grades.mean,
        "median": grades.median,
        "passed": grades.passed(),
        "not_graded": {each.name: each.why for each in grades.failed},
    }
    yield encode_line(about)[:-1] + ',"submissions":[\n'
    for number, row in enumerate(grades.rows):
        yield ("" if number == 0 else ",\n") + encode_line(grades.grade_of(row.name).to_dict())
    yield "\n]}\n"


def _page(lab: Lab, title: str, *children: str | None) -> str:
    style = style_sheet("zoolab.grading", "report.css")
    header = tag("header", tag("p", f"{lab.name} · {lab.title}", class_="lab"), tag("h1", title))
    return page(f"{lab.name}: {title}", style, tag("main", header, *children))


def page_name(name: str) -> str:
    """The file name of a submission's page."""
    return f"{file_name(name)}.html"


def _bar(part: float, whole: float, label: str) -> Html:
    """How much of something there is, as a bar; it prints where a background would not."""
    width = 100 * part / whole if whole else 0
    return Html(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><rect class="track" width="100" height="8"/>'
        f'<rect class="part" width="{width:.4g}" height="8"/></svg>'
    )


def _mark(passed: bool, text: str) -> Html:
    """A text about a case, with a sign for how it went."""
    style, sign = ("passed", "✓ ") if passed else ("failed", "✗ ")
    return tag("span", tag("span", sign, aria_hidden="true"), text, class_=f"mark {style}")


def points(number: float) -> str:
    """Points as a person writes them: `2`, `2.5`, `0.33`."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> Html:
    """A sentence in which `code` stands between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return join(text)
    return join(*(code(part, len(part)) if number % 2 else part for number, part in enumerate(parts)))
