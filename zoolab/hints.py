"""Python type hints as JSON Schema (Draft 2020-12), and JSON values as what the hints say.

Plain types are described here, the rest by pydantic, which is imported only when a hint needs it.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple, cast

from zoolab.errors import InvalidArguments, InvalidToolSignature, Problem
from zoolab.jsontext import encode, excerpt, pointer_to

Schema = dict[str, Any]
Bind = Callable[[dict[str, Any]], dict[str, Any]]

_SCALARS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    None: "null",
    types.NoneType: "null",
}


class BindingError(InvalidArguments):
    """Arguments meet the schema and are still not what the function's hints say.

    >>> str(BindingError([Problem("invalid_arguments", "/day", "a date", '"noon"')]))
    '/day: expected a date, received "noon"'
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        #: All that could not be converted.
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


class Shape(NamedTuple):
    """One hint, described: its schema, and whether its JSON values must be converted."""

    hint: Any
    schema: Schema
    binds: bool


def type_hints(function: Any, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The hints of a function or class, with forward references resolved.

    `names` are further names that a quoted hint may use. Raises `InvalidToolSignature`.

    >>> def double(x: "int") -> "int": ...
    >>> type_hints(double)["x"]
    <class 'int'>
    """
    try:
        return typing.get_type_hints(function, localns=names, include_extras=True)
    except Exception as error:
        where = getattr(function, "__qualname__", repr(function))
        try:
            return _parameter_hints(function)
        except Exception:
            raise InvalidToolSignature(
                f"{where}: a type hint cannot be read: {error}",
                advice="define or import its type at the top of the module, before the tool",
            ) from error


def _parameter_hints(function: Any) -> dict[str, Any]:
    """What a function returns is of no use to a model, so that hint may stay unknown."""
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    holder = types.SimpleNamespace(__annotations__=hints)
    return typing.get_type_hints(holder, function.__globals__, include_extras=True)


def object_schema(properties: Schema, required: list[str]) -> Schema:
    """An object with these properties and no others.

    >>> object_schema({"a": {"type": "integer"}}, ["a"])["additionalProperties"]
    False
    """
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema with its default, where that is JSON and the schema allows it.

    >>> with_default({"type": "integer"}, 10), with_default({"type": "integer"}, None)
    ({'type': 'integer', 'default': 10}, {'type': 'integer'})
    """
    if isinstance(default, Enum):
        default = default.value
    if default is None and not allows_null(schema):
        return schema
    if type(default) not in (str, int, bool, types.NoneType):
        try:
            default = json.loads(json.dumps(default, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            return schema
    return {**schema, "default": default}


def allows_null(schema: Schema, definitions: Mapping[str, Schema] | None = None) -> bool:
    """Whether a schema takes null; what an unknown reference points to does not.

    >>> allows_null({"type": ["string", "null"]}), allows_null({"type": "string"})
    (True, False)
    """
    if "$ref" in schema:
        target = _resolved(schema, definitions or {})
        return bool(target) and allows_null(target, definitions)
    choices = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    if choices:
        return any(allows_null(choice, definitions) for choice in choices)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [None])
    kinds = schema.get("type", "null")
    return None in values and "null" in ([kinds] if isinstance(kinds, str) else kinds)


class Describer:
    """Describes the hints of one function; what they share gathers in `definitions`.

    >>> Describer().describe(list[int] | None, "tags").schema
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """

    def __init__(self) -> None:
        #: The schemas that `$ref` points to, for `$defs`.
        self.definitions: dict[str, Schema] = {}
        self._owners: dict[str, tuple[Any, bool, str]] = {}
        self._open: dict[Any, bool] = {}
        self._where = ""
        self._binds = False
        self._typed_dict = ""

    def describe(self, hint: Any, where: str) -> Shape:
        """Describe one hint; `where` names its parameter if it has no description.

        >>> Describer().describe(complex | type, "the parameter 'x'")
        Traceback (most recent call last):
        zoolab.errors.InvalidToolSignature: the parameter 'x': <class 'type'> has no JSON form; ...
        """
        self._where, self._binds, self._typed_dict = where, False, ""
        shape = Shape(hint, self._schema(hint), self._binds)
        if self._typed_dict and self._binds and sys.version_info < (3, 12):
            raise InvalidToolSignature(
                f"{where}: {self._typed_dict} cannot be made from JSON on Python 3.11",
                advice="take TypedDict from typing_extensions instead of typing",
            )
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
        """Described in place, unless it contains itself: then by reference."""
        name: str = kind.__name__
        reference: Schema = {"$ref": f"#/$defs/{name}"}
        if kind in self._open:
            self._open[kind] = True
            return reference
        owner, binds, typed_dict = self._owners.get(name, (None, False, ""))
        if owner is kind:
            self._binds, self._typed_dict = self._binds or binds, self._typed_dict or typed_dict
            return reference
        self._open[kind] = False
        schema = describe()
        if not self._open.pop(kind):
            return schema
        self._owners[name] = (kind, self._binds, self._typed_dict)
        self._define(name, schema)
        return reference

    def _define(self, name: str, schema: Schema) -> None:
        if self.definitions.setdefault(name, schema) != schema:
            raise InvalidToolSignature(
                f"{self._where}: two types are named {name!r}", advice="rename one of them"
            )

    def _dataclass(self, kind: Any) -> Schema:
        hints = type_hints(kind, {kind.__name__: kind})
        properties: Schema = {}
        required: list[str] = []
        for field in fields(kind):
            if not field.init:
                continue
            schema = self._schema(hints[field.name])
            if field.default is MISSING and field.default_factory is MISSING:
                required.append(field.name)
            elif field.default is not MISSING:
                schema = with_default(schema, field.default)
            properties[field.name] = schema
        self._binds = True
        return object_schema(properties, required)

    def _typed_dictionary(self, kind: Any) -> Schema:
        if type(kind).__module__ == "typing":
            self._typed_dict = kind.__name__
        properties: Schema = {}
        required: list[str] = []
        for name, hint in type_hints(kind, {kind.__name__: kind}).items():
            # A quoted NotRequired is unknown to __required_keys__.
            wrapper = typing.get_origin(hint)
            wrapped = wrapper in (typing.Required, typing.NotRequired)
            properties[name] = self._schema(typing.get_args(hint)[0] if wrapped else hint)
            if wrapper is typing.Required if wrapped else name in kind.__required_keys__:
                required.append(name)
        return object_schema(properties, required)

    def _anything(self, _args: tuple[Any, ...]) -> Schema:
        return {}

    def _annotated(self, args: tuple[Any, ...]) -> Schema:
        hint, *notes = args
        texts = [text for note in notes if (text := _text_of(note))]
        rules = [note for note in notes if not _text_of(note)]
        schema = self._by_pydantic(_annotate(hint, rules)) if rules else self._schema(hint)
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
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        self._binds = True
        try:
            schema = TypeAdapter(hint).json_schema()
        except (PydanticUserError, PydanticUndefinedAnnotation):
            raise self._refused(hint) from None
        for name, definition in schema.pop("$defs", {}).items():
            self._define(name, definition)
        return schema

    def _refused(self, hint: Any) -> InvalidToolSignature:
        return InvalidToolSignature(
            f"{self._where}: {hint} has no JSON form",
            advice="use int, float, bool, str, list, dict, Literal, Enum, a dataclass or a pydantic model",
        )

    _KINDS: ClassVar[dict[Any, Callable[[Describer, tuple[Any, ...]], Schema]]] = {
        Any: _anything,
        object: _anything,
        typing.Annotated: _annotated,
        typing.Literal: _choice,
        typing.Union: _union,
        types.UnionType: _union,
        tuple: _tuple,
        **dict.fromkeys((list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection), _array),
        **dict.fromkeys((set, frozenset, abc.Set, abc.MutableSet), _set),
        **dict.fromkeys((dict, abc.Mapping, abc.MutableMapping), _mapping),
    }


def _annotate(hint: Any, rules: list[Any]) -> Any:
    return cast("Any", typing.Annotated)[(hint, *rules)]


def _text_of(note: Any) -> str:
    text = note if isinstance(note, str) else getattr(note, "documentation", "")
    return text if isinstance(text, str) else ""


def binder(hints: Mapping[str, Any]) -> Bind | None:
    """What turns JSON arguments into what these hints say; None if there are no hints.

    Give it only the hints whose `Shape.binds`. Raises `BindingError` when called.

    >>> from datetime import date
    >>> binder({"day": date})({"day": "2024-02-29", "city": "Oslo"})
    {'day': datetime.date(2024, 2, 29), 'city': 'Oslo'}
    """
    if not hints:
        return None
    adapters: dict[str, Any] = {}

    def bind(arguments: dict[str, Any]) -> dict[str, Any]:
        bound, problems = dict(arguments), list[Problem]()
        for name in hints:
            if name in arguments:
                if name not in adapters:
                    adapters[name] = _adapter(hints[name])
                bound[name] = _converted(adapters[name], name, arguments[name], problems)
        if problems:
            raise BindingError(problems)
        return bound

    return bind


def _adapter(hint: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _converted(adapter: Any, name: str, value: Any, problems: list[Problem]) -> Any:
    from pydantic import ValidationError

    try:
        # Strict JSON takes a string for a date and a list for a tuple, yet no "1" for 1.
        return adapter.validate_json(encode(value), strict=True)
    except ValidationError as error:
        problems += (_problem(name, value, found) for found in error.errors(include_url=False))


def _problem(name: str, value: Any, found: Any) -> Problem:
    pointer = pointer_to([name, *_path(value, found["loc"])])
    if found["type"] == "missing":
        return Problem("invalid_arguments", pointer + pointer_to(found["loc"][-1:]), "a value", "nothing")
    expected = found["msg"].removeprefix("Input should be ")
    return Problem("invalid_arguments", pointer, expected, excerpt(found["input"]))


def _path(value: Any, location: tuple[Any, ...]) -> Iterable[Any]:
    """Where in the value; pydantic also names the branch of a union, which is nowhere in it."""
    for part in location:
        try:
            value = value[part]
        except (LookupError, TypeError):
            continue
        yield part


# fmt: off
_STRICT_KEYWORDS = frozenset((
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems",
    "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
))
_STRICT_FORMATS = frozenset((
    "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid",
))
_NEVER_STRICT = frozenset((
    "allOf", "contains", "dependentRequired", "dependentSchemas", "else", "if", "not",
    "patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties",
))
# fmt: on


def make_strict(schema: Schema, where: str) -> Schema:
    """The schema within what OpenAI's strict mode takes: closed objects, every property required.

    An optional property becomes nullable, and null stands for leaving it out (`without_nulls`).
    Keywords that strict mode refuses move into the description. Raises `InvalidToolSignature` for
    what cannot be strict, such as a dictionary with free keys.

    >>> make_strict(object_schema({"n": {"type": "integer", "default": 3}}, []), "f")["properties"]
    {'n': {'type': ['integer', 'null'], 'description': '(default: 3)'}}
    """
    never = sorted(_NEVER_STRICT & schema.keys())
    if never:
        raise _not_strict(where, f"it needs {never[0]}")
    if not schema.keys() & {"type", "enum", "const", "anyOf", "oneOf", "$ref"}:
        raise _not_strict(where, "it takes any value")
    strict = {key: value for key, value in schema.items() if key in _STRICT_KEYWORDS}
    kinds = schema.get("type", ())
    if kinds == "object" or "object" in kinds:
        strict |= _strict_object(schema, where)
    if kinds == "array" or "array" in kinds:
        strict["items"] = make_strict(schema.get("items", {}), where)
    choices = [make_strict(choice, where) for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
    if "$ref" in strict and len(strict) > 1:
        choices.append({"$ref": strict.pop("$ref")})
    if choices:
        strict["anyOf"] = choices
    if "$defs" in schema:
        strict["$defs"] = {name: make_strict(child, name) for name, child in schema["$defs"].items()}
    return _with_notes(strict, schema)


def _not_strict(where: str, why: str) -> InvalidToolSignature:
    return InvalidToolSignature(
        f"{where} cannot be strict: {why}",
        expected="named properties with types, as of a dataclass or a pydantic model",
        advice="change its type, or define the tool without strict=True",
    )


def _strict_object(schema: Schema, where: str) -> Schema:
    if "properties" not in schema or schema.get("additionalProperties", False) is not False:
        raise _not_strict(where, "it is a dictionary with free keys")
    required = schema.get("required", ())
    properties = {
        name: make_strict(child if name in required else _nullable(child), f"{where}.{name}")
        for name, child in schema["properties"].items()
    }
    return object_schema(properties, list(properties))


def _nullable(schema: Schema) -> Schema:
    if allows_null(schema):
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" in schema and "const" not in schema:
        kinds = schema["type"]
        nullable = {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
        return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable
    outside = {key: value for key, value in schema.items() if key in ("description", "default", "title")}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {**outside, "anyOf": [inside, {"type": "null"}]}


def _with_notes(strict: Schema, schema: Schema) -> Schema:
    lost = {key: schema[key] for key in schema.keys() - _STRICT_KEYWORDS - {"oneOf", "discriminator"}}
    if schema.get("format", "date") not in _STRICT_FORMATS:
        lost["format"] = strict.pop("format")
    if lost:
        notes = ", ".join(f"{key}: {excerpt(lost[key])}" for key in sorted(lost))
        strict["description"] = f"{schema.get('description', '')} ({notes})".strip()
    return strict


def without_nulls(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    """The value without the nulls that stand for what was left out; `schema` is the one before `make_strict`.

    >>> without_nulls({"n": None}, object_schema({"n": {"type": "integer"}}, []), {})
    {}
    """
    schema = _resolved(schema, definitions)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        value = without_nulls(value, choice, definitions)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        items = cast("list[Any]", value)
        return [without_nulls(item, schema["items"], definitions) for item in items]
    if not isinstance(value, dict) or "properties" not in schema:
        return cast("Any", value)
    known: Schema = schema["properties"]
    optional = {
        name
        for name, child in known.items()
        if name not in schema.get("required", ()) and not allows_null(child, definitions)
    }
    return {
        name: without_nulls(child, known.get(name, {}), definitions)
        for name, child in cast("Schema", value).items()
        if child is not None or name not in optional
    }


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return definitions.get(schema["$ref"].rpartition("/")[2], {}) if "$ref" in schema else schema
