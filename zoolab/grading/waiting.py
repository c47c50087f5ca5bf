"""Waiting for a submission: what counts is the CPU time that it uses, so that a busy machine makes no
verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from zoolab.grading.channel import Channel, Gone, Late
from zoolab.grading.usage import Use

#: Wall-clock seconds for each second that is allowed, whatever the submission uses of them.
PATIENCE = 6.0
#: What all calls of a submission may take together, as a multiple of what one may.
WHOLE = 40
#: Bytes of memory for a submission with all of its processes.
MAX_MEMORY = 3 << 30

_LOOK_EVERY = 0.25


class Process(Protocol):
    """A process that runs one submission, wherever and however it is shut in."""

    channel: Channel
    printed: str

    def ended(self) -> str:
        """Stop the process for good and say in a few words how it ended: `used too much memory`, …; nothing
        if it was stopped while it ran. From then on `printed` is what it wrote to stdout and stderr."""

    def used(self) -> Use | None:
        """What the process and all that it started use; None where the system does not say."""


@dataclass(slots=True)
class Wait:
    """The time that one call may take: `seconds` of CPU time, or of doing nothing at all.

    Time in which the grader itself works, or in which the process waits for its turn on a busy machine,
    costs nothing, as far as the system can tell.
    """

    process: Process
    seconds: float
    charged: float = 0.0
    waited: float = 0.0
    _unseen: float = field(default=0.0, init=False)
    _seen: Use | None = field(default=None, init=False)

    def message(self) -> dict[str, Any]:
        """The next message; raise `Late` when the time is used up, and `Gone`."""
        while True:
            began = time.monotonic()
            try:
                return self.process.channel.receive(min(_LOOK_EVERY, self.seconds / 4))
            except Late:
                pass
            finally:
                self._spend(time.monotonic() - began)
            if self.charged >= self.seconds or self.waited >= PATIENCE * self.seconds:
                raise Late

    def _spend(self, seconds: float) -> None:
        self.waited += seconds
        self._unseen += seconds
        if self._unseen >= _LOOK_EVERY / 2:
            self._look()

    def _look(self) -> None:
        use, before, passed = self.process.used(), self._seen, self._unseen
        self._unseen, self._seen = 0.0, use
        if use is None:
            return
        if use.memory > MAX_MEMORY:
            raise Gone("used too much memory")
        worked = passed if before is None else use.cpu - before.cpu
        self.charged += worked if use.awake else max(worked, passed)


def in_words(seconds: float) -> str:
    """A time as a person says it.

    >>> in_words(1.0), in_words(0.5)
    ('1 second', '0.5 seconds')
    """
    return f"{seconds:g} second{'s' * (seconds != 1)}"
