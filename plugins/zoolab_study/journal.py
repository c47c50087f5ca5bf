"""The journal of an experiment: JSONL, a line a run, written as runs end and read when it is asked for.

    {"event": "experiment", "format": "zoolab-experiment", "version": 4}
    {"event": "run", "run": "4c..", "scores": {...}, "events": [...]}

The events of a run are those of its trace, as `Trace.save` writes them.

Lines are only appended, each with one write, so that a process that is killed loses none that it had
written; the file is synced once a second and at the end, which is what a power cut may cost.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

from zoolab.errors import InvalidInput, InvalidTrace
from zoolab.files import heal, locked, make_folder, privately, system_errors
from zoolab.jsontext.values import encode_any
from zoolab.records import Reply
from zoolab.runs import Trace
from zoolab.secrets import scrub_json
from zoolab.tokens import Tokens
from zoolab.trace.events import MAX_NESTING, events_of, read_events, reading_as_written

FORMAT = "zoolab-experiment"
VERSION = 5
MAX_LINE = 64 << 20
#: The columns of a summary that say which run it is.
WHICH_RUN = ("run_id", "case_id", "variant", "model", "repeat", "seed", "expected_tool")

#: How a run ends that the model has brought to its end. All other runs broke off: they say nothing of it.
ENDS = {
    *("answer", "loop_limit", "retries_exhausted", "no_tool_call", "wrong_tool"),
    *("cut", "filtered", "empty"),
}
_HEADER = f'{{"event":"experiment","format":"{FORMAT}","version":{VERSION}}}\n'.encode()
_ANY_HEADER = re.compile(rb'.{,99}"format": ?"zoolab-experiment", ?"version": ?(\d+)')
_RUN = re.compile(rb'\{"event":"run","run":"([0-9a-f]{28})"')
_END = b'{"event":"end"'
_RUN_AS_WRITTEN = ("a run of a journal", "a run as zoolab writes it")
_SYNC_SECONDS = 1.0
_BLOCK = 1 << 16


class Journal:
    """A journal, open for appending: made, or healed and gone on with.

    Raises `InvalidInput` if it is a file of another kind, cannot be opened, or somebody else writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._synced = time.monotonic()
        make_folder(path.parent)
        with ExitStack() as opened:
            opened.enter_context(locked(path.with_name(f".{path.name}.lock")))
            with system_errors(f"cannot write {path}"):
                self._file: BinaryIO = opened.enter_context(open(path, "a+b", buffering=0, opener=privately))
            _check_header(path, begun=False)
            self._end = heal(self._file)
            if self._end == 0:
                self.append([_HEADER])
            self._open = opened.pop_all()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._open.close()

    def append(self, lines: list[bytes]) -> list[int]:
        """Write lines; returns where each begins."""
        places = [*accumulate(map(len, lines), initial=self._end)]
        with system_errors(f"cannot write {self.path}", "free some space on the disk, and resume"):
            # A full disk may take a part of it; the rest is tried once more, and then it is an error.
            left = memoryview(b"".join(lines))
            while left:
                left = left[self._file.write(left) :]
        self._end = places.pop()
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
        return places


class JournalReader:
    """Reads the runs of a journal, each when it is asked for."""

    def __init__(self, path: Path, home: object = None) -> None:
        _check_header(path)
        self.path = path
        #: The temporary folder that the file is in, which goes with the last reader.
        self.home = home

    def runs(self) -> Iterator[tuple[str, int]]:
        """Yield the names of the runs, and where their lines begin."""
        with self.path.open("rb") as file:
            place = 0
            for line in file:
                found = _RUN.match(line)
                if found and line.endswith(b"\n"):
                    yield found[1].decode(), place
                place += len(line)

    def ended(self) -> Iterator[tuple[str, int]]:
        """Yield as `runs` does, without those that broke off: they are to be done again."""
        last = dict(self.runs())
        with self.path.open("rb") as file:
            for name, place in last.items():
                file.seek(place)
                if _outcome_of(file.readline(MAX_LINE)) in ENDS:
                    yield name, place

    def at(self, places: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield the lines that begin at these places."""
        with self.path.open("rb") as file:
            for place in places:
                file.seek(place)
                try:
                    yield json.loads(file.readline(MAX_LINE))
                except (ValueError, RecursionError) as error:
                    expected = "a journal as zoolab writes it"
                    raise InvalidTrace(f"{self.path.name}: {error}", expected=expected) from None


def _outcome_of(line: bytes) -> object:
    """Return how the run of a line ended; its last event says so, and only that is read."""
    try:
        end, _ = json.JSONDecoder().raw_decode(line[line.rfind(_END) :].decode())
        return end.get("outcome")
    except (ValueError, RecursionError):
        return None


def _check_header(path: Path, begun: bool = True) -> None:
    """Raise `InvalidInput` if a file is not a journal, or the beginning of one, of this version."""
    try:
        with path.open("rb") as file:
            first = file.readline(_BLOCK)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}", expected="a journal") from None
    if first == _HEADER or (not begun and _HEADER.startswith(first)):
        return
    if found := _ANY_HEADER.match(first):
        what = f"a journal of version {found[1].decode()}"
        advice = "run the experiment again, into another file"
        raise InvalidInput(f"{path} is {what}", expected=f"version {VERSION}", advice=advice)
    raise InvalidInput(f"{path} is not the journal of an experiment", advice="choose another file")


def run_line(trace: Trace, scores: Mapping[str, Any] | None = None) -> bytes:
    """Return the line of a run, with secrets taken out."""
    told = {} if scores is None else {"scores": scores}
    line = {"event": "run", "run": trace.run_id, **told, "events": list(events_of(trace))}
    return f"{encode_any(scrub_json(line), MAX_NESTING)}\n".encode()


def trace_of(line: Mapping[str, Any]) -> Trace:
    """Return the trace of a line. Safe for lines from strangers.

    Raises `InvalidTrace` if the line does not hold a trace.
    """
    with reading_as_written(*_RUN_AS_WRITTEN):
        return read_events(Trace(), line["events"])


def summary_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run in one row: which one it is, how it ended (`said` is the final text), and what it took.

    `turns` are requests; `calls` are those that the model asked for, `errors` those of them that were
    refused or failed; `duration_ms` is of the whole run; tokens are as the endpoints counted them, those
    of sub-agents too, None if they did not. The scores come last: those of a run that broke off are None,
    because missing is not wrong. Safe for lines from strangers.

    Raises `InvalidTrace` if the line does not hold a trace.
    """
    with reading_as_written(*_RUN_AS_WRITTEN):
        events = line["events"]
        scores = line.get("scores")
        steps = [event for event in events if event["event"] == "step"]
        records = [step["record"] for step in steps]
        kinds = Counter(step["kind"] for step in steps)
        end = events[-1]
        tokens = Tokens.total(_usages(steps))
        said = [record for record in records[-2:] if record.get("type") == "reply"]
        return {
            "run_id": line.get("run"),
            **events[0]["meta"],
            "outcome": end["outcome"],
            "error": end["error"],
            "said": Reply(said[-1]["message"]).text if said else None,
            "turns": kinds["request"],
            "steps": len(steps),
            "calls": sum(step["kind"] == "validate" and step.get("slot") is not None for step in steps),
            "errors": sum(record.get("ok") is False or bool(record.get("error")) for record in records),
            "duration_ms": None if end["t"] is None else round(end["t"] * 1e3, 3),
            "tokens_in": tokens.input,
            "tokens_out": tokens.output,
            **_known_scores(scores, end["outcome"]),
        }


def _known_scores(scores: Any, outcome: object) -> dict[str, Any]:
    known: dict[str, Any] = scores if isinstance(scores, dict) else {}
    if outcome in ENDS:
        return known
    return {name: score if name == "scorer_error" else None for name, score in known.items()}


def _usages(steps: list[Any]) -> Iterator[Any]:
    """Yield the usage of each reply, which stands at its first call, and of the replies of sub-agents."""
    for step in steps:
        record = step["record"]
        if step["kind"] == "tool_call" and not step.get("slot"):
            yield (step.get("reply") or record).get("usage")
        if record.get("trace"):
            yield from _usages([event for event in record["trace"] if event["event"] == "step"])
