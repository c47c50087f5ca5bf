"""What a worker does: one run after the other, each walked, recorded, scored and made a line."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jobs import end_with_parent
from zoolab.jsontext import encode
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.loop import Walk, walk
from zoolab.models.faulty import Faulty
from zoolab.policy import Policy
from zoolab.runs import Trace
from zoolab.study.cases import UNSAID, Case, Run, Scorer, Setup
from zoolab.study.design import Card, Grid, Place, derive_seed
from zoolab.study.journal import line_of
from zoolab.study.pacing import Asker, Asking, BudgetSpent, Terms, maker_of
from zoolab.study.variants import Variant
from zoolab.tools import ToolRegistry

__all__ = ["Done", "Kit", "Worker"]

#: Objects that are made before the collector looks for cycles, where many runs are done in a row.
_OBJECTS = 20_000


@dataclass(frozen=True, slots=True)
class Kit:
    """What all runs have in common, and every worker gets once."""

    variants: Mapping[str, Variant]
    models: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    terms: Terms
    grid: Grid
    #: Tools that several cases share, by number.
    shelf: tuple[ToolRegistry, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What came of several runs: their lines by number."""

    lines: dict[int, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    #: Why the rest was not begun or not finished; "" where all are done.
    stopped: str = ""


class Worker:
    """Does runs; several threads may share one."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._policy = Policy()
        self._counter = Asker(kit.terms)
        self._make = {name: maker_of(model) for name, model in kit.models.items()}

    def work(self, numbers: Sequence[int], cards: Mapping[int, Card]) -> Done:
        """Do these runs, as long as the budget lasts. Whatever happens in one, the next is done."""
        known = {number: self._equipped(card) for number, card in cards.items()}
        lines: dict[int, bytes] = {}
        began, stopped = time.perf_counter(), ""
        for number in numbers:
            try:
                lines[number] = self._line(number, known)
            except BudgetSpent as error:
                stopped = error.what
                break
        return Done(lines, time.perf_counter() - began, stopped)

    def _equipped(self, card: Card) -> Card:
        """The card with its tools in hand."""
        if card.shelf is None:
            return card
        return Card(replace(card.case, tools=self._kit.shelf[card.shelf]), card.digest)

    def _line(self, number: int, cards: Mapping[int, Card]) -> bytes:
        kit = self._kit
        place = kit.grid.place(number)
        case, digest, _ = cards[place.case]
        seed = derive_seed(kit.grid.seed, case.id, place.variant, place.model, place.repeat)
        trace = Trace(run_id=kit.grid.run_id(number, digest), meta=meta_of(case, place, seed))
        self._walk(case, place, seed, trace)
        return scored_line(case, place, seed, trace, kit.scorers)

    def _walk(self, case: Case, place: Place, seed: int, trace: Trace) -> None:
        """Walk to the end, whatever that is; the trace says so."""
        try:
            setup = self._set_up(case, place, seed)
            if setup.faults:
                with Faulty(setup.model, setup.faults, seed) as model:
                    Trace.record(self._steps(setup, model), into=trace)
            else:
                Trace.record(self._steps(setup, setup.model), into=trace)
        except BudgetSpent:
            raise
        except ZoolabError as error:
            if trace.error is None:  # nothing was walked
                trace.outcome, trace.error = error.code, str(error)
        except (Exception, SystemExit) as error:
            trace.outcome, trace.error = "failed", f"{type(error).__name__}: {error}"

    def _steps(self, setup: Setup, model: Any) -> Walk:
        return walk(
            setup.prompt,
            setup.tools,
            model,
            system=setup.system,
            messages=setup.messages,
            tool_choice=setup.tool_choice,
            policy=self._policy if setup.policy is None else setup.policy,
            repair=setup.repair,
            retrieve=setup.retrieve,
            limits=setup.limits,
            parallel=setup.parallel,
            context=setup.context,
            deny=setup.deny,
            calls=setup.calls,
            envelope=setup.envelope,
            validator=setup.validator,
        )

    def _set_up(self, case: Case, place: Place, seed: int) -> Setup:
        model = self._make[place.model](seed, case)
        model = Asking(model, place.model, self._counter, place.repeat)
        setup = Setup(case, case.prompt, case.tools, model, seed, case.system, case.messages)
        changed: Any = self._kit.variants[place.variant](setup)
        if changed is None:
            return setup
        if not isinstance(changed, Setup):
            what = f"the variant {place.variant} returned {type(changed).__name__}"
            raise InvalidInput(what, expected="a Setup, or nothing where it changed the one it was given")
        return changed


def meta_of(case: Case, place: Place, seed: int) -> dict[str, Any]:
    """What the trace of a run says of it; "" is the tool where none is needed.

    >>> meta_of(Case("a", "Hi", expected_tool=None), Place(0, "plain", "tiny", 0), 7)["expected_tool"]
    ''
    """
    meta: dict[str, Any] = {"case_id": case.id, "variant": place.variant, "model": place.model}
    meta["seed"], meta["repeat"] = seed, place.repeat
    if case.expected_tool is not UNSAID:
        meta["expected_tool"] = case.expected_tool or ""
    return meta


def scored_line(case: Case, place: Place, seed: int, trace: Trace, scorers: Mapping[str, Scorer]) -> bytes:
    """The line of a run in the journal, with its scores.

    >>> place = Place(0, "plain", "tiny", 0)
    >>> scored_line(Case("a", "Hi"), place, 7, Trace(run_id="4c"), {})[:35]
    b'{"event":"run","run":"4c","events":'
    """
    run = Run(case, trace, place.variant, place.model, place.repeat, seed)
    return line_of(trace, _scores(run, scorers) if scorers else None)


def crashed(
    case: Case, place: Place, run_id: str, seed: int, why: str, scorers: Mapping[str, Scorer]
) -> bytes:
    """The line of a run that kills whoever does it.

    >>> place = Place(0, "plain", "tiny", 0)
    >>> b'"outcome":"crashed"' in crashed(Case("a", "Hi"), place, "4c", 7, "it died", {})
    True
    """
    trace = Trace(run_id=run_id, meta=meta_of(case, place, seed))
    trace.outcome, trace.error = "crashed", why
    return scored_line(case, place, seed, trace, scorers)


def _scores(run: Run, scorers: Mapping[str, Scorer]) -> dict[str, Any]:
    """All scores; a scorer that fails says so, and the others go on."""
    scores: dict[str, Any] = {}
    for name, scorer in scorers.items():
        try:
            found = scorer(run)
            scores |= found if isinstance(found, Mapping) else {name: found}
        except Exception as error:
            scores["scorer_error"] = f"{name}: {type(error).__name__}: {error}"
    try:
        encode(scores)
        return scores
    except (TypeError, ValueError, RecursionError):
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


def work_in_process(kit: bytes, numbers: Sequence[int], cards: bytes) -> Done:
    """What is sent to other processes; the kit is unpacked there once.

    >>> import pickle
    >>> from pathlib import Path
    >>> kit = Kit({}, {}, {}, Terms(Path("nowhere")), Grid((), ()))
    >>> work_in_process(pickle.dumps(kit), [], pickle.dumps({})).lines
    {}
    """
    import pickle

    worker, known = _worker_of(kit), pickle.loads(cards)
    with _rare_collections():
        return worker.work(numbers, known)


@contextmanager
def _rare_collections() -> Generator[None]:
    """Walks make many small objects and few cycles: to look for those less often saves a tenth."""
    import gc

    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], _OBJECTS), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
