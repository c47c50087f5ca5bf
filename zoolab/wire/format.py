"""The steps that all formats share: normalise a request, write it, and read it back.

A subclass of `WireFormat` says what differs: how its API carries messages, tools, the choice of them and
settings. A plain request says only what the format can say: writing it down and reading it back changes
nothing. Each change that this takes is a warning; warnings.toml has their codes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from zoolab.errors import InvalidInput, ModelError
from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt, pointer_to
from zoolab.jsontext.readonly import plain
from zoolab.records import Message, Request
from zoolab.schema.formats import TOOL_FORMATS
from zoolab.wire import chat
from zoolab.wire.chat import Reading, function_in, tool_names

Path = tuple[str | int, ...]
#: The codes of warnings, and what each says.
CODES = read_table("zoolab.wire", "warnings.toml")
#: What is compared by itself, or has a warning of its own.
_COMPARED_APART = ("role", "content", "tool_calls", "tool_call_id", "function", "arguments")


@dataclass(frozen=True, slots=True)
class WireWarning:
    """One part of a request or reply that a format cannot say, or says in another way.

    `pointer` is a JSON Pointer (RFC 6901) into the request in OpenAI's form, or into the reply.
    """

    code: str
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} at {self.pointer}: {self.message}"


class Notes(list[WireWarning]):
    """Collects warnings while a request is read."""

    def add(self, code: str | None, path: Iterable[str | int], message: str = "") -> None:
        """Add a warning, if there is a code for it; without a message it says what its code says."""
        if code is not None:
            self.append(WireWarning(code, pointer_to(path), message or CODES[code]))

    def add_if_changed(self, code: str, path: Path, message: str, before: Any, after: Any) -> None:
        """Add a warning if the two values differ."""
        if type(plain(before)) is not type(plain(after)) or before != after:
            self.add(code, path, message)

    def add_fields(self, code: str, given: Mapping[str, Any], made: Mapping[str, Any], path: Path) -> None:
        """Notes which fields of an object are left out, filled in, or have another form."""
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
        given, made, within = tool.get("function"), back.get("function"), (*path, "function")
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
    """A text that travels as it is."""
    return text, None


def as_object(text: str) -> tuple[str, str | None]:
    """Arguments that travel as an object."""
    travels = chat.arguments_object(text)
    if travels.keys() == {chat.RAW} and travels[chat.RAW] == text:
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
    """One message made plain."""
    if not isinstance(message, dict):
        raise InvalidInput(f"a message is {excerpt(message)}", expected="an object")
    own = message.get("role")
    role = own if own in manner.roles else chat.role_of(message)
    notes.add_if_changed("role_changed", (*path, "role"), "", own, role)
    made: Message = {"role": role, "content": _content(message, role, path, notes)}
    if role == "tool":
        text, code = manner.result(made["content"])
        notes.add(code, (*path, "content"))
        made |= {"tool_call_id": message.get("tool_call_id"), "content": text}
    if role == "assistant":
        calls = [
            _call(call, (*path, "tool_calls", slot), manner, notes)
            for slot, call in enumerate(chat.raw_calls(message))
        ]
        made |= {**manner.of_message(message), **({"tool_calls": calls} if calls else {})}
    notes.add_fields("message_field", message, made, path)
    return made


def without_empty(placed: list[Placed], notes: Notes) -> list[Placed]:
    """Leaves out empty messages, because the API refuses them."""
    said = []
    for index, message in placed:
        if message["role"] == "tool" or message["content"] or message.keys() - {"role", "content"}:
            said.append((index, message))
        else:
            notes.add("message_dropped", ("messages", index))
    return said


def system_apart(placed: list[Placed], notes: Notes) -> list[Message]:
    """Leaves out empty messages, and joins all system messages into one, before all other messages."""
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
    text = chat.text_of(message)
    content = text or None if role == "assistant" else text
    if isinstance(message.get("content"), list):
        notes.add("parts_joined", (*path, "content"))
    elif "content" not in message or message["content"] != content:
        notes.add("empty_content", (*path, "content"), f"it is {excerpt(content)} here")
    return content


def _call(call: Any, path: Path, manner: Manner, notes: Notes) -> dict[str, Any]:
    function = chat.function_in(call, "a tool call")
    given = function.get("arguments")
    made = chat.Reading(call, "the body is", InvalidInput).call(call.get("id"), function["name"], given)
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
    """All messages made plain, every call with an id, and every result with that of its call."""
    messages = [plain_message(m, ("messages", index), manner, notes) for index, m in enumerate(given)]
    fresh = chat.fresh_ids(messages)
    made: list[Message] = []
    for index, (message, answered) in enumerate(zip(messages, chat.answered_calls(messages), strict=True)):
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


Tools = tuple[dict[str, Any], ...]
Fields = dict[str, Any]

CHOICES = ("auto", "required", "none")
A_CHOICE = "tool_choice auto, required, none or a function with a name"
#: The names of OpenAI's settings, and those that each API has.
_SETTINGS = read_table("zoolab.wire", "settings.toml")


class WireFormat(ABC):
    """The form of one API: of its requests, there and back, and of its replies, there and back."""

    #: The name of the format in `FORMATS`.
    name: ClassVar[str]
    _manner: ClassVar[Manner] = Manner()
    #: The fields of the body for the system message, the conversation, and the choice of a tool; "" if the
    #: API has no such field.
    _system: ClassVar[str] = ""
    _conversation: ClassVar[str] = "messages"
    _choice: ClassVar[str] = "tool_choice"
    #: The field of the body that holds the renamed settings; "" if they stand in the body itself.
    _nest: ClassVar[str] = ""
    #: The field for texts at which a reply ends, if the API takes only a list of them.
    _stops: ClassVar[str] = ""
    #: Settings that this API needs, or that must not be left to it.
    _defaults: ClassVar[Mapping[str, Any]] = {}
    #: The field in which a schema of the answer goes out, and whether it may stand beside tools.
    _answer: ClassVar[str] = "response_format"
    _answer_beside_tools: ClassVar[bool] = True
    #: Whether the API refuses a result that answers no call.
    _pairs_results: ClassVar[bool] = True
    #: The types of tools that zoolab writes; a tool of another type is the API's own. None: it has no own.
    _tool_types: ClassVar[tuple[str, ...] | None] = None

    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """The request as this format can say it, and what of it changed."""
        notes, choice = Notes(), request.tool_choice
        if not isinstance(choice, str):
            raise InvalidInput(f"tool_choice is {excerpt(choice)}", expected="auto, required, none or a name")
        messages = self._messages(request, notes)
        body = self._written(replace(request, messages=[]))
        back = self.from_body(body)
        if request.tools and not back.tools:
            notes.add("tools_left_out", ("tools",))
        for index, (tool, made) in enumerate(zip(request.tools, back.tools, strict=bool(back.tools))):
            if self._is_foreign(tool):
                notes.add("foreign_tool", ("tools", index))
            else:
                notes.add_tool(tool, made, ("tools", index))
                self._note_schema(made, ("tools", index, "function", "parameters"), notes)
        if back.tool_choice != choice:
            missing = "cannot be asked for: there is no tool_choice here"
            why = missing if request.tools else "has no meaning without tools"
            notes.add("tool_choice", ("tool_choice",), f"{choice!r} {why}")
        notes.add_settings(request.settings, back.settings, self._alias)
        return replace(back, messages=messages), tuple(notes)

    def to_body(self, request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
        """The body of the HTTP request.

        Args:
            request: The conversation, the tools and the choice of them.
            model: The name of the model; left out if empty.
            settings: Further fields of the body. OpenAI's names are translated; what only OpenAI knows
                is left out, the others go as they are. Settings of the request itself win.

        Raises `InvalidInput` if a message or a tool has no form here, or a result comes without its call.
        """
        named = {"model": model} if model else {}
        asked = replace(request, settings={**named, **settings, **request.settings})
        return self._written(self.normalise(asked)[0])

    def from_body(self, body: Any) -> Request:
        """The request that a body holds, in OpenAI's form.

        Raises `InvalidInput` if it is no request, or zoolab has no form for a part of it, such as an image.
        """
        return self._read(body, Reading(body, "the body is", InvalidInput))

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        """The assistant message as it comes back, and what of it changed."""
        notes = Notes()
        return plain_message(message, (), self._manner, notes), tuple(notes)

    @abstractmethod
    def to_response(self, message: Message) -> dict[str, Any]:
        """The smallest response that answers with an assistant message."""

    def from_response(self, body: Any) -> Message:
        """The assistant message of a response that was not streamed; raises `ModelError` if it has none."""
        return self._read_reply(body, Reading(body, "the endpoint answered", ModelError))

    # Requests

    def _written(self, plain: Request) -> dict[str, Any]:
        """The body of a request that is plain already."""
        body, messages = self._fields(plain.settings), list(plain.messages)
        described, own = _answer_described(plain.settings), body.get(self._answer, {})
        if described and isinstance(own, dict) and (self._answer_beside_tools or not plain.tools):
            asked = self._answer_asked(described, own)
            body |= {self._answer: asked} if asked else {}
        if self._system and messages and messages[0]["role"] == "system":
            body[self._system] = self._told(messages.pop(0)["content"])
        body[self._conversation] = self._turns(messages)
        if plain.tools:
            body["tools"] = self._declared(plain.tools)
            if self._choice:
                body[self._choice] = self._chosen(plain.tool_choice)
        return body

    def _read(self, body: Any, reading: Reading) -> Request:
        expected = f"an object with a list of {self._conversation}"
        fields = dict(reading.object(body, expected))
        system = self._told_in(fields.pop(self._system, None), reading) if self._system else ""
        messages: list[Message] = [{"role": "system", "content": system}] if system else []
        messages += self._turns_in(fields.pop(self._conversation, ""), reading)
        if self._pairs_results:
            tool_names(messages)
        tools = self._declared_in(fields.pop("tools", None), reading)
        choice = fields.pop(self._choice, None) if self._choice else None
        chosen = "auto" if choice is None else self._chosen_in(choice, reading)
        if self._nest:
            reading.object(fields.get(self._nest, {}), f"{self._nest} that is an object")
        return Request(messages, tools, chosen, self._settings_in(fields))

    # Messages

    def _messages(self, request: Request, notes: Notes) -> Any:
        messages = self._arranged(plain_messages(request.messages, self._manner, notes), notes)
        if self._pairs_results:
            tool_names(messages)
        return messages

    def _arranged(self, placed: list[Placed], notes: Notes) -> list[Message]:  # noqa: ARG002
        return [message for _, message in placed]

    def _told(self, text: str) -> Any:
        return text

    def _told_in(self, told: Any, reading: Reading) -> str:
        return reading.text(told or "")

    @abstractmethod
    def _turns(self, messages: list[Message]) -> list[Any]:
        """The conversation, in the words of this API."""

    @abstractmethod
    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]: ...

    @abstractmethod
    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """The assistant message in a response."""

    # Tools

    def _chosen(self, choice: str) -> Any:
        """The choice of a tool: by default a word of OpenAI's, or a function by its name."""
        return choice if choice in CHOICES else {"type": "function", "name": choice}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        if choice in CHOICES:
            return str(choice)
        if reading.object(choice, A_CHOICE).get("type") != "function":
            raise reading.junk(A_CHOICE)
        return reading.text(choice.get("name"), A_CHOICE)

    def _is_foreign(self, tool: Any) -> bool:
        kind = tool.get("type") if isinstance(tool, dict) and "function" not in tool else None
        return self._tool_types is not None and isinstance(kind, str) and kind not in self._tool_types

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return [
            dict(tool) if self._is_foreign(tool) else TOOL_FORMATS[self.name](function_in(tool, "a tool"))
            for tool in tools
        ]

    def _declared_in(self, tools: Any, reading: Reading) -> Tools:
        return tuple(self._tool_in(tool, reading) for tool in reading.objects(tools, "a list of tools"))

    def _tool_in(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        if self._is_foreign(tool):
            return tool
        function = self._function(tool, reading)
        reading.text(function.get("name"), "tools with a name")
        if function.get("parameters") is not None:
            reading.object(function["parameters"], "tools whose schema is an object")
        return {"type": "function", "function": function}

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        return reading.object(tool.get("function"), "tools with a function")

    def _note_schema(self, tool: dict[str, Any], path: Path, notes: Notes) -> None:  # noqa: B027
        """Note what of a tool's schema the API may not heed."""

    # Settings

    @property
    def _renamed(self) -> dict[str, str]:
        renamed: dict[str, str] = _SETTINGS["renamed"].get(self.name, {})
        return renamed

    @property
    def _names_back(self) -> dict[str, str]:
        return {theirs: ours for ours, theirs in reversed(self._renamed.items())}

    def _alias(self, name: str) -> str:
        """The name under which a setting may come back that went as `name`."""
        if name == "response_format":
            return self._answer
        theirs = self._renamed.get(name, "" if self._nest else name)
        return self._names_back.get(theirs, name)

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        homeless = set(_SETTINGS["openai"]).difference(_SETTINGS[self.name])
        own = (self._system, self._conversation, "tools", self._choice)
        known: Fields = {}
        fields = {**self._defaults}
        for key, value in settings.items():
            if isinstance(value, str) and self._stops in (key, self._renamed.get(key)):
                value = [value]
            if key in self._renamed:
                known[self._renamed[key]] = value
            elif key not in homeless and key not in own:
                fields[key] = value
        if not self._nest:
            return {**fields, **known}
        nested = fields.get(self._nest, {})
        if not isinstance(nested, dict):
            raise InvalidInput(f"{self._nest} is {excerpt(nested)}", expected="an object")
        return {**fields, self._nest: {**known, **nested}} if known or nested else fields

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        """The field that asks for an answer with a schema; `own` is what it says already, and wins.

        `described` is from `response_format`: the `name` and the `schema`, and whether it is `strict`.
        """
        return own or described["schema"]

    def _settings_in(self, fields: Fields) -> Fields:
        settings, names = dict(fields), self._names_back
        nested = settings.pop(self._nest, {}) if self._nest else settings
        known = {names[key]: nested[key] for key in nested if key in names}
        others = {key: value for key, value in nested.items() if key not in names}
        if not self._nest:
            return {**others, **known}
        return {**settings, **({self._nest: others} if others else {}), **known}


def _answer_described(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    wanted = settings.get("response_format")
    described = wanted.get("json_schema") if isinstance(wanted, dict) else None
    known = isinstance(described, dict) and isinstance(described.get("schema"), dict)
    return described if known else None
