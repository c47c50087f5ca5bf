"""Programs that use zoolab wrongly, or whose tools fail: the errors that no model can make."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tools.datasets.asking import RecordedOrLive
from zoolab.errors import ExecutionFailed, ToolIOError
from zoolab.loop import walk
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Limits, Reply, Request, Step
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import Tool
from zoolab_connect.faulty import Faulty
from zoolab_course.local import LocalModel

_ADD = "What is 42 + 58?"
_OFFERED = ("add", "get_weather", "check_status")


def _steps(prompt: str, tools: Any = None, model: Any = None, **options: Any) -> Iterator[Step]:
    """Return a walk that would go well, but for what is given."""
    given: dict[str, Any] = {"policy": Policy(ask=()), "limits": Limits(turns=3), **options}
    answers = model or RecordedOrLive(Replay("starter"), LocalModel())
    return walk(prompt, tools_named(*_OFFERED) if tools is None else tools, answers, **given)


def _with_add(function: Callable[..., Any], timeout: float | None = None) -> list[Tool]:
    """Return the offered tools, of which `add` runs something else."""
    add, *others = tools_named(*_OFFERED)
    return [Tool(add.name, add.description, add.parameters, function, timeout=timeout), *others]


def _raises(kind: type[Exception], what: str) -> Callable[..., Any]:
    def fail(**_arguments: Any) -> Any:
        raise kind(what)

    return fail


def _undescribed(a, b):  # type: ignore[no-untyped-def]
    """Add two integers."""
    return a + b


def _sleeps(**_arguments: Any) -> None:
    time.sleep(0.5)


def _always(fault: str) -> Faulty:
    return Faulty(Replay("starter"), [fault])


class _ByHand:
    """Answers every request with the same reply, written by hand."""

    made = Scripted.made
    who = Scripted.who

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def __call__(self, _request: Request) -> Reply:
        return self._reply


def _ends(finish_reason: str, content: str | None = None) -> Callable[[str], Iterator[Step]]:
    """Return a walk whose only reply is written by hand, and ends so."""
    reply = Reply({"role": "assistant", "content": content}, finish_reason, model="scripted")
    return lambda prompt: _steps(prompt, model=_ByHand(reply))


#: Who answers in `WRONG`.
RECORDED = "a recording of Needle 3 and SmolLM2"
#: Its name, the prompt, what is wrong, and the walk.
WRONG: Mapping[str, tuple[str, str, Callable[[str], Iterator[Step]]]] = MappingProxyType(
    {
        "program-no-hints": (
            _ADD,
            "a tool without type hints",
            lambda prompt: _steps(prompt, [_undescribed]),
        ),
        "program-bad-choice": (
            _ADD,
            "a forced tool that is not offered",
            lambda prompt: _steps(prompt, tool_choice="fly"),
        ),
        "program-not-recorded": (
            "What is 1 + 2?",
            "asks what was never recorded",
            lambda prompt: _steps(prompt, model=Replay("starter")),
        ),
        "program-disk-full": (
            _ADD,
            "a tool that cannot write",
            lambda prompt: _steps(prompt, _with_add(_raises(ToolIOError, "no space left on the disk"))),
        ),
        "program-tool-fails": (
            _ADD,
            "a tool with a fault of its own",
            lambda prompt: _steps(prompt, _with_add(_raises(ExecutionFailed, "the adder is out of order"))),
        ),
        "program-tool-slow": (
            _ADD,
            "a time-out that is too short",
            lambda prompt: _steps(prompt, _with_add(_sleeps, timeout=0.05)),
        ),
        "program-nobody-asked": (
            "Restart cron.",
            "nobody answers when the tool asks for permission",
            lambda prompt: _steps(prompt, tools_named("check_status", "restart_service"), policy=Policy()),
        ),
        "program-denied-tool": (_ADD, "the tool is forbidden", lambda prompt: _steps(prompt, deny=["add"])),
        "program-no-patience": (
            _ADD,
            "no retry is allowed, and the arguments are broken",
            lambda prompt: _steps(prompt, model=_always("trailing_comma"), limits=Limits(retries=0)),
        ),
        "program-one-turn": (
            _ADD,
            "one turn is too few",
            lambda prompt: _steps(prompt, limits=Limits(turns=1)),
        ),
    }
)
#: The same, for replies that do not come to their end.
UNFINISHED: Mapping[str, tuple[str, str, Callable[[str], Iterator[Step]]]] = MappingProxyType(
    {
        "reply-cut": (_ADD, "the reply is cut at the limit of its length", _ends("length", "The sum of 42")),
        "reply-filtered": (_ADD, "a filter of the endpoint stops the reply", _ends("content_filter")),
        "reply-failed": (_ADD, "the endpoint fails in the reply", _ends("error", "The")),
        "reply-empty": (_ADD, "the reply says nothing", _ends("stop")),
    }
)
