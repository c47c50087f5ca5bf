"""The records that travel through a walk, one for each door; and the limits of a walk.

    define     ToolRegistry   the tools that the model may choose from
    request    Request        what is sent
    tool_call  ToolCall       what the model asked for (or Reply, when it asked for nothing)
    validate   Verdict        whether that may run, and what is wrong with it
    execute    Outcome        what running it gave (or Decision, while permission is pending)
    result     Result         the tool message that goes back

All are read-only, all the way down: a record copies the dicts and lists that it is given, and to change
what it hands out raises `ReadOnlyRecord`. Make an edited record with `dataclasses.replace`, and answer the
step with it. What is on the wire (messages, tools) stays a dict in OpenAI's Chat Completions form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from zoolab.errors import CallError, Fault, InvalidInput, ModelError, Problem
from zoolab.jsontext import excerpt, lines_as_html
from zoolab.jsontext.readonly import ReadOnlyDict, TooDeep, read_only
from zoolab.jsontext.values import any_json, as_text, is_strict
from zoolab.records.messages import Message, Messages, text_of
from zoolab.records.notes import notes_of
from zoolab.tokens import Price, is_number
from zoolab.tools import Context, Tool, ToolRegistry

__all__ = ["KINDS", "Context", "Decision", "Failure", "Fault", "Kind", "Limits", "Message", "Messages"]
__all__ += ["Model", "Outcome", "Problem", "Record", "Repair", "Reply", "Request", "Result", "Step"]
__all__ += ["Tool", "ToolCall", "ToolRegistry", "Verdict", "Withheld", "without"]

Kind = Literal["define", "request", "tool_call", "validate", "execute", "result"]

KINDS: tuple[Kind, ...] = ("define", "request", "tool_call", "validate", "execute", "result")


_set = object.__setattr__
_CHOICES = ("once", "session", "always", "deny", "pending")
_NO_SETTINGS: Mapping[str, Any] = read_only({})
RESULT_BYTES = 16 * 1024
#: Requests that a walk and the walks inside it may make together, for each of its turns.
REQUESTS_A_TURN = 16
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

    def body(self, **settings: Any) -> dict[str, Any]:
        """The body of the HTTP request, with `settings` such as `model` and `temperature` added."""
        body = {**settings, **self.settings, "messages": self.messages}
        if self.tools:
            choice = self.tool_choice
            named = choice not in ("auto", "required", "none")
            body["tools"] = list(self.tools)
            body["tool_choice"] = {"type": "function", "function": {"name": choice}} if named else choice
        return body


def advice_on(word: str) -> str:
    """What to say in place of a word of other systems; empty for any other word."""
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

    def body_sent(self, request: Request) -> dict[str, Any]:
        """The body that was sent for a request, as far as the model class told."""
        if self.sent_instead:
            return dict(self.sent_instead)
        return without({**(self.sent or {}), **request.body()}, self.left_out)

    @property
    def omissions(self) -> tuple[str, ...]:
        """The settings that were not sent, and why, each in one line."""
        because = "was not sent, because the endpoint rejects it"
        return tuple(f"{name} {because}: {said}" for name, said in self.left_out.items())

    @property
    def sent_instead(self) -> Mapping[str, Any] | None:
        """The body that was sent in place of the request; None if the request was sent."""
        whole = self.sent is not None and not self.sent.keys().isdisjoint(("messages", "input", "contents"))
        return self.sent if whole else None

    def __post_init__(self) -> None:
        """Endpoints send fields of any type; what is not JSON gets the form that `any_json` documents."""
        try:
            message = read_only(self.message)
            _set(self, "message", message if is_strict(message) else read_only(any_json(message)))
            for name, given in (("usage", self.usage), ("raw", self.raw), ("sent", self.sent)):
                if given is not None:
                    _set(self, name, read_only(dict(given) if isinstance(given, Mapping) else None))
            if self.pieces or type(self.pieces) is not tuple:
                _set(self, "pieces", read_only(_only(dict, self.pieces)))
        except TooDeep as error:
            raise ModelError(f"the model replied with {error.what}", expected=error.expected) from None
        for name, word in (("finish_reason", self.finish_reason), ("model", self.model)):
            if word is not None and type(word) is not str:
                _set(self, name, as_text(word))
        if self.faults or type(self.faults) is not tuple:
            _set(self, "faults", _only(Fault, self.faults))
        if type(self.left_out) is not ReadOnlyDict:
            texts = {as_text(name): as_text(said) for name, said in self.left_out.items()}
            _set(self, "left_out", read_only(texts))

    @property
    def text(self) -> str:
        """The text of the message; empty where there is none."""
        return text_of(self.message)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of calls that are not read: in thoughts, beside other calls, in a further choice."""
        return tuple(dict.fromkeys(notes_of(self.message, self.finish_reason, self.raw)))


def without(body: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A body without some of its settings.

    >>> without({"seed": 1, "reasoning": {"effort": "low", "summary": "auto"}}, ["seed", "reasoning.effort"])
    {'reasoning': {'summary': 'auto'}}
    """
    kept = dict(body)
    for name in names:
        outer, dot, inner = name.partition(".")
        if not dot:
            kept.pop(name, None)
        elif isinstance(kept.get(outer), dict):
            kept[outer] = without(kept[outer], [inner])
    return kept


def _only(kind: type, items: object) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, kind)) if isinstance(items, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asked for. `arguments` is the raw text that the model wrote."""

    turn: int
    slot: int
    id: str
    name: str
    arguments: str
    #: native: in `tool_calls`; text: found in prose; repaired: changed by a repair.
    origin: Literal["native", "text", "repaired"] = "native"
    #: The id that the model gave, where it was missing or taken and had to be rewritten.
    original_id: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair proposed for broken arguments, and whether that passed validation."""

    raw: str
    proposed: str | None
    accepted: bool
    #: What was wrong with the raw text.
    problems: tuple[Problem, ...] = ()
    #: What is wrong with the proposal.
    remaining: tuple[Problem, ...] = ()

    @property
    def silence(self) -> str:
        """Why there is no proposal, in words; empty where there is one."""
        if self.proposed is not None:
            return ""
        return "; ".join(f"{problem.received}" for problem in self.remaining) or "it proposed nothing"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may run: its parsed `arguments`, or all that is wrong with it."""

    ok: bool
    arguments: dict[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    repair: Repair | None = None
    #: The `Bound` arguments, as the function takes them; not saved.
    bound: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.arguments is not None and type(self.arguments) is not ReadOnlyDict:
            _set(self, "arguments", read_only(self.arguments))

    @property
    def error_code(self) -> str | None:
        """The code of the first problem."""
        return self.problems[0].code if self.problems else None

    def _repr_html_(self) -> str:
        went = "may run, with" if self.ok else "may not run"
        return lines_as_html(went, *([as_text(self.arguments)] if self.ok else map(str, self.problems)))

    def raise_for_problems(self) -> None:
        """Raise the problems as a `CallError`, if there are any."""
        if not self.ok:
            found = "; ".join(problem.message for problem in self.problems)
            raise CallError(found, advice="give what the schema asks for")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call has permission: an `execute` step waits with `pending`, `send` one of the others.

    once allows this call; session allows the like of it as long as the `Permissions` live, always for
    good; deny refuses. `scope` is a pattern of the resources that session and always hold for; without
    it they hold for the very resource of this call, or for the tool, if it names none.
    """

    choice: Literal["pending", "once", "session", "always", "deny"]
    reason: str = ""
    scope: str | None = None
    #: What a person is asked about, while it is pending: how risky the tool is; what the call touches,
    #: None where the tool names nothing and empty where it cannot tell; and the arguments that it would
    #: run with, which a repair may have made other than the model's.
    risk: str = ""
    resource: str | None = None
    arguments: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.choice not in _CHOICES:
            advice = advice_on(self.choice)
            raise InvalidInput(f"a decision is {self.choice!r}", expected=", ".join(_CHOICES), advice=advice)
        if self.arguments is not None:
            _set(self, "arguments", read_only(dict(self.arguments)))

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        return self.choice in ("once", "session", "always")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no value: a code of `zoolab.errors.ERROR_CODES` and one line for the model."""

    code: str
    message: str
    #: The class of the Python exception, where there was one.
    exception: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a call gave: `value`, or `error`.

    Dicts, lists and sets in the value are read-only copies. Any other object is the one that the tool
    returned; the tool message is made from it before the step is shown, so that a later change of the
    object does not reach the model.
    """

    value: Any = None
    error: Failure | None = None
    duration_ms: float = 0.0
    #: When it began, milliseconds since 1970.
    started_ms: int = 0
    #: The tool did not stop when it was given up: its thread still runs.
    still_running: bool = False
    #: The `Trace` of the walk inside the tool, where it is a sub-agent.
    trace: Any = field(default=None, repr=False, compare=False)
    #: What was broken on purpose.
    fault: Fault | None = None
    #: What the tool printed; the model never sees it.
    stdout: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, (dict, list, tuple, set)):
            with suppress(TooDeep):  # it has no form in JSON: the model is told so
                _set(self, "value", read_only(self.value))

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.error is None

    def _repr_html_(self) -> str:
        told = f"failed: {self.error.message}" if self.error else f"returned {excerpt(self.value, 2_000)}"
        return lines_as_html(f"{told}, in {self.duration_ms:.1f} ms", *self.stdout.splitlines())


@dataclass(frozen=True, slots=True)
class Result:
    """The tool message that answers a call.

    `data_bytes` is the size of the value as text, `sent_bytes` what the model got of it.
    """

    content: str
    tool_call_id: str
    data_bytes: int = 0
    sent_bytes: int = 0
    error_code: str | None = None
    #: How often in a row this very call has had this very result, this one included.
    repeats: int = 1

    @property
    def message(self) -> Message:
        """The message as it is on the wire."""
        own = {"role": "tool", "tool_call_id": self.tool_call_id, "content": self.content}
        message: Message = read_only(own)
        return message

    @property
    def truncated(self) -> bool:
        """Whether the model got less than the value."""
        return self.sent_bytes < self.data_bytes

    @property
    def loop_detected(self) -> bool:
        """Whether the model is asking the same thing, and hearing the same, for the third time."""
        return self.repeats >= 3


Record = ToolRegistry | Request | ToolCall | Reply | Verdict | Outcome | Decision | Result


class Step(NamedTuple):
    """One step of a walk. A named tuple, since a walk makes so many of them.

    `turn` counts from 1 (0 for `define`), `slot` is the call's position in its reply, None for steps
    that concern no call. `messages` is `messages[]` after the step; its last `appended` are new.
    """

    kind: Kind
    turn: int
    slot: int | None
    record: Record
    messages: Messages
    appended: int = 0
    call: ToolCall | None = None
    #: The reply that the call was read from, on `tool_call` steps.
    reply: Reply | None = None
    #: 1, and 1 more for each earlier turn in which a call of the same tool did not validate.
    attempt: int = 1

    @property
    def error_code(self) -> str | None:
        """The code of what went wrong in this step, or None."""
        match self.record:
            case Verdict() | Result():
                return self.record.error_code
            case Outcome():
                return self.record.error.code if self.record.error else None
            case Decision():
                return "permission_denied" if self.record.choice == "deny" else None
            case _:
                return None

    @property
    def status(self) -> str:
        """`ok`, `error` or `pending`."""
        if isinstance(self.record, Decision) and self.record.choice == "pending":
            return "pending"
        return "error" if self.error_code else "ok"

    def __repr__(self) -> str:
        where = f"turn {self.turn}" + ("" if self.slot is None else f", slot {self.slot}")
        return f"<Step {self.kind}, {where}: {type(self.record).__name__}, {len(self.messages)} messages>"

    @property
    def new_messages(self) -> list[Message]:
        """The messages that this step appended."""
        new: list[Message] = read_only(self.messages.since(len(self.messages) - self.appended))
        return new


class Model(Protocol):
    """Anything that turns a request into a reply; a plain function is a model.

    A model may say more of itself, by attributes: `model`, `name`, `who`, `made`, `calls`, `settings`,
    `deterministic`, `body`, `equip`, `client`, `recording`. `zoolab.loop.about.About` says what each one
    means and what holds without it; all that asks a model about itself asks there.
    """

    def __call__(self, request: Request, /) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a walk, and of the walks that its tools start: these share what is left to it.

    Args:
        turns: Requests to the model.
        calls_per_turn: Calls of one reply that are run; the others are answered with an error.
        retries: Turns in which calls of one tool may fail validation; several in one reply count once, and
            unknown names share one budget.
        seconds: Time for the whole walk, with the walks inside it; None for no limit.
        repeats: The same call with the same result, in a row, ends the walk; None for no limit.
        depth: Levels of walks inside this one: 1 allows sub-agents without sub-agents of their own,
            0 allows none.
        tokens: Tokens sent and received, with those of the walks inside it; None for no limit. The
            last reply may go over, because its tokens are known only when it is there.
        cost: Money, with that of the walks inside it; needs `prices`. None for no limit.
        prices: What models cost, by name: `{"gpt-x": Price(input=2.5, output=10.0)}`.
        result_bytes: The longest result that is sent to the model; what is longer is cut.
        requests: Requests of this walk and of the walks inside it together; by default 16 for each turn.

    >>> Limits(turns=0)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: Limits(turns=0); expected a whole number of at least 1
    """

    turns: int = 5
    calls_per_turn: int = 15
    retries: int = 2
    seconds: float | None = None
    repeats: int | None = None
    depth: int = 3
    tokens: int | None = None
    cost: float | None = None
    prices: Mapping[str, Price] | None = None
    result_bytes: int = RESULT_BYTES
    requests: int | None = None

    def __post_init__(self) -> None:
        for name, (least, optional) in _WHOLE.items():
            value = getattr(self, name)
            missing = optional and value is None
            if not missing and not (hasattr(value, "__index__") and is_number(value, least)):
                raise _refused(name, value, f"a whole number of at least {least}", optional)
        for name in ("seconds", "cost"):
            value = getattr(self, name)
            if value is not None and not (is_number(value, 0) and value > 0):
                raise _refused(name, value, "a number above 0", optional=True)
        named = self.prices.items() if isinstance(self.prices, Mapping) else [(None, self.prices)]
        priced = all(isinstance(name, str) and isinstance(price, Price) for name, price in named)
        if self.prices is not None and not priced:
            raise _refused("prices", self.prices, "a dict of Price by model", optional=True)
        if self.cost is not None and not self.prices:
            raise InvalidInput(
                f"Limits(cost={self.cost}) needs prices",
                advice='give prices={"name of the model": Price(input=2.5, output=10.0)}',
            )


#: The least of each whole number, and whether None stands for no limit.
_WHOLE: Mapping[str, tuple[int, bool]] = {
    "turns": (1, False),
    "calls_per_turn": (1, False),
    "retries": (0, False),
    "repeats": (2, True),
    "depth": (0, False),
    "tokens": (1, True),
    "result_bytes": (1, False),
    "requests": (1, True),
}


def _refused(name: str, value: object, expected: str, optional: bool) -> InvalidInput:
    allowed = f"{expected}, or None for no limit" if optional else expected
    return InvalidInput(f"Limits({name}={excerpt(value)})", expected=allowed)
