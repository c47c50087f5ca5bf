"""A model as an experiment asks it: from the cache, within the budget, at a pace, and again if refused."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoolab.about import Wrapper, about
from zoolab.errors import ModelError
from zoolab.experiments.cache import ReplyCache, key_of
from zoolab.experiments.pacing import Budget, BudgetSpent, Ledger, Pace, patience
from zoolab.limits import counted
from zoolab.records import Reply, Request
from zoolab.tokens import tokens_in

__all__ = ["Asking", "BudgetSpent", "Counter", "Terms", "without_own_retries"]


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms models are asked, and the folder where workers share what they know."""

    folder: Path
    pace: Pace = field(default_factory=Pace)
    budget: Budget = field(default_factory=Budget)
    cache: Path | None = None
    seed: int = 0


class Counter:
    """What a worker asks through: the ledger and the cache of its terms."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.ledger = Ledger(terms.folder / "ledger", terms.pace, terms.budget)
        here = terms.cache is not None and terms.cache.parent.is_dir()
        self.cache = ReplyCache(terms.cache) if here and terms.cache is not None else None


class Asking(Wrapper):
    """A model that keeps to the terms; in all else it is the model itself.

    Replies of real models (those whose `made` is `recorded`) are cached. The key of a reply holds its
    repeat and the experiment's seed: repeats never share an answer, unless the model says that it is
    `deterministic` and its temperature is 0; variants of a case do, where they ask the same.
    """

    def __init__(self, model: Callable[[Request], Reply], name: str, counter: Counter, repeat: int) -> None:
        super().__init__(model)
        self._name = name
        self._counter = counter
        self._repeat = repeat
        real = counter.cache is not None and about(model).made == "recorded"
        self._cache = counter.cache if real else None
        self._once = self._counted if counter.ledger.counts else model
        # What each walk asks for: found here, it need not be missed first.
        self.calls, self.equip = about(model).calls, about(model).equip

    def __call__(self, request: Request) -> Reply:
        cache = self._cache
        if cache is None:
            return self._ask(request)
        key = key_of(request, self._inner, self._name, self._draw(request))
        with cache.alone(key):
            reply = cache.get(key)
            if reply is None:
                reply = self._ask(request)
                cache.put(key, reply)
        return reply

    def _draw(self, request: Request) -> object:
        settings = {**about(self._inner).settings, **request.settings}
        same = about(self._inner).deterministic and settings.get("temperature") == 0
        return "" if same else (self._counter.terms.seed, self._repeat)

    def _ask(self, request: Request) -> Reply:
        """Ask, and ask again after a pause as long as that may help."""
        attempt = 0
        while True:
            try:
                return self._once(request)
            except BudgetSpent:
                raise
            except (ModelError, TimeoutError, ConnectionError) as error:
                again = attempt < self._counter.terms.pace.retries
                wait = patience(error, attempt, random.uniform) if again else None
                if wait is None:
                    raise
            attempt += 1
            time.sleep(wait)

    def _counted(self, request: Request) -> Reply:
        ledger, thought = self._counter.ledger, tokens_in(request.prefix, request.tools)
        ledger.reserve(thought)
        reply: Reply = self._inner(request)
        ledger.settle(_tokens_of(reply, thought) - thought)
        return reply


def without_own_retries(model: Any) -> Any:
    """The model with a client that asks once: pauses and budgets are kept here.

    >>> without_own_retries(print) is print
    True
    """
    client: Any = about(model).client
    if not getattr(client, "max_retries", 0) or not hasattr(client, "with_options"):
        return model
    patient = copy.copy(model)
    patient.client = client.with_options(max_retries=0)
    return patient


def _tokens_of(reply: Reply, sent: float) -> float:
    """As the endpoint counted, or as they are estimated."""
    counts = [counted(reply.usage, name) for name in ("prompt_tokens", "completion_tokens")]
    known = [count for count in counts if count is not None]
    return sum(known) if known else sent + tokens_in([reply.message])
