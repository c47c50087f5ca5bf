"""Data sets: requests, replies of models, and whole runs; each row says who made it.

datasets.toml  which there are, and what a row of each holds
loading.py     as rows, data frames, traces and tools
berkeley.py    the cases of the Berkeley Function-Calling Leaderboard, in JSON Schema and JSON

They are made by `python -m tools.datasets` in a checkout of zoolab.
"""

from __future__ import annotations

from zoolab_study.datasets.berkeley import bfcl
from zoolab_study.datasets.loading import load, load_trace, selection_tools

__all__ = ["bfcl", "load", "load_trace", "selection_tools"]
