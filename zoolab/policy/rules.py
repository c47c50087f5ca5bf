"""May a tool run? Rules by name and by risk decide at once, or leave it to a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zoolab.records import Decision

if TYPE_CHECKING:
    from zoolab.tools import Risk, Tool


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules that are asked before a tool runs. What is denied by name stays denied.

    Args:
        allow: Tools that run without asking, whatever their risk.
        deny: Tools that never run.
        ask: The risks for which a person is asked; other risks run at once.

    >>> from zoolab.tools import Tool
    >>> Policy().decide(Tool("isolate_host", "Cut a host off.", {"type": "object"}, risk="high")).choice
    'pending'
    >>> Policy(allow={"ping"}).decide(Tool("ping", "Ping a host.", {"type": "object"}, risk="high")).choice
    'once'
    """

    allow: Collection[str] = ()
    deny: Collection[str] = ()
    ask: Collection[Risk] = ("medium", "high")

    def decide(self, tool: Tool, arguments: Mapping[str, Any] | None = None) -> Decision:
        """The decision for a tool: `once`, `deny`, or `pending` where a person has to say.

        >>> from zoolab.tools import Tool
        >>> Policy(deny={"rm"}).decide(Tool("rm", "Remove.", {"type": "object"})).reason
        'the policy denies rm'
        """
        if tool.name in self.deny:
            return Decision("deny", f"the policy denies {tool.name}")
        if tool.name in self.allow or tool.risk not in self.ask:
            return _ALLOWED
        return Decision("pending", f"{tool.name} is of {tool.risk} risk: allow it?")


_ALLOWED = Decision("once")
