"""A run: `run` walks to the end, and `Trace` is the record of it, with its files and all its views.

The record itself is `zoolab.trace`; each view is made in a module of its own, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any, Never, Unpack

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.jsontext import excerpt
from zoolab.keywords import passes_on, refuse_unknown
from zoolab.loop import Tools, walk
from zoolab.options import ForkOptions, SharedOptions
from zoolab.records import Message, Model, Record, Step
from zoolab.tapes import Tape
from zoolab.tools import ToolRegistry
from zoolab.trace.log import TraceLog, cannot_write, drive

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import TracerProvider

    from zoolab.show.inspector.inspector import Inspector

__all__ = ["RunOptions", "Trace", "inspect", "read_conversation", "run"]


class Trace(TraceLog):
    """The record of a walk. It exists before the first step, so that an interrupted run loses nothing.

    Args:
        path: A JSONL file that receives each step as it happens; none by default.
        run_id: A name for the run; a random one by default.
        meta: What else is known of the run, as a dict: case_id, variant, model, seed, expected_tool.

    Raises:
        TypeError: There is no argument of this name; the message names the right one.

    >>> from zoolab import Scripted, tool, walk
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> model = Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
    >>> trace = Trace.record(walk("What is 42 + 58?", [add], model))
    >>> trace.answer, [call.name for call in trace.tool_calls]
    ('It is 100.', ['add'])
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        run_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        **unknown: Never,
    ) -> None:
        given: Mapping[str, Any] = unknown
        for name, value in given.items():
            advice = f"write meta={{{name!r}: {excerpt(value, 40)}}}"
            refuse_unknown("Trace", [name], ("path", "run_id", "meta"), advice)
        super().__init__(run_id=run_id, meta=meta)
        if path is not None:
            from zoolab.trace.events import EventStream

            try:
                self._stream = EventStream(self, path)
            except InvalidInput:
                raise
            except (OSError, TypeError, ValueError) as error:
                raise cannot_write(path, error) from error

    @classmethod
    def record(
        cls, walk: Iterable[Step], into: Trace | None = None, *, meta: Mapping[str, Any] | None = None
    ) -> Trace:
        """Run a walk to its end and return its trace.

        Args:
            into: A trace that exists already, to look at while the walk runs or after an interrupt.
            meta: As for `Trace`. A trace that exists already has its own, so not together with `into`.

        Raises:
            ZoolabError: What ended the walk; its `trace` is the trace so far.
            InvalidInput: `meta` is given together with `into`.
        """
        if into is not None and meta is not None:
            raise InvalidInput("both into= and meta= are given", advice="use Trace(meta=...) instead")
        trace = cls(meta=meta) if into is None else into
        trace.record_all(walk)
        return trace

    def save(self, path: str | Path) -> Path:
        """Write the trace to a JSONL file, one event a line; returns its path.

        The file holds all that was said, secrets too: read it before you share it.
        """
        from zoolab.files import write_whole
        from zoolab.trace.events import events_of, line_of

        return write_whole(path, map(line_of, events_of(self)))

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace that was saved, or that is still being written. Safe for files from strangers.

        Raises:
            InvalidInput: There is no such file.
            InvalidTrace: It is no trace; the message names the line.
        """
        from zoolab.trace.events import read_into

        trace = cls()
        read_into(trace, path)
        return trace

    @passes_on(walk, without=("messages", "system", "first_turn", "tape"))
    def fork(
        self,
        step: int | Step,
        edit: Record | None = None,
        *,
        model: Any = None,
        tools: Any = None,
        ask: Callable[[Step], Record | None] | None = None,
        **options: Unpack[ForkOptions],
    ) -> Trace:
        """Go on from a step with an edited record; returns a new trace, this one stays as it is.

        What came before the step is kept. The trace is a tape: a call that it holds is given the outcome that
        it had, once for each time, and does not run again. Of calls that it does not hold, those of tools
        with the risk `safe` run; at any other the fork stops and waits, as a trace whose last step is
        pending: `ask` decides, or a fork of that step with a `Decision` or an `Outcome`.

        Args:
            step: The step, or its number.
            edit: The record that goes on in its place; None repeats it.
            model: Answers from there on; by default the model of this run.
            tools: The tools with their functions, for a trace that was loaded from a file and comes to calls
                that it does not hold; "live" lets such calls run as the policy says.
            ask: Answers a step that waits for permission, as for `run`.
            options: As for `walk`, for what comes after the step; by default those of this run, which also
                began the conversation. A file does not hold `retrieve`, `condense` and `repair`: what they
                made is taken from its requests.

        >>> from zoolab import Decision, Scripted, run, tool
        >>> @tool(risk="high")
        ... def pay(euros: int) -> str:
        ...     "Pay."
        ...     print("paid", euros)
        ...     return "paid"
        >>> model = Scripted([[("pay", {"euros": 5})], "Done."])
        >>> paid = run("Pay 5.", [pay], model, ask=lambda _: Decision("once"))
        paid 5
        >>> paid.fork(0, model=Scripted([[("pay", {"euros": 5})], "Paid before."])).answer
        'Paid before.'
        >>> paid.fork(0, model=Scripted([[("pay", {"euros": 6})], "Done."])).steps[-1].status
        'pending'
        """
        fork = _registered("fork", "forks traces")
        child: Trace = fork(self, self.index(step), edit, model, tools, {"ask": ask, **options})
        return child

    def replay(
        self, step: int | Step = 0, edit: Record | None = None, *, otherwise: Model | None = None
    ) -> Trace:
        """Play the trace again from a step; nothing runs, and no model is asked. Returns a new trace.

        Requests are answered as they were, calls get what they got and are allowed as they were allowed. What
        `retrieve`, `condense` and `repair` made is taken from the trace, too. A run that was interrupted, or
        whose model failed, ends there again. It needs no function: the trace may have come from a file, or
        be a conversation of another program.

        Args:
            step: The step, or its number.
            edit: The record that goes on in its place; None repeats it.
            otherwise: Answers requests that the trace does not hold, for instance another model, or a
                recording; by default there is none.

        Raises:
            ReplayMiss: A request or a call comes that the trace does not hold; shows the nearest one. Its
                `trace` is the new trace so far.

        >>> from zoolab import Scripted, run
        >>> run("Hi", [], Scripted(["Hello"])).replay().answer
        'Hello'
        """
        replay = _registered("replay", "replays traces")
        child: Trace = replay(self, self.index(step), edit, otherwise)
        return child

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceLog):
            return NotImplemented
        from zoolab.trace.events import as_read, events_of

        nothing: dict[str, Any] = {}
        pairs = zip_longest(events_of(self), events_of(other), fillvalue=nothing)
        return all(as_read(ours) == as_read(theirs) for ours, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def display(self) -> list[str]:
        """One line for people about each result; `messages[]`, and so the model, never holds them."""
        from zoolab.show.text import display_lines

        return display_lines(self)

    def diagnose(self) -> list[Any]:
        """Return what went wrong, as up to six diagnoses with evidence and advice; empty if there is no
        evidence.

        unfinished_reply, no_tool_call (though one was needed), wrong_tool, broken_arguments, unknown_tool,
        poor_description.
        With `expected_tool` in the trace's meta a wrong choice is evidence, too. Each is a
        `zoolab_connect.diagnosis.Diagnosis`.
        """
        found: list[Any] = _registered("diagnose", "says what went wrong in a run")(self)
        return found

    def to_frame(self) -> pd.DataFrame:
        """Make a table of the steps, one row each.

        Columns: run_id case_id variant model seed turn seq step slot call_id attempt tool arguments (as the
        model wrote them) expected_tool status error_code error_type message (of the error) outcome fault
        origin (of an outcome in a fork or a replay: "tape", or "ran" if it is not on the tape) t_start (s)
        duration_ms n_messages tokens_in tokens_out tokens_cached (of tokens_in)
        tokens_reasoning (of tokens_out) tokens_cache_write (of tokens_in). Arguments and messages
        are cut after 300 characters.
        """
        from zoolab.trace.frame import frame_of

        return frame_of([self])

    def to_html(
        self, path: str | Path | None = None, *, interactive: bool = False, secrets: bool = False
    ) -> str:
        """Return the story of the run as one self-contained page without scripts; written to `path`, if
        given.

        `interactive` makes it a page to step through: one script, its own, and no connection to anything.
        What looks like a key, a token or a password is taken out, unless `secrets` is true.
        """
        from zoolab.files import write_whole
        from zoolab.show.inspector.static_page import render_interactive_page
        from zoolab.show.page import render_page
        from zoolab.trace.events import without_secrets

        shared = self if secrets else without_secrets(self)
        page = render_interactive_page(shared) if interactive else render_page(shared)
        if path is not None:
            write_whole(path, [page])
        return page

    def inspect(
        self, other: Trace | None = None, *, model: Model | None = None, tools: Any = None, models: Any = None
    ) -> Inspector:
        """Step through the run in a notebook; the arguments are those of `zoolab.inspect`."""
        return inspect(self, other, model=model, tools=tools, models=models)

    def to_case(self, step: int | Step | None = None, *, expect: Any = "calls") -> Any:
        """Return the run as a case of an experiment, which expects what was done; see
        `zoolab_study.taped.case_of`.

        Args:
            step: A step; the case goes on from the conversation that its turn began with. None for all of it.
            expect: "calls", "tool" or "answer" for those of this run, a dict of `expected_calls` and the
                like, or None for nothing.

        Raises:
            InvalidInput: The run has nothing of the kind to expect.
        """
        return _registered("to_case", "makes cases")(self, step, expect)

    def to_otel(
        self, provider: TracerProvider | None = None, *, content: bool = False, secrets: bool = False
    ) -> list[ReadableSpan]:
        """Return the run as OpenTelemetry spans: invoke_agent, chat and execute_tool, by its GenAI
        conventions.

        Opens no connection and leaves OpenTelemetry's global provider alone. Exported twice, a run has the
        same times. The time between steps by hand is left out. A trace can be told the provider, the agent
        and the conversation: `Trace(meta={"provider": "openai", "agent": "shop", "conversation": "7"})`.

        Args:
            provider: The `TracerProvider` whose processors receive the spans; by default none do.
            content: Whether messages, arguments, results and error texts go with them: they may be private.
            secrets: Whether what looks like a key, a token or a password goes with them, too.

        Returns:
            The spans, finished, each before those within it; only those that the provider's sampler records.

        Raises:
            InvalidInput: The OpenTelemetry SDK is not installed, or `provider` is no provider.
        """
        from zoolab.trace.events import without_secrets

        told = self if secrets else without_secrets(self)
        make = _registered("to_otel", "makes spans")
        spans: list[ReadableSpan] = make(told, provider, content=content)
        return spans

    def to_markdown(self, *, secrets: bool = False) -> str:
        """Return the protocol of the run: each request and reply in JSON, and `messages[]` before and after.

        What looks like a key, a token or a password is taken out, unless `secrets` is true.
        """
        from zoolab.trace.events import without_secrets

        told = self if secrets else without_secrets(self)
        protocol: str = _registered("to_markdown", "writes protocols")(told)
        return protocol

    def show_wires(self, turn: int = 1) -> Any:
        """Return one turn in all wire formats side by side: `bodies` and `replies` by format, each with
        warnings.

        Returns the `zoolab_connect.wires.Wires` of the turn; raises `InvalidInput` if there is no such turn.
        """
        return _registered("show_wires", "knows other wires")(self, turn)

    def _repr_html_(self) -> str:
        from zoolab.show.page import shared_fragment

        return str(shared_fragment(self))  # marimo takes no subclass of str


def _registered(name: str, does: str) -> Any:
    from zoolab.plugins import TRACES

    return TRACES.needed(name, does)


class RunOptions(SharedOptions, total=False):
    """The options of `run` for type checkers."""

    tape: Tape | str | Path | None
    trace: Trace | None
    ask: Callable[[Step], Record | None] | None
    go_on: Trace | None


@passes_on(walk)
def run(
    prompt: str | None,
    tools: Tools,
    model: Model,
    *,
    trace: Trace | None = None,
    meta: Mapping[str, Any] | None = None,
    ask: Callable[[Step], Record | None] | None = None,
    go_on: Trace | None = None,
    tape: Tape | str | Path | None = None,
    **options: Unpack[SharedOptions],
) -> Trace:
    """Walk to the end and return the trace.

    Args:
        prompt: What the user says.
        tools: A `ToolRegistry`, or tools and functions.
        model: Anything that turns a `Request` into a `Reply`.
        trace: A trace to record into; a new one by default.
        meta: What else is known of the run, as for `Trace`; not together with `trace`.
        ask: Answers a step that waits for permission, with a `Decision`, or an `Outcome` in place of
            running it; by default nobody does, and the call is denied.
        go_on: A conversation that ended with an answer: the prompt is a further question in it. The new
            trace begins with all steps of this one, and its turns go on counting. The tools stay the same.
        tape: As for `walk`, or the path of a recording of the whole run, model and tools: a file that does
            not exist yet is recorded; one that exists is played, and then nothing runs and no model is asked.
        options: As for `walk`.

    Raises:
        ZoolabError: What ended the walk; its `trace` is the trace so far.
        InvalidInput: The conversation of `go_on` has no answer yet, or other tools.

    >>> from zoolab import Scripted
    >>> run("Hi", [], Scripted(["Hello"])).answer
    'Hello'
    >>> first = run("Hi", [], Scripted(["Hello"]))
    >>> both = run("And now?", [], Scripted(["Good day"]), go_on=first)
    >>> [message["content"] for message in both.messages]
    ['Hi', 'Hello', 'And now?', 'Good day']
    """
    if trace is not None and meta is not None:
        raise InvalidInput("both trace= and meta= are given", advice="use Trace(meta=...) instead")
    played: Tape | None = None
    if isinstance(tape, str | PathLike):
        from zoolab.plugins import NAMES

        taped = NAMES.needed("Taped", "records the calls of tools")
        model, played = taped.of_run(tape, model)
    elif tape is not None:
        played = tape
    if go_on is None:
        trace = Trace(meta=meta) if trace is None else trace
        steps = walk(prompt, tools, model, tape=played, **options)
    else:
        ask_further = _registered("go_on", "goes on with a conversation")
        if trace is None:
            trace = Trace(meta=getattr(go_on, "meta", None) if meta is None else meta)
            trace.began = getattr(go_on, "began", None)
        steps = ask_further(trace, go_on, prompt, tools, model, {**options, "tape": played})
    trace.options = dict(steps.options)
    if ask is None:
        return Trace.record(steps, into=trace)
    return drive(trace, steps, lambda step: ask(step) if step.status == "pending" else None)


def inspect(
    trace_or_walk: Trace | Iterable[Step],
    other: Trace | None = None,
    *,
    model: Model | None = None,
    tools: Any = None,
    models: Any = None,
) -> Inspector:
    """Step through a trace, or through a walk that you drive by hand.

    Args:
        trace_or_walk: A trace; or a walk, which then runs step by step, as you say.
        other: A trace to compare it with.
        model: Answers when a fork asks a model, by default that of the run; a recording (`Replay`) also
            when a fork is replayed, beside the trace's own replies.
        tools: The tools with their functions, for forks of a trace that was loaded from a file.
        models: Other models by name, as `zoolab.ask_again` takes them: *Ask others* sends them a request.

    Raises `InvalidInput` for what is neither a trace nor a walk.

    >>> from zoolab import Scripted, walk
    >>> inspector = inspect(walk("Hi", [], Scripted(["Hello"])))
    >>> inspector.overview["kind"], inspector.live["next"]
    ('d', 'request')
    """
    needs("anywidget")
    from zoolab.show.inspector.driver import Driver
    from zoolab.show.inspector.inspector import Inspector, View

    if isinstance(trace_or_walk, TraceLog):
        view = View(trace_or_walk)
    elif isinstance(trace_or_walk, Iterable) and not isinstance(trace_or_walk, str | bytes | dict | list):
        driver = Driver(trace_or_walk, Trace())
        view = View(driver.trace, driver)
    else:
        raise InvalidInput(f"cannot inspect {excerpt(trace_or_walk)}", expected="a trace or a walk")
    if other is not None and not isinstance(other, TraceLog):
        raise InvalidInput(f"cannot compare with {excerpt(other)}", expected="a trace")
    view.beside = other
    view.comparing = other is not None
    others = None if models is None else _registered("ask_others", "asks other models")(models)
    return Inspector(view, model, tools, others)


def read_conversation(
    messages: Iterable[Message],
    tools: ToolRegistry | None = None,
    *,
    meta: Mapping[str, Any] | None = None,
    ends: Mapping[int, str] | None = None,
) -> Trace:
    """Return the trace of a conversation in OpenAI's form, as far as its messages show what happened.

    Nothing runs, and no step has a time. With `tools`, the calls are checked against them. `ends` has the
    finish reason of assistant messages by their position. See `zoolab_connect.conversation`.

    >>> read_conversation([
    ...     {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    ... ]).answer
    'Hello'
    """
    conversation_steps = _registered("conversation", "reads conversations of others")
    trace = Trace.record(conversation_steps(messages, tools, ends), meta=meta)
    trace.began = None
    for seq in range(len(trace)):
        trace.started[seq] = 0.0
    return trace
