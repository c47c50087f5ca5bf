"""The rules, and what people have said so far: asked before every call, and told how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoolab.policy.rules import Policy
from zoolab.records import Decision

if TYPE_CHECKING:
    from zoolab.tools import Tool


class Permissions:
    """A policy with a memory: what was allowed for the session is not asked again.

    >>> from zoolab.tools import Tool
    >>> wipe = Tool("wipe", "Wipe a disk.", {"type": "object"}, risk="high")
    >>> permissions = Permissions()
    >>> permissions.settle(wipe, {}, Decision("session")).allowed, permissions.decide(wipe, {}).choice
    (True, 'session')
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self._granted: set[tuple[str, str]] = set()

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """The decision that stands: once, session, always, deny; or pending, where a person has to say."""
        decision = self.policy.decide(tool, arguments)
        if decision.choice == "pending" and (tool.name, _resource(tool, arguments)) in self._granted:
            return Decision("session")
        return decision

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """Remember what a person said, and return what holds for this call: only allowed ones run."""
        if decision.choice == "pending":
            return Decision("deny", "nobody allowed it")
        if decision.choice in ("session", "always"):
            self._granted.add((tool.name, _resource(tool, arguments)))
        return decision


def _resource(tool: Tool, arguments: Mapping[str, Any]) -> str:
    return "" if tool.resource is None else tool.resource(dict(arguments))
