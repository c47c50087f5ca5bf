"""One public case in the process of the notebook itself: for the tests of otter-grader and nbgrader.

What the student's code did to this process counts here, which is why `zoolab grade` decides elsewhere.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.grading.channel import Channel
from zoolab.grading.judge import DEFAULT_SEED
from zoolab.grading.labs import load_lab
from zoolab.grading.records import Case, Lab, Wrong
from zoolab.grading.student import Student
from zoolab.grading.texts import cleaned
from zoolab.grading.worker.notebook import Notebook
from zoolab.grading.worker.serve import serve


def passes(lab: str, case: str, names: dict[str, Any]) -> bool:
    """Play one public case of a lab against the functions in `names`, say `globals()`; True if it passes.

    Values go through JSON on their way, as they do to a process of its own.

    Raises:
        AssertionError: It does not: with the sentence of the task, what happened, and the hint.
        InvalidInput: There is no such lab, or no such public case.

    >>> passes("l3", "runs_the_call", {"run_loop": lambda messages, tools, model, limit: 1 / 0})
    Traceback (most recent call last):
    AssertionError: A call runs once, with its own arguments; then the model is asked again, until it answers.
    What happened: `run_loop` raised ZeroDivisionError: division by zero
    Hint: `arguments` is text: parse it, then `run(**arguments)`; ask the model again.
    """
    found = load_lab(lab)
    chosen = _public_case(found, case)
    student = Student(lambda: _Thread.serving(names), found.seconds)
    try:
        chosen.check(student, Random(f"{DEFAULT_SEED}/here/{case}"))
    except Wrong as wrong:
        happened = cleaned(wrong.happened, 2_000)
    except Exception as error:
        happened = f"what came back has no shape that can be judged ({type(error).__name__})"
    else:
        return True
    finally:
        student.stop()
    raise AssertionError(f"{chosen.asks}\nWhat happened: {happened}\nHint: {chosen.hint}")


def _public_case(lab: Lab, name: str) -> Case:
    public = {case.name: case for case in lab.cases if case.public}
    if name not in public:
        raise InvalidInput(f"{lab.name} has no public case {name!r}", expected=f"one of {', '.join(public)}")
    return public[name]


@dataclass(slots=True)
class _Thread:
    """Stands where a student's process would: a thread of this one answers, and cannot be ended."""

    channel: Channel
    printed: str = field(default="", init=False)

    @classmethod
    def serving(cls, names: dict[str, Any]) -> _Thread:
        """A thread that serves these names until nobody asks any more."""
        here, there = socket.socketpair()
        threading.Thread(target=_serve, args=(there, names), daemon=True).start()
        return cls(Channel(here))

    def ended(self) -> str:
        """Ask no more."""
        self.channel.socket.close()
        return ""

    def used(self) -> None:
        """Not known: it is this process."""


def _serve(connection: socket.socket, names: dict[str, Any]) -> None:
    with connection, suppress(SystemExit):  # its way to say that nobody asks any more
        serve(connection, Notebook(names))
