"""What is made of a trace: its first lines, as a short text."""

from __future__ import annotations

from zoolab import Trace


def to_haiku(trace: Trace) -> str:
    """Return the kinds of the first three steps, a line each."""
    return "\n".join(step.kind for step in trace.steps[:3])
