"""`zoolab datasets`: what there is, what can be fetched, and whether the models still say the same."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions list, fetch and rebuild, with their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="what there is")
    fetch = actions.add_parser("fetch", help="fetch the data of others")
    fetch.add_argument("name", choices=["bfcl"], help="bfcl: the Berkeley Function-Calling Leaderboard's")
    rebuild = actions.add_parser("rebuild", help="make a data set again, or check that it could be")
    rebuild.add_argument("name", metavar="NAME", help="a data set, or recordings")
    rebuild.add_argument("--check", action="store_true", help="change nothing: say what would differ")
    rebuild.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="of recordings: this one alone"
    )
    rebuild.add_argument("--sample", type=int, metavar="N", help="check at most so many of each")


def run(options: argparse.Namespace) -> int:
    """Do what the options say: 0 done, 1 something differs."""
    match options.action:
        case "list":
            return _list()
        case "fetch":
            return _fetch()
        case _:
            return _check(options) if options.check else _rebuild(options)


def _list() -> int:
    from zoolab.datasets.catalog import DATA_SETS
    from zoolab.datasets.files import folder
    from zoolab.datasets.loading import rows_of

    for data_set in DATA_SETS.values():
        made = Counter(str(row["made"]) for row in rows_of(data_set.name))
        counts = ", ".join(f"{count} {name}" for name, count in made.most_common())
        print(f"{data_set.name:<18} {data_set.what}: {counts}")
    print(f"in {folder()}")
    return 0


def _fetch() -> int:
    from zoolab.datasets.berkeley import fetch_bfcl

    print(f"bfcl: {fetch_bfcl()}")
    return 0


def _rebuild(options: argparse.Namespace) -> int:
    from zoolab.datasets.building import BUILDERS

    if options.name == "recordings":
        return _record_missing(options.only)
    if options.name not in BUILDERS:
        known = ", ".join([*BUILDERS, "recordings"])
        raise InvalidInput(f"no data set is named {options.name!r}", expected=known)
    BUILDERS[options.name](_say)
    return 0


def _record_missing(only: list[str]) -> int:
    """Put each line of `<name>-prompts.jsonl` that is not recorded yet to the local models."""
    from zoolab.commands.record import record

    codes = [0]
    for name, path in _with_prompts(only):
        print(name)
        prompts = path.with_name(f"{name}-prompts.jsonl")
        asked: dict[str, Any] = {"prompts": str(prompts), "prompt": [], "tools": None, "system": None}
        model: dict[str, Any] = {"local": "", "live": False, "model": None, "base_url": None, "stream": False}
        codes.append(record(Namespace(into=str(path), scripted=False, yes=True, **asked, **model)))
    return max(codes)


def _with_prompts(only: list[str]) -> Iterator[tuple[str, Path]]:
    """The recordings of the local models that have a file of prompts; begun or not."""
    from zoolab.models.recording import Recording, shipped

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
    if options.name in ("selection-cases", "broken-arguments"):
        return _check_made(options.name)
    from zoolab.datasets.checking import checks

    only = options.only if options.name == "recordings" else [options.name]
    same, differing = Counter[str](), Counter[str]()
    for check in checks(only, options.sample):
        difference = check.difference()
        (differing if difference else same)[check.source] += 1
        if difference:
            _say(f"{check.source}, {check.id}: {difference}")
    for source in {**same, **differing}:
        print(f"{source}: {same[source]} of {same[source] + differing[source]} the same")
    return 1 if differing else 0


def _check_made(name: str) -> int:
    """Of what is made out of other files: would it be made so again?"""
    from zoolab.datasets.building import broken_made_again, cases_made_again
    from zoolab.datasets.loading import rows_of

    made = cases_made_again() if name == "selection-cases" else broken_made_again()
    kept = list(rows_of(name))
    differing = [str(new["id"]) for new, row in zip(made, kept, strict=False) if new != row]
    if len(made) != len(kept):
        differing.append(f"{len(made)} rows for {len(kept)}")
    print(f"{name}: {', '.join(differing[:5])} differ" if differing else f"{name}: the same")
    return 1 if differing else 0


def _say(text: str) -> None:
    from zoolab.jsontext import visible

    print(visible(text), file=sys.stdout, flush=True)
