"""A display: the answer of a trace in capitals."""

from __future__ import annotations

from zoolab import Trace


def in_capitals(trace: Trace) -> str:
    """Show the answer in capitals."""
    return (trace.answer or "").upper()
