"""`experiment()`: runs every case with every variant, model and repeat; each run is recorded and scored."""

from __future__ import annotations

import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jobs import Jobs, Lost, Workers, pickled
from zoolab.jsontext import excerpt
from zoolab.loop.about import about
from zoolab.study.cases import Scorer, cases_in
from zoolab.study.design import Card, Plan, derive_seed
from zoolab.study.journal import Journal, Reader, check_begin, heal, make_folder
from zoolab.study.pacing import Budget, Pace, Terms
from zoolab.study.results import Experiment
from zoolab.study.scorers import SCORERS
from zoolab.study.variants import check_described, variants_in
from zoolab.study.worker import Done, Kit, Worker, crashed, work_in_process
from zoolab.tools import ToolRegistry

__all__ = ["experiment", "following"]


def experiment(
    cases: Any,
    variants: Any = None,
    models: Any = None,
    repeats: int = 1,
    seed: int = 0,
    executor: Any = None,
    cache: bool | str | Path = True,
    progress: bool = True,
    *,
    journal: str | Path | None = None,
    scorers: Any = None,
    tools: Any = None,
    pace: Pace | None = None,
    budget: Budget | None = None,
    workers: int | None = None,
    window: int | None = None,
    tries: int = 4,
) -> Experiment:
    """Walk every case with every variant, model and repeat; nothing that goes wrong in one stops the others.

    Runs are written to the journal as they end. Called again with the same journal, it does what is
    missing and nothing twice; a case that was changed is another case, a function that was changed needs
    another name. Each run has a seed of its own, from `seed` and its place: the order in which runs are
    done changes nothing.

    Args:
        cases: `Case` records, dicts, questions, or a data frame with a row a case.
        variants: Functions from `Setup` to `Setup`, or dicts of changes, by name.
        models: Models by name, or functions that make one for each run, which may take `seed` and
            `case`. A script begins anew in each run.
        repeats: How often each is done.
        seed: Another seed is another experiment.
        executor: "threads" (the default), "processes", any `concurrent.futures` executor, or a function
            that makes one. For dask: `Client.get_executor(pure=False, retries=3)`.
        cache: Whether replies of real models are kept, beside the journal; or the file to keep them in.
        progress: Whether to show how far it is.
        journal: A JSONL file; by default a temporary one, as long as the result lives.
        scorers: Functions from a `Run` to a score, or scores by name, in a list or by name; by default all of
            `zoolab.study.scorers`.
        tools: The tools of cases that bring none.
        pace: How fast models are asked, and how often again.
        budget: How much may be asked; once it is spent the rest stays undone, see `Experiment.unfinished`.
            Workers on other machines keep to pace, budget and cache if the journal is on a disk of all.
        workers: How many threads or processes.
        window: How many batches of runs are handed out at the same time, by default two a worker.
        tries: How often a run may end the process that does it before it counts as crashed.

    Raises:
        InvalidInput: Something that was given cannot be meant.

    >>> from zoolab import Scripted, tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> cases = [{"id": "sum", "prompt": "What is 42 + 58?", "tools": [add], "expected_answer": "100"}]
    >>> variants = {"plain": {}, "without": {"deny": ["add"]}}
    >>> script = Scripted([[("add", {"a": 42, "b": 58})], lambda r: r.messages[-1]["content"]])
    >>> done = experiment(cases, variants, {"script": script}, progress=False)
    >>> done.summary[["variant", "outcome", "success"]].values.tolist()
    [['plain', 'answer', True], ['without', 'answer', False]]
    """
    known, changes = cases_in(cases, tools), variants_in(variants)
    check_described(changes, {id(case.tools): case.tools for case in known}.values())
    plan = Plan(known, changes, _models_in(models), repeats, seed)
    scoring = _scorers_in(scorers)
    home, path = (None, Path(journal)) if journal is not None else _temporary()
    with Journal(path) as book, _shared_folder(path) as folder:
        places = _places(plan, book)
        terms = Terms(folder, pace or Pace(), budget or Budget(), _cache_file(cache, path), seed)
        stopped = ""
        with Workers(executor, workers, preload=["zoolab.study.worker"]) as hired:
            shelf = () if hired.shares_memory else _shelf(plan)
            kit = Kit(plan.variants, plan.models, scoring, terms, plan.grid, shelf)
            begin = _beginning(hired, kit, _Cards(plan, shelf))
            jobs = Jobs(hired, begin, tries=tries, window=window, seconds=_seconds_a_run)
            todo = (number for number, place in enumerate(places) if place < 0)
            with following(len(plan), _count(places), progress) as advance:
                for done in jobs.run(todo, places.count(-1)):
                    if isinstance(done, Done) and done.stopped:
                        stopped = stopped or done.stopped
                        jobs.stop()
                    advance(_write(book, plan, scoring, places, done))
    return Experiment(Reader(path, home), places, plan, stopped)


def _beginning(workers: Workers, kit: Kit, cards: _Cards) -> Callable[[Sequence[int]], Future[Done]]:
    """How a batch of runs begins: threads share the kit, and to processes it is sent."""
    if workers.shares_memory:
        worker = Worker(kit)
        return lambda numbers: workers.submit(worker.work, numbers, cards(numbers))
    packed = pickled(kit, "what the runs have in common")
    return lambda numbers: workers.submit(
        work_in_process, packed, numbers, pickled(cards(numbers), "the cases")
    )


def _seconds_a_run(done: Done) -> float:
    return done.seconds / max(1, len(done.lines))


@contextmanager
def _shared_folder(journal: Path) -> Generator[Path]:
    """Where workers keep their ledger while this holds; on a cluster it has to be on a disk of all."""
    folder = journal.with_name(f".{journal.name}.shared")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _temporary() -> tuple[object, Path]:
    home = tempfile.TemporaryDirectory(prefix="zoolab-")
    return home, Path(home.name) / "runs.jsonl"


def _write(
    book: Journal, plan: Plan, scorers: Mapping[str, Scorer], places: array[int], done: Done | Lost[int]
) -> int:
    """Put down what is done, and where; returns how many runs that is."""
    if isinstance(done, Lost):
        places[done.item] = book.append([_crashed(plan, scorers, done)])[0]
        return 1
    for number, place in zip(done.lines, book.append([*done.lines.values()]), strict=True):
        places[number] = place
    return len(done.lines)


def _crashed(plan: Plan, scorers: Mapping[str, Scorer], lost: Lost[int]) -> bytes:
    place = plan.grid.place(lost.item)
    case = plan.cases[place.case]
    seed = derive_seed(plan.seed, case.id, place.variant, place.model, place.repeat)
    why = str(lost.error).splitlines()[0] if str(lost.error) else type(lost.error).__name__
    return crashed(case, place, plan.run_id(lost.item), seed, f"{why} ({lost.times} times)", scorers)


class _Cards:
    """The cases of some runs as they are handed out; tools on the shelf do not travel with them."""

    def __init__(self, plan: Plan, shelf: Sequence[ToolRegistry]) -> None:
        self._plan = plan
        self._stands = {id(tools): at for at, tools in enumerate(shelf)}

    def __call__(self, numbers: Sequence[int]) -> dict[int, Card]:
        a_case = len(self._plan.grid)
        return {case: self._card(case) for case in sorted({number // a_case for number in numbers})}

    def _card(self, number: int) -> Card:
        case, digest = self._plan.cases[number], self._plan.digest(number)
        at = self._stands.get(id(case.tools))
        return Card(case if at is None else replace(case, tools=()), digest, at)


def _shelf(plan: Plan) -> tuple[ToolRegistry, ...]:
    """The tools that several cases share."""
    uses = Counter(id(case.tools) for case in plan.cases)
    shared = {id(case.tools): case.tools for case in plan.cases if uses[id(case.tools)] > 1}
    return tuple(shared.values())


def _places(plan: Plan, book: Journal) -> array[int]:
    """Where the line of each run begins; -1 where it is not done yet."""
    known = dict(book.runs())
    if not known:
        return array("q", [-1]) * len(plan)
    return array("q", (known.get(plan.run_id(number), -1) for number in range(len(plan))))


def _count(places: array[int]) -> int:
    return len(places) - places.count(-1)


def _cache_file(cache: bool | str | Path, journal: Path) -> Path | None:
    if not cache:
        return None
    path = journal.with_name(f"{journal.stem}.cache.jsonl") if cache is True else Path(cache)
    make_folder(path.parent)
    if path.exists():
        with path.open("r+b") as file:
            check_begin(file, b'{"key":"', path)
            heal(file)
    return path


def _models_in(given: Any) -> Mapping[str, Any]:
    models = given if isinstance(given, Mapping) else {} if given is None else {_name_of(given): given}
    wrong = next((name for name, model in models.items() if not callable(model)), None)
    if not models or wrong is not None:
        what = "there are no models" if wrong is None else f"the model {excerpt(wrong)} cannot be called"
        raise InvalidInput(what, expected="a dict of models, or of functions that make them")
    return {str(name): model for name, model in models.items()}


def _name_of(model: Any) -> str:
    return model if isinstance(model, str) else about(model).name


def _scorers_in(given: Any) -> Mapping[str, Scorer]:
    if given is None:
        return dict(SCORERS)
    named = given if isinstance(given, Mapping) else {_scorer_name(s): s for s in _listed(given)}
    wrong = next((scorer for scorer in named.values() if not callable(scorer)), None)
    if wrong is not None:
        raise InvalidInput(f"a scorer is {excerpt(wrong)}", expected=f"a function, or {', '.join(SCORERS)}")
    return {str(name): scorer for name, scorer in named.items()}


def _listed(given: Any) -> list[Any]:
    members = [given] if callable(given) or isinstance(given, str) else list(given)
    return [SCORERS.get(member, member) if isinstance(member, str) else member for member in members]


def _scorer_name(scorer: Any) -> str:
    return str(getattr(scorer, "__name__", None) or type(scorer).__name__)


@contextmanager
def following(total: int, done: int, shown: bool) -> Generator[Callable[[int], None]]:
    """Show a bar while this holds; what it gives is told how many more runs are done.

    >>> with following(2, 0, shown=False) as advance:
    ...     advance(2)
    """
    if not shown:
        yield lambda _runs: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, refresh_per_second=4, disable=not _is_watched(console)) as bar:
        task = bar.add_task("runs", total=total, completed=done)
        yield lambda runs: bar.advance(task, runs)


def _is_watched(console: object) -> bool:
    return bool(getattr(console, "is_terminal", False) or getattr(console, "is_jupyter", False))
