"""The audit log: a line for each decision, that several threads and processes may add to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zoolab.files import append_text
from zoolab.jsontext import encode_line, excerpt
from zoolab.policy.rules import Touched
from zoolab.secrets import scrub, scrub_json

if TYPE_CHECKING:
    from zoolab.records import Decision
    from zoolab.tools import Tool

MAX_ARGUMENTS = 2_000

Decider = Literal["rule", "person", "nobody"]


class Audit:
    """A JSONL file of decisions: time, tool, risk, resource, arguments, choice, reason, who.

    Arguments are cut after 2,000 characters, and what looks like a secret is left out. Raises
    `InvalidInput` where the file cannot be written.

    >>> import json, tempfile
    >>> from zoolab.records import Decision
    >>> from zoolab.tools import Tool
    >>> audit = Audit(Path(tempfile.mkdtemp()) / "audit.jsonl")
    >>> audit.note(Tool("now", "The time.", {"type": "object"}), Touched(), {}, Decision("once"), "rule")
    >>> entry = json.loads(audit.path.read_text())
    >>> entry["tool"], entry["arguments"], entry["choice"], entry["who"]
    ('now', '{}', 'once', 'rule')
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()
        append_text(self.path, "", mode=0o600)

    def note(
        self,
        tool: Tool,
        touched: Touched,
        arguments: Mapping[str, Any],
        decision: Decision,
        who: Decider,
    ) -> None:
        """Write down who decided what. Raises `InvalidInput` where that fails."""
        entry = {
            "time": datetime.now(UTC).isoformat(),
            "tool": tool.name,
            "risk": tool.risk,
            "resource": None if touched.resource is None else scrub(touched.resource),
            "arguments": excerpt(_scrubbed(arguments), MAX_ARGUMENTS),
            "choice": decision.choice,
            "reason": scrub(decision.reason),
            "who": who,
        }
        append_text(self.path, encode_line(entry) + "\n", mode=0o600)


def _scrubbed(arguments: Mapping[str, Any]) -> Any:
    try:
        return scrub_json(dict(arguments))
    except RecursionError:
        return "arguments that are nested too deeply to be shown"
