"""All benchmarks: ratios, ours and the plain alternative measured in turns. Nothing is asserted.

python3 start.py bench                      the table
python3 start.py bench loop frame           some of it
python3 start.py bench --markdown           as README has it
python3 start.py bench --quick              a rough look in a few seconds
python3 start.py bench --json FILE          the numbers in a file, too
python3 start.py bench --peers [FOLDER]     then other frameworks, each in an environment of its own
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import definition
import frame
import imports
import loop
import payload
import peers
import proxy
import recording
import replay
import submission
import tables
import throughput
import validation
from pairs import QUICK, Effort, Row

BENCHMARKS: dict[str, Callable[[Effort], Iterator[Row]]] = {
    "loop": loop.rows,
    "replay": replay.rows,
    "validation": validation.rows,
    "definition": definition.rows,
    "recording": recording.rows,
    "frame": frame.rows,
    "inspector": payload.rows,
    "grading": submission.rows,
    "experiment": throughput.rows,
    "proxy": proxy.rows,
    "imports": imports.rows,
}
LIBRARIES = ("zoolab", "openai", "jsonschema", "pandas", "numpy")


def machine() -> str:
    """What the numbers were made with."""
    made = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"Python {platform.python_version()}, {os.cpu_count()} cores; {made}"


def measured(names: Iterable[str], effort: Effort) -> Iterator[Row]:
    """The rows of some benchmarks, one after the other."""
    for name in names:
        yield from BENCHMARKS[name](effort)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="start.py bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="few repeats, smaller sizes")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there, too")
    parser.add_argument(
        "--peers", nargs="?", type=Path, const=peers.cache_folder(), metavar="FOLDER", help="where they go"
    )
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return options


def main() -> None:
    """Measure and print."""
    options = arguments()
    effort = QUICK if options.quick else Effort()
    print_line = tables.markdown_line if options.markdown else tables.text_line
    gc.freeze()  # what is imported here is no part of what is measured
    print(machine(), end="\n\n")
    print(tables.MARKDOWN_HEAD if options.markdown else tables.TEXT_HEAD, flush=True)
    rows = []
    for row in measured(options.names or BENCHMARKS, effort):
        rows.append(row)
        print(print_line(row), flush=True)
    missing: list[str] = []
    if options.peers:
        found = peers.measure(options.peers, effort)
        rows, missing = [*rows, *found.rows], found.missing
        print("\n".join(map(print_line, found.rows)))
        print("".join(f"\nnot measured: {why}" for why in missing))
    if options.json:
        data = {"machine": machine(), "rows": [asdict(row) for row in rows], "missing": missing}
        options.json.write_text(json.dumps(data, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
