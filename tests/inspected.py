"""What the tests of the inspector share: traces in which everything happens, and one full of hostile text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from walks import TOOLS, add

from zoolab import Decision, Scripted, Tool, Trace, as_tool, run
from zoolab.errors import Problem, ZoolabError
from zoolab.models.assembly import assemble
from zoolab.records import (
    Failure,
    Fault,
    Limits,
    Messages,
    Outcome,
    Repair,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
    Withheld,
)
from zoolab.tools import ToolRegistry, ToolReturn


class Quotes:
    """Puts double quotes in the place of single ones."""

    def propose(self, raw: str, schema: dict[str, Any] | None = None) -> str:
        assert schema is not None
        return raw.replace("'", '"')


class Two:
    """Takes the first two tools, whatever is asked."""

    k = 2

    def scores(self, query: str, texts: Any) -> list[float]:
        assert query
        return [-float(i) for i, _ in enumerate(texts)]


def gone(prompt: str, tools: Any, replies: Any, **options: Any) -> Trace:
    """A run, however it ended."""
    trace = Trace()
    model = replies if callable(replies) else Scripted(replies)
    with suppress(ZoolabError):
        run(prompt, tools, model, trace=trace, **options)
    return trace


def streamed(request: Request) -> Reply:
    """One call in pieces, then an answer in pieces."""
    if request.messages[-1]["role"] == "tool":
        deltas: list[dict[str, Any]] = [{"content": "It is"}, {"content": " 100."}]
    else:
        head = {"index": 0, "id": "c", "function": {"name": "add", "arguments": ""}}
        parts = ['{"a"', ": 42, ", '"b": 58}']
        deltas = [{"tool_calls": [head]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in parts]
    chunks: list[dict[str, Any]] = [{"model": "m", "choices": [{"delta": delta}]} for delta in deltas]
    return assemble([*chunks, {"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 12}}])


def faulty(**_arguments: Any) -> ToolReturn:
    return ToolReturn(99, None, Fault("wrong_value", "result of add", "3", "99"))


def returning(value: Any) -> Tool:
    return Tool("give", "Give it.", {"type": "object"}, lambda: value)


def allow(step: Step) -> Decision:
    assert step.status == "pending"
    return Decision("once", "a person said so")


TRACES: dict[str, Trace] = {
    "answer": gone("Hi", [], ["Hello"]),
    "plain": gone("42 + 58?", TOOLS, [[("add", {"a": 42, "b": 58})], "100"], envelope="plain"),
    "errors": gone(
        "Go.", TOOLS, [[("add", {"a": "2", "c": 1}), ("fly", {}), ("add", "{a: 1")], [("fail", {})], "No."]
    ),
    "repair": gone("1 + 2?", TOOLS, [[("add", "{'a': 1}")], [("add", "{'a': 'x'}")], "3"], repair=Quotes()),
    "denied": gone("Wipe it.", TOOLS, [[("wipe", {}), ("add", {"a": 1})], "No."]),
    "allowed": gone("Wipe it.", TOOLS, [[("wipe", {})], "Done."], ask=allow),
    "streamed": gone("42 + 58?", TOOLS, streamed),
    "agent": gone(
        "Ask.",
        [as_tool("helper", "Helps.", [add], Scripted([[("add", {"a": 1})], "1"]))],
        [[("helper", {"task": "1?"})], "1"],
    ),
    "withheld": gone("Sum?", TOOLS, [[("add", {"a": 1})], "1"], retrieve=Two(), tool_choice="required"),
    "text": gone("Sum?", TOOLS, ['{"name": "add", "arguments": {"a": 1}}', "1"], calls="text"),
    "long": gone(
        "Dump.", [Tool("dump", "Dump.", {"type": "object"}, lambda: "x" * 60_000)], [[("dump", {})], "."]
    ),
    "odd": gone("Odd.", [Tool("odd", "Odd.", {"type": "object"}, lambda: {1j})], [[("odd", {})], "."]),
    "set": gone("Set.", [Tool("set", "A set.", {"type": "object"}, lambda: {2, 1})], [[("set", {})], "."]),
    "fault": gone("Add.", [Tool("add", "Add.", add.parameters, faulty)], [[("add", {"a": 1})], "99"]),
    "limit": gone("Again.", TOOLS, [[("add", {"a": 1})]] * 9, limits=Limits(turns=4)),
    "empty": Trace(),
}


def hostile(text: str) -> Trace:
    """A trace with the text wherever a stranger's file may have one."""
    user, odd = {"role": "user", "content": text}, {"role": text, "content": [{text: text}, text], text: text}
    function = {"name": text, "arguments": {text: text}}
    asks = {
        "role": "assistant",
        "content": {text: 1},
        "tool_calls": [{"id": text, "function": function}, text],
    }
    tells = {"role": "tool", "tool_call_id": [text], "content": text}
    schema = {
        "type": "object",
        "properties": {text[:500]: {"type": text[:500], "description": 5, "enum": text[:500]}},
        "required": {text[:500]: 1},
    }
    tools = ToolRegistry([Tool("add", text, schema), Tool("bad", text, {"properties": [text[:500]]})])
    problems = (Problem(text, text, text, text), Problem("invalid_arguments", text, text, text))
    call = ToolCall(1, 0, text, text, text, "native", text)
    pieces = ({"content": text, "tool_calls": [text, {"index": text, "function": {"arguments": [text]}}]},)
    reply = Reply(
        asks, text, {text: text, "prompt_tokens": text}, text, pieces, {text: [text]}, (Fault(text, text),)
    )
    told = Messages([user, odd, asks, tells])
    request = Request(
        told, ({"function": text}, {text: text}), text, {text: text}, (Withheld(text, 1, 1.0, text),)
    )
    trace = Trace(
        run_id=text, meta={"notes": {text: text, "1": text, "2": 2}, "parent": text, "forked_at": text}
    )
    verdicts = [Verdict(False, None, problems[:1]), Verdict(False, None, problems[1:] * 30)]
    verdicts += [Verdict(True, {text: text}, (), Repair(text, f"x{text}", True, problems, problems))]
    for record in (
        tools,
        request,
        call,
        reply,
        *verdicts,
        Decision("pending", text),
        Outcome({text: text}, None, 5, 5, True, TRACES["agent"], Fault(text, text, text, f"x{text}")),
        Outcome(error=Failure(text, text, text)),
        Outcome(float("nan")),
        Result(text, text, 9, 1, text, 3),
    ):
        kind = "execute" if isinstance(record, Outcome) else "result"
        trace.add(Step(kind, 1, 0, record, told, 2, call, reply if isinstance(record, ToolCall) else None, 2))
    trace.originals[2] = ToolCall(1, 0, text, text, text)
    trace.outcome, trace.error = text, text
    return trace


def long_trace() -> Trace:
    """5,002 steps."""
    replies = [[("add", {"a": i, "b": "x" if i == 500 else 1})] for i in range(1_000)]
    return gone("Long.", TOOLS, [*replies, "Done."], limits=Limits(turns=2_000))
