"""The page of one submission: what was asked, what happened, and where to look."""

from __future__ import annotations

from zoolab.grading.records import CaseGrade, Lab
from zoolab.grading.report.page import bar, mark, points, prose, whole_page
from zoolab.grading.store import Kept
from zoolab.show.markup import Html, code, facts, note, tag


def student_page(kept: Kept, lab: Lab) -> str:
    """A submission's grade as a page of its own.

    >>> from zoolab.grading.records import Grade
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
        _notes(grade.notes),
        tag("h2", "Cases"),
        tag("ol", *(_case(case) for case in grade.cases), class_="cases"),
        _how(kept),
    )


def _case(case: CaseGrade) -> Html:
    kind = "shown in the lab" if case.public else "hidden"
    counted = f"{points(case.points)} of {points(case.out_of)} · {kind}"
    went = mark(case.points, case.out_of, _in_words(case))
    return tag(
        "li",
        tag("p", went, code(case.name), tag("span", counted, class_="of")),
        tag("p", prose(case.asks), class_="asks"),
        *(() if case.passed else (_said("What happened", case.happened), _said("Hint", case.hint))),
        class_="case",
    )


def _in_words(case: CaseGrade) -> str:
    return "passed" if case.passed else "in part" if case.points else "not passed"


def _said(by: str, text: str) -> Html | None:
    said = tag("p", tag("strong", f"{by}: "), prose(text), class_="said")
    return said if text else None


def _notes(notes: tuple[str, ...]) -> Html | None:
    if not notes:
        return None
    return tag(
        "section",
        tag("h2", "About the submission as a whole"),
        tag("ul", *(tag("li", line) for line in notes)),
        class_="notes",
    )


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
