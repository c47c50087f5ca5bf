"""Step 1, define: a Python function becomes a tool that a model can read.

The name and the description come from the function, the schema of its parameters from its type
hints, and what each parameter means from its docstring (Google, NumPy or Sphinx style).
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, Protocol, TypeVar, Union, cast, get_args, get_origin, overload
from weakref import WeakKeyDictionary

from zoolab.errors import InvalidInput, InvalidToolSignature
from zoolab.jsontext import excerpt
from zoolab.schema.binding import Bind, binder
from zoolab.schema.docstrings import read_docstring
from zoolab.schema.fields import ReadField, read_field, with_field_defaults
from zoolab.schema.fragments import Schema, object_schema, with_default
from zoolab.schema.hints import Describer, type_hints
from zoolab.schema.signature import REQUIRED, defaults_of
from zoolab.schema.strict import make_strict, without_nulls
from zoolab.tools import Context, Resource, Risk, Tool, ToolRegistry, from_callable_tool, is_callable_tool

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one function says of itself. Holds no function, so that the cache can let it go."""

    made_from: tuple[Any, ...]
    description: str
    #: Every tool makes a read-only copy of its own.
    parameters: Schema
    context_parameter: str | None
    #: The hints of the parameters whose JSON values must be converted.
    converted: dict[str, Any]
    #: The Python names of parameters that the model knows by another.
    renamed: dict[str, str]
    #: Of the parameters with a `Field(...)`, which gives their default.
    fields: dict[str, Any]


class _Maker(Protocol):
    """What `@tool(...)` returns."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


# Only plain functions: they hash by identity, and their own weak reference lasts as long as they do.
_readings: WeakKeyDictionary[types.FunctionType, _Reading] = WeakKeyDictionary()


@overload
def tool(
    function: Callable[P, R],
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
) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "safe",
    timeout: float | None = None,
    strict: bool = False,
    param_names: Sequence[str] | None = None,
    resource: Resource | None = None,
    untrusted: str = "",
) -> _Maker: ...
def tool(
    function: Callable[..., Any] | None = None,
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

    Args:
        function: What the tool calls; left out, `tool(...)` is a decorator.
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

    def make(function: Callable[..., Any], /) -> Tool:
        if is_callable_tool(function):
            return from_callable_tool(function)
        reading = _read(function, param_names)
        parameters = reading.parameters
        named = name or _name_of(function)
        return Tool(
            name=named,
            description=reading.description if description is None else description,
            parameters=make_strict(parameters, named) if strict else parameters,
            function=with_field_defaults(function, reading.fields) if reading.fields else function,
            risk=risk,
            timeout=timeout,
            strict=strict,
            context_parameter=reading.context_parameter,
            bind=_binder(reading, parameters if strict else None),
            resource=resource,
            untrusted=untrusted,
        )

    return cast("_Maker", make) if function is None else make(function)


def as_registry(tools: ToolRegistry | Tool | Callable[..., Any] | Iterable[Any]) -> ToolRegistry:
    """A registry of what is given: a registry (returned as it is), one tool or function, or several.

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
    if not callable(member):
        raise InvalidInput(f"{excerpt(member)} is no tool", expected="tools or functions, for instance [add]")
    return tool(member)


def _target_of(function: Any) -> Any:
    """The callable itself, without the arguments that a partial has bound."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type | Tool) or not callable(function):
        raise InvalidToolSignature(
            f"{excerpt(function)} cannot become a tool", expected="a function, or an object with __call__"
        )
    return function


def _name_of(function: Any) -> str:
    target = _target_of(function)
    name: str = getattr(target, "__name__", type(target).__name__)
    if name == "<lambda>":
        raise InvalidToolSignature("a lambda has no name", advice='give it one: tool(..., name="add")')
    return name


def _read(function: Any, param_names: Sequence[str] | None) -> _Reading:
    if not isinstance(function, types.FunctionType) or param_names is not None:
        return _read_afresh(function, param_names, ())
    made_from = (function.__doc__, function.__defaults__, function.__kwdefaults__, function.__code__)
    reading = _readings.get(function)
    if reading is None or not all(map(operator.is_, reading.made_from, made_from)):
        reading = _readings[function] = _read_afresh(function, None, made_from)
    return reading


def _read_afresh(function: Any, param_names: Sequence[str] | None, made_from: tuple[Any, ...]) -> _Reading:
    target = _target_of(function)
    # The hints and the docstring of an object are those of its __call__.
    source = target if inspect.isroutine(target) or hasattr(target, "__wrapped__") else type(target).__call__
    label = f"{getattr(source, '__qualname__', type(target).__name__)}()"
    hints = type_hints(source)
    defaults = defaults_of(function, label)
    context = _context_parameter(defaults, hints, label)
    defaults.pop(context or "", None)
    if param_names is None:
        _check_hinted(defaults, hints, label)
    read = {
        name: read_field(hints.get(name, Any), default, f"{label}: the parameter '{name}'")
        for name, default in defaults.items()
    }
    shown = _shown_names(read, param_names, label)
    text = source.__doc__ or (type(target).__doc__ if source is not target else "")
    description, explained = read_docstring(inspect.cleandoc(text or ""))
    describer = Describer()
    shapes = {
        name: describer.describe(parameter.hint, f"{label}: the parameter '{name}'")
        for name, parameter in read.items()
    }
    properties = {
        shown[name]: _property(shape.schema, explained.get(name, ""), read[name].default)
        for name, shape in shapes.items()
    }
    schema = object_schema(properties, [shown[name] for name in read if read[name].required])
    if describer.definitions:
        schema["$defs"] = describer.definitions
    converted = {shown[name]: shape.hint for name, shape in shapes.items() if shape.binds}
    renamed = {new: old for old, new in shown.items() if new != old}
    given = {name: parameter.field for name, parameter in read.items() if parameter.field is not None}
    return _Reading(made_from, description, schema, context, converted, renamed, given)


def _context_parameter(parameters: Iterable[str], hints: Mapping[str, Any], label: str) -> str | None:
    found = [name for name in parameters if _is_context(hints.get(name))]
    if len(found) > 1:
        raise InvalidToolSignature(
            f"{label}: two parameters are a Context: {', '.join(found)}", expected="at most one"
        )
    return found[0] if found else None


def _is_context(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, Context)
    if get_origin(hint) in (Union, types.UnionType, Annotated):
        return any(_is_context(choice) for choice in get_args(hint))
    return False


def _shown_names(
    parameters: Mapping[str, ReadField], param_names: Sequence[str] | None, label: str
) -> dict[str, str]:
    """The names that the model gives: those of `param_names`, else the aliases of the fields."""
    names = list(parameters)
    if param_names is None:
        shown = [parameter.alias or name for name, parameter in parameters.items()]
        if len(set(shown)) != len(shown):
            raise InvalidToolSignature(
                f"{label}: two parameters have one name: {', '.join(shown)}",
                expected="an alias of its own for each",
            )
        return dict(zip(names, shown, strict=True))
    shown = list(param_names)
    if len(shown) != len(names) or len(set(shown)) != len(shown):
        raise InvalidToolSignature(
            f"{label} takes {len(names)} parameters ({', '.join(names)}), "
            f"and param_names names {len(shown)} ({', '.join(shown)})",
            expected="one name for each, none twice",
        )
    return dict(zip(names, shown, strict=True))


def _check_hinted(parameters: Iterable[str], hints: Mapping[str, Any], label: str) -> None:
    for name in parameters:
        if name not in hints:
            raise InvalidToolSignature(
                f"{label}: the parameter {name!r} has no type hint",
                advice=f"annotate it, for instance `{name}: str`, or give param_names=",
            )


def _property(schema: Schema, explained: str, default: Any) -> Schema:
    if explained and "description" not in schema:
        schema = {**schema, "description": explained}
    return schema if default is REQUIRED else with_default(schema, default)


def _binder(reading: _Reading, loose: Schema | None) -> Bind | None:
    """`loose` is the schema before it was made strict: what it allows to be left out may come as null."""
    convert = binder(reading.converted)
    if loose is None and not reading.renamed:
        return convert

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        given = arguments if loose is None else without_nulls(arguments, loose, loose.get("$defs", {}))
        bound = convert(given) if convert else given
        return {reading.renamed.get(name, name): value for name, value in bound.items()}

    return bind
