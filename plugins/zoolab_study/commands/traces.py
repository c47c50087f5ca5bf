"""`zoolab bisect` and `zoolab cases`: what is learnt from saved traces, and made of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.files import write_whole
from zoolab.jsontext import encode_line, visible
from zoolab.runs import Trace
from zoolab_study.bisecting import bisect
from zoolab_study.cases import as_case
from zoolab_study.taped import case_of, row_of

_TESTS = """\"\"\"Plays recorded walks: a test fails if the walk takes another way.\"\"\"

from pathlib import Path

import pytest

from zoolab_study import same_walk

TAPES = sorted((Path(__file__).parent / {folder!r}).glob("*.jsonl"))


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.stem)
def test_the_walk_takes_the_same_way(tape):
    same_walk(tape)  # tools=[...] plays it with the tools as they are now, model=... with another model
"""


def bisect_traces(options: argparse.Namespace) -> int:
    """Print the first difference of two traces, and its cause; 1 if there is one, 0 if they are equal."""
    found = bisect(Trace.load(options.good), Trace.load(options.bad))
    print(encode_line(found.to_json()) if options.json else str(found))
    return 1 if found.differs else 0


def make_cases(options: argparse.Namespace) -> int:
    """Make a case of each trace in the folder, or tests that play them; 1 if some were left out."""
    paths = sorted(options.folder.glob("*.jsonl"))
    if not paths:
        raise InvalidInput(f"{options.folder} has no traces", expected="a folder with traces, *.jsonl")
    if options.tests is not None:
        folder = os.path.relpath(options.folder.resolve(), options.tests.resolve().parent)
        write_whole(options.tests, [_TESTS.format(folder=Path(folder).as_posix())])
        print(visible(str(options.tests)))
        return 0
    expect = None if options.expect == "nothing" else options.expect
    lines = list(_lines(paths, expect))
    if options.output is None:
        sys.stdout.writelines(lines)
    else:
        write_whole(options.output, lines)
        print(visible(f"{options.output}: {len(lines):,} of {len(paths):,} traces"))
    return 1 if len(lines) < len(paths) else 0


def _lines(paths: list[Path], expect: str | None) -> Iterator[str]:
    """Yield a line for each trace; what cannot be made a case is said, and left out."""
    for path in paths:
        try:
            case = case_of(Trace.load(path), None, expect)
            row = {**row_of(case), "id": path.stem, "trace": path.name}
            as_case(row)
        except ZoolabError as error:
            print(visible(f"zoolab: {path.name} is left out: {error}"), file=sys.stderr)
        else:
            yield encode_line(row) + "\n"
