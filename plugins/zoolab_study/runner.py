"""`experiment()`: runs every case with every variant, model and repeat; each run is recorded and scored.

A worker, on a thread or a process, does one run after the other: walked, recorded, scored and made a line.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from zoolab.errors import InvalidInput, ModelError, ZoolabError
from zoolab.files import heal, make_folder
from zoolab.jsontext import excerpt
from zoolab.loop import Tools, walk
from zoolab.models.about import about
from zoolab.models.endpoint import ApiModel
from zoolab.options import Options
from zoolab.policy import Policy
from zoolab.records import Model
from zoolab.running.interrupts import Hold
from zoolab.runs import Trace
from zoolab.tools import Tool
from zoolab_connect.faulty import Faulty
from zoolab_study.cases import UNSAID, Case, Run, Scorer, Setup, cases_in, json_form
from zoolab_study.design import Plan, Task, Variant, check_described, variants_in
from zoolab_study.jobs import (
    Jobs,
    Lost,
    Workers,
    dask_executor,
    end_with_parent,
    is_address,
    pickled,
)
from zoolab_study.journal import Journal, JournalReader, run_line
from zoolab_study.pacing import Asker, Asking, Budget, BudgetSpent, Pace, Terms, maker_of
from zoolab_study.reachable import check_reachable
from zoolab_study.recorded import RecordedTools
from zoolab_study.results import Experiment
from zoolab_study.scorers import SCORERS

#: Runs that an interrupt abandoned and that are named.
_NAMED = 5
#: How often a run may end the process that does it before it counts as crashed.
_TRIES = 4

#: The fields of a setup that are passed on to `walk` by name, as they are.
_OPTIONS = {each.name for each in fields(Options)} - {"policy"}

if TYPE_CHECKING:
    import pandas as pd

#: What is asked: cases, as records, dicts or questions, or the rows of a data frame.
Cases: TypeAlias = "Iterable[Case | Mapping[str, Any] | str] | pd.DataFrame"
#: Who is asked: a model, or a function that makes one for each run; or several by name.
Models: TypeAlias = "Model | Callable[..., Model] | Mapping[Any, Model | Callable[..., Model]]"


def experiment(
    cases: Cases,
    variants: Mapping[Any, Variant | Mapping[str, Any]] | None = None,
    models: Models | None = None,
    repeats: int = 1,
    seed: int = 0,
    executor: Any = None,
    cache: bool | str | Path = True,
    progress: bool = True,
    *,
    journal: str | Path | None = None,
    scorers: Scorer | str | Iterable[Scorer | str] | Mapping[Any, Scorer] | None = None,
    tools: Tools | Tool | Callable[..., Any] | Literal["recorded"] | None = None,
    pace: Pace | None = None,
    budget: Budget | None = None,
    workers: int | None = None,
) -> Experiment:
    """Walk every case with every variant, model and repeat; nothing that goes wrong in one stops the others.

    Runs are written to the journal as they end. Called again with the same journal, it does what is
    missing, asks for runs again that broke off, and does nothing else twice. A case that was changed is
    another case; a function that was changed needs another name. Each run has a seed of its own, from `seed`
    and its place: the order in which runs are done changes nothing.

    Args:
        cases: `Case` records, dicts, questions, or a data frame with a row a case.
        variants: Functions from `Setup` to `Setup`, or dicts of changes, by name.
        models: Models by name, or functions that make one for each run, which may take `seed` and
            `case`. A script begins anew in each run.
        repeats: How often each is done.
        seed: Another seed is another experiment.
        executor: "threads" (the default), "processes", any `concurrent.futures` executor, or a function
            that makes one; or the address of a dask scheduler, such as "tcp://10.0.0.1:8786".
        cache: Whether replies of real models are kept, beside the journal; or the file to keep them in.
        progress: Whether to show how far it is, and to say when it waits for an endpoint.
        journal: A JSONL file; by default a temporary one, as long as the result lives.
        scorers: Functions from a `Run` to a score, or scores by name, in a list or by name; by default all of
            `zoolab_study.scorers`.
        tools: The tools of cases that bring none; or "recorded": each call of a case runs once, and later
            runs get what it gave, from a file beside the journal. With threads alone.
        pace: How fast models are asked, and how often again.
        budget: How much may be asked; once it is spent the rest stays undone, see `Experiment.unfinished`.
            Workers on other machines keep to pace, budget and cache if the journal is on a disk of all.
        workers: How many threads or processes. A run that ends four of them counts as crashed.

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
    records = isinstance(tools, str)
    if records and (tools != "recorded" or (executor not in (None, "threads"))):
        what = f"tools is {excerpt(tools)}" if tools != "recorded" else "recorded tools need threads"
        raise InvalidInput(what, expected='tools of cases that bring none, or "recorded" with threads')
    known = cases_in(cases, None if records else tools)
    changes = variants_in(variants)
    check_described(changes, {id(case.tools): case.tools for case in known}.values())
    plan = Plan(known, changes, models_in(models), repeats, seed)
    scoring = _scorers_in(scorers)
    home = None
    if journal is None:
        home = tempfile.TemporaryDirectory(prefix="zoolab-")
        journal = Path(home.name, "runs.jsonl")
    path = Path(journal)
    with Hold(), Journal(path) as book, _shared_folder(path) as folder:
        known_runs = dict(JournalReader(path).ended())
        #: Where the line of each run begins; -1 where it is not done yet.
        places = array("q", [-1]) * len(plan)
        if known_runs:
            places = array("q", (known_runs.get(plan.run_id(number), -1) for number in range(len(plan))))
        cached = _cache_file(cache, path)
        terms = Terms(folder, pace or Pace(), budget or Budget(), cached, seed, tells=progress)
        stopped = ""
        hiring = dask_executor(executor) if is_address(executor) else nullcontext(executor)
        with hiring as hands, Workers(hands, workers, preload=["zoolab_study.runner"]) as hired:
            if places.count(-1):
                check_models(plan.models, terms.cache)
            told = RecordedTools(path.with_name(f"{path.stem}.tools.jsonl")) if records else None
            begin = _beginning(hired, plan, scoring, terms, told)
            jobs = Jobs(
                hired,
                begin,
                tries=_TRIES,
                seconds=lambda done: done.seconds / max(1, len(done.lines)),
            )
            todo = (number for number, place in enumerate(places) if place < 0)
            missing = places.count(-1)
            following_runs = following(len(plan), len(plan) - missing, progress)
            with following_runs as advance, _saying_what_is_left(jobs, plan):
                for done in jobs.run(todo, missing):
                    if isinstance(done, Lost):
                        lines = {done.item: _crashed(plan, scoring, done)}
                    else:
                        lines = done.lines
                        if done.stopped:
                            stopped = stopped or done.stopped
                            jobs.stop()
                    for number, place in zip(lines, book.append([*lines.values()]), strict=True):
                        places[number] = place
                    advance(len(lines))
    return Experiment(JournalReader(path, home), places, plan, stopped)


def check_models(models: Mapping[str, Any], cache: Path | None) -> None:
    """Raise `ModelError` before anything runs if the endpoint of a model cannot be reached.

    An experiment whose replies are in the cache needs no endpoint.
    """
    if cache is not None and cache.is_file() and cache.stat().st_size:
        return
    for name, model in models.items():
        if not isinstance(model, ApiModel):
            continue
        try:
            check_reachable(str(getattr(about(model).client, "base_url", "")))
        except ModelError as error:
            raise ModelError(f"the model {excerpt(name)}: {error.what}", advice=error.advice) from None


def _beginning(
    workers: Workers,
    plan: Plan,
    scorers: Mapping[str, Scorer],
    terms: Terms,
    tools: RecordedTools | None,
) -> Callable[[Sequence[int]], Future[DoneRuns]]:
    """Return how a batch of runs begins: threads share all there is, to processes it is sent."""

    def handed_out(numbers: Sequence[int]) -> tuple[list[Task], dict[int, Case]]:
        tasks = [plan.task(number) for number in numbers]
        cases = {case: plan.cases[case] for case in {task.place.case for task in tasks}}
        return tasks, cases

    kit = Kit(plan.variants, plan.models, scorers, terms)
    if workers.shares_memory:
        worker = Worker(kit, tools)
        return lambda numbers: workers.submit(worker.work, *handed_out(numbers))
    packed = pickled(kit, "what the runs have in common")
    return lambda numbers: workers.submit(work_in_process, packed, pickled(handed_out(numbers), "the cases"))


@contextmanager
def _saying_what_is_left(jobs: Jobs[int, DoneRuns], plan: Plan) -> Generator[None]:
    """Add to an interrupt which runs it left unfinished."""
    try:
        yield
    except KeyboardInterrupt as error:
        places = [plan.task(number).place for number in jobs.abandoned[:_NAMED]]
        named = [f"{plan.cases[each.case].id} ({each.variant}, {each.model})" for each in places]
        more = [f"{len(jobs.abandoned) - _NAMED:,} more"] if jobs.abandoned[_NAMED:] else []
        error.add_note(
            f"abandoned: {', '.join(named + more) or 'no run'}; the same journal goes on from here"
        )
        raise


def _crashed(plan: Plan, scorers: Mapping[str, Scorer], lost: Lost[int]) -> bytes:
    """Return the line of a run that kills whoever does it."""
    task = plan.task(lost.item)
    case = plan.cases[task.place.case]
    why = str(lost.error).splitlines()[0] if str(lost.error) else type(lost.error).__name__
    trace = trace_for(task, case)
    trace.outcome = "crashed"
    trace.error = f"{why} ({lost.times} times)"
    return scored_line(task, case, trace, scorers)


@contextmanager
def _shared_folder(journal: Path) -> Generator[Path]:
    """Give the folder where workers keep their ledger while this holds; on a cluster it has to be on a disk
    of all.
    """
    folder = journal.with_name(f".{journal.name}.shared")
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cache_file(cache: bool | str | Path, journal: Path) -> Path | None:
    if not cache:
        return None
    path = journal.with_name(f"{journal.stem}.cache.jsonl") if cache is True else Path(cache)
    make_folder(path.parent)
    if path.exists():
        with path.open("r+b") as file:
            if not file.read(8).startswith(b'{"key":"'[: path.stat().st_size]):
                raise InvalidInput(f"{path} is a file of another kind", advice="choose another file")
            heal(file)
    return path


def models_in(given: Models | None) -> Mapping[str, Any]:
    """Return models, or what makes them, by name; raises `InvalidInput` if there are none."""
    models = {} if given is None else given
    if not isinstance(models, Mapping):
        models = {models if isinstance(models, str) else about(models).name: models}
    wrong = next((name for name, model in models.items() if not callable(model)), None)
    if not models or wrong is not None:
        what = "there are no models" if wrong is None else f"the model {excerpt(wrong)} cannot be called"
        raise InvalidInput(what, expected="a dict of models, or of functions that make them")
    return {str(name): model for name, model in models.items()}


def _scorers_in(given: Any) -> Mapping[str, Scorer]:
    if given is None:
        return dict(SCORERS)
    named = given
    if not isinstance(given, Mapping):
        listed = [given] if callable(given) or isinstance(given, str) else list(given)
        scorers = [SCORERS.get(each, each) if isinstance(each, str) else each for each in listed]
        named = {getattr(each, "__name__", None) or type(each).__name__: each for each in scorers}
    wrong = next((scorer for scorer in named.values() if not callable(scorer)), None)
    if wrong is not None:
        raise InvalidInput(f"a scorer is {excerpt(wrong)}", expected=f"a function, or {', '.join(SCORERS)}")
    return {str(name): scorer for name, scorer in named.items()}


@contextmanager
def following(total: int, done: int, shown: bool) -> Generator[Callable[[int], None]]:
    """Show a bar while this holds; what it gives is told how many more runs are done."""
    if not shown:
        yield lambda _runs: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    watched = console.is_terminal or console.is_jupyter
    with Progress(*columns, console=console, refresh_per_second=4, disable=not watched) as bar:
        task = bar.add_task("runs", total=total, completed=done)
        yield lambda runs: bar.advance(task, runs)


@dataclass(frozen=True, slots=True)
class Kit:
    """What all runs have in common, and every worker gets once."""

    variants: Mapping[str, Variant]
    models: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    terms: Terms


@dataclass(frozen=True, slots=True)
class DoneRuns:
    """What came of several runs: their lines by number."""

    lines: dict[int, bytes]
    seconds: float
    #: Why the rest was not begun or not finished; "" where all are done.
    stopped: str


class Worker:
    """Does runs; several threads may share one."""

    def __init__(self, kit: Kit, tools: RecordedTools | None = None) -> None:
        self._kit = kit
        self._tools = tools
        self._policy = Policy()
        self._asker = Asker(kit.terms)
        self._make = {name: maker_of(model) for name, model in kit.models.items()}

    def work(self, tasks: Sequence[Task], cases: Mapping[int, Case]) -> DoneRuns:
        """Do these runs, as long as the budget lasts. Whatever happens in one, the next is done."""
        lines: dict[int, bytes] = {}
        began = time.perf_counter()
        stopped = ""
        for task in tasks:
            case = cases[task.place.case]
            trace = trace_for(task, case)
            try:
                self._walk(task, case, trace)
            except BudgetSpent as error:
                stopped = error.what
                break
            lines[task.number] = scored_line(task, case, trace, self._kit.scorers)
        return DoneRuns(lines, time.perf_counter() - began, stopped)

    def _walk(self, task: Task, case: Case, trace: Trace) -> None:
        """Walk to the end, whatever that is; the trace says so."""
        try:
            setup = self._set_up(task, case)
            options: dict[str, Any] = {name: getattr(setup, name) for name in _OPTIONS}
            options["policy"] = self._policy if setup.policy is None else setup.policy
            faults = setup.faults
            model = setup.model
            taped = nullcontext(None) if self._tools is None else self._tools.of(case.id)
            with Faulty(model, faults, task.seed) if faults else nullcontext(model) as asked, taped as tape:
                options["tape"] = tape or options["tape"]
                Trace.record(walk(setup.prompt, setup.tools, asked, **options), into=trace)
        except BudgetSpent:
            raise
        except ZoolabError as error:
            if trace.error is None:  # nothing was walked
                trace.outcome = error.code
                trace.error = str(error)
        except BaseException as error:
            if _is_ctrl_c(error):
                raise
            trace.outcome = "failed"
            trace.error = f"{type(error).__name__}: {error}"

    def _set_up(self, task: Task, case: Case) -> Setup:
        place = task.place
        model = Asking(self._make[place.model](task.seed, case), place.model, self._asker, place.repeat)
        setup = Setup(case, case.prompt, case.tools, model, task.seed)
        setup.system = case.system
        setup.messages = case.messages
        changed: Any = self._kit.variants[place.variant](setup)
        if changed is None:
            return setup
        if not isinstance(changed, Setup):
            what = f"the variant {place.variant} returned {type(changed).__name__}"
            expected = "a Setup, or None if the function changed the Setup that it received"
            raise InvalidInput(what, expected=expected)
        return changed


def _is_ctrl_c(error: BaseException) -> bool:
    """Return whether it comes from the user: those reach only the first thread, and no process that works for
    it.
    """
    first = threading.current_thread() is threading.main_thread() and not multiprocessing.parent_process()
    return isinstance(error, KeyboardInterrupt) and first


def trace_for(task: Task, case: Case) -> Trace:
    """Return the trace of a run that is to be done. It says which one; "" is the tool where none is
    needed.
    """
    place = task.place
    meta: dict[str, Any] = {"case_id": case.id, "variant": place.variant, "model": place.model}
    meta["seed"], meta["repeat"] = task.seed, place.repeat
    if case.expected_tool is not UNSAID:
        meta["expected_tool"] = case.expected_tool or ""
    return Trace(run_id=task.run_id, meta=meta)


def scored_line(task: Task, case: Case, trace: Trace, scorers: Mapping[str, Scorer]) -> bytes:
    """Return the line of a run in the journal, with its scores."""
    run = Run(case, trace, task.place.variant, task.place.model, task.place.repeat, task.seed)
    return run_line(trace, _scores(run, scorers) if scorers else None)


def _scores(run: Run, scorers: Mapping[str, Scorer]) -> dict[str, Any]:
    """Return all scores; a scorer that fails says so, and the others go on."""
    scores: dict[str, Any] = {}
    for name, scorer in scorers.items():
        try:
            found = scorer(run)
            scores |= found if isinstance(found, Mapping) else {name: found}
        except BaseException as error:
            if _is_ctrl_c(error):
                raise
            scores["scorer_error"] = f"{name}: {type(error).__name__}: {error}"
    return {str(key): json_form(lambda _: None, value) for key, value in scores.items()}


@lru_cache(maxsize=4)
def _worker_of(kit: bytes) -> Worker:
    import pickle

    end_with_parent()
    return Worker(pickle.loads(kit))


def work_in_process(kit: bytes, work: bytes) -> DoneRuns:
    """Do in another process what is sent there: tasks and their cases; the kit is unpacked there once."""
    import pickle

    tasks, cases = pickle.loads(work)
    return _worker_of(kit).work(tasks, cases)
