"""`zoolab grade`: the submissions of a class, into a grade book."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from zoolab.errors import InvalidInput
from zoolab.files import write_whole
from zoolab.jsontext import visible
from zoolab.text.wording import count as counted
from zoolab.text.wording import listed
from zoolab_grader.classes import Watch, grade_class
from zoolab_grader.gradebook import ClassGrades, Kept, NotGraded, file_name
from zoolab_grader.labs import load_lab
from zoolab_grader.report import grades_csv, points, write_report
from zoolab_grader.roster import check_roster, fill_roster
from zoolab_study.jobs import dask_executor

_NAMED = 4  # of what failed or was passed over


def grade_folder(options: argparse.Namespace) -> int:
    """Grade, write what was asked for, and say how the class did."""
    if options.csv and not options.csv.resolve().parent.is_dir():
        raise InvalidInput(f"there is no folder for {options.csv}", advice="create the folder first")
    if (options.roster is None) != (options.platform is None):
        raise InvalidInput("--roster and --for belong together", advice="give both")
    if options.roster:
        check_roster(options.roster, options.platform, load_lab(options.lab), options.column)
    try:
        with ExitStack() as stack:
            if not os.environ.get("PYTHONSAFEPATH"):  # workers import nothing from this folder, either
                os.environ["PYTHONSAFEPATH"] = "1"
                stack.callback(os.environ.pop, "PYTHONSAFEPATH")
            executor = stack.enter_context(dask_executor(options.dask) if options.dask else nullcontext())
            shown = stack.enter_context(_bar()) if sys.stdout.isatty() and not options.quiet else _print_line
            grades = grade_class(
                options.lab,
                options.submissions,
                options.report,
                executor=executor,
                jobs=options.jobs,
                seed=_seed(options),
                again=options.again,
                unprotected=options.unprotected,
                watch=None if options.quiet else shown,
            )
    except KeyboardInterrupt:
        kept = "; what was graded is kept: the same command goes on" if options.report else ""
        print(f"zoolab: interrupted{kept}", file=sys.stderr)
        return 130
    page = write_report(grades) if options.report else None
    if options.csv:
        write_whole(options.csv, [grades_csv(grades)])
    for line in _summary(grades, page):
        print(visible(line))
    if options.roster:
        _fill(options, grades)
    if any(row.unprotected for row in grades.rows):
        print(
            "zoolab: graded without protection: trust these grades as you trust the students", file=sys.stderr
        )
    return 1 if grades.failed or any(row.unreadable for row in grades.rows) else 0


def _fill(options: argparse.Namespace, grades: ClassGrades) -> None:
    """Write the copy of the class list, and say what is not in it."""
    lab = file_name(grades.lab.name).rpartition("-")[0]
    roster = options.roster
    made = options.filled or roster.with_name(f"{roster.stem}-{lab}{roster.suffix}")
    if made.resolve() == roster.resolve():
        raise InvalidInput(f"{made} is the class list itself", advice="give another file with --filled")
    filled = fill_roster(roster, options.platform, grades, options.column)
    write_whole(made, [filled.text])
    print(visible(f"{made}: {counted(filled.filled, 'grade')} filled in"))
    for remark in filled.remarks:
        print(visible(f"  {remark}"))


def _seed(options: argparse.Namespace) -> str | None:
    if options.seed_file is not None and options.seed is not None:
        raise InvalidInput("--seed and --seed-file are both given", advice="give one of them")
    if options.seed_file is None:
        return options.seed or os.environ.get("ZOOLAB_SEED")
    try:
        seed: str = options.seed_file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read {options.seed_file}: {error}", expected="a text file") from None
    if not seed:
        raise InvalidInput(f"{options.seed_file} is empty", expected="a seed in it")
    return seed


def _print_line(result: Kept | NotGraded, done: int, total: int) -> None:
    print(visible(f"{done:>{len(str(total))}}/{total}  {_line(result)}"), flush=True)


@contextmanager
def _bar() -> Iterator[Watch]:
    """Move a bar, and print lines only for what went wrong."""
    console = Console(markup=False, emoji=False, highlight=False)
    columns = TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Bars(*columns, console=console) as bars:
        task = bars.add_task("grading", total=None)

        def watch(result: Kept | NotGraded, done: int, total: int) -> None:
            if isinstance(result, NotGraded) or result.unreadable:
                bars.print(visible(_line(result)), soft_wrap=True)
            bars.update(task, completed=done, total=total)

        yield watch


def _line(result: Kept | NotGraded) -> str:
    if isinstance(result, NotGraded):
        line = f"{result.name}  could not be graded: {result.why}"
    else:
        grade = result.grade
        failed = [case.name for case in grade.cases if not case.passed]
        told = grade.nothing or (f"not {listed(failed, _NAMED)}" if failed else "")
        line = f"{result.name}  {points(grade.points)} of {points(grade.out_of)}  {told}".rstrip()
    return line.replace("\n", " ").replace("\t", " ")


def _summary(grades: ClassGrades, page: Path | None) -> Iterator[str]:
    count = len(grades.rows)
    out_of = points(grades.lab.points)
    before = f", {grades.before} of them graded before" if grades.before else ""
    yield f"{grades.lab.name}: {counted(count, 'submission')}{before}"
    yield f"mean {points(grades.mean)}, median {points(grades.median)}, of {out_of} points"
    failed = {name: count - passed for name, passed in grades.passed().items() if passed < count}
    worst = sorted(failed, key=lambda name: -failed[name])[:_NAMED]
    if worst:
        yield "most often failed: " + ", ".join(f"{name} ({failed[name]})" for name in worst)
    if unreadable := [row.name for row in grades.rows if row.unreadable]:
        yield f"could not be read, and have no points: {listed(unreadable, _NAMED)}"
    for why in sorted({why for _, why in grades.skipped}):
        yield f"passed over: {listed([name for name, each in grades.skipped if each == why], _NAMED)}: {why}"
    yield from grades.remarks()
    if page is not None:
        yield f"report: {page}"
