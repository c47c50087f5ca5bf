"""The short form: a walk, run to its end and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from zoolab.errors import InvalidInput
from zoolab.interrupts import Hold, interruptible
from zoolab.loop import Tools, Walk, walk
from zoolab.options import WalkOptions, passes_on
from zoolab.trace.trace import Trace

if TYPE_CHECKING:
    from zoolab.records import Model, Record, Step


class RunOptions(WalkOptions, total=False):
    """The options of `run` for type checkers."""

    trace: Trace | None
    ask: Callable[[Step], Record | None] | None


@passes_on(walk)
def run(
    prompt: str | None,
    tools: Tools,
    model: Model,
    *,
    trace: Trace | None = None,
    meta: Mapping[str, Any] | None = None,
    ask: Callable[[Step], Record | None] | None = None,
    **options: Unpack[WalkOptions],
) -> Trace:
    """Walk to the end and return the trace.

    Args:
        prompt: What the user says.
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        trace: A trace to record into; a new one by default.
        meta: What else is known of the run, as for `Trace`; not together with `trace`.
        ask: Answers a step that waits for permission, with a `Decision`, or an `Outcome` in place of
            running it; by default nobody does, and the call is denied.
        options: As for `walk`.

    Raises:
        ZoolabError: What ended the walk; its `trace` is the trace so far.

    >>> from zoolab import Scripted
    >>> run("Hi", [], Scripted(["Hello"])).answer
    'Hello'
    """
    if trace is not None and meta is not None:
        raise InvalidInput("both trace= and meta= are given", advice="use Trace(meta=...) instead")
    trace = Trace(meta=meta) if trace is None else trace
    steps = walk(prompt, tools, model, **options)
    trace.options = dict(steps.options)
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
