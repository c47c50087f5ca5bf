"""What a walk asks of a tape, which gives calls the outcomes that they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from zoolab.jsontext import canonical
from zoolab.messages import Messages
from zoolab.records import Decision, Outcome, Request, Result, Tool, ToolCall, Verdict

Earlier = tuple[ToolCall, dict[str, Any] | None, Result]


class TapedCall(NamedTuple):
    """What a tape holds of one call: its outcome, and what a person was asked and answered before it."""

    outcome: Outcome
    #: The tool message that answered the call; None to make it anew.
    result: Result | None = None
    asked: Decision | None = None
    answer: Decision | Outcome | None = None

    @property
    def ran(self) -> bool:
        """Whether the call had permission; a tool that is denied something itself raises an exception."""
        error = self.outcome.error
        if self.asked is not None and self.answer is None:  # an interrupt came before an answer
            return False
        return error is None or error.code != "permission_denied" or error.exception is not None


class TapedRequest(NamedTuple):
    """A request on a tape."""

    request: Request
    #: How many messages it showed as new.
    appended: int
    #: Whether it is over: its choice, its settings and the verdicts on its calls hold, whatever options say.
    over: bool


class Tape(Protocol):
    """Gives calls the outcomes that they had: a fork makes one of a trace.

    A class that says it is a `Tape` needs to define only what it does otherwise than an empty one.
    """

    #: In how many turns before the walk the calls of a tool failed validation; None stands for unknown tools.
    failures: Mapping[str | None, int] = {}
    #: The turns before the walk that count as its own.
    turns: int = 0
    #: The calls before the walk, with the arguments that ran, and their results.
    earlier: Sequence[Earlier] = ()

    def opens(self, _messages: Messages, /) -> bool:
        """Return whether a request was made of these messages, so that they say all that opens a walk."""
        return False

    def request(self, _messages: Messages, /) -> TapedRequest | None:
        """Return the request that was made of these messages, if the tape says what goes into requests."""
        return None

    def verdict(self, _call: ToolCall, /) -> Verdict | None:
        """Return the verdict on a call in the reply to the last request, if that request is over."""
        return None

    def take(self, _tool: str, _arguments: Mapping[str, Any], /) -> TapedCall | None:
        """Return what the tape holds of the next such call, or None if it holds none."""
        return None

    def decide(
        self, _tool: Tool, _arguments: Mapping[str, Any], decision: Decision, /
    ) -> Decision | TapedCall:
        """Return what holds for a call that `take` did not give; `decision` is what the policy says."""
        return decision

    def refusal(self, _call: ToolCall, _verdict: Verdict, /) -> Result | None:
        """Return the tool message that answered the next such call, which failed validation, or None."""
        return None

    def keep(self, _tool: Tool, _arguments: Mapping[str, Any], outcome: Outcome, _ran: bool, /) -> Outcome:
        """Return the outcome of a call that was not on the tape, marked as such or written down.

        It ran, or it was denied, or a person gave the outcome in its place.
        """
        return outcome


class NoTape(Tape):
    """The tape of a walk that has none: it holds nothing."""


def call_as_text(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as one text: two calls are the same if their texts are.

    >>> call_as_text("add", {"b": 2, "a": 1})
    '{"arguments":{"a":1,"b":2},"tool":"add"}'
    """
    return canonical({"tool": tool, "arguments": arguments})
