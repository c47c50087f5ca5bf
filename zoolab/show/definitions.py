"""Define: how a Python signature became a schema, field by field; what is wrong with it; what it costs."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, cast, get_origin

from zoolab.errors import ZoolabError
from zoolab.lint import Finding, lint
from zoolab.show.block_types import Block, code, facts, folded, note, remaining
from zoolab.show.bounds import MAX_ROWS, Room, pretty
from zoolab.show.wording import as_text, count, type_of
from zoolab.tokens import tokens_in
from zoolab.tools import Tool, ToolRegistry

#: Bytes that a tool needs to be shown at all.
_LEAST = 4_000
_BROKEN = (ZoolabError, AttributeError, TypeError, ValueError, LookupError, RecursionError)


def define_blocks(room: Room, registry: ToolRegistry) -> list[Block]:
    """The tools of a run: fields, findings and costs of each.

    >>> from zoolab import ToolRegistry, tool
    >>> @tool
    ... def add(a: int, b: int = 0) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> blocks = define_blocks(Room(60_000), ToolRegistry([add]))
    >>> blocks[1]["label"], blocks[1]["rows"][1]["default"]
    ('add(a: int, b: int = 0) -> int', '0')
    """
    tools = list(registry)
    if not tools:
        return [note(room, "info", "No tools: the model can only answer.")]
    total = tokens_in(tools=(tool.schema() for tool in tools))
    blocks = facts(
        room,
        ("tools", count(len(tools), "tool")),
        ("cost of all", f"about {total:,} tokens in every request (an estimate: 4 characters a token)"),
    )
    shown: list[Tool] = []
    for tool in tools[:MAX_ROWS]:
        if room.left < _LEAST:
            break
        blocks += _tool(room, tool, forbidden=registry.denies(tool.name))
        shown.append(tool)
    blocks += remaining(room, len(tools) - len(shown), "tool")
    return blocks + _findings_together(room, shown)


def tokens_of(tool: Tool) -> int:
    """About how many tokens a tool takes in a request, counted as four characters each.

    >>> tokens_of(Tool("now", "The time.", {"type": "object"}))
    26
    """
    return tokens_in(tools=[tool.schema()])


def _tool(room: Room, tool: Tool, forbidden: bool) -> list[Block]:
    rows = _fields(room, tool)
    blocks: list[Block] = [{"b": "fields", "label": room.line(_signature(tool), 400), "rows": rows}]
    blocks += facts(
        room,
        ("description", as_text(tool.description) or "none"),
        ("cost", f"about {tokens_of(tool):,} tokens (an estimate)"),
        ("risk", tool.risk if tool.risk != "safe" else None),
        ("timeout", None if tool.timeout is None else f"{tool.timeout:g} s"),
        ("strict", "yes" if tool.strict else None),
        ("allowed", "no: a call is refused" if forbidden else None),
        ("results", f"untrusted data from {tool.untrusted}" if tool.untrusted else None),
    )
    schema = code(room, f"{tool.name}: the schema that the model sees", pretty(tool.parameters), 6_000)
    blocks.append(folded(schema))
    return blocks + _findings(room, tool)


def _signature(tool: Tool) -> str:
    """The Python signature; of a tool without a function, as much of one as its schema says."""
    python = _python_signature(tool)
    if python is not None:
        return f"{tool.name}{python}"
    return f"{tool.name}({', '.join(map(str, _properties(tool)))})"


def _python_signature(tool: Tool) -> inspect.Signature | None:
    if tool.function is None:
        return None
    try:
        return _with_bare_types(inspect.signature(tool.function, eval_str=True))
    except Exception:  # an annotation in quotes may name what is not there
        return _as_written(tool.function)


def _with_bare_types(signature: inspect.Signature) -> inspect.Signature:
    """Without what `Annotated` adds to a type: the description has a column of its own."""
    bare = [each.replace(annotation=_bare(each.annotation)) for each in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=_bare(signature.return_annotation))


def _bare(annotation: Any) -> Any:
    return annotation.__origin__ if get_origin(annotation) is Annotated else annotation


def _as_written(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _properties(tool: Tool) -> dict[str, Any]:
    properties = tool.parameters.get("properties")
    return cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}


def _fields(room: Room, tool: Tool) -> list[dict[str, Any]]:
    """Each parameter in Python and in the schema; one that only Python knows is the context."""
    signature = _python_signature(tool)
    python = dict(signature.parameters) if signature is not None else {}
    properties, required = _properties(tool), tool.parameters.get("required")
    names = [*properties, *(name for name in python if name not in properties)]
    return [
        _field(
            room,
            name,
            python.get(name),
            properties.get(name),
            isinstance(required, list) and name in required,
        )
        for name in names[:MAX_ROWS]
    ]


def _field(
    room: Room, name: str, python: inspect.Parameter | None, schema: Any, required: bool
) -> dict[str, Any]:
    said = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    return {
        "name": room.line(name, 80),
        "annotation": room.line(_annotation(python)),
        "default": room.line(_default(python)),
        "schema": room.line("not shown to the model" if schema is None else type_of(schema)),
        "description": room.line(said.get("description") or "", 400),
        "required": required,
    }


def _annotation(parameter: inspect.Parameter | None) -> str:
    if parameter is None or parameter.annotation is inspect.Parameter.empty:
        return ""
    return inspect.formatannotation(parameter.annotation)


def _default(parameter: inspect.Parameter | None) -> str:
    if parameter is None or parameter.default is inspect.Parameter.empty:
        return ""
    try:
        return repr(parameter.default)
    except BaseException:  # `repr` may raise SystemExit
        return f"<{type(parameter.default).__name__}>"


def _findings(room: Room, tool: Tool) -> list[Block]:
    try:
        found = lint(tool)
    except _BROKEN as error:
        return [note(room, "error", f"{tool.name}: the schema cannot be checked: {error}")]
    return [_finding(room, finding) for finding in found[:MAX_ROWS]]


def _findings_together(room: Room, tools: list[Tool]) -> list[Block]:
    try:
        found = lint(tools)
        alone = {finding for tool in tools for finding in lint(tool)}
    except _BROKEN:
        return []  # said at the tool that is to blame
    return [_finding(room, finding) for finding in found if finding not in alone][:MAX_ROWS]


def _finding(room: Room, finding: Finding) -> Block:
    return note(room, "error" if finding.severity == "error" else "warn", f"{finding.rule}: {finding}")
