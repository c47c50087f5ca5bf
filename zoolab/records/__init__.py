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

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from zoolab.errors import CallError, InvalidInput, Problem
from zoolab.fault import Fault
from zoolab.jsontext import excerpt, lines_as_html
from zoolab.jsontext.readonly import ReadOnlyDict, TooDeep, read_only
from zoolab.jsontext.values import text_or_json, without
from zoolab.limits import Limits
from zoolab.messages import Message, Messages
from zoolab.messages.ends import End
from zoolab.records.exchange import Reply, Request, Withheld, advice_on
from zoolab.tools import Context, Tool, ToolRegistry

__all__ = ["KINDS", "Context", "Decision", "End", "Failure", "Fault", "Kind", "Limits", "Message", "Messages"]
__all__ += ["Model", "Outcome", "Problem", "Record", "Repair", "Reply", "Request", "Result", "Step"]
__all__ += ["Tool", "ToolCall", "ToolRegistry", "Verdict", "Withheld", "without"]

Kind = Literal["define", "request", "tool_call", "validate", "execute", "result"]

KINDS: tuple[Kind, ...] = ("define", "request", "tool_call", "validate", "execute", "result")


_set = object.__setattr__
_CHOICES = ("once", "session", "always", "deny", "pending")


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

    def _repr_html_(self) -> str:
        return lines_as_html(f"asks for {self.name}, as {self.id} ({self.origin})", self.arguments)


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
        return lines_as_html(went, *([text_or_json(self.arguments)] if self.ok else map(str, self.problems)))

    def raise_for_problems(self) -> None:
        """Raise the problems as a `CallError`, if there are any."""
        if not self.ok:
            found = "; ".join(problem.message for problem in self.problems)
            raise CallError(found, advice="give what the schema asks for")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call has permission: an `execute` step waits with `pending`, `send` one of the others.

    once allows this call; session allows similar calls while the `Permissions` object exists, always for
    good; deny refuses. `scope` is a pattern of the resources that session and always hold for; without
    it they hold for the very resource of this call, or for the tool, if it names none. `by` tells who
    decided: a person, a rule, or nobody, because nobody could be asked or nobody answered.
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
    by: Literal["person", "rule", "nobody"] = "person"
    #: While it is pending: whether always would outlast the session.
    lasts: bool = True

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

    @property
    def told(self) -> str:
        """Why it denies, for the model, which reads neither what a rule says nor where it is kept."""
        return "the policy denies it" if self.by == "rule" else self.reason or "it was denied"

    def within(self, lasts: bool) -> Decision:
        """Return what it comes to: always holds for the session only if nothing `lasts`, and says so."""
        if self.choice != "always" or lasts:
            return self
        ends = "it holds for this session only, because no policies.json keeps it"
        return replace(self, choice="session", reason="; ".join(filter(None, (self.reason, ends))))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no value: a code of `zoolab.errors.ERROR_CODES` and one line for the model."""

    code: str
    message: str
    #: The class of the Python exception, if there was one.
    exception: str | None = None
    #: The reason of the decision that denied the call, for a person; empty if it was not denied.
    reason: str = ""

    @property
    def in_full(self) -> str:
        """The message, with the reason that the model does not read."""
        return self.message if self.reason in self.message else f"{self.message}: {self.reason}"


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
    #: In a walk that plays a tape: "tape" if the tape gave the outcome and nothing ran, "ran" if the call is
    #: not on the tape, so that the tool ran.
    origin: Literal["", "tape", "ran"] = ""

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
        played = " (from the tape: the tool did not run)" if self.origin == "tape" else ""
        return lines_as_html(f"{told}, in {self.duration_ms:.1f} ms{played}", *self.stdout.splitlines())


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

    def _repr_html_(self) -> str:
        cut = f", cut from {self.data_bytes:,} bytes" if self.truncated else ""
        told = f"answers {self.tool_call_id}{cut}"
        return lines_as_html(f"{told}: {self.error_code}" if self.error_code else told, self.content)

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
            case Reply():
                return None if self.record.is_whole else self.record.end
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

    def _repr_html_(self) -> str:
        shown = getattr(self.record, "_repr_html_", None)
        told = f"{repr(self)[1:-1]}, {self.status}"
        return lines_as_html(told) + (shown() if shown else lines_as_html(repr(self.record)))

    @property
    def new_messages(self) -> list[Message]:
        """The messages that this step appended."""
        new: list[Message] = read_only(self.messages.since(len(self.messages) - self.appended))
        return new


class Model(Protocol):
    """Anything that turns a request into a reply; a plain function is a model.

    A model may say more of itself, by attributes: `model`, `name`, `who`, `made`, `calls`, `settings`,
    `deterministic`, `body`, `equip`, `client`, `recording`. `zoolab.models.about.About` says what each one
    means and what holds without it; all that asks a model about itself asks there.
    """

    def __call__(self, request: Request, /) -> Reply: ...
