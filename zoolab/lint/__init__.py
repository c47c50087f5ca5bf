"""What a model will stumble over in a tool's description and schema.

rules.py   the rules, and how bad it is to break each
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zoolab.lint.rules import TOOL_RULES, TOOLSET_RULES, Severity
from zoolab.tools import Tool

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

    Raises `InvalidSchema` for a schema that is none.

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
