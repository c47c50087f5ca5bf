"""A program under each fault in turn, and the scorecard: does it recover, fail, or go wrong in silence?"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Thread
from time import perf_counter
from typing import IO, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import one_line, visible
from zoolab.records import Model
from zoolab.secrets import scrub
from zoolab.text.wording import as_words
from zoolab_connect.processes import signal_group
from zoolab_connect.proxy.seen import start_program
from zoolab_connect.proxy.watch import TRAFFIC_FAULTS, traffic_plan, watch

#: Bytes that are kept of what a program writes.
MAX_OUTPUT = 1 << 20

#: The results, each with its sign and what it means; `as_words` says them to people.
RESULTS: Mapping[str, tuple[str, str]] = {
    "recovered": ("+", "exit code 0, and the check passes"),
    "silently_wrong": ("!", "exit code 0, but the check fails"),
    "failed": ("x", "another exit code, or no end in time"),
    "not_checked": ("?", "exit code 0; without a check nobody knows whether the answer is right"),
    "not_reached": (".", "the fault found nothing to break"),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a program, under a fault or (None) without one."""

    fault: str | None
    #: None if it did not end in time.
    exit_code: int | None
    #: Whether the check passes; None if there is no check, or it did not run.
    right: bool | None
    #: Whether the fault happened.
    happened: bool
    seconds: float
    #: The last line that the program wrote to its standard error.
    said: str = ""

    @property
    def result(self) -> str:
        """What became of it, one of `RESULTS`."""
        if not self.happened:
            return "not_reached"
        if self.exit_code != 0:
            return "failed"
        return "not_checked" if self.right is None else "recovered" if self.right else "silently_wrong"

    @property
    def stood(self) -> bool:
        """Whether the program stood the fault, as far as the exit code and the check say."""
        return not self.happened or (self.exit_code == 0 and self.right is not False)

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        return "no end in time" if self.exit_code is None else f"exit code {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Scorecard:
    """How a program stands each fault, a row each; without a fault it did well.

    >>> wrong, failed = Attempt("nan", 0, False, True, 0.5), Attempt("http_500", 1, None, True, 0.5)
    >>> Scorecard((wrong, failed)).counts
    {'silently_wrong': 1, 'failed': 1}
    """

    rows: tuple[Attempt, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each result; only those that some row has."""
        counted = Counter(row.result for row in self.rows)
        return {result: counted[result] for result in RESULTS if counted[result]}

    def _counted(self) -> list[list[str]]:
        most = max(self.counts.values(), default=1)
        return [
            [
                f"{RESULTS[name][0]} {as_words(name)}",
                f"{number:3} {'█' * -(-30 * number // most)}",
                RESULTS[name][1],
            ]
            for name, number in self.counts.items()
        ]

    def _rows(self) -> list[list[str]]:
        return [
            [
                *(f"{RESULTS[row.result][0]} {as_words(row.result)}", row.fault or "", row.ended),
                *(f"{row.seconds:.1f} s", visible(one_line(row.said, 80))),
            ]
            for row in self.rows
        ]

    def __str__(self) -> str:
        return "\n\n".join(map(_in_columns, (self._counted(), self._rows())))

    __repr__ = __str__


def _in_columns(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def stress(
    command: Sequence[str],
    check: Sequence[str] | None = None,
    faults: Iterable[str] = TRAFFIC_FAULTS,
    *,
    to: Model | str | None = None,
    seed: int | str = 0,
    times: int = 1,
    seconds: float = 60.0,
    told: Callable[[Attempt], object] = lambda _: None,
) -> Scorecard:
    """Run a program once without a fault, and once with each fault in what it receives.

    Args:
        command: The program and its arguments; no shell reads them.
        check: A program that says by exit code 0 that the answer is right. It reads what the program wrote to
            its standard output; the variable `ZOOLAB_TRACES` names the folder of the traces.
        faults: Names of `TRAFFIC_FAULTS`.
        to: Who answers each of the runs; see `watch`. A recording has no answer to what a fault makes the
            program ask.
        seed: As for `Faulty`.
        times: As for `Faulty`: in how many replies the fault happens.
        seconds: How long the program may run, and the check too.
        told: Is called with each run that has ended.

    Raises:
        InvalidInput: A command cannot be started, there is no such fault, or the program does not do well
            without one.

    >>> from zoolab import Scripted
    >>> print(stress(["true"], faults=["nan"], to=Scripted(["Hi"])).rows[0].result)
    not_reached
    """

    def attempt(fault: str | None) -> Attempt:
        with TemporaryDirectory() as folder:
            broken = [fault] if fault else []
            with watch(to, folder=folder, faults=broken, seed=seed, times=times) as seen:
                began = perf_counter()
                exit_code, stdout, stderr = run_bounded(command, seconds, seen.environment)
                took = perf_counter() - began
            right = None
            if check is not None and exit_code == 0:
                right = run_bounded(check, seconds, {"ZOOLAB_TRACES": folder}, stdout)[0] == 0
        lines = [line for line in stderr.decode("utf-8", "replace").split("\n") if line.strip()]
        said = scrub("".join(lines[-1:])[:1_000])
        made = Attempt(fault, exit_code, right, bool(seen.faults), took, said)
        told(made)
        return made

    wanted = traffic_plan(faults).rates
    plain = attempt(None)
    if plain.exit_code != 0 or plain.right is False:
        why = plain.ended + (", but the check fails" if plain.exit_code == 0 else "")
        last = f" ({visible(one_line(plain.said, 200))})" if plain.said else ""
        raise InvalidInput(
            f"the program does not do well even without a fault: {why}{last}",
            advice="make it pass without faults first",
        )
    return Scorecard(tuple(attempt(name) for name in wanted))


def run_bounded(
    command: Sequence[str], seconds: float, environment: Mapping[str, str], stdin: bytes = b""
) -> tuple[int | None, bytes, bytes]:
    """Run a command with further environment variables, in a process group that ends with it or in time.

    Returns its exit code (None: not in time), the start of its output, and the end of its standard error.
    Raises `InvalidInput` if it cannot be started.
    """
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        program = start_program(command, environment, stdin=given, start_new_session=True, **pipes)
    stdout = bytearray()
    stderr = bytearray()
    kept = (program.stdout, stdout, slice(MAX_OUTPUT, None)), (program.stderr, stderr, slice(-MAX_OUTPUT))
    readers = [Thread(target=_read, args=each, daemon=True) for each in kept]
    with program:
        for reader in readers:
            reader.start()
        try:
            exit_code: int | None = program.wait(seconds)
        except subprocess.TimeoutExpired:
            exit_code = None
        finally:
            signal_group(program.pid)
        for reader in readers:
            reader.join(1)  # what left the group may still hold the pipe
    return exit_code, bytes(stdout), bytes(stderr)


def _read(stream: IO[bytes], into: bytearray, surplus: slice) -> None:
    with suppress(OSError, ValueError):  # it was closed
        while piece := stream.read(1 << 16):
            into += piece
            del into[surplus]
