"""What the inspector sends to the browser, beside every step as JSON with its messages[]."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from loop import recorded_walk
from pairs import Effort, Row, compare

from zoolab import Trace
from zoolab.jsontext import encode
from zoolab.show.inspector.overview import overview_of, packed
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment

ROUNDS = 100
BESIDE = "json.dumps of every step's kind, call and whole messages[]"


def opening(trace: Trace) -> str:
    """What is sent when a trace is opened: the overview of all steps, and one panel."""
    return encode({"overview": packed(overview_of(trace)), "panel": panel_of(Moment(trace, len(trace) - 1))})


def everything(trace: Trace) -> str:
    """What a viewer is sent that keeps no state."""
    steps = [
        {"kind": step.kind, "call": step.call and step.call.id, "messages": step.messages.tolist()}
        for step in trace.steps
    ]
    return json.dumps(steps)


def rows(effort: Effort) -> Iterator[Row]:
    """The time to make it, and its size."""
    trace = recorded_walk(ROUNDS)
    ours, theirs = partial(opening, trace), partial(everything, trace)
    what = f"opening a trace of {len(trace):,} steps"
    yield compare("inspector", f"{what}, time", ours, theirs, BESIDE, effort)
    sizes = len(ours().encode()), len(theirs().encode())
    yield Row("inspector", f"{what}, payload", *sizes, sizes[0] / sizes[1], BESIDE, "bytes")
