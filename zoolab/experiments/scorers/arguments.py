"""Were the right calls made, with the right arguments?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.experiments.records import UNSAID, Run, Score
from zoolab.experiments.scorers.expected import ANY_CALL, expected_calls
from zoolab.experiments.scorers.rules import Call, fault_in_calls
from zoolab.jsontext import NotStrictJSON
from zoolab.records import ToolCall, Verdict
from zoolab.registry import ToolRegistry
from zoolab.runs import Trace
from zoolab.steps.validate import parse_arguments


def score_arguments(run: Run) -> dict[str, Score]:
    """Whether the calls are the expected ones, by the rules of `zoolab.experiments.scorers.rules`.

    `arguments` looks at all calls of the run that passed validation, `first_reply` at the first reply
    alone and as it was written, which is what the Berkeley leaderboard looks at. A call that the
    leaderboard accepts and the tool's own schema refuses is right in `first_reply` alone. Where the case
    has no `expected_calls`, both are None; where that is empty, no call is the right answer.

    >>> from zoolab import Scripted, run, tool
    >>> from zoolab.experiments.records import Case
    >>> @tool
    ... def double(x: int) -> int:
    ...     "Double a number."
    ...     return 2 * x
    >>> case = Case("double-1", "Twice 21?", [double], expected_calls=[("double", {"x": 21})])
    >>> model = Scripted([[("double", {"x": "21"})], [("double", {"x": 21})], "42"])
    >>> score_arguments(Run(case, run(case.prompt, case.tools, model)))
    {'arguments': True, 'first_reply': False}
    """
    if run.case.expected_calls is UNSAID:
        return {"arguments": None, "first_reply": None}
    first = _written(run.trace)
    return {
        "arguments": not fault_in_run(run),
        "first_reply": first is not None and not _fault_in(run, first),
    }


def fault_in_run(run: Run) -> str:
    """Why the calls of a run that passed validation are not the expected ones; empty where they are.

    >>> from zoolab import Scripted, run
    >>> from zoolab.experiments.records import Case
    >>> case = Case("hello", "Hello!", expected_calls=[("greet", {})])
    >>> fault_in_run(Run(case, run(case.prompt, [], Scripted(["Hello!"]))))
    'calls: none, expected greet'
    """
    return _fault_in(run, list(_passed(run.trace)))


def _fault_in(run: Run, calls: list[Call]) -> str:
    if run.case.expected_calls == ANY_CALL:
        return "" if calls else "calls: none, expected any"
    return fault_in_calls(calls, expected_calls(run.case.expected_calls), _schemas(run.trace))


def _schemas(trace: Trace) -> dict[str, Mapping[str, Any]]:
    """The tools as the model saw them."""
    tools = trace.steps[0].record if trace.steps else None
    return {tool.name: tool.parameters for tool in tools} if isinstance(tools, ToolRegistry) else {}


def _passed(trace: Trace) -> Iterator[Call]:
    for step in trace.steps:
        if isinstance(step.record, Verdict) and step.record.ok and step.call is not None:
            yield step.call.name, step.record.arguments or {}


def _written(trace: Trace) -> list[Call] | None:
    """The calls of the first reply; None where the arguments of one are no JSON object."""
    first = next((step.turn for step in trace.steps if step.turn > 0), 0)
    asked = [step.record for step in trace.steps if step.turn == first and isinstance(step.record, ToolCall)]
    calls: list[Call] = []
    for call in asked:
        arguments = _parsed(call.arguments)
        if arguments is None:
            return None
        calls.append((call.name, arguments))
    return calls


def _parsed(raw: str) -> dict[str, Any] | None:
    try:
        value = parse_arguments(raw)
    except NotStrictJSON:
        return None
    return value if isinstance(value, dict) else None
