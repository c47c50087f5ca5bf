"""A fault: the keys of the arguments in capitals."""

from __future__ import annotations

import json
from typing import Any

from zoolab_connect.faulty import FaultKind


def shout(arguments: Any) -> str | None:
    """Return the arguments with their keys in capitals, or None if they have no keys."""
    found = json.loads(arguments)
    return json.dumps({key.upper(): value for key, value in found.items()}) if found else None


SHOUTING_KEYS = FaultKind("shouting_keys", "tool_call", "keys in capitals", "invalid_arguments", breaks=shout)
