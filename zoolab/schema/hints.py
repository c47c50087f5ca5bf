"""Python type hints as JSON Schema (Draft 2020-12), with pydantic's `Field(...)`.

Plain types are described here, the rest by pydantic, which is imported only when a hint needs it.
A `Field` stands as `amount: int = Field(gt=0)` or `Annotated[int, Field(gt=0)]`; if both are there, both
hold, as in pydantic.
"""

from __future__ import annotations

import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeGuard, cast

from zoolab.errors import InvalidToolSignature
from zoolab.schema.parts import REQUIRED, Schema, object_schema, with_default

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_SCALARS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    None: "null",
    types.NoneType: "null",
}


_KEYWORDS = ("title", "examples", "deprecated")
#: Of a class: its name, its hint, its default, and whether it must be given.
_Member = tuple[str, Any, Any, bool]


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


def _is_field(note: object) -> TypeGuard[FieldInfo]:
    """Return whether something is what pydantic's `Field(...)` returns; pydantic need not be imported to
    know.
    """
    return type(note).__name__ == "FieldInfo" and type(note).__module__ == "pydantic.fields"


def read_field(hint: Any, default: Any, where: str) -> ReadField:
    """Read a hint with its default or `REQUIRED`; `where` names the parameter in errors."""
    notes = typing.get_args(hint)[1:] if typing.get_origin(hint) is typing.Annotated else ()
    if not _is_field(default) and not any(map(_is_field, notes)):
        return ReadField(hint, default, default is REQUIRED)
    from pydantic import Field
    from pydantic.fields import FieldInfo

    try:
        field = (
            FieldInfo.from_annotation(hint)
            if default is REQUIRED
            else FieldInfo.from_annotated_attribute(hint, default)
        )
    except TypeError as error:
        raise InvalidToolSignature(
            f"{where}: {error}", expected="one Field(...) that pydantic accepts"
        ) from None
    alias = field.validation_alias or field.alias
    if alias is not None and not isinstance(alias, str):
        raise InvalidToolSignature(
            f"{where} has the alias {alias!r}", expected="a text, one for each parameter"
        )
    # The hint without what belongs to the parameter: its default and its name.
    kept = ("description", "json_schema_extra", "discriminator", *_KEYWORDS)
    said = {name: value for name in kept if (value := getattr(field, name)) is not None}
    rules = (*field.metadata, *([Field(**said)] if said else []))
    hint = cast("Any", typing.Annotated)[(field.annotation, *rules)] if rules else field.annotation
    shown = REQUIRED if field.is_required() or field.default_factory else field.default
    return ReadField(hint, shown, field.is_required(), alias, field)


def _field_keywords(field: FieldInfo, schema: Schema) -> Schema:
    said = {name: value for name in _KEYWORDS if (value := getattr(field, name)) is not None}
    if "deprecated" in said:
        said["deprecated"] = bool(said["deprecated"])
    schema = {**schema, **said}
    extra: Any = field.json_schema_extra
    if callable(extra):
        extra(schema)
        return schema
    return {**schema, **(extra or {})}


class Shape(NamedTuple):
    """A hint, described: its schema, and whether its JSON values must be converted."""

    schema: Schema
    binds: bool


def type_hints(
    function: Any, names: Mapping[str, Any] | None = None, unread: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the hints of a function or class, with forward references resolved.

    `names` are further names that a quoted hint may use, `unread` parameters whose hints may stay
    unknown. Raises `InvalidToolSignature`.
    """
    try:
        return typing.get_type_hints(function, localns=names, include_extras=True)
    except Exception as error:
        try:  # what a function returns is of no use to a model, so that hint may stay unknown
            unread = ("return", *unread)
            hints = {name: hint for name, hint in function.__annotations__.items() if name not in unread}
            holder = types.SimpleNamespace(__annotations__=hints)
            return typing.get_type_hints(holder, function.__globals__, include_extras=True)
        except Exception:
            where = getattr(function, "__qualname__", repr(function))
            raise InvalidToolSignature(
                f"{where}: a type hint cannot be read: {error}",
                advice="define or import its type at the top of the module, before the tool",
            ) from error


class Describer:
    """Describes the hints of one function; what they share gathers in `definitions`."""

    def __init__(self) -> None:
        #: The schemas that `$ref` points to, for `$defs`.
        self.definitions: dict[str, Schema] = {}
        self._owners: dict[str, tuple[Any, bool]] = {}
        self._open: dict[Any, bool] = {}
        self._where = ""
        self._binds = False

    def describe(self, hint: Any, where: str) -> Shape:
        """Describe one hint; `where` names its parameter if it has no description."""
        self._where = where
        self._binds = False
        shape = Shape(self._schema(hint), self._binds)
        if self._binds and sys.version_info < (3, 12):
            self._adapter(hint)  # refuses a TypedDict of `typing`, which must be converted
        return shape

    def _schema(self, hint: Any) -> Schema:
        kind = typing.get_origin(hint) or hint
        if type(kind).__hash__ is None:
            raise self._refused(hint)
        if kind in _SCALARS:
            return {"type": _SCALARS[kind]}
        if kind in self._KINDS:
            return self._KINDS[kind](self, typing.get_args(hint))
        if isinstance(hint, type):
            return self._class(hint)
        if hasattr(hint, "__supertype__"):
            return self._schema(hint.__supertype__)
        if hasattr(hint, "__value__"):
            return self._named(hint, lambda: self._schema(hint.__value__))
        return self._by_pydantic(hint)

    def _class(self, kind: Any) -> Schema:
        if issubclass(kind, Enum):
            self._binds = True
            return self._choice(tuple(member.value for member in kind))
        if hasattr(kind, "__required_keys__"):
            return self._named(kind, lambda: self._typed_dictionary(kind))
        if is_dataclass(kind) and not hasattr(kind, "__pydantic_core_schema__"):
            return self._named(kind, lambda: self._dataclass(kind))
        return self._by_pydantic(kind)

    def _named(self, kind: Any, describe: Callable[[], Schema]) -> Schema:
        """Describe a class in place, unless it contains itself: then by reference."""
        name: str = kind.__name__
        reference: Schema = {"$ref": f"#/$defs/{name}"}
        if kind in self._open:
            self._open[kind] = True
            return reference
        owner, binds = self._owners.get(name, (None, False))
        if owner is kind:
            self._binds = self._binds or binds
            return reference
        self._open[kind] = False
        schema = describe()
        if not self._open.pop(kind):
            return schema
        self._owners[name] = (kind, self._binds)
        self._define(name, schema)
        return reference

    def _define(self, name: str, schema: Schema) -> None:
        if self.definitions.setdefault(name, schema) != schema:
            raise InvalidToolSignature(
                f"{self._where}: two types are named {name!r}", advice="rename one of them"
            )

    def _dataclass(self, kind: Any) -> Schema:
        hints = type_hints(kind, {kind.__name__: kind})
        members: list[_Member] = []
        for field in fields(kind):
            if field.init:
                default = REQUIRED if field.default is MISSING else field.default
                members.append((field.name, hints[field.name], default, field.default_factory is MISSING))
        schema = self._object(kind, members)
        self._binds = True
        return schema

    def _typed_dictionary(self, kind: Any) -> Schema:
        members: list[_Member] = []
        for name, hint in type_hints(kind, {kind.__name__: kind}).items():
            # A quoted NotRequired is unknown to __required_keys__.
            wrapper = typing.get_origin(hint)
            wrapped = wrapper in (typing.Required, typing.NotRequired)
            demanded = wrapper is typing.Required if wrapped else name in kind.__required_keys__
            members.append((name, typing.get_args(hint)[0] if wrapped else hint, REQUIRED, demanded))
        return self._object(kind, members)

    def _object(self, kind: Any, members: list[_Member]) -> Schema:
        properties = Schema()
        required = list[str]()
        for name, hint, default, demanded in members:
            read = read_field(hint, default, f"{self._where}: {kind.__name__}.{name}")
            properties[read.alias or name] = with_default(self._schema(read.hint), read.default)
            self._binds = self._binds or read.field is not None
            required += [read.alias or name] if demanded and read.required else []
        return object_schema(properties, required)

    def _annotated(self, args: tuple[Any, ...]) -> Schema:
        hint, *notes = args
        fields = [note for note in notes if _is_field(note)]
        texts = [text for note in notes if (text := _text_of(note))]
        rules = [note for note in notes if not _is_field(note) and not _text_of(note)]
        for field in fields:
            rules += [field] if field.discriminator is not None else field.metadata
        schema = (
            self._by_pydantic(cast("Any", typing.Annotated)[(hint, *rules)]) if rules else self._schema(hint)
        )
        for field in fields:
            schema = _field_keywords(field, schema)
        return {**schema, "description": texts[-1]} if texts else schema

    def _choice(self, values: tuple[Any, ...]) -> Schema:
        kinds = list(dict.fromkeys(_SCALARS.get(type(value), "") for value in values))
        if "" in kinds or not kinds:
            raise self._refused(f"a choice of {', '.join(map(repr, values)) or 'nothing'}")
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}

    def _union(self, args: tuple[Any, ...]) -> Schema:
        choices = [self._schema(arg) for arg in args]
        kinds = [choice.get("type") for choice in choices if list(choice) == ["type"]]
        if len(choices) == len(kinds) == 2 and "null" in kinds:
            return {"type": sorted(kinds, key=lambda kind: kind == "null")}
        return {"anyOf": choices}

    def _array(self, args: tuple[Any, ...]) -> Schema:
        # Without items OpenAI refuses the tool.
        return {"type": "array", "items": self._schema(args[0]) if args else {}}

    def _set(self, args: tuple[Any, ...]) -> Schema:
        self._binds = True
        return {**self._array(args), "uniqueItems": True}

    def _tuple(self, args: tuple[Any, ...]) -> Schema:
        self._binds = True
        if not args or args[-1] is ...:
            return self._array(args)
        items = [self._schema(arg) for arg in args]
        return {
            "type": "array",
            "prefixItems": items,
            "minItems": len(items),
            "maxItems": len(items),
            "items": False,
        }

    def _mapping(self, args: tuple[Any, ...]) -> Schema:
        if not args:
            return {"type": "object"}
        key, value = args
        if key not in (str, Any):
            raise self._refused(f"a dictionary with keys of {key}")
        return {"type": "object", "additionalProperties": self._schema(value)}

    def _by_pydantic(self, hint: Any) -> Schema:
        from pydantic.errors import PydanticInvalidForJsonSchema

        self._binds = True
        adapter = self._adapter(hint)
        try:
            schema: Schema = adapter.json_schema()
        except PydanticInvalidForJsonSchema:
            raise self._refused(hint) from None
        # Of a type that is known by another description, this one gets a name of its own.
        number = 1
        while any(self.definitions.get(n, d) != d for n, d in schema.get("$defs", {}).items()):
            number += 1
            schema = adapter.json_schema(ref_template=f"#/$defs/{{model}}_{number}")
            schema["$defs"] = {f"{name}_{number}": made for name, made in schema["$defs"].items()}
        for name, definition in schema.pop("$defs", {}).items():
            self._define(name, definition)
        return schema

    def _adapter(self, hint: Any) -> Any:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
        from pydantic_core import SchemaError

        try:
            return TypeAdapter(hint)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            if error.code == "typed-dict-version":
                raise InvalidToolSignature(
                    f"{self._where}: {hint} is not supported on Python 3.11",
                    advice="import TypedDict from typing_extensions instead of typing",
                ) from None
            raise self._refused(hint) from None
        except SchemaError as error:
            reason = " ".join(str(error).split())
            raise InvalidToolSignature(
                f"{self._where}: pydantic refuses {hint}: {reason}", advice="change the annotation"
            ) from None

    def _refused(self, hint: Any) -> InvalidToolSignature:
        return InvalidToolSignature(
            f"{self._where}: {hint} cannot be written as JSON Schema",
            advice="use int, float, bool, str, list, dict, Literal, Enum, a dataclass or a pydantic model",
        )

    _KINDS: ClassVar[dict[Any, Callable[[Describer, tuple[Any, ...]], Schema]]] = {
        **dict.fromkeys((Any, object), lambda _self, _args: {}),
        typing.Annotated: _annotated,
        typing.Literal: _choice,
        typing.Union: _union,
        types.UnionType: _union,
        tuple: _tuple,
        **dict.fromkeys((list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection), _array),
        **dict.fromkeys((set, frozenset, abc.Set, abc.MutableSet), _set),
        **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), _mapping),
    }


def _text_of(note: Any) -> str:
    if _is_field(note):
        return note.description or ""
    text = note if isinstance(note, str) else getattr(note, "documentation", "")
    return text if isinstance(text, str) else ""
