"""Define: how a Python signature became a schema, field by field; what is wrong with it; what it costs."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, cast, get_origin

from zoolab.errors import ZoolabError
from zoolab.lint import Finding, lint
from zoolab.show.block_types import MAX_ROWS, Block, Room, folded
from zoolab.show.wording import as_text, count, pretty, python_form, type_of
from zoolab.tokens import tokens_in
from zoolab.tools import Tool, ToolRegistry

#: Bytes that a tool needs to be shown at all.
_LEAST = 4_000
_NONE: Any = inspect.Parameter.empty
_BROKEN = (ZoolabError, AttributeError, TypeError, ValueError, LookupError, RecursionError)


def define_blocks(room: Room, registry: ToolRegistry) -> list[Block]:
    """The tools of a run: fields, findings and costs of each."""
    tools = list(registry)
    if not tools:
        return [room.note("info", "No tools: the model can only answer.")]
    total = tokens_in(tools=(tool.schema() for tool in tools))
    blocks = room.facts(
        ("tools", count(len(tools), "tool")),
        ("cost of all", f"about {total:,} tokens in every request (an estimate: 4 characters a token)"),
    )
    shown: list[Tool] = []
    said: set[Finding] = set()
    for tool in tools[:MAX_ROWS]:
        if room.left < _LEAST:
            break
        blocks += _tool(room, tool, forbidden=registry.denies(tool.name))
        blocks += _findings(room, tool, said)
        shown.append(tool)
    blocks += room.remaining(len(tools) - len(shown), "tool")
    return blocks + _findings(room, shown, said)


def parameters_of(tool: Tool | None) -> list[tuple[str, Any, bool]]:
    """The parameters that a tool's schema names: name, schema, and whether it is required."""
    schema = {} if tool is None else tool.parameters
    properties, required = schema.get("properties"), schema.get("required")
    known = required if isinstance(required, list) else []
    return [(n, s, n in known) for n, s in properties.items()] if isinstance(properties, dict) else []


def _tool(room: Room, tool: Tool, forbidden: bool) -> list[Block]:
    signature, parameters = _signature(tool), parameters_of(tool)
    python = dict(signature.parameters) if signature is not None else {}
    written = f"({', '.join(name for name, _, _ in parameters)})" if signature is None else signature
    named = {name for name, _, _ in parameters}
    parameters += [(name, None, False) for name in python if name not in named]  # such as the context
    rows = [_field(room, name, python.get(name), *more) for name, *more in parameters[:MAX_ROWS]]
    blocks: list[Block] = [{"b": "fields", "label": room.line(f"{tool.name}{written}", 400), "rows": rows}]
    blocks += room.facts(
        ("description", as_text(tool.description) or "none"),
        ("cost", f"about {tokens_in(tools=[tool.schema()]):,} tokens (an estimate)"),
        ("risk", tool.risk if tool.risk != "safe" else None),
        ("timeout", None if tool.timeout is None else f"{tool.timeout:g} s"),
        ("strict", "yes" if tool.strict else None),
        ("allowed", "no: a call is refused" if forbidden else None),
        ("results", f"untrusted data from {tool.untrusted}" if tool.untrusted else None),
    )
    schema = room.code(f"{tool.name}: the schema that the model sees", pretty(tool.parameters), 6_000)
    return [*blocks, folded(schema)]


def _signature(tool: Tool) -> inspect.Signature | None:
    """The Python signature, without what `Annotated` adds to a type: that has a column of its own."""
    function: Any = tool.function
    for evaluated in (True, False):  # an annotation in quotes may name what is not there
        try:
            signature = inspect.signature(function, eval_str=evaluated)
            each = signature.parameters.values()
            parameters = [parameter.replace(annotation=_bare(parameter.annotation)) for parameter in each]
            returns = _bare(signature.return_annotation)
            return signature.replace(parameters=parameters, return_annotation=returns)
        except Exception:
            continue
    return None


def _bare(annotation: Any) -> Any:
    return annotation.__origin__ if get_origin(annotation) is Annotated else annotation


def _field(
    room: Room, name: str, python: inspect.Parameter | None, schema: Any, required: bool
) -> dict[str, Any]:
    """A parameter in Python and in the schema."""
    said = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    annotation, default = (python.annotation, python.default) if python is not None else (_NONE, _NONE)
    return {
        "name": room.line(name, 80),
        "annotation": room.line("" if annotation is _NONE else inspect.formatannotation(annotation)),
        "default": room.line("" if default is _NONE else python_form(default)),
        "schema": room.line("not shown to the model" if schema is None else type_of(schema)),
        "description": room.line(said.get("description") or "", 400),
        "required": required,
    }


def _findings(room: Room, tools: Tool | list[Tool], said: set[Finding]) -> list[Block]:
    """What `lint` finds in a tool, or in several together, but for what is said already."""
    try:
        found = [finding for finding in lint(tools) if finding not in said]
    except _BROKEN as error:  # of several, it is said at the tool that is to blame
        told = f"the schema cannot be checked: {error}"
        return [room.note("error", f"{tools.name}: {told}")] if isinstance(tools, Tool) else []
    said.update(found)
    tones = {"error": "error", "warning": "warn"}
    return [room.note(tones[each.severity], f"{each.rule}: {each}") for each in found[:MAX_ROWS]]
