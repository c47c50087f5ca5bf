"""Tools of other frameworks as zoolab's: what `zoolab.tool(...)` takes besides functions.

Each function is registered in the group `zoolab.tools`. It knows a tool by its attributes, so that no
framework is imported, and returns the fields of a `zoolab.Tool`, or None if the value has another form.
What a framework does around its tools, and zoolab does not, is refused with the name of the option.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from zoolab.errors import InvalidToolSignature
from zoolab.jsontext import excerpt
from zoolab.tools import Context

Fields = dict[str, Any]

#: The parameter of the walk's context. No argument of a model can have this name by accident.
_CONTEXT = "the context of the walk"
_FORM = '{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}'
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def openai_form(given: Any) -> Fields | None:
    """Read a tool as Chat Completions or Responses send it: a description, without a function.

    >>> openai_form({"type": "function", "function": {"name": "now", "description": "The time."}})["name"]
    'now'
    """
    if not isinstance(given, Mapping) or "type" not in given:
        return None
    if given["type"] != "function":
        raise InvalidToolSignature(
            f"a tool of the type {excerpt(given['type'])} runs at the provider", expected=_FORM
        )
    outside = {"type", "function"} if "function" in given else {"type"}
    body = given.get("function", given)
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InvalidToolSignature(f"{excerpt(given)} has no name", expected=_FORM)
    known = {"name", "description", "parameters", "strict"}
    unknown = [*(given.keys() - outside - (known if body is given else set()))]
    unknown += [] if body is given else [*(body.keys() - known)]
    if unknown:
        keys = ", ".join(sorted(map(str, unknown)))
        raise InvalidToolSignature(
            f"tool {body['name']!r} has unknown keys: {excerpt(keys)}", advice="leave them out"
        )
    return {
        "name": body["name"],
        "description": body.get("description") or "",
        "parameters": _schema_of(body["name"], body.get("parameters") or _NO_ARGUMENTS),
        "strict": body.get("strict") is True,
    }


def langchain(given: Any) -> Fields | None:
    """Read a tool of LangChain (`BaseTool`): `invoke` runs it, or `ainvoke` if it is only async."""
    if not _has(given, "name", "description", "args_schema", "invoke"):
        return None
    offered = getattr(given, "tool_call_schema", None) or given.args_schema
    parameters = _schema_of(given.name, offered)
    hidden = _required_by(given.args_schema) - set(parameters.get("properties", {}))
    if hidden:
        raise _refused(given.name, f"takes {', '.join(sorted(hidden))} from LangChain's own run")
    # The root of LangChain's schema says the name and the description once more.
    repeated = {"title": parameters.get("title"), "description": given.description}
    kept = {key: value for key, value in parameters.items() if repeated.get(key, _CONTEXT) != value}
    return {
        "name": given.name,
        "description": given.description,
        "parameters": kept,
        "function": _langchain_call(given),
    }


def _langchain_call(given: Any) -> Callable[..., Any]:
    async def awaited(**arguments: Any) -> Any:
        return await given.ainvoke(arguments)

    def called(**arguments: Any) -> Any:
        return given.invoke(arguments)

    only_async = getattr(given, "coroutine", None) is not None and getattr(given, "func", None) is None
    return awaited if only_async else called


def pydantic_ai(given: Any) -> Fields | None:
    """Read a tool of pydantic-ai (`Tool`).

    Its `RunContext` has only `deps`: the data of the walk's context.
    """
    if not _has(given, "name", "function", "takes_ctx", "function_schema"):
        return None
    schema = given.function_schema
    for option in ("prepare", "args_validator"):
        if getattr(given, option, None) is not None:
            raise _refused(given.name, f"has {option}=, which only pydantic-ai's agent runs")

    async def called(**arguments: Any) -> Any:
        context = SimpleNamespace(deps=_data_of(arguments.pop(_CONTEXT, None)))
        return await schema.call(schema.validator.validate_python(arguments), context)

    return {
        "name": given.name,
        "description": given.description or "",
        "parameters": _schema_of(given.name, schema.json_schema),
        "function": called,
        "risk": "high" if getattr(given, "requires_approval", False) else "safe",
        "timeout": getattr(given, "timeout", None),
        "strict": getattr(given, "strict", None) is True,
        "context_parameter": _CONTEXT if given.takes_ctx else None,
    }


def openai_agents(given: Any) -> Fields | None:
    """Read a tool of the OpenAI Agents SDK (`FunctionTool`).

    Its `ToolContext` has the data of the walk's context as `context`. If its function fails, the SDK's own
    handler makes a text of that, unless the tool was made with `failure_error_function=None`.
    """
    if not _has(given, "name", "description", "params_json_schema", "on_invoke_tool"):
        return None
    for option in ("tool_input_guardrails", "tool_output_guardrails"):
        if getattr(given, option, None):
            raise _refused(given.name, f"has {option}, which only the SDK's runner runs")
    if getattr(given, "is_enabled", True) is not True:
        raise _refused(given.name, "has is_enabled=, which only the SDK's runner asks")

    async def called(**arguments: Any) -> Any:
        data = _data_of(arguments.pop(_CONTEXT, None))
        text = json.dumps(arguments)
        return await given.on_invoke_tool(_AgentsContext(data, given.name, text), text)

    return {
        "name": given.name,
        "description": given.description,
        "parameters": _schema_of(given.name, given.params_json_schema),
        "function": called,
        "risk": "high" if getattr(given, "needs_approval", False) else "safe",
        "timeout": getattr(given, "timeout_seconds", None),
        "strict": getattr(given, "strict_json_schema", False) is True,
        "context_parameter": _CONTEXT,
    }


class _AgentsContext(SimpleNamespace):
    """What the SDK's tools look at while they run; what zoolab does not have is None."""

    def __init__(self, context: Any, name: str, arguments: str) -> None:
        named = {"tool_name": name, "qualified_tool_name": name}
        super().__init__(context=context, tool_arguments=arguments, tool_call_id="zoolab", **named)

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def _has(given: Any, *names: str) -> bool:
    """Tell whether an object, not a class, has these attributes."""
    return not isinstance(given, type | Mapping) and all(hasattr(given, name) for name in names)


def _data_of(context: Any) -> Any:
    """Return what other frameworks call dependencies: the data, or the context if its class names them."""
    return context.data if type(context) is Context else context


def _schema_of(name: str, described: Any) -> dict[str, Any]:
    """Return a JSON Schema that is a dict already, or that a model of pydantic makes."""
    made = described
    for method in ("model_json_schema", "schema"):
        if not isinstance(made, Mapping) and callable(getattr(made, method, None)):
            made = getattr(made, method)()
    if not isinstance(made, Mapping):
        raise InvalidToolSignature(
            f"tool {name!r} describes its arguments as {excerpt(made)}", expected="a JSON Schema"
        )
    return dict(made)


def _required_by(model: Any) -> set[str]:
    fields = getattr(model, "model_fields", None)
    if not isinstance(fields, Mapping):
        return set()
    return {name for name, field in fields.items() if field.is_required()}


def _refused(name: str, why: str) -> InvalidToolSignature:
    return InvalidToolSignature(f"tool {name!r} {why}", advice="wrap it in a function of your own")
