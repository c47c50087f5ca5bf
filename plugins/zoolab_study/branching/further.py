"""A further question in a conversation that a trace holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.loop import Tools, Walk, walk
from zoolab.records import Model
from zoolab.tools import ToolRegistry
from zoolab.trace.codec import encode_record
from zoolab.trace.log import TraceLog


def ask_further(
    trace: TraceLog,
    earlier: TraceLog,
    prompt: str | None,
    tools: Tools,
    model: Model,
    options: dict[str, Any],
) -> Walk:
    """Give an empty trace the steps of an earlier one, and return the walk that asks a further question.

    The tools stay what they were, because a trace defines them once, at its beginning.

    Raises:
        InvalidInput: The earlier trace did not end with an answer, or the options do not go on with it.
    """
    _check(trace, earlier, prompt, options)
    defined = earlier.steps[0]
    last = earlier.steps[-1]
    messages = last.messages.tolist()
    steps = walk(prompt, tools, model, messages=messages, first_turn=last.turn + 1, **options)
    registry: Any = next(steps).record
    before: Any = defined.record
    if encode_record(registry) != encode_record(before):
        steps.close()
        raise InvalidInput(
            f"the tools are {excerpt(registry.names_as_text())}",
            expected=f"those of the conversation, defined as they were: {before.names_as_text()}",
            advice="begin a new conversation to offer others",
        )
    trace.keep(earlier, len(earlier.steps))
    trace.steps[0] = defined._replace(record=registry)  # those of a file have no functions
    return steps


def _check(trace: TraceLog, earlier: Any, prompt: str | None, options: Mapping[str, Any]) -> None:
    if not isinstance(earlier, TraceLog):
        raise InvalidInput(f"go_on is {excerpt(earlier)}", expected="the trace of a conversation")
    if trace.steps:
        raise InvalidInput("trace= has steps already", expected="an empty Trace beside go_on=")
    if prompt is None:
        raise InvalidInput("there is no further question", expected="a prompt beside go_on=")
    for name in ("messages", "first_turn"):
        if name in options:
            raise InvalidInput(f"both {name}= and go_on= are given", advice="the trace has the messages")
    if not is_answered(earlier):
        turns = earlier.turns[-1:]
        waiting = [call.call.name for turn in turns for call in turn.calls.values() if call.result is None]
        raise InvalidInput(
            f"the trace did not end with an answer, but with {excerpt(earlier.outcome)}"
            + (f"; calls without a result: {excerpt(', '.join(waiting))}" if waiting else ""),
            advice="fork its last step to finish it, or go on from an earlier trace",
        )
    if not isinstance(earlier.steps[0].record, ToolRegistry):
        raise InvalidInput("the trace does not say which tools it had", advice="read it with tools=")
    opening = earlier.messages[0]
    system = options.get("system")
    said = str(opening.get("content")) if opening.get("role") == "system" else ""
    if system and system not in said:
        what = "has another system prompt" if said else "has no system prompt"
        raise InvalidInput(f"the conversation {what}", advice="begin a new one, or leave out system=")


def is_answered(trace: TraceLog) -> bool:
    """Return whether a trace ended with an answer that stands in `messages[]`: an empty reply does not."""
    last = trace.messages[-1:]
    return trace.answer is not None and [message.get("role") for message in last] == ["assistant"]
