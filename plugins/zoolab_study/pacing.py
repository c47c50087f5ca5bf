"""How an experiment asks its models: rate limits, budgets, retries and a cache."""

from __future__ import annotations

import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import astuple, dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput, InvalidTrace, ModelError
from zoolab.files import append_text, locked
from zoolab.jsontext import digest, encode, visible
from zoolab.jsontext.values import encode_any
from zoolab.models.about import Wrapper, about
from zoolab.models.request_keys import RequestKeys
from zoolab.models.scripted import Scripted
from zoolab.records import Reply, Request
from zoolab.secrets import scrub_json
from zoolab.tokens import Tokens, tokens_in
from zoolab.trace.codec import decode_plain, encode_plain
from zoolab_study.cases import Case

_KEY = re.compile(rb'\{"key":"([^"]*)"')
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
#: Whoever asks for more patience than this is not waited for.
_LONGEST_RETRY_AFTER = 600.0
#: Seconds from which on a wait is told.
_TOLD_WAIT = 10.0
_AGAIN = {408, 409, 425, 429}
#: Errors of connections, by the library that defines them: none of them has to be installed.
_BROKEN_LINES = (
    ("openai", "APIConnectionError"),
    ("anthropic", "APIConnectionError"),
    ("httpx", "TransportError"),
    ("httpx", "StreamError"),
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model may be asked: requests and tokens a minute, spread evenly; and how often again.

    A request that was refused (429, 5xx), or that nobody answered, is made again up to `retries` times:
    after what `Retry-After` says, or after a random part of 0.5 s, 1 s, 2 s, ... up to a minute.
    """

    requests: float | None = None
    tokens: float | None = None
    retries: int = 5

    def __post_init__(self) -> None:
        _check_above_0(self)
        if type(self.retries) is not int or self.retries < 0:
            raise InvalidInput(f"Pace(retries={self.retries})", expected="0 or more")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be asked before the experiment stops: requests, repeated ones too, and tokens.

    What comes from the cache costs nothing. Runs that were under way are not recorded: go on later with
    the same journal. Tokens are known once a reply is there, so the last replies may go over.
    """

    requests: float | None = None
    tokens: float | None = None

    def __post_init__(self) -> None:
        _check_above_0(self)


def _check_above_0(record: Pace | Budget) -> None:
    for name in ("requests", "tokens"):
        value = getattr(record, name)
        if value is not None and not value > 0:
            raise InvalidInput(f"{type(record).__name__}({name}={value})", expected="a number above 0")


class BudgetSpent(ModelError):
    """The budget of an experiment does not allow another request."""


@dataclass(slots=True)
class Spent:
    """What was asked so far, and from when on the next request, and the next token, is in time."""

    requests: int = 0
    tokens: float = 0
    next_request: float = 0.0
    next_token: float = 0.0

    def reserve(self, now: float, tokens: float, pace: Pace, budget: Budget) -> float:
        """Count a request of about so many tokens; returns when it may be made.

        Raises `BudgetSpent` if it may not.
        """
        over = ""
        if budget.requests is not None and self.requests + 1 > budget.requests:
            over = f"{budget.requests:,.0f} request{'s' * (budget.requests != 1)}"
        elif budget.tokens is not None and self.tokens + tokens > budget.tokens:
            over = f"{budget.tokens:,.0f} tokens"
        if over:
            raise BudgetSpent(
                f"the budget of {over} is spent", advice="resume with the same journal and a larger budget"
            )
        at = max(now, self.next_request, self.next_token)
        self.requests += 1
        self.next_request = at + 60 / pace.requests if pace.requests else 0.0
        self.next_token = at
        self.settle(tokens, pace)
        return at

    def settle(self, tokens: float, pace: Pace) -> None:
        """Count so many tokens more, or fewer."""
        self.tokens += tokens
        self.next_token += tokens * 60 / pace.tokens if pace.tokens else 0.0


class Ledger:
    """What all workers have spent together, in a file that one of them holds at a time."""

    def __init__(self, path: Path, pace: Pace, budget: Budget) -> None:
        self._path = path
        self._pace = pace
        self._budget = budget
        #: Whether there is anything to keep to.
        self.counts = any((pace.requests, pace.tokens, budget.requests, budget.tokens))

    def reserve(self, tokens: float) -> None:
        """Wait until a request of about so many tokens may be made; raises `BudgetSpent` if it may not."""
        with self._changing() as spent:
            at = spent.reserve(time.time(), tokens, self._pace, self._budget)
        time.sleep(max(0.0, at - time.time()))

    def settle(self, tokens: float) -> None:
        """Say how many tokens more, or fewer, it took."""
        if tokens:
            with self._changing() as spent:
                spent.settle(tokens, self._pace)

    @contextmanager
    def _changing(self) -> Generator[Spent]:
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            # Half a ledger would be an error, and an empty one a new budget: a kill leaves the one before.
            spent = Spent(*json.loads(self._path.read_text("utf-8"))) if self._path.exists() else Spent()
            yield spent
            draft = self._path.with_suffix(".draft")
            draft.write_text(json.dumps(astuple(spent)), encoding="utf-8")
            draft.replace(self._path)


def patience(error: Exception, attempt: int, jitter: Callable[[float, float], float]) -> float | None:
    """Return seconds to wait before asking again; None where that would not help."""
    cause = error.__cause__ or error.__context__ or error
    if not _passes(cause):
        return None
    wait = jitter(0.0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt))
    told = _asked_for(cause)
    if told is None:
        return wait
    return None if told > _LONGEST_RETRY_AFTER else told + min(wait, 1.0)


def _asked_for(cause: BaseException) -> float | None:
    """Return seconds that the endpoint asks to be left alone by its refusal; None if it does not say so."""
    response = getattr(cause, "response", None)
    return retry_after(getattr(response, "headers", None) or {}, time.time())


def _asking_too_much(error: Exception) -> ModelError | None:
    """Return the error with the wait that the endpoint asks for; None if that is not too long."""
    told = _asked_for(error.__cause__ or error.__context__ or error)
    if told is None or told <= _LONGEST_RETRY_AFTER or not isinstance(error, ModelError):
        return None
    longer = f"{error.what}, and asks to wait {told:,.0f} s"
    limit = f"at most {_LONGEST_RETRY_AFTER:,.0f} s"
    return ModelError(longer, expected=limit, advice=error.advice)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that an endpoint asks to be left alone, None if it does not say so.

    It says so in seconds or as a date; `now` is the time.

    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 58.0)
    2.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            told = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        if 0 <= told < float("inf"):
            return told
    try:
        until = parsedate_to_datetime(headers.get("retry-after") or "")
        at = (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return max(0.0, at - now)


def _passes(cause: BaseException) -> bool:
    """Return whether the like of this goes away by itself: refusals for now, errors of servers, broken
    lines.
    """
    status = getattr(cause, "status_code", None)
    if isinstance(status, int):
        return (status in _AGAIN or status >= 500) and getattr(cause, "code", "") != "insufficient_quota"
    if isinstance(cause, TimeoutError | ConnectionError):
        return True
    return isinstance(cause, tuple(_broken_lines()))


def _broken_lines() -> Iterator[type[BaseException]]:
    """Find the errors of connections in those client libraries that are imported."""
    for library, name in _BROKEN_LINES:
        kind = getattr(sys.modules.get(library), name, None)
        if kind is not None:
            yield kind


class ReplyCache:
    """Replies by key, in a JSONL file that several workers share; each sees what the others add.

    A reply that two threads of a process want at once is asked for once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, int] = {}
        self._read = 0
        self._lock = threading.Lock()
        self._asked: dict[str, threading.Lock] = {}

    def get(self, key: str) -> Reply | None:
        """Return the reply, if somebody has it already."""
        with self._lock:
            if key not in self._places:
                self._look()
            place = self._places.get(key)
        if place is None:
            return None
        with self._path.open("rb") as file:
            file.seek(place)
            try:
                return decode_plain(Reply, json.loads(file.readline())["reply"])
            except (ValueError, LookupError, TypeError, InvalidTrace):
                return None

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply, with secrets taken out of what was sent and of the endpoint's own answer."""
        kept = encode_plain(reply)
        kept |= {name: scrub_json(kept[name]) for name in ("sent", "raw", "sent_instead") if kept.get(name)}
        line = encode_any({"key": key, "reply": kept}) + "\n"
        append_text(self._path, line)

    @contextmanager
    def alone(self, key: str) -> Generator[None]:
        """Keep other threads of this process from asking the same at the same time."""
        with self._lock:
            lock = self._asked.setdefault(key, threading.Lock())
        with lock:
            yield
        with self._lock:
            self._asked.pop(key, None)

    def _look(self) -> None:
        """Read on, where others have written."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                if found := _KEY.match(line):
                    self._places.setdefault(found[1].decode("ascii", "replace"), self._read)
                self._read += len(line)


def key_of(request: Request, model: Any, name: str, draw: object) -> str:
    """Return what is asked, and of whom; `draw` tells answers apart that were asked for more than once."""
    said = about(model)
    sent = said.body(request) if said.body else request.body(**said.settings)
    who = [type(model).__name__, name, said.model, str(getattr(said.client, "base_url", ""))]
    return digest(encode([*map(str, who), RequestKeys().of(sent), str(draw)]))


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms models are asked, and the folder where workers share what they know."""

    folder: Path
    pace: Pace = field(default_factory=Pace)
    budget: Budget = field(default_factory=Budget)
    cache: Path | None = None
    seed: int = 0
    #: Whether long waits are told on standard error.
    tells: bool = False


class Asker:
    """Asks models on the terms of an experiment: what the walks of a worker share."""

    def __init__(self, terms: Terms, sleep: Callable[[float], None] = time.sleep) -> None:
        self.terms = terms
        self._sleep = sleep
        self._told_until = 0.0
        self._ledger = Ledger(terms.folder / "ledger", terms.pace, terms.budget)
        reachable = terms.cache is not None and terms.cache.parent.is_dir()
        self.cache = ReplyCache(terms.cache) if terms.cache is not None and reachable else None

    def ask(self, model: Callable[[Request], Reply], request: Request) -> Reply:
        """Ask, and ask again after a pause as long as that may help."""
        attempt = 0
        while True:
            try:
                return self._counted(model, request) if self._ledger.counts else model(request)
            except BudgetSpent:
                raise
            except (ModelError, TimeoutError, ConnectionError) as error:
                again = attempt < self.terms.pace.retries
                wait = patience(error, attempt, random.uniform) if again else None
                if wait is None:
                    refused = _asking_too_much(error)
                    if refused is None:
                        raise
                    raise refused from error.__cause__
                self._tell(error, wait)
            attempt += 1
            self._sleep(wait)

    def _tell(self, error: Exception, wait: float) -> None:
        """Say on standard error that a long wait begins, once for all that wait at the same time."""
        now = time.monotonic()
        if self.terms.tells and wait >= _TOLD_WAIT and now >= self._told_until:
            self._told_until = now + wait
            why = visible(next(iter(str(error).splitlines()), type(error).__name__))
            print(f"zoolab: the model is asked again in {wait:,.0f} s: {why}", file=sys.stderr, flush=True)

    def _counted(self, model: Callable[[Request], Reply], request: Request) -> Reply:
        thought = tokens_in(request.prefix, request.tools)
        self._ledger.reserve(thought)
        reply = model(request)
        took = Tokens.of(reply.usage).known
        if took is None:  # the endpoint did not count
            took = thought + tokens_in([reply.message])
        self._ledger.settle(took - thought)
        return reply


class Asking(Wrapper):
    """A model that keeps to the terms; in all else it is the model itself.

    Replies of real models (those whose `made` is `recorded`) are cached. The key of a reply holds its
    repeat and the experiment's seed: repeats never share an answer, unless the model says that it is
    `deterministic` and its temperature is 0; variants of a case do, where they ask the same.
    """

    def __init__(self, model: Callable[[Request], Reply], name: str, asker: Asker, repeat: int) -> None:
        super().__init__(model)
        self._name = name
        self._asker = asker
        self._repeat = repeat
        said = about(model)
        self._cache = asker.cache if said.made == "recorded" else None
        # What each walk asks for: found here, it need not be missed first.
        self.calls = said.calls
        self.equip = said.equip

    def __call__(self, request: Request) -> Reply:
        cache = self._cache
        if cache is None:
            return self._asker.ask(self._inner, request)
        said = about(self._inner)
        same = said.deterministic and {**said.settings, **request.settings}.get("temperature") == 0
        draw = "" if same else (self._asker.terms.seed, self._repeat)
        key = key_of(request, self._inner, self._name, draw)
        with cache.alone(key):
            reply = cache.get(key)
            if reply is None:
                reply = self._asker.ask(self._inner, request)
                cache.put(key, reply)
        return reply


def maker_of(model: Any, *, retries: bool = False) -> Callable[[int, Case], Any]:
    """Make the model of a run. A factory takes `seed`, `case`, both or nothing; a script begins anew.

    A real model that a factory makes from nothing is made once. With `retries`, a model keeps those of its
    own.
    """
    alone: Callable[[Any], Any] = _as_it_is if retries else _without_own_retries
    wanted = None if isinstance(model, Scripted) else _wanted_by(model)
    kept = None if wanted is not None or isinstance(model, Scripted) else alone(model)

    def make(seed: int, case: Case) -> Any:
        nonlocal kept
        if kept is not None:
            return kept
        if wanted is None:
            try:
                return deepcopy(model)
            except TypeError:  # a script from a generator is read once
                return model
        given = {"seed": seed, "case": case}
        made = alone(model(**{name: given[name] for name in wanted}))
        if not wanted and about(made).made == "recorded":
            kept = made
        return made

    return make


def _as_it_is(model: Any) -> Any:
    return model


def _without_own_retries(model: Any) -> Any:
    """Return the model with a client that asks once: pauses and budgets are kept here."""
    client: Any = about(model).client
    if getattr(model, "max_retries", 0):
        patient = copy(model)
        patient.max_retries = 0
        return patient
    if not getattr(client, "max_retries", 0) or not hasattr(client, "with_options"):
        return model
    patient = copy(model)
    patient.client = client.with_options(max_retries=0)
    return patient


def _wanted_by(model: Any) -> tuple[str, ...] | None:
    """Return what a factory takes, by name; None for a model, which takes a request."""
    try:
        known = signature(model).parameters.values()
    except (TypeError, ValueError):
        return None
    empty = Parameter.empty
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    wanted = tuple(p.name for p in known if p.kind in named and p.name in ("seed", "case"))
    needed = {p.name for p in known if p.default is empty and p.kind in (*named, Parameter.POSITIONAL_ONLY)}
    return wanted if needed <= set(wanted) else None
