"""Step 3, tool_call: the reply is read. Which tools does the model ask for, in its own words?

Arguments stay the raw text that the model wrote; parsing them is the next step. What is normalised
is the rest: ids that are missing or taken, arguments that came as an object, calls hidden in prose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zoolab.errors import ModelError
from zoolab.jsontext import encode, excerpt
from zoolab.records import Message, Reply, ToolCall
from zoolab.registry import ToolRegistry
from zoolab.textcalls import TextCall, find_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class CallIds:
    """Gives every call of a conversation an id of its own.

    >>> ids = CallIds()
    >>> ids.take("a"), ids.take("a"), ids.take(None)
    ('a', 'call_1', 'call_2')
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._taken: set[str] = set()
        self._made = 0
        for message in messages:
            for call in message.get("tool_calls") or ():
                self.take(call.get("id"))

    def take(self, wanted: object) -> str:
        """The wanted id, if it is one and free; else the next free `call_N`."""
        if isinstance(wanted, str) and wanted and wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        while (made := self._next()) in self._taken:
            pass
        self._taken.add(made)
        return made

    def _next(self) -> str:
        self._made += 1
        return f"call_{self._made}"


def check_reply(reply: object) -> Reply:
    """The reply of a model, or `ModelError` where it is none.

    >>> check_reply("100")
    Traceback (most recent call last):
    zoolab.errors.ModelError: the model returned str; expected a Reply; ...
    """
    if (
        isinstance(reply, Reply)
        and isinstance(reply.message, dict)
        and reply.message.get("role") == "assistant"
    ):
        _check_json(reply.message)
        return reply
    if not isinstance(reply, Reply):
        raise ModelError(
            f"the model returned {type(reply).__name__}",
            expected="a Reply",
            advice="wrap a function that returns text or calls in Scripted(function)",
        )
    raise ModelError(f"the model replied {excerpt(reply.message)}", expected="an assistant message")


def _check_json(message: Message) -> None:
    try:
        encode(message)
    except Exception as error:
        what = f"the model replied {excerpt(message)}, which is not JSON: {type(error).__name__}: {error}"
        raise ModelError(what, expected="a message of JSON values") from error


def without_empty_calls(message: Message) -> Message:
    """Endpoints send `"tool_calls": []`, and refuse it when it comes back.

    >>> without_empty_calls({"role": "assistant", "content": "Hi", "tool_calls": []})
    {'role': 'assistant', 'content': 'Hi'}
    """
    if "tool_calls" not in message:
        return message
    return {key: value for key, value in message.items() if key != "tool_calls"}


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
    a string is searched for calls as the model families write them, plain JSON among them: the first
    object with a `name` and `arguments`. Some families write values without quotes: with `tools`, a
    registry or the parameters of each tool by name, text stays text where the schema says string.

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
    if not native and text and isinstance(reply.get("content"), str):
        return _calls_in_text(reply["content"], turn, ids, tools)
    return [_native_call(call, turn, slot, ids) for slot, call in enumerate(native)]


def message_with_calls(message: Message, calls: list[ToolCall]) -> Message:
    """The assistant message as it goes into `messages[]`: as it came, if it can be sent so, else mended.

    Only ids, types and the form of arguments are mended; names and argument texts are never touched.

    >>> call = ToolCall(1, 0, "call_1", "add", "{}")
    >>> message_with_calls({"role": "assistant", "content": None}, [call])["tool_calls"][0]["id"]
    'call_1'
    """
    came = message.get("tool_calls") or [{}] * len(calls)
    wire = [_on_the_wire(call, own) for call, own in zip(calls, came, strict=True)]
    if message.get("tool_calls") == wire and "content" in message:
        return message
    return {**message, "role": "assistant", "content": message.get("content"), "tool_calls": wire}


def _on_the_wire(call: ToolCall, came: dict[str, Any]) -> dict[str, Any]:
    """The call as it goes back; what else came with it, a thought signature for instance, goes with it."""
    function = {**came.get("function", {}), "name": call.name, "arguments": call.arguments}
    return {**came, "id": call.id, "type": "function", "function": function}


def _native_call(call: Any, turn: int, slot: int, ids: CallIds) -> ToolCall:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        raise ModelError(f"a tool call is {excerpt(call)}", expected="an object with a function")
    function = call["function"]
    name = function.get("name")
    original = call.get("id")
    own = ids.take(original)
    return ToolCall(
        turn,
        slot,
        own,
        name if isinstance(name, str) else "",
        _raw_arguments(function.get("arguments")),
        "native",
        None if own == original else (original if isinstance(original, str) else ""),
    )


def _raw_arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else encode(arguments)


def _calls_in_text(
    text: str, turn: int, ids: CallIds, tools: ToolRegistry | Mapping[str, Any] | None
) -> list[ToolCall]:
    if isinstance(tools, ToolRegistry):
        tools = {tool.name: tool.parameters for tool in tools}
    return [_text_call(found, turn, slot, ids) for slot, found in enumerate(find_calls(text, tools or {}))]


def _text_call(found: TextCall, turn: int, slot: int, ids: CallIds) -> ToolCall:
    own = ids.take(found.wanted)
    original = None if own == found.wanted else found.wanted
    return ToolCall(turn, slot, own, found.name, found.arguments, "text", original)
