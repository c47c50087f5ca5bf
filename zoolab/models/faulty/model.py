"""A model with faults: it passes on what another one says, and breaks some of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from zoolab.errors import ModelError
from zoolab.faults import Fault, marked
from zoolab.jsontext import encode
from zoolab.loop.about import about
from zoolab.models.faulty.endpoint import drop, refuse
from zoolab.models.faulty.kinds import FAULTS, check_count, make_plan
from zoolab.models.faulty.replies import Asked, break_reply, repeat_call
from zoolab.models.faulty.tools import FaultyTool, Pace, defined_faults, original_of, rebuilt
from zoolab.models.request_keys import RequestNames
from zoolab.records import Model, Reply, Request
from zoolab.tools import ToolRegistry

_REQUEST = tuple(name for name, kind in FAULTS.items() if kind.stage == "request")


class Faulty:
    """Wraps any model and injects faults, each seeded and marked in the trace.

    The faults are those of `FAULTS`. A call of a reply has at most one of them, and so has an execution
    of a tool. What happens depends on the seed and on what was said, so that the same walk has the same
    faults; a fault that finds nothing to break does not happen, and is not marked.

    Args:
        model: The model that is asked.
        faults: Names of faults, which happen wherever they can, or a mapping from names to rates 0..1.
        seed: Another seed breaks other things, where there is a choice.
        times: How often a fault may happen after each question of the user, at most; a fault of a tool,
            how often in the same call. None for as often as it likes.
        attempts: How many attempts of the client are refused by http_429 and the like. A model with a
            client that tries again, as that of `OpenAIModel` does, gets over a few.
        slow_seconds: How much longer a slow tool takes.
        hang_seconds: How long a tool hangs, at most. `close` lets it go before.

    Raises:
        InvalidInput: There is no such fault, or a number is out of range.

    >>> from zoolab import Scripted, run, tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> call = [("add", {"a": 42, "b": 58})]
    >>> model = Faulty(Scripted([call, call, "It is 100."]), ["trailing_comma"], times=1)
    >>> trace = run("What is 42 + 58?", [add], model)
    >>> trace.answer, [error.code for error in trace.errors], [call.arguments for call in trace.tool_calls]
    ('It is 100.', ['invalid_json'], ['{"a":42,"b":58,}', '{"a":42,"b":58}'])
    """

    #: What a recording of this model says of itself: no real model says such things.
    made = "authored"

    def __init__(
        self,
        model: Model,
        faults: Iterable[str] | Mapping[str, float],
        seed: int | str = 0,
        *,
        times: int | None = None,
        attempts: int = 1,
        slow_seconds: float = 0.5,
        hang_seconds: float = 60.0,
    ) -> None:
        self.inner = model
        self.plan = make_plan(faults, seed, times)
        self.attempts = check_count("attempts", attempts)
        self._pace = Pace(slow_seconds, hang_seconds)
        self._names = RequestNames()

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return about(self.inner).name

    @property
    def who(self) -> str:
        """Who answers, for a recording."""
        return f"{about(self.inner).who}, with injected faults"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of every request."""
        return about(self.inner).settings

    @property
    def calls(self) -> Literal["native", "text", "auto"]:
        """Where the model's calls are."""
        return about(self.inner).calls

    def __call__(self, request: Request) -> Reply:
        asked = Asked.of(request, self._names.of(request))
        in_text = self.calls == "text"
        passed = self._reach(asked)
        again = repeat_call(asked, in_text) if self._wants("same_call", asked, len(asked.turns) - 1) else None
        reply = again or break_reply(self.inner(request), asked, self.plan, in_text)
        marks = (*passed, *(() if asked.turns else defined_faults(_told(request))))
        return replace(reply, faults=(*marks, *reply.faults)) if marks else reply

    def equip(self, registry: ToolRegistry) -> ToolRegistry:
        """The tools of a walk, with the faults that they are to have; the walk asks for it."""
        bare = rebuilt(registry, original_of)  # a fork begins with tools that have faults already
        equip = about(self.inner).equip
        tools = bare if equip is None else equip(bare)
        return rebuilt(tools, lambda tool: FaultyTool.of(tool, self.plan, self._pace))

    def close(self) -> None:
        """Let go the tools that hang; from now on they time out at once."""
        self._pace.over.set()

    def __enter__(self) -> Faulty:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wants(self, name: str, asked: Asked, before: int) -> bool:
        return self.plan.allows(before) and bool(self.plan.ranked([name], asked.key))

    def _reach(self, asked: Asked) -> tuple[Fault, ...]:
        """Get through to the model, or raise the endpoint's error; the mark of what was overcome."""
        wanted = self.plan.ranked(_REQUEST, asked.key) if self.plan.allows(len(asked.turns)) else []
        if not wanted:
            return ()
        fault = Fault(wanted[0], "the request", step="request")
        meet = self._endpoint(fault.name, asked.request)
        try:
            tried = meet()
        except ModelError as error:
            raise marked(error, replace(fault, after=error.what)) from None
        return (replace(fault, after=f"answered at attempt {tried}"),)

    def _endpoint(self, name: str, request: Request) -> Callable[[], int]:
        """What the client is to meet; a stream that drops is that of a reply, so the model is asked."""
        if name == "dropped_stream":
            return partial(drop, self.inner, request, self.inner(request))
        return partial(refuse, self.inner, request, int(name.removeprefix("http_")), self.attempts)


def _told(request: Request) -> dict[str, str]:
    """What a request says of the tools: of each, or of all in the system prompt."""
    if request.tools:
        return {tool["function"]["name"]: encode(tool) for tool in request.tools}
    first = request.prefix[0] if len(request.prefix) else {}
    return {"the tools": str(first.get("content"))} if first.get("role") == "system" else {}
