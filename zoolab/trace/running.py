"""The short form: a walk, run to its end and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.loop import Tools, walk
from zoolab.trace.trace import Trace

if TYPE_CHECKING:
    from zoolab.records import Model


def run(
    prompt: str | None, tools: Tools, model: Model, *, trace: Trace | None = None, **options: Any
) -> Trace:
    """Walk to the end and return the trace.

    Args:
        prompt: What the user says.
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        trace: A trace to record into; a new one by default.
        options: As for `walk`.

    Raises:
        ZoolabError: What ended the walk; its `trace` is the trace so far.

    >>> from zoolab import Scripted
    >>> run("Hi", [], Scripted(["Hello"])).answer
    'Hello'
    """
    trace = Trace() if trace is None else trace
    trace.options = {**options, "model": model}
    return Trace.record(walk(prompt, tools, model, **options), into=trace)
