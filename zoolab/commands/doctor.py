"""`zoolab doctor`: can this model call tools?"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from zoolab.commands.options import add_model_options, is_live, model_of
from zoolab.course.doctor import ProbeResult, can_call_tools, examine, what_is_known
from zoolab.jsontext import encode, excerpt, visible
from zoolab.loop.about import about
from zoolab.models.replay import Replay


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_options(parser)
    parser.add_argument("--recording", help="show what a recorded model said")
    parser.add_argument("--record", metavar="FILE", help="keep what comes in a recording")
    parser.add_argument("--json", action="store_true", help="print the findings as JSONL")
    parser.set_defaults(stream=False)


def run(options: argparse.Namespace) -> int:
    """Put the probes to a model, and say of each what came and what to do."""
    model: Any = model_of(options, "doctor")
    if options.record:
        model = Replay(options.record, live=model)
    if not is_live(options) and os.environ.get("OPENAI_BASE_URL"):
        print("OPENAI_BASE_URL is set and was not asked: say --live for it", file=sys.stderr)
    if not options.json:
        name, header = about(model).name, getattr(about(model).recording, "header", None)
        who = f"{header.made}: {header.who}" if header else f"live: {name}"
        print(visible(f"{who}\nknown of it: {what_is_known(name)}"))
    results = []
    for result in examine(model):
        results.append(result)
        found = {name: getattr(result, name) for name in result.__slots__}
        print(encode(found) if options.json else visible(_as_text(result)), flush=True)
    able = can_call_tools(results)
    if not options.json:
        print("it can call tools" if able else "it cannot be relied on for tool calls")
    return 0 if able else 1


def _as_text(result: ProbeResult) -> str:
    question, came = result.sent["messages"][-1].get("content"), "nothing"
    if result.came is not None:
        came = excerpt(result.came.get("tool_calls") or result.came.get("content"), 160)
    lines = [
        f"{'ok  ' if result.ok else 'FAIL'} {result.name:<10} {result.asks} {result.verdict}",
        f"     sent {excerpt(question)}; came {came}",
    ]
    return "\n".join([*lines, f"     {result.advice}"] if result.advice else lines)
