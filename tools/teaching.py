"""Pages for teachers that are built from the notebooks: the learning outcomes, and the times.

    python -m tools.teaching [--check]              # write outcomes.md and times.md in notebooks/teaching
    python -m tools.teaching --measure [NUMBER...]  # run notebooks, by default all, and keep their seconds

`teaching.toml` says where an objective is practised, and keeps what was measured.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import tomllib
from dataclasses import dataclass
from datetime import date
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.building import write_stale
from tools.notebooks import sources
from tools.slides import read
from zoolab_grader import load_lab

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(__file__).parents[1] / "notebooks"
PAGES = FOLDER / "teaching"
TABLE = Path(__file__).with_name("teaching.toml")
#: What an estimate assumes of a reader: words and lines of code a minute, and minutes for each thing to do.
WORDS = 150
LINES = 20
PREDICTION = 0.5
EXERCISE = 5

OUTCOMES = """# Learning outcomes

What a student can do after each notebook, the exercises that practise it, and what checks it. "The
notebook" checks its own exercises, in a cell that prints "right" or "not yet". A name such as
`keeps_the_reply` is a case of a lab, which `zoolab grade` plays. Some objectives are practised by the
text and its predictions alone; for these use the [question bank](questions.md).

`python -m tools.teaching` builds this page from the notebooks, so do not edit it."""

TIMES = """# Times

**No class was timed.** The minutes in the course are estimates by the authors. This page shows what was
measured, and how.

- *Words* and *lines of code* were counted in the source of each notebook, without the folded hints and
  solutions.
- *Estimate* assumes {words} words of text and {lines} lines of code a minute, half a minute for each
  prediction, and {exercise} minutes for each exercise. These speeds are assumptions. {words} words a
  minute is slow, because technical text in a second language is read slowly.
- *Run* is the time that all cells need without a reader, from the start of the kernel to the last
  output. It was measured once, on {where}, on {when}. Your machine may be faster or slower.

`python -m tools.teaching` builds this page, and `python -m tools.teaching --measure` runs the notebooks
again.

| notebook | words | lines of code | predictions | exercises | estimate (min) | says (min) | run (s) |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

In all, the notebooks say {says} minutes, and the estimate is {estimate} minutes. Plan with the larger
number, and with a quarter of an hour for the installation.

If you time a class, please tell us in an issue: the notebook, the number of students, and the minutes
of the first, the middle and the last student are enough.
"""

_OBJECTIVES = re.compile(r"\byou can\n\n((?:- .+\n(?:  .+\n)*)+)")
_EXERCISE = re.compile(r"^\*\*(\d)\.(?: ?(.+?)\.?)?\*\*", re.MULTILINE)
_FOLDED = re.compile(r"^<details>.*?^</details>$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a notebook says of itself, read from its source."""

    source: Path
    prose: str
    code: str

    @property
    def number(self) -> str:
        """Such as "04"."""
        return self.source.stem[:2]

    @property
    def link(self) -> str:
        """A link from the pages for teachers, with the title."""
        title = re.search(r"^# (.+)$", self.prose, re.MULTILINE)
        return f"[{title[1] if title else self.source.stem}](../{self.source.stem}.ipynb)"

    @property
    def objectives(self) -> list[str]:
        """What a reader can do afterwards."""
        found = _OBJECTIVES.search(self.prose)
        lines = re.split(r"^- ", found[1], flags=re.MULTILINE)[1:] if found else []
        return [" ".join(line.split()).rstrip(";.") for line in lines]

    @property
    def exercises(self) -> dict[int, str]:
        """The titles of the exercises by their numbers."""
        tasks = self.prose.partition("\n## Your turn")[2]
        return {int(number): title for number, title in _EXERCISE.findall(tasks)}

    @property
    def minutes(self) -> int:
        """How long the notebook says that it takes."""
        return int(re.findall(r"^About (\d\d) minutes", self.prose, re.MULTILINE)[0])


def lessons() -> list[Lesson]:
    """Return the notebooks of the course, in order."""
    found = []
    for source in sources(FOLDER):
        if source.stem[0].isdigit():
            cells = read(source, run=False)
            texts = {
                kind: "\n\n".join(cell.source for cell in cells if cell.cell_type == kind)
                for kind in ("markdown", "code")
            }
            found.append(Lesson(source, texts["markdown"] + "\n", texts["code"]))
    return found


def outcomes(course: Sequence[Lesson], entries: dict[str, dict[str, Any]]) -> str:
    """Return the page of the learning outcomes."""
    parts = [OUTCOMES]
    for lesson in course:
        rows = ["| afterwards you can | practised in | checked by |", "| --- | --- | --- |"]
        for objective in lesson.objectives:
            named = [
                given
                for start, given in entries.get(lesson.number, {}).items()
                if objective.startswith(start)
            ]
            given = named[0] if named else {}
            numbers = given.get("exercises", list(lesson.exercises))
            titles = [
                f"exercise {number}: {lesson.exercises[number]}".removesuffix(": ") for number in numbers
            ]
            practised = "; ".join(titles) or "the text and its predictions"
            rows.append(
                f"| {objective} | {practised} | {_checked_by(bool(numbers), given.get('cases', []))} |"
            )
        parts += [f"## {lesson.link}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _checked_by(by_the_notebook: bool, cases: Sequence[str]) -> str:
    """Return links to the labs, with the names of their cases; raises `LookupError` if there is no
    such case.
    """
    found = ["the notebook"] if by_the_notebook else []
    for lab, _, case in (each.partition(".") for each in cases):
        if case not in {each.name for each in load_lab(lab).cases}:
            raise LookupError(f"lab {lab} has no case {case}: mend {TABLE.name}")
        found.append(f"[{lab}](../../labs/{lab}/README.md) `{case}`")
    return ", ".join(found) or "nothing but the predictions"


def times(course: Sequence[Lesson], measured: dict[str, Any]) -> str:
    """Return the page of the times."""
    rows = []
    total = 0.0
    for lesson in course:
        words = len(_FOLDED.sub("", lesson.prose).split())
        lines = len([line for line in lesson.code.splitlines() if line.strip()])
        guesses = lesson.code.count("= predict(")
        todo = guesses * PREDICTION + len(lesson.exercises) * EXERCISE
        estimate = words / WORDS + lines / LINES + todo
        total += estimate
        counts = (
            f"{words:,} | {lines} | {guesses} | {len(lesson.exercises)} | {estimate:.0f} | {lesson.minutes}"
        )
        rows.append(f"| {lesson.link} | {counts} | {measured['seconds'].get(lesson.number, '')} |")
    return TIMES.format(
        words=WORDS,
        lines=LINES,
        exercise=EXERCISE,
        where=measured["where"],
        when=measured["when"],
        rows="\n".join(rows),
        says=sum(lesson.minutes for lesson in course),
        estimate=round(total),
    )


def measure(course: Sequence[Lesson]) -> dict[str, float]:
    """Run notebooks, and return the seconds of each."""
    seconds = {}
    for lesson in course:
        start = time.monotonic()
        read(lesson.source)
        seconds[lesson.number] = round(time.monotonic() - start, 1)
        print(lesson.number, seconds[lesson.number], flush=True)
    return seconds


def keep(seconds: dict[str, float]) -> None:
    """Write what was measured into the table."""
    text = TABLE.read_text(encoding="utf-8").partition("[measured]")[0]
    lines = [
        "[measured]",
        f'when = "{date.today():%d %B %Y}"',
        f'where = "a virtual machine with {cpu_count()} processors that did other work at the same time"',
        "",
        "[measured.seconds]",
        *(f"{number} = {value}" for number, value in sorted(seconds.items())),
    ]
    TABLE.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


def pages() -> dict[Path, str]:
    """Return the text of each page that is built."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    course = lessons()
    return {
        PAGES / "outcomes.md": outcomes(course, table["objectives"]),
        PAGES / "times.md": times(course, table["measured"]),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, check or measure; 0 when all is well, 1 for stale pages under `--check`."""
    parser = argparse.ArgumentParser(prog="python -m tools.teaching", description="Build pages for teachers.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    parser.add_argument("--measure", nargs="*", metavar="NUMBER", help="run notebooks, by default all")
    options = parser.parse_args(arguments)
    if options.measure is not None:
        chosen = [each for each in lessons() if each.number in options.measure or not options.measure]
        before = tomllib.loads(TABLE.read_text(encoding="utf-8"))["measured"]["seconds"]
        keep({**before, **measure(chosen)})
    stale = write_stale(pages(), options.check)
    for path in stale:
        print(f"{path}: {'stale, run python -m tools.teaching' if options.check else 'built'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
