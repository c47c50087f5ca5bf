"""A step in words: one headline and a few lines, for a terminal and for a notebook without widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from zoolab.jsontext import encode, excerpt
from zoolab.records import (
    Decision,
    Outcome,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
)
from zoolab.registry import ToolRegistry
from zoolab.schema.describe import schema_words
from zoolab.tools import Tool
from zoolab.trace.injected import mark_line, marks_of

WIDTH = 2_000


def headline(step: Step) -> str:
    """What happened in a step, in one line.

    >>> from zoolab import Scripted, walk
    >>> [headline(step) for step in walk("Hi", [], Scripted(["Hello"]))]
    ['no tools', '1 message is sent', 'no tool is asked for: this is the answer']
    """
    return _HEADLINES[type(step.record)](step.record)


def details(step: Step) -> list[str]:
    """More lines about a step; none where the headline says it all.

    >>> from zoolab import Scripted, walk
    >>> [details(step) for step in walk("Hi", [], Scripted(["Hello"]))][-1]
    ['Hello']
    """
    lines = [
        *_sent_lines(step),
        *_DETAILS.get(type(step.record), _nothing)(step),
        *map(mark_line, marks_of(step)),
    ]
    return [line if len(line) <= WIDTH else f"{line[:WIDTH]}… ({len(line):,} characters)" for line in lines]


def change(step: Step, before: int) -> str:
    """How the step changed `messages[]`, whose length was `before`.

    >>> from zoolab import Scripted, walk
    >>> steps = list(walk("Hi", [], Scripted(["Hello"])))
    >>> change(steps[1], 0), change(steps[2], 1)
    ('messages[] 0 -> 1: user', 'messages[] 1 -> 2: assistant')
    """
    after = len(step.messages)
    roles = ", ".join(str(message.get("role")) for message in step.new_messages)
    return f"messages[] {before} -> {after}" + (f": {roles}" if roles else "")


def display_lines(steps: Iterable[Step]) -> list[str]:
    """One line for people about each result: the tool, how it went, how long it took, what came.

    >>> from zoolab import Scripted, walk
    >>> display_lines(walk("Hi", [], Scripted([[("fly", {})], "I cannot."])))
    ['[fly] unknown_tool: "arguments: expected no tools at all, received ...]
    """
    lines: list[str] = []
    came: dict[tuple[int, int | None], str] = {}
    for step in steps:
        place = step.turn, step.slot
        if isinstance(step.record, Verdict | Outcome):
            came[place] = _in_short(step.record)
        elif isinstance(step.record, Result) and step.call is not None:
            lines.append(f"[{visible(step.call.name)}] {came.get(place, '')}")
    return lines


def _in_short(record: Verdict | Outcome) -> str:
    if isinstance(record, Outcome) and record.error is None:
        return f"ok in {record.duration_ms:.1f} ms: {excerpt(record.value, 200)}"
    if isinstance(record, Outcome) and record.error is not None:
        return f"{record.error.code}: {excerpt(record.error.message, 200)}"
    problems = record.problems if isinstance(record, Verdict) else ()
    return "; ".join(f"{problem.code}: {excerpt(problem.message, 200)}" for problem in problems)


def visible(text: str) -> str:
    """`text` with control characters made visible, so that no model can command a terminal.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


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


def _signature(tool: Tool) -> str:
    given, needed = tool.parameters.get("properties"), tool.parameters.get("required")
    properties: dict[str, Any] = given if isinstance(given, dict) else {}
    required: list[Any] = needed if isinstance(needed, list) else []
    parts = (f"{name}{'' if name in required else '?'}: {schema_words(s)}" for name, s in properties.items())
    return f"{tool.name}({', '.join(parts)})  {tool.description.splitlines()[0] if tool.description else ''}"


def _messages(step: Step) -> Iterator[str]:
    for message in step.new_messages:
        yield f"{message.get('role')}: {message.get('content')}"


def _sent_lines(step: Step) -> Iterator[str]:
    """What the model class sent in place of the request, or added to it; said once a reply."""
    reply = step.reply
    if reply is None or step.slot or reply.sent is None:
        return
    if reply.sent_instead is None:
        yield f"sent with: {excerpt(reply.sent, 300)}"
        return
    messages = reply.sent_instead["messages"]
    yield f"what was sent instead of the request: {excerpt(_without_messages(reply.sent_instead), 300)}"
    for message in messages if isinstance(messages, list) else [messages]:
        said = message if isinstance(message, dict) else {}
        yield f"  sent {said.get('role')}: {excerpt(said.get('content', message), 300)}"


def _without_messages(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "messages"}


def _verdict_lines(step: Step) -> Iterator[str]:
    verdict = step.record
    if not isinstance(verdict, Verdict):
        return
    if verdict.repair is not None:
        silence = verdict.repair.silence
        yield f"not repaired: {silence}" if silence else f"repair proposed: {verdict.repair.proposed}"
    if verdict.ok:
        yield f"arguments: {encode(verdict.arguments)}"
    yield from (problem.message for problem in verdict.problems)


def _outcome_lines(step: Step) -> Iterator[str]:
    if isinstance(step.record, Outcome):
        if step.record.error is not None:
            yield step.record.error.message
        if step.record.stdout:
            yield f"printed: {step.record.stdout.rstrip()}"


def _nothing(_step: Step) -> Iterator[str]:
    return iter(())


_DETAILS: dict[type, Callable[[Any], Iterator[str]]] = {
    ToolRegistry: lambda step: (_signature(tool) for tool in step.record),
    Request: _messages,
    ToolCall: lambda step: iter([f"{step.record.name}({step.record.arguments})"]),
    Reply: lambda step: iter([step.record.text]),
    Verdict: _verdict_lines,
    Outcome: _outcome_lines,
    Result: lambda step: iter([step.record.content]),
}
