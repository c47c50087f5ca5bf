"""How fast a model may be asked, how much, and how long to wait when it refuses."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from pathlib import Path

from zoolab.errors import InvalidInput, ModelError
from zoolab.files import locked

__all__ = ["Budget", "BudgetSpent", "Ledger", "Pace", "Spent", "patience"]

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
#: Whoever asks for more patience than this is not waited for.
_LONGEST_RETRY_AFTER = 600.0
_AGAIN = {408, 409, 425, 429}


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model may be asked: requests and tokens a minute, spread evenly; and how often again.

    A request that was refused (429, 5xx), or that nobody answered, is made again up to `retries` times:
    after what `Retry-After` says, or after a random part of 0.5 s, 1 s, 2 s, ... up to a minute.

    >>> Pace(requests=0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: Pace(requests=0); expected a number above 0
    """

    requests: float | None = None
    tokens: float | None = None
    retries: int = 5

    def __post_init__(self) -> None:
        _check(self, "requests", "tokens")
        if type(self.retries) is not int or self.retries < 0:
            raise InvalidInput(f"Pace(retries={self.retries})", expected="0 or more")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be asked before the experiment stops: requests, repeated ones too, and tokens.

    What comes from the cache costs nothing. Runs that were under way are not recorded: go on later with
    the same journal. Tokens are known once a reply is there, so the last replies may go over.

    >>> Budget(requests=100).tokens is None
    True
    """

    requests: float | None = None
    tokens: float | None = None

    def __post_init__(self) -> None:
        _check(self, "requests", "tokens")


class BudgetSpent(ModelError):
    """The budget of an experiment does not allow another request."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was asked so far, and from when on the next request, and the next token, is in time."""

    requests: int = 0
    tokens: float = 0
    next_request: float = 0.0
    next_token: float = 0.0

    def reserve(self, now: float, tokens: float, pace: Pace, budget: Budget) -> tuple[float, Spent]:
        """When a request of about so many tokens may be made, and what is spent then.

        >>> at, spent = Spent().reserve(100.0, 10, Pace(requests=60), Budget())
        >>> at, spent.reserve(100.0, 10, Pace(requests=60), Budget())[0]
        (100.0, 101.0)

        Raises:
            BudgetSpent: It may not.
        """
        _check_budget(self, tokens, budget)
        at = max(now, self.next_request, self.next_token)
        after_request = at + 60 / pace.requests if pace.requests else 0.0
        after_tokens = at + tokens * 60 / pace.tokens if pace.tokens else 0.0
        return at, Spent(self.requests + 1, self.tokens + tokens, after_request, after_tokens)

    def settle(self, tokens: float, pace: Pace) -> Spent:
        """A reply took so many tokens more than was thought, or fewer."""
        later = tokens * 60 / pace.tokens if pace.tokens else 0.0
        return replace(self, tokens=self.tokens + tokens, next_token=self.next_token + later)


class Ledger:
    """What all workers have spent together, in a file that one of them holds at a time.

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger", Pace(), Budget(requests=1))
    >>> ledger.reserve(10)
    >>> ledger.reserve(10)
    Traceback (most recent call last):
    zoolab.experiments.pacing.BudgetSpent: the budget of 1 request is spent; ...
    """

    def __init__(self, path: Path, pace: Pace, budget: Budget) -> None:
        self._path, self._pace, self._budget = path, pace, budget
        #: Whether there is anything to keep to.
        self.counts = any((pace.requests, pace.tokens, budget.requests, budget.tokens))

    def reserve(self, tokens: float) -> None:
        """Wait until a request of about so many tokens may be made.

        Raises:
            BudgetSpent: It may not.
        """
        if self.counts:
            at = self._change(lambda spent: spent.reserve(time.time(), tokens, self._pace, self._budget))
            time.sleep(max(0.0, at - time.time()))

    def settle(self, tokens: float) -> None:
        """Say how many tokens more, or fewer, it took."""
        if self.counts and tokens:
            self._change(lambda spent: (0.0, spent.settle(tokens, self._pace)))

    def _change(self, change: Callable[[Spent], tuple[float, Spent]]) -> float:
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            at, spent = change(self._read())
            told = (spent.requests, spent.tokens, spent.next_request, spent.next_token)
            self._path.write_text(json.dumps(told), encoding="utf-8")
        return at

    def _read(self) -> Spent:
        try:
            return Spent(*json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return Spent()


def patience(error: Exception, attempt: int, jitter: Callable[[float, float], float]) -> float | None:
    """Seconds to wait before asking again; None where that would not help.

    >>> failed = ModelError("it broke")
    >>> failed.__cause__ = TimeoutError()
    >>> patience(failed, 2, max), patience(ModelError("a script has ended"), 0, max)
    (2.0, None)
    """
    cause = error.__cause__ or error.__context__ or error
    if not _passes(cause):
        return None
    wait = jitter(0.0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt))
    response = getattr(cause, "response", None)
    told = retry_after(getattr(response, "headers", None) or {}, time.time())
    if told is None:
        return wait
    return None if told > _LONGEST_RETRY_AFTER else told + min(wait, 1.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that an endpoint asks to be left alone; None where it does not say.

    >>> retry_after({"retry-after": "1.5"}, 0.0), retry_after({"retry-after-ms": "20"}, 0.0)
    (1.5, 0.02)
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0), retry_after({}, 0.0)
    (10.0, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            told = float(headers.get(name) or "") / unit
        except ValueError:
            continue
        if 0 <= told < float("inf"):
            return told
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after") or "").timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _passes(cause: BaseException) -> bool:
    """Whether the like of this goes away by itself: refusals for now, errors of servers, broken lines."""
    status = getattr(cause, "status_code", None)
    if isinstance(status, int):
        return (status in _AGAIN or status >= 500) and getattr(cause, "code", "") != "insufficient_quota"
    if isinstance(cause, TimeoutError | ConnectionError):
        return True
    names = {kind.__name__ for kind in type(cause).__mro__}
    return bool(names & {"APIConnectionError", "TransportError", "StreamError"})


def _check_budget(spent: Spent, tokens: float, budget: Budget) -> None:
    over = None
    if budget.requests is not None and spent.requests + 1 > budget.requests:
        over = f"{budget.requests:,.0f} request{'s' * (budget.requests != 1)}"
    elif budget.tokens is not None and spent.tokens + tokens > budget.tokens:
        over = f"{budget.tokens:,.0f} tokens"
    if over:
        raise BudgetSpent(f"the budget of {over} is spent", advice="go on with the same journal")


def _check(record: Pace | Budget, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if value is not None and not value > 0:
            what = f"{type(record).__name__}({name}={value})"
            raise InvalidInput(what, expected="a number above 0")
