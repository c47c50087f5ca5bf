"""Policies, recordings and journals, in any order of writing, cutting, full disks and reopening.

Each has a model of a few lines beside it: what it says has to be in the file, and nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zoolab import Decision, Replay, Scripted, run
from zoolab.errors import ZoolabError
from zoolab.models.recording import Recording
from zoolab.policy import Permissions, Policy
from zoolab.policy.permissions import PolicyFile
from zoolab.tools import Tool
from zoolab_study.journal import Journal, JournalReader, run_line, trace_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no limits of files")
#: Sequences for each machine; SECURITY.md tells of 60.
EXAMPLES = int(os.environ.get("ZOOLAB_EXAMPLES", "15"))
FEW = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
NUMBERS = st.integers(0, 5)


@contextmanager
def full_disk(most: int) -> Iterator[list[str]]:
    """No file may be longer than `most` bytes; the error of whoever tried is kept."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    told: list[str] = []
    try:
        yield told
    except ZoolabError as error:
        told.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


class InAFolder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "file.jsonl"

    def teardown(self) -> None:
        self._folder.cleanup()


def touching(name: str) -> Tool:
    return Tool(name, "Wipe.", {"type": "object"}, print, risk="high", resource=lambda given: given["path"])


TOOLS = [touching("wipe"), touching("burn")]
PATHS = ["a", "b/*", "b/c"]
CALLS = st.tuples(st.sampled_from(TOOLS), st.sampled_from(PATHS))


class Policies(InAFolder):
    """Two programs share a policies.json; each has its own session."""

    def __init__(self) -> None:
        super().__init__()
        self.audit = self.path.with_name("audit.jsonl")
        self.programs = [self.program(), self.program()]
        self.always: set[tuple[str, str]] = set()
        self.session: list[set[tuple[str, str]]] = [set(), set()]
        self.denied: set[str] = set()
        self.noted = 0

    def program(self) -> Permissions:
        return Permissions(Policy(), self.path, self.audit)

    def wanted(self, number: int, name: str, path: str) -> str:
        if name in self.denied:
            return "deny"
        if (name, path) in self.session[number]:
            return "session"
        return "always" if (name, path) in self.always else "pending"

    @rule(number=st.integers(0, 1), call=CALLS, choice=st.sampled_from(["once", "session", "always", "deny"]))
    def answers(self, number: int, call: tuple[Tool, str], choice: str) -> None:
        tool, path = call
        said = self.programs[number].settle(tool, {"path": path}, Decision(choice))  # type: ignore[arg-type]
        self.noted += 1
        if tool.name in self.denied:
            assert said.choice == "deny"
            return
        assert said.choice == choice
        if choice == "session":
            self.session[number].add((tool.name, path))
        elif choice == "always":
            self.always.add((tool.name, path))

    @rule(number=st.integers(0, 1), call=CALLS, room=st.integers(0, 400))
    def answers_always_on_a_full_disk(self, number: int, call: tuple[Tool, str], room: int) -> None:
        tool, path = call
        before = self.audit.stat().st_size
        with full_disk(before + room):
            said = self.programs[number].settle(tool, {"path": path}, Decision("always"))
        if said.allowed:
            self.always.add((tool.name, path))
        text = self.audit.read_text(encoding="utf-8")
        assert text == "" or text.endswith("\n")
        self.noted = text.count("\n")

    @rule(tool=st.sampled_from(TOOLS))
    def denies(self, tool: Tool) -> None:
        PolicyFile(self.path).add("deny", tool.name)
        self.denied.add(tool.name)

    @precondition(lambda self: self.denied)
    @rule(data=st.data())
    def forgets(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.denied)))
        PolicyFile(self.path).remove(name)
        self.denied.discard(name)

    @rule(number=st.integers(0, 1))
    def begins_anew(self, number: int) -> None:
        self.programs[number] = self.program()
        self.session[number] = set()

    @rule(number=st.integers(0, 1), call=CALLS)
    def is_broken_by_a_stranger_and_repaired(self, number: int, call: tuple[Tool, str]) -> None:
        before = self.path.read_bytes() if self.path.exists() else None
        self.path.write_text('{"version": 1, "allow": ["wipe", "burn"')
        self.path.chmod(0o600)
        tool, path = call
        assert self.programs[number].decide(tool, {"path": path}).choice == "deny"
        self.noted += 1
        self.path.unlink()
        if before is not None:
            self.path.write_bytes(before)

    @invariant()
    def nobody_is_let_in(self) -> None:
        for number, program in enumerate(self.programs):
            for tool in TOOLS:
                for path in PATHS:
                    said = program.decide(tool, {"path": path}).choice
                    assert said == self.wanted(number, tool.name, path)
                    self.noted += said != "pending"

    @invariant()
    def every_decision_is_written_down(self) -> None:
        lines = self.audit.read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["tool"] in ("wipe", "burn") for line in lines] == [True] * self.noted


class Recordings(InAFolder):
    """Two programs ask the same model and record into one file."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[int] = []
        self.live = [0, 0]
        self.programs: list[Replay] = []

    def model(self, number: int) -> Replay:
        def answer(_request: object) -> str:
            self.live[number] += 1
            return "Done."

        return Replay(self.path, live=Scripted([answer] * 100))

    @initialize()
    def begin(self) -> None:
        self.programs = [self.model(0), self.model(1)]

    @rule(number=st.integers(0, 1), asked=NUMBERS)
    def asks(self, number: int, asked: int) -> None:
        assert run(f"{asked}", [], self.programs[number]).answer == "Done."
        if asked not in self.kept:
            self.kept.append(asked)

    @rule(number=st.integers(0, 1), asked=NUMBERS, room=st.integers(0, 500))
    def asks_on_a_full_disk(self, number: int, asked: int, room: int) -> None:
        with full_disk(self.path.stat().st_size + room) as told:
            run(f"{asked}", [], self.programs[number])
        assert all("cannot write" in each for each in told)
        # A line may fit whole but for its end: then it is there, although the disk was full.
        if asked not in self.kept and (not told or asked in self.there()):
            self.kept.append(asked)

    @rule(number=st.integers(0, 1))
    def begins_anew(self, number: int) -> None:
        self.programs[number] = self.model(number)

    @rule(data=st.data())
    def is_killed_within_a_line(self, data: st.DataObject) -> None:
        line = b'{"request":{"messages":[{"role":"user","content":"9"}]},"response":{"choices":[]},"da'
        with self.path.open("ab") as file:
            file.write(line[: data.draw(st.integers(0, len(line)))])

    @invariant()
    def all_that_was_answered_is_there(self) -> None:
        if self.programs:
            assert self.there() == set(self.kept)

    def there(self) -> set[int]:
        """What the file has answers to."""
        return {int(body["messages"][0]["content"]) for body in Recording(self.path).requests}


class Journals(InAFolder):
    """An experiment that is ended and resumed."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    @rule(numbers=st.lists(NUMBERS, max_size=3), room=st.none() | st.integers(0, 4_000))
    def appends(self, numbers: list[int], room: int | None) -> None:
        names = [f"{len(self.kept) + place:028x}" for place in range(len(numbers))]
        lines = []
        for name, number in zip(names, numbers, strict=True):
            trace = run("Hi", [], Scripted(["x" * 300 * number]))
            trace.run_id = name
            lines.append(run_line(trace))
        size = self.path.stat().st_size if self.path.exists() else 0
        if room is None:
            with Journal(self.path) as journal:
                journal.append(lines)
            self.kept += names
            return
        with full_disk(size + room) as told, Journal(self.path) as journal:
            journal.append(lines)
        assert all("cannot write" in each for each in told)
        there = [name for name, _ in JournalReader(self.path).runs()] if self.header() else []
        assert there == (self.kept + names)[: len(there)]
        assert len(there) >= len(self.kept)
        self.kept = there

    def header(self) -> bool:
        return self.path.exists() and b"\n" in self.path.read_bytes()

    @precondition(lambda self: self.header())
    @rule(cut=st.integers(1, 60))
    def is_killed_within_a_line(self, cut: int) -> None:
        with self.path.open("ab") as file:
            file.write(b'{"event":"run","run":"00000000000000000000000009ff","events":[]}'[:cut])

    @invariant()
    def all_runs_are_there(self) -> None:
        if self.header():
            reader = JournalReader(self.path)
            found = dict(reader.runs())
            assert list(found) == self.kept
            assert [trace_of(line).run_id for line in reader.at(found.values())] == self.kept


TestPolicies = Policies.TestCase
TestPolicies.settings = FEW
TestRecordings = Recordings.TestCase
TestRecordings.settings = FEW
TestJournals = Journals.TestCase
TestJournals.settings = FEW
