"""What a story says, as plain text: sizes, times, calls, schemas, and how `messages[]` changed.

Records may come from a stranger's file, so that nothing here takes a field's type for granted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, cast

from zoolab.jsontext import excerpt
from zoolab.records import Decision, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.tools import ToolRegistry
from zoolab.trace.codec import Shown

if TYPE_CHECKING:
    from zoolab.records import Message
    from zoolab.trace.summary import MessagesDiff

_MAX_PRETTY = 20_000
_MAX_COMPARED = 500


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "step"), count(5000, "step")
    ('1 step', '5,000 steps')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(milliseconds: float) -> str:
    """How long something took.

    >>> [duration(ms) for ms in (0.2, 12, 3_400, 125_000)]
    ['under 1 ms', '12 ms', '3.4 s', '2 min 5 s']
    """
    if not math.isfinite(milliseconds):
        return "unknown"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "under 1 ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(milliseconds / 1000, 60)
    return f"{minutes:,.0f} min {seconds:.0f} s"


def size(number: int) -> str:
    """How large something is; 1 kB is 1,000 bytes.

    >>> size(512), size(52_300)
    ('512 bytes', '52 kB')
    """
    return f"{number / 1000:,.0f} kB" if number >= 1000 else f"{number} byte{'s' * (number != 1)}"


def as_text(value: Any) -> str:
    """Any value as text: text as it is, JSON if it is JSON, else Python's own form. Never fails.

    >>> as_text("ONLINE"), as_text({"a": 1}), as_text({1})
    ('ONLINE', '{"a": 1}', '{1}')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Shown):
        return value.text
    try:
        text = json.dumps(value, ensure_ascii=False)
        wide = 72 < len(text) <= _MAX_PRETTY
        return json.dumps(value, ensure_ascii=False, indent=2) if wide else text
    except (TypeError, ValueError, RecursionError):
        return _repr(value)


def python_call(name: str, arguments: Mapping[str, Any]) -> str:
    """The Python call that a tool call stands for.

    >>> python_call("add", {"a": 42, "b": 58}), python_call("f", {"not a name": 1})
    ('add(a=42, b=58)', "f(**{'not a name': 1})")
    """
    named = {key: value for key, value in arguments.items() if key.isidentifier() and not iskeyword(key)}
    others = {key: value for key, value in arguments.items() if key not in named}
    parts = [f"{key}={_repr(value)}" for key, value in named.items()]
    return f"{name}({', '.join(parts + ([f'**{_repr(others)}'] if others else []))})"


def type_of(schema: Any, depth: int = 3) -> str:
    """What a JSON Schema takes, in a few words.

    >>> type_of({"type": "array", "items": {"type": "string"}}), type_of({"enum": ["on", "off"]})
    ('array of string', 'one of "on", "off"')
    """
    if not isinstance(schema, dict) or depth == 0:
        return "anything"
    known = cast("dict[str, Any]", schema)
    if "const" in known:
        return f"only {excerpt(known['const'], 40)}"
    if isinstance(known.get("enum"), list):
        return "one of " + listed([excerpt(item, 40) for item in known["enum"]], 12)
    if isinstance(known.get("$ref"), str):
        return str(known["$ref"]).rpartition("/")[2]
    branches = known.get("anyOf", known.get("oneOf"))
    if isinstance(branches, list) and branches:
        return " or ".join(type_of(branch, depth - 1) for branch in branches[:6])
    kind = known.get("type", "anything")
    if kind == "array" and "items" in known:
        return f"array of {type_of(known['items'], depth - 1)}"
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    """The name, id and arguments of each call in a message.

    >>> calls_of({"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f"}}]})
    [('f', 'x', '')]
    """
    found: list[tuple[str, str, str]] = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        outer = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
        inner = outer.get("function")
        function = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        name, arguments = (as_text(function.get(key) or "") for key in ("name", "arguments"))
        found.append((name, as_text(outer.get("id") or ""), arguments))
    return found


def other_fields(message: Message) -> dict[str, Any]:
    """What a message has beyond what every message has.

    >>> other_fields({"role": "assistant", "content": None, "refusal": "No."})
    {'refusal': 'No.'}
    """
    usual = ("role", "content", "tool_calls", "tool_call_id")
    return {key: value for key, value in message.items() if key not in usual and value is not None}


def content_of(message: Message) -> str:
    """What a message says; empty if it says nothing. Content in parts reads as one text.

    >>> content_of({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
    'Hi'
    """
    content = message.get("content")
    if content is None:
        return ""
    if not isinstance(content, list):
        return as_text(content)
    return "\n".join(_part(part) for part in content)


def change_as_text(diff: MessagesDiff) -> str:
    """How `messages[]` changed, in words.

    >>> from zoolab.trace.log import MessagesDiff
    >>> change_as_text(MessagesDiff(2, (), ({"role": "user", "content": "Hi"},)))
    'messages[]: 2 -> 3 messages: + user "Hi"'
    >>> change_as_text(MessagesDiff(2, (), ()))
    'messages[] unchanged (2 messages)'
    """
    if diff.removed or diff.added:
        return f"messages[]: {diff}"
    return f"messages[] unchanged ({count(diff.kept, 'message')})"


def differences(before: str, after: str) -> list[tuple[str, str]]:
    """Two texts as pieces: "del" is in the first alone, "ins" in the second alone, "" in both.

    >>> differences('{a: 1}', '{"a": 1}')
    [('', '{'), ('ins', '"'), ('', 'a'), ('ins', '"'), ('', ': 1}')]
    """
    head = _common_start(before, after)
    tail = _common_start(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    pieces = [("", before[:head]), *_compared(old, new), ("", before[len(before) - tail :])]
    return [(element, text) for element, text in pieces if text]


def one_line(text: str, limit: int) -> str:
    """Text on one line, cut at `limit` characters.

    >>> one_line("a\\nb", 10), one_line("abcd", 3)
    ('a b', 'ab…')
    """
    line = " ".join(text[: limit + 1].split())
    return line if len(text) <= limit else line[: limit - 1] + "…"


def listed(items: list[str], most: int) -> str:
    """Names one after the other, at most so many.

    >>> listed(["add", "mul", "div"], 2)
    'add, mul, and 1 more'
    """
    more = len(items) - most
    shown = [one_line(item, 80) for item in items[:most]]
    return ", ".join(shown + ([f"and {more:,} more"] if more > 0 else []))


def _compared(old: str, new: str) -> list[tuple[str, str]]:
    """The middle, character by character; past a size that would take too long, as a whole."""
    if not old or not new or max(len(old), len(new)) > _MAX_COMPARED:
        return [("del", old), ("ins", new)]
    pieces: list[tuple[str, str]] = []
    for operation, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = operation == "equal"
        pieces += [("", old[a:b])] if same else [("del", old[a:b]), ("ins", new[c:d])]
    return pieces


def _common_start(a: str, b: str) -> int:
    shorter = min(len(a), len(b))
    return next((i for i in range(shorter) if a[i] != b[i]), shorter)


def _part(part: Any) -> str:
    if isinstance(part, dict):
        text = cast("dict[str, Any]", part).get("text")
        if isinstance(text, str):
            return text
    return excerpt(part, 400)


def _repr(value: Any) -> str:
    """Python's form of a value, whose class may come from anywhere and do anything."""
    try:
        return repr(value)
    except BaseException:  # `repr` may raise SystemExit
        return f"<{type(value).__name__}>"


def headline(step: Step) -> str:
    """What happened in a step, in one line.

    >>> from zoolab import Scripted, walk
    >>> [headline(step) for step in walk("Hi", [], Scripted(["Hello"]))]
    ['no tools', '1 message is sent', 'no tool is asked for: this is the answer']
    """
    return _HEADLINES[type(step.record)](step.record)


def _tools(registry: ToolRegistry) -> str:
    count = len(registry)
    names = ", ".join(tool.name for tool in registry)
    return f"{count} tool{'s' * (count != 1)}: {names}" if count else "no tools"


def _request(request: Request) -> str:
    count = len(request.prefix)
    sent = f"{count} message is sent" if count == 1 else f"{count} messages are sent"
    if not request.tools:
        return sent
    tools = f"{len(request.tools)} tool{'s' * (len(request.tools) != 1)}"
    tools += f" of {len(request.tools) + len(request.withheld)}" if request.withheld else ""
    return f"{sent} with {tools}" + (
        "" if request.tool_choice == "auto" else f", tool_choice {request.tool_choice}"
    )


def _verdict(verdict: Verdict) -> str:
    repaired = " after repair" if verdict.repair and verdict.repair.accepted else ""
    return f"may run{repaired}" if verdict.ok else f"refused: {verdict.error_code}"


def _outcome(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"failed: {outcome.error.code}"
    return f"returned {excerpt(outcome.value)} in {outcome.duration_ms:.1f} ms"


def _decision(decision: Decision) -> str:
    if decision.choice == "pending":
        return f"waits for permission: {decision.reason}"
    return f"permission: {decision.choice}"


def _result(result: Result) -> str:
    size = f"{result.data_bytes:,} byte{'s' * (result.data_bytes != 1)}"
    told = f"error {result.error_code}" if result.error_code else size
    cut = f", cut to {result.sent_bytes:,}" if result.truncated else ""
    again = f"; loop detected: {result.repeats} times the same" if result.loop_detected else ""
    return f"goes back to the model as {result.tool_call_id}: {told}{cut}{again}"


_HEADLINES: dict[type, Callable[[Any], str]] = {
    ToolRegistry: _tools,
    Request: _request,
    ToolCall: lambda call: f"the model asks for {call.name}, as {call.id}",
    Reply: lambda _reply: "no tool is asked for: this is the answer",
    Verdict: _verdict,
    Outcome: _outcome,
    Decision: _decision,
    Result: _result,
}
