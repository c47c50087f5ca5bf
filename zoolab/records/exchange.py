"""What goes to a model and what comes back: `Request` and `Reply`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zoolab.errors import InvalidInput, ModelError
from zoolab.fault import Fault
from zoolab.jsontext import excerpt, lines_as_html
from zoolab.jsontext.readonly import ReadOnlyDict, TooDeep, read_only
from zoolab.jsontext.values import any_json, is_strict, text_or_json, without
from zoolab.messages import Message, Messages, calls_of, text_of
from zoolab.messages.ends import MEANINGS, WHOLE, End, end_of
from zoolab.messages.notes import notes_of
from zoolab.messages.outgoing import outgoing

_set = object.__setattr__
_NO_SETTINGS: Mapping[str, Any] = read_only({})
#: How many messages, or calls of a message, a notebook shows.
_SHOWN = 20
#: Words of other systems, and what zoolab calls the same. They are refused, so that nothing is rewritten.
SYNONYMS: Mapping[str, str] = {"any": "required", "remember": "always"}


class _MessagesField:
    """Keeps `Request.messages` as `Messages`, and gives it out as the list that it stands for."""

    def __get__(self, request: Request | None, owner: type | None = None) -> list[Message]:
        if request is None:
            raise AttributeError("messages has no default")
        return request.prefix.tolist()

    def __set__(self, request: Request, messages: Iterable[Message] | Messages) -> None:
        given = messages if isinstance(messages, Messages) else Messages(messages)
        _set(request, "prefix", given)


@dataclass(frozen=True)
class Request:
    """What is sent to the model: `messages` and `tools` in OpenAI's wire form.

    `tool_choice` is "auto", "required", "none" or a tool's name (see `SYNONYMS`). `settings` are
    further fields of the request's body, such as temperature.

    >>> request = Request([{"role": "user", "content": "Hi"}])
    >>> request.body(model="m")
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """

    messages: _MessagesField = _MessagesField()
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=lambda: _NO_SETTINGS)
    #: The tools that a retriever left out of this request, best first.
    withheld: tuple[Withheld, ...] = ()
    #: The messages as a view that costs nothing; `messages` makes a list.
    prefix: Messages = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (choice := self.tool_choice) in SYNONYMS:
            # A tool may have such a name; else the word would be sent as the name of a tool.
            functions = [tool.get("function") for tool in self.tools if isinstance(tool, dict)]
            if choice not in [each.get("name") for each in functions if isinstance(each, dict)]:
                expected = "auto, required, none or a tool's name"
                raise InvalidInput(f"tool_choice={choice!r}", expected=expected, advice=advice_on(choice))
        for tool in self.tools:
            if type(tool) is not ReadOnlyDict:
                _set(self, "tools", tuple(map(read_only, self.tools)))
                break
        if type(self.settings) is not ReadOnlyDict:
            _set(self, "settings", read_only(dict(self.settings)))

    def _repr_html_(self) -> str:
        total = len(self.prefix)
        offered = excerpt(self.settings) if self.settings else ""
        head = f"{total} messages, {len(self.tools)} tools, tool_choice {self.tool_choice} {offered}"
        first = max(0, total - _SHOWN)
        left_out = [f"… {first} earlier messages"] if first else []
        return lines_as_html(head, *left_out, *map(_line_of, self.prefix.since(first)))

    @property
    def changes(self) -> tuple[str, ...]:
        """What is sent in another form than it has in `messages`, a line for each change; see `outgoing`."""
        return outgoing(self.prefix)[1]

    def body(self, **settings: Any) -> dict[str, Any]:
        """Build the body of the HTTP request, with `settings` such as `model` and `temperature` added."""
        body = {**settings, **self.settings, "messages": outgoing(self.prefix)[0]}
        if self.tools:
            choice = self.tool_choice
            named = choice not in ("auto", "required", "none")
            body["tools"] = list(self.tools)
            body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
        else:
            body.pop("parallel_tool_calls", None)  # endpoints refuse it where there are no tools
        return body


def advice_on(word: str) -> str:
    """Return the word to use in place of one of other systems; empty for any other word."""
    return f'say "{SYNONYMS[word]}"' if word in SYNONYMS else ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that was not sent with a request, and why."""

    name: str
    rank: int
    score: float
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered: one assistant message, as it came."""

    message: Message
    finish_reason: str | None = None
    #: Tokens as the endpoint counted them: prompt_tokens, completion_tokens; None if it did not say.
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    #: The deltas of a streamed reply, in order; empty for a plain one.
    pieces: tuple[dict[str, Any], ...] = ()
    #: The whole response body, where there was one.
    raw: dict[str, Any] | None = None
    #: What was broken on purpose, on the way to the model and back.
    faults: tuple[Fault, ...] = ()
    #: What the model class sent, if that is more or something else than the request. With `messages` (`input`
    #: in Responses, `contents` in Gemini) it is the whole body, in the form of the API that was asked;
    #: without, the fields that were added to the request's own, such as model and seed.
    sent: Mapping[str, Any] | None = None
    #: The settings that were not sent, because the endpoint rejects them by name, and the endpoint's words.
    left_out: Mapping[str, str] = field(default_factory=lambda: _NO_SETTINGS)
    #: What of the conversation was sent in another form than it has in `messages[]`, a line for each change.
    changed: tuple[str, ...] = ()

    def body_sent(self, request: Request) -> dict[str, Any]:
        """Return the body that was sent for a request, as far as the model class told."""
        if self.sent_instead:
            return dict(self.sent_instead)
        return without({**(self.sent or {}), **request.body()}, self.left_out)

    @property
    def omissions(self) -> tuple[str, ...]:
        """What was not sent, or in another form, and why, each in one line."""
        because = "was not sent, because the endpoint rejects it"
        return (*(f"{name} {because}: {said}" for name, said in self.left_out.items()), *self.changed)

    @property
    def sent_instead(self) -> Mapping[str, Any] | None:
        """The body that was sent in place of the request; None if the request was sent."""
        whole = self.sent is not None and not self.sent.keys().isdisjoint(("messages", "input", "contents"))
        return self.sent if whole else None

    def __post_init__(self) -> None:
        """Freeze the fields. Endpoints send them of any type; what is not JSON gets the form that `any_json`
        documents.
        """
        try:
            message = read_only(self.message)
            _set(self, "message", message if is_strict(message) else read_only(any_json(message)))
            for name in ("usage", "raw", "sent"):
                given = getattr(self, name)
                if given is not None:
                    _set(self, name, _read_only_dict(given))
            if self.pieces or type(self.pieces) is not tuple:
                _set(self, "pieces", read_only(_only(dict, self.pieces)))
        except TooDeep as error:
            raise ModelError(f"the model replied with {error.what}", expected=error.expected) from None
        if self.finish_reason is not None:
            _set(self, "finish_reason", text_or_json(self.finish_reason))
        if self.model is not None:
            _set(self, "model", text_or_json(self.model))
        if self.faults or type(self.faults) is not tuple:
            _set(self, "faults", _only(Fault, self.faults))
        if self.changed or type(self.changed) is not tuple:
            _set(self, "changed", tuple(text_or_json(line) for line in _only(str, self.changed)))
        if type(self.left_out) is not ReadOnlyDict:
            texts = {text_or_json(name): text_or_json(said) for name, said in self.left_out.items()}
            _set(self, "left_out", read_only(texts))

    def _repr_html_(self) -> str:
        told = self.shortfall or ("asks for tools" if self.end == "calls" else "answered")
        return lines_as_html(told, _line_of(self.message), *self.notes)

    @property
    def text(self) -> str:
        """The text of the message; empty where there is none."""
        return text_of(self.message)

    @property
    def end(self) -> End:
        """How the reply ended: `answered`, `calls`, `cut`, `filtered`, `failed` or `empty`.

        Calls in the text are not looked for: such a reply is `answered`.
        """
        return end_of(self.message, self.finish_reason)

    @property
    def is_whole(self) -> bool:
        """Whether the reply came to its end and says something."""
        return self.end in WHOLE

    @property
    def shortfall(self) -> str:
        """What is missing if the reply is not whole, in one sentence; empty if it is whole.

        >>> Reply({"role": "assistant", "content": "It is "}, "length").shortfall
        'the reply was cut off before its end (length)'
        """
        if self.is_whole:
            return ""
        said = f" ({excerpt(self.finish_reason, 60)[1:-1]})" if self.finish_reason else ""
        return f"the reply {MEANINGS[self.end]}{said}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of a reply: what it lacks, and calls that are not read.

        These are in thoughts, beside other calls, or in a further choice.
        """
        lacks = [self.shortfall] if self.shortfall else []
        return tuple(dict.fromkeys([*lacks, *notes_of(self.message, self.finish_reason, self.raw)]))


def _line_of(message: Message) -> str:
    calls = (f"{call.name} {excerpt(call.arguments, 400)}" for call in calls_of(message)[:_SHOWN])
    return "; ".join([f"{excerpt(message.get('role'))[1:-1]}: {excerpt(text_of(message), 400)}", *calls])


def _read_only_dict(given: object) -> Mapping[str, Any] | None:
    if not isinstance(given, Mapping):
        return None
    made: Mapping[str, Any] = read_only(given if isinstance(given, dict) else dict(given))
    return made


def _only(kind: type, items: object) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, kind)) if isinstance(items, list | tuple) else ()
