"""The short form: a walk, run to its end and recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from zoolab.interrupts import Hold, interruptible
from zoolab.loop import Tools, Walk, walk
from zoolab.trace.trace import Trace

if TYPE_CHECKING:
    from zoolab.records import Model, Record, Step


def run(
    prompt: str | None,
    tools: Tools,
    model: Model,
    *,
    trace: Trace | None = None,
    ask: Callable[[Step], Record | None] | None = None,
    **options: Any,
) -> Trace:
    """Walk to the end and return the trace.

    Args:
        prompt: What the user says.
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        trace: A trace to record into; a new one by default.
        ask: Answers a step that waits for permission, with a `Decision`, or an `Outcome` in place of
            running it; by default nobody does, and the call is denied.
        options: As for `walk`.

    Raises:
        ZoolabError: What ended the walk; its `trace` is the trace so far.

    >>> from zoolab import Scripted
    >>> run("Hi", [], Scripted(["Hello"])).answer
    'Hello'
    """
    trace = Trace() if trace is None else trace
    trace.options = {**options, "model": model}
    steps = walk(prompt, tools, model, **options)
    if ask is None:
        return Trace.record(steps, into=trace)
    return drive(trace, steps, lambda step: ask(step) if step.status == "pending" else None)


def drive(trace: Trace, steps: Walk, answer: Callable[[Step], Record | None]) -> Trace:
    """Record a walk to its end, with an answer to each step, or None to let it be.

    >>> from zoolab import Scripted
    >>> drive(Trace(), walk("Hi", [], Scripted(["Hello"])), lambda step: None).answer
    'Hello'
    """
    following = trace.follow(steps)
    try:
        with Hold():
            step = following.send(None)
            while True:
                try:
                    given = interruptible(partial(answer, step))
                except BaseException as error:
                    step = following.throw(error)
                else:
                    step = following.send(given)
    except StopIteration:
        return trace
