"""The record of a walk: its steps, and every change of `messages[]`. It knows none of its views.

log.py           TraceLog: what was recorded, and what can be asked of it; the JSON of each message
calls.py         the steps by turn and by call: what became of each call
summary.py       the errors of a trace, how messages[] changed, the tokens that were used
codec.py         a record as JSON, and back
events.py        a trace as events: saved to a file, loaded, written while it grows
frame.py         a trace as a table, one row a step; the faults that were injected

`zoolab.runs` has `Trace`, the log with its files and views; `zoolab.show` has the views.
"""

from __future__ import annotations

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
