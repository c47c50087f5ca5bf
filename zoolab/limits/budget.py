"""The budget of a walk: what is left of its limits. Walks that its tools start share it.

A tool that starts a walk needs to do nothing for it: the walk finds the budget of its caller in a
context variable, which is set while tools run and while the model is asked.
It is there in the threads and event loops of a walk; a tool that starts threads of its own hands it on with
`submit(copy_context().run, work)`.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from threading import Lock

from zoolab.errors import InvalidInput, ToolLoopLimitReached
from zoolab.jsontext import excerpt
from zoolab.limits import REQUESTS_A_TURN
from zoolab.models.about import about
from zoolab.records import Limits, Reply, Request
from zoolab.tokens import Tokens, tokens_in

#: The walk whose tools, or whose model, are running.
_CALLER: ContextVar[WalkBudget | None] = ContextVar("the walk that is calling", default=None)


class WalkBudget:
    """What one walk has taken of its limits; what it takes, it also takes from the walks that called it.

    Walks that start inside `with budget:` are called by its walk.
    """

    def __init__(self, limits: Limits) -> None:
        caller = _CALLER.get()
        self.limits = limits
        #: This walk, the one that called it, the one that called that, ...
        self.chain: tuple[WalkBudget, ...] = (self, *(caller.chain if caller else ()))
        #: How many walks it has called.
        self.called = 0
        self.requests = 0
        self.tokens = 0
        self.cost = 0.0
        #: Whether some of the tokens are an estimate, because an endpoint counted none.
        self.estimated = False
        #: A model whose replies cannot be paid for.
        self._unpriced: str | None = None
        self._lock: Lock = caller._lock if caller else Lock()
        self._deadline = time.monotonic() + limits.seconds if limits.seconds else None
        deadlines = [owner._deadline for owner in self.chain if owner._deadline is not None]
        self._first_deadline = min(deadlines, default=None)
        self._counts = any(owner.limits.tokens or owner.limits.cost for owner in self.chain)
        for level, owner in enumerate(self.chain):
            if level > owner.limits.depth:
                raise ToolLoopLimitReached(
                    f"a walk was started {level} level{'s' * (level > 1)} inside another walk",
                    expected=f"at most {owner.limits.depth}",
                    advice="answer without a sub-agent, or raise Limits(depth=...) of the outer walk",
                )
        if caller is not None:
            caller.called += 1

    def __enter__(self) -> None:
        self._token = _CALLER.set(self)

    def __exit__(self, *_: object) -> None:
        _CALLER.reset(self._token)

    def seconds_left(self) -> float | None:
        """Return the time left to this walk and to those that called it; None for no limit."""
        return None if self._first_deadline is None else max(0.0, self._first_deadline - time.monotonic())

    def begin_request(self) -> None:
        """Take one request; raises `ToolLoopLimitReached` if a limit of a walk in the chain is reached."""
        with self._lock:
            for owner in self.chain:
                owner._check(self)
            for owner in self.chain:
                owner.requests += 1

    def end_request(self, request: Request, reply: Reply, model: object) -> None:
        """Take what a reply has used: as the endpoint counted it, or as it is estimated.

        Raises `InvalidInput` if the cost is limited, and the model has no price.
        """
        if not self._counts:
            return
        usage = reply.usage or {}
        took = Tokens.of(usage).known
        estimated = took is None
        if took is None:
            sent = tokens_in(request.prefix, request.tools)
            received = tokens_in([reply.message])
            took = sent + received
            usage = {"prompt_tokens": sent, "completion_tokens": received}
        names = [name for name in (reply.model, about(model).model) if isinstance(name, str)]
        with self._lock:
            for owner in self.chain:
                owner.tokens += took
                owner.estimated |= estimated
                if owner.limits.cost is not None:
                    prices = owner.limits.prices or {}
                    price = next((prices[name] for name in names if name in prices), None)
                    if price is not None:
                        owner.cost += price.of(usage)
                    else:
                        owner._unpriced = excerpt(names[0]) if names else "a model without a name"
        for owner in self.chain:
            owner._check_prices()

    def _check_prices(self) -> None:
        if self._unpriced is not None:
            raise InvalidInput(
                f"Limits(cost={self.limits.cost}) needs a price for the model {self._unpriced}",
                expected=", ".join(self.limits.prices or ()),
                advice="add it to prices=",
            )

    def _check(self, asking: WalkBudget) -> None:
        self._check_prices()
        limits = self.limits
        about = "an estimated " if self.estimated else ""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise self._spent("seconds", f"{limits.seconds:g} seconds", asking)
        if limits.tokens is not None and self.tokens >= limits.tokens:
            raise self._spent("tokens", f"{about}{self.tokens:,} tokens", asking)
        if limits.cost is not None and self.cost >= limits.cost:
            raise self._spent("cost", f"{about or 'a '}cost of {self.cost:g}", asking)
        most = limits.turns * REQUESTS_A_TURN if limits.requests is None else limits.requests
        if self.requests >= most:
            raise self._spent("requests", f"{self.requests} requests, with those of sub-agents", asking)

    def _spent(self, name: str, how_much: str, asking: WalkBudget) -> ToolLoopLimitReached:
        if self is asking:
            what = f"no answer after {how_much}"
            advice = f"raise Limits({name}=...)"
        else:
            what = f"the outer walk has reached its limit of {name}: {how_much}"
            advice = f"raise Limits({name}=...) of the outer walk"
        return ToolLoopLimitReached(what, advice=advice)
