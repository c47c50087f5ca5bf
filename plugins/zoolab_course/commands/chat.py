"""`zoolab chat`: several questions in one conversation, each shown as `zoolab walk` shows it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from zoolab.commands.asking import is_live, named_model
from zoolab.commands.walk import drive_on_screen, opening_of, who_answers
from zoolab.errors import InvalidInput, ReplayMiss, ZoolabError
from zoolab.jsontext import excerpt, visible
from zoolab.loop import Walk, walk
from zoolab.models.about import Wrapper
from zoolab.policy import Permissions
from zoolab.records import Reply, Request
from zoolab.runs import Trace
from zoolab.steps.define import as_registry
from zoolab.toolbox.catalog import tools_defined, tools_named
from zoolab.tools import ToolRegistry
from zoolab.trace.log import tools_of
from zoolab_study.branching.further import ask_further, is_answered

#: Lines that are no question.
_ENDS = ("", "exit", "quit")


def chat(options: argparse.Namespace) -> int:
    """Answer questions, a line each, until an empty line, `exit`, `quit` or the end of the input."""
    conversation = _Conversation(options)
    for text in _lines():
        conversation.ask(text)
    return 0


def _lines() -> Iterator[str]:
    asks = sys.stdin.isatty()
    if asks:
        print("Ask a question; an empty line ends the conversation.")
    while True:
        try:
            line = input("> ") if asks else sys.stdin.readline()
        except EOFError:
            return
        except KeyboardInterrupt:
            print()
            continue
        question = line.strip()
        if question.lower() in _ENDS:
            return
        yield question


class _Conversation:
    """What was said so far, and whoever answers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.permissions = Permissions.of_user()
        self.recorded = not is_live(options) and options.local is None
        self.model: Any = None if self.recorded else named_model(options)
        self.told = ""
        file: Path | None = options.trace
        self.trace = Trace.load(file) if file is not None and file.is_file() else Trace()
        self.tools = _tools_named(options.tools) if options.tools else _tools_again(self.trace)

    def ask(self, text: str) -> None:
        """Ask one question; if it comes to an answer, it is part of the conversation and is kept."""
        options = argparse.Namespace(**{**vars(self.options), "prompt": text, "json": False})
        name, tools, system = opening_of(options, self.tools)
        model = _EachAlone(named_model(options, name)) if self.recorded else self.model
        self._tell(who_answers(model, options))
        given: dict[str, Any] = {"policy": self.permissions}
        trace = Trace()
        if not self.trace.steps:
            begin = partial(walk, text, tools, model, system=system, **given)
        else:
            begin = partial(_further, trace, self.trace, text, tools, model, given)
        try:
            drive_on_screen(trace, begin, options)
        except KeyboardInterrupt:
            _complain("interrupted")
        except InvalidInput:
            raise
        except ReplayMiss:
            _complain(
                "this is not recorded with these tools; see zoolab walk --list, or say --local or --live"
            )
        except ZoolabError as error:
            _complain(str(error))
        else:
            if is_answered(trace):
                self._keep(trace, tools)
            else:
                _complain(f"no answer came: {trace.error or trace.outcome}")

    def _tell(self, who: str) -> None:
        told = f"{who}; it answers each question alone" if self.recorded else who
        if told != self.told:
            print(visible(told))
        self.told = told

    def _keep(self, trace: Trace, tools: ToolRegistry) -> None:
        self.trace = trace
        self.tools = tools
        if self.options.trace is not None:
            trace.save(self.options.trace)


def _further(
    trace: Trace,
    earlier: Trace,
    text: str,
    tools: ToolRegistry,
    model: Any,
    given: dict[str, Any],
    **more: Any,
) -> Walk:
    return ask_further(trace, earlier, text, tools, model, {**given, **more})


def _complain(what: str) -> None:
    print(f"zoolab: {visible(what)}", file=sys.stderr, flush=True)


class _EachAlone(Wrapper):
    """A recording, which holds single questions: it is asked each one as if nothing had been said before."""

    def __call__(self, request: Request) -> Reply:
        messages = request.messages
        asked = max((i for i, each in enumerate(messages) if each.get("role") == "user"), default=0)
        opening = [each for each in messages[: min(1, asked)] if each.get("role") == "system"]
        alone = [*opening, *messages[asked:]]
        return self._inner(Request(alone, request.tools, request.tool_choice, request.settings))


def _tools_again(trace: Trace) -> ToolRegistry | None:
    """Return the tools of a conversation from a file, with their functions; None if it has not begun."""
    if not trace.steps:
        return None
    wanted = tools_of(trace)
    found = tools_defined(wanted.schemas())
    if found.schemas() != wanted.schemas():
        advice = "name them with --tools, as MODULE:REGISTRY"
        names = excerpt(", ".join(wanted.names()))
        raise InvalidInput(f"the conversation has tools of its own: {names}", advice=advice)
    return found


def _tools_named(names: Sequence[str]) -> ToolRegistry:
    """Return the tools of the toolbox with these names, and those behind each MODULE:REGISTRY."""
    registry = ToolRegistry()
    for name in names:
        module, colon, attribute = name.partition(":")
        for tool in _registry_in(module, attribute) if colon else tools_named(name):
            registry.add(tool)
    return registry


def _registry_in(module: str, name: str) -> ToolRegistry:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return as_registry(getattr(import_module(module), name))
    except (ImportError, AttributeError) as error:
        advice = "name a registry, or a list of tools, as MODULE:REGISTRY"
        raise InvalidInput(f"cannot take {name} from {module}: {error}", advice=advice) from error
