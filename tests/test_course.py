"""What a reader of the course relies on: its form, links that lead somewhere, no network and no key."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import pytest
from offline import bare_environment, may_unshare

from tools import notebooks

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
SOURCES = notebooks.sources(FOLDER)
COURSE = [source for source in SOURCES if source.stem[0].isdigit()]
SYLLABUS = FOLDER / "README.md"
PAGES = sorted([*FOLDER.glob("*.md"), *ROOT.glob("labs/**/README.md"), *ROOT.glob("datasets/**/README.md")])
SOLUTIONS = sorted(ROOT.glob("labs/l*/solution.ipynb"))

MOST_LINES = 24
NUMBERS = [f"{number:02d}" for number in range(17)]
SWITCH = 'LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key'
FOLDED = re.compile(r"^<details><summary>(?P<title>[^<]*)</summary>$.*?^</details>$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\]\((?P<target>[^)\s]+)\)")
PICTURE = re.compile(r"!\[|<img|<iframe|<script", re.I)
HEADING = re.compile(r"^#{1,6} .+$", re.M)
MEASURED = re.compile(r"\d+ of \d+|\b(?!95 %)\d+ ?%|\d per ?cent")
QUOTED = re.compile(r"""`[^`]*`|"[^"\n]*"|'[^'\n]*'""")
EXERCISE = re.compile(r"^\*\*(\d)\.", re.M)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One notebook of the course, as its reader meets it."""

    cells: tuple[Any, ...]

    def sources(self, kind: str) -> list[str]:
        """The text of all cells that are `code` or `markdown`."""
        return [cell.source for cell in self.cells if cell.cell_type == kind]

    @property
    def prose(self) -> str:
        """All that is written, without code in fences."""
        return FENCED.sub("", "\n\n".join(self.sources("markdown")))

    @property
    def exercises(self) -> str:
        """What stands between the heading of the exercises and the summary, folds included."""
        text = "\n\n".join(self.sources("markdown"))
        return text[text.index("\n## Your turn") : text.index("## What to keep")]

    @property
    def summary(self) -> str:
        """The last section."""
        return self.sources("markdown")[-1]


@cache
def read_lesson(source: Path) -> Lesson:
    """A notebook as it is written; read once."""
    return Lesson(tuple(jupytext.read(source).cells))


@pytest.fixture
def lesson(source: Path) -> Lesson:
    return read_lesson(source)


each_lesson = pytest.mark.parametrize("source", COURSE, ids=lambda source: source.stem)
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def test_the_notebooks_are_there_in_order():
    assert [source.stem[:2] for source in COURSE] == NUMBERS


@each_source
def test_no_cell_is_longer_than_a_screen(lesson: Lesson):
    shown = [FOLDED.sub("", cell.source).strip() for cell in lesson.cells]
    assert [cell for cell in shown if len(cell.splitlines()) > MOST_LINES] == []
    assert all(cell.source.strip() for cell in lesson.cells)


@each_lesson
def test_the_first_cell_says_what_one_will_be_able_to_do_and_how_long_it_takes(lesson: Lesson, source: Path):
    first, *_ = lesson.sources("markdown")
    assert re.match(rf"# {source.stem[:2]} · \S", first)
    objectives = re.search(r"\byou can\n\n((?:- .+\n(?:  .+\n)*)+)", first)
    assert objectives is not None, "no list after 'you can'"
    assert 3 <= len(re.findall(r"^- ", objectives[1], re.M)) <= 5
    assert re.search(r"^About \d\d minutes", first, re.M)


@each_lesson
def test_one_switch_says_who_answers_if_a_model_is_asked(lesson: Lesson):
    code = lesson.sources("code")
    if not any("model_for(LIVE" in cell or "LIVE, " in cell for cell in code):
        assert not any(re.search(r"^LIVE\b", cell, re.M) for cell in code)
        return
    assert [cell.splitlines()[0] for cell in code if re.search(r"^LIVE\b", cell, re.M)] == [SWITCH]
    asked = next(cell for cell in code if SWITCH in cell)
    assert re.search(r'model_for\([^)]*LIVE, "[a-z0-9-]+"\)', asked)
    assert re.search(r'print\("who answers\b', asked)


@each_lesson
def test_the_reader_is_asked_at_least_three_times_before_the_answer_is_computed(lesson: Lesson):
    code = lesson.sources("code")
    turns = [
        ("asks", cell) if "= predict(" in cell else ("reveals", cell)
        for cell in code
        if re.search(r"= predict\(|\.reveal\(", cell)
    ]
    assert [turn for turn, _ in turns] == ["asks", "reveals"] * (len(turns) // 2)
    assert len(turns) >= 6
    assert [cell for turn, cell in turns if turn == "asks" and ".reveal(" in cell] == []
    assert [cell for turn, cell in turns if turn == "asks" and not cell.endswith("\nguess")] == []


@each_lesson
def test_exercises_have_folded_hints_and_a_solution_that_is_folded_too(lesson: Lesson):
    numbers = EXERCISE.findall(lesson.exercises)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert 2 <= len(numbers) <= 4
    for exercise in EXERCISE.split(lesson.exercises)[2::2]:
        assert "hint" in titles_of_folds(exercise), exercise
    assert "solution" in titles_of_folds(lesson.exercises)
    text = "\n\n".join(lesson.sources("markdown"))
    assert len(FOLDED.findall(text)) == text.count("<details>") == text.count("</details>")


def titles_of_folds(text: str) -> str:
    """What can be unfolded, in small letters: "hint, one solution"."""
    return ", ".join(fold["title"].lower() for fold in FOLDED.finditer(text))


@each_lesson
def test_it_ends_with_what_to_keep_what_comes_next_and_a_lab(lesson: Lesson, source: Path):
    assert lesson.summary.startswith("## What to keep\n\n- ")
    assert 3 <= len(re.findall(r"^- ", lesson.summary, re.M)) <= 5
    targets = [match["target"] for match in LINK.finditer(lesson.summary)]
    assert any(re.fullmatch(r"\.\./labs/(l\d+)/\1\.ipynb", target) for target in targets)
    following = COURSE[COURSE.index(source) + 1 :][:1]
    assert [path.stem + ".ipynb" for path in following] == [t for t in targets if re.match(r"\d\d-", t)][:1]


@each_source
def test_headings_are_said_once_and_there_is_one_title(lesson: Lesson):
    headings = HEADING.findall(lesson.prose)
    assert [heading for heading, times in Counter(headings).items() if times > 1] == []
    assert [heading for heading in headings if heading.startswith("# ")] == headings[:1]


@each_source
def test_text_has_no_pictures_nothing_from_elsewhere_and_does_not_shout(lesson: Lesson):
    assert PICTURE.search(lesson.prose) is None
    assert "!" not in QUOTED.sub("", lesson.prose)


@each_source
def test_no_result_is_written_down_that_a_cell_computes(lesson: Lesson):
    assert MEASURED.findall(QUOTED.sub("", FOLDED.sub("", lesson.prose))) == []


@each_source
def test_links_of_a_notebook_lead_to_files_that_exist(lesson: Lesson):
    assert broken_links("\n".join(lesson.sources("markdown")), FOLDER) == []


@each_page
def test_links_of_a_page_lead_to_files_that_exist(page: Path):
    assert broken_links(page.read_text(encoding="utf-8"), page.parent) == []


def broken_links(text: str, folder: Path) -> list[str]:
    """The links of a Markdown text that lead to no file; those to other sites are not followed."""
    targets = [match["target"].partition("#")[0] for match in LINK.finditer(FENCED.sub("", text))]
    local = [target for target in targets if target and not re.match(r"https?://|mailto:", target)]
    return [target for target in local if not (folder / target).exists()]


def syllabus() -> list[tuple[str, str, int]]:
    """The number, the file and the minutes of each row of the syllabus."""
    row = re.compile(r"^\| \[(\d\d) .*?\]\(([^)]+)\).*\| (\d+) \|$", re.M)
    rows = row.findall(SYLLABUS.read_text("utf-8"))
    return [(number, file, int(minutes)) for number, file, minutes in rows]


def minutes_of(source: Path) -> int:
    """How long a notebook takes, as it says itself."""
    [minutes] = re.findall(r"^About (\d\d) minutes", read_lesson(source).prose, re.M)
    return int(minutes)


def test_the_syllabus_names_every_notebook_with_its_minutes():
    wanted = [(source.stem[:2], f"{source.stem}.ipynb", minutes_of(source)) for source in COURSE]
    assert syllabus() == wanted


def test_the_syllabus_adds_up_and_names_every_lab():
    text = SYLLABUS.read_text("utf-8")
    [total] = re.findall(r"^(\d+) minutes in all", text, re.M)
    assert int(total) == sum(minutes for *_, minutes in syllabus())
    named = re.findall(r"\.\./labs/(l\d+)/README\.md", text)
    listed = re.findall(r"^\| \[(l\d+)\]", (ROOT / "labs" / "README.md").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(listed)


def minutes_of_lab(page: str) -> float:
    """How long a lab takes, as its page says: the middle of a range."""
    words = {"two": "2", "three": "3", "five": "5"}
    text = re.sub(r"\b(two|three|five)\b", lambda found: words[found[0].lower()], page, flags=re.I)
    [(least, most, unit)] = re.findall(r"(\d+)(?: to (\d+))? (minutes|hours)\.", text)
    return (int(least) + int(most or least)) / 2 * (60 if unit == "hours" else 1)


def test_the_hours_of_course_and_labs_add_up():
    labs = sum(minutes_of_lab((path.parent / "README.md").read_text("utf-8")) for path in SOLUTIONS)
    both = labs + sum(minutes for *_, minutes in syllabus())
    assert re.findall(r"about (\d+) hours together", SYLLABUS.read_text("utf-8")) == [f"{both / 60:.0f}"]
    assert f"about {both / 60:.0f} hours with the labs" in (ROOT / "README.md").read_text("utf-8")


def test_the_syllabus_alone_says_when_a_lab_comes_and_all_pages_agree():
    rows = re.findall(r"^\| \[(\d\d) .*$", text := SYLLABUS.read_text("utf-8"), re.M)
    lines = dict(zip(rows, re.findall(r"^\| \[\d\d .*$", text, re.M), strict=True))
    comes = {lab: row for row, line in lines.items() for lab in re.findall(r"labs/(l\d+)/README\.md", line)}
    table = re.findall(
        r"^\| \[(l\d+)\]\(.*\| ([\d, to]+) \|$", (ROOT / "labs" / "README.md").read_text("utf-8"), re.M
    )
    assert {lab: max(re.findall(r"\d\d", after)) for lab, after in table} == comes
    for lab, row in comes.items():
        page = (ROOT / "labs" / lab / "README.md").read_text("utf-8")
        before = re.findall(r"\b(\d\d)\b", "".join(re.findall(r"Read before: ([^.]*)", page)))
        assert all(number <= row for number in before), lab
        [source] = [each for each in COURSE if each.stem.startswith(row)]
        assert f"../labs/{lab}/{lab}.ipynb" in source.read_text("utf-8"), (
            f"{source.name} does not offer {lab}"
        )


@each_lesson
def test_the_syllabus_names_the_data_that_a_notebook_loads(lesson: Lesson, source: Path):
    loaded = set(re.findall(r"""\bload\("([a-z-]+)"\)""", "\n".join(lesson.sources("code"))))
    [row] = [line for line in SYLLABUS.read_text("utf-8").splitlines() if f"]({source.stem}.ipynb)" in line]
    assert set(re.findall(r"\.\./datasets/([a-z-]+)/README\.md", row)) == loaded


def test_the_words_are_in_order_and_said_once():
    words = re.findall(r"^\| ([^|]+) \|", SYLLABUS.read_text("utf-8").partition("## Words")[2], re.M)[2:]
    assert len(words) >= 25
    assert words == sorted(set(words), key=str.lower)


def run_offline(paths: list[Path], home: Path) -> list[str]:
    """Run notebooks in one process without a route, a key or anything at home; a line each."""
    home.mkdir()
    alone = ["unshare", "-rn"] if may_unshare() else []
    done = subprocess.run(
        [*alone, sys.executable, str(ROOT / "tests" / "offline.py"), *map(str, paths)],
        env={**bare_environment(home), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    *ran, route = done.stderr.strip().splitlines()
    assert route == "no route" or not alone
    return [line for line in ran if line.startswith("ran ")]


@pytest.mark.slow
def test_all_labs_are_solved_without_a_network_or_a_key(tmp_path: Path):
    copies = [tmp_path / path.parent.name / path.name for path in SOLUTIONS]
    for path, copy in zip(SOLUTIONS, copies, strict=True):
        copy.parent.mkdir()
        shutil.copy(path, copy)
    assert len(copies) >= 11
    assert len(run_offline(copies, tmp_path / "home")) == len(copies)
