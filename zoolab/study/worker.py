"""What a worker does: one run after the other, each walked, recorded, scored and made a line."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.loop import walk
from zoolab.loop.options import Options
from zoolab.models.faulty import Faulty
from zoolab.policy import Policy
from zoolab.running.jobs import end_with_parent
from zoolab.runs import Trace
from zoolab.study.cases import UNSAID, Case, Run, Scorer, Setup
from zoolab.study.design import Task, Variant
from zoolab.study.journal import line_of
from zoolab.study.pacing import Asker, Asking, BudgetSpent, Terms, maker_of
from zoolab.tools import ToolRegistry

#: Objects that are made before the collector looks for cycles, where many runs are done in a row.
_OBJECTS = 20_000

#: The fields of a setup that are passed on to `walk` by name, as they are.
_OPTIONS = {each.name for each in fields(Options)} - {"policy"}


@dataclass(frozen=True, slots=True)
class Kit:
    """What all runs have in common, and every worker gets once."""

    variants: Mapping[str, Variant]
    models: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    terms: Terms
    #: Tools that several cases share; where a case is sent to another process, it names its own by number.
    shelf: tuple[ToolRegistry, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What came of several runs: their lines by number."""

    lines: dict[int, bytes]
    seconds: float
    #: Why the rest was not begun or not finished; "" where all are done.
    stopped: str


class Worker:
    """Does runs; several threads may share one."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._policy = Policy()
        self._asker = Asker(kit.terms)
        self._make = {name: maker_of(model) for name, model in kit.models.items()}

    def work(self, tasks: Sequence[Task], cases: Mapping[int, Case]) -> Done:
        """Do these runs, as long as the budget lasts. Whatever happens in one, the next is done."""
        shelf = self._kit.shelf
        known = {
            number: replace(case, tools=shelf[case.tools]) if isinstance(case.tools, int) else case
            for number, case in cases.items()
        }
        lines: dict[int, bytes] = {}
        began, stopped = time.perf_counter(), ""
        for task in tasks:
            case = known[task.place.case]
            trace = trace_for(task, case)
            try:
                self._walk(task, case, trace)
            except BudgetSpent as error:
                stopped = error.what
                break
            lines[task.number] = scored_line(task, case, trace, self._kit.scorers)
        return Done(lines, time.perf_counter() - began, stopped)

    def _walk(self, task: Task, case: Case, trace: Trace) -> None:
        """Walk to the end, whatever that is; the trace says so."""
        try:
            setup = self._set_up(task, case)
            options: dict[str, Any] = {name: getattr(setup, name) for name in _OPTIONS}
            options["policy"] = self._policy if setup.policy is None else setup.policy
            faults, model = setup.faults, setup.model
            with Faulty(model, faults, task.seed) if faults else nullcontext(model) as asked:
                Trace.record(walk(setup.prompt, setup.tools, asked, **options), into=trace)
        except BudgetSpent:
            raise
        except ZoolabError as error:
            if trace.error is None:  # nothing was walked
                trace.outcome, trace.error = error.code, str(error)
        except BaseException as error:
            if _is_ctrl_c(error):
                raise
            trace.outcome, trace.error = "failed", f"{type(error).__name__}: {error}"

    def _set_up(self, task: Task, case: Case) -> Setup:
        place = task.place
        model = Asking(self._make[place.model](task.seed, case), place.model, self._asker, place.repeat)
        setup = Setup(case, case.prompt, case.tools, model, task.seed)
        setup.system, setup.messages = case.system, case.messages
        changed: Any = self._kit.variants[place.variant](setup)
        if changed is None:
            return setup
        if not isinstance(changed, Setup):
            what = f"the variant {place.variant} returned {type(changed).__name__}"
            expected = "a Setup, or None if the function changed the Setup that it received"
            raise InvalidInput(what, expected=expected)
        return changed


def _is_ctrl_c(error: BaseException) -> bool:
    """Whether it comes from the user: those reach only the first thread, and no process that works for it."""
    first = threading.current_thread() is threading.main_thread() and not multiprocessing.parent_process()
    return isinstance(error, KeyboardInterrupt) and first


def trace_for(task: Task, case: Case) -> Trace:
    """The trace of a run that is to be done. It says which one; "" is the tool where none is needed."""
    place = task.place
    meta: dict[str, Any] = {"case_id": case.id, "variant": place.variant, "model": place.model}
    meta["seed"], meta["repeat"] = task.seed, place.repeat
    if case.expected_tool is not UNSAID:
        meta["expected_tool"] = case.expected_tool or ""
    return Trace(run_id=task.run_id, meta=meta)


def scored_line(task: Task, case: Case, trace: Trace, scorers: Mapping[str, Scorer]) -> bytes:
    """The line of a run in the journal, with its scores."""
    run = Run(case, trace, task.place.variant, task.place.model, task.place.repeat, task.seed)
    return line_of(trace, _scores(run, scorers) if scorers else None)


def _scores(run: Run, scorers: Mapping[str, Scorer]) -> dict[str, Any]:
    """All scores; a scorer that fails says so, and the others go on."""
    scores: dict[str, Any] = {}
    for name, scorer in scorers.items():
        try:
            found = scorer(run)
            scores |= found if isinstance(found, Mapping) else {name: found}
        except BaseException as error:
            if _is_ctrl_c(error):
                raise
            scores["scorer_error"] = f"{name}: {type(error).__name__}: {error}"
    return {str(key): _plain(value) for key, value in scores.items()}


def _plain(value: Any) -> Any:
    try:
        return to_json_value(value)
    except (NotJSON, RecursionError):
        return None


@lru_cache(maxsize=4)
def _worker_of(kit: bytes) -> Worker:
    import pickle

    end_with_parent()
    return Worker(pickle.loads(kit))


def work_in_process(kit: bytes, work: bytes) -> Done:
    """What is sent to other processes: tasks and their cases; the kit is unpacked there once."""
    import gc
    import pickle

    worker, (tasks, cases) = _worker_of(kit), pickle.loads(work)
    # Walks make many small objects and few cycles: to look for those less often saves a tenth.
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], _OBJECTS), *usual[1:])
    try:
        return worker.work(tasks, cases)
    finally:
        gc.set_threshold(*usual)
