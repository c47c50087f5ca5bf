"""`zoolab grade --roster`: a class list comes back as it was, with the grades that are certain."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import ESCAPE, Shell
from sums import HALF, RIGHT, make_class, make_lab

from zoolab.errors import InvalidInput
from zoolab_grader.gradebook import Manual, NotGraded, Row
from zoolab_grader.roster import cell_value, fill_roster, lines_of

LAB = SimpleNamespace(name="l1", title="The loop", points=33)
CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section,l1 (4711),"Final, Score"\r\n'
    "    Points Possible,,,,,33.0,(read only)\r\n"
    '"Müller, Anna",123,S1,amueller,A,,12\r\n'
    '"=HYPERLINK(""x"")",124,S2,bob,A,7,\r\n'
    "Carl,125,S3,carl,B,,\r\n"
)
MOODLE = (
    "\ufeffIdentifier;Full name;Email address;Grade;Maximum Grade;Feedback comments\n"
    'Participant 9;Anna Müller;anna@uni.example;-;33,00;"two\nlines; and ""quotes"""\n'
    "Participant 10;-Bob;bob@uni.example;;33,00;+1\n"
)
GRADESCOPE = (
    "First Name,Last Name,SID,Email,Sections\n"
    "Anna,Müller,77,anna@uni.example,A\n"
    "Bob,@SUM(A1),78,b@uni.example,"
)


def grades(points: dict[str, float], **more: object) -> SimpleNamespace:
    rows = tuple(Row(name, each, ()) for name, each in points.items())
    return SimpleNamespace(**{"lab": LAB, "rows": rows, "failed": (), **more})


def fill(tmp_path: Path, text: str, platform: str, given: SimpleNamespace, column: str | None = None):
    path = tmp_path / "list.csv"
    path.write_bytes(text.encode())
    return fill_roster(path, platform, given, column)


def test_canvas_gets_its_columns_back_with_the_grades_in_them(tmp_path):
    given = grades(
        {"mulleranna_123_900_l1.ipynb": 30.5, "bob_LATE_124_901_l1.ipynb": 33, "zoe_999_1_l1.ipynb": 1}
    )
    done = fill(tmp_path, CANVAS, "canvas", given)
    wanted = CANVAS.replace("amueller,A,,", "amueller,A,30.5,").replace("bob,A,7,", "bob,A,33,")
    assert (done.text, done.filled) == (wanted, 2)
    assert done.remarks == [
        'line 4, =HYPERLINK(\\"x\\"): was "7", is 33',
        "line 5, Carl: no submission",
        "zoe_999_1_l1.ipynb: nobody in the list",
    ]


def test_moodle_gets_its_columns_back_with_the_grades_in_them(tmp_path):
    given = grades(
        {
            "Anna Müller_9_assignsubmission_file/bob@uni.example.py": 20,
            "Bob_10_assignsubmission_file/l1.py": 0,
        }
    )
    done = fill(tmp_path, MOODLE, "moodle", given)
    assert done.text == MOODLE.replace(";-;33", ";20;33").replace("bob@uni.example;;", "bob@uni.example;0;")
    assert done.remarks == []


def test_gradescope_gets_a_column_if_there_is_none(tmp_path):
    given = grades({"anna@uni.example.ipynb": 5, "78/l1.ipynb": 6})
    done = fill(tmp_path, GRADESCOPE, "gradescope", given)
    head, anna, bob = GRADESCOPE.split("\n")
    assert done.text == f"{head},l1\n{anna},5\n{bob},6"
    assert done.remarks == ["the column l1 is new in the list"]
    exported = "Name,SID,Email,Total Score,Max Points,Submission ID\nAnna,,a@x,,10,555\n"
    done = fill(tmp_path, exported, "gradescope", grades({"submission_555/l1.ipynb": 5}))
    assert done.text == exported.replace("a@x,,", "a@x,5,")
    assert done.remarks == ["gradescope counts to 10 points, the lab to 33: grades are not scaled"]


def test_points_by_hand_count(tmp_path):
    row = Row("carl.py", 10, (), manual=Manual(points=1.5))
    assert ",B,11.5," in fill(tmp_path, CANVAS, "canvas", grades({}, rows=(row,))).text


DOUBTFUL = [
    # The name that a student chose for a file, or that a display name contains, decides nothing.
    (CANVAS, "canvas", {"mueller_123_456_124_1_x.ipynb": 1}, "lines 3, 4 could be meant"),
    (CANVAS, "canvas", {"anna/bob.py": 1}, "nobody in the list"),
    (CANVAS, "canvas", {"bob.py": 1, "124.py": 2}, "line 4 has 2 submissions"),
    (
        MOODLE,
        "moodle",
        {"x_9_assignsubmission_file_10_assignsubmission_file/l1.py": 1},
        "lines 2, 4 could be meant",
    ),
    (MOODLE, "moodle", {"Bob.py": 1}, "nobody in the list"),
    (CANVAS + "Carl,126,,,B,,\n", "canvas", {"carl/l1.py": 1}, "lines 5, 6 could be meant"),
]


@pytest.mark.parametrize(("text", "platform", "points", "why"), DOUBTFUL)
def test_what_is_not_certain_is_not_filled_in_and_said(tmp_path, text, platform, points, why):
    done = fill(tmp_path, text, platform, grades(points))
    assert (done.text, done.filled) == (text, 0)
    assert [line for line in done.remarks if line.startswith(tuple(points))] == [
        f"{name}: {why}" for name in points
    ]
    if why != "nobody in the list":
        assert sum("no certain submission" in line for line in done.remarks) == (1 if "has 2" in why else 2)


def test_a_file_that_defines_nothing_of_the_lab_makes_no_doubt(tmp_path):
    rows = (Row("bob/l1.py", 3, ()), Row("bob/helper.py", 0, (), beside=True))
    alone = Row("carl.py", 0, (), beside=True)
    done = fill(tmp_path, CANVAS, "canvas", grades({}, rows=(*rows, alone)))
    assert done.text == CANVAS.replace("bob,A,7", "bob,A,3").replace("carl,B,,", "carl,B,0,")
    two = (*rows, Row("bob/other.py", 0, ()))
    assert fill(tmp_path, CANVAS, "canvas", grades({}, rows=two)).filled == 0


def test_a_folder_of_all_submissions_is_no_name(tmp_path):
    both = "all/ours/"
    names = {f"{both}bob_124_901_l1.py": 5, f"{both}zoe.py": 1, f"{both}carl/bob.py": 2}
    done = fill(tmp_path, CANVAS, "canvas", grades(names))
    assert done.text == CANVAS.replace("bob,A,7", "bob,A,5").replace("carl,B,,", "carl,B,2,")
    assert f"{both} is the folder of all submissions, so it is no name of a student" in done.remarks
    assert f"{both}zoe.py: nobody in the list" in done.remarks


@pytest.mark.parametrize(
    "names",
    [
        ["eve/bob.py", "eve/l1.py", "zoe.py"],
        ["eve/bob.py"],
        ["eve_999_1_x/bob.py", "eve_999_1_x/carl.py"],
        ["carl/bob.py", "carl/l1.py"],
    ],
)
def test_the_folder_of_one_student_is_not_passed_over(tmp_path, names):
    done = fill(tmp_path, CANVAS, "canvas", grades(dict.fromkeys(names, 1)))
    assert (done.text, done.filled) == (CANVAS, 0)
    assert not any("folder of all" in line for line in done.remarks)


def test_a_list_without_the_column_that_names_submissions_says_so(tmp_path):
    text = "Student,SIS Login ID,l1\nAnna,anna,\nBob,bob,\n"
    done = fill(tmp_path, text, "canvas", grades({"anna_123_900_l1.py": 3, "bob.py": 2}))
    assert done.text == text.replace("bob,", "bob,2")
    assert done.remarks == [
        "line 2, Anna: unknown, because the list has no column ID",
        "anna_123_900_l1.py: named by the ID, and the list has no such column",
    ]


def test_who_is_excused_stays_excused(tmp_path):
    text = CANVAS.replace("bob,A,7", "bob,A,EX")
    done = fill(tmp_path, text, "canvas", grades({"bob.py": 5}))
    assert (done.text, done.filled) == (text, 0)
    assert 'line 4, =HYPERLINK(\\"x\\"): stays EX, the grade would be 5' in done.remarks


@pytest.mark.parametrize("before", ["sep=,\r\n", "\ufeffsep=,\n", ""])
def test_a_list_that_a_table_program_has_saved_is_read(before, tmp_path):
    text = f"{before}Student,ID,l1\nAnna,123.0,\nBob,1.24E+02,\n"
    done = fill(
        tmp_path, text, "canvas", grades({"anna_123_900_l1.py": 3, "x_02_900_l1.py": 4, "x_0_1_l1.py": 5})
    )
    assert done.text == text.replace("123.0,", "123.0,3")
    assert done.remarks[0] == f"line {4 if before else 3}, Bob: no submission"
    assert done.filled == 1


def test_what_could_not_be_read_or_graded_gets_no_points(tmp_path):
    row = Row("bob.py", 0, (), unreadable=True)
    done = fill(
        tmp_path, CANVAS, "canvas", grades({}, rows=(row,), failed=(NotGraded("carl.py", "out of memory"),))
    )
    assert done.text == CANVAS
    assert "bob.py: could not be read; line 4 is not filled in" in done.remarks
    assert "carl.py: could not be graded; line 5 is not filled in" in done.remarks


@pytest.mark.parametrize(
    ("text", "platform", "column", "said"),
    [
        ("a,b\n1,2\n", "canvas", None, "has none of the columns of canvas; expected one of ID, SIS User ID"),
        ("", "moodle", None, "has none of the columns of moodle"),
        ("Student,ID\nA,1\n", "canvas", None, "has no column 'l1' or 'The loop' or .*; name the column"),
        ("Email address\na@x\n", "moodle", None, "has no column 'Grade'"),
        ("Student,ID,l1 (1),l1 (2)\n", "canvas", None, "has 2 columns 'l1'; name one with --column"),
        ("Student,ID,l1 (1),l1 (2)\n", "canvas", "l1", "has 2 columns 'l1'"),
    ],
)
def test_another_list_is_refused(tmp_path, text, platform, column, said):
    with pytest.raises(InvalidInput, match=said):
        fill(tmp_path, text, platform, grades({}), column)
    (tmp_path / "list.csv").write_bytes(b"Student,ID\nM\xfcller,1\n")
    with pytest.raises(InvalidInput, match="is not UTF-8; export it again"):
        fill_roster(tmp_path / "list.csv", "canvas", grades({}))


def test_a_column_can_be_named_and_a_new_one_is_no_formula(tmp_path):
    two = "Student,ID,l1 (1),l1 (2)\nCarl,125,,\n"
    done = fill(tmp_path, two, "canvas", grades({"carl.py": 3}), "l1 (2)")
    assert done.text == "Student,ID,l1 (1),l1 (2)\nCarl,125,,3\n"
    done = fill(tmp_path, two, "canvas", grades({}), '=a,"b"')
    assert cell_value(next(lines_of(done.text, ",")).cells[-1]) == '\'=a,"b"'


CELLS = st.text(st.sampled_from('ab ,;"\n\r=+\t'), max_size=6)


@given(st.text(st.sampled_from('ab,"\n\r;'), max_size=40), st.sampled_from(",;"))
def test_the_lines_of_any_text_are_that_text(text, separator):
    assert "".join(separator.join(line.cells) + line.end for line in lines_of(text, separator)) == text


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=4))
def test_cells_are_read_as_csv_reads_them(rows):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    assert [[cell_value(cell) for cell in line.cells] for line in lines_of(out.getvalue(), ",")] == rows


def test_the_command_writes_a_copy_beside_the_list(tmp_path, capsys):
    lab = make_lab(tmp_path / "sums")
    folder = make_class(tmp_path / "class", {"a_123_1_x.py": RIGHT, "b_124_2_x.py": HALF, "zoe.py": HALF})
    roster, shell = tmp_path / "list.csv", Shell(capsys)
    text = f"Student,ID,sums\nAnna{ESCAPE}[2J,123,\nBob,124,\nCarl,125,\n"
    roster.write_text(text, encoding="utf-8")
    asked = "grade", lab, folder, "--jobs", "1", "--quiet", "--roster", roster
    ran = shell(*asked, "--for", "canvas")
    assert ran.code == 0
    assert (tmp_path / "list-sums.csv").read_text() == text.replace("123,", "123,3").replace("124,", "124,1")
    assert (tmp_path / "list-sums.csv").stat().st_mode & 0o077 == 0
    assert roster.read_text() == text
    assert ran.out.splitlines()[-3:] == [
        f"{tmp_path / 'list-sums.csv'}: 2 grades filled in",
        "  line 4, Carl: no submission",
        "  zoe.py: nobody in the list",
    ]
    assert "1/3" not in ran.out
    assert "--roster and --for belong together" in shell(*asked).err
    assert "has none of the columns of moodle" in shell(*asked, "--for", "moodle").err
    assert "is the class list itself" in shell(*asked, "--for", "canvas", "--filled", roster).err
