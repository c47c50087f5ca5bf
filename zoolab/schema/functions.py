"""Reads the signature, type hints and docstring of a function for the model.

Docstrings may be in the styles of Google, NumPy and Sphinx, also mixed.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from zoolab.errors import InvalidToolSignature
from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.schema.hints import Describer, ReadField, read_field, type_hints
from zoolab.schema.parts import REQUIRED, Schema, object_schema, with_default
from zoolab.schema.strict import without_nulls

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
from zoolab.schema.binding import Bind, binder

_STYLES = read_table("zoolab.schema", "docstrings.toml")
_SECTION = re.compile(_STYLES.pop("section"), re.MULTILINE)
#: How methods call the object or the class that they belong to.
_RECEIVERS = ("self", "cls")
_LINE_BREAK = re.compile(r"(?<!\n)\n(?=[^\s*+-])")


@dataclass(frozen=True, slots=True)
class FunctionReading:
    """What one function says of itself."""

    description: str
    #: The schema of its parameters.
    parameters: Schema
    #: The parameter that the model does not see.
    context_parameter: str | None
    #: The first parameter of a method that has no object yet, usually `self`.
    receiver: str | None
    #: The hints of the parameters whose JSON values must be converted.
    converted: dict[str, Any]
    #: The Python names of parameters that the model knows by another.
    renamed: dict[str, str]
    #: Of the parameters with a `Field(...)`, which gives their default.
    fields: dict[str, Any]

    def binder(self, loose: Schema | None) -> Bind | None:
        """Return what makes the function's arguments of the model's; None if they are the same.

        `loose` is the schema before it was made strict: what it allows to be left out may come as null.
        """
        convert = binder(self.converted)
        if loose is None and not self.renamed:
            return convert

        def bind(arguments: dict[str, Any]) -> dict[str, Any]:
            given = arguments if loose is None else without_nulls(arguments, loose, loose.get("$defs", {}))
            bound = convert(given) if convert else given
            return {self.renamed.get(name, name): value for name, value in bound.items()}

        return bind


def read_function(function: Any, param_names: Sequence[str] | None, hidden: type) -> FunctionReading:
    """Read the signature, the hints and the docstring of a function.

    Args:
        function: A function, a method, a partial or an object with `__call__`.
        param_names: What the model calls the parameters, in order; by default their own names.
        hidden: The class whose parameter the model never sees, because the walk gives it.

    Raises `InvalidToolSignature` if the function cannot be described; names the parameter.
    """
    target = target_of(function)
    # The hints and the docstring of an object are those of its __call__.
    source = target if inspect.isroutine(target) or hasattr(target, "__wrapped__") else type(target).__call__
    label = f"{getattr(source, '__qualname__', type(target).__name__)}()"
    receiver = _receiver_of(function, param_names)
    function = function.__func__ if isinstance(function, classmethod) else function
    hints = type_hints(source, unread=() if receiver is None else (receiver,))
    defaults = _defaults_of(function, label, receiver)
    contexts = [name for name in defaults if _is_a(hints.get(name), hidden)]
    if len(contexts) > 1:
        raise InvalidToolSignature(
            f"{label}: two parameters are a {hidden.__name__}: {', '.join(contexts)}", expected="at most one"
        )
    for name in contexts:
        del defaults[name]
    read: dict[str, ReadField] = {}
    for name, default in defaults.items():
        if param_names is None and name not in hints:
            raise InvalidToolSignature(
                f"{label}: the parameter {name!r} has no type hint",
                advice=_advice_on(name, function),
            )
        read[name] = read_field(hints.get(name, Any), default, f"{label}: the parameter '{name}'")
    shown = _shown_names(read, param_names, label)
    text = source.__doc__ or (type(target).__doc__ if source is not target else "")
    description, explained = _read_docstring(inspect.cleandoc(text or ""))
    describer = Describer()
    properties = Schema()
    converted = dict[str, Any]()
    for name, parameter in read.items():
        shape = describer.describe(parameter.hint, f"{label}: the parameter '{name}'")
        schema = shape.schema
        if explained.get(name) and "description" not in schema:
            schema = {**schema, "description": explained[name]}
        properties[shown[name]] = with_default(schema, parameter.default)
        if shape.binds:
            converted[shown[name]] = parameter.hint
    schema = object_schema(properties, [shown[name] for name in read if read[name].required])
    if describer.definitions:
        schema["$defs"] = describer.definitions
    renamed = {new: old for old, new in shown.items() if new != old}
    given = {name: parameter.field for name, parameter in read.items() if parameter.field is not None}
    context = contexts[0] if contexts else None
    return FunctionReading(description, schema, context, receiver, converted, renamed, given)


def _receiver_of(function: Any, param_names: Sequence[str] | None) -> str | None:
    """Return the first parameter of a method without an object; None for other functions.

    Its name is `self` or `cls`. In a class that is enough; elsewhere it has no type hint either.
    """
    first = _first_parameter(function)
    if first is None or isinstance(function, classmethod):
        return None if first is None else first.name
    if first.name not in _RECEIVERS:
        return None
    plain = first.annotation is not first.empty or param_names is not None
    return first.name if _is_in_class(function) or not plain else None


def _first_parameter(function: Any) -> inspect.Parameter | None:
    if inspect.ismethod(function) or isinstance(function, staticmethod | functools.partial):
        return None
    plain = inspect.unwrap(function)
    return (
        next(iter(inspect.signature(plain).parameters.values()), None) if inspect.isfunction(plain) else None
    )


def _is_in_class(function: Any) -> bool:
    holder = str(getattr(function, "__qualname__", "")).rpartition(".")[0]
    return holder != "" and not holder.endswith("<locals>")


def _advice_on(name: str, function: Any) -> str:
    """Return what to do about a parameter without a type hint."""
    if name in _RECEIVERS:
        return "make a tool of the method of an object: tool(obj.method)"
    first = _first_parameter(function)
    if first is not None and first.name == name and _is_in_class(function):
        return "name it self if it is the object whose method this is, else annotate it"
    return f"annotate it, for instance `{name}: str`, or give param_names="


def _defaults_of(function: Any, label: str, receiver: str | None) -> dict[str, Any]:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except ValueError:
        raise InvalidToolSignature(f"{label} has no signature", advice="wrap it in a function") from None
    if receiver is not None:
        del parameters[receiver]
    if isinstance(function, functools.partial):
        for name in function.keywords:
            parameters.pop(name, None)
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidToolSignature(
                f"{label}: the parameter {name!r} is {parameter.kind.description}",
                expected="parameters that can be given by name",
                advice="write one named parameter for each value",
            )
    return {name: parameter.default for name, parameter in parameters.items()}


def target_of(function: Any) -> Any:
    """Return the callable itself, without the arguments that a partial has bound; raises
    `InvalidToolSignature`.
    """
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, classmethod):
        function = function.__func__
    if isinstance(function, type) or not callable(function):
        raise InvalidToolSignature(
            f"{excerpt(function)} cannot become a tool", expected="a function, or an object with __call__"
        )
    return function


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    section = _SECTION.search(text)
    if section is None:
        return _unwrapped(text), {}
    explained: dict[str, str] = {}
    for style in _STYLES.values():
        for block in re.finditer(style["parameters"], text[section.start() :], re.MULTILINE):
            for entry in re.finditer(style["entry"], block[1], re.MULTILINE):
                words = " ".join(entry["words"].split())
                for name in entry["names"].replace(" ", "").split(",") if words else ():
                    explained.setdefault(name, words)
    return _unwrapped(text[: section.start()]), explained


def _unwrapped(text: str) -> str:
    """Return a description without its line breaks, and without the examples that are for people."""
    return _LINE_BREAK.sub(" ", text.partition(">>>")[0].strip())


def _is_a(hint: Any, kind: type) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, kind)
    if get_origin(hint) in (Union, types.UnionType, Annotated):
        return any(_is_a(choice, kind) for choice in get_args(hint))
    return False


def _shown_names(
    parameters: Mapping[str, ReadField], param_names: Sequence[str] | None, label: str
) -> dict[str, str]:
    """Return the names that the model gives: those of `param_names`, else the aliases of the fields."""
    shown = [parameters[name].alias or name for name in parameters] if param_names is None else [*param_names]
    if len(shown) != len(parameters) or len(set(shown)) != len(shown):
        raise InvalidToolSignature(
            f"{label} takes {len(parameters)} parameters ({', '.join(parameters)}), "
            f"but the model would give {len(shown)} names ({', '.join(shown)})",
            expected="one unique name for each parameter, in param_names or as an alias",
        )
    return dict(zip(parameters, shown, strict=True))


def with_field_defaults(function: Callable[..., Any], fields: Mapping[str, FieldInfo]) -> Callable[..., Any]:
    """Return the function with the defaults of its fields, so that it never receives a `FieldInfo`.

    A parameter whose field has no default must be given.
    """
    signature = inspect.signature(function)
    plain = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.default is not REQUIRED and name not in fields
    }

    def filled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        given = signature.bind_partial(*args, **kwargs)
        for name, field in fields.items():
            if name not in given.arguments:
                if field.is_required():
                    called = getattr(function, "__name__", type(function).__name__)
                    raise TypeError(f"{called}() missing a required argument: {name!r}")
                data = plain | given.arguments
                default = field.get_default(call_default_factory=True, validated_data=data)
                given.arguments[name] = default
        return given

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = filled(args, kwargs)
        return function(*given.args, **given.kwargs)

    @functools.wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        given = filled(args, kwargs)
        return await function(*given.args, **given.kwargs)

    return call_async if inspect.iscoroutinefunction(function) else call
