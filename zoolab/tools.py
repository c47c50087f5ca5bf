"""Tools: a name, a description, a JSON Schema of parameters, and a Python callable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CoroutineType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from zoolab.errors import (
    InvalidArguments,
    InvalidInput,
    InvalidToolSignature,
    PermissionDenied,
    ReadOnlyRecord,
    UnknownTool,
)
from zoolab.fault import Fault
from zoolab.jsontext import excerpt, lines_as_html
from zoolab.jsontext.readonly import plain, read_only
from zoolab.schema.descriptors import CallableTool, is_callable_tool, parts_of

if TYPE_CHECKING:
    # With defaults, so that a bare `Tool` in an annotation is `Tool[..., Any]`.
    from typing_extensions import ParamSpec, TypeVar

    from zoolab.schema.builder import ToolBuilder
    from zoolab.schema.checker import SchemaChecker

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", covariant=True, default=Any)
else:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

Risk = Literal["safe", "medium", "high"]
Resource = Callable[[dict[str, Any]], str]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_LETTERS = "1 to 64 letters, digits, _ or -"


def name_for_apis(name: str) -> str:
    """Make a name that every API takes from any name: 1 to 64 letters, digits, _ or -.

    >>> name_for_apis("triangle_properties.get")
    'triangle_properties_get'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


class Context:
    """What a walk hands to its tools, and the model never sees.

    A tool's parameter annotated `Context`, or with a subclass of it, receives the `context=` of the
    walk. A subclass names its data; any other object arrives as `data`.

    >>> Context({"user": "ada"}).data["user"]
    'ada'
    """

    def __init__(self, data: Any = None) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool's value, with what the trace shall keep beside it. The model sees the value alone."""

    value: Any
    #: The `Trace` of a walk that the tool made, where it is a sub-agent.
    trace: Any = None
    fault: Fault | None = None


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R_co]):
    """A name, a description, a JSON Schema of parameters, and the Python callable behind it.

    Made by `@zoolab.tool`, `Tool.build` or `Tool.from_schema`. Calling it calls the function. A type
    checker sees a function's signature in its tool: `Tool[[int], str]`; a bare `Tool` takes anything.
    For a variable that holds several tools mypy needs the annotation `list[Tool]`.

    >>> double = Tool.from_schema("double", "Double it.", {"type": "object"}, lambda x: 2 * x)
    >>> double(21), double.schema("mcp")["name"]
    (42, 'double')
    """

    name: str
    description: str
    #: A read-only copy of the schema that was given.
    parameters: dict[str, Any]
    function: Callable[..., Any] | None = field(default=None, repr=False)
    risk: Risk = "safe"
    #: Seconds after which a call is given up; None waits for ever.
    timeout: float | None = None
    #: Whether the model's side is asked to enforce the schema.
    strict: bool = False
    #: The parameter that receives the walk's `Context`.
    context_parameter: str | None = None
    #: Turns JSON arguments into what the function's annotations say; None where they are the same.
    bind: Callable[[dict[str, Any]], dict[str, Any]] | None = field(default=None, repr=False)
    #: What a call touches, from its arguments: a resolved path, a host. Rules match it, people see it.
    resource: Resource | None = field(default=None, repr=False)
    #: The source of untrusted results, for instance "a ticket"; they are marked as data for the model.
    untrusted: str = ""
    #: Whether it is the method of a class, which cannot be called without an object.
    needs_object: ClassVar[bool] = False

    def _repr_html_(self) -> str:
        schema = json.dumps(self.parameters, indent=2, ensure_ascii=False)
        return lines_as_html(f"{self.name}: {self.description}", schema)

    def __post_init__(self) -> None:
        named = f"tool {self.name!r}"
        if not isinstance(self.name, str) or not _TOOL_NAME.match(self.name):
            raise InvalidToolSignature(f"{self.name!r} is not a valid name of a tool", expected=_LETTERS)
        if self.timeout is not None and not self.timeout > 0:
            raise InvalidToolSignature(
                f"{named} has timeout {self.timeout!r}", expected="a number of seconds above 0"
            )
        if self.risk not in ("safe", "medium", "high"):
            raise InvalidToolSignature(f"{named} has risk {self.risk!r}", expected="safe, medium or high")
        self._check_schema()
        object.__setattr__(self, "parameters", read_only(self.parameters))

    def _check_schema(self) -> None:
        from zoolab.schema.checker import check_schema

        check_schema(self.parameters)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        if self.function is None:
            raise InvalidInput(
                f"tool {self.name!r} has no function",
                advice="define the tool with a function before you call it",
            )
        made: R_co = self.function(*args, **kwargs)
        return made

    def __eq__(self, other: object) -> bool:
        return self._description() == other._description() if isinstance(other, Tool) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def _description(self) -> tuple[Any, ...]:
        return self.name, self.description, self.parameters, self.risk, self.timeout, self.strict

    @cached_property
    def checker(self) -> SchemaChecker:
        """The compiled schema; compiled at the first use."""
        from zoolab.schema.checker import SchemaChecker

        return SchemaChecker(self.parameters)

    def schema(self, format: str = "openai") -> dict[str, Any]:
        """Describe the tool as an API expects it, in a dict of the caller's own.

        >>> Tool("now", "The time.", {"type": "object", "properties": {}}).schema("anthropic")
        {'name': 'now', 'description': 'The time.', 'input_schema': {'type': 'object', 'properties': {}}}
        """
        function = self._function()
        if format == "mcp":
            others = {key: value for key, value in function.items() if key not in ("parameters", "strict")}
            found = {**others, "inputSchema": function["parameters"]}
        else:
            from zoolab.apis import APIS

            if format not in APIS:
                raise InvalidInput(f"there is no tool format {format!r}", expected=", ".join((*APIS, "mcp")))
            found = APIS[format].tool_form(function)
        made: dict[str, Any] = plain(found)
        return made

    @cached_property
    def sent(self) -> dict[str, Any]:
        """The tool as requests carry it, read-only."""
        made: dict[str, Any] = read_only({"type": "function", "function": self._function()})
        return made

    def _function(self) -> dict[str, Any]:
        described = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {**described, "strict": True} if self.strict else described

    def invoke(self, arguments: Mapping[str, Any], context: Context | None = None) -> Any:
        """Call the function with JSON arguments: bound to Python types, and with its context."""
        given = dict(arguments)
        return self.call_bound(given if self.bind is None else self.bind(given), context)

    def call_bound(self, bound: dict[str, Any], context: Context | None = None) -> Any:
        """Call the function with arguments that are bound already, and with its context."""
        if self.context_parameter is not None:
            bound[self.context_parameter] = context
        call: Callable[..., Any] = self.function or self
        return call(**bound)

    @staticmethod
    def from_schema(
        name: str,
        description: str,
        schema: dict[str, Any],
        function: Callable[..., Any] | None = None,
        *,
        risk: Risk = "safe",
        timeout: float | None = None,
        strict: bool = False,
        resource: Resource | None = None,
        untrusted: str = "",
    ) -> Tool:
        """Build a tool whose schema is written by hand. `function` takes the arguments as keywords.

        >>> Tool.from_schema("now", "The time.", {"type": "object", "properties": {}}, lambda: "noon")()
        'noon'
        """
        made: Tool = Tool(
            name, description, schema, function, risk, timeout, strict, None, None, resource, untrusted
        )
        made.checker.compile()  # a schema written by hand may be wrong: say so now, not at the first call
        return made

    @staticmethod
    def described_by(member: CallableTool) -> Tool:
        """Build the tool that an object with `descriptor` and `call` describes."""
        described = member.descriptor()
        call = member.call

        def function(**arguments: Any) -> Any:
            return call(arguments)

        if isinstance(described, Tool):
            return replace(described, function=function, bind=None)
        return Tool.from_schema(*parts_of(described), function)

    @staticmethod
    def build(name: str, description: str) -> ToolBuilder[Tool]:
        """Start a tool whose parameters are named one by one.

        >>> search = (
        ...     Tool.build("search", "Search the notes.")
        ...     .param("query", "string", "What to look for.")
        ...     .param_opt("limit", "integer", "At most so many.")
        ...     .call(lambda query, limit=10: [query] * limit)
        ... )
        >>> search.parameters["required"]
        ['query']
        """
        from zoolab.schema.builder import ToolBuilder

        return ToolBuilder(name, description, Tool.from_schema)


class ToolRegistry:
    """The tools of a walk, in order, by name.

    >>> tools = ToolRegistry([Tool("now", "The time.", {"type": "object"}, lambda: "noon")])
    >>> len(tools), "now" in tools, [tool.name for tool in tools], tools.execute("now", {})
    (1, True, ['now'], 'noon')
    """

    def __init__(self, tools: Iterable[Tool | CallableTool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._denied: set[str] = set()
        self._fixed = False
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool | CallableTool) -> Tool:
        """Add a tool and return it; a second tool of the same name is an error.

        A walk has the tools that its define step showed. To the registry of that step none can be added:
        answer the step with others instead.
        """
        if self._fixed:
            raise ReadOnlyRecord(
                "no tool can be added to the registry of a walk",
                advice="answer the define step with another registry: steps.answer([*step.record, tool])",
            )
        if is_callable_tool(tool):
            tool = Tool.described_by(tool)
        if not isinstance(tool, Tool):
            raise InvalidInput(f"{excerpt(tool)} is not a tool", advice="make it one with zoolab.tool(...)")
        if tool.needs_object:
            raise InvalidToolSignature(
                f"{tool.name!r} is the method of a class, without its object",
                expected="the method of an object",
                advice=f"make an object and give obj.{tool.name}, or tool(obj.method)",
            )
        if tool.name in self._tools:
            raise InvalidInput(f"two tools are named {tool.name!r}", advice="give one of them another name")
        self._tools[tool.name] = tool
        return tool

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownTool(f"no tool is named {name!r}", expected=self.names_as_text()) from None

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, ToolRegistry) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._tools)})"

    def fixed(self, *more: Tool) -> ToolRegistry:
        """Copy the registry so that no tool can be added. `deny` and `allow` act on both.

        `more` are further tools; one of the same name takes the place of the other.
        """
        if self._fixed and not more:
            return self
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._tools = self._tools | {tool.name: tool for tool in more}
        made._fixed = True
        return made

    def changed(self, change: Callable[[Tool], Tool]) -> ToolRegistry:
        """Build a registry of changed tools. `deny` and `allow` act on both."""
        made = ToolRegistry(map(change, self))
        made._denied = self._denied
        return made

    def deny(self, name: str) -> None:
        """Forbid a tool from now on, in the middle of a walk, too: the model is told, nothing runs."""
        self._denied.add(self[name].name)

    def allow(self, name: str) -> None:
        """Take back a `deny`."""
        self._denied.discard(self[name].name)

    def denies(self, name: str) -> bool:
        """Tell whether a tool is forbidden."""
        return name in self._denied

    def has(self, name: str) -> bool:
        """Tell whether there is such a tool; the same as `name in registry`."""
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def names(self) -> list[str]:
        """Return the names of the tools, in order."""
        return list(self._tools)

    def names_as_text(self) -> str:
        """Join the names for an error message."""
        return "one of " + ", ".join(self._tools) if self._tools else "no tools at all"

    def schemas(self, format: str = "openai") -> list[dict[str, Any]]:
        """Describe all tools as an API expects them, by its name in `zoolab.apis.APIS`; or as "mcp"."""
        return [tool.schema(format) for tool in self]

    def execute(self, name: str, arguments: Mapping[str, Any], context: Context | None = None) -> Any:
        """Check the arguments, call the tool, return its value; raises what is wrong.

        A value that has to be awaited is awaited, on an event loop of its own.
        """
        tool = self[name]
        if self.denies(name):
            raise PermissionDenied(f"{name!r} is denied", advice=f"allow it with registry.allow({name!r})")
        if not isinstance(arguments, Mapping):
            raise InvalidInput(f"the arguments of {name!r} are {excerpt(arguments)}", expected="a dict")
        problems = tool.checker.problems(dict(arguments))
        if problems:
            found = "; ".join(problem.message for problem in problems)
            raise InvalidArguments(f"{name}: {found}", advice="give what the schema asks for")
        value = tool.invoke(arguments, context)
        if isinstance(value, CoroutineType):
            from zoolab.running.awaited import result_of  # it loads asyncio

            value = result_of(value)
        return value.value if isinstance(value, ToolReturn) else value
