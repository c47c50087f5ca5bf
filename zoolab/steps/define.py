"""Step 1, define: a Python function becomes a tool that a model can read.

The name and the description come from the function, the schema of its parameters from its type
hints, and what each parameter means from its docstring (Google, NumPy or Sphinx style).
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin, overload
from weakref import WeakKeyDictionary

from zoolab.errors import InvalidInput, InvalidToolSignature
from zoolab.hints import (
    Bind,
    Describer,
    Schema,
    binder,
    make_strict,
    object_schema,
    type_hints,
    with_default,
    without_nulls,
)
from zoolab.jsontext import encode, excerpt
from zoolab.tools import Context, Risk, Tool, ToolRegistry

if TYPE_CHECKING:
    from docstring_parser import Docstring

_STYLE = re.compile(
    r"^[ \t]*(?:(?P<sphinx>:(?:param|type|returns?|raises?)\b.*:)"
    r"|(?P<numpy>(?:Parameters|Returns|Raises|Examples)[ \t]*\n[ \t]*---)"
    r"|(?P<google>(?:Args|Arguments|Params|Parameters|Returns|Raises|Yields|Examples?):[ \t]*$))",
    re.MULTILINE,
)
_WRAPPED = re.compile(r"(?<!\n)\n(?=[^\s*+-])")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one function says of itself. Holds no function, so that the cache can let it go."""

    made_from: tuple[Any, ...]
    description: str
    #: As JSON text: every tool gets parameters of its own.
    parameters: str
    context_parameter: str | None
    #: The hints of the parameters whose JSON values must be converted.
    converted: dict[str, Any]
    #: The Python names of parameters that the model knows by another.
    renamed: dict[str, str]


# Only plain functions: they hash by identity, and their own weak reference lasts as long as they do.
_readings: WeakKeyDictionary[types.FunctionType, _Reading] = WeakKeyDictionary()


@overload
def tool(
    function: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "safe",
    timeout: float | None = None,
    strict: bool = False,
    param_names: Sequence[str] | None = None,
) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "safe",
    timeout: float | None = None,
    strict: bool = False,
    param_names: Sequence[str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
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
) -> Tool | Callable[[Callable[..., Any]], Tool]:
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

    def make(function: Callable[..., Any]) -> Tool:
        reading = _read(function, param_names)
        parameters = json.loads(reading.parameters)
        named = name or _name_of(function)
        return Tool(
            name=named,
            description=reading.description if description is None else description,
            parameters=make_strict(parameters, named) if strict else parameters,
            function=function,
            risk=risk,
            timeout=timeout,
            strict=strict,
            context_parameter=reading.context_parameter,
            bind=_binder(reading, parameters if strict else None),
        )

    return make if function is None else make(function)


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
        return ToolRegistry(_as_tool(member) for member in cast("Iterable[Any]", given))
    return ToolRegistry([_as_tool(given)])


def _as_tool(member: Any) -> Tool:
    if isinstance(member, Tool):
        return member
    if not callable(member):
        raise InvalidInput(f"{excerpt(member)} is no tool", expected="tools or functions, for instance [add]")
    return tool(member)


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    name: str = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        raise InvalidToolSignature("a lambda has no name", advice='give it one: tool(..., name="add")')
    return name


def _read(function: Any, param_names: Sequence[str] | None) -> _Reading:
    if not isinstance(function, types.FunctionType) or param_names is not None:
        return _read_afresh(function, param_names, ())
    made_from = (function.__doc__, function.__defaults__, function.__kwdefaults__, function.__code__)
    reading = _readings.get(function)
    if reading is None or reading.made_from != made_from:
        reading = _readings[function] = _read_afresh(function, None, made_from)
    return reading


def _read_afresh(function: Any, param_names: Sequence[str] | None, made_from: tuple[Any, ...]) -> _Reading:
    source = _source_of(function)
    label = f"{getattr(source, '__qualname__', type(function).__name__)}()"
    hints = type_hints(source)
    parameters = _parameters_of(function, label)
    context = _context_parameter(parameters, hints, label)
    parameters.pop(context or "", None)
    shown = _shown_names(parameters, param_names, label)
    if param_names is None:
        _check_hinted(parameters, hints, label)
    description, explained = _read_docstring(_docstring_of(function, source))
    describer = Describer()
    shapes = {
        name: describer.describe(hints.get(name, Any), f"{label}: the parameter {name!r}")
        for name in parameters
    }
    schema = object_schema(
        {
            shown[name]: _property(shapes[name].schema, explained.get(name, ""), parameter.default)
            for name, parameter in parameters.items()
        },
        [shown[name] for name, parameter in parameters.items() if parameter.default is parameter.empty],
    )
    if describer.definitions:
        schema["$defs"] = describer.definitions
    converted = {shown[name]: shape.hint for name, shape in shapes.items() if shape.binds}
    renamed = {new: old for old, new in shown.items() if new != old}
    return _Reading(made_from, description, encode(schema), context, converted, renamed)


def _source_of(function: Any) -> Any:
    """What holds the hints and the docstring: the function behind a partial, or an object's `__call__`."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    if isinstance(function, type | Tool) or not callable(function):
        raise InvalidToolSignature(
            f"{excerpt(function)} cannot become a tool", expected="a function, or an object with __call__"
        )
    if inspect.isroutine(function) or hasattr(function, "__wrapped__"):
        return function
    return type(function).__call__


def _docstring_of(function: Any, source: Any) -> str:
    return inspect.cleandoc(
        source.__doc__ or (type(function).__doc__ if source is not function else "") or ""
    )


def _parameters_of(function: Any, label: str) -> dict[str, inspect.Parameter]:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except ValueError:
        raise InvalidToolSignature(f"{label} has no signature", advice="wrap it in a function") from None
    if isinstance(function, functools.partial):
        for name in cast("functools.partial[Any]", function).keywords:
            parameters.pop(name, None)
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidToolSignature(
                f"{label}: the parameter {name!r} is {parameter.kind.description}",
                expected="parameters that can be given by name",
                advice="write out what it takes, one parameter each",
            )
    return parameters


def _context_parameter(
    parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], label: str
) -> str | None:
    found = [name for name in parameters if _is_context(hints.get(name))]
    if len(found) > 1:
        raise InvalidToolSignature(f"{label}: two parameters are a Context: {', '.join(found)}")
    return found[0] if found else None


def _is_context(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, Context)
    if get_origin(hint) in (Union, types.UnionType):
        return any(_is_context(choice) for choice in get_args(hint))
    return False


def _shown_names(parameters: Iterable[str], param_names: Sequence[str] | None, label: str) -> dict[str, str]:
    names = list(parameters)
    shown = names if param_names is None else list(param_names)
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
                advice=f"annotate it, for instance `{name}: str`",
            )


def _property(schema: Schema, explained: str, default: Any) -> Schema:
    if explained and "description" not in schema:
        schema = {**schema, "description": explained}
    return schema if default is inspect.Parameter.empty else with_default(schema, default)


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and what the docstring says of each parameter."""
    style = _STYLE.search(text)
    if style is None:
        return _unwrapped(text), {}
    # Trying all styles, as docstring_parser.parse does, takes three times as long.
    parsed = _parser(str(style.lastgroup))(text)
    explained = {p.arg_name: " ".join((p.description or "").split()) for p in parsed.params}
    return _unwrapped(text[: style.start()]), {name: words for name, words in explained.items() if words}


def _unwrapped(text: str) -> str:
    """A description without its line breaks, and without the examples that are for people."""
    return _WRAPPED.sub(" ", text.partition("\n>>>")[0]).strip()


@functools.cache
def _parser(style: str) -> Callable[[str], Docstring]:
    from docstring_parser import google, numpydoc, rest

    return {
        "google": google.GoogleParser().parse,
        "numpy": numpydoc.NumpydocParser().parse,
        "sphinx": rest.parse,
    }[style]


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
