"""Step 1: a Python function becomes a tool that a model can read."""

import asyncio
import enum
import functools
import gc
import inspect
import subprocess
import sys
import weakref
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired

import docstring_parser
import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AliasPath, BaseModel, Field, TypeAdapter

from zoolab import Scripted, run
from zoolab.errors import InvalidArguments, InvalidInput, InvalidToolSignature, ReadOnlyRecord
from zoolab.lint import lint
from zoolab.schema.binding import BindingError
from zoolab.steps.define import as_registry, tool
from zoolab.tools import Context, Tool, ToolRegistry


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Node:
    value: int
    label: str = "none"
    next: "Node | None" = None
    more: list["Node"] = field(default_factory=list)


class Leg(typing_extensions.TypedDict):
    km: float
    unit: NotRequired[Unit]


class Place(BaseModel):
    city: str = Field(min_length=1)
    country: str = "NO"


class User(Context):
    pass


def test_check_status_as_documented():
    @tool
    def check_status(service: str) -> str:
        """Check if a service is running. Use this when user asks about service status.

        Args:
            service: Service name
        """
        return f"Service {service} is ONLINE"

    schema = check_status.schema("openai")
    assert schema["function"]["parameters"].pop("additionalProperties") is False
    assert schema == {
        "type": "function",
        "function": {
            "name": "check_status",
            "description": "Check if a service is running. Use this when user asks about service status.",
            "parameters": {
                "type": "object",
                "properties": {"service": {"type": "string", "description": "Service name"}},
                "required": ["service"],
            },
        },
    }
    assert check_status.invoke({"service": "nginx"}) == "Service nginx is ONLINE"


def test_add_as_documented():
    def add(a: int, b: int) -> int:
        return a + b

    schema = tool(add, name="add", description="Add two integers", param_names=["a", "b"]).schema()
    assert schema["function"]["parameters"].pop("additionalProperties") is False
    assert schema == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two integers",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    }


def test_ping_as_documented():
    @tool(description="Check if a host is reachable")
    def ping(host: str) -> str:
        return f"{host} is reachable"

    registry = as_registry([ping])
    assert (len(registry), "ping" in registry) == (1, True)
    assert registry.execute("ping", {"host": "8.8.8.8"}) == "8.8.8.8 is reachable"
    schema = ping.schema("anthropic")
    assert schema["input_schema"].pop("additionalProperties") is False
    assert schema == {
        "name": "ping",
        "description": "Check if a host is reachable",
        "input_schema": {
            "type": "object",
            "properties": {"host": {"type": "string"}},
            "required": ["host"],
        },
    }


def test_a_function_without_parameters():
    @tool
    def get_time() -> str:
        """Get current time"""
        return "noon"

    assert get_time.parameters == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    assert (get_time(), get_time.bind) == ("noon", None)


def test_options_reach_the_tool():
    @tool(name="wipe", description="Wipe it.", risk="high", timeout=2.5)
    def remove(path: str) -> None:
        """Not shown."""

    assert (remove.name, remove.description, remove.risk, remove.timeout, remove.strict) == (
        "wipe",
        "Wipe it.",
        "high",
        2.5,
        False,
    )


def test_a_lambda_takes_names_and_any_json():
    join = tool(lambda a, b="!": a + b, name="join", description="Join.", param_names=["left", "right"])
    assert join.parameters["properties"] == {"left": {}, "right": {"default": "!"}}
    assert join.parameters["required"] == ["left"]
    assert join.invoke({"left": "a", "right": "b"}) == "ab"
    assert join("a") == "a!"


class Scaler:
    """Scale a number."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: int) -> int:
        return self.factor * x

    def shift(self, x: int, unit: Unit = Unit.C) -> tuple[int, Unit]:
        """Shift a number.

        Args:
            x: The number.
        """
        return self.factor + x, unit

    @classmethod
    def make(cls, factor: int) -> str:
        """Make one."""
        return f"{cls.__name__}({factor})"

    @staticmethod
    def twice(x: int) -> int:
        """Double it."""
        return 2 * x


def test_an_object_with_call():
    scale = tool(Scaler(3))
    assert (scale.name, scale.description, scale.invoke({"x": 2})) == ("Scaler", "Scale a number.", 6)


def test_methods_lose_self():
    shift = tool(Scaler(3).shift)
    assert list(shift.parameters["properties"]) == ["x", "unit"]
    assert shift.parameters["properties"]["x"]["description"] == "The number."
    assert shift.invoke({"x": 2, "unit": "fahrenheit"}) == (5, Unit.F)
    assert tool(Scaler.make).invoke({"factor": 4}) == "Scaler(4)"
    assert tool(Scaler.twice).invoke({"x": 4}) == 8


def test_what_a_partial_binds_vanishes():
    def power(base: int, exponent: int, unit: Unit = Unit.C) -> Any:
        """Raise it.

        Args:
            base: What to raise.
        """
        return base**exponent, unit

    square = tool(functools.partial(power, exponent=2))
    assert (square.name, square.description) == ("power", "Raise it.")
    assert list(square.parameters["properties"]) == ["base", "unit"]
    assert square.parameters["required"] == ["base"]
    assert square.invoke({"base": 3, "unit": "fahrenheit"}) == (9, Unit.F)
    assert tool(functools.partial(power, 2)).invoke({"exponent": 3}) == (8, Unit.C)
    assert tool(functools.partial(Scaler(2).shift)).name == "shift"
    assert tool(functools.partial(Scaler(2))).description == "Scale a number."


def test_a_partial_of_an_undocumented_function_has_no_description():
    def bare(x: int) -> int:
        return x

    assert tool(functools.partial(bare)).description == tool(bare).description == ""


def test_a_wrapped_function_is_read_through():
    def shout(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs).upper()

        return inner

    @tool
    @shout
    def greet(name: str) -> str:
        """Greet."""
        return f"hello {name}"

    assert greet.invoke({"name": "ada"}) == "HELLO ADA"
    assert tool(functools.cache(len_of)).invoke({"text": "abc"}) == 3


def len_of(text: str) -> int:
    return len(text)


def test_an_async_function_stays_async():
    @tool
    async def fetch(unit: Unit) -> Unit:
        """Fetch."""
        return unit

    assert inspect.iscoroutinefunction(fetch.function)
    assert asyncio.run(fetch.invoke({"unit": "celsius"})) is Unit.C


@pytest.mark.parametrize("hint", [Context, User, User | None, Annotated[User, "who"]], ids=str)
def test_the_context_is_injected_and_never_shown(hint):
    def whoami(greeting: str, me=None):
        return f"{greeting} {me.data}"

    whoami.__annotations__["me"] = hint
    made = tool(whoami)
    assert (list(made.parameters["properties"]), made.context_parameter) == (["greeting"], "me")
    assert made.invoke({"greeting": "hi"}, User("ada")) == "hi ada"


GOOGLE = """Search the notes for
a phrase.

Use this when the user asks about something written down:
- titles
- bodies

>>> search("x")
[]

Args:
    query (str): What to look for,
        in any case.

        Also a pattern: a|b.
    limit (int, optional): At most so many. Defaults to 10.
    order: {}

Returns:
    list: The titles.

Raises:
    ValueError: No query.
"""
NUMPY = """Search the notes.

Parameters
----------
query : str
    What to look for,
    in any case.
limit : int, optional
    At most so many.

    Really.
low, high : float
    The bounds.
bare

Returns
-------
query : list
    The titles.
"""
SPHINX = """Search the notes.

Use it well.

:param query: What to look for,
    in any case.
:type query: str
:param int limit: At most so many.
:param str order: How: up or down.
:returns: The titles.
:raises ValueError: No query.
"""


def described(text, *names):
    names = names or ("query", "limit", "order", "low", "high", "bare")
    namespace: dict[str, Any] = {}
    exec(f"def search({', '.join(f'{name}: str' for name in names)}): ...", namespace)
    namespace["search"].__doc__ = text
    return tool(namespace["search"])


def parameter_descriptions(made):
    properties = made.parameters["properties"]
    return {name: schema["description"] for name, schema in properties.items() if "description" in schema}


@pytest.mark.parametrize(
    "text", [GOOGLE, NUMPY, SPHINX, GOOGLE.replace("\n", "\n        "), NUMPY.replace("\n", "\n\t")]
)
def test_parameters_read_as_docstring_parser_reads_them(text):
    expected = {
        name.strip(): " ".join(parameter.description.split())
        for parameter in docstring_parser.parse(text).params
        for name in parameter.arg_name.split(",")
        if parameter.description
    }
    assert len(expected) >= 3
    assert parameter_descriptions(described(text)) == expected


def test_the_styles_of_docstrings_may_be_mixed():
    google = "Search.\n\nArgs:\n    query: What to look for.\n\n:param limit: At most so many.\n"
    numpy = "low : float\n    The bound.\n"
    for text in (
        google + "\nParameters\n----------\n" + numpy,
        google + "\nOther Parameters\n----------------\n" + numpy,
        "Search.\n\nParameters\n----------\n" + numpy + "\n" + google.removeprefix("Search.\n\n"),
        "Search.\n\n:param limit: At most so many.\n:returns: Some.\n\nParameters\n----------\n"
        + numpy
        + "\nArgs:\n    query (str): What to look for.\n",
    ):
        made = described(text, "query", "limit", "low")
        assert made.description == "Search."
        assert parameter_descriptions(made) == {
            "query": "What to look for.",
            "limit": "At most so many.",
            "low": "The bound.",
        }


def test_the_summary_is_the_description():
    assert described(GOOGLE).description == (
        "Search the notes for a phrase.\n\n"
        "Use this when the user asks about something written down:\n- titles\n- bodies"
    )
    assert described(NUMPY).description == "Search the notes."
    assert described(SPHINX).description == "Search the notes.\n\nUse it well."
    assert described("Plain: no sections.\n\nArgs are not here.").description == (
        "Plain: no sections.\n\nArgs are not here."
    )
    assert described("Returns the time.\n\nReturns:\n    The time.").description == "Returns the time."
    assert described("Add.\n\nArgs:\n\nReturns:\n    x: y", "x").parameters["properties"]["x"] == {
        "type": "string"
    }


def test_annotated_wins_over_the_docstring():
    @tool
    def f(a: Annotated[int, "From the hint."], b: Annotated[int, Field(description="From Field.")], c: int):
        """F.

        Args:
            a: From the docstring.
            b: From the docstring.
            c: From the docstring.
        """

    assert list(parameter_descriptions(f).values()) == [
        "From the hint.",
        "From Field.",
        "From the docstring.",
    ]


def test_defaults():
    @tool
    def f(a: int = 1, b: Unit = Unit.F, c: Point = Point(1), d: str = None, *, e: float | None = None): ...  # noqa: B008, RUF013

    shown = {name: schema.get("default", "none") for name, schema in f.parameters["properties"].items()}
    assert shown == {"a": 1, "b": "fahrenheit", "c": "none", "d": "none", "e": None}
    assert f.parameters["required"] == []


def pay(
    amount: int = Field(gt=0, le=100, title="Amount", examples=[5]),
    to: Annotated[str, Field(default="ada", description="Who gets it.")] = Field(min_length=1),
    cents: Annotated[int, Field(ge=0)] = 0,
    tags: list[str] = Field(default_factory=list, alias="labels"),  # noqa: B008
    node: Annotated[Node | None, Field(description="Where.")] = Field(default=None),  # noqa: B008
    more: Annotated[list[Node], Field(max_length=1)] = Field(default=[]),  # noqa: B008
    note: str = Field(default_factory=lambda data: f"for {data['to']}"),
) -> tuple[Any, ...]:
    """Pay.

    Args:
        amount: How much.
        to: Not read.
    """
    return amount, to, cents, tags, node, more, note


def test_a_field_as_a_default_says_what_it_means():
    made = tool(pay)
    properties = made.parameters["properties"]
    assert made.parameters["required"] == ["amount"]
    assert properties["amount"] == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "maximum": 100,
        "title": "Amount",
        "examples": [5],
        "description": "How much.",
    }
    assert properties["to"] == {
        "type": "string",
        "minLength": 1,
        "description": "Who gets it.",
        "default": "ada",
    }
    assert properties["cents"] == {"type": "integer", "minimum": 0, "default": 0}
    assert "default" not in properties["labels"]
    assert made.checker.problems({"amount": 5, "more": [{"value": 1}], "node": {"value": 2}}) == ()
    found = made.checker.problems({"amount": 5000, "to": "", "cents": -1, "tags": []})
    assert {p.pointer for p in found} == {"/amount", "/to", "/cents", "/tags"}
    assert [p.pointer for p in made.checker.problems({})] == ["/amount"]


def test_a_function_receives_the_default_of_its_field():
    made = tool(pay)
    expected = (5, "ada", 0, [], None, [], "for ada")
    assert made.invoke({"amount": 5}) == made(5) == made(amount=5) == expected
    made(5)[3].append("x")
    made(5)[5].append("x")
    assert made(5) == expected
    assert made.invoke({"amount": 5, "labels": ["a"], "node": {"value": 1}})[3:5] == (["a"], Node(1))
    for call in (made, lambda: made.invoke({})):
        with pytest.raises(TypeError, match=r"pay\(\) missing a required argument: 'amount'"):
            call()
    with pytest.raises(BindingError, match="/amount: expected less than or equal to 100, received 5000"):
        made.bind({"amount": 5000})


def test_fields_of_methods_partials_and_coroutines():
    class Till:
        async def pay(self, amount: int = Field(default=3), *, to: str = Field(...)) -> tuple[int, str]:
            return amount, to

    made = tool(Till().pay)
    assert made.parameters["required"] == ["to"]
    assert inspect.iscoroutinefunction(made.function)
    assert asyncio.run(made(to="ada")) == (3, "ada")
    partial = tool(functools.partial(pay, to="bob"))
    assert "to" not in partial.parameters["properties"]
    assert partial(1)[:2] == (1, "bob")
    strict = tool(pay_strictly, strict=True)
    assert strict.invoke({"amount": None, "unit": None}) == (7, Unit.F)
    renamed = tool(pay_strictly, param_names=["a", "b"])
    assert (renamed.invoke({}), renamed.invoke({"a": 1})) == ((7, Unit.F), (1, Unit.F))
    assert renamed.parameters["properties"]["b"]["default"] == "fahrenheit"


def pay_strictly(amount: int = Field(default=7, gt=0), unit: Unit = Field(default=Unit.F)):  # noqa: B008
    return amount, unit


@dataclass
class Bill:
    total: Annotated[int, Field(gt=0, alias="sum")]
    tip: Annotated[int, Field(default=5)]
    unit: Unit = Field(default=Unit.C, description="In what.")  # noqa: RUF009
    rows: list[int] = field(default_factory=list)


class Row(typing_extensions.TypedDict):
    count: Annotated[int, Field(gt=0)]
    price: Annotated[float, Field(default=1.5)]
    name: NotRequired[Annotated[str, Field(max_length=3, alias="label")]]


def test_fields_of_dataclasses_and_typed_dictionaries():
    @tool
    def book(bill: Bill, row: Row) -> Any:
        return bill, row

    bill, row = (book.parameters["properties"][name] for name in ("bill", "row"))
    assert (bill["required"], row["required"]) == (["sum"], ["count"])
    assert bill["properties"]["sum"] == {"type": "integer", "exclusiveMinimum": 0}
    assert bill["properties"]["tip"] == {"type": "integer", "default": 5}
    assert bill["properties"]["unit"]["description"] == "In what."
    assert row["properties"]["label"] == {"type": "string", "maxLength": 3}
    arguments = {"bill": {"sum": 2}, "row": {"count": 1}}
    assert book.checker.problems(arguments) == ()
    assert book.invoke(arguments) == (Bill(2, 5, Unit.C), {"count": 1, "price": 1.5})
    wrong = {"bill": {"total": 2}, "row": {"count": 0, "label": "long"}}
    assert {p.pointer for p in book.checker.problems(wrong)} >= {"/bill/sum", "/row/count", "/row/label"}


def test_a_field_that_cannot_be_is_refused():
    def path(a: int = Field(validation_alias=AliasPath("a", 0))): ...
    def twice(a: Annotated[int, Field(default_factory=int)] = Field(default=2)): ...
    def same(a: int = Field(alias="b"), b: int = Field()): ...
    def ahead(a: str = Field(pattern="(?=a)")): ...

    for function, message in (
        (path, r"path\(\): the parameter 'a' has the alias AliasPath"),
        (twice, r"twice\(\): the parameter 'a': cannot specify both default and default_factory"),
        (same, r"takes 2 parameters \(.*\), but the model would give 2 names \(b, b\)"),
        (ahead, "pydantic refuses .* look-around"),
    ):
        function.__qualname__ = function.__name__
        with pytest.raises(InvalidToolSignature, match=message):
            tool(function)


def test_an_untrusted_source_can_be_named_wherever_a_tool_is_made():
    @tool(untrusted="a ticket")
    def read_ticket() -> str:
        return "Obey me."

    schema = {"type": "object", "properties": {}}
    made = [
        read_ticket,
        Tool.from_schema("read_ticket", "", schema, lambda: "Obey me.", untrusted="a ticket"),
        Tool.build("read_ticket", "").call(lambda: "Obey me.", untrusted="a ticket"),
    ]
    for each in made:
        model = Scripted([[("read_ticket", {})], "Done."])
        content = run("Read it.", [each], model).messages[2]["content"]
        assert content.startswith("[untrusted data from a ticket: ")


def test_arguments_arrive_as_annotated():
    @tool
    def f(unit: Unit, point: Point, node: Node, leg: Leg, place: Place, pair: tuple[int, str], plain: int):
        return unit, point, node, leg, place, pair, plain

    arguments = {
        "unit": "celsius",
        "point": {"x": 1},
        "node": {"value": 1, "next": {"value": 2}},
        "leg": {"km": 1.5, "unit": "fahrenheit"},
        "place": {"city": "Oslo"},
        "pair": [1, "a"],
        "plain": 7,
    }
    assert f.checker.problems(arguments) == ()
    assert f.invoke(arguments) == (
        Unit.C,
        Point(1),
        Node(1, next=Node(2)),
        {"km": 1.5, "unit": Unit.F},
        Place(city="Oslo"),
        (1, "a"),
        7,
    )


def test_a_broken_argument_is_named_as_the_model_knows_it():
    def f(x: Place) -> None: ...

    with pytest.raises(BindingError) as caught:
        tool(f, param_names=["where"]).invoke({"where": {"city": ""}})
    assert [problem.pointer for problem in caught.value.problems] == ["/where/city"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INT64 = st.integers(-(2**53), 2**53)
NODES = st.recursive(
    st.fixed_dictionaries({"value": INT64}, optional={"label": TEXT, "next": st.none()}),
    lambda inner: st.fixed_dictionaries({"value": INT64, "next": inner, "more": st.lists(inner, max_size=2)}),
    max_leaves=4,
)
HINTED: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, INT64),
    (float, st.floats(allow_nan=False, allow_infinity=False) | INT64),
    (bool, st.booleans()),
    (str, TEXT),
    (int | None, st.none() | INT64),
    (int | str, INT64 | TEXT),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Unit, st.sampled_from(["celsius", "fahrenheit"])),
    (list[int], st.lists(INT64, max_size=3)),
    (set[int], st.lists(INT64, max_size=3, unique=True)),
    (dict[str, list[float]], st.dictionaries(TEXT, st.lists(INT64, max_size=2), max_size=2)),
    (tuple[int, str], st.tuples(INT64, TEXT).map(list)),
    (tuple[Unit, ...], st.lists(st.sampled_from(["celsius"]), max_size=3)),
    (Point, st.fixed_dictionaries({"x": INT64}, optional={"y": INT64})),
    (Node, NODES),
    (Leg, st.fixed_dictionaries({"km": INT64}, optional={"unit": st.sampled_from(["celsius"])})),
    (
        Place,
        st.fixed_dictionaries({"city": TEXT.filter(bool)}, optional={"country": TEXT}),
    ),
    (list[Point | None], st.lists(st.none() | st.fixed_dictionaries({"x": INT64}), max_size=2)),
]


def tool_for(hint, strict=False):
    def function(x):
        return x

    function.__annotations__["x"] = hint
    return tool(function, strict=strict)


TOOLS = [(tool_for(hint), strategy) for hint, strategy in HINTED]


@pytest.mark.parametrize(("made", "strategy"), TOOLS, ids=[str(hint) for hint, _ in HINTED])
@given(data=st.data())
def test_what_meets_the_schema_binds_and_runs(made, strategy, data):
    arguments = {"x": data.draw(strategy)}
    assert made.checker.problems(arguments) == ()
    made.invoke(arguments)


@pytest.mark.parametrize("made", [made for made, _ in TOOLS], ids=[str(hint) for hint, _ in HINTED])
@given(value=JSON)
def test_whatever_passes_the_schema_binds(made, value):
    if not made.checker.problems({"x": value}):
        made.invoke({"x": value})


@pytest.mark.parametrize("made", [made for made, _ in TOOLS], ids=[str(hint) for hint, _ in HINTED])
def test_wrong_types_and_invented_arguments_are_problems(made):
    Draft202012Validator.check_schema(made.parameters)
    assert made.checker.problems({"x": {"no": ["such", "type"]}})
    assert made.checker.problems({})
    assert any(problem.pointer == "/y" for problem in made.checker.problems({"x": 1, "y": 1}))


POSITIVE = Annotated[int, Field(gt=0)]
SIGNED: list[tuple[Any, st.SearchStrategy[Any], Any]] = [
    # A hint, what JSON it takes, and a default.
    *(
        (hint, strategy, default)
        for (hint, strategy), default in zip(
            HINTED[:8], (1, 0.5, True, "x", None, "y", 1, Unit.F), strict=True
        )
    ),
    (Point, HINTED[13][1], Point(1, 2)),
    (Node, NODES, Node(3)),
    (Leg, HINTED[15][1], {"km": 2.5}),
    (Place, HINTED[16][1], Place(city="Oslo")),
    (Bill, st.fixed_dictionaries({"sum": st.integers(1, 9)}), Bill(1, 2, Unit.F)),
    (POSITIVE, st.integers(-1, 9), 5),
    (list[POSITIVE] | None, st.none() | st.lists(st.integers(0, 3), max_size=2), None),
    (tuple[Unit, ...], HINTED[12][1], (Unit.C,)),
]
MARKS = ("required", "plain", "field", "annotated", "factory", "required field", "aliased")


def parameter(name, hint, mark, default):
    """The annotation, and the default or None, of one parameter."""
    return {
        "required": (hint, None),
        "plain": (hint, default),
        "field": (hint, Field(default=default, description=name)),
        "annotated": (Annotated[hint, Field(default=default)], None),
        "factory": (hint, Field(default_factory=lambda: default)),
        "required field": (hint, Field(title=name)),
        "aliased": (hint, Field(default=default, alias=f"{name}_")),
    }[mark]


@given(data=st.data())
@settings(max_examples=60)
def test_what_the_schema_says_is_what_binding_does(data):
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(SIGNED), st.sampled_from(MARKS)), max_size=3))
    members = {f"p{n}": (signed, mark) for n, (signed, mark) in enumerate(drawn)}
    received: list[dict[str, Any]] = []
    made_from = {
        name: parameter(name, signed[0], mark, signed[2]) for name, (signed, mark) in members.items()
    }
    defaults = {f"{name}_default": default for name, (_, default) in made_from.items()}
    namespace = {**defaults, "received": received}
    listed = "".join(
        f", {name}" + ("" if mark in ("required", "annotated") else f"={name}_default")
        for name, (_, mark) in members.items()
    )
    exec(
        f"def f(*{listed}): received.append(dict(locals()))" if listed else "def f(): received.append({})",
        namespace,
    )
    namespace["f"].__annotations__ = {name: hint for name, (hint, _) in made_from.items()}
    registry = ToolRegistry([tool(namespace["f"])])
    made = registry["f"]

    shown = {name: f"{name}_" if mark == "aliased" else name for name, (_, mark) in members.items()}
    demanded = {name for name, (_, mark) in members.items() if mark in ("required", "required field")}
    assert set(made.parameters["required"]) == demanded
    arguments = {}
    for name, (signed, _) in members.items():
        if data.draw(st.booleans() if name not in demanded else st.sampled_from([True, True, True, False])):
            arguments[shown[name]] = data.draw(st.one_of(signed[1], signed[1], signed[1], JSON))
    if made.checker.problems(arguments):
        with pytest.raises(InvalidArguments):
            registry.execute("f", arguments)
        assert received == []
        return
    registry.execute("f", arguments)
    (values,) = received
    assert values.keys() == members.keys()
    for name, (signed, _) in members.items():
        if shown[name] in arguments:
            assert TypeAdapter(signed[0]).validate_python(values[name], strict=True) == values[name]
        else:
            assert values[name] == signed[2]
            assert type(values[name]) is type(signed[2])


def unhinted(city, days: int): ...
def starred(*cities: str): ...
def keywords(city: str, **rest: str): ...
def positional(city: str, /): ...
def unknown(city: "Nowhere"): ...  # noqa: F821
def unjson(city: type): ...
def two_contexts(one: Context, two: Context): ...
def one(city: str): ...


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (
            unhinted,
            {},
            r"unhinted\(\): the parameter 'city' has no type hint; annotate it, for instance `city: str`",
        ),
        (starred, {}, r"starred\(\): the parameter 'cities' is variadic positional"),
        (keywords, {}, r"keywords\(\): the parameter 'rest' is variadic keyword"),
        (positional, {}, r"positional\(\): the parameter 'city' is positional-only"),
        (unknown, {}, r"unknown: a type hint cannot be read: name 'Nowhere' is not defined"),
        (unjson, {}, r"unjson\(\): the parameter 'city': <class 'type'> cannot be written as JSON Schema"),
        (two_contexts, {}, r"two parameters are a Context: one, two"),
        (one, {"param_names": ["a", "b"]}, r"takes 1 parameters \(city\), .* 2 names \(a, b\)"),
        (unhinted, {"param_names": ["a", "a"]}, r"expected one unique name for each parameter"),
        (one, {"name": "no spaces"}, r"'no spaces' is not a valid name of a tool"),
        (one, {"timeout": 0}, r"has timeout 0; expected a number of seconds above 0"),
        (lambda: 1, {}, r"a lambda needs a name; give it one"),
        (lambda a: a, {"name": "f"}, r"the parameter 'a' has no type hint"),
        (Point, {}, r"cannot become a tool; expected a function"),
        (5, {}, r"5 cannot become a tool"),
        (tool(one), {}, r"is a tool already"),
        (max, {}, r"max\(\) has no signature"),
        (len, {}, r"the parameter 'obj' is positional-only"),
    ],
)
def test_what_cannot_be_described_is_refused_at_definition(function, options, message):
    with pytest.raises(InvalidToolSignature, match=message) as caught:
        tool(function, **options)
    assert (caught.value.code, caught.value.number) == ("invalid_signature", 502)


def test_strict_makes_optional_nullable_and_drops_the_nulls():
    @tool(strict=True)
    def find(query: str, limit: int = 10, node: Node | None = None, unit: Unit = Unit.C):
        """Find it. Use it when asked.

        Args:
            limit: At most so many.
        """
        return query, limit, node, unit

    properties = find.parameters["properties"]
    assert find.schema()["function"]["strict"] is True
    assert find.parameters["required"] == ["query", "limit", "node", "unit"]
    assert properties["limit"] == {
        "type": ["integer", "null"],
        "description": "At most so many. (default: 10)",
    }
    assert properties["unit"]["enum"] == ["celsius", "fahrenheit", None]
    assert [finding for finding in lint(find) if finding.rule == "not-strict"] == []
    node = {"value": 1, "label": None, "next": None, "more": None}
    arguments = {"query": "q", "limit": None, "node": node, "unit": None}
    assert find.checker.problems(arguments) == ()
    assert find.invoke(arguments) == ("q", 10, Node(1), Unit.C)


STRICT_HINTS = [h for h, _ in HINTED if h not in (dict[str, list[float]], tuple[int, str])]


@pytest.mark.parametrize("hint", STRICT_HINTS, ids=str)
def test_strict_schemas_keep_to_strict_mode(hint):
    made = tool_for(hint, strict=True)
    Draft202012Validator.check_schema(made.parameters)
    assert [str(finding) for finding in lint(made) if finding.rule == "not-strict"] == []


@pytest.mark.parametrize("hint", [dict[str, int], dict, Any, list, tuple[int, str]], ids=str)
def test_what_cannot_be_strict_is_refused(hint):
    with pytest.raises(InvalidToolSignature, match=r"function\.x cannot be strict"):
        tool_for(hint, strict=True)


def test_as_registry():
    made = tool(len_of)
    registry = ToolRegistry([made])
    assert as_registry(registry) is registry
    assert list(as_registry([made, one])) == [made, tool(one)]
    assert list(as_registry(made)) == list(as_registry(len_of)) == [made]
    assert len(as_registry([])) == 0
    assert as_registry(iter([made]))["len_of"] is made
    for wrong in (5, None, "add", {"add": 1}, [5], ["add"]):
        with pytest.raises(InvalidInput, match=r"is not a tool; expected"):
            as_registry(wrong)
    with pytest.raises(InvalidInput, match="two tools are named 'one'"):
        as_registry([one, one])


def test_tools_of_one_function_share_nothing_that_can_change():
    first, second = tool(one), tool(one)
    assert first == second
    with pytest.raises(ReadOnlyRecord):
        first.parameters["properties"]["city"]["type"] = "integer"
    first.schema()["function"]["parameters"]["properties"]["city"]["type"] = "integer"
    assert (
        second.parameters["properties"]["city"]
        == tool(one).parameters["properties"]["city"]
        == {"type": "string"}
    )


def test_a_new_docstring_or_default_is_read_again():
    def f(x: int = 1):
        """Old."""

    assert tool(f).description == "Old."
    f.__doc__, f.__defaults__ = "New.", (2,)
    assert (tool(f).description, tool(f).parameters["properties"]["x"]["default"]) == ("New.", 2)


def test_the_cache_keeps_no_function_alive():
    def f(x: Unit, y: Point): ...

    tool(f).invoke({"x": "celsius", "y": {"x": 1}})
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def plain(a: int, b: str = "x", *, c: float, d: bool = True) -> tuple[Any, ...]:
    local = (a, b)
    return (*local, c, d)


@pytest.mark.parametrize("function", [plain, one, lambda: 1, lambda a, b=1: (a, b), unhinted])
def test_the_fast_signature_is_the_real_one(function):
    made = tool(function, name="f", param_names=list(inspect.signature(function).parameters))
    parameters = inspect.signature(function).parameters.values()
    assert list(made.parameters["properties"]) == [p.name for p in parameters]
    assert made.parameters["required"] == [p.name for p in parameters if p.default is p.empty]


def test_defining_plain_tools_imports_nothing_heavy():
    code = (
        "import sys; from zoolab.steps.define import tool\n"
        "def f(a: int, b: str = 'x'): ...\n"
        "tool(f).invoke({'a': 1})\n"
        "print(sorted({'pydantic', 'jsonschema', 'openai', 'docstring_parser'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_tool_gives_a_tool():
    assert isinstance(tool(one), Tool)
    assert isinstance(tool(risk="medium")(one), Tool)
