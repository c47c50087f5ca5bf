"""The loop: the only file that knows the order of the six steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, Unpack

from zoolab.errors import InvalidInput
from zoolab.jsontext.readonly import read_only
from zoolab.keywords import passes_on
from zoolab.loop.turns import Turns
from zoolab.models.about import about
from zoolab.options import Options, WalkOptions, check_model
from zoolab.records import Message, Messages, Model, Record, Step
from zoolab.running.interrupts import Hold, is_held
from zoolab.steps.define import as_registry
from zoolab.steps.request import check_tool_choice, deny_names
from zoolab.tools import Tool, ToolRegistry

__all__ = ["Answer", "Steps", "Tools", "Walk", "walk"]

Tools = ToolRegistry | Iterable[Tool | Callable[..., Any]]
Answer = Record | Step | None
Steps = Generator[Step, Answer, Messages]


class Walk(Iterator[Step]):
    """The steps of one conversation, one at a time. Any step may be answered with another record.

    `answer(record)` replaces the record of the step that was just seen; the next step follows from
    it. It works inside a `for`. `send(record)` does the same and returns the next step at once: use
    it only when you step by hand, because a `for` would miss the step that it returns.

    >>> from zoolab.models.scripted import Scripted
    >>> from zoolab.records import Reply
    >>> steps = walk("Hi", [], Scripted(["Hello"]))
    >>> for step in steps:
    ...     if step.kind == "tool_call":
    ...         steps.answer(Reply({"role": "assistant", "content": "Good day"}))
    >>> steps.messages[-1]["content"]
    'Good day'
    """

    def __init__(self, steps: Steps, options: Mapping[str, Any] | None = None, prompt: str = "") -> None:
        #: What the user says.
        self.prompt = prompt
        #: The model and the keyword arguments of `walk`: what a fork goes on with.
        self.options: Mapping[str, Any] = options or {}
        self._steps = steps
        self._answer: Answer = None
        #: A step that an interrupt kept from the caller: the next one that it gets.
        self._missed: Step | None = None
        #: `messages[]` as the walk left it; None until it has ended.
        self.messages: Messages | None = None

    def __repr__(self) -> str:
        return f"<Walk {self.prompt!r}>"

    def __next__(self) -> Step:
        answer = self._answer
        self._answer = None
        return self._go_on(self._steps.send, answer)

    def send(self, answer: Answer) -> Step:
        """Answer the step that was just seen (None leaves it as it is), and return the next one."""
        answer = self._answer if answer is None else answer
        self._answer = None
        return self._go_on(self._steps.send, answer)

    def throw(self, error: BaseException) -> Step:
        """Raise an error at the step that was just seen.

        Most errors end the walk. After a `KeyboardInterrupt` at a step that waits for permission it goes
        on until the calls of the turn are answered, and raises the interrupt then.
        """
        return self._go_on(self._steps.throw, error)

    def _go_on(self, advance: Callable[[Any], Step], given: Any) -> Step:
        try:
            if is_held():
                return advance(given)
            step = self._missed
            self._missed = None
            if step is None:
                with Hold():
                    step = self._missed = advance(given)
                self._missed = None
            return step
        except StopIteration as end:
            self.messages = end.value
            raise

    def rest(self) -> Iterator[Step]:
        """Yield the steps that are left, for a caller that has entered a `Hold` and answers none.

        Such a caller needs nothing of what `next` does around each step.
        """
        if self._answer is None and self._missed is None:
            self.messages = yield from self._steps
        else:
            yield from self

    def answer(self, record: Record | Step) -> None:
        """Replace the record of the step that was just seen, for the rest of the walk.

        Raises:
            InvalidInput: No step has been seen yet, or the walk has ended.
        """
        if inspect.getgeneratorstate(self._steps) != inspect.GEN_SUSPENDED:
            raise InvalidInput("there is no step to answer", advice="take a step first, with next(steps)")
        self._answer = record

    def close(self) -> None:
        """End the walk here."""
        self._steps.close()


@passes_on(Options)
def walk(prompt: str | None, tools: Tools, model: Model, **options: Unpack[WalkOptions]) -> Walk:
    """Walk through a conversation, one step at a time.

    Returns a `Walk`, an iterator of `Step`s; `steps.answer(record)` replaces the record of the one just seen.

    Args:
        prompt: What the user says; None to go on from `messages` alone.
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        system: The system prompt.
        messages: An earlier conversation, to be continued.
        tool_choice: "auto", "required", "none" or a tool's name; forced, it holds for one turn.
        policy: Which tools need permission, by default those of medium and high risk; `Permissions` also
            keep what people say beyond this walk.
        repair: Proposes arguments in place of broken ones.
        retrieve: Picks the tools that each request offers; by default all of them.
        limits: Where the walk ends, whatever the model wants.
        parallel: Whether the calls of one reply run side by side.
        context: What tools with a `Context` parameter receive.
        deny: Tools that are registered and forbidden.
        calls: "native" reads `tool_calls`; "text" describes the tools in the system prompt and finds
            the calls in the model's text. "auto" sends the tools natively and, if a reply has no
            `tool_calls`, looks in its text for calls, as Qwen-Coder writes them behind
            llama.cpp and Ollama. By default what the model says of itself.
        envelope: "json" wraps results with success, error and measures; "plain" sends them alone.
        first_turn: The number of the first turn, where a conversation is continued.
        find_tools: Whether the model gets a tool `find_tools(query)` that searches all tools with `retrieve`;
            what it finds is offered from the next request on.
        answer_schema: What the final answer has to be: a JSON Schema of an object, or a type that describes
            one, such as a pydantic model or a dataclass. The answer is validated as a call is, with the same
            repair and retries; `trace.value` holds it. Requests carry the schema as `response_format`, or as
            what their API has for it; if the calls are in the text, the system prompt does. Beside tools,
            Gemini and Ollama get no schema, and only hear of it when an answer is refused.
        condense: Called before each request but the first with the messages so far; returns those that go on,
            for instance without the oldest. Each call stays with its results. Every revision is in the trace.
        on_delta: Receives each delta of a streamed reply when it arrives, as `Reply.pieces` keeps it; the
            message of a reply that is not streamed comes as one delta.
        tape: Gives calls the outcomes that they had, for instance those of a trace; see `Trace.fork`.

    Yields:
        The steps define, then request, tool_call, validate, execute, result for each turn.

    Raises:
        ToolLoopLimitReached: The model wants to go on and may not.
        ToolRetriesExhausted: Its calls keep failing validation.
        ModelError: No usable reply came.

    >>> from zoolab.models.scripted import Scripted
    >>> from zoolab.steps.define import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> model = Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
    >>> " ".join(step.kind for step in walk("What is 42 + 58?", [add], model))
    'define request tool_call validate execute result request tool_call'
    """
    check_model(model)
    chosen = Options(**options)
    said = about(model)
    registry = as_registry(tools)
    if said.equip is not None:  # a model that injects faults into tools has a hand in the registry
        registry = as_registry(said.equip(registry))
    opening = [read_only(message) for message in chosen.messages]
    denied = deny_names(chosen.deny, registry)
    turns = Turns(chosen, chosen.calls or said.calls, denied)
    registry = turns.searchable(registry) if chosen.find_tools else registry
    check_tool_choice(chosen.tool_choice, registry)
    kept = {name: value for name, value in options.items() if name not in ("messages", "first_turn")}
    return Walk(_steps(turns, registry, model, prompt, opening), {"model": model, **kept}, prompt or "")


def _steps(
    turns: Turns, registry: ToolRegistry, model: Model, prompt: str | None, messages: list[Message]
) -> Steps:
    try:
        yield from turns.define(registry)
        turns.begin(prompt, messages)
        while True:
            reply = yield from turns.ask(model)
            asked = yield from turns.read(reply)
            if not asked:
                if turns.asks_again(model):
                    continue
                if turns.answers is None or (yield from turns.conclude(turns.answers)):
                    return turns.messages
                continue
            verdicts = yield from turns.validate(asked)
            outcomes = yield from turns.execute(asked, verdicts)
            yield from turns.answer(asked, verdicts, outcomes)
            turns.end()
    finally:
        turns.runner.close()
