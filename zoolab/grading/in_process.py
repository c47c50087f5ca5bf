"""A submission that runs in this process, for a system that can start no other one, such as a browser.

It protects from nothing, and a call that never returns is not stopped. It is for `check` alone, where
students run their own code. Values go through JSON here, too.
"""

from __future__ import annotations

import builtins
import io
import json
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

from zoolab.grading.channel import Channel, Process
from zoolab.grading.worker.jail import UNPROTECTED
from zoolab.grading.worker.notebook import Notebook, Nothing, StandIn, refuse
from zoolab.grading.worker.serve import answer_to


class InProcess:
    """Runs each submission in this process, with names of its own."""

    missing: tuple[str, ...] = (*UNPROTECTED, "memory")

    def start(self) -> Process:
        """A place for a submission that has loaded nothing yet."""
        own: dict[str, Any] = {"__name__": "__main__", "display": Nothing(), "get_ipython": Nothing}
        return Here({**own, "__builtins__": {**vars(builtins), "__import__": _import}})

    def close(self) -> None:
        """Nothing is kept."""


class Here:
    """The names of a submission, in place of its process."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.channel: Channel = _Direct(names)

    def ended(self) -> str:
        """There is no process that could end."""
        return ""

    def used(self) -> None:
        """Not known: it is this process."""


class _Direct(Channel):
    """What is sent is done at once, before `send` returns. What it prints is not kept."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.answer = None
        self._notebook, self._reply = Notebook(names), dict[str, Any]()

    def send(self, message: dict[str, Any], seconds: float = 10.0) -> None:  # noqa: ARG002
        with redirect_stdout(io.StringIO()):
            reply = answer_to(_copied(message), self._notebook, self._ask)
        self._reply = _copied({**reply, "call": message["call"]})

    def receive(self, seconds: float) -> dict[str, Any]:  # noqa: ARG002
        return self._reply

    def _ask(self, _call: object, question: dict[str, Any]) -> dict[str, Any]:
        if self.answer is None:
            raise RuntimeError("this function was called after the call that received it had ended")
        return _copied(self.answer(_copied(question)))


def _copied(message: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(message, allow_nan=False))
    return copy


def _import(name: str, *rest: Any) -> Any:
    """The `__import__` of a submission: of zoolab and IPython it gets what it gets while it is graded."""
    stand_in = StandIn()
    if name in stand_in.names:
        stand_in.exec_module(module := ModuleType(name))
        return module
    if name.partition(".")[0] in stand_in.names:
        refuse(name.partition(".")[2])
    return __import__(name, *rest)
