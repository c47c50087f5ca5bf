"""Step 3, tool_call: the reply is read. Which tools does the model ask for, in its own words?

Arguments stay the raw text that the model wrote; parsing them is the next step. What is normalised
is the rest: ids that are missing or taken, arguments that came as an object, calls hidden in prose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.messages import free_ids, text_of
from zoolab.records import Message, ToolCall
from zoolab.tools import ToolRegistry


class CallIds:
    """Gives every call of a conversation an id of its own."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._taken: set[str] = set()
        self._free = free_ids(self._taken)
        for message in messages:
            for call in message.get("tool_calls") or ():
                self.take(call.get("id"))

    def take(self, wanted: object) -> str:
        """Return the wanted id if it is valid and free, else the next free one of zoolab's own."""
        own = wanted if isinstance(wanted, str) else ""
        if not own or own in self._taken:
            own = next(self._free)
        self._taken.add(own)
        return own


def read_calls(
    reply: Message | str,
    *,
    turn: int = 1,
    ids: CallIds | None = None,
    text: bool | None = None,
    tools: ToolRegistry | Mapping[str, Any] | None = None,
) -> list[ToolCall]:
    """Read the calls out of an assistant message, or out of text.

    A message is read for its `tool_calls` (with `text=True` for its text as well, if it has none);
    a string is searched for calls as the model families write them, plain JSON among them: all objects
    with a `name` and `arguments` on lines or in fences of their own, else the first in the prose. Some
    families write values without quotes: with `tools`, a registry or the parameters of each tool by
    name, text stays text if the schema takes text. A call of a tool that does not exist is a call too.

    Returns:
        The calls by slot; none is an empty list.

    Raises:
        ModelError: The message's `tool_calls` is no list of objects.

    >>> read_calls('Sure! {"name": "add", "arguments": {"a": 1}}')[0].arguments
    '{"a": 1}'
    >>> said = "<function=pay><parameter=ref>5123</parameter></function>"
    >>> read_calls(said, tools={"pay": {"properties": {"ref": {"type": "string"}}}})[0].arguments
    '{"ref":"5123"}'
    >>> read_calls({"role": "assistant", "content": None, "tool_calls": [
    ...     {"id": "x", "type": "function", "function": {"name": "add", "arguments": ""}}]})[0].id
    'x'
    """
    ids = ids or CallIds()
    if isinstance(reply, str):
        return _calls_in_text(reply, turn, ids, tools)
    native = reply.get("tool_calls") or []
    if not isinstance(native, list):
        raise ModelError(f"tool_calls is {excerpt(native)}", expected="a list of calls")
    if not native and text:
        return _calls_in_text(text_of(reply), turn, ids, tools)
    return [_native_call(call, turn, slot, ids) for slot, call in enumerate(native)]


def message_with_calls(message: Message, calls: list[ToolCall], *, sent_natively: bool = False) -> Message:
    """Return the assistant message for `messages[]`: as it came if it can be sent so, else mended.

    Only ids, types and the form of arguments are mended; names and argument texts are never touched.

    If the tools were `sent_natively`, calls that were found in the text all the same go back as a server
    would have made them: `tool_calls`, and in `content` the words before the first call and nothing of a
    call, because Qwen's template writes both, and the model would read its call twice. The reply keeps the
    whole text.
    """
    native: list[dict[str, Any]] = message.get("tool_calls") or []
    if native and "content" in message and all(map(_came_so, calls, native)):
        return message
    content = message.get("content")
    if sent_natively and not native:
        content = _words_before(message)
    came = native or [{}] * len(calls)
    wire = []
    for call, own in zip(calls, came, strict=True):
        # What else came with a call, a thought signature for instance, goes back with it.
        function = {**own.get("function", {}), "name": call.name, "arguments": call.arguments}
        wire.append({**own, "id": call.id, "type": "function", "function": function})
    return {**message, "role": "assistant", "content": content, "tool_calls": wire}


def with_arguments(message: Message, texts: Mapping[int, str]) -> Message:
    """Replace the arguments in the calls of these slots of an assistant message."""
    calls = list(message["tool_calls"])
    for slot, text in texts.items():
        calls[slot] = {**calls[slot], "function": {**calls[slot]["function"], "arguments": text}}
    return {**message, "tool_calls": calls}


def _words_before(message: Message) -> Any:
    """Cut the content of a message at the first call in its text; parts that are not text stay."""
    from zoolab.textcalls import before_calls, find_calls

    content = message.get("content")
    text = text_of(message)
    words = before_calls(text, find_calls(text))
    others = (
        [part for part in content if not text_of({"content": [part]})] if isinstance(content, list) else []
    )
    if not others:
        return words
    return [*others, *([{"type": "text", "text": words}] if words else [])]


def _came_so(call: ToolCall, came: dict[str, Any]) -> bool:
    function = came["function"]
    return bool(
        came.get("id") == call.id
        and came.get("type") == "function"
        and function.get("name") == call.name
        and function.get("arguments") == call.arguments
    )


def _native_call(call: Any, turn: int, slot: int, ids: CallIds) -> ToolCall:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        raise ModelError(f"a tool call is {excerpt(call)}", expected="an object with a function")
    name = call["function"].get("name")
    arguments = call["function"].get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else encode(arguments)
    given = call.get("id")
    own = ids.take(given)
    original = None if own == given else given if isinstance(given, str) else ""
    return ToolCall(turn, slot, own, name if isinstance(name, str) else "", arguments, "native", original)


def _calls_in_text(
    text: str,
    turn: int,
    ids: CallIds,
    tools: ToolRegistry | Mapping[str, Any] | None,
) -> list[ToolCall]:
    from zoolab.textcalls import find_calls  # most walks have no calls in text

    if isinstance(tools, ToolRegistry):
        tools = {tool.name: tool.parameters for tool in tools}
    made = []
    for slot, found in enumerate(find_calls(text, tools or {})):
        own = ids.take(found.wanted)
        original = None if own == found.wanted else found.wanted
        made.append(ToolCall(turn, slot, own, found.name, found.arguments, "text", original))
    return made
