"""Make a data set or the recordings again, or check that they could be: `python -m tools.datasets`.

python -m tools.datasets rebuild traces
python -m tools.datasets rebuild recordings --check --only doctor --sample 1
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.datasets.building import BUILDERS, broken_made_again, cases_made_again
from tools.datasets.checking import checks
from tools.datasets.reports import reports_made_again
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import visible
from zoolab.models.recording import Recording, shipped
from zoolab_course.commands.record import record
from zoolab_course.local import LocalModel
from zoolab_study.datasets.loading import read_rows, rows_of

#: What is made out of other files, or out of code.
_MADE = {
    "selection-cases": cases_made_again,
    "broken-arguments": broken_made_again,
    "endpoint-reports": reports_made_again,
}


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments say: 0 done, 1 something differs, 2 could not run."""
    parser = argparse.ArgumentParser(prog="python -m tools.datasets")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    rebuild = actions.add_parser("rebuild", help="make a data set again, or check that it could be")
    rebuild.add_argument("name", metavar="NAME", help="a data set, or recordings")
    rebuild.add_argument("--check", action="store_true", help="change nothing: say what would differ")
    rebuild.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this one of the recordings"
    )
    rebuild.add_argument("--sample", type=int, metavar="N", help="check at most N of each")
    options = parser.parse_args(arguments)
    try:
        return _check(options) if options.check else _rebuild(options)
    except ZoolabError as error:
        print(error, file=sys.stderr)
        return 2


def _rebuild(options: argparse.Namespace) -> int:
    if options.name == "recordings":
        return _record_missing(options.only)
    if options.name not in BUILDERS:
        known = ", ".join([*BUILDERS, "recordings"])
        raise InvalidInput(f"no data set is named {options.name!r}", expected=known)
    BUILDERS[options.name](_say)
    return 0


def _record_missing(only: list[str]) -> int:
    """Put each line of `<name>-prompts.jsonl` that is not recorded yet to the local models."""
    codes = [0]
    for name, path in _with_prompts(only):
        print(name)
        prompts = path.with_name(f"{name}-prompts.jsonl")
        codes.append(record(read_rows(prompts), path, LocalModel(), allow=True))
    return max(codes)


def _with_prompts(only: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the recordings of the local models that have a file of prompts; begun or not."""
    place = next(iter(shipped().values())).parent
    names = [path.stem.removesuffix("-prompts") for path in sorted(place.glob("*-prompts.jsonl"))]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise InvalidInput(f"there is no {unknown[0]}-prompts.jsonl in {place}", expected=", ".join(names))
    for name in only or names:
        path = place / f"{name}.jsonl"
        if not path.exists() or Recording(path).header.made == "recorded":
            yield name, path


def _check(options: argparse.Namespace) -> int:
    if options.name in _MADE:
        return _check_made(options.name)
    only = options.only if options.name == "recordings" else [options.name]
    same = Counter[str]()
    differing = Counter[str]()
    for check in checks(only, options.sample):
        difference = check.difference()
        (differing if difference else same)[check.source] += 1
        if difference:
            _say(f"{check.source}, {check.id}: {difference}")
    for source in {**same, **differing}:
        print(f"{source}: {same[source]} of {same[source] + differing[source]} the same")
    return 1 if differing else 0


def _check_made(name: str) -> int:
    """Check that what is made out of other files would be made so again."""
    made = _MADE[name]()
    kept = list(rows_of(name))
    differing = [str(new["id"]) for new, row in zip(made, kept, strict=False) if new != row]
    if len(made) != len(kept):
        differing.append(f"{len(made)} rows for {len(kept)}")
    print(f"{name}: {', '.join(differing[:5])} differ" if differing else f"{name}: the same")
    return 1 if differing else 0


def _say(text: str) -> None:
    print(visible(text), flush=True)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
