"""The reports say what happened, and nothing in them runs, whatever a submission is called or says."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sums import HALF, RIGHT, make_class, make_lab

import zoolab_grader
from zoolab.text.markup import csp_digest
from zoolab_grader.classes import grade_class
from zoolab_grader.gradebook import ClassGrades, GradeTerms, Kept, Manual, NotGraded, Row, Store, file_name
from zoolab_grader.judge import CaseGrade, Grade
from zoolab_grader.labs import Case, Lab
from zoolab_grader.report import (
    class_page,
    conversations_page,
    grades_csv,
    page_name,
    points,
    student_page,
    write_report,
)

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\" ' & \x1b[2J\x00\u202e`"
RUNS = {"script", "iframe", "object", "embed", "link", "img", "form", "input", "base"}


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.shown: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.shown.append(data)

    @property
    def text(self) -> str:
        return "".join(self.shown)

    @property
    def links(self) -> list[str]:
        return [value or "" for name, value in self.attributes if name == "href"]


SCRIPT = (Path(zoolab_grader.__file__).parent / "report.js").read_text()


def check_only_our_script_runs(page: str) -> Page:
    """As `check_nothing_runs`, for a page with the one script that sorts and filters."""
    own = f"<script>{SCRIPT}</script>"
    assert page.count(own) == page.count("<script") == 1
    assert f"script-src {csp_digest(SCRIPT)}; base-uri 'none'" in page
    return check_nothing_runs(page.replace(own, ""))


def check_nothing_runs(page: str) -> Page:
    found = Page(page)
    assert RUNS.isdisjoint(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("src", "style")]
    assert "default-src 'none'" in page
    assert not [value for _, value in found.attributes if value and "://" in value]
    return found


def never(_student: object, _chance: object) -> None:
    raise AssertionError


def lab_of(*cases: CaseGrade) -> Lab:
    made = tuple(Case(each.name, each.asks, each.hint, each.out_of, each.public, never) for each in cases)
    return Lab("l0", "Sums", ("add",), cases=made)


def kept(name: str, *cases: CaseGrade, notes: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> Kept:
    return Kept(
        Grade("l0", name, GradeTerms("l0", "v", "the seed").seed_name, cases, notes, missing),
        "version1",
        "c" * 64,
        False,
    )


def book(folder: Path, lab: Lab, *names: str, failed: tuple[NotGraded, ...] = ()) -> ClassGrades:
    store = Store(folder, b"a key")
    cases = tuple(CaseGrade(each.name, each.asks, 0, each.points, each.public) for each in lab.cases)
    for name in names:
        store.save(kept(name, *cases))
    rows = tuple(Row(name, 0, tuple(0 for _ in cases)) for name in names)
    return ClassGrades(
        lab, GradeTerms("l0", "version1", "the seed"), rows, store, failed, given=frozenset(names)
    )


PASSED = CaseGrade("adds", "`add` adds.", 1, 1, True)
PARTLY = CaseGrade("carries", "`add` carries.", 0.5, 2, False, "carried once", "Carry on.")
FAILED = CaseGrade(
    "subtracts", "`add` takes negative numbers.", 0, 2, False, "returned 3", "Look at the sign."
)


def test_a_student_s_page_says_what_was_asked_what_happened_and_where_to_look():
    cases = PASSED, PARTLY, FAILED
    found = kept("anna/l0.ipynb", *cases, notes=("cell 3: NameError: x",), missing=("network",))
    text = check_nothing_runs(student_page(found, lab_of(*cases))).text
    for wanted in (
        *("anna/l0.ipynb", "l0 · Sums", "1.5 of 5 points", "version1", "cell 3: NameError: x"),
        *("What happened: carried once", "Hint: Look at the sign.", "add takes negative numbers."),
        *("could not give: network", "passed", "not passed", "0.5 of 2 · hidden"),
    ):
        assert wanted in text


def test_a_case_that_passed_has_no_hint():
    case = CaseGrade("adds", "Adds.", 1, 1, True, "", "Use +.")
    assert "Use +." not in student_page(kept("a.py", case), lab_of(case))


@given(st.lists(st.text(max_size=30), min_size=6, max_size=6))
@example(["", "", "", "", "", "://"])
def test_no_text_of_a_submission_becomes_markup(texts):
    name, asks, happened, hint, note, missing = texts
    case = CaseGrade("case", asks, 0, 1, False, happened, hint)
    letters = kept("a", CaseGrade("case", "a", 0, 1, False, "a", "a"), notes=("a",), missing=("a",))
    plain = student_page(letters, lab_of(case))
    page = student_page(kept(name, case, notes=(note,), missing=(missing,)), lab_of(case))
    without_code = [tag for tag in check_nothing_runs(page).tags if tag not in ("code", "strong", "p")]
    assert without_code == [tag for tag in Page(plain).tags if tag not in ("code", "strong", "p")]
    page.encode()


def test_a_hostile_submission_is_only_shown(tmp_path):
    case = CaseGrade("case", HOSTILE, 0, 1, False, HOSTILE, HOSTILE)
    found = kept(HOSTILE, case, notes=(HOSTILE,), missing=(HOSTILE,))
    assert "<script>alert(1)</script>" in check_nothing_runs(student_page(found, lab_of(case))).text
    grades = book(tmp_path, lab_of(case), HOSTILE, failed=(NotGraded(HOSTILE, HOSTILE),))
    page = check_only_our_script_runs(class_page(grades))
    assert page.text.count("<script>alert(1)</script>") == 4
    assert page.links == [f"students/{page_name(HOSTILE)}"]
    assert "\x1b" not in page.text


def test_the_class_page_has_a_line_a_submission_and_a_bar_a_case(tmp_path):
    lab = lab_of(PASSED, PARTLY, FAILED)
    page = check_only_our_script_runs(class_page(book(tmp_path, lab, "a.py", "b/a.py")))
    assert page.tags.count("svg") == 3 + 2
    assert [value for name, value in page.attributes if name == "aria-label"][:1] == ["0 of 2 passed"]
    assert page.links == [f"students/{page_name(name)}" for name in ("a.py", "b/a.py")]
    assert "2 submissions" in page.text


def test_the_class_page_says_why_somebody_has_no_points(tmp_path):
    lost = (
        replace(FAILED, happened="there is no `add`"),
        replace(PARTLY, points=0, happened="there is no `add`"),
    )
    grades = book(tmp_path, lab_of(*lost), "none.py", "other.py")
    grades.store.save(kept("none.py", *lost, notes=("cell 1: SyntaxError: <no>",)))
    page = check_only_our_script_runs(class_page(grades.up_to_date()))
    assert "none.py: there is no add; cell 1: SyntaxError: <no>" in page.text
    assert page.links.count(f"students/{page_name('none.py')}") == 2
    assert kept("half.py", PASSED, *lost).grade.nothing == ""
    most = [lost[0]] * 20 + [replace(lost[0], happened="the model was not asked")]
    assert kept("most.py", *most).grade.nothing == lost[0].happened


def test_what_was_added_by_hand_is_on_every_page(tmp_path):
    lab = lab_of(PASSED, PARTLY, FAILED)
    manual = Manual(points=2.5, late_days=2, late=1, comment=HOSTILE)
    page = check_nothing_runs(student_page(kept("a.py", PASSED, PARTLY, FAILED), lab, manual))
    for wanted in (
        "3 of 5 points",
        "by the cases1.5",
        "by hand2.5",
        "late2 days, -1 points",
        "<script>alert",
    ):
        assert wanted in page.text, wanted
    row = Row("a.py", 1.5, (1, 0.5, 0), manual=manual)
    grades = ClassGrades(lab, GradeTerms("l0", "v", "s"), (row,), Store(tmp_path, b"a key"))
    assert check_only_our_script_runs(class_page(grades)).text.count("3 of 5") == 1
    line = dict(zip(*read_csv(grades), strict=True))
    assert [line[name] for name in ("points", "by_hand", "late_days", "total")] == ["1.5", "2.5", "2", "3"]
    assert line["comment"] == HOSTILE


def test_the_overview_says_how_hard_a_case_is_and_whom_it_tells_apart(tmp_path):
    lab = lab_of(PASSED, PARTLY, FAILED)
    scores = (1, 2, 2), (1, 2, 2), (1, 0, 0), (1, 1, 2), (1, 0, 2)
    rows = tuple(Row(f"{at}.py", sum(each), each) for at, each in enumerate(scores))
    grades = ClassGrades(lab, GradeTerms("l0", "v", "s"), rows, Store(tmp_path, b"a key"))
    apart = [grades.discrimination(number) for number in range(3)]
    assert apart[0] is None  # all passed
    assert apart[1] == pytest.approx(0.5590, abs=1e-4)
    assert apart[1:] == pytest.approx([0.5590, 0.5590], abs=1e-4)
    text = check_only_our_script_runs(class_page(grades)).text
    assert "1.00–" in text
    assert "0.500.56" in text
    assert "0.800.56" in text


def test_a_failed_case_leads_to_its_conversation(tmp_path):
    walk = (
        {"role": "user", "content": HOSTILE},
        {"role": "assistant", "content": None, "tool_calls": [{"id": HOSTILE, "function": {"name": "rm"}}]},
        {"role": ["odd"], "content": {"a": 1}},
    )
    failed = replace(FAILED, walk=walk)
    lab, found = lab_of(PASSED, failed), kept("a.py", PASSED, failed)
    page = check_nothing_runs(conversations_page(found, lab))
    assert "<script>alert(1)</script>" in page.text
    assert ("id", "subtracts") in page.attributes
    store = Store(tmp_path, b"a key")
    store.save(found)
    assert store.find("a.py") == found
    grades = ClassGrades(lab, GradeTerms("l0", "version1", "the seed"), (), store, given=frozenset(["a.py"]))
    write_report(grades)
    overview = check_only_our_script_runs((tmp_path / "index.html").read_text())
    target = f"conversations/{page_name('a.py')}"
    assert overview.links == [f"students/{page_name('a.py')}", f"{target}#subtracts"]
    assert (tmp_path / target).is_file()
    shown = (tmp_path / "students" / page_name("a.py")).read_text()
    assert "rm" not in Page(shown).text.split()


def test_an_empty_class_has_a_page(tmp_path):
    assert "0 submissions" in check_only_our_script_runs(class_page(book(tmp_path, lab_of(PASSED)))).text


# Tables


def read_csv(grades: ClassGrades) -> list[list[str]]:
    return list(csv.reader(io.StringIO(grades_csv(grades))))


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES | st.sampled_from("=+-@\t\r＝").flatmap(lambda first: NAMES.map(lambda rest: first + rest)))
def test_no_cell_begins_a_formula_and_every_name_comes_back(tmp_path, name):
    grades = ClassGrades(
        lab_of(PASSED), GradeTerms("l0", "v", "s"), (Row(name, 0.5, (0.5,)),), Store(tmp_path, b"a key")
    )
    head, line = read_csv(grades)
    by_hand = ["by_hand", "late_days", "total", "comment"]
    assert head == ["name", "lab", "points", "out_of", "adds", "note", *by_hand]
    assert line[0].removeprefix("'") == name.removeprefix("'")
    assert line[0].lstrip()[:1] not in tuple("=+-@＝＋－＠")
    assert line[1:] == ["l0", "0.5", "1", "0.5", "", "0", "0", "0.5", ""]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_spreadsheet_with_another_separator_sees_no_formula_either(tmp_path, separator):
    name = f"anna{separator}=cmd|' /C calc'!A0"
    grades = ClassGrades(
        lab_of(PASSED), GradeTerms("l0", "v", "s"), (Row(name, 0, (0,)),), Store(tmp_path, b"a key")
    )
    text = grades_csv(grades)
    cells = [cell for line in csv.reader(io.StringIO(text), delimiter=separator) for cell in line]
    assert not [cell for cell in cells if cell.startswith("=")]


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_grade_comes_back_from_its_json(name, text):
    case = CaseGrade("case", text, 0.5, 1, False, text, text)
    found = kept(name, case, notes=(text,), missing=(text,))
    assert Kept.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0"), (10, "10"), (2.5, "2.5"), (1 / 3, "0.33"), (100.0, "100")]
)
def test_points_are_written_as_people_write_them(number, shown):
    assert points(number) == shown


# The whole report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[ClassGrades, Path]:
    """The report of a class, one of which tells all that it was given."""
    from concurrent.futures import ThreadPoolExecutor

    folder = tmp_path_factory.mktemp("class")
    prints = f"print('a print')\n{HALF}"
    make_class(folder, {"anna/l.py": RIGHT, "bob/l.py": HALF, "=carl.py": prints, "dora.py": "x = 1"})
    with ThreadPoolExecutor(1) as executor:
        lab = make_lab(folder.parent / "sums")
        grades = grade_class(lab, [folder], folder.parent / "report", executor=executor, seed="secret")
    write_report(grades)
    return grades, folder.parent / "report"


def test_the_report_has_a_page_for_each_link_and_no_other(report):
    grades, folder = report
    links = check_only_our_script_runs((folder / "index.html").read_text()).links
    pages = sorted(f"students/{path.name}" for path in (folder / "students").iterdir())
    assert sorted(set(links)) == pages
    assert len(pages) == len(grades.rows) == 4


def test_the_tables_agree_with_the_grades(report):
    grades, folder = report
    with (folder / "grades.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["name"], float(line["points"])) for line in lines] == [
        ("'=carl.py", 1),
        ("anna/l.py", 3),
        ("bob/l.py", 1),
        ("dora.py", 0),
    ]
    assert [bool(line["note"]) for line in lines] == [False, False, False, True]
    found = json.loads((folder / "grades.json").read_text())
    assert [each["points"] for each in found["submissions"]] == [row.points for row in grades.rows]
    assert found["passed"] == {"adds": 3, "adds_negatives": 1}
    assert (found["seed"], found["out_of"], found["mean"]) == (grades.terms.seed_name, 3, 1.25)


def test_no_file_of_the_report_gives_a_hidden_value_away(report):
    _, folder = report
    for name in ("=carl.py", "bob/l.py"):
        chance = Random(f"secret/{name}/adds_negatives")
        hidden = str(chance.randrange(10**5, 10**6) + chance.randrange(10**5, 10**6))
        page = (folder / "students" / page_name(name)).read_text()
        assert hidden not in Page(page).text
        result = json.loads((folder / "results" / f"{file_name(name)}.json").read_text())["grade"]
        assert hidden not in str([*(case["happened"] for case in result["cases"]), *result["notes"]])


def test_a_report_that_is_written_again_is_the_same(report):
    grades, folder = report
    paths = [path for path in folder.rglob("*") if path.is_file()]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
    write_report(grades)
    assert {path: path.read_bytes() for path in paths} == {path: data for path, (data, _) in before.items()}
    pages = [path for path in paths if path.parent.name == "students"]
    assert [path.stat().st_mtime_ns for path in pages] == [before[path][1] for path in pages]
