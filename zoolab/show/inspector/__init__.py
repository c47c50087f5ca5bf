"""The inspector: a trace, or a walk that is still going on, to step through in a notebook or a page.

overview.py     the whole trace in little: what the rail, the slider and the ledger show
panel.py        the panel of a step: its blocks (`zoolab.show.blocks`), what may be edited, and the tabs below
edits.py        a record, edited in place
driver.py       a walk, driven by hand; ways to fork a trace and to compare two are found by entry points
inspector.py    the widget, and the views that it shows; inspector.css and six modules draw it
modules.py      the modules as one script: elements, blocks, overview, others, column, inspector
static_page.py  the same as one file, without a kernel, and what a saved notebook keeps

Python computes plain JSON data, and the browser only draws it.
"""

from __future__ import annotations

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
