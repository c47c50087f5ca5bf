"""One process a submission that stands outside: it ends the submission when it is told to, drains what the
submission prints, and says how it ended. The submission cannot reach it."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable

from zoolab.grading.worker.jail import STATUS, Jail

KEPT_BYTES = 20_000
_CHUNK = 1 << 16
_LOOK_EVERY = 0.05
# What a pipe still holds after its writer has ended; a process that got away may go on writing.
_LAST_CHUNKS = 64


class Kept:
    """The first and the last of what was printed, and how much it was.

    >>> kept = Kept(4)
    >>> kept.add(b"abc"); kept.add(b"defghijk")
    >>> kept.text()
    'abcd\\n… 3 bytes left out …\\nhijk'
    """

    def __init__(self, size: int = KEPT_BYTES) -> None:
        self.size, self.total = size, 0
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take what was printed next."""
        self.total += len(data)
        room = self.size - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[: -self.size]

    def text(self) -> str:
        """What is kept, as text."""
        left_out = self.total - len(self.head) - len(self.tail)
        gap = f"\n… {left_out:,} bytes left out …\n" if left_out else ""
        return self.head.decode(errors="replace") + gap + self.tail.decode(errors="replace")


def attend(leash: int, channel: int, jail: Jail, student: Callable[[int], None]) -> None:
    """Run `student(output)` in `jail`, until it ends or the grader lets go of the leash; then report on it.

    The report goes to `leash` as one JSON object; this process has nothing to do after that. `channel` is
    the student's: it is closed here, so that the grader sees it end.

    >>> import socket
    >>> from zoolab.grading.worker.jail import strongest
    >>> from zoolab.grading.worker.plan import Plan
    >>> here, there = socket.socketpair()
    >>> def student(output):
    ...     _ = os.write(output, b"hello")
    ...     os._exit(3)
    >>> attend(there.fileno(), os.dup(0), strongest(Plan(steps=("fork",))), student)
    >>> report = json.loads(here.recv(1000))
    >>> report["output"], os.waitstatus_to_exitcode(report["status"])
    ('hello', 3)
    >>> here.close(); there.close()
    """
    output, printed = os.pipe()
    report, reported = os.pipe()
    holder = jail.begin(lambda: student(printed), reported)
    for descriptor in (printed, reported, channel):
        os.close(descriptor)
    watch = _Watch(holder, leash, output)
    status, used = watch.until_it_ends()
    code, memory, cpu = _told(report) or (status, used.ru_maxrss, used.ru_utime + used.ru_stime)
    for descriptor in (output, report):
        os.close(descriptor)
    words = {"status": code, "memory": memory * 1024, "cpu": cpu, "stopped": watch.stopped}
    _tell(leash, {**words, "printed": watch.kept.total, "output": watch.kept.text()})


class _Watch:
    """Looks after a process until it ends: keeps what it prints, kills it when the grader lets go."""

    def __init__(self, holder: int, leash: int, output: int) -> None:
        self.holder, self.leash, self.output = holder, leash, output
        self.kept, self.stopped = Kept(), False
        self.poller = _poller(holder, leash, output)

    def until_it_ends(self) -> tuple[int, resource.struct_rusage]:
        ended, status, used = os.wait4(self.holder, os.WNOHANG)
        while not ended:
            self._serve_once()
            ended, status, used = os.wait4(self.holder, os.WNOHANG)
        os.set_blocking(self.output, False)
        for _ in range(_LAST_CHUNKS):
            if not _drain(self.output, self.kept):
                break
        return status, used

    def _serve_once(self) -> None:
        for ready, _ in self.poller.poll(_LOOK_EVERY * 1000):
            if ready == self.leash:
                self.poller.unregister(self.leash)
                os.kill(self.holder, signal.SIGKILL)
                self.stopped = True
            elif ready == self.output and not _drain(self.output, self.kept):
                self.poller.unregister(self.output)


def _poller(holder: int, leash: int, output: int) -> select.poll:
    poller = select.poll()
    for descriptor in (leash, output):
        poller.register(descriptor, select.POLLIN)
    if hasattr(os, "pidfd_open"):
        poller.register(os.pidfd_open(holder), select.POLLIN)
    return poller


def _drain(output: int, kept: Kept) -> bool:
    try:
        data = os.read(output, _CHUNK)
    except BlockingIOError:
        return False
    kept.add(data)
    return bool(data)


def _told(report: int) -> tuple[int, int, float] | None:
    """What the first process of a namespace told of the student's."""
    os.set_blocking(report, False)
    try:
        told = os.read(report, STATUS.size)
    except BlockingIOError:
        return None
    if len(told) < STATUS.size:
        return None
    code, memory, cpu = STATUS.unpack(told)
    return int(code), int(memory), float(cpu)


def _tell(leash: int, report: dict[str, object]) -> None:
    data = json.dumps(report).encode()
    deadline = time.monotonic() + 10
    while data and time.monotonic() < deadline:
        try:
            data = data[os.write(leash, data) :]
        except OSError:
            return
