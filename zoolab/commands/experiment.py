"""`zoolab experiment`: what a TOML file describes, done, gone on with, and reported."""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import write_whole
from zoolab.jobs import dask_executor
from zoolab.jsontext import encode_line, visible
from zoolab.study import Experiment, experiment
from zoolab.study.comparison import ENDS
from zoolab.study.config import read_config

DONE, FELL_SHORT = 0, 1

_COMPARED = 20
#: How a run ends when something else than the model, or its endpoint, went wrong.
_BROKEN = ("crashed", "failed", "invalid_input", "invalid_schema", "invalid_signature", "replay_miss")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes.

    >>> parser = argparse.ArgumentParser()
    >>> add_arguments(parser)
    >>> parser.parse_args(["sums.toml", "--jobs", "2"]).jobs
    2
    """
    parser.add_argument("config", nargs="?", metavar="CONFIG.toml", help="the experiment")
    parser.add_argument("--example", action="store_true", help="print such a file, to begin with")
    parser.add_argument("-o", "--out", metavar="DIR", help="where results go; by default beside the file")
    parser.add_argument("--resume", action="store_true", help="do what is missing in the results")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="how many runs at the same time")
    parser.add_argument("--processes", action="store_true", help="run in processes rather than threads")
    parser.add_argument("--dask", metavar="ADDRESS", help="run on the cluster of this dask scheduler")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Do the experiment; 1 where a run is missing, or broke off by no doing of the model."""
    if options.example:
        print(files("zoolab.study").joinpath("example.toml").read_text(encoding="utf-8"), end="")
        return DONE
    if options.config is None:
        raise InvalidInput("no configuration file is named", advice="zoolab experiment --example prints one")
    path = Path(options.config)
    config = read_config(path)
    folder = Path(options.out) if options.out else path.with_name(f"{path.stem}-results")
    journal = folder / "runs.jsonl"
    if journal.exists() and not options.resume:
        raise InvalidInput(
            f"{journal} is there already", advice="go on with --resume, or choose another --out"
        )
    done = _conduct(options, dict(config.arguments), journal)
    _write(done, folder, config.title)
    _say(done, folder)
    return FELL_SHORT if _say_broken(done) or done.unfinished else DONE


def _conduct(options: argparse.Namespace, arguments: dict[str, Any], journal: Path) -> Experiment:
    arguments |= {"journal": journal, "progress": not options.quiet, "workers": options.jobs}
    if options.dask:
        with dask_executor(options.dask) as executor:
            return experiment(**arguments, executor=executor)
    return experiment(**arguments, executor="processes" if options.processes else "threads")


def _write(done: Experiment, folder: Path, title: str) -> None:
    """The summary as JSONL and CSV, and the page, beside the journal."""
    rows = done.summary.astype(object).where(done.summary.notna(), None).to_dict("records")
    write_whole(folder / "summary.jsonl", (encode_line(row) + "\n" for row in rows))
    write_whole(folder / "summary.csv", [done.summary.map(_harmless).to_csv(index=False)])
    done.to_html(folder / "report.html", title=title)


def _say(done: Experiment, folder: Path) -> None:
    print(visible(repr(done)[1:-1]))
    for by in ("variant", "model"):
        if len(done) and done.summary[by].nunique() > 1 and done.summary.get("success") is not None:
            try:
                compared = done.compare(by=by)
            except InvalidInput as error:
                print(visible(str(error)), file=sys.stderr)
                continue
            for found in compared[:_COMPARED]:
                print(visible(str(found)))
    print(visible(f"{folder / 'report.html'}"))


def _say_broken(done: Experiment) -> bool:
    """Say how many runs broke off, and why one of them did; whether there are any."""
    if not len(done):
        return False
    ends, models = done.summary["outcome"], done.summary["model"]
    # A model that never came to an end was not to be had: a wrong key, no such endpoint.
    broken = done.summary[ends.isin(_BROKEN) | ~models.isin(models[ends.isin(ENDS)])]
    if len(broken):
        first = broken.iloc[0]
        where = f"the case {first['case_id']}, {first['variant']}, {first['model']}"
        why = f"{first['outcome']}: {first['error']}".splitlines()[0]
        print(visible(f"{len(broken)} of {len(done)} runs broke off; {where}: {why}"), file=sys.stderr)
    return len(broken) > 0


def _harmless(cell: Any) -> Any:
    """Text that a spreadsheet would take for a formula begins with a quotation mark."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not 1 or more")
    return number
