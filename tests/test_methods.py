"""`@tool` on the methods of a class: the attribute of an object is its tool."""

import asyncio
import functools
import pickle
import sys
from dataclasses import dataclass, field
from typing import Annotated

import cloudpickle
import pytest
from pydantic import Field

from zoolab import Context, Scripted, Tool, ToolRegistry, run, tool
from zoolab.errors import InvalidToolSignature


def cached(function):
    """Decorate without `functools.wraps`: nothing says that it stands in a class."""

    def look(self, page: str) -> str:
        return function(self, page)

    return look


class Api:
    """Methods of every kind."""

    __slots__ = ("name",)

    def __init__(self, name="api"):
        self.name = name

    @tool
    def look(self, page: str, lines: int = 3) -> str:
        """Look up a page.

        Args:
            page: Which page.
        """
        return f"{self.name}: {page} {lines}"

    @tool(risk="high", name="remove_page")
    def remove(self: "Api", page: str) -> str:
        """Remove a page."""
        return f"{self.name} without {page}"

    @tool
    async def wait(self, seconds: int = 0) -> str:
        """Wait."""
        await asyncio.sleep(0)
        return f"{self.name} waited {seconds}"

    @tool
    def whose(self, context: Context, limit: Annotated[int, Field(gt=0)] = 1) -> str:
        """Tell the user."""
        return f"{context.data} {limit} {self.name}"

    @tool
    def fielded(self, amount: int = Field(default=2, description="How many.")) -> str:
        """Take some."""
        return f"{self.name} {amount}"

    @tool
    def hinted(self: str, page: str) -> str:
        """Look up a page."""
        return page

    @tool
    @classmethod
    def made(cls, factor: int) -> str:
        """Make one."""
        return f"{cls.__name__} {factor}"

    @classmethod
    @tool
    def made_below(cls, factor: int) -> str:
        """Make one."""
        return f"{cls.__name__} {factor}"

    @staticmethod
    @tool
    def twice(x: int) -> int:
        """Double it."""
        return 2 * x

    @tool
    @staticmethod
    def thrice(x: int) -> int:
        """Treble it."""
        return 3 * x

    @tool
    @cached
    def kept(self, page: str) -> str:
        """Look up a page."""
        return f"{self.name} kept {page}"

    @tool
    @functools.lru_cache  # noqa: B019
    def remembered(self, page: str) -> str:
        """Look up a page."""
        return f"{self.name} remembers {page}"

    def plain(self, page: str) -> str:
        """Look up a page."""
        return f"{self.name} plain {page}"


class Sub(Api):
    """Inherits tools, and replaces one."""

    @tool
    def look(self, page: str) -> str:
        """Look twice."""
        return super().look(page) + "!"


@dataclass
class Shop:
    """A dataclass, which compares by value."""

    stock: dict = field(default_factory=dict)

    @tool
    def put(self, name: str, count: int) -> int:
        """Put some in stock."""
        self.stock[name] = self.stock.get(name, 0) + count
        return self.stock[name]


#: From 3.13, @classmethod above @tool makes a bound method of the tool.
BOUND_ANEW = sys.version_info >= (3, 13)
CALLED = [
    ("look", {"page": "a"}, "api: a 3"),
    ("remove", {"page": "a"}, "api without a"),
    ("fielded", {}, "api 2"),
    ("hinted", {"page": "a"}, "a"),
    ("made", {"factor": 2}, "Api 2"),
    ("made_below", {"factor": 2}, "Api 2"),
    ("twice", {"x": 2}, 4),
    ("thrice", {"x": 2}, 6),
    ("kept", {"page": "a"}, "api kept a"),
    ("remembered", {"page": "a"}, "api remembers a"),
]


@pytest.mark.parametrize(("name", "arguments", "value"), CALLED)
def test_a_method_is_a_tool_of_its_object(name, arguments, value):
    made = getattr(Api(), name)
    made = tool(made) if BOUND_ANEW and name == "made_below" else made
    assert isinstance(made, Tool)
    assert not {"self", "cls"} & made.parameters["properties"].keys()
    assert made.checker.problems(arguments) == ()
    assert made.invoke(arguments) == made(**arguments) == value


def test_the_attribute_of_the_class_describes_the_tool():
    assert Api.look.parameters == Api().look.parameters
    assert list(Api.look.parameters["properties"]) == ["page", "lines"]
    assert Api.look.parameters["properties"]["page"]["description"] == "Which page."
    assert Api.look(Api("x"), "a") == "x: a 3"
    assert (Api().remove.name, Api().remove.risk) == ("remove_page", "high")
    assert Api().look == Api.look


def test_a_method_of_the_class_needs_no_object():
    assert ToolRegistry([Api.made]).execute("made", {"factor": 1}) == "Api 1"
    assert run("q", [Sub.made_below], Scripted([[("made_below", {"factor": 1})], "done"])).outcome == "answer"
    assert (
        tool(Sub.made_below).invoke({"factor": 1}) == "Sub 1" if BOUND_ANEW else Sub.made_below(1) == "Sub 1"
    )


def test_methods_walk():
    first, second = Shop(), Shop()
    trace = run("q", [first.put], Scripted([[("put", {"name": "a", "count": 2})] * 2, "done"]))
    assert trace.outcome == "answer"
    assert (first.stock, second.stock) == ({"a": 4}, {})


def test_async_methods_and_contexts_walk():
    api = Api("x")
    called = [[("wait", {"seconds": 1}), ("whose", {"limit": 2})], "done"]
    trace = run("q", [api.wait, api.whose], Scripted(called), context="ada", envelope="plain")
    said = [message["content"] for message in trace.messages if message["role"] == "tool"]
    assert said == ["x waited 1", "ada 2 x"]
    assert list(api.whose.parameters["properties"]) == ["limit"]


def test_methods_are_inherited_and_replaced():
    assert Sub("s").remove.invoke({"page": "a"}) == "s without a"
    assert Sub("s").look.invoke({"page": "a"}) == "s: a 3!"
    assert Sub.look.description == "Look twice."


def test_objects_share_the_schema_of_their_class():
    first, second = Api("a").look, Api("b").look
    assert first.checker is second.checker
    assert first.sent is second.sent
    assert first.parameters is second.parameters


def test_a_method_goes_to_another_process():
    again = pickle.loads(cloudpickle.dumps(Api("far").look))
    assert again.invoke({"page": "a"}) == "far: a 3"
    again = pickle.loads(cloudpickle.dumps(ToolRegistry([Sub("far").look, Api("far").wait])))
    assert again.execute("look", {"page": "a"}) == "far: a 3!"
    assert again.execute("wait", {}) == "far waited 0"


@pytest.mark.parametrize("given", [Api.look, Sub.look, Api.plain, Api.wait])
def test_a_method_without_its_object_is_refused(given):
    advice = r"is the method of a class, without its object; .*tool\(obj\.method\)"
    with pytest.raises(InvalidToolSignature, match=advice):
        run("q", [given], Scripted(["done"]))
    with pytest.raises(InvalidToolSignature, match=advice):
        ToolRegistry([given if isinstance(given, Tool) else tool(given)])


def test_a_plain_method_becomes_a_tool_by_its_object():
    assert tool(Api("x").plain).invoke({"page": "a"}) == "x plain a"
    assert tool(functools.partial(Api.plain, Api("x"))).invoke({"page": "a"}) == "x plain a"
    with pytest.raises(InvalidToolSignature, match=r"'self' has no type hint; .*tool\(obj\.method\)"):
        tool(functools.partial(Api.plain, page="a"))


def test_a_first_parameter_of_another_name_is_asked_for_by_name():
    with pytest.raises(InvalidToolSignature, match="name it self if it is the object"):

        class Api:
            @tool
            def look(this, page: str) -> str:
                """Look."""


def test_a_function_outside_a_class_may_call_a_parameter_self():
    @tool
    def describe(self: str, cls: int) -> str:
        """Describe."""
        return f"{self} {cls}"

    assert describe.invoke({"self": "a", "cls": 1}) == "a 1"
    named = tool(lambda self, x: (self, x), name="both", param_names=["self", "x"])
    assert named.invoke({"self": 1, "x": 2}) == (1, 2)
