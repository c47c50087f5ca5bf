"""Faults on purpose: a model, its endpoint and its tools misbehave, and the trace says where.

>>> for kind in FAULTS.values():
...     print(kind)
poisoned_description: a tool's description gives the model orders -> no error
...
trailing_comma: a comma before the closing brace -> invalid_json
...
number_key_result: a key that is a number -> execution_failed

table.py      what can be broken, and the error that a walk should meet it with
chance.py     which of it is broken here
names.py      which request this is
endpoint.py   statuses and dropped streams, through the real client
replies.py    a whole reply
calls.py      a call in a reply
arguments.py  the arguments of a call
tools.py      tools that misbehave
results.py    what they return
model.py      the model that has all of it
"""

from __future__ import annotations

from zoolab.models.faulty.model import Faulty
from zoolab.models.faulty.table import FAULTS, FaultKind

__all__ = ["FAULTS", "FaultKind", "Faulty"]
