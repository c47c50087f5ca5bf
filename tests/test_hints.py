"""Type hints as JSON Schema, and JSON values as what the hints say."""

import datetime
import decimal
import enum
import pathlib
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from zoolab.errors import InvalidArguments, InvalidToolSignature
from zoolab.schema.binding import BindingError, binder
from zoolab.schema.hints import Describer, type_hints
from zoolab.schema.parts import with_default
from zoolab.schema.strict import make_strict, without_nulls


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    HALF = 0.5


class Bad(enum.Enum):
    PAIR = (1, 2)


@dataclass
class Point:
    x: int
    y: float = 0.5
    tags: list[str] = field(default_factory=list)
    unit: Unit = Unit.C
    seen: bool = field(default=False, init=False)


@dataclass
class Node:
    value: int
    children: list["Node"] = field(default_factory=list)


class Ship(TypedDict):
    name: str
    masts: NotRequired[int]


class Loose(TypedDict, total=False):
    a: Required[int]
    b: str


class Quoted(TypedDict):
    a: "NotRequired[int]"
    b: "str"


class Dated(typing_extensions.TypedDict):
    day: datetime.date


class Account(BaseModel):
    owner: str
    parent: Optional["Account"] = None


class Place(BaseModel):
    city: str = Field(min_length=1)


UserId = NewType("UserId", int)
Names = typing_extensions.TypeAliasType("Names", list[str])


def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


STRING, INTEGER, NUMBER, NULL = ({"type": kind} for kind in ("string", "integer", "number", "null"))
POINT = closed(
    ["x"],
    x=INTEGER,
    y={"type": "number", "default": 0.5},
    tags={"type": "array", "items": STRING},
    unit={"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
)

SCHEMAS = [
    (int, INTEGER),
    (float, NUMBER),
    (bool, {"type": "boolean"}),
    (str, STRING),
    (None, NULL),
    (Any, {}),
    (object, {}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
    (Unit, {"type": "string", "enum": ["celsius", "fahrenheit"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Mixed, {"type": ["integer", "number"], "enum": [1, 0.5]}),
    (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
    (None | str, {"type": ["string", "null"]}),
    (int | str, {"anyOf": [INTEGER, STRING]}),
    (Literal["a"] | None, {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]}),
    (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}),
    (list[int], {"type": "array", "items": INTEGER}),
    (list, {"type": "array", "items": {}}),
    (Sequence[list[str]], {"type": "array", "items": {"type": "array", "items": STRING}}),
    (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    (frozenset[str], {"type": "array", "items": STRING, "uniqueItems": True}),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (Mapping[str, Any], {"type": "object", "additionalProperties": {}}),
    (dict, {"type": "object"}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2, "items": False},
    ),
    (tuple[int, ...], {"type": "array", "items": INTEGER}),
    (tuple, {"type": "array", "items": {}}),
    (Ship, closed(["name"], name=STRING, masts=INTEGER)),
    (Loose, closed(["a"], a=INTEGER, b=STRING)),
    (Quoted, closed(["b"], a=INTEGER, b=STRING)),
    (Dated, closed(["day"], day={"type": "string", "format": "date"})),
    (Point, POINT),
    (list[Point], {"type": "array", "items": POINT}),
    (Node, {"$ref": "#/$defs/Node"}),
    (Account, {"$ref": "#/$defs/Account"}),
    (Place, Place.model_json_schema()),
    (UserId, INTEGER),
    (Names, {"type": "array", "items": STRING}),
    (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
    (Annotated[str, typing_extensions.Doc("Who.")], {"type": "string", "description": "Who."}),
    (
        Annotated[Unit, "The unit."],
        {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "The unit."},
    ),
    (
        Annotated[int, Field(description="Years.", ge=0)],
        {"type": "integer", "description": "Years.", "minimum": 0},
    ),
    (Annotated[int, Field(ge=0), "Years."], {"type": "integer", "description": "Years.", "minimum": 0}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (decimal.Decimal, None),
    (pathlib.Path, {"type": "string", "format": "path"}),
    (datetime.date | None, {"anyOf": [{"type": "string", "format": "date"}, NULL]}),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS, ids=[str(hint) for hint, _ in SCHEMAS])
def test_schema_of_a_hint(hint, schema):
    describer = Describer()
    described = describer.describe(hint, "x").schema
    if schema is not None:
        assert described == schema
    Draft202012Validator.check_schema({**described, "$defs": describer.definitions})


def test_recursive_types_go_to_definitions():
    describer = Describer()
    assert describer.describe(list[Node], "x").schema == {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert describer.describe(Node, "y").binds
    describer.describe(Account, "z")
    assert list(describer.definitions) == ["Node", "Account"]
    validator = Draft202012Validator({"$ref": "#/$defs/Node", "$defs": describer.definitions})
    assert validator.is_valid({"value": 1, "children": [{"value": 2, "children": []}]})
    assert not validator.is_valid({"value": 1, "children": [{"value": "2"}]})


def test_two_types_of_one_name_get_names_of_their_own():
    other = type("Account", (BaseModel,), {"__annotations__": {"next": Optional["Account"]}})
    describer = Describer()
    describer.describe(Account, "x")
    assert describer.describe(list[other], "y").schema["items"] == {"$ref": "#/$defs/Account_2"}
    assert [*describer.definitions] == ["Account", "Account_2"]


@pytest.mark.parametrize(
    "hint",
    [type, Callable[[int], int], [int], 5, dict[int, str], Bad, Literal[b"x"], list[re.Match]],
    ids=str,
)
def test_what_has_no_json_form_is_refused(hint):
    with pytest.raises(
        InvalidToolSignature, match=r"^the parameter 'x': .* cannot be written as JSON Schema"
    ) as caught:
        Describer().describe(hint, "the parameter 'x'")
    assert caught.value.number == 502


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes typing.TypedDict from 3.12 on")
def test_a_typed_dict_that_pydantic_refuses_is_refused_at_definition():
    assert not Describer().describe(list[Ship], "x").binds
    with pytest.raises(InvalidToolSignature, match=r"x: .*Ship.* import TypedDict from typing_extensions"):
        Describer().describe(tuple[Ship, int], "x")


def test_forward_references():
    def later(ship: "Ship") -> "Unknown":  # noqa: F821
        return ship

    def lost(ship: "Unknown") -> None:  # noqa: F821
        return ship

    assert type_hints(later)["ship"] is Ship
    with pytest.raises(InvalidToolSignature, match=r"lost: a type hint cannot be read: name 'Unknown'"):
        type_hints(lost)


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        (1, {"default": 1}),
        ([1], {"default": [1]}),
        (Level.LOW, {"default": 1}),
        (None, {}),
        (float("nan"), {}),
        (Point(1), {}),
        ({1, 2}, {}),
    ],
    ids=str,
)
def test_defaults_that_are_json_are_shown(default, expected):
    assert with_default(INTEGER, default) == {**INTEGER, **expected}


BOUND = [
    (Unit, "celsius", Unit.C),
    (Level, 2, Level.HIGH),
    (Point, {"x": 1, "unit": "fahrenheit"}, Point(1, unit=Unit.F)),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (list[Node], [{"value": 2}], [Node(2)]),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[int], [1, 2], {1, 2}),
    (Place, {"city": "Oslo"}, Place(city="Oslo")),
    (Account, {"owner": "a", "parent": {"owner": "b"}}, Account(owner="a", parent=Account(owner="b"))),
    (Dated, {"day": "2024-02-29"}, {"day": datetime.date(2024, 2, 29)}),
    (int | datetime.date, 5, 5),
    (int | datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
    (Point | None, None, None),
    (datetime.datetime, "2024-02-29T12:00:00", datetime.datetime(2024, 2, 29, 12)),
    (uuid.UUID, str(uuid.UUID(int=7)), uuid.UUID(int=7)),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (pathlib.Path, "a/b", pathlib.Path("a/b")),
]


@pytest.mark.parametrize(("hint", "value", "expected"), BOUND, ids=[f"{h}-{v}" for h, v, _ in BOUND])
def test_values_arrive_as_annotated(hint, value, expected):
    shape = Describer().describe(hint, "x")
    assert shape.binds
    bound = binder({"x": hint})({"x": value, "other": 1})
    assert bound == {"x": expected, "other": 1}
    assert type(bound["x"]) is type(expected)


@pytest.mark.parametrize(
    "hint", [int, str | None, list[dict[str, float]], Ship, Literal["a"], Any, UserId], ids=str
)
def test_plain_json_needs_no_binding(hint):
    assert not Describer().describe(hint, "x").binds


def test_all_that_does_not_bind_is_told():
    bind = binder({"node": Node, "pair": tuple[int, int], "when": int | datetime.date})
    with pytest.raises(InvalidArguments) as caught:
        bind({"node": {"value": "1", "children": [{}]}, "pair": [1], "when": 3})
    assert isinstance(caught.value, BindingError)
    assert [(p.code, p.pointer, p.received) for p in caught.value.problems] == [
        ("invalid_arguments", "/node/value", '"1"'),
        ("invalid_arguments", "/node/children/0/value", "nothing"),
        ("invalid_arguments", "/pair/1", "nothing"),
    ]


@given(st.booleans() | st.floats(allow_nan=False) | st.text())
def test_binding_never_coerces(value):
    with pytest.raises(BindingError):
        binder({"node": Node})({"node": {"value": value}})


STRICT = [
    ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
    ({"type": "string", "minLength": 2}, {"type": "string", "description": "(minLength: 2)"}),
    ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
    (
        {"type": "string", "format": "path", "description": "A."},
        {"type": "string", "description": 'A. (format: "path")'},
    ),
    ({"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    (
        {"$ref": "#/$defs/Node", "description": "A."},
        {"description": "A.", "anyOf": [{"$ref": "#/$defs/Node"}]},
    ),
    (closed([], a=INTEGER), closed(["a"], a={"type": ["integer", "null"]})),
    (
        closed([], a={"type": "string", "enum": ["x"]}),
        closed(["a"], a={"type": ["string", "null"], "enum": ["x", None]}),
    ),
    (closed([], a={"anyOf": [STRING, INTEGER]}), closed(["a"], a={"anyOf": [STRING, INTEGER, NULL]})),
    (closed([], a={"$ref": "#"}), closed(["a"], a={"anyOf": [{"$ref": "#"}, NULL]})),
    (closed([], a={"type": ["integer", "null"]}), closed(["a"], a={"type": ["integer", "null"]})),
    ({"type": "object", "properties": {"a": STRING}, "required": ["a"]}, closed(["a"], a=STRING)),
]


@pytest.mark.parametrize(("schema", "strict"), STRICT, ids=[str(schema) for schema, _ in STRICT])
def test_strict_schemas(schema, strict):
    assert make_strict(schema, "f") == strict


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": STRING},
        {"type": "array", "items": {}},
        {"type": "array", "prefixItems": [STRING]},
        {"allOf": [STRING]},
        {"not": STRING},
    ],
    ids=str,
)
def test_what_cannot_be_strict_is_refused_with_its_place(schema):
    with pytest.raises(InvalidToolSignature, match=r"^f\.a\.b cannot be strict"):
        make_strict(closed(["a"], a=closed(["b"], b=schema)), "f")


def test_nulls_that_stand_for_nothing_go_at_any_depth():
    node = closed(["v"], v=INTEGER, label=STRING, next={"anyOf": [{"$ref": "#/$defs/N"}, NULL]})
    schema = closed(["n"], n={"$ref": "#/$defs/N"}, all={"type": "array", "items": {"$ref": "#/$defs/N"}})
    value = {
        "n": {"v": 1, "label": None, "next": {"v": 2, "label": None, "next": None}},
        "all": [{"v": 3, "label": None, "next": None}],
    }
    assert without_nulls(value, schema, {"N": node}) == {
        "n": {"v": 1, "next": {"v": 2, "next": None}},
        "all": [{"v": 3, "next": None}],
    }


def test_describing_plain_hints_imports_neither_pydantic_nor_jsonschema():
    code = (
        "import sys; from zoolab.schema.hints import Describer;"
        "Describer().describe(dict[str, list[int]], 'x');"
        "print(sorted({'pydantic', 'jsonschema', 'openai'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
