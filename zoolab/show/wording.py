"""A step in one line, a run in numbers; values, calls, schemas and changes as plain text.

Records may come from a stranger's file, so that nothing here takes a field's type for granted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from keyword import iskeyword
from typing import Any, cast

from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.messages import text_of
from zoolab.records import Decision, Message, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.schema.checker import schema_words
from zoolab.text.wording import count, duration
from zoolab.tools import ToolRegistry
from zoolab.trace.codec import Shown
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import MessagesDiff, errors_of, tokens_used

#: How the views call outcomes, steps and decisions.
WORDS = read_table("zoolab.show", "words.toml")

_MAX_PRETTY = 20_000


def headline(step: Step) -> str:
    """Return what happened in a step, in one line."""
    match step.record:
        case ToolRegistry() as tools:
            names = ", ".join(tool.name for tool in tools)
            return f"{count(len(tools), 'tool')}: {names}" if names else "no tools"
        case Request() as request:
            sent = (
                f"{count(len(request.prefix), 'message')} {'is' if len(request.prefix) == 1 else 'are'} sent"
            )
            if not request.tools:
                return sent
            of = f" of {len(request.tools) + len(request.withheld)}" if request.withheld else ""
            choice = "" if request.tool_choice == "auto" else f", tool_choice {request.tool_choice}"
            return f"{sent} with {count(len(request.tools), 'tool')}{of}{choice}"
        case ToolCall() as call:
            return f"the model asks for {call.name}, as {call.id}"
        case Reply() as reply:
            return reply.shortfall or "no tool is asked for: this is the answer"
        case Verdict() as verdict:
            repaired = " after repair" if verdict.repair and verdict.repair.accepted else ""
            may = "may run" if step.call is not None else "the answer meets its schema"
            return f"{may}{repaired}" if verdict.ok else f"refused: {verdict.error_code}"
        case Decision(choice="pending") as decision:
            return f"waits for permission: {decision.reason}"
        case Decision() as decision:
            return f"permission: {decision.choice}{decision.reason and f' ({decision.reason})'}"
        case Outcome(error=None) as outcome:
            return f"returned {excerpt(outcome.value)} in {outcome.duration_ms:.1f} ms{_origin(outcome)}"
        case Outcome() as outcome:
            return f"failed: {cast('Any', outcome.error).code}{_origin(outcome)}"
        case Result() as result:
            told = f"error {result.error_code}" if result.error_code else count(result.data_bytes, "byte")
            cut = f", cut to {result.sent_bytes:,}" if result.truncated else ""
            again = f"; loop detected: {result.repeats} times the same" if result.loop_detected else ""
            return f"goes back to the model as {result.tool_call_id}: {told}{cut}{again}"


def _origin(outcome: Outcome) -> str:
    return f" ({WORDS['tape'][outcome.origin]})" if outcome.origin else ""


def readable(value: Any) -> str:
    """Return any value as text: text as it is, JSON if it is JSON, else Python's own form. Never fails."""
    return value if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    """Return data as JSON: on several lines if that helps the reader and costs little; else as Python shows
    it.
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False, indent=1) if 72 < len(text) < _MAX_PRETTY else text
    except (TypeError, ValueError, RecursionError):
        return python_form(value)


def python_form(value: Any) -> str:
    """Return a value as Python shows it, whatever its class does; if a file kept a part of it, that part."""
    try:
        return value.text if isinstance(value, Shown) else repr(value)
    except BaseException:  # `repr` may raise SystemExit
        return f"<{type(value).__name__}>"


def python_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the Python call that a tool call stands for.

    >>> python_call("add", {"a": 42, "b": 58}), python_call("f", {"not a name": 1})
    ('add(a=42, b=58)', "f(**{'not a name': 1})")
    """
    named = {key: value for key, value in arguments.items() if key.isidentifier() and not iskeyword(key)}
    others = {key: value for key, value in arguments.items() if key not in named}
    given = [f"{key}={python_form(value)}" for key, value in named.items()]
    return f"{name}({', '.join(given + ([f'**{python_form(others)}'] if others else []))})"


def type_of(schema: Any, depth: int = 3) -> str:
    """Return what a JSON Schema takes, in a few words: those of an error, and of a list what is in it."""
    if depth and isinstance(schema, dict) and schema.get("type") == "array" and "items" in schema:
        return f"array of {type_of(schema['items'], depth - 1)}"
    return schema_words(schema)


def other_fields(message: Message) -> dict[str, Any]:
    """Return what a message has beyond what every message has, a refusal for instance."""
    usual = ("role", "content", "tool_calls", "tool_call_id")
    return {key: value for key, value in message.items() if key not in usual and value is not None}


def content_of(message: Message) -> str:
    """Return what a message says, as people read it; empty if it says nothing.

    Texts in parts read as one text; a part of another kind is shown on a line of its own.

    >>> content_of({"content": [{"type": "text", "text": "It is 1"}, {"type": "text", "text": "00."}]})
    'It is 100.'
    """
    content = message.get("content")
    if not isinstance(content, list):
        return "" if content is None else readable(content)
    runs = groupby(content, key=lambda part: bool(text_of({"content": [part]})))
    shown: list[str] = []
    for is_text, parts in runs:
        shown += [text_of({"content": [*parts]})] if is_text else [excerpt(part, 400) for part in parts]
    return "\n".join(shown)


def change_as_text(diff: MessagesDiff) -> str:
    """Return how `messages[]` changed, in words."""
    if diff.removed or diff.added:
        return f"messages[]: {diff}"
    return f"messages[] unchanged ({count(diff.kept, 'message')})"


def prompt_of(trace: TraceLog) -> str:
    """Return the last thing that the user said before the first reply."""
    request = next((step.record for step in trace.steps if isinstance(step.record, Request)), None)
    sent = reversed(request.messages) if request is not None else ()
    return next((content_of(message) for message in sent if message.get("role") == "user"), "")


def totals_of(trace: TraceLog) -> dict[str, Any]:
    """Return tokens as the endpoints counted them, with those of sub-agents; time if known, errors, turns,
    calls.
    """
    steps = trace.steps
    tokens = tokens_used(steps)
    ms = round(trace.started[-1] * 1000, 1) if steps else 0
    return {
        "tokens_in": tokens.input,
        "tokens_out": tokens.output,
        "ms": ms,
        "time": duration(ms) if trace.began else "",
        "errors": sum(1 for _ in errors_of(steps)),
        "turns": len({step.turn for step in steps if step.kind != "define"}),
        "calls": len(trace.tool_calls),
    }


def not_read(trace: TraceLog) -> list[str]:
    """Return what the reader of another program's file did not understand, with place and reason."""
    found = trace.meta.get("not_read")
    return [each for each in found[:200] if isinstance(each, str)] if isinstance(found, list) else []
