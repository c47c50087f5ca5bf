"""A walk inside a tool (a sub-agent), and a walk inside a model (one that calls its own tools)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack, cast

from zoolab.errors import ModelError, PermissionDenied
from zoolab.jsontext import encode
from zoolab.jsontext.readonly import plain
from zoolab.keywords import passes_on
from zoolab.loop import Tools, walk
from zoolab.models.about import about
from zoolab.options import Options, SharedOptions, WalkOptions, check_model
from zoolab.policy import Permissions
from zoolab.records import Model, Reply, Request, Step
from zoolab.runs import RunOptions, run
from zoolab.steps.define import as_registry
from zoolab.steps.request import deny_names
from zoolab.steps.validate import check_arguments
from zoolab.tools import Tool, ToolReturn
from zoolab.trace.summary import tokens_used


@passes_on(run)
def as_tool(name: str, description: str, tools: Tools, model: Model, **options: Unpack[RunOptions]) -> Tool:
    """Return a whole walk as one tool: a sub-agent that is given a task and returns its answer.

    `options` are those of `run`; with `answer_schema=` the tool returns an object. The trace of each task is
    kept in the parent's: `Outcome.trace`. What the parent allows or denies does not reach in: give `policy=`,
    `deny=` and `ask=` of its own, or one `Permissions` to both.

    A tool of your own that calls `run` is held to the limits of its caller, too. For its trace and tokens to
    count in the caller's trace, return `ToolReturn(answer, trace)` (in `zoolab.tools`).

    >>> from zoolab.models.scripted import Scripted
    >>> done = as_tool("oracle", "Knows.", [], Scripted(["42"])).invoke({"task": "The answer?"})
    >>> done.value, len(done.trace)
    ('42', 3)
    """

    check_model(model)
    shared = {name: given for name, given in options.items() if name in SharedOptions.__annotations__}
    Options(**cast(SharedOptions, shared))

    def delegate(task: str) -> ToolReturn:
        trace = run(task, tools, model, **options)
        return ToolReturn(trace.value or trace.answer or "", trace)

    built = Tool.build(name, description).param("task", "string", "What the sub-agent shall do, in full.")
    return built.call(delegate)


@passes_on(walk, without=("messages",))
def with_tools(model: Model, tools: Tools, **options: Unpack[WalkOptions]) -> ToolEnabled:
    """Return a model that is offered these tools with every request and calls them itself, until it answers.

    `options` are those of `walk`. Tools that the request itself offers are not its own, and left out.

    >>> from zoolab.models.scripted import Scripted
    >>> from zoolab.toolbox.starter import starter_tools
    >>> script = Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
    >>> calculator = with_tools(script, starter_tools("add"))
    >>> calculator(Request([{"role": "user", "content": "What is 42 + 58?"}])).text
    'It is 100.'
    >>> calculator.call_tool("add", '{"a": 1, "b": 2}')
    3
    """
    check_model(model)
    Options(**options)
    return ToolEnabled(model, tools, options)


class ToolEnabled:
    """A model with tools of its own; see `with_tools`."""

    #: What a recording of it says: no model says such things without its tools.
    made = "authored"

    def __init__(self, model: Model, tools: Tools, options: Mapping[str, Any]) -> None:
        self.inner = model
        self.model = about(model).name
        self.who = f"{about(model).who}, with tools of its own"
        self.tools = as_registry(tools)
        policy = options.get("policy")
        self._permissions = policy if isinstance(policy, Permissions) else Permissions(policy)
        self._options = {**options, "policy": self._permissions}
        #: The steps of the last request's walk.
        self.steps: list[Step] = []

    def __call__(self, request: Request) -> Reply:
        self.steps = []
        known = request.tool_choice in (*self.tools.names(), "required", "none")
        choice = request.tool_choice if known else "auto"
        options = {"tool_choice": choice, **self._options}
        for step in walk(None, self.tools, self.inner, messages=request.messages, **options):
            self.steps.append(step)
        last = next((step.reply for step in reversed(self.steps) if step.reply is not None), None)
        if last is None:
            raise ModelError("the model gave no answer", advice="look at .steps to see what happened before")
        requests = sum(step.kind == "request" for step in self.steps)
        return last if requests == 1 else replace(last, usage=tokens_used(self.steps).usage or last.usage)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> Any:
        """Check the arguments (a dict, or the raw text of a model), call the tool, return its value.

        Raises:
            CallError: There is no such tool, or the arguments are wrong.
            PermissionDenied: The policy does not allow it.
        """
        tool = self.tools[name]
        text = arguments if isinstance(arguments, str) else encode(arguments)
        verdict = check_arguments(text, tool)
        verdict.raise_for_problems()
        given = verdict.arguments or {}
        if name in deny_names(self._options.get("deny", ()), self.tools):
            self._permissions.note_denied(tool, given)
            raise PermissionDenied(f"{name} is denied", advice="remove the tool from deny=")
        decision = self._permissions.decide(tool, given)
        if decision.choice == "pending":
            decision = self._permissions.settle(tool, given, decision)
        if not decision.allowed:
            why = f"allow it with policy= ({decision.reason})"  # the model reads no advice
            raise PermissionDenied(f"{name} did not run: {decision.told}", advice=why)
        return self.tools.execute(name, plain(given))
