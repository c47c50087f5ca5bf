"""A conversation recorded by another program, as steps: only what its messages show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from zoolab.errors import InvalidSchema, ModelError
from zoolab.messages import text_of
from zoolab.records import Message, Messages, Reply, Request, Result, Step, ToolCall
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call, refuse_unfinished
from zoolab.tools import ToolRegistry


def conversation_steps(
    messages: Iterable[Message], tools: ToolRegistry | None = None, ends: Mapping[int, str] | None = None
) -> Iterator[Step]:
    """Yield the steps of a conversation in OpenAI's form: requests, calls, verdicts and results.

    Nothing runs, and how long anything took is not known. With `tools` the calls are checked against
    them. A tool message that answers no call is kept, as a result without a slot. `ends` has the
    finish reason of the messages, by their position, if it is known.
    """
    if tools is not None:
        yield Step("define", 0, None, tools, Messages([]))
    view = Messages([])
    turn = 0
    sent = 0
    open_calls: dict[str, ToolCall] = {}
    for number, message in enumerate(messages):
        before = view
        view = view.with_next(message)
        role = message.get("role")
        if role == "assistant":
            turn += 1
            yield Step("request", turn, None, Request(before), before, len(before) - sent)
            steps = [*reply_steps(Reply(message, (ends or {}).get(number)), turn, view, tools)]
            yield from steps
            calls = [step.call for step in steps if step.kind == "tool_call" and step.call is not None]
            open_calls = {call.id: call for call in calls}
        elif role == "tool":
            answered = open_calls.get(str(message.get("tool_call_id")))
            yield result_step(message, turn, view, answered)
        else:
            continue
        sent = len(view)
    if sent < len(view):
        yield Step("request", turn + 1, None, Request(view), view, len(view) - sent)


def reply_steps(reply: Reply, turn: int, view: Messages, tools: ToolRegistry | None) -> Iterator[Step]:
    """Yield the calls of a reply, and with `tools` a verdict on each; `view` holds the reply already."""
    try:
        calls = read_calls(reply.message, turn=turn)
    except ModelError:  # the message itself is shown as it is
        calls = []
    if not calls:
        yield Step("tool_call", turn, None, reply, view, 1, None, reply)
    for call in calls:
        yield Step("tool_call", turn, call.slot, call, view, int(call is calls[-1]), call, reply)
    if tools is None:
        return
    for call in calls:
        with suppress(InvalidSchema):  # nothing can be checked against such a schema
            verdict = check_call(call, tools)
            if call is calls[-1] and not reply.is_whole:
                verdict = refuse_unfinished(verdict, reply.shortfall)
            yield Step("validate", turn, call.slot, verdict, view, 0, call)


def result_step(
    message: Message, turn: int, view: Messages, call: ToolCall | None, appended: int = 1
) -> Step:
    """Return the step of the tool message at the end of `view`; `call` is what it answers, if anything."""
    text = text_of(message)
    size = len(text.encode("utf-8", "surrogatepass"))
    result = Result(text, str(message.get("tool_call_id")), size, size)
    return Step("result", turn, call.slot if call else None, result, view, appended, call)
