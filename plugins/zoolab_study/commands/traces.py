"""`zoolab bisect`: what is learnt from saved traces."""

from __future__ import annotations

import argparse

from zoolab.jsontext import encode_line
from zoolab.runs import Trace
from zoolab_study.bisecting import bisect


def bisect_traces(options: argparse.Namespace) -> int:
    """Print the first difference of two traces, and its cause; 1 if there is one, 0 if they are equal."""
    found = bisect(Trace.load(options.good), Trace.load(options.bad))
    print(encode_line(found.to_json()) if options.json else str(found))
    return 1 if found.differs else 0
