"""Which request belongs to which conversation, and each conversation as a trace that grows.

Requests carry no name of their conversation, but each one repeats what was said so far. So a request goes on
with the conversation whose messages and last reply it begins with; of several, with the one that knows most
of it. A program may also edit, drop or condense what was said: then it is the conversation of which the
request still holds most of what came after its first request, at least one reply or result. Or it tells calls
and results in words of its own (smolagents): then it is the conversation whose last request it begins with.
Else it begins a new one. A conversation that waits for its reply, or that somebody has gone on with, cannot
be gone on with again: copies of it become conversations of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zoolab.errors import ZoolabError
from zoolab.fault import Fault
from zoolab.jsontext import canonical, digest
from zoolab.messages import WrittenCall, calls_of
from zoolab.records import Message, Messages, Reply, Request, Step, ToolCall, ToolRegistry
from zoolab.runs import Trace
from zoolab.show.wording import content_of
from zoolab.text.wording import common_ends
from zoolab.trace.summary import outcome_of_walk
from zoolab_connect.apis.messages import arguments_object
from zoolab_connect.conversation import reply_steps, result_step
from zoolab_connect.imported import tools_offered
from zoolab_connect.proxy.exchange import BROKEN_OFF, SAID_BROKEN_OFF

#: So many conversations are looked through for the one that a request goes on with.
_MOST_OPEN = 1_000


@dataclass(eq=False)
class WatchedConversation:
    """One conversation: its trace, and what the next request of it is expected to begin with."""

    trace: Trace
    #: The last request, its tools, and what `messages[]` held with the reply.
    request: Request | None = None
    #: The body of the last request, as the program sent it.
    sent: dict[str, Any] = field(default_factory=dict)
    registry: ToolRegistry | None = None
    view: Messages = field(default_factory=Messages)
    turn: int = 0
    #: Whether a request waits for its reply.
    waits: bool = False
    #: The names of the messages in `view`, and how many of them the first request brought.
    names: list[str] = field(default_factory=list)
    brought: int = 0
    #: The calls of the last reply, by their ids.
    calls: dict[str, ToolCall] = field(default_factory=dict)
    #: What the endpoint refused, by the number of the request.
    failures: dict[int, str] = field(default_factory=dict)

    def ask(self, request: Request, names: list[str], body: dict[str, Any], came: float) -> None:
        """Add a further request: what is new in it, and the request itself."""
        trace = self.trace
        messages = request.prefix.tolist()
        view = self.view
        if self.request is None or request.tools != self.request.tools:
            try:
                self.registry = tools_offered(request.tools) or ToolRegistry()
            except (ZoolabError, KeyError, TypeError, AttributeError):
                self.registry = None  # nothing can be checked against their schemas
        if self.request is None:
            self.brought = len(names)
            trace.add(Step("define", 0, None, self.registry or ToolRegistry(), Messages()), came)
        kept = common_ends(view.tolist(), messages)[0]
        view = view.first(kept)
        new = 0
        for message in messages[kept:]:
            view = view.with_next(message)
            new = new + 1
            self._name_calls_as(message)
            if message.get("role") == "tool" and self.turn:
                call = self.calls.pop(str(message.get("tool_call_id")), None)
                if call is not None:
                    trace.add(result_step(message, self.turn, view, call, new), came)
                    new = 0
        self.turn = self.turn + 1
        self.view = view
        self.names = names
        self.waits = True
        self.request = replace(request, messages=view)
        self.sent = body
        trace.outcome = "open"
        trace.error = None
        trace.fault = None
        trace.add(Step("request", self.turn, None, self.request, view, new), came)

    def _name_calls_as(self, message: Message) -> None:
        """Know the calls of the last reply by the ids that the program gave them, if it sends them back so.

        Gemini gives a call no id, and some clients then make one up.
        """
        told = calls_of(message)
        known = [*self.calls.values()]
        ids = [str(each.id) for each in told]
        if self.calls.keys().isdisjoint(ids) and _said(told) == _said(known):
            self.calls = dict(zip(ids, known, strict=True))

    def answer(self, reply: Reply, came: float) -> None:
        """Add the reply to the last request; after one that broke off, the program may ask the same again."""
        self.waits, view = False, self.view.with_next(reply.message)
        if reply.finish_reason == BROKEN_OFF:
            self.failures[self.turn] = SAID_BROKEN_OFF
        else:
            self.view = view
            self.names.append(name_of_said(reply.message))
        self.calls = {}
        for step in reply_steps(replace(reply, sent=self.sent), self.turn, view, self.registry):
            self.trace.add(step, came)
            if step.call is not None:
                self.calls[step.call.id] = step.call
        self.trace.error = reply.shortfall or None
        waiting = "open" if self.calls else outcome_of_walk(self.trace.steps)
        self.trace.outcome = waiting if reply.is_whole else reply.end

    def fail(self, why: str, fault: Fault | None) -> None:
        """Note that the last request was refused, or its answer broke off; `fault` if that was on purpose."""
        self.waits = False
        self.failures[self.turn] = why
        self.trace.outcome = "model_error"
        self.trace.error = why
        self.trace.fault = fault

    def shares(self, names: list[str]) -> int:
        """Return how many messages a request begins with that are this conversation's; -1 if one is
        another.
        """
        known = self.names
        goes_on = len(names) > len(known) or (len(names) == len(known) and self.turn in self.failures)
        return len(known) if goes_on and names[: len(known)] == known else -1

    def told(self, messages: list[Message], names: list[str]) -> int:
        """Return how many calls of the last reply a request names, if it is the last request and more; else
        -1.
        """
        kept = len(self.request.prefix) - 1 if self.request else -1
        if self.request is None or kept < 0 or not self.calls or names[:kept] != self.names[:kept]:
            return -1
        before = content_of(self.request.messages[kept])
        more = messages[kept:]
        if not "\n".join(map(content_of, more)).startswith(before + "\n"):
            return -1
        said = canonical(more)
        return sum(each in said for each in self.calls)

    def holds(self, names: Counter[str]) -> int:
        """Return how many messages of a request came after this conversation's first request."""
        return sum((Counter(self.names[self.brought :]) & names).values())


class Conversations:
    """All conversations of a program, in the order in which they began.

    Args:
        begin: Makes the trace of a new conversation, from the name of the model that its first request asks,
            and what that request has that is not in it.
        grown: Is told of each conversation that has grown.
    """

    def __init__(self, begin: Callable[[str, Sequence[str]], Trace], grown: Callable[[Trace], None]) -> None:
        self.all: list[WatchedConversation] = []
        self._begin = begin
        self._grown = grown
        #: The conversations of Responses whose messages the endpoint keeps, by the id of the last answer.
        self._kept: dict[str, WatchedConversation] = {}

    @property
    def traces(self) -> list[Trace]:
        """A trace for each conversation."""
        return [conversation.trace for conversation in self.all]

    def ask(
        self, request: Request, body: dict[str, Any], came: float, left: Sequence[str] = ()
    ) -> WatchedConversation:
        """Find the conversation of a request, or begin one, and add the request to it."""
        found = self._kept.get(str(body.get("previous_response_id")))
        if found is not None:
            said = found.view.tolist()
            told = [message for message in request.messages if message.get("role") != "system"]
            request = replace(request, messages=[*said, *told])
        names = [name_of_said(message) for message in request.prefix]
        found = found or self._find(request, names)
        if found is None:
            model = request.settings.get("model") or body.get("model")
            found = WatchedConversation(self._begin(str(model or ""), left))
            self.all.append(found)
        found.ask(request, names, body, came)
        self._grown(found.trace)
        return found

    def answer(
        self, conversation: WatchedConversation, said: Reply | str, came: float, fault: Fault | None = None
    ) -> None:
        """Add what came of a conversation's request: the reply, or why there is none."""
        if isinstance(said, str):
            conversation.fail(said, fault)
        else:
            conversation.answer(said, came)
            if said.raw and said.raw.get("object") == "response":
                self._kept[str(said.raw.get("id"))] = conversation
        self._grown(conversation.trace)

    def _find(self, request: Request, names: list[str]) -> WatchedConversation | None:
        ready = [each for each in self.all[-_MOST_OPEN:] if not each.waits]
        counted = Counter(names)
        messages = request.messages
        return (
            _most(ready, lambda each: each.shares(names), least=0)
            or _most(ready, lambda each: each.told(messages, names), least=1)
            or _most(ready, lambda each: each.holds(counted), least=1)
            or _most(ready, lambda each: each.told(messages, names), least=0)
        )


def _most(
    found: Iterable[WatchedConversation], of: Callable[[WatchedConversation], int], least: int
) -> WatchedConversation | None:
    """Return the first conversation with the highest number; None if none has the least."""
    counted = [(count, each) for each in found if (count := of(each)) >= least]
    return max(counted, key=lambda pair: pair[0], default=(least, None))[1]


def _said(calls: Iterable[WrittenCall | ToolCall]) -> list[tuple[str, object]]:
    """Return what calls say, without their ids."""
    return [(each.name, arguments_object(each.arguments)) for each in calls]


def name_of_said(message: Message) -> str:
    """Return a name for what a message says: programs send it back with fields left out, or arguments
    rewritten.
    """
    calls = [(name, id, arguments_object(said)) for name, id, said in calls_of(message)]
    named = [message.get("role"), message.get("tool_call_id"), calls, content_of(message)]
    return digest(canonical(named))
