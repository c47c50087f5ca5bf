"""Tools of other frameworks, in the form that their packages give them, without the packages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from zoolab import Context, Scripted, run, tool
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.steps.define import as_registry


class Sum(BaseModel):
    a: int
    b: int = 2


class Hidden(Sum):
    secret: str


class LangChainTool:
    """As `langchain_core.tools.StructuredTool` 1.x: not callable, `invoke` takes a dict."""

    def __init__(self, schema: Any, *, offered: Any = None, awaited: bool = False) -> None:
        self.name, self.description, self.args_schema = "add", "Add two integers.", schema
        self.tool_call_schema = offered or schema
        self.func, self.coroutine = (None, len) if awaited else (len, None)

    def invoke(self, given: dict[str, Any]) -> int:
        if self.func is None:
            raise NotImplementedError("StructuredTool does not support sync invocation.")
        return given["a"] + given.get("b", 2)

    async def ainvoke(self, given: dict[str, Any]) -> int:
        return 100 + given["a"]


@dataclass
class FunctionSchema:
    """As pydantic-ai 2.x keeps it."""

    function: Any
    takes_ctx: bool = False
    validator: Any = field(default_factory=lambda: TypeAdapter(dict[str, int]).validator)
    json_schema: Any = field(default_factory=Sum.model_json_schema)

    async def call(self, arguments: dict[str, Any], context: Any) -> Any:
        return self.function(*([context] if self.takes_ctx else []), **arguments)


def pydantic_ai_tool(function: Any, *, takes_ctx: bool = False, **options: Any) -> SimpleNamespace:
    schema = FunctionSchema(function, takes_ctx)
    defaults = {"prepare": None, "args_validator": None, "requires_approval": False, "timeout": None}
    named = {"name": "add", "description": None, "function": function, "takes_ctx": takes_ctx}
    return SimpleNamespace(**named, function_schema=schema, **{**defaults, **options})


def agents_tool(**options: Any) -> SimpleNamespace:
    async def on_invoke_tool(context: Any, text: str) -> str:
        assert context.run_config is None
        assert context.tool_name == "add"
        assert json.loads(context.tool_arguments) == json.loads(text)
        return f"{context.context} {sum(json.loads(text).values())}"

    described = {"name": "add", "description": "Add.", "params_json_schema": Sum.model_json_schema()}
    return SimpleNamespace(**described, on_invoke_tool=on_invoke_tool, **options)


FORM = {"name": "add", "description": "Add.", "parameters": Sum.model_json_schema(), "strict": True}


def result_of(given: Any, arguments: dict[str, Any]) -> Any:
    trace = run("?", [given], Scripted([[("add", arguments)], "Done."]), context=Context("ada"))
    assert trace.answer == "Done."
    return json.loads(trace.messages[-2]["content"])["data"]


@pytest.mark.parametrize(
    ("given", "data"),
    [
        (LangChainTool(Sum), 42),
        (LangChainTool(Sum, awaited=True), 140),
        (pydantic_ai_tool(lambda a, b=2: a + b), 42),
        (pydantic_ai_tool(lambda ctx, a, b=2: f"{ctx.deps} {a + b}", takes_ctx=True), "ada 42"),
        (agents_tool(), "ada 40"),
    ],
    ids=["langchain", "langchain-async", "pydantic-ai", "pydantic-ai-context", "openai-agents"],
)
def test_a_tool_of_another_framework_runs_in_a_walk(given, data):
    made = tool(given)
    assert made.name == "add"
    assert made.parameters["properties"].keys() == {"a", "b"}
    assert made.parameters["required"] == ["a"]
    assert result_of(given, {"a": 40}) == data


def test_the_root_of_a_langchain_schema_does_not_repeat_the_name():
    assert "title" not in tool(LangChainTool(Sum)).parameters
    by_hand = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert tool(LangChainTool(by_hand, awaited=True)).parameters == by_hand


def test_approval_and_time_limits_are_kept():
    made = tool(pydantic_ai_tool(len, requires_approval=True, timeout=3, strict=True))
    assert (made.risk, made.timeout, made.strict) == ("high", 3, True)
    made = tool(agents_tool(needs_approval=True, timeout_seconds=4.0, strict_json_schema=True))
    assert (made.risk, made.timeout, made.strict) == ("high", 4.0, True)


@pytest.mark.parametrize("form", [{"type": "function", "function": FORM}, {"type": "function", **FORM}])
def test_openais_form_is_a_tool_without_a_function(form):
    made = tool(form, risk="medium")
    assert made.schema() == {"type": "function", "function": FORM}
    assert as_registry(form)["add"].strict
    assert as_registry([form, tool(LangChainTool(Sum), name="plus")]).names() == ["add", "plus"]
    with pytest.raises(InvalidInput, match="tool 'add' has no function; define the tool with a function"):
        made(1)


def test_options_change_a_tool_of_another_framework():
    made = tool(LangChainTool(Sum), name="plus", description="Plus.", risk="high", untrusted="a ticket")
    assert (made.name, made.description, made.risk, made.untrusted) == ("plus", "Plus.", "high", "a ticket")

    class Now:
        def descriptor(self):
            return {"name": "now", "parameters": {"type": "object"}}

        def call(self, _arguments):
            return "noon"

    made = tool(Now(), risk="high", timeout=1)
    assert (made.name, made.risk, made.timeout, made.invoke({})) == ("now", "high", 1, "noon")


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (LangChainTool(Hidden, offered=Sum), {}, "takes secret from LangChain's own run; wrap it"),
        (LangChainTool(7, offered=7), {}, "describes its arguments as 7; expected a JSON Schema"),
        (pydantic_ai_tool(len, prepare=len), {}, "has prepare=, which only pydantic-ai's agent runs"),
        (pydantic_ai_tool(len, args_validator=len), {}, "has args_validator="),
        (agents_tool(is_enabled=len), {}, "has is_enabled="),
        (agents_tool(tool_input_guardrails=[len]), {}, "has tool_input_guardrails"),
        ({"type": "web_search"}, {}, '"web_search" runs at the provider; expected'),
        ({"type": "function"}, {}, "has no name; expected"),
        ({"type": "function", "function": {**FORM, "cache": 1}}, {}, "has unknown keys: .*cache"),
        ({"type": "function", "cache": 1, "function": FORM}, {}, "has unknown keys: .*cache"),
        ({"type": "function", "function": {"name": "a", "parameters": {"type": 7}}}, {}, "schema"),
        (LangChainTool(Sum), {"strict": True}, "strict and param_names describe functions"),
        ({"name": "add"}, {}, "cannot become a tool; expected a function"),
        (SimpleNamespace(name="add", description="Add."), {}, "cannot become a tool; expected a function"),
    ],
)
def test_what_is_not_known_is_refused_with_one_line(given, options, message):
    with pytest.raises(ZoolabError, match=message) as caught:
        tool(given, **options)
    assert "\n" not in str(caught.value)
