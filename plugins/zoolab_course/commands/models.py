"""`zoolab local` and `doctor`: models of this machine, and a check of any model."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import Any

from zoolab.commands.asking import is_live, named_model
from zoolab.commands.listing import print_json
from zoolab.jsontext import encode, excerpt, visible
from zoolab.models.about import about
from zoolab.models.replay import Replay
from zoolab_course import here, weights
from zoolab_course.doctor import SUMMARIES, ProbeResult, can_call_tools, examine

#: What the recorded models said to the probes.
PROBED = ("doctor", "doctor-qwen")


def local(options: argparse.Namespace) -> int:
    """List the models, or fetch the weights of those that are named, or of the small ones."""
    if options.action == "fetch":
        for wanted in [weights.weights_of(name) for name in options.models or weights.SMALL]:
            size = f"{wanted.size_bytes / 1e6:,.0f} MB"
            print(f"{wanted.name}: {wanted.title}, {size}, licence {wanted.licence}", flush=True)
            print(weights.fetch(wanted, *([] if options.quiet else [_report])))
        return 0
    if options.json:
        print_json([_as_dict(name, row) for name, row in weights.TABLE.items()])
        return 0
    for name, row in weights.TABLE.items():
        here = "here" if weights.is_right(row.path, row) else f"zoolab local fetch {name}"
        runtime = "" if find_spec(row.runtime) else "; runtime missing: pip install 'zoolab[local]'"
        size = f"{row.size_bytes / 1e6:.0f} MB"
        print(f"{name:<10} {row.title:<40} {row.licence:<12} {size:>7}  {here}{runtime}")
    return 0


def _as_dict(name: str, row: weights.Weights) -> dict[str, Any]:
    told = {"title": row.title, "licence": row.licence, "size_bytes": row.size_bytes}
    here = {"here": weights.is_right(row.path, row), "runtime": find_spec(row.runtime) is not None}
    return {"name": name, **told, **here}


def _report(what: str, done: int, total: int) -> None:
    share = f" {done / 1e6:6.1f} MB {100 * done / total:3.0f} %" if total else ""
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    if sys.stderr.isatty() or done >= total:
        print(f"{what}{share}  ", end=end, file=sys.stderr, flush=True)


def doctor(options: argparse.Namespace) -> int:
    """Put the probes to a model, and say of each what came and what to do; 2 if it could not be asked.

    Without a model, show what the recorded ones said: 0, because one of them can call tools.
    """
    if options.here:
        lines = [*here.lines()]
        if options.json:
            print_json({name: fact for name, _, fact in (line.partition(": ") for line in lines)})
        else:
            print("\n".join(lines))
        return 0
    if not is_live(options) and os.environ.get("OPENAI_BASE_URL"):
        print("OPENAI_BASE_URL is set and was not asked: say --live for it", file=sys.stderr)
    named = is_live(options) or options.local is not None or options.recording or options.record
    return min(_examine(named_model(options, name), options) for name in PROBED[: 1 if named else None])


def _examine(model: Any, options: argparse.Namespace) -> int:
    if options.record:
        model = Replay(options.record, live=model)
    name = about(model).name
    if not options.json:
        header = getattr(about(model).recording, "header", None)
        print(visible(f"{header.made}: {header.who}" if header else f"live: {name}"))
    results = []
    for result in examine(model):
        results.append(result)
        found = {"model": name, **{field: getattr(result, field) for field in result.__slots__}}
        print(encode(found) if options.json else visible(_as_text(result)), flush=True)
    able = can_call_tools(results)
    if not options.json:
        for line in dict.fromkeys(line for result in results for line in result.omissions):
            print(visible(line))
        print(SUMMARIES[able])
    return {True: 0, False: 1, None: 2}[able]


def _as_text(result: ProbeResult) -> str:
    question = result.sent["messages"][-1].get("content")
    came = "nothing"
    mark = "?"
    if result.came is not None:
        came = excerpt(result.came.get("tool_calls") or result.came.get("content"), 160)
        mark = "ok" if result.ok else "FAIL"
    said = f"{mark:<4} {result.name:<10} {result.asks} {result.verdict}"
    advice = f"\n     {result.advice}" if result.advice else ""
    return f"{said}\n     sent {excerpt(question)}; came {came}{advice}"
