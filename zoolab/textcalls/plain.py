"""Plain JSON, in prose, in fences, in a list: the first object that is a call."""

from __future__ import annotations

from zoolab.textcalls.calls import TextCall, listed, with_arguments
from zoolab.textcalls.objects import Objects


def read_plain(text: str) -> list[TextCall]:
    """The first object with a `name` and `arguments`; with the others where it begins a JSON list of calls.

    >>> read_plain('I call {"name": "f", "arguments": {}} and {"name": "g", "arguments": {}}.')
    [TextCall(name='f', arguments='{}', wanted=None, at=7)]
    """
    if '"arguments"' not in text:
        return []
    objects = Objects(text)
    for found in objects.every():
        if (call := with_arguments(found)) is not None and call.name:
            return listed(objects, found, with_arguments) or [call]
    return []
