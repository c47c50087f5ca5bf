"""A conversation of several questions, in one trace."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, Unpack

from zoolab.errors import InvalidInput, ModelError
from zoolab.jsontext import excerpt, visible
from zoolab.keywords import refuse_unknown
from zoolab.loop import Tools
from zoolab.options import WalkOptions
from zoolab.policy import Permissions, Policy
from zoolab.records import Model, Record, Step
from zoolab.runs import Trace, run
from zoolab.tools import ToolRegistry
from zoolab.trace.summary import outcome_of_walk
from zoolab_study.branching.fork import child_of
from zoolab_study.branching.further import is_answered

#: What the conversation itself says.
_OWN = ("prompt", "tools", "model", "trace", "go_on", "messages", "first_turn", "meta")


class Chat:
    """Several questions in one conversation, whose trace is kept.

    What a person allows for the session holds as long as the chat.

    Args:
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        trace: A conversation to go on with, such as a trace that was saved; it has to end with an answer.
        ask: Answers a step that waits for permission, as for `run`, for instance `ask_user`.
        options: As for `walk`, the same for each question.

    >>> from zoolab import Scripted
    >>> chat = Chat([], Scripted(["Hello", "Good day", "Bye"]), system="Be brief.")
    >>> chat.say("Hi"), chat.say("And now?")
    ('Hello', 'Good day')
    >>> again = chat.fork(1)
    >>> again.say("Must you go?"), chat, again
    ('Bye', <Chat: 2 questions>, <Chat: 2 questions>)
    """

    def __init__(
        self,
        tools: Tools,
        model: Model,
        *,
        trace: Trace | None = None,
        ask: Callable[[Step], Record | None] | None = None,
        **options: Unpack[WalkOptions],
    ) -> None:
        refuse_unknown("Chat", options, signature(run).parameters.keys() - {*_OWN})
        policy = options.get("policy")
        if policy is None or isinstance(policy, Policy):
            options["policy"] = Permissions(policy)
        self.tools = tools if isinstance(tools, ToolRegistry) else [*tools]
        self.model = model
        self.ask = ask
        self.options = options
        #: The conversation so far; a question that raised an error is not in it.
        self.trace = Trace() if trace is None else trace

    @property
    def questions(self) -> list[str]:
        """What was asked so far, in order."""
        asked = (self.trace.steps[seq].new_messages for seq in self._starts())
        return [str(messages[-1].get("content")) for messages in asked]

    def say(self, text: str, *, trace: Trace | None = None) -> str:
        """Ask a question, and return the answer.

        Args:
            text: What the user says.
            trace: An empty trace to record into, for instance one with a file.

        Raises:
            ZoolabError: What ended the walk. Its `trace` shows how far the question came; the chat stays as
                it was, and the next question follows the last answer.
        """
        options: dict[str, Any] = dict(self.options)
        if self.trace.steps:
            options.pop("system", None)
            options["go_on"] = self.trace
        trace = run(text, self.tools, self.model, trace=trace, ask=self.ask, **options)
        if not is_answered(trace):
            what = f"no answer came: {trace.error or trace.outcome}"
            error = ModelError(what, advice="ask again, or look into the error's trace")
            error.trace = trace
            raise error
        self.trace = trace
        return trace.answer or ""

    def fork(self, question: int) -> Chat:
        """Go on after the answer to a question, 1 being the first; returns a chat of its own.

        What was said until then is kept, and this chat stays as it is.
        """
        starts = self._starts()
        if type(question) is not int or not 0 < question <= len(starts):
            expected = f"1 to {len(starts)}" if starts else "a chat with a question"
            raise InvalidInput(f"there is no question {excerpt(question)}", expected=expected)
        trace = self.trace if question == len(starts) else cut(self.trace, starts[question])
        return Chat(self.tools, self.model, trace=trace, ask=self.ask, **self.options)

    def _starts(self) -> list[int]:
        """Return the numbers of the steps that begin a question."""
        return [turn.seq for turn in self.trace.turns if turn.asks]

    def __repr__(self) -> str:
        count = len(self._starts())
        return visible(f"<Chat: {count} question{'s' * (count != 1)}>")

    def _repr_html_(self) -> str:
        return self.trace._repr_html_()


def cut(trace: Trace, until: int) -> Trace:
    """Return a conversation of the first `until` steps, which end with an answer."""
    child = child_of(trace, until, dict(trace.options))
    child.outcome = outcome_of_walk(child.steps)
    child.ended = child.started[-1] if until else None
    return child
