"""A process that runs a submission, and what is waited for.

What counts of the time is the CPU time that a submission uses, so that a busy machine makes no verdict.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from zoolab_grader.channel import Channel, Gone, Late
from zoolab_grader.usage import THIS_THREAD, Use, queued_in

#: Wall-clock seconds for each second that is allowed, whatever the submission uses of them.
PATIENCE = 6.0
#: Seconds that a submission may take in all, for its cells and all of its calls; more if one call may.
WHOLE = 18.0
#: Bytes of memory for a submission with all of its processes.
MAX_MEMORY = 3 << 30
#: What is said of a process whose monitor did not live to tell.
UNEXPLAINED = "the process and its monitor both ended without a report"
_LOOK_EVERY = 0.25


@dataclass(slots=True)
class Process:
    """A process that runs one submission, wherever and however it is shut in; here, the grader's own."""

    channel: Channel
    #: Seconds that were waited for it since the last look at what it uses, seconds that this thread had
    #: waited for its turn when these began, and what the look found.
    unseen: float = field(default=0.0, init=False)
    queued: float = field(default=0.0, init=False)
    seen: Use | None = field(default=None, init=False)

    def ended(self) -> str | None:
        """Stop the process for good and say in a few words how it ended: `used too much memory`, …; nothing
        if it was stopped while it ran, None if nobody can tell."""
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

    def end(self) -> str | None:
        """Stop the process for good, and say how it ended, as `Process.ended` does.

        What was not looked at is charged as it is.
        """
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
        began = time.monotonic()
        at_work = False
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
        unseen = self.process.unseen
        self.process.unseen = 0.0
        return max(unseen - (queued_in(THIS_THREAD) - self.process.queued), 0)

    def _look(self, at_work: bool) -> None:
        before = self.process.seen
        passed = self._passed()
        began = time.monotonic()
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


def seconds_in_words(seconds: float, digits: int) -> str:
    """Return a time as a person says it."""
    rounded = round(seconds, digits)
    return f"{rounded:g} second{'s' * (rounded != 1)}"
