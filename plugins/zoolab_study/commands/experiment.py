"""`zoolab experiment`: runs or resumes the experiment of a TOML file, and writes its report."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.files import read_shipped, write_whole
from zoolab.jsontext import encode_line, visible
from zoolab.text.wording import guarded
from zoolab_study import Experiment, experiment
from zoolab_study.config import read_config
from zoolab_study.jobs import dask_executor
from zoolab_study.journal import ENDS
from zoolab_study.runner import check_models

_COMPARED = 20
#: How a run ends when something else than the model, or its endpoint, went wrong.
_BROKEN = ("crashed", "failed", "invalid_input", "invalid_schema", "invalid_signature", "replay_miss")


def run_experiment(options: argparse.Namespace) -> int:
    """Do the experiment; 1 if a run is missing, or broke off for another reason than the model."""
    if options.example:
        print(read_shipped("zoolab_study", "example.toml"), end="")
        return 0
    needs("pandas", "matplotlib")  # said before the runs, and not when they are to be summed up
    if options.config is None:
        raise InvalidInput("no configuration file is named", advice="zoolab experiment --example prints one")
    title, arguments = read_config(options.config)
    folder = options.out or options.config.with_name(f"{options.config.stem}-results")
    journal = folder / "runs.jsonl"
    if journal.exists() and not options.resume:
        advice = "go on with --resume, or choose another --out"
        raise InvalidInput(f"{journal} exists already", advice=advice)
    made = {name: make() for name, make in arguments["models"].items()}
    check_models(made, journal.with_name(f"{journal.stem}.cache.jsonl"))
    settings = {"journal": journal, "progress": not options.quiet, "workers": options.jobs}
    usual = nullcontext("processes" if options.processes else "threads")
    with dask_executor(options.dask) if options.dask else usual as executor:
        done = experiment(**arguments, **settings, executor=executor)
    _write(done, folder, title)
    _tell(done)
    print(visible(f"{folder / 'report.html'}"))
    return 1 if _tell_broken(done) or done.unfinished else 0


def _write(done: Experiment, folder: Path, title: str) -> None:
    rows = done.summary.astype(object).where(done.summary.notna(), None).to_dict("records")
    write_whole(folder / "summary.jsonl", (encode_line(row) + "\n" for row in rows))
    harmless = done.summary.map(lambda cell: guarded(cell) if isinstance(cell, str) else cell)
    write_whole(folder / "summary.csv", [harmless.to_csv(index=False)])
    done.to_html(folder / "report.html", title=title)


def _tell(done: Experiment) -> None:
    print(visible(repr(done)[1:-1]))
    for by in ("variant", "model"):
        if len(done) and done.summary[by].nunique() > 1 and done.summary.get("success") is not None:
            try:
                for found in done.compare(by=by)[:_COMPARED]:
                    print(visible(str(found)))
            except InvalidInput as error:
                print(visible(str(error)), file=sys.stderr)


def _tell_broken(done: Experiment) -> bool:
    """Say how many runs broke off, and why; whether one did for another reason than the model."""
    if not len(done):
        return False
    ends = done.summary["outcome"]
    models = done.summary["model"]
    # A model that never came to an end was not to be had: a wrong key, no such endpoint.
    broken = done.summary[ends.isin(_BROKEN) | ~models.isin(models[ends.isin(ENDS)])]
    missing = done.summary[~ends.isin(ENDS)]
    if len(missing):
        first = (broken if len(broken) else missing).iloc[0]
        where = f"the case {first['case_id']}, {first['variant']}, {first['model']}"
        why = f"{first['outcome']}: {first['error']}".splitlines()[0]
        told = f"{len(missing)} of {len(done)} runs broke off; {where}: {why}; --resume asks them again"
        print(visible(told), file=sys.stderr)
    return len(broken) > 0
