"""pydantic's `Field(...)` of a parameter, a dataclass field or a member of a TypedDict.

As `amount: int = Field(gt=0)` or `Annotated[int, Field(gt=0)]`; if both are there, both hold, as in pydantic.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

from zoolab.errors import InvalidToolSignature
from zoolab.schema.fragments import REQUIRED, Schema

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_KEYWORDS = ("title", "examples", "deprecated")


class ReadField(NamedTuple):
    """What a hint and a default say together."""

    #: The hint with all constraints, without the default and the name.
    hint: Any
    #: The default for the schema; `REQUIRED` if there is none, or if a factory makes it.
    default: Any
    required: bool
    #: The name that the model gives, if it is another.
    alias: str | None = None
    #: Gives the default; None if there is no `Field`.
    field: FieldInfo | None = None


def is_field(note: object) -> TypeGuard[FieldInfo]:
    """Whether something is what pydantic's `Field(...)` returns; pydantic need not be imported to know."""
    return type(note).__name__ == "FieldInfo" and type(note).__module__ == "pydantic.fields"


def read_field(hint: Any, default: Any, where: str) -> ReadField:
    """Read a hint with its default or `REQUIRED`; `where` names the parameter in errors."""
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    if not is_field(default) and not any(map(is_field, notes)):
        return ReadField(hint, default, default is REQUIRED)
    from pydantic.fields import FieldInfo

    try:
        field = (
            FieldInfo.from_annotation(hint)
            if default is REQUIRED
            else FieldInfo.from_annotated_attribute(hint, default)
        )
    except TypeError as error:
        raise InvalidToolSignature(
            f"{where}: {error}", expected="one Field(...) that pydantic takes"
        ) from None
    alias = field.validation_alias or field.alias
    if alias is not None and not isinstance(alias, str):
        raise InvalidToolSignature(
            f"{where} has the alias {alias!r}", expected="a text, one for each parameter"
        )
    shown = REQUIRED if field.is_required() or field.default_factory else field.default
    return ReadField(_constrained(field), shown, field.is_required(), alias, field)


def _constrained(field: FieldInfo) -> Any:
    """The hint without what belongs to the parameter: its default and its name."""
    from pydantic import Field

    kept = ("description", "json_schema_extra", "discriminator", *_KEYWORDS)
    said = {name: value for name in kept if (value := getattr(field, name)) is not None}
    notes = (*field.metadata, *([Field(**said)] if said else []))
    return cast("Any", typing.Annotated)[(field.annotation, *notes)] if notes else field.annotation


def field_keywords(field: FieldInfo, schema: Schema) -> Schema:
    """The schema with the title, the examples and the further keywords of a field."""
    said = {name: value for name in _KEYWORDS if (value := getattr(field, name)) is not None}
    if "deprecated" in said:
        said["deprecated"] = bool(said["deprecated"])
    schema = {**schema, **said}
    extra: Any = field.json_schema_extra
    if callable(extra):
        extra(schema)
        return schema
    return {**schema, **(extra or {})}


def with_field_defaults(function: Callable[..., Any], fields: Mapping[str, FieldInfo]) -> Callable[..., Any]:
    """The function with the defaults of its fields, so that it never receives a `FieldInfo`.

    A parameter whose field has no default must be given.

    >>> from pydantic import Field
    >>> with_field_defaults(lambda a, b=Field(default=2): a + b, {"b": Field(default=2)})(1)
    3
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
                    raise TypeError(f"{_name_of(function)}() missing a required argument: {name!r}")
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


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
