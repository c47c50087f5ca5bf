"""The grade book as files: a page for each student, a page for the class, grades.csv and grades.json; and for
the teacher alone the conversations of the cases that failed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from zoolab.files import locked, make_folder, write_whole
from zoolab.jsontext import encode_line
from zoolab.text.markup import NO_SCRIPT, Html, block, code, facts, join, note, page, style_sheet, table, tag
from zoolab.text.wording import guarded
from zoolab_grader.gradebook import (
    MANUAL,
    UNCHANGED,
    ClassGrades,
    Kept,
    Manual,
    Row,
    file_name,
    write_example,
)
from zoolab_grader.judge import CaseGrade
from zoolab_grader.labs import Lab

#: The folder of the conversations in which cases failed.
CONVERSATIONS = "conversations"
# A spreadsheet takes a cell that begins so for a formula; the wide forms are turned into these by some.


def write_report(grades: ClassGrades) -> Path:
    """Write everything into the folder of the grades, and return the page of the class."""
    folder = grades.store.folder
    with locked(folder / ".locks" / "report"):
        grades = grades.up_to_date()
        write_example(folder)
        for row in grades.rows:
            kept = grades.grade_of(row.name)
            _write_new(folder / "students" / page_name(row.name), student_page(kept, grades.lab, row.manual))
            if row.walks:
                _write_new(folder / CONVERSATIONS / page_name(row.name), conversations_page(kept, grades.lab))
        write_whole(folder / "grades.csv", [grades_csv(grades)])
        write_whole(folder / "grades.json", grades_json(grades))
        write_whole(folder / "index.html", [class_page(grades)])
    return folder / "index.html"


def _write_new(path: Path, text: str) -> None:
    if not path.is_file() or path.read_bytes() != text.encode():
        make_folder(path.parent)
        write_whole(path, [text])


def class_page(grades: ClassGrades) -> str:
    """Return the grade book as a page, with links to the students' pages."""
    lab = grades.lab
    count = len(grades.rows)
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
        note(
            "A cross is linked to the conversation in which the case failed. Points, late days and comments"
            f" that you write into {MANUAL} come in with the next grading."
        ),
        script=Html(files("zoolab_grader").joinpath("report.js").read_text(encoding="utf-8")),
    )


def _remarks(grades: ClassGrades) -> Iterator[Html]:
    if nothing := [row for row in grades.rows if row.nothing]:
        told: list[str] = [join(_link(row), ": ", prose(row.nothing)) for row in nothing]
        yield _list("No points", told)
    if same := grades.same():
        copies: list[str] = []
        for first, *rest in same:
            copies.append(join(_link(first), *(part for row in rest for part in (", ", _link(row)))))
        yield _list("The same code to the letter", copies)
    if alike := grades.alike():
        pairs: list[str] = [join(f"{share:.0%}: ", _link(one), ", ", _link(two)) for share, one, two in alike]
        yield _list("Similar code: names, values and layout do not count", pairs)
    if grades.failed:
        yield _list("Could not be graded", [f"{each.name}: {each.why}" for each in grades.failed])
    if grades.skipped:
        yield _list("Passed over", [f"{name}: {why}" for name, why in grades.skipped])
    yield from (note(f"{remark}.") for remark in grades.remarks())


def _list(title: str, lines: list[str]) -> Html:
    return tag("section", tag("h2", title), tag("ul", *(tag("li", line) for line in lines)), class_="notes")


def _cases(grades: ClassGrades) -> Html:
    passed = grades.passed()
    count = len(grades.rows)
    rows = []
    for number, case in enumerate(grades.lab.cases, 1):
        share = f"{passed[case.name]} of {count}"
        of_all = _bar(passed[case.name], count, f"{share} passed")
        reached = sum(row.by_case[number - 1] for row in grades.rows)
        easy = f"{reached / (count * case.points):.2f}" if count and case.points else "–"
        apart = grades.discrimination(number - 1)
        told = "–" if apart is None else f"{apart:.2f}"
        rows.append([str(number), code(case.name), share, of_all, easy, told, prose(case.asks)])
    caption = (
        "Difficulty: the share of its points that the class got. Discrimination, from -1 to 1: whether those"
        " who passed this case got more points in the other cases. If it is near 0 or below, look at the case"
    )
    head = ["", "case", "passed", "", "difficulty", "discrimination", "asks"]
    return table(caption, head, rows)


def _book(grades: ClassGrades) -> Html:
    cases = grades.lab.cases
    whole = grades.lab.points
    rows = []
    for row in grades.rows:
        share = _bar(row.total, whole, f"{points(row.total)} of {points(whole)}")
        marks = []
        for got, case in zip(row.by_case, cases, strict=True):
            mark = _mark(got == case.points, points(got))
            to = f"{CONVERSATIONS}/{page_name(row.name)}#{case.name}"
            marks.append(_to(to, mark) if case.name in row.walks else mark)
        by_hand = points(row.total - row.points) if row.manual != UNCHANGED else ""
        rows.append([_link(row), points(row.total), share, by_hand, *marks])
    numbers = [str(number) for number, _ in enumerate(cases, 1)]
    head = ["submission", f"of {points(whole)}", "", "by hand", *numbers]
    book = table("Points; the cases by their numbers above", head, rows)
    return tag("div", book, class_="wide", tabindex=0, role="region", aria_label="the grade book")


def _link(row: Row) -> Html:
    return _to(f"students/{page_name(row.name)}", row.name)


def _to(address: str, text: str) -> Html:
    return Html(f'<a href="{escape(address)}">{join(text)}</a>')


def student_page(kept: Kept, lab: Lab, manual: Manual = UNCHANGED) -> str:
    """Return a submission's grade as a page of its own."""
    grade = kept.grade
    total = manual.total(grade.points)
    score = f"{points(total)} of {points(grade.out_of)} points"
    late = f"{points(manual.late_days)} days, {points(-manual.late)} points" if manual.late_days else None
    protections = ", ".join(grade.missing)
    return _page(
        lab,
        grade.submission,
        tag("p", tag("strong", score), _bar(total, grade.out_of, score), class_="score"),
        facts(
            ("by the cases", points(grade.points) if manual != UNCHANGED else None),
            ("by hand", points(manual.points) if manual.points else None),
            ("late", late),
        ),
        tag("p", tag("strong", "Comment: "), manual.comment, class_="said") if manual.comment else None,
        _list("About the submission as a whole", list(grade.notes)) if grade.notes else None,
        tag("h2", "Cases"),
        tag("ol", *(_case(case) for case in grade.cases), class_="cases"),
        tag("h2", "How this was graded"),
        facts(("lab version", code(kept.version)), ("submission", code(kept.content[:16]))),
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


def conversations_page(kept: Kept, lab: Lab) -> str:
    """Return the conversations of the cases that a submission failed; not for students: they show hidden
    values.
    """
    told: list[Html] = []
    for case in kept.grade.cases:
        if case.walk:
            told.append(Html(f'<h2 id="{escape(case.name)}">{join(case.name)}</h2>'))
            told.append(tag("p", tag("strong", "What happened: "), prose(case.happened), class_="said"))
            told.append(tag("ol", *(tag("li", _message(message)) for message in case.walk)))
    hint = note("Not for students: this shows what hidden cases look like. Long conversations are cut.")
    return _page(lab, kept.name, hint, *told)


def _message(message: dict[str, Any]) -> Html:
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    role = str(message.get("role"))
    content = message.get("content")
    as_json = json.dumps(rest, ensure_ascii=False, indent=2)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return join(tag("strong", role), block(text, "content"), block(as_json, "the rest") if rest else None)


def grades_csv(grades: ClassGrades) -> str:
    """Return the text of grades.csv; a note says why there are no points, and that nothing protected the
    grader.

    Each text is quoted, because spreadsheets differ in the sign that ends a cell.
    """
    lab = grades.lab
    out = io.StringIO()
    lines = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    names = [case.name for case in lab.cases]
    by_hand = ["by_hand", "late_days", "total", "comment"]
    lines.writerow(map(_cell, ["name", "lab", "points", "out_of", *names, "note", *by_hand]))
    for row in grades.rows:
        note = "; ".join(filter(None, [row.nothing, "graded without protection" * row.unprotected]))
        line: list[str | float] = [row.name, lab.name, row.points, lab.points, *row.by_case, note]
        line += [row.manual.points, row.manual.late_days, row.total, row.manual.comment]
        lines.writerow(map(_cell, line))
    return out.getvalue()


def _cell(value: str | float) -> str | float:
    if not isinstance(value, str):
        return int(value) if value == int(value) else round(value, 6)
    return guarded(value)


def grades_json(grades: ClassGrades) -> Iterator[str]:
    """Yield the parts of grades.json: the class, and all that is known of each submission, one a line."""
    about = {
        "lab": grades.lab.name,
        "title": grades.lab.title,
        "version": grades.terms.version,
        "seed": grades.terms.seed_name,
        "out_of": grades.lab.points,
        "mean": grades.mean,
        "median": grades.median,
        "passed": grades.passed(),
        "not_graded": {each.name: each.why for each in grades.failed},
    }
    yield encode_line(about)[:-1] + ',"submissions":[\n'
    for number, row in enumerate(grades.rows):
        yield ("" if number == 0 else ",\n") + encode_line(_submission(grades.grade_of(row.name), row))
    yield "\n]}\n"


def _submission(kept: Kept, row: Row) -> dict[str, Any]:
    """Return all that is known of a submission, but for the conversations and what its work is
    compared by.
    """
    about = kept.to_dict()
    grade = about.pop("grade")
    for case in grade["cases"]:
        del case["walk"]
    del about["shape"]
    points = {
        "points": row.points,
        "out_of": kept.grade.out_of,
        "by_hand": asdict(row.manual),
        "total": row.total,
    }
    return {"name": grade.pop("submission"), **grade, **about, **points}


def _page(lab: Lab, title: str, *children: str | None, script: Html = NO_SCRIPT) -> str:
    style = style_sheet("zoolab_grader", "report.css")
    header = tag("header", tag("p", f"{lab.name} · {lab.title}", class_="lab"), tag("h1", title))
    return page(f"{lab.name}: {title}", style, tag("main", header, *children), script=script)


def page_name(name: str) -> str:
    """Return the file name of a submission's page."""
    return f"{file_name(name)}.html"


def _bar(part: float, whole: float, label: str) -> Html:
    """Return how much of something there is, as a bar; it prints where a background would not."""
    width = 100 * part / whole if whole else 0
    return Html(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><rect class="track" width="100" height="8"/>'
        f'<rect class="part" width="{width:.4g}" height="8"/></svg>'
    )


def _mark(passed: bool, text: str) -> Html:
    style, sign = ("passed", "✓ ") if passed else ("failed", "✗ ")
    return tag("span", tag("span", sign, aria_hidden="true"), text, class_=f"mark {style}")


def points(number: float) -> str:
    """Return points as a person writes them: `2`, `2.5`, `0.33`."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> Html:
    """Return a sentence in which `code` stands between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return join(text)
    return join(*(code(part, len(part)) if number % 2 else part for number, part in enumerate(parts)))
