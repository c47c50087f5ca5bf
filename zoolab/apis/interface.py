"""What zoolab must know of an API, in one class for each: `Api`.

`zoolab.apis.chat` is one of them. The others have another form than zoolab's own records; what these share is
in `zoolab_connect.apis.translated`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from inspect import isabstract
from typing import Any, ClassVar

from zoolab.apis.events import server_sent, too_early
from zoolab.apis.reading import Reading
from zoolab.apis.wire_warnings import WireWarning
from zoolab.errors import InvalidInput, ModelError
from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.jsontext.readonly import MAX_LEVELS, TooDeep
from zoolab.messages import Message
from zoolab.records.exchange import Reply, Request

Body = dict[str, Any]
#: Is told what an event of a stream adds to the message, as a delta of Chat Completions.
Tell = Callable[[Message], None]

CHOICES = ("auto", "required", "none")
A_CHOICE = "tool_choice auto, required, none or a function with a name"
#: How a reply ends, in the words of Chat Completions; "incomplete" is a stream without an end.
ENDS = ("stop", "tool_calls", "length", "content_filter", "error", "incomplete")
#: The type of an error, by the HTTP status.
ERROR_KINDS = {400: "invalid_request", 401: "authentication", 404: "not_found", 429: "rate_limit"}
#: The settings of Chat Completions.
SETTINGS = read_table("zoolab.apis", "settings.toml")
#: The fields of a body that are the request itself and how its reply is read; whoever leaves them out asks
#: something else.
REQUEST_FIELDS = frozenset(SETTINGS["request"])


class Api(ABC):
    """One API: the form of its requests, replies and streams, where it is, and its words.

    A subclass sets the class variables that have no value here, and defines the abstract methods. `check`
    says what is missing.
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
    #: Those that it calls by another name; the first of two names is the way back.
    renamed: ClassVar[Mapping[str, str]] = {}
    #: Its own settings that a model takes by name, and those that stand under another field of the body.
    own: ClassVar[frozenset[str]] = frozenset()
    nested: ClassVar[frozenset[str]] = frozenset()

    #: Settings beside which it takes no temperature, so that a model of it sends none unless told to.
    instead_of_temperature: ClassVar[frozenset[str]] = frozenset()

    # Who asks this API

    @abstractmethod
    def recognises(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body is a request of this API, by its fields.

        Messages alone are a request of Chat Completions; an API that recognises them is not asked.
        """

    @abstractmethod
    def asks(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body can be a request for a reply of this API."""

    def address_said(self, said: str) -> str:
        """Return the address that clients make of what `address_from` says; by default it stays as it is."""
        return said or self.address

    # Tools

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tool as the API expects it; `function` is what Chat Completions calls so."""
        return {"type": "function", "function": dict(function)}

    # Requests, replies and streams

    def outgoing(self, request: Request, model: str, **settings: Any) -> Body:
        """Return the body that a model object sends: by default that of `to_body`."""
        return self.to_body(request, model, **settings)

    def incoming(self, request: Request, reply: Reply) -> Reply:  # noqa: ARG002
        """Return the reply that a model object gives: by default as it came."""
        return reply

    @abstractmethod
    def reply(self, answer: Any) -> Reply:
        """Return the reply in a whole answer; raises `ModelError` if there is none."""

    @abstractmethod
    def streamed(self, events: Iterable[object], tell: Tell = lambda _delta: None) -> Reply:
        """Return the reply in the events of a stream; `tell` hears each delta when it arrives."""

    def _assembled(self, events: Iterable[Body], tell: Tell) -> Body:
        try:
            return self.assemble(events, tell)
        except (TooDeep, RecursionError):
            raise ModelError(
                "the model replied with a value that is nested too deeply",
                expected=f"at most {MAX_LEVELS} levels",
            ) from None

    def _cut(self, reply: Reply) -> Reply:
        """Return a reply whose stream ended too early; raises `ModelError` if nothing of it had come."""
        if not any(value for key, value in reply.message.items() if key != "role"):
            raise too_early()
        return replace(reply, finish_reason="incomplete")

    @abstractmethod
    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Return the answer in the events of a stream, in the form that the API gives without streaming.

        `tell` gets what each event adds to the message (empty if it adds nothing). If the stream ends too
        early, the answer holds what came.
        """

    @abstractmethod
    def response(self, reply: Reply, model: str, id: str, created: int = 0) -> Body:
        """Return a reply as the whole response of this API.

        `model` is the name that the program asked for, `id` what makes the ids of the response unique,
        `created` the seconds since 1970. Raises `InvalidInput` if the reply has no form here.
        """

    @abstractmethod
    def events(self, response: Body) -> Iterator[Body]:
        """Return a whole response as the events of a stream, which `assemble` puts together; texts are cut
        here.
        """

    def stream_bytes(self, events: Iterable[Body]) -> Iterator[bytes]:
        """Return the events of a stream as bytes."""
        return server_sent(events)

    def error(self, status: int, said: str, kind: str = "") -> Body:
        """Return an error in the form of this API; its type is by default that of the HTTP status."""
        kind = kind or f"{ERROR_KINDS.get(status, 'server')}_error"
        return {"error": {"message": said, "type": kind, "param": None, "code": kind}}

    @abstractmethod
    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """Return the request as this format can say it, and what of it changed."""

    def to_body(self, request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
        """Return the body of the HTTP request.

        Args:
            request: The conversation, the tools and the choice of them.
            model: The name of the model; left out if empty.
            settings: Further fields of the body. OpenAI's names are translated; what only OpenAI knows
                is left out, the others go as they are. Settings of the request itself win.

        Whoever puts an envelope around the body overrides this and `from_body`; whoever changes what the
        body itself holds, `written` and `read`, which decide what a `WireWarning` is given for.

        Raises `InvalidInput` if a message or a tool has no form here, or a result comes without its call.
        """
        named = {"model": model} if model else {}
        asked = replace(request, settings={**named, **settings, **request.settings})
        return self.written(self.normalise(asked)[0])

    @abstractmethod
    def written(self, plain: Request) -> Body:
        """Return the body of a request that is plain already."""

    @abstractmethod
    def read(self, body: Any, reading: Reading) -> Request:
        """Return the request that a body holds, as `from_body` does; `reading` is how it is read."""

    def from_body(self, body: Any, left: list[str] | None = None) -> Request:
        """Return the request that a body holds, in OpenAI's form.

        With `left`, parts that zoolab has no form for, such as an image in some APIs, are named there, and a
        text stands in their place. Raises `InvalidInput` if it is no request, or, without `left`, has such
        a part.
        """
        return self.read(body, Reading(body, "the body is", InvalidInput, left))

    @abstractmethod
    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        """Return the assistant message as it comes back, and what of it changed."""

    @abstractmethod
    def to_response(self, message: Message) -> dict[str, Any]:
        """Return the smallest response that answers with an assistant message."""

    @abstractmethod
    def from_response(self, body: Any) -> Message:
        """Return the assistant message of a response that was not streamed; raises `ModelError` if it has
        none.
        """

    # Settings

    @property
    def known(self) -> frozenset[str]:
        """The settings that a model of this API takes by name."""
        own = {*self.settings, *self.renamed, *self.own, *self.nested, "response_format"}
        return frozenset(own - REQUEST_FIELDS)

    def placed(self, settings: Mapping[str, Any]) -> Body:
        """Return the settings of a model, where they stand in the body: by default each as a field of its
        own.
        """
        return dict(settings)


def choice_of(request: Request) -> str:
    """Return the choice of a tool that a request makes; raises `InvalidInput` if it is not text."""
    choice: Any = request.tool_choice
    if not isinstance(choice, str):
        raise InvalidInput(f"tool_choice is {excerpt(choice)}", expected="auto, required, none or a name")
    return choice


#: What a subclass must say, with the type of each.
_TEXTS = ("name", "label", "address", "address_from", "path")
_NAMES: Mapping[str, type] = {
    **dict.fromkeys(("key_from", "also_from"), tuple),
    **dict.fromkeys(("settings", "own", "nested"), Set),
    "renamed": Mapping,
}
_NEEDED = {**dict.fromkeys(_TEXTS, str), "ends": Mapping, "place": int}


def check(kind: type[Api]) -> str:
    """Return what an API lacks, in one sentence; empty if it has all that it needs.

    >>> class Half(Api):
    ...     name, label, ends = "half", "Half an API", {"done": "finished"}
    >>> check(Half)
    'Half has no address, address_from, path'
    """
    if not issubclass(kind, Api):
        return f"{kind.__name__} is no subclass of zoolab.apis.Api"
    missing = [key for key, wanted in _NEEDED.items() if not isinstance(getattr(kind, key, None), wanted)]
    if missing:
        return f"{kind.__name__} has no {', '.join(missing)}"
    if isabstract(kind):
        return f"{kind.__name__} does not define {', '.join(sorted(kind.__abstractmethods__))}"
    if "://" not in kind.address or not kind.path.startswith("/"):
        return (
            f"the address of {kind.__name__} is {kind.address + kind.path!r}, which is not a URL with a path"
        )
    for key, wanted in _NAMES.items():
        if not isinstance(getattr(kind, key), wanted):
            shown = excerpt(getattr(kind, key))
            return f"{key} of {kind.__name__} is {shown}, which is not a {wanted.__name__.lower()} of names"
    if kind.stream_path and kind.streams_unasked:
        return f"{kind.__name__} has a stream_path, so streams_unasked has no meaning"
    unknown = [word for word in kind.ends.values() if word not in ENDS]
    if unknown:
        return f"the ends of {kind.__name__} have {unknown[0]!r}, which is not one of {', '.join(ENDS)}"
    strange = sorted({*kind.settings, *kind.renamed}.difference(SETTINGS["chat"], SETTINGS["widespread"]))
    if strange:
        return (
            f"the settings of {kind.__name__} have {strange[0]!r}, which is not a setting of Chat Completions"
        )
    return ""
