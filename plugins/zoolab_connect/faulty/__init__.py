"""Faults on purpose: a model, its endpoint and its tools misbehave, and the trace says where.

>>> print(FAULTS["trailing_comma"])
trailing_comma: a comma before the closing brace -> invalid_json

kinds.py      what can be broken (faults.toml), and what is broken here
replies.py    a whole reply, a call in it, or the arguments of that
tools.py      tools that misbehave, and what they return
model.py      the model that has all of it, and its endpoint: statuses and dropped streams
"""

from __future__ import annotations

from zoolab_connect.faulty.kinds import FAULTS, FaultKind
from zoolab_connect.faulty.model import Faulty

__all__ = ["FAULTS", "FaultKind", "Faulty"]
