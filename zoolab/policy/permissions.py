"""The rules, and what people have said so far: asked before every call, and told how it ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.policy.patterns import escape
from zoolab.policy.rules import BY_RISK, Policy, Rule, Touched, denial
from zoolab.records import Decision

if TYPE_CHECKING:
    from zoolab.policy.audit import Audit, Decider
    from zoolab.policy.remembered import PolicyFile, Remembered
    from zoolab.tools import Tool

#: How the reason of a decision begins that no person took.
NOBODY = "nobody"


class Permissions:
    """A policy with a memory: what was allowed for the session, or for always, is not asked again.

    What a rule denies is denied, here or in the file, whatever was allowed before or is allowed now.
    Safe to share between threads, and with sub-agents.

    Args:
        policy: The rules to begin with, by default those of `Policy()`.
        path: A policies.json that keeps what is allowed for always, and is read again before each
            decision; without it, always lasts as long as this object.
        audit: A JSONL file that gets a line for each decision; what cannot be written down does not run.

    Raises:
        InvalidInput: The policies.json cannot be understood, or one of the files cannot be opened.

    >>> from zoolab.tools import Tool
    >>> wipe = Tool("wipe", "Wipe a disk.", {"type": "object"}, risk="high")
    >>> permissions = Permissions()
    >>> permissions.settle(wipe, {}, Decision("session")).allowed, permissions.decide(wipe, {}).choice
    (True, 'session')
    """

    def __init__(
        self, policy: Policy | None = None, path: str | Path | None = None, audit: str | Path | None = None
    ) -> None:
        self.policy = policy or Policy()
        self._file = None if path is None else _opened(path)
        self._audit = None if audit is None else _begun(audit)
        self._unwatched = path is None and audit is None
        self._granted: tuple[Rule, ...] = ()
        self._granting = threading.Lock()
        if self._file is not None:
            self._kept()  # a file that cannot be understood is said now

    @classmethod
    def of_user(cls, policy: Policy | None = None, audit: str | Path | None = None) -> Permissions:
        """Permissions that share the user's own policies.json; `policies_path` says where it is."""
        from zoolab.policy.remembered import policies_path

        return cls(policy, policies_path(), audit)

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """The decision that stands: once, session, always, deny; or pending, where a person has to say."""
        if self._unwatched and self.policy.waves_through(tool):
            return BY_RISK
        touched = Touched.by(tool, arguments)
        decision = self._judge(tool, touched)
        if decision.choice != "pending":
            return self._noted(tool, touched, arguments, decision, "rule")
        reason = "; ".join(part for part in (decision.reason, touched.unknown) if part)
        resource = "" if touched.unknown else touched.resource
        return replace(decision, reason=reason, risk=tool.risk, resource=resource, arguments=dict(arguments))

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """Remember what a person said, and return what holds for this call: only allowed ones run."""
        touched = Touched.by(tool, arguments)
        decision, who = self._settled(tool, touched, decision)
        decision = self._noted(tool, touched, arguments, decision, who)
        try:
            self._remember(tool, touched, decision)
        except InvalidInput as error:
            refusal = Decision("deny", f"{decision.choice} cannot be kept: {error}")
            return self._noted(tool, touched, arguments, refusal, "rule")
        return decision

    def _settled(self, tool: Tool, touched: Touched, said: Decision) -> tuple[Decision, Decider]:
        """What holds, whatever was said, and who decided it."""
        if said.choice == "pending":
            return Decision("deny", f"{NOBODY} allowed it"), "nobody"
        if not said.allowed:
            return said, "nobody" if said.reason.startswith(NOBODY) else "person"
        standing = self._judge(tool, touched)
        return (standing, "rule") if standing.choice == "deny" else (said, "person")

    def _judge(self, tool: Tool, touched: Touched) -> Decision:
        try:
            kept = self._kept()
        except InvalidInput as error:
            return Decision("deny", str(error))
        decision = self.policy.judge(tool, touched)
        if decision.choice == "deny":
            return decision
        if refusal := denial(kept.deny, tool.name, touched):
            return Decision("deny", f"policies.json denies {refusal}")
        if decision.choice != "pending":
            return decision
        if any(rule.covers(tool.name, touched) for rule in self._granted):
            return Decision("session", f"{tool.name} is allowed for this session")
        if any(rule.covers(tool.name, touched) for rule in kept.allow):
            return Decision("always", f"policies.json allows {tool.name}")
        return decision

    def _kept(self) -> Remembered:
        from zoolab.policy.remembered import Remembered

        return Remembered() if self._file is None else self._file.read()

    def _remember(self, tool: Tool, touched: Touched, decision: Decision) -> None:
        if decision.choice not in ("session", "always"):
            return
        rule = _rule_for(tool, touched, decision.scope)
        if rule is None:
            return
        if decision.choice == "always" and self._file is not None:
            self._file.add("allow", rule.text)
            return
        with self._granting:
            if rule not in self._granted:
                self._granted = (*self._granted, rule)

    def _noted(
        self, tool: Tool, touched: Touched, arguments: Mapping[str, Any], decision: Decision, who: Decider
    ) -> Decision:
        """The decision once it is written down; a denial where it cannot be."""
        try:
            if self._audit is not None:
                self._audit.note(tool, touched, arguments, decision, who)
        except InvalidInput as error:
            return Decision("deny", f"the decision cannot be written down: {error}")
        return decision


def _rule_for(tool: Tool, touched: Touched, scope: str | None) -> Rule | None:
    """What session and always hold for; None for this call alone, which cannot tell what it touches."""
    if scope is not None:
        return Rule(f"{tool.name}({scope})")
    if touched.resource is not None:
        return Rule(f"{tool.name}({escape(touched.resource)})")
    return None if touched.unknown else Rule(tool.name)


def _opened(path: str | Path) -> PolicyFile:
    from zoolab.policy.remembered import PolicyFile

    return PolicyFile(path)


def _begun(path: str | Path) -> Audit:
    from zoolab.policy.audit import Audit

    return Audit(path)
