"""Step 1, define: a Python function becomes a tool that a model can read.

The name and the description come from the function, the schema of its parameters from its type
hints, and what each parameter means from its docstring (Google, NumPy or Sphinx style).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, cast, overload

from zoolab.adapters import MethodTool, NamedTool, fields_of_others
from zoolab.errors import InvalidInput, InvalidToolSignature
from zoolab.jsontext import excerpt
from zoolab.schema.descriptors import is_callable_tool
from zoolab.tools import (
    Context,
    Resource,
    Risk,
    Tool,
    ToolRegistry,
)

P = ParamSpec("P")
R = TypeVar("R")


class ToolOptions(TypedDict, total=False):
    """The options of `tool` for type checkers."""

    name: str | None
    description: str | None
    risk: Risk
    timeout: float | None
    strict: bool
    param_names: Sequence[str] | None
    resource: Resource | None
    untrusted: str


class _Maker(Protocol):
    """What `@tool(...)` returns."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> Tool[P, R]: ...
@overload
def tool(function: NamedTool | Mapping[str, Any], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> _Maker: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "safe",
    timeout: float | None = None,
    strict: bool = False,
    param_names: Sequence[str] | None = None,
    resource: Resource | None = None,
    untrusted: str = "",
) -> Tool | _Maker:
    """Make a tool of a function, a lambda, a method, a `functools.partial` or an object with `__call__`.

    Within a class it decorates methods: `Api.look` describes the tool, and `Api().look` is the tool to call.
    It also takes tools of LangChain, pydantic-ai, the OpenAI Agents SDK, and OpenAI's form of a tool.

    Args:
        function: What the tool calls, or a tool of another framework; left out, `tool(...)` is a decorator.
        name: The function's own name, unless given.
        description: The docstring without its sections, unless given.
        risk: "safe", "medium" or "high"; a policy asks before the latter two.
        timeout: Seconds after which a call is given up.
        strict: Whether the schema keeps to what OpenAI's strict mode can enforce.
        param_names: What the model calls the parameters, in order. With them, a parameter
            without a type hint takes any JSON value.
        resource: What a call touches, from its JSON arguments: a resolved path with slashes, a host. Rules
            of a policy match it.
        untrusted: The source of untrusted results, for instance "a ticket"; the model is told to read
            them as data. Empty if they are trusted.

    Raises:
        InvalidToolSignature: The function cannot be described; names the parameter.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> add(2, 3), add.parameters["properties"]["b"], add.parameters["required"]
    (5, {'type': 'integer', 'default': 1}, ['a'])
    >>> tool(lambda a, b: a + b, name="join", param_names=["left", "right"]).invoke({"left": 1, "right": 2})
    3
    """

    from zoolab.schema.functions import read_function, target_of, with_field_defaults
    from zoolab.schema.strict import make_strict

    options = {"name": name, "description": description, "timeout": timeout, "resource": resource}
    options |= {"risk": None if risk == "safe" else risk, "untrusted": untrusted or None}
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}

    def make(function: Any, /) -> Tool:
        if is_callable_tool(function):
            return replace(Tool.described_by(function), **given)
        fields = fields_of_others(function)
        if fields is not None:
            if strict or param_names is not None:
                what = "strict and param_names describe functions, not other tools"
                raise InvalidToolSignature(what, advice="leave them out: the tool has a schema of its own")
            made: Tool = Tool(**{**fields, **given})
            made.checker.compile()
            return made
        target = target_of(function)
        if isinstance(target, MethodType) and isinstance(target.__func__, MethodTool):
            return target.__func__.__get__(target.__self__)  # Python 3.13 binds it so, below @classmethod
        if isinstance(target, Tool):
            raise InvalidToolSignature(f"{excerpt(function)} is a tool already", expected="a function")
        reading = read_function(function, param_names, Context)
        called: Any = function.__func__ if isinstance(function, classmethod) else function
        parameters = reading.parameters
        named: Any = name or getattr(target, "__name__", type(target).__name__)
        if named == "<lambda>":
            raise InvalidToolSignature("a lambda needs a name", advice='give it one: tool(..., name="add")')
        of_method = {} if reading.receiver is None else {"of_class": isinstance(function, classmethod)}
        kind: Callable[..., Tool] = MethodTool if of_method else Tool
        return kind(
            name=named,
            description=reading.description if description is None else description,
            parameters=make_strict(parameters, named) if strict else parameters,
            function=with_field_defaults(called, reading.fields) if reading.fields else called,
            risk=risk,
            timeout=timeout,
            strict=strict,
            context_parameter=reading.context_parameter,
            bind=reading.binder(parameters if strict else None),
            resource=resource,
            untrusted=untrusted,
            **of_method,
        )

    return cast("_Maker", make) if function is None else make(function)


def as_registry(tools: ToolRegistry | Tool | Callable[..., Any] | Iterable[Any]) -> ToolRegistry:
    """Make a registry of one or several tools or functions; a registry is returned as it is.

    Raises `InvalidInput` for anything else.

    >>> def ping(host: str) -> bool: ...
    >>> as_registry([ping])
    ToolRegistry(ping)
    """
    if isinstance(tools, ToolRegistry):
        return tools
    given: Any = tools
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return ToolRegistry(_as_tool(member) for member in given)
    return ToolRegistry([_as_tool(given)])


def _as_tool(member: Any) -> Any:
    if isinstance(member, Tool) or is_callable_tool(member):
        return member
    if not callable(member) and fields_of_others(member) is None:
        raise InvalidInput(
            f"{excerpt(member)} is not a tool", expected="tools or functions, for instance [add]"
        )
    return tool(member)
