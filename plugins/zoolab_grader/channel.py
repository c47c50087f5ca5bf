"""Messages between the grader and a submission, and the time and memory that an answer may take.

A message is JSON with its length before it, bounded, and nothing else. What counts of the time is the CPU
time that a submission uses, so that a busy machine makes no verdict.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoolab.jsontext import NotStrictJSON, parse_json

#: The longest message: a million characters, as UTF-8.
MAX_BYTES = 4_000_000
#: What one process may send in its life.
MAX_TOTAL = 16_000_000

_LENGTH = struct.Struct("!I")
_ENCODER = json.JSONEncoder(allow_nan=False, check_circular=False)
_CHUNK = 1 << 16
_CHUNKS = 64


class Gone(Exception):
    """The other side is no longer there, or says what cannot be understood."""


class Closed(Gone):
    """The other side has closed its end, most likely by ending."""

    def __init__(self) -> None:
        super().__init__("closed its end")


class Late(Exception):
    """Nothing whole came in time."""


@dataclass(slots=True)
class Channel:
    """The trusted end: what comes is bounded before it is read, and parsed strictly."""

    socket: socket.socket
    received: int = field(default=0, init=False)
    #: Answers a submission that runs in this process, while it waits in its question.
    answer: Callable[[dict[str, Any]], dict[str, Any]] | None = field(default=None, init=False)
    _came: bytearray = field(default_factory=bytearray, init=False)

    def send(self, message: dict[str, Any], seconds: float = 10.0) -> None:
        """Send one message; raise `Gone` if nobody reads it."""
        data = _ENCODER.encode(message).encode()
        self.socket.settimeout(seconds)
        try:
            self.socket.sendall(_LENGTH.pack(len(data)) + data)
        except TimeoutError as error:
            raise Gone("stopped reading messages") from error
        except OSError as error:
            raise Closed from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message; raise `Gone`, or `Late`, after which it can be called again and loses
        nothing.
        """
        until = time.monotonic() + seconds
        self._await(_LENGTH.size, until)
        (length,) = _LENGTH.unpack_from(self._came)
        if length > MAX_BYTES:
            raise Gone(f"sends {length:,} bytes at once")
        self._await(_LENGTH.size + length, until)
        data = self._came[_LENGTH.size : _LENGTH.size + length]
        del self._came[: _LENGTH.size + length]
        try:
            message = parse_json(data.decode())
        except (NotStrictJSON, UnicodeDecodeError) as error:
            raise Gone("sent text that is not JSON") from error
        if not isinstance(message, dict):
            raise Gone("sent JSON that is not a message of the protocol")
        return message

    def ended(self) -> bool:
        """Return whether the other side has closed its end; what it sent before does not matter any more."""
        try:
            self.socket.settimeout(0)
            return any(not self.socket.recv(_CHUNK) for _ in range(_CHUNKS))
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _await(self, size: int, until: float) -> None:
        while len(self._came) < size:
            self.socket.settimeout(max(until - time.monotonic(), 0.001))
            try:
                part = self.socket.recv(min(size - len(self._came), _CHUNK))
            except TimeoutError as error:
                raise Late from error
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            self._came += part
            self.received += len(part)
            if self.received > MAX_TOTAL:
                raise Gone(f"sends more than {MAX_TOTAL:,} bytes")


_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Use:
    """CPU seconds so far, bytes of memory of its own, whether it may be waiting for its turn now, and the
    seconds that it has waited for it, where the system counts them."""

    cpu: float
    memory: int
    awake: bool
    queued: float | None = None


def used_below(pid: int, usual: int) -> Use | None:
    """Return what the descendants of a process use; None if the system does not show it.

    With more than the `usual` number of processes, none is taken to wait for its turn: a parent can hide the
    CPU time of its children, and can sleep as if it waited for a disk.
    """
    if not Path("/proc/self/task").is_dir():
        return None
    uses: list[Use] = []
    try:
        own, waiting = _memory(pid), _children(pid)
        while waiting:
            child = waiting.pop()
            waiting += _children(child)
            uses.append(_use(child, own))
    except OSError:
        return None
    few, counted = len(uses) <= usual, Path("/proc/self/schedstat").is_file()
    return Use(
        sum(use.cpu for use in uses),
        sum(use.memory for use in uses),
        few and any(use.awake for use in uses),
        sum(use.queued or 0.0 for use in uses) if few and counted else None,
    )


def _children(pid: int) -> list[int]:
    """Return the children of all threads; a process that ends meanwhile has none."""
    found: list[int] = []
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        return []
    for task in tasks:
        with suppress(ProcessLookupError):
            found += map(int, (task / "children").read_text().split())
    return found


def _use(pid: int, inherited: int) -> Use:
    try:
        fields = _fields(Path(f"/proc/{pid}/stat"))
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        states = [_fields(task / "stat")[0] for task in tasks]
        memory = max(_memory(pid) - inherited, 0)
    except OSError:
        return Use(0.0, 0, False)
    ticks = sum(int(field) for field in fields[11:15])
    return Use(ticks / _TICK, memory, any(state in "RD" for state in states), sum(map(queued_in, tasks)))


def queued_in(task: str | Path) -> float:
    """Return seconds in which a thread was ready to run and others ran, if the system counts them."""
    with suppress(OSError):
        return int(Path(task, "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _fields(path: Path) -> list[str]:
    """Return the fields of a stat file from the state on; the name before it may hold anything."""
    return path.read_text(errors="replace").rpartition(")")[2].split()


def _memory(pid: int) -> int:
    _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(resident) - int(shared)) * _PAGE


#: Wall-clock seconds for each second that is allowed, whatever the submission uses of them.
PATIENCE = 6.0
#: Seconds that a submission may take in all, for its cells and all of its calls; more if one call may.
WHOLE = 18.0
#: Bytes of memory for a submission with all of its processes.
MAX_MEMORY = 3 << 30

#: How a process ended whose monitor did not live to tell.
UNEXPLAINED = "its monitor has ended, too, and nobody says why"

_LOOK_EVERY = 0.25
#: The files of the calling thread, for `queued_in`.
THIS_THREAD = "/proc/thread-self"


@dataclass(slots=True)
class Process:
    """A process that runs one submission, wherever and however it is shut in; here, the grader's own."""

    channel: Channel
    #: Seconds that were waited for it since the last look at what it uses, seconds that this thread had
    #: waited for its turn when these began, and what the look found.
    unseen: float = field(default=0.0, init=False)
    queued: float = field(default=0.0, init=False)
    seen: Use | None = field(default=None, init=False)

    def ended(self) -> str:
        """Stop the process for good and say in a few words how it ended: `used too much memory`, …; nothing
        if it was stopped while it ran."""
        return ""

    def used(self) -> Use | None:
        """Return what the process and all that it started use; None where the system does not say."""
        return None


@dataclass(slots=True)
class Wait:
    """The time that one call may take: `seconds` of CPU time, or of doing nothing at all.

    Time in which the process waits for its turn on a busy machine costs nothing, as far as the system can
    tell; nor does time in which the grader waits for its own. If the system can tell nothing, each second
    costs a part of one. Short waits for a process are looked at together.
    """

    process: Process
    seconds: float
    charged: float = 0.0
    waited: float = 0.0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; raise `Gone` if nobody reads it in time."""
        with self._watching():
            self.process.channel.send(message, self.seconds)

    def message(self) -> dict[str, Any]:
        """Return the next message; raise `Late` when the time is used up, and `Gone`."""
        while self.charged < self.seconds and self.waited < PATIENCE * self.seconds:
            with suppress(Late), self._watching():
                return self.process.channel.receive(min(_LOOK_EVERY, self.seconds / 4))
        raise Late

    def end(self) -> str:
        """Stop the process for good, and say how it ended; what was not looked at is charged as it is."""
        began = time.monotonic()
        how = self.process.ended()
        self.charged += self._passed() + time.monotonic() - began
        return how

    @contextmanager
    def _watching(self) -> Generator[None]:
        if self.process.seen is None:
            self.process.seen = self.process.used()
        if not self.process.unseen:
            self.process.queued = queued_in(THIS_THREAD)
        began, at_work = time.monotonic(), False
        try:
            yield
        except Late:
            at_work = True
            raise
        finally:
            passed = time.monotonic() - began
            self.waited += passed
            self.process.unseen += passed
            if self.process.unseen >= _LOOK_EVERY / 2:
                self._look(at_work)

    def _passed(self) -> float:
        """Return the unseen seconds without those in which this thread waited for its turn; they are seen
        now.
        """
        unseen, self.process.unseen = self.process.unseen, 0.0
        return max(unseen - (queued_in(THIS_THREAD) - self.process.queued), 0)

    def _look(self, at_work: bool) -> None:
        before, passed, began = self.process.seen, self._passed(), time.monotonic()
        use = self.process.seen = self.process.used()
        if use is not None and use.queued is None:  # many processes can slow this down, so they pay for it
            passed += time.monotonic() - began
        if use is None:
            self.charged += passed / PATIENCE
            return
        if use.memory > MAX_MEMORY:
            raise Gone("used too much memory")
        if before is None:
            self.charged += passed
            return
        rested = 0.0 if use.awake and at_work else passed
        if use.queued is not None and before.queued is not None:
            rested -= max(use.queued - before.queued, 0)
        self.charged += max(use.cpu - before.cpu, rested, 0)


def in_words(seconds: float, digits: int) -> str:
    """Return a time as a person says it."""
    rounded = round(seconds, digits)
    return f"{rounded:g} second{'s' * (rounded != 1)}"
