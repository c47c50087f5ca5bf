"""`zoolab inspect`: a saved trace as a page to step through, in any browser, without a kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from zoolab.files import write_whole
from zoolab.runs import Trace
from zoolab.show.inspector.static_page import render_interactive_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace that was saved as JSONL")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the page; by default beside the trace"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page, and print where it is."""
    target = options.output or options.trace.with_suffix(".html")
    write_whole(target, [render_interactive_page(Trace.load(options.trace))])
    print(target)
    return 0
