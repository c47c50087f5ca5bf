"""Recordings: pairs of request and response in a JSONL file, each found again by what was asked. It may be
compressed by gzip (`.jsonl.gz`); such a one is only read.

    {"recording": "zoolab", "version": 1, "made": "recorded", "model": ..., "settings": {...}, "who": ...}
    {"request": {...}, "response": {...}, "date": "2026-11-22", "answered_by": "needle3"}
    {"call": {"tool": "add", "arguments": {...}}, "outcome": {...}, "date": "2026-11-22"}

The calls of tools may be recorded too: `zoolab.Taped` plays them.

`made` is `recorded` (a real model answered) or `authored` (written by hand, for teaching). A recording that
comes with zoolab goes by its name. Recordings in the folder that the environment variable `ZOOLAB_RECORDINGS`
names come before those: so a whole course answers as another model did.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from zoolab.errors import InvalidInput
from zoolab.files import heal, is_half, locked, privately, system_errors
from zoolab.jsontext import encode_line, excerpt
from zoolab.models.request_keys import DELIVERY, RequestKeys
from zoolab.records import without
from zoolab.secrets import scrub_json

VERSION = 1
OWN_RECORDINGS = "ZOOLAB_RECORDINGS"
#: Of a difference, so many lines are shown.
_MAX_LINES = 24
_NO_SETTINGS = {"model", "messages", "client", "stream", "self"}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a recording: who answered, and how."""

    made: Literal["recorded", "authored"]
    model: str
    who: str = ""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: Literal["native", "text", "auto"] = "native"
    #: The day on which the recording was begun.
    date: str = ""


class Recording:
    """A file of request and response pairs.

    Args:
        path: The file. A missing one is begun, if a header is given.
        header: The first line of a new file.

    Raises:
        InvalidInput: There is no such file, or it is not a recording; the message names the line.
    """

    def __init__(self, path: str | Path, header: Header | None = None) -> None:
        self.path = _place_of(path, begins=header is not None)
        #: The recorded pairs, by the names of their requests.
        self._entries: dict[str, dict[str, Any]] = {}
        #: The recorded calls with their outcomes, in order.
        self.calls: list[dict[str, Any]] = []
        self._keys = RequestKeys()
        self._lock = threading.Lock()
        if header is None or (self.path.exists() and not _is_half_header(self.path)):
            self.header = self._load()
        else:
            # What a model was told may hold a key, like what it was asked.
            self.header = Header(**scrub_json(asdict(header)))
            begun = {**asdict(self.header), "date": header.date or _today()}
            self._write({"recording": "zoolab", "version": VERSION, **begun})

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Recording {self.path.name}: {self.header.who}>"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all recorded requests, in order."""
        return [entry["request"] for entry in self._entries.values()]

    @property
    def openings(self) -> list[dict[str, Any]]:
        """The bodies that begin a conversation: a question, perhaps after a system prompt."""
        plain = (["user"], ["system", "user"])
        return [body for body in self.requests if [each.get("role") for each in body["messages"]] in plain]

    def key_of(self, body: dict[str, Any]) -> str:
        """Return the name of a request in this recording."""
        return self._keys.of(body)

    def sent_instead(self, key: str) -> dict[str, Any] | None:
        """Return the body that was sent in place of the request of this name; None if there is none."""
        instead = (self.response(key) or {}).get("sent")
        return instead if isinstance(instead, dict) else None

    def response(self, key: str) -> dict[str, Any] | None:
        """Return the response that was recorded for the request of this name, or None."""
        return self._entries[key]["response"] if key in self._entries else None

    def add(self, body: dict[str, Any], response: dict[str, Any]) -> None:
        """Append a pair, with secrets taken out and no headers."""
        entry = {
            "request": scrub_json(without(body, DELIVERY)),
            "response": scrub_json(response),
            "date": _today(),
            "answered_by": response.get("model"),
        }
        with self._lock:
            self._write(entry)  # first: what is not in the file has to be asked again
            self._entries.setdefault(self._keys.of(entry["request"]), entry)

    def add_call(self, call: dict[str, Any], outcome: dict[str, Any]) -> None:
        """Append a call of a tool and what came of it, with secrets taken out."""
        entry = {"call": scrub_json(call), "outcome": scrub_json(outcome), "date": _today()}
        with self._lock:
            self._write(entry)
            self.calls.append(entry)

    def difference(self, body: dict[str, Any]) -> str:
        """Return a unified diff from the nearest recorded request; empty if nothing is recorded."""
        bodies = [scrub_json(without(each, DELIVERY)) for each in (body, *self.requests)]
        return nearest_difference(bodies[0], bodies[1:], "recorded")

    def _load(self) -> Header:
        try:
            data = self.path.read_bytes()
            data = gzip.decompress(data) if self.path.suffix == ".gz" else data
            end = data.rfind(b"\n") + 1
            text = (data[:end] if end and is_half(data[end:]) else data).decode("utf-8")
        except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text, or not whole"
            raise InvalidInput(f"cannot read {self.path}: {reason}", expected="a recording") from None
        if not text:
            raise InvalidInput(f"{self.path} is empty", expected="a recording")
        # Not splitlines, which also breaks at U+2028 and the like, and they may stand in a line.
        first, *lines = text.removesuffix("\n").split("\n")
        header = _header(first, f"{self.path.name}, line 1,")
        keys = RequestKeys()
        for number, line in enumerate(lines, 2):
            entry = _pair(line, f"{self.path.name}, line {number},")
            if "call" in entry:
                self.calls.append(entry)
            else:
                self._entries.setdefault(keys.of(entry["request"]), entry)
        return header

    def _write(self, entry: dict[str, Any]) -> None:
        """Append a line; what a kill or a full disk left of the one before goes first."""
        if self.path.suffix == ".gz":
            raise InvalidInput(f"{self.path.name} is compressed", advice="unpack it to add to it")
        lock = locked(self.path.with_name(f".{self.path.name}.lock"))
        with (
            system_errors(f"cannot write {self.path}"),
            open(self.path, "a+b", opener=privately) as file,
            lock,
        ):
            heal(file)
            file.write(encode_line(entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _is_half_header(path: Path) -> bool:
    begin = b'{"recording":"zoolab"'
    data = path.read_bytes()
    return b"\n" not in data and is_half(data) and begin.startswith(data[: len(begin)])


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _place_of(path: str | Path, begins: bool) -> Path:
    """Find the file of a path or a name: a name in the user's folder first, then among zoolab's own."""
    if Path(path).exists() or Path(path).name != str(path) or Path(path).suffix:
        return Path(path)
    if own := os.environ.get(OWN_RECORDINGS):
        folder = Path(own).expanduser()
        if not folder.is_dir():
            raise InvalidInput(f"{OWN_RECORDINGS} is {own}", expected="a folder of recordings")
        kept = folder / f"{path}.jsonl"
        if begins or kept.exists():
            return kept
    return Path(path) if begins else shipped().get(str(path), Path(path))


def shipped() -> dict[str, Path]:
    """List the recordings that come with zoolab, by name."""
    folder = Path(str(files("zoolab.models.recordings")))
    paths = sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))
    return {path.name.partition(".")[0]: path for path in paths if not path.stem.endswith("-prompts")}


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{where} is not JSON: {error}", expected="a recording: one JSON object a line"
        ) from None
    if not isinstance(entry, dict):
        raise InvalidInput(f"{where} is {excerpt(entry)}", expected="an object")
    return cast("dict[str, Any]", entry)


def _pair(line: str, where: str) -> dict[str, Any]:
    match entry := _parse(line, where):
        case {"request": {"messages": [*said]}, "response": {"choices": [{"message": dict()}, *_]}}:
            if all(isinstance(each, dict) for each in said):
                return entry
        case {"call": {"tool": str(), "arguments": dict()}, "outcome": dict()}:
            return entry
    expected = "a request and its response, or a call and its outcome"
    raise InvalidInput(f"{where} is not part of a recording", expected=expected)


def _header(line: str, where: str) -> Header:
    entry = _parse(line, where)
    made = entry.get("made")
    settings = entry.get("settings") or {}
    calls = entry.get("calls")
    known = entry.get("recording") == "zoolab" and entry.get("version") == VERSION
    if not known or made not in ("recorded", "authored"):
        raise InvalidInput(
            f"{where} is not the header of a recording",
            expected=f"recording, version {VERSION}, and made: recorded or authored",
        )
    if not isinstance(settings, dict) or _NO_SETTINGS & settings.keys():
        raise InvalidInput(f"{where} has the settings {excerpt(settings)}", expected="fields of a request")
    model, who, date = (str(entry.get(name) or "") for name in ("model", "who", "date"))
    return Header(made, model, who, settings, calls if calls in ("text", "auto") else "native", date)


def nearest_difference(wanted: object, known: Iterable[object], source: str) -> str:
    """Return a unified diff from the most similar known JSON to the wanted one; empty if none is known."""
    asked = _pretty(wanted)
    lines = set(asked)
    nearest = max(
        map(_pretty, known),
        key=lambda other: len(lines & set(other)) - len(lines ^ set(other)) / 1000,
        default=None,
    )
    if nearest is None:
        return ""
    diff = list(unified_diff(nearest, asked, source, "requested", lineterm="", n=1))
    more = [f"... {len(diff) - _MAX_LINES} more lines"] if len(diff) > _MAX_LINES else []
    return "\n".join(diff[:_MAX_LINES] + more)


def _pretty(value: object) -> list[str]:
    # Not splitlines, which also breaks at U+2028 and the like, and they may stand in a line.
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).split("\n")
