"""What the APIs beside Chat Completions share: requests and replies that are made plain, then translated.

The steps stand here: normalise a request, write it, and read it back; read an answer, whole or streamed. A
subclass says what differs. What an API cannot say is in `normalise` and `normalise_reply`: a request made
plain, whose way there and back changes nothing, and a warning for each change that this took.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.apis.call_deltas import CallsBySlot
from zoolab.apis.chat import raw_calls
from zoolab.apis.events import too_early
from zoolab.apis.interface import A_CHOICE, CHOICES, SETTINGS, Api, Body, Tell, choice_of
from zoolab.apis.reading import Reading, as_dict
from zoolab.apis.wire_warnings import WireWarning
from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import excerpt, json_or
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.records.exchange import Reply, Request
from zoolab.tokens import Tokens
from zoolab_connect.apis.messages import function_in, tool_names
from zoolab_connect.apis.plain import Manner, Notes, Path, Placed, plain_message, plain_messages

Fields = dict[str, Any]
Tools = tuple[dict[str, Any], ...]


class Translated(Api):
    """An API that is not Chat Completions.

    A subclass sets the class variables of `Api` that have no value there, and defines the abstract methods.
    """

    _manner: ClassVar[Manner] = Manner()
    #: The fields of the body for the system message, the conversation, and the choice of a tool; "" if the
    #: API has no such field.
    _system: ClassVar[str] = ""
    _conversation: ClassVar[str] = "messages"
    _choice: ClassVar[str] = "tool_choice"
    #: The field of the body that holds the renamed and the nested settings; "" if they stand in the body
    #: itself.
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

    def asks(self, body: Mapping[str, Any]) -> bool:
        """Return whether it has a conversation."""
        return isinstance(body.get(self._conversation), list)

    # Replies and streams

    def reply(self, answer: Any) -> Reply:
        """Return the reply in a whole answer; raises `ModelError` if there is none."""
        message = self.from_response(answer)
        word = self._end_said(answer)
        end = None if word is None else self.ends.get(word, word)
        finish = "tool_calls" if end == "stop" and message.get("tool_calls") else end
        usage = Tokens.of(answer.get("usage") or answer.get("usageMetadata") or answer).usage
        return Reply(message, finish, usage, answer.get("model") or answer.get("modelVersion"), raw=answer)

    def streamed(self, events: Iterable[object], tell: Tell = lambda _delta: None) -> Reply:
        """Return the reply in the events of a stream; `tell` hears each delta when it arrives."""
        pieces: list[Message] = []

        def keep(delta: Message) -> None:
            if delta:
                pieces.append(delta)
                tell(delta)

        answer = self._assembled(map(as_dict, events), keep)
        whole = self._is_whole(answer)
        try:
            reply = self.reply(answer)
        except ModelError:
            if whole:
                raise
            raise too_early() from None
        message = _with_arguments_as_written(reply.message, pieces)
        reply = replace(reply, message=message, pieces=tuple(pieces))
        return reply if whole else self._cut(reply)

    def _is_whole(self, answer: Body) -> bool:
        """Return whether a streamed answer came to its end."""
        return self._end_said(answer) is not None

    @abstractmethod
    def _end_said(self, answer: Body) -> str | None:
        """Return the word of the API for why the reply ended; None if the answer does not say it."""

    def response(self, reply: Reply, model: str, id: str, created: int = 0) -> Body:
        """Return a reply as the whole response of this API.

        `model` is the name that the program asked for, `id` what makes the ids of the response unique,
        `created` the seconds since 1970. Raises `InvalidInput` if the reply has no form here.
        """
        body = self.to_response(reply.message)
        return {**body, **self._response_fields(body, reply, model, id, created)}

    @abstractmethod
    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:
        """Return what the response of a reply has beside its message, or in another way than the smallest
        one.
        """

    def word_of(self, end: str | None) -> str | None:
        """Return the API's word for an end that cut or filtered a reply; None for any other end."""
        cut = end in ("length", "content_filter")
        return next((word for word, ours in self.ends.items() if ours == end), None) if cut else None

    # Requests

    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """Return the request as this format can say it, and what of it changed."""
        notes = Notes()
        choice = choice_of(request)
        messages = self._messages(request, notes)
        body = self.written(replace(request, messages=[]))
        back = self.read(body, Reading(body, "the body is", InvalidInput))
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

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        """Return the assistant message as it comes back, and what of it changed."""
        notes = Notes()
        return plain_message(message, (), self._manner, notes), tuple(notes)

    def from_response(self, body: Any) -> Message:
        """Return the assistant message of a response that was not streamed; raises `ModelError` if it has
        none.
        """
        return self._read_reply(body, Reading(body, "the endpoint answered", ModelError))

    def written(self, plain: Request) -> dict[str, Any]:
        """Return the body of a request that is plain already."""
        body = self._fields(plain.settings)
        messages = list(plain.messages)
        described = _answer_described(plain.settings)
        own = body.get(self._answer, {})
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

    def read(self, body: Any, reading: Reading) -> Request:
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
        """Return the conversation, in the words of this API."""

    @abstractmethod
    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]: ...

    @abstractmethod
    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """Return the assistant message in a response."""

    # Tools

    def _chosen(self, choice: str) -> Any:
        """Return the choice of a tool: by default a word of OpenAI's, or a function by its name."""
        return choice if choice in CHOICES else {"type": "function", "name": choice}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        if choice in CHOICES:
            return str(choice)
        kind = reading.object(choice, A_CHOICE).get("type")
        if kind in ("function", "custom"):
            return reading.text(choice.get("name"), A_CHOICE)
        reading.leave(f"the choice of {kind}", A_CHOICE)
        mode = choice.get("mode", "required")
        return mode if mode in CHOICES else "required"

    def _is_foreign(self, tool: Any) -> bool:
        kind = tool.get("type") if isinstance(tool, dict) and "function" not in tool else None
        return self._tool_types is not None and isinstance(kind, str) and kind not in self._tool_types

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return [
            dict(tool) if self._is_foreign(tool) else self.tool_form(function_in(tool, "a tool"))
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

    def _note_schema(self, tool: dict[str, Any], path: Path, notes: Notes) -> None:
        """Note what of a tool's schema the API may not heed."""

    # Settings

    def placed(self, settings: Mapping[str, Any]) -> Fields:
        """Return the settings of a model, with those that stand under another field moved there."""
        moved = {name: value for name, value in settings.items() if name in self.nested}
        if not moved:
            return dict(settings)
        holder = settings.get(self._nest, {})
        if not isinstance(holder, Mapping):
            raise InvalidInput(f"{self._nest} is {excerpt(holder)}", expected="an object")
        return {**without(settings, moved), self._nest: {**moved, **holder}}

    @property
    def _names_back(self) -> dict[str, str]:
        return {theirs: ours for ours, theirs in reversed([*self.renamed.items()])}

    def _alias(self, name: str) -> str:
        """Return the name under which a setting may come back that went as `name`."""
        if name == "response_format":
            return self._answer
        theirs = self.renamed.get(name, "" if self._nest else name)
        return self._names_back.get(theirs, name)

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        homeless = set(SETTINGS["chat"]).difference(self.settings)
        own = (self._system, self._conversation, "tools", self._choice)
        known: Fields = {}
        fields = {**self._defaults}
        for key, value in settings.items():
            if isinstance(value, str) and self._stops in (key, self.renamed.get(key)):
                value = [value]
            if key in self.renamed:
                known[self.renamed[key]] = value
            elif key not in homeless and key not in own:
                fields[key] = value
        if not self._nest:
            return {**fields, **known}
        nested = fields.get(self._nest, {})
        if not isinstance(nested, dict):
            raise InvalidInput(f"{self._nest} is {excerpt(nested)}", expected="an object")
        return {**fields, self._nest: {**known, **nested}} if known or nested else fields

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        """Return the field that asks for an answer with a schema; `own` is what it says already, and wins.

        `described` is from `response_format`: the `name` and the `schema`, and whether it is `strict`.
        """
        return own or described["schema"]

    def _settings_in(self, fields: Fields) -> Fields:
        settings = dict(fields)
        names = self._names_back
        nested = settings.pop(self._nest, {}) if self._nest else settings
        known = {names[key]: nested[key] for key in nested if key in names}
        others = {key: value for key, value in nested.items() if key not in names}
        if not self._nest:
            return {**others, **known}
        return {**settings, **({self._nest: others} if others else {}), **known}


def our_word(theirs: Any, words: Mapping[str, str], reading: Reading, expected: str) -> str:
    """Return our word for one of another API's; `words` has theirs by ours."""
    for ours, known in words.items():
        if theirs == known:
            return ours
    raise reading.junk(expected)


def _answer_described(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    wanted = settings.get("response_format")
    described = wanted.get("json_schema") if isinstance(wanted, dict) else None
    known = isinstance(described, dict) and isinstance(described.get("schema"), dict)
    return described if known else None


def _with_arguments_as_written(message: Message, deltas: Iterable[Message]) -> Message:
    """Return a message whose calls have the arguments that the model wrote, where the API made an object of
    them.

    What the deltas lack, or have twice, is taken from the answer.
    """
    calls = CallsBySlot()
    for delta in deltas:
        calls.add_all(delta.get("tool_calls"))
    written = [call["function"]["arguments"] for call in calls.whole()]
    made = raw_calls(message)
    if len(written) != len(made) or not made:
        return message
    own = [
        {**call, "function": {**call["function"], "arguments": text}}
        if text.strip() and _says_the_same(call["function"]["arguments"], text)
        else call
        for call, text in zip(made, written, strict=True)
    ]
    return {**message, "tool_calls": own}


def _says_the_same(made: str, written: str) -> bool:
    return not made.strip() or json_or(..., made) == json_or(None, written)
