"""A conversation recorded by another program, as steps: only what its messages show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zoolab.errors import ModelError
from zoolab.records import Message, Messages, Reply, Request, Result, Step, ToolCall
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call
from zoolab.tools import ToolRegistry


def conversation_steps(messages: Iterable[Message], tools: ToolRegistry | None = None) -> Iterator[Step]:
    """The steps of a conversation in OpenAI's form: requests, calls, verdicts and results.

    Nothing runs, and how long anything took is not known. With `tools` the calls are checked against
    them. A tool message that answers no call is kept, as a result without a slot.
    """
    if tools is not None:
        yield Step("define", 0, None, tools, Messages([]))
    view, turn, sent = Messages([]), 0, 0
    open_calls: dict[str, ToolCall] = {}
    for message in messages:
        before, view = view, view.with_next(message)
        role = message.get("role")
        if role == "assistant":
            turn += 1
            yield Step("request", turn, None, Request(before), before, len(before) - sent)
            reply = Reply(message)
            try:
                calls = read_calls(message, turn=turn)
            except ModelError:  # the message itself is shown as it is
                calls = []
            if not calls:
                yield Step("tool_call", turn, None, reply, view, 1, None, reply)
            for call in calls:
                yield Step("tool_call", turn, call.slot, call, view, int(call is calls[-1]), call, reply)
            if tools is not None:
                for call in calls:
                    yield Step("validate", turn, call.slot, check_call(call, tools), view, 0, call)
            open_calls = {call.id: call for call in calls}
        elif role == "tool":
            answered = open_calls.get(str(message.get("tool_call_id")))
            content = message.get("content")
            text = content if isinstance(content, str) else ""
            size = len(text.encode("utf-8", "surrogatepass"))
            result = Result(text, str(message.get("tool_call_id")), size, size)
            yield Step("result", turn, answered.slot if answered else None, result, view, 1, answered)
        else:
            continue
        sent = len(view)
    if sent < len(view):
        yield Step("request", turn + 1, None, Request(view), view, len(view) - sent)
