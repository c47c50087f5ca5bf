"""`zoolab record`: conversations with a model, kept in a recording; wrong and broken ones too."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoolab.commands.models import DEFAULT_TOOLS, is_live, model_of
from zoolab.errors import InvalidInput, LoopError
from zoolab.jsontext import visible
from zoolab.loop import walk
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Limits
from zoolab.runs import Trace
from zoolab.toolbox.catalog import tools_named

#: A model that only repeats itself is recorded for so long.
TURNS = 3


def record(options: argparse.Namespace) -> int:
    """Hold each conversation once, and say in a line what came of it."""
    if options.local is None and not is_live(options) and not options.scripted:
        raise InvalidInput(
            "no model is named", advice="give --local, --live, --model, --base-url or --scripted"
        )
    if not (options.prompt or options.prompts):
        raise InvalidInput("nothing to record", advice="give a prompt, or --prompts FILE")
    live = None if options.scripted else model_of(options)
    short = 0
    for number, asked in enumerate(_conversations(options), 1):
        replay = Replay(options.into, live=live or Scripted(asked.get("replies") or []))
        trace = _hold(replay, asked, options.yes)
        short += trace.answer is None
        calls = "; ".join(f"{call.name}({call.arguments})" for call in trace.tool_calls)
        print(
            visible(f"{number:>3}  {asked['prompt']} | {calls or 'no call'} | {trace.answer or trace.error}"),
            flush=True,
        )
    return 1 if short else 0


def _hold(replay: Replay, asked: dict[str, Any], allow: bool) -> Trace:
    policy = Policy(ask=() if allow else ("medium", "high"))
    tools = tools_named(*(asked.get("tools") or DEFAULT_TOOLS))
    trace = Trace()
    try:
        return Trace.record(
            walk(
                asked["prompt"],
                tools,
                replay,
                system=asked.get("system"),
                policy=policy,
                limits=Limits(turns=TURNS),
                envelope=asked.get("envelope", "json"),
            ),
            into=trace,
        )
    except LoopError:
        return trace


def _conversations(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    tools = options.tools.split(",") if options.tools else None
    for prompt in options.prompt:
        yield {"prompt": prompt, "tools": tools, "system": options.system}
    if options.prompts:
        yield from _read(Path(options.prompts))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidInput(f"cannot read {path}: {reason}", expected="JSONL with a prompt a line") from None
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        try:
            asked = json.loads(line)
        except ValueError:
            asked = None
        if not isinstance(asked, dict) or not isinstance(asked.get("prompt"), str):
            raise InvalidInput(
                f"{path.name}, line {number} has no prompt", expected='{"prompt": ..., "tools": [...]}'
            )
        yield asked
