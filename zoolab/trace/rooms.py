"""What a trace does with the help of rooms above its own: found by name, when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Imports only go down. These are no imports of the trace: it knows where help is, and works without it.
_ROOMS = {
    "inspect": "zoolab.inspector.inspector",
    "render_interactive_page": "zoolab.inspector.page",
}


def from_above(name: str) -> Any:
    """A function of a room above.

    >>> from_above("inspect").__name__
    'inspect'
    """
    return getattr(import_module(_ROOMS[name]), name)
