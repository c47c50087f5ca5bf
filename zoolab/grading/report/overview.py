"""The page of a class: the grade book, and how each case went."""

from __future__ import annotations

from collections.abc import Iterator

from zoolab.grading.book import ClassGrades, Row
from zoolab.grading.report.page import bar, link, mark, page_name, points, prose, whole_page
from zoolab.show.markup import Html, code, facts, join, note, table, tag


def class_page(grades: ClassGrades) -> str:
    """The grade book as a page, with links to the students' pages.

    >>> import pathlib, tempfile
    >>> from zoolab.grading.book import ClassGrades, Lab, Row, Store, Terms
    >>> lab, terms = Lab("l0", "Sums", ("add",)), Terms("l0", "v", "seed")
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()))
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
