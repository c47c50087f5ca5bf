"""`zoolab record`: keeps conversations with a model in a recording, wrong and broken replies included.

`zoolab record course --model NAME` asks a model for all that the notebooks need, and keeps a folder of
recordings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from zoolab.apis import api
from zoolab.commands.asking import DEFAULT_TOOLS, is_live, named_model
from zoolab.errors import InvalidInput, LoopError
from zoolab.files import make_folder
from zoolab.jsontext import visible
from zoolab.loop import Tools
from zoolab.models.recording import Recording, shipped
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Limits, Model
from zoolab.runs import Trace, run
from zoolab.toolbox.catalog import tools_named
from zoolab_course.commands.course import CHECKOUT, FIRST
from zoolab_course.notebooks import amount_of, ask_openings, record_notebook, recordings_of
from zoolab_study.datasets.loading import numbered_rows, read_rows

#: A model that only repeats itself is recorded for so long.
TURNS = 3


def record_conversations(options: argparse.Namespace) -> int:
    """Hold the conversations that the options name, or record the course."""
    course = options.into == "course"
    unneeded = options.dry_run if course else options.scripted
    if options.local is None and not (is_live(options) or unneeded):
        raise InvalidInput("no model is named", advice="give --local, --live, --model or --scripted")
    if course:
        return record_course(options)
    if not (options.prompt or options.prompts):
        raise InvalidInput("nothing to record", advice="give a prompt, or --prompts FILE")
    model = None if options.scripted else named_model(options)
    return record(_conversations(options), options.into, model, allow=options.yes)


def record_course(options: argparse.Namespace) -> int:
    """Ask a model for all that the notebooks need, or say how much that is; 1 if a notebook fell short.

    A model that calls more often than those of zoolab's recordings is asked more. What the folder holds
    already is not asked again, so a course that broke off goes on.
    """
    notebooks = [Path(name) for name in options.prompt]
    notebooks = notebooks or sorted((CHECKOUT / FIRST).parent.glob("[0-9]*.ipynb"))
    names = recordings_of(notebooks)
    if not names:
        raise InvalidInput("there is no notebook to record", advice="name its .ipynb file")
    if options.dry_run:
        return _say_how_much(names)
    model = named_model(options)
    folder = Path(options.folder)
    make_folder(folder)
    provider = options.provider
    address_from = api(provider or "openai").address_from
    endpoint = {"ZOOLAB_MODEL": options.model, address_from: options.base_url}
    environment = {name: value for name, value in endpoint.items() if value}
    live = provider or "endpoint" if options.local is None else options.local or "local"
    short = 0
    for notebook in notebooks:
        wrong = record_notebook(notebook, f"record:{live}", folder, environment)
        short += bool(wrong)
        print(visible(f"{notebook.stem}: {wrong or 'recorded'}"), flush=True)
    for name in names:
        prompts = shipped()[name].with_name(f"{name}-prompts.jsonl")
        if prompts.exists():
            record(read_rows(prompts), folder / f"{name}.jsonl", model, allow=True)
        ask_openings(name, model, folder)
        print(f"{name}: {len(Recording(folder / f'{name}.jsonl'))} requests", flush=True)
    print(f"to answer from it: set ZOOLAB_RECORDINGS to {visible(str(folder.absolute()))}")
    return 1 if short else 0


def _say_how_much(names: Iterable[str]) -> int:
    line = "{:<12} {:>4} requests: {:>7,} tokens, {:>6,} back"
    counted = {name: amount_of(name) for name in names}
    for name, amount in counted.items():
        print(line.format(name, *amount))
    print(line.format("about in all", *map(sum, zip(*counted.values(), strict=True))))
    return 0


def record(
    conversations: Iterable[Mapping[str, Any]], into: str | Path, model: Model | None, *, allow: bool
) -> int:
    """Hold each conversation once, and say in a line what came of it; 1 if one came to no answer.

    A conversation is a `prompt`, and if need be `tools`, `system`, `envelope` and `replies`, which a script
    says if there is no model. What the recording holds already is answered from it.
    """
    policy = Policy(ask=() if allow else ("medium", "high"))
    short = 0
    for number, asked in enumerate(conversations, 1):
        own = {name: asked[name] for name in ("system", "envelope") if name in asked}
        replay = Replay(into, live=model or Scripted(asked.get("replies") or []))
        tools = tools_named(*(asked.get("tools") or DEFAULT_TOOLS))
        trace = hold(asked["prompt"], tools, replay, policy=policy, limits=Limits(turns=TURNS), **own)
        short += trace.answer is None
        print(came_of(number, asked["prompt"], trace), flush=True)
    return 1 if short else 0


def hold(prompt: str, tools: Tools, model: Model, **options: Any) -> Trace:
    """Hold one conversation, as far as its limits let it go."""
    trace = Trace()
    with suppress(LoopError):
        run(prompt, tools, model, trace=trace, **options)
    return trace


def came_of(number: int, prompt: str, trace: Trace) -> str:
    """Return what came of a conversation, in a line."""
    calls = "; ".join(f"{call.name}({call.arguments})" for call in trace.tool_calls) or "no call"
    return visible(f"{number:>3}  {prompt} | {calls} | {trace.answer or trace.error}")


def _conversations(options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    for prompt in options.prompt:
        yield {"prompt": prompt, "tools": options.tools, "system": options.system}
    if options.prompts:
        path = Path(options.prompts)
        for number, row in numbered_rows(path, "JSONL with a prompt a line"):
            if not isinstance(row.get("prompt"), str):
                expected = '{"prompt": ..., "tools": [...]}'
                raise InvalidInput(f"{path.name}, line {number} has no prompt", expected=expected)
            yield row
