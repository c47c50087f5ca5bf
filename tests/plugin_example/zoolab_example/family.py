"""A family of models that writes its calls as `@@add {"a": 1}`, each on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoolab.textcalls import TextCall

_CALL = re.compile(r"^@@(?P<name>\w+) (?P<arguments>\{.*\})$", re.MULTILINE)


def read_at_signs(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the calls in a text, with their arguments as they were written."""
    return [
        TextCall(found["name"], found["arguments"], None, found.start(), found.end())
        for found in _CALL.finditer(text)
    ]
