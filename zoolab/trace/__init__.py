"""The record of a walk: its steps, and every change of `messages[]`.

trace.py     Trace: what a run was, and what can be asked of it
journal.py   every message once, every revision of messages[]
bridges.py   a walk that is awaited
events.py    a trace as events: saved, loaded, written while it grows
fork.py      another run that shares this one's beginning
frame.py     a table, one row a step
diagnosis.py what went wrong, with evidence and advice
summary.py   its errors, and how messages[] changed
story/       a page that tells what happened
rooms.py     what a trace does with the help of rooms above its own
lines.py     a step in a few lines of plain text
markdown.py  the protocol: requests, replies, messages[]
"""

from __future__ import annotations

from zoolab.trace.bridges import arun, awalk
from zoolab.trace.lines import headline
from zoolab.trace.running import run
from zoolab.trace.summary import LoggedError, MessagesDiff
from zoolab.trace.trace import Trace

__all__ = ["LoggedError", "MessagesDiff", "Trace", "arun", "awalk", "headline", "run"]
