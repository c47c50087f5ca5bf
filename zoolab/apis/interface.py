"""What zoolab must know of an API, in one class for each: `Api`.

The steps that all share stand here: normalise a request, write it, and read it back; read an answer, whole or
streamed. A subclass says what differs. What an API cannot say is in `normalise` and `normalise_reply`: a
request made plain, whose way there and back changes nothing, and a warning for each change that this took.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import isabstract
from typing import Any, ClassVar

from zoolab.apis.call_deltas import CallsBySlot
from zoolab.apis.events import server_sent, too_early
from zoolab.apis.messages import function_in, raw_calls, tool_names
from zoolab.apis.plain import Manner, Notes, Path, Placed, WireWarning, plain_message, plain_messages
from zoolab.apis.reading import Reading, as_dict
from zoolab.errors import InvalidInput, ModelError
from zoolab.files import read_table
from zoolab.jsontext import excerpt, json_or
from zoolab.jsontext.readonly import MAX_LEVELS, TooDeep
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.records.exchange import Reply, Request
from zoolab.tokens import Tokens

Body = dict[str, Any]
Fields = dict[str, Any]
Tools = tuple[dict[str, Any], ...]
#: Is told what an event of a stream adds to the message, as a delta of Chat Completions.
Tell = Callable[[Message], None]

CHOICES = ("auto", "required", "none")
A_CHOICE = "tool_choice auto, required, none or a function with a name"
#: How a reply ends, in the words of Chat Completions; "incomplete" is a stream without an end.
ENDS = ("stop", "tool_calls", "length", "content_filter", "error", "incomplete")
#: The type of an error, by the HTTP status.
ERROR_KINDS = {400: "invalid_request", 401: "authentication", 404: "not_found", 429: "rate_limit"}
#: The settings of Chat Completions, and the fields of a body that are the request itself.
_SETTINGS = read_table("zoolab.apis", "settings.toml")
_REQUEST = frozenset(_SETTINGS["request"])


class Api(ABC):
    """One API: the form of its requests, replies and streams, where it is, and its words.

    A subclass sets the class variables that have no value here, and defines the abstract methods. `check`
    says what is missing. Those that begin with an underscore belong to the steps that all share.
    """

    #: The name in `APIS`, and what the views call the API.
    name: ClassVar[str]
    label: ClassVar[str]
    #: Where it stands among the others in views: the lowest number is first.
    place: ClassVar[int] = 100

    #: Where the API is, and the environment variable with another address.
    address: ClassVar[str]
    address_from: ClassVar[str]
    #: Further variables in which clients of this API look for its address.
    also_from: ClassVar[tuple[str, ...]] = ()
    #: The path of a request for a reply, and that of one for a stream if it differs; {model} is the model.
    path: ClassVar[str]
    #: If that has a query, a request without the query gets the events as one list.
    stream_path: ClassVar[str] = ""
    #: How all its paths begin, if those of no other API begin so; such as that of its list of models.
    own_paths: ClassVar[str] = ""
    #: The environment variables with the key; none if no key is needed.
    key_from: ClassVar[tuple[str, ...]] = ()
    #: The header that carries the key, and further headers.
    key_header: ClassVar[str] = "authorization"
    headers: ClassVar[Mapping[str, str]] = {}
    #: The type of the content of a stream.
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    #: Whether a reply is streamed if `stream` is not in its request.
    streams_unasked: ClassVar[bool] = False
    #: Whether a stream has the usage if `stream_options` does not ask for it.
    counts_unasked: ClassVar[bool] = True
    #: Whether it keeps replies unless `store` is false, so that `previous_response_id` may name one.
    keeps_replies: ClassVar[bool] = False
    #: Whether the proxy watches the requests of programs to this API.
    watched: ClassVar[bool] = False

    #: Its words for why a reply ended, and the word of `ENDS` for each. The first of several is the way back.
    ends: ClassVar[Mapping[str, str]]
    #: The settings of Chat Completions that have a place of the same name in its body.
    settings: ClassVar[frozenset[str]] = frozenset()
    #: Those that it calls by another name or keeps under `_nest`; the first of two names is the way back.
    renamed: ClassVar[Mapping[str, str]] = {}
    #: Its own settings that a model takes by name, and those of them that stand under `_nest`.
    own: ClassVar[frozenset[str]] = frozenset()
    nested: ClassVar[frozenset[str]] = frozenset()

    #: Settings beside which it takes no temperature, so that a model of it sends none unless told to.
    instead_of_temperature: ClassVar[frozenset[str]] = frozenset()

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

    # Who asks this API

    @abstractmethod
    def recognises(self, body: Mapping[str, Any]) -> bool:
        """Whether a body is a request of this API, by its fields."""

    def asks(self, body: Mapping[str, Any]) -> bool:
        """Whether a body can be a request for a reply of this API: by default, if it has a conversation."""
        return isinstance(body.get(self._conversation), list)

    def address_said(self, said: str) -> str:
        """The address that clients make of what `address_from` says; by default it stays as it is."""
        return said or self.address

    # Tools

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        """A tool as the API expects it; `function` is what Chat Completions calls so."""
        return {"type": "function", "function": dict(function)}

    # Requests, replies and streams

    def outgoing(self, request: Request, model: str, **settings: Any) -> Body:
        """The body that a model object sends: by default that of `to_body`."""
        return self.to_body(request, model, **settings)

    def incoming(self, request: Request, reply: Reply) -> Reply:  # noqa: ARG002
        """The reply that a model object gives: by default as it came."""
        return reply

    def reply(self, answer: Any) -> Reply:
        """The reply in a whole answer; raises `ModelError` if there is none."""
        message = self.from_response(answer)
        word = self._end_said(answer)
        end = None if word is None else self.ends.get(word, word)
        finish = "tool_calls" if end == "stop" and message.get("tool_calls") else end
        usage = Tokens.of(answer.get("usage") or answer.get("usageMetadata") or answer).usage
        return Reply(message, finish, usage, answer.get("model") or answer.get("modelVersion"), raw=answer)

    def streamed(self, events: Iterable[object], tell: Tell = lambda _delta: None) -> Reply:
        """The reply in the events of a stream; `tell` hears each delta when it arrives."""
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

    def _assembled(self, events: Iterable[Body], tell: Tell) -> Body:
        try:
            return self.assemble(events, tell)
        except (TooDeep, RecursionError):
            raise ModelError(
                "the model replied with a value that is nested too deeply",
                expected=f"at most {MAX_LEVELS} levels",
            ) from None

    def _is_whole(self, answer: Body) -> bool:
        """Whether a streamed answer came to its end."""
        return self._end_said(answer) is not None

    def _cut(self, reply: Reply) -> Reply:
        """A reply whose stream ended too early; raises `ModelError` if nothing of it had come."""
        if not any(value for key, value in reply.message.items() if key != "role"):
            raise too_early()
        return replace(reply, finish_reason="incomplete")

    @abstractmethod
    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """The answer in the events of a stream, in the form that the API gives without streaming.

        `tell` gets what each event adds to the message (empty if it adds nothing). If the stream ends too
        early, the answer holds what came.
        """

    @abstractmethod
    def _end_said(self, answer: Body) -> str | None:
        """The word of the API for why the reply ended; None if the answer does not say it."""

    def response(self, reply: Reply, model: str, id: str, created: int = 0) -> Body:
        """A reply as the whole response of this API.

        `model` is the name that the program asked for, `id` what makes the ids of the response unique,
        `created` the seconds since 1970. Raises `InvalidInput` if the reply has no form here.
        """
        body = self.to_response(reply.message)
        return {**body, **self._response_fields(body, reply, model, id, created)}

    @abstractmethod
    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:
        """What the response of a reply has beside its message, or in another way than the smallest one."""

    def word_of(self, end: str | None) -> str | None:
        """The API's word for an end that cut or filtered a reply; None for any other end."""
        cut = end in ("length", "content_filter")
        return next((word for word, ours in self.ends.items() if ours == end), None) if cut else None

    @abstractmethod
    def events(self, response: Body) -> Iterator[Body]:
        """A whole response as the events of a stream, which `assemble` puts together; texts are cut here."""

    def stream_bytes(self, events: Iterable[Body]) -> Iterator[bytes]:
        """The events of a stream as bytes."""
        return server_sent(events)

    def error(self, status: int, said: str, kind: str = "") -> Body:
        """An error in the form of this API; its type is by default that of the HTTP status."""
        kind = kind or f"{ERROR_KINDS.get(status, 'server')}_error"
        return {"error": {"message": said, "type": kind, "param": None, "code": kind}}

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

    def _note_schema(self, tool: dict[str, Any], path: Path, notes: Notes) -> None:  # noqa: B027
        """Note what of a tool's schema the API may not heed."""

    # Settings

    @property
    def known(self) -> frozenset[str]:
        """The settings that a model of this API takes by name."""
        return (
            frozenset({*self.settings, *self.renamed, *self.own, *self.nested, "response_format"}) - _REQUEST
        )

    def placed(self, settings: Mapping[str, Any]) -> Fields:
        """The settings of a model, with those that stand under another field moved there."""
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
        """The name under which a setting may come back that went as `name`."""
        if name == "response_format":
            return self._answer
        theirs = self.renamed.get(name, "" if self._nest else name)
        return self._names_back.get(theirs, name)

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        homeless = set(_SETTINGS["chat"]).difference(self.settings)
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


def _with_arguments_as_written(message: Message, deltas: Iterable[Message]) -> Message:
    """A message whose calls have the arguments that the model wrote, where the API made an object of them.

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


#: What a subclass must say, with the type of each.
_NEEDED = {"name": str, "label": str, "address": str, "address_from": str, "path": str, "ends": Mapping}


def check(kind: type[Api]) -> str:
    """What an API lacks, in one sentence; empty if it has all that it needs.

    >>> class Half(Api):
    ...     name, label, ends = "half", "Half an API", {"done": "finished"}
    >>> check(Half)
    'Half has no address, address_from, path'
    """
    missing = [key for key, wanted in _NEEDED.items() if not isinstance(getattr(kind, key, None), wanted)]
    if missing:
        return f"{kind.__name__} has no {', '.join(missing)}"
    if isabstract(kind):
        return f"{kind.__name__} does not define {', '.join(sorted(kind.__abstractmethods__))}"
    if "://" not in kind.address or not kind.path.startswith("/"):
        return (
            f"the address of {kind.__name__} is {kind.address + kind.path!r}, which is not a URL with a path"
        )
    names = next((key for key in ("key_from", "also_from") if not isinstance(getattr(kind, key), tuple)), "")
    if names:
        return f"{names} of {kind.__name__} is {excerpt(getattr(kind, names))}, which is not a tuple of names"
    if kind.stream_path and kind.streams_unasked:
        return f"{kind.__name__} has a stream_path, so streams_unasked has no meaning"
    unknown = [word for word in kind.ends.values() if word not in ENDS]
    if unknown:
        return f"the ends of {kind.__name__} have {unknown[0]!r}, which is not one of {', '.join(ENDS)}"
    strange = sorted({*kind.settings, *kind.renamed}.difference(_SETTINGS["chat"], _SETTINGS["widespread"]))
    if strange:
        return (
            f"the settings of {kind.__name__} have {strange[0]!r}, which is not a setting of Chat Completions"
        )
    return ""
