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
import operator
import os
import re
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from difflib import unified_diff
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from zoolab.errors import InvalidInput
from zoolab.files import heal, is_half, locked, privately, system_errors
from zoolab.jsontext import canonical, digest, encode_line, excerpt
from zoolab.jsontext.readonly import ReadOnlyDict
from zoolab.jsontext.values import any_json, is_strict
from zoolab.messages.outgoing import sendable
from zoolab.records import Messages, Request, without
from zoolab.secrets import scrub_json

VERSION = 1
OWN_RECORDINGS = "ZOOLAB_RECORDINGS"
#: Of a difference, so many lines are shown.
_MAX_LINES = 24
#: How a reply is delivered is not part of what is asked.
DELIVERY = ("stream", "stream_options")
# The end of a result in zoolab's envelope (see zoolab/steps/result.py): the times differ in each run.
_TIMES = re.compile(
    r'\A((?:\[untrusted data from .*?\]\n)?\{"success":.*,"metadata":\{"execution_time_ms":)[0-9]+'
    r'(,"data_size_bytes":[0-9]+,"timestamp":)[0-9]+(\}\})\Z',
    re.DOTALL,
)
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

        def pretty(body: dict[str, Any]) -> str:
            asked = scrub_json(without(body, DELIVERY))
            return json.dumps(asked, indent=1, sort_keys=True, ensure_ascii=False)

        return nearest_difference(pretty(body), map(pretty, self.requests), "recorded")

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
    begin, data = b'{"recording":"zoolab"', path.read_bytes()
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
    made, settings, calls = entry.get("made"), entry.get("settings") or {}, entry.get("calls")
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


def nearest_difference(wanted: str, known: Iterable[str], source: str) -> str:
    """Return a unified diff from the most similar known text to the wanted one; empty if none is known."""
    # Not splitlines, which also breaks at U+2028 and the like, and they may stand in a line.
    asked = wanted.split("\n")
    lines = set(asked)
    nearest = max(
        (text.split("\n") for text in known),
        key=lambda other: len(lines & set(other)) - len(lines ^ set(other)) / 1000,
        default=None,
    )
    if nearest is None:
        return ""
    diff = list(unified_diff(nearest, asked, source, "requested", lineterm="", n=1))
    more = [f"... {len(diff) - _MAX_LINES} more lines"] if len(diff) > _MAX_LINES else []
    return "\n".join(diff[:_MAX_LINES] + more)


def json_difference(wanted: str, known: Iterable[str], source: str) -> str:
    """Do the same for texts of JSON, each of which is written on several lines first."""
    pretty = [json.dumps(json.loads(text), ensure_ascii=False, indent=1) for text in (wanted, *known)]
    return nearest_difference(pretty[0], pretty[1:], source)


class RequestKeys:
    """Names requests. It remembers the messages of the last one, because most requests only add to it.

    Two requests have the same name if they differ only in delivery, in the ids of their calls, in whether no
    words beside calls are null or blank, in the times at the end of a result's envelope, or in secrets, which
    no recording keeps.
    """

    def __init__(self) -> None:
        #: Each message of the last request as text, and its name.
        self._messages: list[tuple[str, str]] = []
        #: The same messages as objects: one that cannot change has the text that it had.
        self._objects: list[Any] = []
        self._ids = _PlacesOfIds()
        self._lock = threading.Lock()
        self._rest: tuple[str, str] = ("", "")

    def of(self, body: Mapping[str, Any]) -> str:
        """Return the name of a request without secrets: the same however streamed, whenever tools ran."""
        messages = body.get("messages")
        listed: list[Any] = messages if isinstance(messages, list) else []
        rest = without(body, DELIVERY)
        if "messages" in rest:
            rest["messages"] = len(listed) if listed else messages
        text = canonical(rest)
        with self._lock:
            texts = self._texts(listed)
            if text != self._rest[0]:
                self._rest = text, _name_of(rest)
            self._follow(texts)
            return digest(self._rest[1] + "".join(name for _, name in self._messages))

    def _texts(self, messages: list[Any]) -> list[str]:
        known, self._objects = self._objects, list(messages)
        texts = [text for text, _ in self._messages]
        return [
            texts[at]
            if at < min(len(known), len(texts)) and known[at] is message and type(message) is ReadOnlyDict
            else canonical(message)
            for at, message in enumerate(messages)
        ]

    def _follow(self, texts: list[str]) -> None:
        """Name the messages of a request; those that it has in common with the last one have their names.

        The texts are compared, not the values: `1 == True` in Python, but not in JSON.
        """
        known = [text for text, _ in self._messages]
        if texts[: len(known)] != known:
            self._messages, self._ids = [], _PlacesOfIds()
        for text in texts[len(self._messages) :]:
            message = _without_blank(self._ids.replace(json.loads(text)))
            self._messages.append((text, _name_of(message)))


class RequestNames:
    """Names requests, each message of a list that grows once: the cost of a name does not grow with the list.

    The names are not those of `RequestKeys`, but say the same: which requests are equal.

    Args:
        scrubs: Whether requests are equal that differ in secrets alone. It costs a hundred times as much.
    """

    def __init__(self, scrubs: bool = False) -> None:
        self._scrubs = scrubs
        self._latest = Messages()
        self._ids = _PlacesOfIds()
        #: The name of what comes before each message, and of all of them.
        self._names = [""]
        self._rest: tuple[Any, ...] = (None,)
        self._rest_name = ""

    def of(self, request: Request) -> str:
        """Return the name of a request."""
        messages, rest = request.prefix, (request.tools, request.tool_choice, request.settings)
        if not messages.shares(self._latest):
            self._ids, self._names = _PlacesOfIds(), [""]
        self._latest = messages
        names = self._names
        for index, message in enumerate(messages.since(len(names) - 1), len(names) - 1):
            sent, name = sendable(index, message)[0], names[-1]
            if sent is not None:
                sent = sent if is_strict(sent) else any_json(sent)
                name = digest(name + _name_of(_without_blank(self._ids.replace(sent)), self._scrubs))
            names.append(name)
        if not all(map(operator.is_, rest, self._rest)):
            self._rest, bare = rest, replace(request, messages=())
            self._rest_name = _name_of(bare.body(), self._scrubs)
        return self._rest_name + names[len(messages)]


class _PlacesOfIds:
    """Puts the place of each call where its id stood: an id says which call is meant, and nothing else."""

    def __init__(self) -> None:
        self._messages = 0
        self._places: dict[str, str] = {}

    def replace(self, message: Any) -> Any:
        """Return the next message of a conversation, with places for ids."""
        self._messages += 1
        if not isinstance(message, dict):
            return message
        calls, id = message.get("tool_calls"), message.get("tool_call_id")
        if isinstance(calls, list):
            message = {**message, "tool_calls": [self._call(slot, call) for slot, call in enumerate(calls)]}
        if isinstance(id, str):
            message = {**message, "tool_call_id": self._places.get(id, id)}
        return message

    def _call(self, slot: int, call: Any) -> Any:
        if not isinstance(call, dict) or not isinstance(call.get("id"), str):
            return call
        place = self._places[call["id"]] = f"message {self._messages}, call {slot + 1}"
        return {**call, "id": place}


def _without_blank(message: Any) -> Any:
    """Return a message whose words beside calls are null if there are none: servers read both alike."""
    if isinstance(message, dict) and message.get("tool_calls") and message.get("content") == "":
        return {**message, "content": None}
    return message


def _name_of(part: Any, scrubs: bool = True) -> str:
    """Return the name of a part of a request."""
    part = scrub_json(json.loads(canonical(part))) if scrubs else part
    if isinstance(part, dict) and part.get("role") == "tool" and isinstance(part.get("content"), str):
        part = {**part, "content": _TIMES.sub(r"\g<1>0\g<2>0\g<3>", part["content"])}
    return digest(canonical(part))
