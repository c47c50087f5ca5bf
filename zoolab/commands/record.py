"""`zoolab record`: keeps conversations with a model in a recording, wrong and broken replies included."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from zoolab.commands.models import DEFAULT_TOOLS, add_walk_options, is_live, model_of
from zoolab.datasets.loading import read_rows
from zoolab.errors import InvalidInput, LoopError
from zoolab.jsontext import visible
from zoolab.loop import Tools, walk
from zoolab.loop.options import WalkOptions
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Limits, Model
from zoolab.runs import Trace
from zoolab.toolbox.catalog import tools_named

#: A model that only repeats itself is recorded for so long.
TURNS = 3


def add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("into", metavar="recording", help="the recording to begin or to add to")
    parser.add_argument("prompt", nargs="*", help="what to ask")
    parser.add_argument("--prompts", metavar="FILE", help="JSONL with prompt, tools, system and replies")
    parser.add_argument(
        "--scripted", action="store_true", help="take the replies of --prompts: an authored recording"
    )
    add_walk_options(parser)
    parser.set_defaults(run=record_conversations)


def record_conversations(options: argparse.Namespace) -> int:
    """Hold the conversations that the options name."""
    if options.local is None and not is_live(options) and not options.scripted:
        advice = "give --local, --live, --model, --base-url or --scripted"
        raise InvalidInput("no model is named", advice=advice)
    if not (options.prompt or options.prompts):
        raise InvalidInput("nothing to record", advice="give a prompt, or --prompts FILE")
    model = None if options.scripted else model_of(options)
    return record(_conversations(options), options.into, model, allow=options.yes)


def record(
    conversations: Iterable[Mapping[str, Any]], into: str | Path, model: Model | None, *, allow: bool
) -> int:
    """Hold each conversation once, and say in a line what came of it; 1 if one came to no answer.

    A conversation is a `prompt`, and if need be `tools`, `system`, `envelope` and `replies`, which a script
    says if there is no model. What the recording holds already is answered from it.
    """
    policy, short = Policy(ask=() if allow else ("medium", "high")), 0
    for number, asked in enumerate(conversations, 1):
        trace = hold(
            asked["prompt"],
            tools_named(*(asked.get("tools") or DEFAULT_TOOLS)),
            Replay(into, live=model or Scripted(asked.get("replies") or [])),
            system=asked.get("system"),
            policy=policy,
            limits=Limits(turns=TURNS),
            envelope=asked.get("envelope", "json"),
        )
        short += trace.answer is None
        print(came_of(number, asked["prompt"], trace), flush=True)
    return 1 if short else 0


def hold(prompt: str, tools: Tools, model: Model, **options: Unpack[WalkOptions]) -> Trace:
    """One conversation, as far as its limits let it go."""
    trace = Trace()
    with suppress(LoopError):
        Trace.record(walk(prompt, tools, model, **options), into=trace)
    return trace


def came_of(number: int, prompt: str, trace: Trace) -> str:
    """What came of a conversation, in a line."""
    calls = "; ".join(f"{call.name}({call.arguments})" for call in trace.tool_calls) or "no call"
    return visible(f"{number:>3}  {prompt} | {calls} | {trace.answer or trace.error}")


def _conversations(options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    for prompt in options.prompt:
        yield {"prompt": prompt, "tools": options.tools, "system": options.system}
    if options.prompts:
        path = Path(options.prompts)
        for number, row in enumerate(read_rows(path, "JSONL with a prompt a line"), 1):
            if not isinstance(row.get("prompt"), str):
                expected = '{"prompt": ..., "tools": [...]}'
                raise InvalidInput(f"{path.name}, line {number} has no prompt", expected=expected)
            yield row
