"""Data sets of requests, of what models made of them, and of whole runs; each row says who made it.

files.py      where they lie, and how rows are read
catalog.py    which there are, and what a row holds
loading.py    as data frames
selection.py  forty tools and the requests for them, out of templates
asking.py     the local models as they were asked
plan.py       which requests were put to which model
outputs.py    rows of what they wrote
judging.py    what that is worth
trials.py     the same request with one thing changed
traces.py     whole runs, some with faults
checking.py   do the models still say the same?
berkeley.py   the cases of the Berkeley Function-Calling Leaderboard
"""

from __future__ import annotations

from zoolab.datasets.berkeley import bfcl
from zoolab.datasets.loading import load, load_trace
from zoolab.datasets.selection import selection_tools

__all__ = ["bfcl", "load", "load_trace", "selection_tools"]
