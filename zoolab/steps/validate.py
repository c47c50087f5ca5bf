"""Step 4, validate: may this call run? Known, allowed, one JSON object, and as the schema says.

All problems are found at once. A repair may propose other arguments; they are validated again in
full, and a call whose repair fails does not run: nothing ever falls back to `{}`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Protocol

from zoolab.bound import Bound
from zoolab.errors import InvalidArguments, InvalidInput, Problem
from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.jsontext.readonly import read_only
from zoolab.records import Repair, ToolCall, Verdict
from zoolab.running.interrupts import interruptible
from zoolab.tools import Tool, ToolRegistry


class Repairer(Protocol):
    """Proposes arguments in place of broken ones, or None."""

    def propose(self, raw: str, schema: dict[str, Any] | None = None) -> str | None:
        """Return other text for `raw`, which does not parse or does not meet `schema`; None to leave it."""
        ...


class Unrepaired(Exception):
    """Raised by a `Repairer` that proposes nothing, with the problems that are the reason."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def check_call(call: ToolCall, registry: ToolRegistry, *, deny: Collection[str] = ()) -> Verdict:
    """Judge a call: is the tool known and allowed, do the arguments parse, do they meet the schema?

    Args:
        call: The call, with its raw arguments.
        registry: The tools that exist.
        deny: Names of tools that exist and are forbidden.

    Returns:
        A verdict with the parsed arguments, or with all problems. Never raises for what a model wrote.

    Raises:
        InvalidInput: What is to be judged is not a call with arguments as text.

    >>> from zoolab.tools import Tool, ToolRegistry
    >>> tools = ToolRegistry([Tool.build("add", "Add.").param("a", "integer").call(lambda a: a)])
    >>> check_call(ToolCall(1, 0, "call_1", "add", '{"a": "2"}'), tools).problems[0].message
    '/a: expected integer, received "2"'
    """
    if not isinstance(call, ToolCall):
        advice = "read_calls(message) finds those of a message"
        raise InvalidInput(f"{excerpt(call)} is not a ToolCall", expected="a ToolCall", advice=advice)
    if not isinstance(call.arguments, str):
        raise InvalidInput(
            f"the arguments of a call are a {type(call.arguments).__name__}",
            expected="the text that the model wrote",
            advice="use json.dumps(arguments)",
        )
    tool = registry.get(call.name)
    if tool is None:
        return refusal("unknown_tool", registry.names_as_text(), excerpt(call.name))
    if call.name in deny or registry.denies(call.name):
        return refusal("permission_denied", "a tool that may be used here", excerpt(call.name))
    return check_arguments(call.arguments, tool)


def check_arguments(raw: str, tool: Tool) -> Verdict:
    """Judge raw arguments against a tool's schema. Blank text stands for no arguments."""
    try:
        arguments = parse_json(raw) if raw.strip() else {}
    except NotStrictJSON as error:
        return refusal("invalid_json", error.expected, error.received)
    if not isinstance(arguments, dict):
        return refusal("invalid_json", "one JSON object", excerpt(arguments))
    problems = tool.checker.problems(arguments)
    if problems:
        return Verdict(False, None, problems)
    return Verdict(True, arguments) if tool.bind is None else _bound(tool, read_only(arguments))


def check_with_repair(
    call: ToolCall,
    registry: ToolRegistry,
    repair: Repairer | None,
    *,
    deny: Collection[str] = (),
) -> Verdict:
    """Judge a call; if its arguments fail, judge what `repair` makes of them.

    A repair that raises, or returns no text, is a repair that was refused.
    """
    verdict = check_call(call, registry, deny=deny)
    if repair is None or verdict.error_code not in ("invalid_json", "invalid_arguments"):
        return verdict
    tool = registry[call.name]
    proposed, failure = _proposed(repair, call.arguments, {**tool.parameters, "title": tool.name})
    if proposed is None or not proposed.strip():
        return replace(verdict, repair=Repair(call.arguments, proposed, False, verdict.problems, failure))
    second = check_arguments(proposed, tool)
    record = Repair(call.arguments, proposed, second.ok, verdict.problems, second.problems)
    return replace(second if second.ok else verdict, repair=record)


def _proposed(repair: Repairer, raw: str, schema: dict[str, Any]) -> tuple[str | None, tuple[Problem, ...]]:
    proposed: object
    try:
        proposed = interruptible(repair.propose, raw, schema)
    except Unrepaired as told:
        return None, told.problems
    except Exception as error:
        received = excerpt(f"{type(error).__name__}: {error}")
    else:
        if proposed is None or isinstance(proposed, str):
            return proposed, ()
        received = f"a {type(proposed).__name__}"
    return None, (Problem("invalid_arguments", "", "a repair as text, or None", received),)


def refuse_unfinished(verdict: Verdict, shortfall: str) -> Verdict:
    """Refuse the last call of a reply that is not whole: what is missing is the model's intent.

    Such arguments may look complete, because they were cut off to `""`, to `{}` or to the keys that had come.
    No repair sees them. `shortfall` is `Reply.shortfall`.
    """
    code = verdict.error_code or "invalid_arguments"
    unfinished = Problem(code, "", "those of a whole reply", shortfall)
    return Verdict(False, None, (*verdict.problems, unfinished))


def refusal(code: str, expected: str, received: str) -> Verdict:
    """Make the verdict on a call with one problem."""
    return Verdict(False, None, (Problem(code, "", expected, received),))


def _bound(tool: Tool, arguments: dict[str, Any]) -> Verdict:
    """Bind the values: this shows what a schema cannot say, such as a pydantic validator."""
    try:
        return Verdict(True, arguments, bound=Bound(tool, arguments))
    except InvalidArguments as error:
        if found := getattr(error, "problems", ()):
            return Verdict(False, None, found)
        return refusal("invalid_arguments", error.expected or "other values", error.what)
    except Exception as error:
        return refusal("invalid_arguments", "other values", excerpt(f"{type(error).__name__}: {error}"))
