"""What a model says while its reply is streamed: its deltas, told to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext.readonly import TooDeep, read_only
from zoolab.steps.execute import said

#: Takes a delta of Chat Completions, as `Reply.pieces` keeps it.
OnDelta = Callable[[dict[str, Any]], object]

_LISTENERS: ContextVar[tuple[OnDelta, ...]] = ContextVar("who listens to the deltas of models", default=())


@contextmanager
def listening(on_delta: OnDelta) -> Iterator[None]:
    """Have `on_delta` receive the deltas of models inside; after an error of its own it receives no more.

    That error is raised at the end, as `InvalidInput`, so that the reply is read whole.
    """
    failed: list[Exception] = []

    def hear(delta: dict[str, Any]) -> None:
        if not failed:
            try:
                on_delta(delta)
            except Exception as error:
                failed.append(error)

    token = _LISTENERS.set((*_LISTENERS.get(), hear))
    try:
        yield
    finally:
        _LISTENERS.reset(token)
    for error in failed:
        advice = "its traceback is the __cause__ of this error"
        raise InvalidInput(f"on_delta raised {said(error)}", advice=advice) from error


def tell_delta(delta: dict[str, Any]) -> None:
    """Tell a delta that has just arrived; a model that streams calls this for each one.

    What a listener reads from a model itself is not told.
    """
    listeners = _LISTENERS.get()
    if listeners:
        token = _LISTENERS.set(())
        try:
            told = read_only(delta)
            for hear in listeners:
                hear(told)
        except TooDeep:
            pass  # the reply is refused for the same reason
        finally:
            _LISTENERS.reset(token)
