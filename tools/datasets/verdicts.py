"""What a model's calls are worth, where it is known which call was meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from zoolab.records import ToolCall
from zoolab.steps.validate import check_call
from zoolab.tools import ToolRegistry
from zoolab_study.datasets.berkeley import same_arguments

#: From the best to the worst; the first three are only said where a tool was meant.
VERDICTS = (
    "right",
    "wrong_arguments",
    "invalid_arguments",
    "invalid_json",
    "wrong_tool",
    "unknown_tool",
    "no_tool_call",
    "needless_call",
)


def judge(
    calls: Sequence[ToolCall],
    registry: ToolRegistry,
    tool: str | None,
    arguments: Mapping[str, Any] | None,
    also: Collection[str] = (),
) -> str:
    """Return one of `VERDICTS`, by the first call.

    Args:
        calls: What the model asked for.
        registry: The tools that were on offer.
        tool: The tool that was meant; None where none is needed.
        arguments: The arguments that were meant.
        also: Tools that would do as well, whatever their arguments.

    >>> judge([], ToolRegistry(), None, None), judge([], ToolRegistry(), "ping", {})
    ('right', 'no_tool_call')
    """
    if not calls:
        return "right" if tool is None else "no_tool_call"
    call = calls[0]
    if call.name not in registry:
        return "unknown_tool"
    if tool is None:
        return "needless_call"
    if call.name != tool and call.name not in also:
        return "wrong_tool"
    verdict = check_call(call, registry)
    if verdict.error_code is not None:
        return verdict.error_code
    right = call.name != tool or same_arguments(
        arguments or {}, verdict.arguments or {}, registry[tool].parameters
    )
    return "right" if right else "wrong_arguments"


def codes_of(calls: Sequence[ToolCall], registry: ToolRegistry) -> list[str]:
    """Return the codes of all that is wrong with the calls, each once, in order.

    >>> codes_of([ToolCall(1, 0, "c", "fly", "{}")], ToolRegistry())
    ['unknown_tool']
    """
    problems = (problem for call in calls for problem in check_call(call, registry).problems)
    return list(dict.fromkeys(problem.code for problem in problems))


def leaves(value: Any) -> list[str]:
    """Return the texts, numbers and truths in a value, as texts.

    >>> leaves({"a": 1, "b": ["x", {"c": True}]})
    ['1', 'x', 'true']
    """
    if isinstance(value, Mapping):
        return [leaf for child in value.values() for leaf in leaves(child)]
    if isinstance(value, list):
        return [leaf for child in value for leaf in leaves(child)]
    return [str(value).lower() if isinstance(value, bool) else str(value)]
