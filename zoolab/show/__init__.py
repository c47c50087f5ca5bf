"""The views of a trace. `blocks` tells a step once, as plain data; each view gives it its own form.

moment.py       a step, its turn and its call
blocks.py       the telling of a step
block_types.py  the kinds of blocks, and how much text they may hold
wording.py      a step in one line; values, calls and schemas as text
text.py         the blocks in a terminal, and a run as Markdown
page.py         the blocks as HTML, and the story page
inspector/      the widget, and the same as a page without a kernel
"""

from __future__ import annotations

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
