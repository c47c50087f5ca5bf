"""Traces as JSONL: one event a line, readable while it is being written.

    {"event": "trace", "format": "zoolab-trace", "version": 1, "run_id": ..., "meta": {...}}
    {"event": "message", "id": "9f..", "message": {...}}          each message once
    {"event": "step", "kind": ..., "keep": 2, "append": ["9f.."], "record": {...}, ...}
    {"event": "edit", "seq": 3, "keep": ..., "append": [...], "record": {...}}
    {"event": "end", "outcome": "answer", "error": null}

`keep` and `append` say how `messages[]` changed: so many of the earlier ones stay, these follow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from zoolab.errors import InvalidInput, InvalidTrace
from zoolab.files import write_whole
from zoolab.jsontext import decode_line, excerpt
from zoolab.jsontext.values import encode_any

FORMAT = "zoolab-trace"
VERSION = 1
#: Characters of a line. A longer event is neither written nor read.
MAX_LINE = 64 << 20
#: Levels of nesting in an event: a value has up to 64, and the trace of a sub-agent adds some.
MAX_NESTING = 200

_SHORT_ENOUGH = f"lines of at most {MAX_LINE:,} characters"

Event = dict[str, Any]


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write all events to `path`, one a line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trace.jsonl"
    >>> write_events(path, [{"event": "end"}])
    >>> path.read_text()
    '{"event":"end"}\\n'
    """
    write_whole(path, _lines(events))


def as_read(event: Event) -> Event:
    """An event as it will be once it was written and read.

    >>> as_read({"event": "trace", "meta": {1: float("nan")}})
    {'event': 'trace', 'meta': {'1': 'NaN'}}
    """
    return cast("Event", json.loads(encode_any(event, MAX_NESTING)))


def alike(a: Event, b: Event) -> bool:
    """Whether two events are the same once they were written and read.

    >>> alike({"meta": {1: float("nan")}}, {"meta": {"1": "NaN"}})
    True
    """
    lines = [encode_any(event, MAX_NESTING) for event in (a, b)]
    return lines[0] == lines[1] or json.loads(lines[0]) == json.loads(lines[1])


class EventWriter:
    """Appends events to a file as they happen; each line is whole once it is there."""

    def __init__(self, path: Path) -> None:
        self._step = 0
        self.path = path
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(
                f"cannot write {path}: {error.strerror}", advice="choose another place"
            ) from None

    def write(self, event: Event) -> None:
        """Append one event."""
        self._file.write(_line(event, self._step))
        self._step += event["event"] == "step"
        self._file.flush()

    def close(self) -> None:
        """Sync and close the file."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def drop(self) -> None:
        """Close the file, whatever is still to be written."""
        with suppress(OSError):
            self._file.close()


def read_events(path: Path) -> Iterator[tuple[int, Event]]:
    """The events of a file with their line numbers; a last line that is still being written is left out.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trace.jsonl"
    >>> _ = path.write_text('{"event":"end"}\\n{"eve')
    >>> list(read_events(path))
    [(1, {'event': 'end'})]
    """
    try:
        file = path.open(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}", expected="a trace saved as JSONL"
        ) from None
    unfinished: InvalidTrace | None = None
    with file:
        number = read = 0
        try:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise InvalidTrace(f"line {number} is too long", expected=_SHORT_ENOUGH)
                try:
                    event = _parse(line, number)
                except InvalidTrace as error:
                    if line.endswith("\n"):
                        raise
                    unfinished = error
                else:
                    read += 1
                    yield number, event
        except UnicodeDecodeError:
            raise InvalidTrace(
                f"line {number + 1} is not UTF-8 text", expected="a trace as zoolab writes it"
            ) from None
    if read == 0:
        raise unfinished or InvalidTrace(f"{path.name} is empty", expected="a trace saved as JSONL")


def _lines(events: Iterable[Event]) -> Iterator[str]:
    step = 0
    for event in events:
        yield _line(event, step)
        step += event["event"] == "step"


def _line(event: Event, step: int) -> str:
    line = encode_any(event, MAX_NESTING) + "\n"
    if len(line) > MAX_LINE:
        told = {"step": f"step {step}", "message": f"a message of step {step}", "trace": "the trace's meta"}
        raise InvalidInput(
            f"{told.get(event['event'], event['event'])} takes {len(line):,} characters in the file",
            expected=_SHORT_ENOUGH,
            advice="shorten the texts in it",
        )
    return line


def _parse(line: str, number: int) -> Event:
    try:
        event = decode_line(line, MAX_NESTING)
    except (ValueError, RecursionError) as error:
        raise InvalidTrace(f"line {number} is not JSON: {error}", expected="one event a line") from None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise InvalidTrace(f"line {number} is {excerpt(event)}", expected="an object with an event")
    return event
