"""The inspector: a trace, or a walk that is still going on, to step through in a notebook or a page.

overview.py     the whole trace in little: what the rail, the slider and the ledger show
panel.py        the panel of a step: its blocks (`zoolab.show.blocks`), and what may be edited
tabs.py         below the panel: the change of messages[], all of them, the wire; code.py: as Python
views.py        what an inspector shows: a trace, the walk that makes it, another to compare with
edits.py        a record, edited in place
driver.py       a walk, driven by hand
forks.py        look, replay, live: three ways to go on from an edited step
replaying.py    the model and the tools of a trace, saying again what they said
compare.py      two traces side by side
inspector.py    the widget; inspector.js and inspector.css draw it
static_page.py  the same as one file, without a kernel, and what a saved notebook keeps

Python computes plain JSON data, and the browser only draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if TYPE_CHECKING:
    from zoolab.show.inspector.inspector import Inspector

__all__ = ["Inspector"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    # A page without a kernel needs no ipywidgets: the widget is imported when it is asked for.
    __getattr__, __dir__ = lazily(__name__, {"inspector": "Inspector"})
