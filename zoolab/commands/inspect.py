"""`zoolab inspect`: a saved trace as a page to step through, in any browser, without a kernel."""

from __future__ import annotations

from pathlib import Path

from zoolab.files import write_whole
from zoolab.runs import Trace
from zoolab.show.inspector.static_page import render_interactive_page


def inspect_saved(path: str, output: str | None) -> int:
    """Write the page, beside the trace if no other place is named, and print where it is."""
    source = Path(path)
    target = Path(output) if output else source.with_suffix(".html")
    write_whole(target, [render_interactive_page(Trace.load(source))])
    print(target)
    return 0
