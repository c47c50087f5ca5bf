"""What a model will stumble over in a tool's description and schema."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, cast

from zoolab.jsontext import pointer_to
from zoolab.schema.fragments import subschemas
from zoolab.schema.strict import STRICT_KEYWORDS
from zoolab.tokens import tokens_in
from zoolab.tools import Tool

Severity = Literal["warning", "error"]
Schema = dict[str, Any]
_Found = Iterable[tuple[str, str]]

MAX_DESCRIPTION = 1024
MAX_TOOLS = 20
MAX_TOKENS = 800
#: From this share of common words on, two descriptions are one to a model.
SAME_WORDS = 0.8
#: A word that comes more often, and makes up more than a fifth of the text, is stuffing.
STUFFED = 4

_WORD = re.compile(r"[a-z0-9]+")
_WHEN = re.compile(r"\b(when|whenever|if|before|after|for questions|to (?:find|answer|check|see))\b", re.I)
_CHOICES = re.compile(r"\b(?:one of|either|choose from|options?|allowed|valid)\b[^.]*(?:,|\||\bor\b|/)", re.I)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions|rules|above|before)\b"
    r"|\b(?:before|instead of) (?:using|calling) (?:any|every|another|other|all)\b"
    r"|\b(?:do not|don't|never) (?:tell|mention|show|inform)\b"
    r"|\b(?:system|important|critical)\s*(?::|>)|\.ssh\b|id_rsa\b|\.env\b",
    re.I,
)
_MAX_READ = 20_000
# fmt: off
_COMMON = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "that", "the",
    "this", "to", "with", "you",
))
# fmt: on
_TYPES = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"))


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower().replace("_", " ")) if word not in _COMMON]


def _nodes(schema: Any, path: list[Any]) -> Iterator[tuple[str, Schema]]:
    """Every object schema within a schema, with its pointer."""
    if isinstance(schema, dict):
        yield pointer_to(path), schema
        for steps, child in subschemas(schema):
            yield from _nodes(child, [*path, *steps])


def _parameters(tool: Tool) -> Iterator[tuple[str, str, Schema, bool]]:
    """Every named parameter, nested ones too: its pointer, name and schema, and whether it is required."""
    for pointer, node in _nodes(tool.parameters, []):
        for name, schema in node.get("properties", {}).items():
            if isinstance(schema, dict):
                where = pointer + pointer_to(["properties", name])
                yield where, name, cast("Schema", schema), name in node.get("required", ())


def _no_description(tool: Tool) -> _Found:
    """Say in a sentence or two what the tool does; the model chooses by that."""
    if not tool.description.strip():
        yield "", "the tool has no description"


def _short_description(tool: Tool) -> _Found:
    """Add what the tool takes, what it gives, and when to use it."""
    if 0 < len(tool.description.split()) < 3:
        yield "", "the description has fewer than 3 words"


def _long_description(tool: Tool) -> _Found:
    """Cut it: it is sent with every request, and APIs refuse more than 1,024 characters."""
    if len(tool.description) > MAX_DESCRIPTION:
        yield "", f"the description has {len(tool.description):,} characters"


def _repeats_name(tool: Tool) -> _Found:
    """Say what the name does not say."""
    said = set(_words(tool.description))
    if said and said <= set(_words(tool.name)):
        yield "", "the description only repeats the name"


def _no_when(tool: Tool) -> _Found:
    """Add when to use it: "Use this when the user asks about ..."."""
    if tool.description.strip() and not _WHEN.search(tool.description):
        yield "", "the description does not say when to use the tool"


def _stuffed_description(tool: Tool) -> _Found:
    """Write for a reader: repeated keywords win calls that the tool cannot answer."""
    words = _words(tool.description)
    for word, count in Counter(words).most_common(1):
        if count > STUFFED and count * 5 > len(words):
            yield "", f"the description says {word!r} {count} times"


def _orders_the_model(tool: Tool) -> _Found:
    """Take it out, or do not offer the tool: a description informs, and gives no orders beyond itself."""
    texts = [tool.description, *(str(node.get("description", "")) for _, node in _nodes(tool.parameters, []))]
    for text in texts:
        found = _ORDERS.search(text[:_MAX_READ])
        if found:
            yield "", f"a description gives the model orders: {found.group()!r}"
            return


def _undescribed_parameter(tool: Tool) -> _Found:
    """Describe it in the docstring's Args section or with Annotated; give the unit or an example."""
    for pointer, name, schema, _required in _parameters(tool):
        if not schema.get("description", "").strip():
            yield pointer, f"the parameter {name!r} has no description"


def _untyped_parameter(tool: Tool) -> _Found:
    """Give it a type: without one the model may send anything."""
    for pointer, name, schema, _required in _parameters(tool):
        if not schema.keys() & _TYPES:
            yield pointer, f"the parameter {name!r} has no type"


def _choices_as_text(tool: Tool) -> _Found:
    """Make the choices an enum (Literal or Enum in Python); then nothing else validates."""
    for pointer, name, schema, _required in _parameters(tool):
        free = schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format", "pattern"}
        if free and _CHOICES.search(schema.get("description", "")):
            yield pointer, f"{name!r} takes any string, and its description lists choices"


def _unknown_required(tool: Tool) -> _Found:
    """Describe it under properties, or take it out of required: the model cannot guess it."""
    for pointer, node in _nodes(tool.parameters, []):
        for name in node.get("required", ()):
            if name not in node.get("properties", {}):
                yield pointer, f"{name!r} is required and not described"


def _required_with_default(tool: Tool) -> _Found:
    """Take it out of required, or drop the default: together they say two things."""
    for pointer, name, schema, required in _parameters(tool):
        if required and "default" in schema:
            yield pointer, f"{name!r} is required and has a default"


def _optional_without_default(tool: Tool) -> _Found:
    """Say in the schema what happens when it is left out."""
    for pointer, name, schema, required in _parameters(tool):
        if not required and "default" not in schema:
            yield pointer, f"{name!r} is optional and has no default"


def _not_closed(tool: Tool) -> _Found:
    """Set additionalProperties to false, or invented arguments pass the check."""
    for pointer, node in _nodes(tool.parameters, []):
        if "properties" in node and node.get("additionalProperties") is not False:
            yield pointer, "arguments with other names are accepted"


def _not_strict(tool: Tool) -> _Found:
    """Make the schema with tool(..., strict=True); the API refuses this one."""
    for pointer, node in _nodes(tool.parameters, []) if tool.strict else ():
        for why in _strict_violations(node):
            yield pointer, f"strict mode does not allow {why}"


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


def _large_schema(tool: Tool) -> _Found:
    """Split the tool or shorten its schema: it is paid for in every request."""
    tokens = tokens_in(tools=[tool.schema()])
    if tokens > MAX_TOKENS:
        yield "", f"the tool takes about {tokens:,} tokens"


def _same_description(tools: list[Tool]) -> _Found:
    """Say in both when to use the one and not the other, or make one tool of them."""
    for one, other in combinations(tools, 2):
        a, b = set(_words(one.description)), set(_words(other.description))
        if a and len(a & b) >= SAME_WORDS * len(a | b):
            yield other.name, f"the description is nearly that of {one.name!r}"


def _same_name(tools: list[Tool]) -> _Found:
    """Rename one of them: names that differ in case, punctuation or a plural s get mixed up."""
    seen: dict[str, str] = {}
    for tool in tools:
        plain = "".join(_WORD.findall(tool.name.lower())).removesuffix("s")
        first = seen.setdefault(plain, tool.name)
        if first != tool.name:
            yield tool.name, f"the name is nearly that of {first!r}"


def _many_tools(tools: list[Tool]) -> _Found:
    """Offer only the tools of the task at hand; the choice gets worse with every further one."""
    if len(tools) > MAX_TOOLS:
        yield "", f"there are {len(tools)} tools"


#: The rules for one tool, each with how bad it is to break it. A rule yields (pointer, message).
TOOL_RULES: tuple[tuple[Callable[[Tool], _Found], Severity], ...] = (
    (_no_description, "error"),
    (_short_description, "warning"),
    (_long_description, "error"),
    (_repeats_name, "warning"),
    (_no_when, "warning"),
    (_stuffed_description, "warning"),
    (_orders_the_model, "warning"),
    (_undescribed_parameter, "warning"),
    (_untyped_parameter, "warning"),
    (_choices_as_text, "warning"),
    (_unknown_required, "error"),
    (_required_with_default, "warning"),
    (_optional_without_default, "warning"),
    (_not_closed, "warning"),
    (_not_strict, "error"),
    (_large_schema, "warning"),
)
#: The rules for tools together. A rule yields (tool, message).
TOOLSET_RULES: tuple[tuple[Callable[[list[Tool]], _Found], Severity], ...] = (
    (_same_description, "warning"),
    (_same_name, "warning"),
    (_many_tools, "warning"),
)


__all__ = ["TOOLSET_RULES", "TOOL_RULES", "Finding", "lint"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to better: which rule, which tool, where in its schema, what is there, and what to do.

    >>> print(Finding("no-description", "now", "", "there is none", "Say what it does.", "error"))
    now: there is none. Say what it does.
    """

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
    """All findings about one tool, or about several (a registry too) as a model sees them: together.

    Raises `InvalidSchema` for an invalid schema.

    >>> [finding.rule for finding in lint(Tool("now", "", {"type": "object", "properties": {}}))]
    ['no-description', 'not-closed']
    """
    members = [tools] if isinstance(tools, Tool) else list(tools)
    return [finding for tool in members for finding in _findings(tool)] + [
        _finding(rule, severity, tool, "", message)
        for rule, severity in TOOLSET_RULES
        for tool, message in rule(members)
    ]


def _findings(tool: Tool) -> Iterator[Finding]:
    _ = tool.checker
    for rule, severity in TOOL_RULES:
        for pointer, message in rule(tool):
            yield _finding(rule, severity, tool.name, pointer, message)


def _finding(rule: Callable[..., Any], severity: Severity, tool: str, pointer: str, message: str) -> Finding:
    name = rule.__name__.strip("_").replace("_", "-")
    return Finding(name, tool, pointer, message, inspect.getdoc(rule) or "", severity)
