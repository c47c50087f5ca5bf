"""Messages made plain: as an API can say them, with a named warning for each change that this took.

A plain message says only what the API can say: writing it down and reading it back changes nothing.
`zoolab.apis.wire_warnings` has the warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoolab.apis.chat import raw_calls
from zoolab.apis.reading import Reading
from zoolab.apis.wire_warnings import WireWarning, warning
from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.readonly import plain
from zoolab.messages import Message
from zoolab.messages.outgoing import RAW, sendable_name
from zoolab_connect.apis.messages import (
    answered_calls,
    arguments_object,
    arguments_text,
    fresh_ids,
    function_in,
    role_of,
    text_sent,
)

Path = tuple[str | int, ...]
#: What is compared by itself, or has a warning of its own.
_COMPARED_APART = ("role", "content", "tool_calls", "tool_call_id", "function", "arguments")


class Notes(list[WireWarning]):
    """Collects warnings while a request is read."""

    def add(self, code: str | None, path: Iterable[str | int], message: str = "") -> None:
        """Add a warning, if there is a code for it; without a message it says what its code says."""
        if code is not None:
            self.append(warning(code, path, message))

    def add_if_changed(self, code: str, path: Path, message: str, before: Any, after: Any) -> None:
        """Add a warning if the two values differ."""
        if type(plain(before)) is not type(plain(after)) or before != after:
            self.add(code, path, message)

    def add_fields(self, code: str, given: Mapping[str, Any], made: Mapping[str, Any], path: Path) -> None:
        """Note which fields of an object are left out, filled in, or have another form."""
        for key in {**given, **made}:
            where = (*path, str(key))
            if key not in made:
                self.add(code, where, "there is no place for it here")
            elif key in _COMPARED_APART:
                continue
            elif key not in given:
                self.add(code, where, f"it is {excerpt(made[key])} unless given")
            else:
                self.add_if_changed(code, where, "it has another form here", given[key], made[key])

    def add_tool(self, tool: dict[str, Any], back: dict[str, Any], path: Path) -> None:
        """Note what of a tool comes back otherwise."""
        self.add_fields("tool_field", tool, back, path)
        given = tool.get("function")
        made = back.get("function")
        within = (*path, "function")
        if isinstance(given, dict) and isinstance(made, dict):
            if given.get("strict") and "strict" not in made:
                self.add("strict", (*within, "strict"))
                given = {key: value for key, value in given.items() if key != "strict"}
            self.add_fields("tool_field", given, made, within)

    def add_settings(
        self, settings: Mapping[str, Any], back: Mapping[str, Any], alias: Callable[[str], str]
    ) -> None:
        """Note which settings come back otherwise; `alias` is the name under which one may come back."""
        renamed = set()
        for key, value in settings.items():
            other = alias(key)
            if key in back:
                self.add_if_changed("setting_changed", (key,), "it has another form here", value, back[key])
            elif other in back and (other not in settings or back[other] in (value, [value])):
                renamed.add(other)
                self.add("setting_changed", (key,), f"it comes back as {other}")
            else:
                self.add("setting_dropped", (key,))
        for key in back:
            if key not in settings and key not in renamed:
                self.add("setting_added", (key,), f"it is {excerpt(back[key])} unless given")


#: How a text comes back, and the code of the warning where that is not as it went.
ThereAndBack = Callable[[str], tuple[str, str | None]]
#: A message with its place in the request.
Placed = tuple[int, Message]


def kept(text: str) -> tuple[str, None]:
    """Return a text that travels as it is."""
    return text, None


def as_text_of_object(text: str) -> tuple[str, str | None]:
    """Return arguments that travel as the text of an object."""
    if not text.strip():
        return "{}", "arguments_rewritten"
    return text, None if arguments_text(text) == text else "arguments_wrapped"


def as_object(text: str) -> tuple[str, str | None]:
    """Return arguments that travel as an object."""
    travels = arguments_object(text)
    if travels.keys() == {RAW} and travels[RAW] == text:
        return text, "arguments_wrapped"
    back = encode(travels)
    return back, None if back == text else "arguments_rewritten"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a wire carries messages: what comes back of arguments, results and further fields."""

    arguments: ThereAndBack = as_object
    result: ThereAndBack = kept
    #: Roles beside system, user, assistant and tool.
    roles: tuple[str, ...] = ()
    #: The further fields that it keeps: by default none.
    of_message: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _message: {}
    of_call: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _call: {}


def plain_message(message: Message, path: Path, manner: Manner, notes: Notes) -> Message:
    """Return one message made plain."""
    if not isinstance(message, dict):
        raise InvalidInput(f"a message is {excerpt(message)}", expected="an object")
    own = message.get("role")
    role = own if own in manner.roles else role_of(message)
    notes.add_if_changed("role_changed", (*path, "role"), "", own, role)
    made: Message = {"role": role, "content": _content(message, role, path, notes)}
    if role == "tool":
        text, code = manner.result(made["content"])
        notes.add(code, (*path, "content"))
        made |= {"tool_call_id": message.get("tool_call_id"), "content": text}
    if role == "assistant":
        calls = [
            _call(call, (*path, "tool_calls", slot), manner, notes)
            for slot, call in enumerate(raw_calls(message))
        ]
        made |= {**manner.of_message(message), **({"tool_calls": calls} if calls else {})}
    notes.add_fields("message_field", message, made, path)
    return made


def without_empty(placed: list[Placed], notes: Notes) -> list[Placed]:
    """Leave out empty messages, because the API refuses them."""
    said = []
    for index, message in placed:
        if message["role"] == "tool" or message["content"] or message.keys() - {"role", "content"}:
            said.append((index, message))
        else:
            notes.add("message_dropped", ("messages", index))
    return said


def system_apart(placed: list[Placed], notes: Notes) -> list[Message]:
    """Leave out empty messages, and join all system messages into one, before all other messages."""
    placed = without_empty(placed, notes)
    found = [(place, *pair) for place, pair in enumerate(placed) if pair[1]["role"] == "system"]
    others = [message for _, message in placed if message["role"] != "system"]
    if not found:
        return others
    for leading, (place, index, _) in enumerate(found):
        if place != leading:
            notes.add("system_moved", ("messages", index))
        if leading:
            notes.add("system_joined", ("messages", index))
    return [{"role": "system", "content": "\n\n".join(m["content"] for _, _, m in found)}, *others]


def _content(message: Message, role: str, path: Path, notes: Notes) -> str | None:
    text = text_sent(message)
    content = text or None if role == "assistant" else text
    if isinstance(message.get("content"), list):
        notes.add("parts_joined", (*path, "content"))
    elif "content" not in message or message["content"] != content:
        notes.add("empty_content", (*path, "content"), f"it is {excerpt(content)} here")
    return content


def _call(call: Any, path: Path, manner: Manner, notes: Notes) -> dict[str, Any]:
    function = function_in(call, "a tool call")
    given = function.get("arguments")
    made = Reading(call, "the body is", InvalidInput).call(
        call.get("id"), sendable_name(function["name"]), given
    )
    text, code = manner.arguments(made["function"]["arguments"])
    if code is None and given != text:
        code = "arguments_rewritten"
    notes.add(code, (*path, "function", "arguments"))
    said = {**made["function"], "arguments": text}
    notes.add_fields("message_field", function, said, (*path, "function"))
    made |= {"function": said, **manner.of_call(call)}
    notes.add_fields("message_field", call, made, path)
    return made


def plain_messages(given: list[Message], manner: Manner, notes: Notes) -> list[Placed]:
    """Return all messages made plain, every call with an id, and every result with that of its call."""
    plainly = [plain_message(m, ("messages", index), manner, notes) for index, m in enumerate(given)]
    fresh = fresh_ids(plainly)
    made: list[Message] = []
    for index, (message, answered) in enumerate(zip(plainly, answered_calls(plainly), strict=True)):
        if answered is not None:
            id = made[answered[0]]["tool_calls"][answered[1]]["id"]
            path = ("messages", index, "tool_call_id")
            notes.add_if_changed("id_made", path, f"it is {id}", message["tool_call_id"], id)
            message = {**message, "tool_call_id": id}
        if "tool_calls" in message:
            message = {**message, "tool_calls": [dict(call) for call in message["tool_calls"]]}
            for slot, call in enumerate(message["tool_calls"]):
                if "id" not in call:
                    call["id"] = next(fresh)
                    notes.add("id_made", ("messages", index, "tool_calls", slot, "id"), f"it is {call['id']}")
        made.append(message)
    return list(enumerate(made))
