"""Requests are passed on in a process of their own, so that they never wait for what is written about them.

Both processes talk in frames: the lengths of a head and of a content, then a list in JSON, then bytes. The
carrier tells what an `Ear` is told, each frame with a number; it is told when that is written, or how to end.

    to the carrier      endpoints, port                            first
                        "written", frame                           what the frame told is in the traces
                        "tell", number                             is answered once all before it is told
                        "end", 0                                   requests that are being answered go on
    from the carrier    "ready", time, address, address ...        or "refused", and why
                        "asked", frame, number, ...
                        "heard", frame, number, ...
                        "odd", frame, said
                        "told", number
"""

from __future__ import annotations

import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import count
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab_connect.proxy.addresses import ApiAddress
from zoolab_connect.proxy.exchange import Heard, HttpRequest, HttpResponse
from zoolab_connect.proxy.forwarding import Forward
from zoolab_connect.proxy.headers import Headers, Pair
from zoolab_connect.proxy.passing import SWITCH, Backlog, Passing

if TYPE_CHECKING:
    from zoolab_connect.proxy.recorder import Recorder

_SIZES = struct.Struct(">II")
#: What a pipe raises if there is nobody at its other end, or if it was closed here.
_NOBODY = (OSError, ValueError)
#: Headers whose values the other process needs.
_TELLING = ("content-encoding", "content-type")
#: Seconds for which the end of the process is waited for; it lives on while it answers requests.
_LAST_SECONDS = 2.0


def _write(pipe: IO[bytes], head: Iterable[Any], content: bytes = b"") -> None:
    said = json.dumps([*head]).encode()
    pipe.write(_SIZES.pack(len(said), len(content)) + said)
    pipe.write(content)
    pipe.flush()


def _read(pipe: IO[bytes]) -> tuple[list[Any], bytes] | None:
    """Return the next frame; None if the other process has ended."""
    start = pipe.read(_SIZES.size)
    if len(start) < _SIZES.size:
        return None
    head, content = (pipe.read(size) for size in _SIZES.unpack(start))
    return json.loads(head), content


def _readable(headers: Mapping[str, str]) -> list[Pair]:
    """Return the names of headers, and the values of those that say how a content is to be read: others are
    keys.
    """
    return [(name, value if name in _TELLING else "") for name, value in Headers.of(headers).pairs]


class Carrier:
    """A process that passes requests on to their endpoints, and tells a recorder.

    Raises `InvalidInput` if the port cannot be had, or if the process does not start.
    """

    def __init__(self, endpoints: Sequence[ApiAddress], recorder: Recorder, port: int = 0) -> None:
        own: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            own = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        found = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
        # Nothing is imported from the folder in which the program runs.
        command = [sys.executable, "-P", "-m", "zoolab_connect.proxy.carrier"]
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, env={**os.environ, **found}, **own
            )
        except OSError as error:
            what = f"the process that passes requests on does not start: {error.strerror or error}"
            raise InvalidInput(what, advice="look whether this Python may start programs") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to = self._process.stdin
        self._from = self._process.stdout
        self._writing = threading.Lock()
        self._closing = False
        self._over = False
        #: Who waits until all is told.
        self._waiters: dict[int, threading.Event] = {}
        self._numbers = count()
        self._recorder = recorder
        self.url: str
        self._say([asdict(each) for each in endpoints], port)
        first = _read(self._from)
        said: list[Any]
        said = ["refused", "the process that passes requests on has ended", ""] if first is None else first[0]
        if said[0] == "refused":
            self._close_pipes()
            raise InvalidInput(said[1], advice=said[2])
        _, now, self.url, *doors = said
        # Their clocks need not have begun at the same time.
        self._later = perf_counter() - now
        self.doors = dict(zip(endpoints, doors, strict=True))
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def tell_all(self) -> None:
        """Return when the recorder has been told of all that has come."""
        number = next(self._numbers)
        told = threading.Event()
        self._waiters[number] = told
        self._say("tell", number)
        if not self._over:
            told.wait()

    def close(self) -> None:
        """Take no more requests; those that are being answered go on."""
        self._closing = True
        # A process that was forked meanwhile may hold the pipe open.
        self._say("end", 0)
        self._listening.join()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._to, self._from):
            with suppress(*_NOBODY):
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_SECONDS)

    def _say(self, *head: Any) -> None:
        with self._writing, suppress(*_NOBODY):
            _write(self._to, head)

    def _listen(self) -> None:
        while (frame := _read(self._from)) is not None:
            self._hear(*frame)
        if not self._closing:
            self._recorder.odd("the process that passes requests on has ended; start the watch again")
        self._over = True
        for told in [*self._waiters.values()]:
            told.set()

    def _hear(self, head: list[Any], content: bytes) -> None:
        kind, *rest = head
        if kind == "told":
            self._waiters.pop(*rest).set()
            return
        frame, *told = rest
        if kind == "asked":
            number, came, method, path, headers = told
            request = HttpRequest(method, path, Headers(map(tuple, headers)), content)
            self._recorder.asked(number, request, came + self._later)
        elif kind == "heard":
            number, ended, size, status, headers, whole, problem = told
            answer = HttpResponse(status, Headers(map(tuple, headers)), [])
            heard = Heard(content, whole, problem)
            self._recorder.heard(number, answer, heard, ended + self._later, size)
        else:
            self._recorder.odd(*told)
        self._recorder.later(partial(self._say, "written", frame))


class _Teller:
    """The ear of the carrier: tells the other process."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.backlog = Backlog()
        self._pipe = pipe
        self._frames = count()
        #: What waits to be written, and how large it is.
        self._waiting: dict[int, tuple[threading.Event, int]] = {}
        self._out: queue.SimpleQueue[tuple[list[Any], bytes] | None] = queue.SimpleQueue()
        self._over = False
        threading.Thread(target=self._send, daemon=True).start()

    def asked(self, number: int, request: HttpRequest, came: float) -> None:
        """Note that a request came. The content of one that asks for no reply is nobody's business."""
        told = [number, came, request.method, request.path, _readable(request.headers)]
        self._tell("asked", told, request.content if request.api else b"")

    def heard(
        self, number: int, answer: HttpResponse, heard: Heard, ended: float, size: int
    ) -> threading.Event:
        """Note that an answer ended."""
        told = [number, ended, size, answer.status, _readable(answer.headers)]
        return self._tell("heard", [*told, heard.whole, heard.problem], heard.content, size)

    def odd(self, said: str) -> None:
        """Note that what came is no HTTP, or broke off."""
        self._tell("odd", [said])

    def told(self, number: int) -> None:
        """Say that all before this is told."""
        self._out.put((["told", number], b""))

    def written(self, frame: int) -> None:
        """Note that what a frame told is in the traces."""
        done, size = self._waiting.pop(frame)
        self.backlog.take(size)
        done.set()

    def end(self) -> None:
        """Note that nobody listens any more."""
        self._over = True
        self._out.put(None)
        self.backlog.end()
        for frame in [*self._waiting]:
            self.written(frame)

    def _tell(self, kind: str, told: list[Any], content: bytes = b"", size: int = 0) -> threading.Event:
        size = size or len(content)
        self.backlog.add(size)
        frame = next(self._frames)
        done = threading.Event()
        self._waiting[frame] = done, size
        self._out.put(([kind, frame, *told], content))
        if self._over:
            done.set()
        return done

    def _send(self) -> None:
        with suppress(*_NOBODY), self._pipe:
            while (frame := self._out.get()) is not None:
                _write(self._pipe, *frame)


def main() -> None:
    """Carry requests until the other process closes its pipe or ends."""
    # A large request must not hold a small one.
    sys.setswitchinterval(SWITCH)
    # What anybody prints must not come between frames.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    first = _read(sys.stdin.buffer)
    if first is None:
        return
    said, port = first[0]
    endpoints = [ApiAddress(**{**each, "variables": tuple(each["variables"])}) for each in said]
    teller = _Teller(pipe)
    try:
        passing = Passing(Forward(endpoints), teller, endpoints, port)
    except InvalidInput as error:
        _write(pipe, ["refused", error.what, error.advice])
        return
    _write(pipe, ["ready", perf_counter(), passing.url, *passing.doors.values()])
    while (frame := _read(sys.stdin.buffer)) is not None:
        kind, number = frame[0]
        if kind == "end":
            break
        if kind == "written":
            teller.written(number)
        else:
            teller.told(number)
    teller.end()
    passing.close()
    passing.let_finish()


if __name__ == "__main__":
    main()
