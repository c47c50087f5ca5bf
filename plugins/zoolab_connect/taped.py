"""Tools whose calls are recorded and played: in a walk, in a loop of your own, or one function alone.

A tape is a recording (`zoolab.models.recording`) with calls beside its requests: one file plays the model,
through `Replay`, and the tools. A file that does not exist yet is recorded; one that exists is played.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from zoolab.errors import ExecutionFailed, InvalidInput, InvalidTrace, ReplayMiss
from zoolab.fault import marked
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.models.recording import Header, Recording, nearest_difference, shipped
from zoolab.models.replay import Replay
from zoolab.records import Messages, Model, Outcome
from zoolab.secrets import scrub_json
from zoolab.steps.define import as_registry
from zoolab.steps.execute import outcome_of
from zoolab.tapes import Tape, TapedCall, call_as_text
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown, decode_record, encode_record

P = ParamSpec("P")
R = TypeVar("R")

#: The tape of the functions that `taped` marks.
TAPE = "ZOOLAB_TAPE"
#: "record" or "play"; by default a file that exists is played.
TAPE_MODE = "ZOOLAB_TAPE_MODE"
#: Characters of the JSON of a value. Of a longer one the tape keeps the beginning, and cannot play it.
MAX_VALUE = 4 << 20
#: What a tool may raise, by its code.
_RAISED: list[type[ExecutionFailed]] = [*ExecutionFailed.__subclasses__(), ExecutionFailed]
_FAILURES = {kind.code: kind for kind in _RAISED}


class FileTape(Tape):
    """The calls of a recording: recorded in a file that was begun for them, else played, each once, in order.

    Args:
        path: The file, or the name of a recording that comes with zoolab.
        plays: Whether it plays the file or adds to it; by default it plays a file that exists already.

    Raises:
        InvalidInput: The file is no recording.
    """

    def __init__(self, path: str | Path, plays: bool | None = None) -> None:
        self.plays = is_recorded(path) if plays is None else plays
        self.recording = Recording(path, None if self.plays else Header("recorded", "", "tools"))
        self._waiting = defaultdict[str, deque[Outcome]](deque)
        for call, outcome in outcomes_in(self.recording) if self.plays else ():
            self._waiting[_text_of(call)].append(outcome)

    def __repr__(self) -> str:
        return f"<FileTape {self.recording.path.name}: {len(self.recording.calls)} calls>"

    def take(self, tool: str, arguments: Mapping[str, Any]) -> TapedCall | None:
        """Return what came of the next such call, and strike it off; None while it records.

        Raises:
            ReplayMiss: The file holds no such call, or no further one, or only a part of its value.
        """
        return TapedCall(self.play(tool, arguments)) if self.plays else None

    def play(self, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Return the outcome of the next call of the tool of this name, as `take` does."""
        name = self.recording.path.name
        asked = _text_of(_call(tool, arguments))
        waiting = self._waiting.get(asked)
        if not waiting:
            known = () if waiting is not None else map(json.loads, self._waiting)
            raise ReplayMiss(
                f"{name} holds no {'further ' * (waiting is not None)}call of {tool}"
                f" with {excerpt(dict(arguments), 200)}",
                advice="record the run again, into another file",
                difference=nearest_difference(json.loads(asked), known, "recorded"),
            )
        outcome = waiting.popleft()
        if isinstance(outcome.value, Shown):
            raise ReplayMiss(
                f"{name} holds only a part of the result of {tool}", advice="run it without a tape"
            )
        return replace(outcome, origin="tape")

    def keep(self, tool: Tool, arguments: Mapping[str, Any], outcome: Outcome, _ran: bool) -> Outcome:
        """Write a call and its outcome into the file."""
        self.write(tool.name, arguments, outcome)
        return outcome

    def write(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Append the outcome of a call of the tool of this name."""
        self.recording.add_call(_call(tool, arguments), encode_outcome(outcome))

    def call(self, function: Callable[[], R], name: str, arguments: Mapping[str, Any]) -> R:
        """Play a call; or run it and write it down. Returns its value, or raises what it raises."""
        if self.plays:
            return cast("R", _played(self.play(name, arguments)))
        made: list[R] = []
        raised: list[BaseException] = []

        def noted() -> R:
            try:
                made.append(function())
            except BaseException as error:
                raised.append(error)
                raise
            return made[0]

        self.write(name, arguments, outcome_of(noted))
        if raised:
            raise raised[0]
        return made[0]

    async def call_async(
        self, function: Callable[[], Awaitable[R]], name: str, arguments: Mapping[str, Any]
    ) -> R:
        """Do the same for a function that is awaited."""
        if self.plays:
            return cast("R", _played(self.play(name, arguments)))
        raised: list[BaseException] = []
        made: list[R] = []
        try:
            made.append(await function())
        except BaseException as error:
            raised.append(error)
        return self.call(lambda: _again(made, raised), name, arguments)


class Taped(ToolRegistry):
    """Tools that record their calls in a file, or that play a file: then no function runs.

    A file that does not exist yet is recorded; one that exists is played. The same call gets the next outcome
    that was recorded for it. `Replay` plays the model from the same file.

    Args:
        tools: A `ToolRegistry`, or tools and functions.
        path: The recording.

    Raises:
        ReplayMiss: A call is not in the file; raised when it is called.

    >>> import tempfile
    >>> from zoolab.steps.define import tool
    >>> @tool
    ... def roll(sides: int) -> int:
    ...     "Roll a die."
    ...     print("rolled")
    ...     return 4
    >>> path = tempfile.mkdtemp() + "/dice.jsonl"
    >>> Taped([roll], path).execute("roll", {"sides": 6})
    rolled
    4
    >>> Taped([roll], path).execute("roll", {"sides": 6})
    4
    """

    def __init__(self, tools: Any, path: str | Path) -> None:
        self.tape = FileTape(path)
        super().__init__(map(self._taped, as_registry(tools)))

    @classmethod
    def of_run(cls, path: str | Path, model: Model) -> tuple[Model, FileTape]:
        """Return a model and a tape for `run`: both play the file, or record into it what this model says."""
        plays = is_recorded(path)
        return Replay(path, live=None if plays else model), FileTape(path, plays)

    def _taped(self, tool: Tool) -> Tool:
        """Return the tool around its tape: the very arguments of the call are recorded, and it binds them
        itself.
        """
        tape = self.tape
        awaited = inspect.iscoroutinefunction(tool.function)

        def function(**arguments: Any) -> Any:
            context = arguments.pop(tool.context_parameter or "", None)
            call = tape.call_async if awaited else tape.call
            return call(lambda: tool.invoke(dict(arguments), context), tool.name, arguments)

        shown = function if tool.function is None else functools.update_wrapper(function, tool.function)
        return replace(tool, function=shown, bind=None)


def taped(function: Callable[P, R], path: str | Path | None = None) -> Callable[P, R]:
    """Mark a function whose calls are recorded and played, in a program of any framework.

    It writes its calls into the recording that ZOOLAB_TAPE names, or plays them if that file exists already;
    without one it returns the function as it is. `zoolab proxy` sets the variable. Arguments are recorded by
    their names, as JSON; for what is not JSON the call raises `InvalidInput`.

    >>> taped(len) is len
    True
    """
    named = str(path or os.environ.get(TAPE) or "")
    if not named:
        return function
    tape = _tape_of(named)
    name = getattr(function, "__name__", type(function).__name__)
    wrapped: Any
    if inspect.iscoroutinefunction(function):

        async def wrapped(*args: P.args, **kwargs: P.kwargs) -> Any:
            arguments = _arguments(function, args, kwargs)
            return await tape.call_async(lambda: function(*args, **kwargs), name, arguments)

    else:

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            return tape.call(lambda: function(*args, **kwargs), name, _arguments(function, args, kwargs))

    made: Callable[P, R] = functools.wraps(function)(wrapped)
    return made


@functools.cache
def _tape_of(path: str) -> FileTape:
    """Return the one tape of a file in this process: what records it does not begin to play it."""
    return FileTape(path, {"record": False, "play": True}.get(os.environ.get(TAPE_MODE, "")))


def _again(made: list[R], raised: list[BaseException]) -> R:
    if raised:
        raise raised[0]
    return made[0]


def _arguments(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        given = {**{str(at): value for at, value in enumerate(args)}, **kwargs}
    try:
        made: dict[str, Any] = to_json_value(given)
        return made
    except NotJSON as error:
        what = f"a call on a tape has arguments that are not JSON: {error}"
        raise InvalidInput(what, advice="mark a function that takes plain values") from None


def _played(outcome: Outcome) -> Any:
    """Return the value of an outcome, or its error raised."""
    error = outcome.error
    if error is None:
        return outcome.value
    kind = _FAILURES.get(error.code, ExecutionFailed)
    name = error.exception or ""
    raised = (type(name, (kind,), {}) if name.isidentifier() else kind)(error.message)
    raise raised if outcome.fault is None else marked(raised, outcome.fault)


def outcomes_in(recording: Recording) -> Iterator[tuple[dict[str, Any], Outcome]]:
    """Yield the recorded calls with their outcomes, in order; `InvalidInput` names one that is none."""
    for number, entry in enumerate(recording.calls, 1):
        try:
            outcome = decode_record({"type": "outcome", **entry["outcome"]}, Messages())
        except InvalidTrace as error:
            what = f"{recording.path.name}, call {number}: {error}"
            raise InvalidInput(what, advice="record the calls again, into another file") from None
        yield entry["call"], cast("Outcome", outcome)


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a tape holds it: its value whole, up to 4 MiB of JSON, and no trace of a
    sub-agent.
    """
    return {**encode_record(replace(outcome, value=None, trace=None)), **_value_of(outcome)}


def _value_of(outcome: Outcome) -> dict[str, Any]:
    try:
        value = to_json_value(outcome.value)
        text = encode(value)
    except (NotJSON, RecursionError):
        text = excerpt(outcome.value, 200)
        value = None
        return {"shown": text, "size": None}
    return {"value": value} if len(text) <= MAX_VALUE else {"shown": text[:1_000], "size": len(text.encode())}


def _call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool": tool, "arguments": dict(arguments)}


def _text_of(call: Mapping[str, Any]) -> str:
    """Return a call as one text, the same with and without its secrets, which no recording keeps."""
    clean = scrub_json(dict(call))
    return call_as_text(clean["tool"], clean["arguments"])


def is_recorded(path: str | Path) -> bool:
    """Tell whether there is a recording to play: a file that is not empty, or one of zoolab's own."""
    if Path(path).exists():
        return Path(path).stat().st_size > 0
    return str(path) in shipped()
