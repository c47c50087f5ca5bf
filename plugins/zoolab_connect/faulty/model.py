"""A model with faults: it passes on what another one says, and breaks some of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from zoolab.fault import Fault, marked
from zoolab.jsontext import digest, encode
from zoolab.models.about import about
from zoolab.models.openai import explain
from zoolab.models.request_keys import RequestKeys
from zoolab.models.transport import http_library
from zoolab.records import Model, Reply, Request, without
from zoolab.tools import ToolRegistry
from zoolab_connect.faulty.kinds import FAULTS, SECRET, check_table, make_plan
from zoolab_connect.faulty.replies import CALLS, REPLIES, SAME_CALL, AskedRequest, break_reply, repeat_call
from zoolab_connect.faulty.tools import (
    AFTER,
    BEFORE,
    DEFINED,
    FaultyTool,
    ToolPace,
    defined_faults,
    original_of,
)

#: What the endpoint says with a status.
SAYS = {
    401: f"Incorrect API key provided: {SECRET}",
    429: "Too many requests: this endpoint is busy",
    500: "The server had an error",
}


class Faulty(AbstractContextManager["Faulty"]):
    """Wraps any model and injects faults, each seeded and marked in the trace.

    The faults are those of `FAULTS`. A call of a reply has at most one of them, and so has an execution
    of a tool. What happens depends on the seed and on what was said, so that the same walk has the same
    faults; a fault that finds nothing to break does not happen, and is not marked. Calls that the model wrote
    as text are left alone.

    Args:
        model: The model that is asked.
        faults: Names of faults, which happen wherever they can, or a mapping from names to rates 0..1.
        seed: Another seed breaks other things, where there is a choice.
        times: A fault of the endpoint or of a reply happens in the first so many replies after a question of
            the user, and as often in one of them at most; a fault of a tool, in the first so many runs of
            the same call. None for as often as it likes.
        slow_seconds: How much longer a slow tool takes.
        hang_seconds: How long a tool hangs, at most. `close` lets it go before.

    Raises:
        InvalidInput: There is no such fault, or a number is out of range.

    >>> from zoolab import Scripted, run
    >>> from zoolab.toolbox.starter import starter_tools
    >>> call = [("add", {"a": 42, "b": 58})]
    >>> model = Faulty(Scripted([call, call, "It is 100."]), ["trailing_comma"], times=1)
    >>> trace = run("What is 42 + 58?", starter_tools("add"), model)
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
        slow_seconds: float = 0.5,
        hang_seconds: float = 60.0,
    ) -> None:
        self.inner = model
        self.plan = make_plan(faults, seed, times)
        check_table((name for name in self.plan.rates if name in FAULTS), BROKEN)
        self._pace = ToolPace(slow_seconds, hang_seconds)
        said = about(model)
        self.model = said.name
        self.settings = said.settings
        self.calls = said.calls
        #: Who answers, for a recording.
        self.who = f"{said.who}, with injected faults"

    def __repr__(self) -> str:
        return f"<Faulty {self.inner!r}>"

    def __call__(self, request: Request) -> Reply:
        asked = AskedRequest.of(request, name_without_ids(request))
        self._reach(asked)
        # The reply that is repeated is the one before this: it does not count.
        may_repeat = self.plan.allows(len(asked.turns) - 1)
        repeats = may_repeat and bool(self.plan.ranked([SAME_CALL], asked.key))
        again = repeat_call(asked) if repeats else None
        reply = again or break_reply(self.inner(request), asked, self.plan)
        marks = () if asked.turns else defined_faults(_told(request))
        return replace(reply, faults=(*marks, *reply.faults)) if marks else reply

    def equip(self, registry: ToolRegistry) -> ToolRegistry:
        """Return the tools of a walk, with the faults that they are to have; the walk asks for it."""
        bare = registry.changed(original_of)  # a fork begins with tools that have faults already
        equip = about(self.inner).equip
        tools = bare if equip is None else equip(bare)
        return tools.changed(lambda tool: FaultyTool.of(tool, self.plan, self._pace))

    def close(self) -> None:
        """Let go the tools that hang; from now on they time out at once."""
        self._pace.over.set()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reach(self, asked: AskedRequest) -> None:
        """Get through to the model, or raise the error that a client meets at such an endpoint."""
        wanted = self.plan.ranked(REQUESTS, asked.key) if self.plan.allows(len(asked.turns)) else []
        if not wanted:
            return
        name = wanted[0]
        # A stream that drops is that of a reply, so the model is asked.
        reply = self.inner(asked.request) if name == "dropped_stream" else None
        url = str(getattr(about(self.inner).client, "base_url", "http://faulty.invalid/v1/"))
        error = explain(REQUESTS[name](url), url)
        error.dropped = reply
        raise marked(error, Fault(name, "the request", step="request", after=error.what))


def _told(request: Request) -> dict[str, str]:
    """Return what a request says of the tools: of each, or of all in the system prompt."""
    if request.tools:
        return {tool["function"]["name"]: encode(tool) for tool in request.tools if "function" in tool}
    first = request.prefix[0] if len(request.prefix) else {}
    return {"the tools": str(first.get("content"))} if first.get("role") == "system" else {}


def name_without_ids(request: Request) -> str:
    """Return the name of a request, the same whatever ids its calls have."""
    named = ""
    for message in request.messages:
        bare = without(message, ["tool_call_id"])
        if calls := message.get("tool_calls"):
            bare["tool_calls"] = [call.get("function") for call in calls]
        named = digest(named + RequestKeys().of({"messages": [bare]}))
    return digest(RequestKeys().of({**request.body(), "messages": []}) + named)


def _dropped(_url: str) -> Exception:
    said = "peer closed connection without sending complete message body"
    error: Exception = http_library().RemoteProtocolError(said)
    return error


def _timed_out(url: str) -> Exception:
    import openai

    return openai.APITimeoutError(http_library().Request("POST", url))


def _refused(status: int, url: str) -> Exception:
    import openai

    http = http_library()
    response = http.Response(status, request=http.Request("POST", url))
    return openai.APIStatusError("", response=response, body={"message": SAYS[status], "code": status})


#: What makes the error that the openai client raises at an endpoint with a fault, from its address.
REQUESTS: Mapping[str, Callable[[str], Exception]] = {
    "timeout": _timed_out,
    "dropped_stream": _dropped,
    **{f"http_{status}": partial(_refused, status) for status in SAYS},
}
#: Every fault that a function breaks.
BROKEN = frozenset({*DEFINED, *REQUESTS, SAME_CALL, *REPLIES, *CALLS, *BEFORE, *AFTER})
