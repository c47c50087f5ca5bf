"""A submission as the grader sees it: call its functions, answer what they ask, keep what they did."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from zoolab.jsontext import visible
from zoolab_grader.channel import Closed, Gone, Late
from zoolab_grader.missing import Known
from zoolab_grader.process import UNEXPLAINED, WHOLE, Process, Wait, seconds_in_words
from zoolab_grader.worker.serve import KINDS, SIMPLE


def cleaned(text: Any, limit: int = 300) -> str:
    """Return what a submission says, as text of at most `limit` characters whose control characters can be
    seen.
    """
    known = isinstance(text, (str, int, float, type(None)))
    short = str(text)[: limit + 1] if known else "a value that is not text"
    return visible(short if len(short) <= limit else f"{short[:limit]}…")


MAX_QUESTIONS = 10_000
#: After a late cell or call, the next calls get less time, so a loop without end costs one timeout.
SHORTER = 0.1


class Wrong(Exception):
    """What the student's code did that the task does not ask for, in words that give no hidden value away.

    A case raises it; so does whatever the student's code could not do at all. `walk` is the conversation as
    far as it went, for the inspector, if there was one.
    """

    def __init__(self, happened: str, walk: list[dict[str, Any]] | None = None) -> None:
        super().__init__(happened)
        self.happened = happened
        self.walk = walk


@dataclass(frozen=True, slots=True)
class Callback:
    """A function of the grader that the student's code may call: a model, a tool.

    It runs on the trusted side with JSON arguments; what it returns, or raises (one of `KINDS`), goes back.
    """

    function: Callable[..., Any]
    name: str = "ask"


@dataclass(frozen=True, slots=True)
class Frame:
    """A data frame that the student's code returned, as plain JSON values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def records(self) -> list[dict[str, Any]]:
        """Return one dict a row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of the student's code returned.

    `args` are the arguments as they were afterwards; none if `Student.call` was not asked for them.
    """

    value: Any
    args: list[Any]


@dataclass(slots=True)
class Student:
    """A submission that runs. Each method raises `Wrong` when the student's code falls short.

    `start` makes a process and loads the submission into it; it is called again after a call that the
    process did not survive, so that the next case finds a fresh one. `left` are the seconds that the
    submission has left for everything.
    """

    start: Callable[[Student], Process]
    seconds: float
    left: float = field(default=WHOLE, init=False)
    #: What is known of the submission if it lacks a name.
    known: Known = field(default_factory=Known)
    #: Whether a cell or a call has used up its time: the next calls get less of it.
    late: bool = field(default=False, init=False)
    #: Whether a call has lost its process and nothing says why: the machine may have been the reason.
    unexplained: bool = field(default=False, init=False)
    _process: Process | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.left = max(WHOLE, self.seconds)

    def call(self, function: str, *args: Any, args_after: bool = False, marked: bool = False) -> Answer:
        """Call a function of the submission; a `Callback` anywhere in the arguments can be called by it.

        With `args_after`, the answer has the arguments as they are after the call. What JSON cannot express
        is Wrong in what comes back; with `marked`, a text stands in its place.
        """
        callbacks: list[Callback] = []
        asked = {"function": function, "args": _outgoing(args, callbacks), "asks": bool(callbacks)}
        asked |= {"args_after": args_after, "marked": marked}
        reply = self._exchange({"do": "call", **asked}, callbacks, function)
        after = reply.get("args") if args_after else []
        if not isinstance(after, list):
            raise Wrong(f"`{function}` returned an answer that cannot be read")
        return Answer(_incoming(reply["value"]), after)

    def value(self, name: str, *, marked: bool = False) -> Any:
        """Return the value of a variable of the submission, `marked` as in `call`."""
        return _incoming(self._exchange({"do": "value", "name": name, "marked": marked}, [], name)["value"])

    def stop(self) -> str:
        """End the process, if there is one, and say how it had ended by itself."""
        process = self._process
        self._process = None
        if process is None:
            return ""
        how = process.ended()
        return UNEXPLAINED if how is None else how

    def _exchange(self, message: dict[str, Any], callbacks: list[Callback], name: str) -> dict[str, Any]:
        if self._process is None and self.left > 0:
            self._process = self.start(self)
        if self._process is None or self.left <= 0:
            raise Wrong("the submission has already used the time for all of its cells and calls")
        with self._surviving(self._process, name) as wait:
            reply = _answered(wait, {**message, "call": secrets.token_hex(8)}, callbacks)
        raised = reply.get("raised")
        if isinstance(raised, dict):
            kind = cleaned(raised.get("type"), 100)
            text = cleaned(raised.get("message"))
            at = f" ({cleaned(raised['at'], 100)})" if raised.get("at") else ""
            undefined = raised.get("undefined")
            note = self.known.failed(undefined) if isinstance(undefined, str) else ""
            why = f"; {note}" if note else ""
            raise Wrong(f"`{name}` raised {kind}{': ' if text else ''}{text}{at}{why}")
        if "unfit" in reply:
            did = "is" if message["do"] == "value" else "returned"
            raise Wrong(f"`{name}` {did} {cleaned(reply['unfit'])}")
        if "value" not in reply:
            raise Wrong(f"there is no `{name}` in the submission{self.known.why(name)}")
        return reply

    @contextmanager
    def _surviving(self, process: Process, name: str) -> Iterator[Wait]:
        """End a process that is late or gone, and tell the student's function so; also one that is still in
        the middle of a call when a case gives up.
        """
        wait = Wait(process, min(self.seconds * (SHORTER if self.late else 1), self.left))
        try:
            yield wait
        except Late:
            wait.end()
            self.stop()
            self.late = True
            raise Wrong(f"`{name}` did not return within {seconds_in_words(wait.seconds, 2)}") from None
        except Closed as closed:
            how = wait.end()
            self.stop()
            self.unexplained = self.unexplained or how is None
            why = UNEXPLAINED if how is None else how or closed
            raise Wrong(f"`{name}` ended its process: {why}") from None
        except Gone as gone:
            wait.end()
            self.stop()
            raise Wrong(f"`{name}` had its process ended: it {gone}") from None
        except BaseException:
            self.stop()
            raise
        finally:
            self.left -= wait.charged


def _answered(wait: Wait, message: dict[str, Any], callbacks: list[Callback]) -> dict[str, Any]:
    """Send a message and answer what is asked until the reply to it comes."""
    channel = wait.process.channel
    channel.answer = partial(_answer_to, callbacks=callbacks)
    wait.send(message)
    channel.answer = None  # a submission in this process has asked while the message was sent
    for _ in range(MAX_QUESTIONS):
        reply = wait.message()
        if reply.get("call") != message["call"]:
            raise Gone("answered a call that was not made")
        if "ask" not in reply:
            return reply
        wait.send(_answer_to(reply, callbacks))
    raise Gone(f"calls back more than {MAX_QUESTIONS:,} times")


def _outgoing(value: Any, callbacks: list[Callback]) -> Any:
    if type(value) in SIMPLE:
        return value
    if isinstance(value, dict):
        return {key: _outgoing(item, callbacks) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_outgoing(item, callbacks) for item in value]
    if isinstance(value, Callback):
        callbacks.append(value)
        return {"$ask": len(callbacks) - 1, "name": value.name}
    return value


def _incoming(value: Any) -> Any:
    """Return a value of the submission; a data frame comes as its columns and rows."""
    if not isinstance(value, dict) or value.keys() != {"$frame"}:
        return value
    try:
        columns = tuple(str(name) for name in value["$frame"]["columns"])
        rows = tuple(tuple(row) for row in value["$frame"]["rows"])
        if len(set(columns)) < len(columns) or any(len(row) != len(columns) for row in rows):
            raise ValueError
    except (TypeError, KeyError, ValueError):
        raise Wrong("returned a data frame that cannot be read: are its columns named once each?") from None
    return Frame(columns, rows)


def _answer_to(question: dict[str, Any], callbacks: list[Callback]) -> dict[str, Any]:
    number = question.get("ask")
    args = question.get("args")
    kwargs = question.get("kwargs")
    known = type(number) is int and 0 <= number < len(callbacks)
    if not known or not isinstance(args, list) or not isinstance(kwargs, dict):
        raise Gone("called a function that was not passed to it")
    assert isinstance(number, int)
    try:
        return {"value": callbacks[number].function(*args, **kwargs)}
    except KINDS as error:
        kind = next(kind for kind in KINDS if isinstance(error, kind))
        return {"raise": kind.__name__, "args": [str(each) for each in error.args]}
    except AttributeError as error:
        return {"raise": "TypeError", "args": [str(error)]}
