"""Finds problems in a tool's description and schema that mislead models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from zoolab.files import read_table
from zoolab.jsontext import pointer_to
from zoolab.schema.parts import subschemas
from zoolab.schema.strict import STRICT_KEYWORDS
from zoolab.tokens import tokens_in
from zoolab.tools import Tool

Severity = Literal["warning", "error"]
Schema = dict[str, Any]

MAX_DESCRIPTION = 1024
MAX_TOOLS = 20
MAX_TOKENS = 800
#: From this share of common words on, two descriptions are one to a model.
SAME_WORDS = 0.8
#: A word that comes more often, and makes up more than a fifth of the text, is stuffing.
STUFFED = 4

#: The kinds of keywords that rules read.
_KINDS: dict[str, Any] = {"properties": dict, "required": list, "description": str, "type": str | list}

_WORD = re.compile(r"[a-z0-9]+")
_MAX_READ = 20_000
_TYPES = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"))

_TABLE = read_table("zoolab", "lint.toml")
#: The rules, in the order of their findings, and what to do when one is broken.
RULES: dict[str, str] = _TABLE["rules"]
#: Expressions that tell something of a description.
_SAYS = {name: re.compile(text, re.I) for name, text in _TABLE["expressions"].items()}

__all__ = ["RULES", "Finding", "lint"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to better: which rule, which tool, where in its schema, what is there, and what to do."""

    rule: str
    #: The tool's name; empty for a finding about all tools together.
    tool: str
    #: A JSON Pointer into the tool's parameters; empty for the tool itself.
    pointer: str
    message: str
    advice: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.tool}{self.pointer}: {self.message}. {self.advice}".lstrip(": ")


def lint(tools: Tool | Iterable[Tool]) -> list[Finding]:
    """Return all findings about one tool, or about several (a registry too) as a model sees them: together.

    Raises `InvalidSchema` for an invalid schema.

    >>> [finding.rule for finding in lint(Tool("now", "", {"type": "object", "properties": {}}))]
    ['no-description', 'not-closed']
    """
    members = [tools] if isinstance(tools, Tool) else list(tools)
    found: list[Finding] = []
    for tool in members:
        _ = tool.checker  # raises for an invalid schema
        broken = (*_in_description(tool), *_in_parameters(tool), *_in_schema(tool))
        found += _findings((rule, tool.name, pointer, message) for rule, pointer, message in broken)
    return found + _findings((rule, name, "", message) for rule, name, message in _together(members))


#: The rule that is broken, where (a pointer, or a tool), and a message.
_Broken = tuple[str, str, str]


def _findings(broken: Iterable[tuple[str, str, str, str]]) -> list[Finding]:
    order = list(RULES)
    return [
        Finding(rule, tool, pointer, message, RULES[rule], "error" if rule in _TABLE["errors"] else "warning")
        for rule, tool, pointer, message in sorted(broken, key=lambda found: order.index(found[0]))
    ]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower().replace("_", " ")) if word not in _TABLE["fillers"]]


def _nodes(schema: Any, path: list[Any]) -> Iterator[tuple[str, Schema]]:
    if isinstance(schema, dict):
        readable = {name: value for name, value in schema.items() if _is_of_its_kind(name, value)}
        yield pointer_to(path), readable
        for steps, child in subschemas(schema):
            yield from _nodes(child, [*path, *steps])


def _is_of_its_kind(name: str, value: Any) -> bool:
    """Return whether a keyword can be read: no draft judges every part of a schema, and odd values say
    nothing.
    """
    texts = name != "required" or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    return texts and isinstance(value, _KINDS.get(name, object))


def _in_description(tool: Tool) -> Iterator[_Broken]:
    text = tool.description
    words = _words(tool.description)
    if not text.strip():
        yield "no-description", "", "the tool has no description"
    elif not _SAYS["when"].search(text):
        yield "no-when", "", "the description does not say when to use the tool"
    if 0 < len(text.split()) < 3:
        yield "short-description", "", "the description has fewer than 3 words"
    if len(text) > MAX_DESCRIPTION:
        yield "long-description", "", f"the description has {len(text):,} characters"
    if words and set(words) <= set(_words(tool.name)):
        yield "repeats-name", "", "the description only repeats the name"
    for word, count in Counter(words).most_common(1):
        if count > STUFFED and count * 5 > len(words):
            yield "stuffed-description", "", f"the description says {word!r} {count} times"
    texts = [text, *(str(node.get("description", "")) for _, node in _nodes(tool.parameters, []))]
    orders = next(filter(None, (_SAYS["orders"].search(each[:_MAX_READ]) for each in texts)), None)
    if orders is not None:
        yield "orders-the-model", "", f"a description gives the model orders: {orders.group()!r}"


def _in_parameters(tool: Tool) -> Iterator[_Broken]:
    for where, node in _nodes(tool.parameters, []):
        for name, schema in node.get("properties", {}).items():
            if not isinstance(schema, dict):
                continue
            pointer = where + pointer_to(["properties", name])
            described = schema.get("description", "")
            described = described if isinstance(described, str) else ""
            if not described.strip():
                yield "undescribed-parameter", pointer, f"the parameter {name!r} has no description"
            if not schema.keys() & _TYPES:
                yield "untyped-parameter", pointer, f"the parameter {name!r} has no type"
            free = not schema.keys() & {"enum", "const", "format", "pattern"}
            if schema.get("type") == "string" and free and _SAYS["choices"].search(described):
                what = f"{name!r} takes any string, and its description lists choices"
                yield "choices-as-text", pointer, what
            required = name in node.get("required", ())
            if required and "default" in schema:
                yield "required-with-default", pointer, f"{name!r} is required and has a default"
            if not required and "default" not in schema:
                yield "optional-without-default", pointer, f"{name!r} is optional and has no default"


def _in_schema(tool: Tool) -> Iterator[_Broken]:
    for pointer, node in _nodes(tool.parameters, []):
        for name in node.get("required", ()):
            if name not in node.get("properties", {}):
                yield "unknown-required", pointer, f"{name!r} is required and not described"
        if "properties" in node and node.get("additionalProperties") is not False:
            yield "not-closed", pointer, "arguments with other names are accepted"
        for why in _strict_violations(node) if tool.strict else ():
            yield "not-strict", pointer, f"strict mode does not allow {why}"
    tokens = tokens_in(tools=[tool.schema()])
    if tokens > MAX_TOKENS:
        yield "large-schema", "", f"the tool takes about {tokens:,} tokens"


def _strict_violations(node: Schema) -> Iterator[str]:
    yield from sorted(node.keys() - STRICT_KEYWORDS)
    if not node.keys() & _TYPES:
        yield "a value without a type"
    if "object" in node.get("type", ()) or "properties" in node:
        if node.get("additionalProperties") is not False:
            yield "an open object"
        for name in sorted(node.get("properties", {}).keys() - set(node.get("required", ()))):
            yield f"the optional property {name!r}"
    if "array" in node.get("type", ()) and not isinstance(node.get("items"), dict):
        yield "an array without items"


def _together(tools: list[Tool]) -> Iterator[_Broken]:
    """Yield what is wrong with tools beside each other, with the name of a tool for a place."""
    for one, other in combinations(tools, 2):
        a = set(_words(one.description))
        b = set(_words(other.description))
        if a and len(a & b) >= SAME_WORDS * len(a | b):
            yield "same-description", other.name, f"the description is nearly that of {one.name!r}"
    seen: dict[str, str] = {}
    for tool in tools:
        plain = "".join(_WORD.findall(tool.name.lower())).removesuffix("s")
        first = seen.setdefault(plain, tool.name)
        if first != tool.name:
            yield "same-name", tool.name, f"the name is nearly that of {first!r}"
    if len(tools) > MAX_TOOLS:
        yield "many-tools", "", f"there are {len(tools)} tools"
