"""Tools that cost or change something are asked once in an experiment: later runs get what was given."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.models.recording import Header, Recording
from zoolab.records import Decision, Outcome, Tool
from zoolab.secrets import scrub_json
from zoolab.tapes import Tape, TapedCall, call_as_text
from zoolab.trace.codec import Shown
from zoolab_connect.taped import encode_outcome, outcomes_in


class RecordedTools:
    """What the tools of each case said, in a file beside the journal; several threads may share one.

    In a run, the first call with some arguments gets the first outcome that was recorded for it, the second
    the second one, and so on. What is not recorded yet runs: for each case in one run at a time, so that
    nothing is asked twice.
    """

    def __init__(self, path: Path) -> None:
        self._recording = Recording(path, Header("recorded", "", "tools"))
        self._known = defaultdict[tuple[str, str], list[Outcome]](list)
        self._locks = defaultdict[str, threading.RLock](threading.RLock)
        for call, outcome in outcomes_in(self._recording):
            key = str(call.get("case")), call_as_text(call["tool"], call["arguments"])
            self._known[key].append(outcome)

    @contextmanager
    def of(self, case: str) -> Iterator[_OfRun]:
        """Give the tape of one run of a case, while it lasts."""
        run = _OfRun(self._known, self._locks[case], self._recording, case)
        try:
            yield run
        finally:
            run.release()


class _OfRun(Tape):
    """The tape of one run. The policy of the run decides first: what it denies is not given either."""

    def __init__(
        self,
        known: Mapping[tuple[str, str], list[Outcome]],
        lock: threading.RLock,
        recording: Recording,
        case: str,
    ) -> None:
        self._known = known
        self._lock = lock
        self._recording = recording
        self._case = case
        self._given = Counter[tuple[str, str]]()
        #: How often this run holds the lock of its case: once for each call that it runs.
        self._held = 0

    def decide(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision | TapedCall:
        """Give what is recorded for a call that may run; or let it run, and let other runs wait."""
        if not decision.allowed:
            return decision
        if (taped := self._next(tool, arguments)) is not None:
            return taped
        self._lock.acquire()
        self._held += 1
        taped = self._next(tool, arguments)  # another run may have asked meanwhile
        if taped is None:
            return decision
        self.release(1)
        return taped

    def keep(self, tool: Tool, arguments: Mapping[str, Any], outcome: Outcome, ran: bool) -> Outcome:
        """Write down the outcome of a call that ran."""
        if not ran:
            return outcome
        key = self._key(tool, arguments)
        call = {"tool": tool.name, "arguments": dict(arguments), "case": self._case}
        self._recording.add_call(call, encode_outcome(outcome))
        self._known[key].append(replace(outcome, trace=None))
        self._given[key] += 1
        self.release(1)
        return outcome

    def release(self, times: int | None = None) -> None:
        """Let other runs of the case go on."""
        for _ in range(self._held if times is None else min(times, self._held)):
            self._held -= 1
            self._lock.release()

    def _next(self, tool: Tool, arguments: Mapping[str, Any]) -> TapedCall | None:
        key = self._key(tool, arguments)
        known = self._known[key]
        if self._given[key] >= len(known):
            return None
        outcome = known[self._given[key]]
        if isinstance(outcome.value, Shown):
            what = f"the file of recorded tools holds only a part of the result of {tool.name}"
            raise InvalidInput(what, advice=f"it was called with {excerpt(dict(arguments))}")
        self._given[key] += 1
        return TapedCall(replace(outcome, origin="tape"))

    def _key(self, tool: Tool, arguments: Mapping[str, Any]) -> tuple[str, str]:
        return self._case, call_as_text(tool.name, scrub_json(dict(arguments)))
