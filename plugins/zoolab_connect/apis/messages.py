"""Reads messages, calls and results in Chat Completions' form, to write them in the form of an API.

What has no form raises `InvalidInput`. Views use `text_of` and `calls_of` of `zoolab.messages`, which
never raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from zoolab.apis.chat import raw_calls
from zoolab.apis.conversation import ROLES
from zoolab.apis.reading import Reading
from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt, json_or
from zoolab.messages import Message, free_ids
from zoolab.messages.outgoing import RAW


def text_sent(message: Message) -> str:
    """Return the text of a message, as it is sent: of all its parts together, and empty if there is none."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(_is_text(part) for part in content):
        return "".join(part["text"] for part in content)
    raise InvalidInput(f"the content of a message is {excerpt(content)}", expected="text, or parts of text")


def role_of(message: Message) -> str:
    """Return the role of a message: system, user, assistant or tool."""
    role = message.get("role")
    if role not in ROLES:
        raise InvalidInput(f"a message has role {excerpt(role)}", expected="system, user, assistant or tool")
    return "system" if role == "developer" else str(role)


def calls_sent(message: Message) -> list[tuple[str | None, str, dict[str, Any]]]:
    """Return the id, the name and the parsed arguments of each call of an assistant message."""
    found = []
    for call in raw_calls(message):
        function = function_in(call, "a tool call")
        found.append((call.get("id"), function["name"], arguments_object(function.get("arguments") or "")))
    return found


def function_in(item: Any, what: str) -> dict[str, Any]:
    """Return the `function` of a tool or of a call."""
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidInput(f"{what} is {excerpt(item)}", expected="an object with a function that has a name")
    return function


def answered_calls(messages: Sequence[Message]) -> list[tuple[int, int] | None]:
    """Return for each message the call that it answers, as the number of its message and its slot, or None.

    A result belongs to the latest call with its id that has no result yet, because ids may repeat.
    """
    waiting: dict[str, list[tuple[int, int]]] = {}
    found: list[tuple[int, int] | None] = []
    for index, message in enumerate(messages):
        latest: dict[str, list[tuple[int, int]]] = {}
        for slot, call in enumerate(raw_calls(message)):
            latest.setdefault(call.get("id") or "", []).append((index, slot))
        waiting |= latest
        id = message.get("tool_call_id")
        answered = waiting.get(id) if isinstance(id, str) else None
        found.append((answered.pop(0) if len(answered) > 1 else answered[0]) if answered else None)
    return found


def tool_names(messages: Sequence[Message]) -> list[str]:
    """Return for each message the name of the tool whose result it is; empty if it is not a result."""
    names = []
    for message, answered in zip(messages, answered_calls(messages), strict=True):
        if answered is not None:
            index, slot = answered
            names.append(str(messages[index]["tool_calls"][slot]["function"]["name"]))
        elif message["role"] == "tool":
            id = excerpt(message.get("tool_call_id"))
            raise InvalidInput(
                f"a tool message answers {id}", expected="the id of a call that came before it"
            )
        else:
            names.append("")
    return names


def in_turns(messages: Sequence[Message]) -> list[list[tuple[Message, str]]]:
    """Return the messages in turns, each beside the tool's name if it is a result: results in a row share a
    turn.
    """
    pairs = zip(messages, tool_names(messages), strict=True)
    numbered = enumerate(pairs)
    groups = groupby(numbered, lambda each: "tool" if each[1][0]["role"] == "tool" else each[0])
    return [[pair for _, pair in group] for _, group in groups]


def fresh_ids(messages: Iterable[Message]) -> Iterator[str]:
    """Return ids that no call has yet."""
    return free_ids({call.get("id") for message in messages for call in raw_calls(message)})


def extra(item: Mapping[str, Any], vendor: str, field: str) -> Any:
    """Return a field that only one vendor's API has, as OpenAI's form keeps it: in `extra_content`; else
    None.
    """
    found = item.get("extra_content")
    for key in (vendor, field):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def kept_as(place: tuple[str, str], value: Any) -> dict[str, Any]:
    """Return the field of a message or a call that keeps what only one API has; no field if there is
    nothing.
    """
    vendor, field = place
    return {"extra_content": {vendor: {field: value}}} if value else {}


def objects_kept(message: Mapping[str, Any], place: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the objects in the list that a message keeps at a place."""
    items = extra(message, *place)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def arguments_object(text: str) -> dict[str, Any]:
    """Return arguments as an object; blank is `{}`, and text that is not a strict JSON object goes under
    `_raw`.
    """
    parsed = json_object(text)
    if parsed is None:
        return {RAW: text} if text.strip() else {}
    # An object that looks like wrapped text is wrapped too, so that the two can be told apart.
    return {RAW: text} if parsed.keys() == {RAW} and isinstance(parsed[RAW], str) else parsed


def arguments_text(text: str) -> str:
    """Return arguments as the text of an object: as they are, or as `arguments_object` has them.

    >>> arguments_text('{"a": 1.0}'), arguments_text("{a: 1}")
    ('{"a": 1.0}', '{"_raw":"{a: 1}"}')
    """
    travels = arguments_object(text)
    return encode(travels) if not text.strip() or travels == {RAW: text} else text


def json_object(text: str) -> dict[str, Any] | None:
    """Return the object that a text is in strict JSON, or None."""
    value = json_or(None, text)
    return value if isinstance(value, dict) else None


def is_error(content: str) -> bool:
    """Return whether the text of a tool message says that the tool failed, in either envelope of zoolab."""
    return content.startswith("ERROR: ") or (json_object(content) or {}).get("success") is False


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def reply_message(text: str | None, calls: list[dict[str, Any]]) -> Message:
    """Return an assistant message in OpenAI's form; empty text is None, and no calls are no `tool_calls`."""
    return {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def paired_by_place(messages: list[Message], reading: Reading) -> list[Message]:
    """Give ids to calls and results that came without: a result answers the first open call of its tool.

    A result that says whose it is has that as its `tool_name`, which is taken out.
    """
    fresh = fresh_ids(messages)
    made = []
    waiting: list[dict[str, Any]] = []
    for message in messages:
        if "tool_calls" in message:
            waiting = [
                call if "id" in call else {"id": next(fresh), **call} for call in message["tool_calls"]
            ]
            message = {**message, "tool_calls": list(waiting)}
        elif message["role"] == "tool":
            call = _answered(message, waiting, reading)
            others = {key: value for key, value in message.items() if key != "tool_name"}
            message = {**others, "tool_call_id": call["id"]}
            waiting = [other for other in waiting if other is not call]
        made.append(message)
    return made


def joined_texts(items: Iterable[Message | str], role: str) -> list[Message]:
    """Return the messages of a turn: the texts between two results are one message of this role."""
    made: list[Message] = []
    for is_text, group in groupby(items, lambda item: isinstance(item, str)):
        together: list[Any] = list(group)
        made += [{"role": role, "content": "".join(together)}] if is_text else together
    return made


def _answered(message: Message, waiting: list[dict[str, Any]], reading: Reading) -> dict[str, Any]:
    id = message["tool_call_id"]
    name = message.get("tool_name")
    if id is not None:
        return next((call for call in waiting if call["id"] == id), {"id": id})
    named = [call for call in waiting if not name or call["function"]["name"] == name]
    if not named:
        raise reading.junk("each result after its call")
    return named[0]
