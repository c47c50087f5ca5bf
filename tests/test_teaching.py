"""The pages for teachers agree with the notebooks, the labs and the data that they speak of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from test_course import broken_links

from tools import slides, teaching
from zoolab import Limits, Price, model_for, read_calls
from zoolab.models.recording import Recording, shipped
from zoolab.retrieval import BM25
from zoolab.tokens import tokens_in
from zoolab_course.doctor import examine
from zoolab_grader import lab_names, load_lab
from zoolab_study import datasets
from zoolab_study.statistics import wilson

PAGES = sorted(teaching.PAGES.glob("*.md"))
COURSE = {lesson.number: lesson for lesson in teaching.lessons()}
#: The labs of the course: those in the table of `labs/README.md`. A folder may have others.
LABS = re.findall(
    r"^\| \[(\w+)\]",
    (teaching.FOLDER.parent / "labs" / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
TABLE = tomllib.loads(teaching.TABLE.read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (teaching.PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, teaching.FOLDER / "LICENSE.md"], ids=lambda page: page.stem)
def test_links_lead_to_files_that_exist(page: Path):
    assert broken_links(page.read_text(encoding="utf-8"), page.parent) == []


def test_the_first_page_names_all_others():
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", text_of("README")))
    assert named == {page.name for page in PAGES} - {"README.md"}


# The outcomes, and the times


@pytest.mark.parametrize("page", teaching.pages(), ids=lambda page: page.stem)
def test_a_built_page_is_fresh(page: Path):
    assert page.read_text(encoding="utf-8") == teaching.pages()[page], "run: python -m tools.teaching"


@pytest.mark.parametrize("number", COURSE)
def test_every_objective_of_a_notebook_is_in_the_map_with_what_practises_and_checks_it(number: str):
    lesson = COURSE[number]
    assert 3 <= len(lesson.objectives) <= 5
    section = text_of("outcomes").partition(f"## {lesson.link}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)[2:]
    assert [objective for objective, *_ in rows] == lesson.objectives


def test_each_entry_of_the_map_names_one_objective_and_exercises_that_there_are():
    for number, entries in TABLE["objectives"].items():
        lesson = COURSE[number]
        for start, given in entries.items():
            assert sum(each.startswith(start) for each in lesson.objectives) == 1, (number, start)
            assert set(given.get("exercises", ())) <= set(lesson.exercises), (number, start)


def test_a_case_that_does_not_exist_is_not_mapped():
    course = [COURSE["04"]]
    with pytest.raises(LookupError, match="lab l4 has no case nobody"):
        teaching.outcomes(course, {"04": {"read a confusion": {"cases": ["l4.nobody"]}}})


def test_every_notebook_was_measured():
    measured = TABLE["measured"]
    assert set(measured["seconds"]) == set(COURSE)
    assert measured["when"] in text_of("times")


# The syllabuses


def test_twelve_weeks_have_every_notebook_once_in_order_and_every_lab():
    weeks = text_of("syllabus").partition("## Twelve weeks")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \|.*$", weeks, re.MULTILINE)
    assert rows == [str(week) for week in range(1, 13)]
    assert re.findall(r"\[(\d\d)\]\(\.\./\1-[\w-]+\.ipynb\)", weeks) == list(COURSE)
    assert sorted(re.findall(r"\[(l\d+)\]", weeks)) == sorted(LABS)


def offered() -> dict[str, str]:
    """The labs in the order of the course, each with its notebook: the one table that says so."""
    course = (teaching.FOLDER / "README.md").read_text(encoding="utf-8")
    return {
        lab: number
        for number, row in re.findall(r"^\| \[(\d\d) (.*)$", course, re.MULTILINE)
        for lab in re.findall(r"labs/(l\d+)/", row)
    }


def test_the_labs_are_numbered_in_the_order_in_which_the_course_meets_them():
    assert list(offered()) == [f"l{number}" for number in range(1, len(LABS) + 1)]
    assert list(offered()) == LABS
    assert set(LABS) <= set(lab_names())
    assert re.findall(r"^## \[(l\d+)", text_of("oral"), re.MULTILINE) == list(offered())


@pytest.mark.parametrize("number", list(COURSE))
def test_a_notebook_leads_to_no_lab_that_comes_later(number: str):
    (path,) = teaching.FOLDER.glob(f"{number}-*.py")
    linked = re.findall(r"labs/(l\d+)/", path.read_text(encoding="utf-8").partition("# Next: ")[2])
    assert [lab for lab in linked if offered()[lab] > max(number, "01")] == []


def test_a_lab_comes_after_the_notebook_that_offers_it():
    weeks = text_of("syllabus").partition("## Twelve weeks")[2].partition("\n## ")[0]
    read: list[str] = []
    for row in re.findall(r"^\| \d+ \|.*$", weeks, re.MULTILINE):
        read += re.findall(r"\[(\d\d)\]", row)
        assert [lab for lab in re.findall(r"\[(l\d+)\]", row) if offered()[lab] not in read] == []


@pytest.mark.parametrize("day", ["1", "2"])
def test_a_day_of_the_workshop_fits_into_a_day(day: str):
    rows = re.findall(rf"^\| {day} \| (?:morning|afternoon).*$", text_of("syllabus"), re.MULTILINE)
    numbers = re.findall(r"\[(\d\d)\]", " ".join(rows))
    assert 120 <= sum(COURSE[number].minutes for number in numbers) <= 300


# The questions


@cache
def chosen(offered: int) -> pd.DataFrame:
    """What Qwen called first for each request of `selection-cases`, with `offered` tools."""
    recording = Recording(shipped()[f"qwen-selection-{offered}"])
    called = {}
    for body in recording.openings:
        calls = read_calls(message_of(recording, body), text=True)
        called[body["messages"][-1]["content"]] = calls[0].name if calls else "none"
    asked = datasets.load("selection-cases").fillna({"tool": "none"})
    return asked.assign(called=asked["prompt"].map(called))


def message_of(recording: Recording, body: dict[str, Any]) -> dict[str, Any]:
    """The recorded reply to a request."""
    response: Any = recording.response(recording.key_of(body))
    message: dict[str, Any] = response["choices"][0]["message"]
    return message


def right_of_those_that_need(offered: int) -> int:
    need = chosen(offered)[chosen(offered)["tool"] != "none"]
    assert len(need) == 338
    return int((need["tool"] == need["called"]).sum())


def needless() -> int:
    idle = chosen(3)[chosen(3)["tool"] == "none"]
    assert len(idle) == 108
    return int((idle["called"] != "none").sum())


def answered(name: str) -> int:
    """How many of the 60 tasks end with words and no call."""
    recording = Recording(shipped()[name])
    assert len(list(recording.openings)) == 60
    ended = set()
    for body in recording.requests:
        message = message_of(recording, body)
        if (message["content"] or "").strip() and not read_calls(message, text=True):
            question = next(each["content"] for each in body["messages"] if each["role"] == "user")
            ended.add((question, *(each["function"]["name"] for each in body["tools"])))
    return len(ended)


def found_among_eight() -> int:
    tools = list(datasets.selection_tools())
    names = [tool.name for tool in tools]
    texts = [f"{tool.name.replace('_', ' ')} {tool.description}" for tool in tools]
    hits = 0
    for row in datasets.load("selection-cases").dropna(subset=["tool"]).itertuples():
        scores = list(BM25().scores(row.prompt, texts))
        hits += sum(score > scores[names.index(row.tool)] for score in scores) < 8
    return hits


def broken() -> tuple[int, int]:
    rows = datasets.load("broken-arguments").query("made == 'recorded'")
    assert len(rows) == 324
    invalid = rows["codes"].map(lambda codes: "invalid_json" in codes)
    return int(invalid.sum()), int((rows["finish_reason"] == "length").sum())


def silent() -> int:
    traces = datasets.load("traces")
    assert len(traces) == 145
    return int(((traces["root_cause"] != "none") & (traces["codes"].map(len) == 0)).sum())


def forced() -> tuple[int, int]:
    rows = datasets.load("trials").query("trial == 'forced_schema'")
    counts = rows.groupby(["variant", "verdict"]).size()
    assert rows.groupby("variant").size().to_dict() == {"forced": 8, "free": 8}
    return int(counts["forced", "needless_call"]), int(counts["free", "right"])


def growth() -> str:
    price = Price(input=2.0, output=8.0, cached=0.2)

    def cost(turns: int) -> float:
        usages = ({"prompt_tokens": 800 + 100 * turn, "completion_tokens": 30} for turn in range(turns))
        return sum(price.of(usage) for usage in usages)

    return f"{cost(40) / cost(10):.1f}"


#: By the number of a question: the values in bold in its answer.
COMPUTED: dict[int, Callable[[], tuple[Any, ...]]] = {
    2: lambda: (sum(result.ok for result in examine(model_for(None, "qwen-course-00"))),),
    13: lambda: (right_of_those_that_need(3),),
    14: lambda: (needless(),),
    15: lambda: (answered("qwen-tasks"), answered("qwen-tasks-system")),
    17: lambda: (f"{tokens_in(tools=datasets.selection_tools().schemas()):,}",),
    18: lambda: (found_among_eight(),),
    19: lambda: (right_of_those_that_need(8),),
    21: broken,
    23: lambda: (int(datasets.load("broken-arguments")["recoverable"].sum()),),
    26: lambda: (Limits().turns * Limits().calls_per_turn,),
    30: lambda: (silent(),),
    34: forced,
    36: lambda: (growth(),),
    37: lambda: (comb(4, 2) / comb(5, 2),),
    39: lambda: (f"{wilson(0, 10).high:.0%}".replace("%", " %"),),
}
QUESTIONS = re.findall(
    r"^\*\*(\d+)\.\*\* \[(\d\d)\]\(\.\./(\2-[\w-]+\.ipynb)\) (.+?)\n\n"
    r"<details><summary>Answer</summary>\n\n(.+?)\n\n</details>",
    text_of("questions"),
    re.MULTILINE | re.DOTALL,
)


def test_there_are_forty_questions_with_answers_about_every_notebook():
    assert [int(number) for number, *_ in QUESTIONS] == list(range(1, 41))
    assert sorted({notebook for _, notebook, *_ in QUESTIONS}) == list(COURSE)
    assert len({question for *_, question, _ in QUESTIONS}) == 40


def test_a_value_in_bold_is_one_that_is_computed():
    bold = {int(number) for number, *_, answer in QUESTIONS if "**" in answer}
    assert bold == set(COMPUTED)


@pytest.mark.parametrize("number", COMPUTED)
def test_a_number_in_an_answer_is_computed_from_the_data(number: int):
    [answer] = [answer for found, *_, answer in QUESTIONS if int(found) == number]
    assert re.findall(r"\*\*(.+?)\*\*", answer) == [str(value) for value in COMPUTED[number]()]


def test_other_numbers_in_the_questions_are_those_of_the_data():
    cases = datasets.load("selection-cases")
    assert (cases["tool"].notna().sum(), cases["tool"].isna().sum()) == (338, 108)
    assert len(datasets.load("broken-arguments")) == 434
    assert (Limits().turns, Limits().calls_per_turn) == (5, 15)


@pytest.mark.parametrize("lab", LABS)
def test_each_lab_has_three_to_five_oral_questions_with_what_a_good_answer_contains(lab: str):
    heading = f"## [{lab} · {load_lab(lab).title}](../../labs/{lab}/README.md)\n"
    section = text_of("oral").partition(heading)[2].partition("\n## ")[0]
    asked = re.findall(r"^(\d)\. (.+[?.]) \*(.+)\*$", section, re.MULTILINE)
    assert [number for number, *_ in asked] == [str(number) for number in range(1, len(asked) + 1)]
    assert 3 <= len(asked) <= 5


def test_the_licence_of_the_text_names_both_licences_and_links_them():
    text = (teaching.FOLDER / "LICENSE.md").read_text(encoding="utf-8")
    for address in ("creativecommons.org/licenses/by/4.0/legalcode", "apache.org/licenses/LICENSE-2.0"):
        assert f"https://{address}" in text or f"https://www.{address}" in text


# The slides


def cell(source: str, *outputs: dict[str, Any], tags: tuple[str, ...] = ()) -> Any:
    """A cell of code as nbformat has it: its fields are attributes, and its outputs are got by name."""
    made = SimpleNamespace(cell_type="code", source=source, metadata={"tags": list(tags)})
    made.get = lambda name, default=None: {"outputs": outputs}.get(name, default)
    return made


def prose(source: str, tags: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(cell_type="markdown", source=source, metadata={"tags": list(tags)})


HOSTILE = '<script src="https://a.invalid/x.js"></script><img src="https://a.invalid/x.png"><b>bold</b>'
CELLS = [
    prose("# 01 · One loop\n\nSee [02](02-messages.ipynb) and [a paper](https://example.org/paper)."),
    prose("Not marked."),
    cell("guess = predict('How many?', [1, 2])", {"data": {"text/html": "<p>How many?</p>"}}),
    cell("guess.reveal(2)", {"data": {"text/html": "<p>2. You made no prediction. Because.</p>"}}),
    cell("1 + 1", {"data": {"text/html": HOSTILE}}, {"text": "<not markup>"}, tags=("slide",)),
    cell("2 + 2", {"text": "not shown"}),
    cell("3 + 3", {"data": {"image/png": "aGVsbG8=\n", "text/plain": '<a "plot">'}}, tags=("slide",)),
    prose("## What to keep\n\n- All"),
]


def test_slides_are_the_key_cells_and_the_marked_ones():
    page = slides.deck("01", CELLS)
    assert page.count("<section") == 6
    assert "Not marked" not in page
    assert "not shown" not in page
    assert "<details><summary>What happened?</summary><p>2. Because.</p></details>" in page
    assert "&lt;not markup&gt;" in page
    assert '<img alt="&lt;a &quot;plot&quot;&gt;" src="data:image/png;base64,aGVsbG8=">' in page


def test_slides_fetch_nothing_and_run_no_script_of_an_output():
    page = slides.deck("01", CELLS)
    assert "<b>bold</b>" in page
    assert "a.invalid" not in page
    assert re.findall(r"""<(?:script|link|iframe)\b[^>]*(?:src|href)=""", page) == []
    assert re.findall(r"""<img[^>]*src="(?!data:)""", page) == []
    assert "default-src 'none'" in page
    assert "02-messages.ipynb" not in page
    assert 'href="https://example.org/paper"' in page


@pytest.mark.parametrize("lesson", COURSE.values(), ids=list(COURSE))
def test_every_notebook_makes_slides(lesson: teaching.Lesson):
    cells = slides.read(lesson.source, run=False)
    found = list(slides.slides(cells))
    marked = [each for each in cells if "slide" in each.metadata.get("tags", ())]
    assert len(found) >= 8
    assert all(slides.prose(each.source) in found for each in marked if each.cell_type == "markdown")


def test_a_notebook_is_run_for_its_slides_and_an_unknown_number_is_named(tmp_path, capsys):
    source = tmp_path / "01-x.py"
    source.write_text('# %% tags=["slide"]\nprint(6 * 7)\n\n# %% [markdown]\n# End\n', encoding="utf-8")
    assert "<pre>42\n</pre>" in slides.deck("01", slides.read(source))
    assert slides.main(["77", "--out", str(tmp_path / "out")]) == 2
    assert "no notebook 77" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
