"""The inspector: a trace, or a walk that is still going on, to step through in a notebook or a page.

overview.py   the whole trace in little: what the rail, the slider and the ledger show
moment.py     a step, and what a panel must know of the steps around it
panels/       one file a kind of step: what happened in it, as plain data
bounds.py     how much text a panel may hold
tabs.py       below the panel: the change of messages[], all of them, the wire; code.py: as Python
patches.py    a change of messages[] as a JSON patch
edits.py      a record, edited in place
driver.py     a walk, driven by hand
forks.py      look, replay, live: three ways to go on from an edited step
replaying.py  the model and the tools of a trace, saying again what they said
compare.py    two traces side by side
inspector.py  the widget; inspector.js and inspector.css draw it
page.py       the same as one file, without a kernel

Python computes plain JSON data, and the browser only draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoolab.inspector.inspector import Inspector, inspect

__all__ = ["Inspector", "inspect"]


def __getattr__(name: str) -> Any:
    """The widget is imported when it is asked for: a page without a kernel needs no ipywidgets."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from zoolab.inspector import inspector

    return getattr(inspector, name)
