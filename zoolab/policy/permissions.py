"""Permissions: a policy that remembers answers (in the session or in policies.json) and logs decisions.

    {"version": 1, "allow": ["read_file(/srv/app/**)"], "deny": ["isolate_host"]}

What a person answers is kept with a digest of the tool's definition, `read_file(/a.txt)#5f0c...`, so that
another tool of the same name is asked about. A rule that is written by hand holds for the name.
A policies.json outlasts the session, and all processes of a user share it. It is replaced as a whole, under
a lock. A file that cannot be understood is never changed.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import warnings
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from zoolab.errors import InvalidInput
from zoolab.files import append_text, locked, make_folder, needs_home, write_whole
from zoolab.jsontext import NotStrictJSON, encode, encode_line, excerpt, is_utf8, parse_json
from zoolab.policy.rules import BY_RISK, Policy, Rule, Touched, definition, escape
from zoolab.records import Decision
from zoolab.secrets import scrub, scrub_json
from zoolab.tools import Tool

VERSION = 1
MAX_BYTES = 1 << 20
MAX_RULES = 2_000

List = Literal["allow", "deny"]
_NO_RULES = Policy()


def policies_path() -> Path:
    """Find the user's policies.json: in `ZOOLAB_CONFIG`, or the platform's configuration folder."""
    chosen = os.environ.get("ZOOLAB_CONFIG")
    if chosen:
        return Path(chosen).expanduser().absolute() / "policies.json"
    import platformdirs

    with needs_home("ZOOLAB_CONFIG"):
        return platformdirs.user_config_path("zoolab") / "policies.json"


class PolicyFile:
    """A policies.json; a file that is missing has no rules. What it says is a `Policy` of its own."""

    def __init__(self, path: str | Path) -> None:
        #: Where it really is: a link is followed and stays a link.
        self.path = Path(os.path.realpath(Path(path).expanduser()))
        self._last: tuple[bytes | None, Policy] = (None, _NO_RULES)

    def read(self) -> Policy:
        """Read the rules that are on the disk now; raise `InvalidInput` if they cannot be understood."""
        data = self._bytes()
        if data is None:
            return _NO_RULES
        before, known = self._last
        if data != before:
            known = self._parsed(data)
            self._last = data, known
        return known

    def add(self, kind: List, rule: str) -> None:
        """Keep a rule. Raises `InvalidInput` if it is not a rule, or cannot be kept."""
        Rule(rule)
        if not is_utf8(rule):
            raise InvalidInput(f"{excerpt(rule)} is not a rule", expected="text that UTF-8 can encode")
        with self._held() as known:
            lists = {"allow": known.allow, "deny": known.deny}
            if rule not in lists[kind]:
                self._write(**lists | {kind: (*lists[kind], rule)})

    def remove(self, rule: str) -> None:
        """Forget a rule, whether it allows or denies. Raises `InvalidInput` if there is no such rule."""
        with self._held() as known:
            if rule not in (*known.allow, *known.deny):
                what = f"there is no rule {excerpt(rule)} in {self.path}"
                raise InvalidInput(what, advice="see zoolab policy list")
            self._write(*([text for text in listed if text != rule] for listed in (known.allow, known.deny)))

    @contextmanager
    def _held(self) -> Generator[Policy]:
        """Lock the file and read its rules; no other process changes them meanwhile."""
        make_folder(self.path.parent, "set ZOOLAB_CONFIG to a folder that can be written")
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            yield self.read()

    def _write(self, allow: Collection[str], deny: Collection[str]) -> None:
        text = encode({"version": VERSION, "allow": allow, "deny": deny})
        if len(text.encode()) >= MAX_BYTES or len(allow) + len(deny) > MAX_RULES:
            raise InvalidInput(f"{self.path} is full", advice="remove rules that you no longer need")
        write_whole(self.path, [text, "\n"])

    def _bytes(self) -> bytes | None:
        def without_waiting(name: str, flags: int) -> int:  # for the end of a pipe, which is refused
            return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

        try:
            with open(self.path, "rb", opener=without_waiting) as file:
                self._check_owner(os.fstat(file.fileno()))
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(
                f"cannot read {self.path}: {error.strerror}", advice="check the permissions of the file"
            ) from None
        if len(data) > MAX_BYTES:
            raise self._refused(f"it is larger than {MAX_BYTES // 1024} KB")
        return data

    def _check_owner(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise self._refused("it is not a regular file")
        if sys.platform == "win32":
            return
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.S_IMODE(found.st_mode)
            why = f"users other than you may write it (mode {mode:o})"
            raise self._refused(why, "run chmod go-w on it, or move it away")
        if found.st_uid not in (0, os.geteuid()):
            raise self._refused("it belongs to another user")

    def _parsed(self, data: bytes) -> Policy:
        try:
            body = parse_json(data.decode("utf-8"))
        except (NotStrictJSON, UnicodeDecodeError) as error:
            raise self._refused(f"it is not JSON: {error}") from None
        version = body.get("version") if isinstance(body, dict) else None
        if type(version) is not int or version != VERSION:
            raise self._refused(
                f"it has version {excerpt(version, 20)}, but this zoolab reads version {VERSION}"
            )
        if body.keys() - {"version", "allow", "deny"}:
            raise self._refused("it has keys other than version, allow and deny")
        listed = body.get("allow", []), body.get("deny", [])
        if not all(isinstance(each, list) for each in listed) or sum(map(len, listed)) > MAX_RULES:
            raise self._refused(f"allow and deny are not lists of at most {MAX_RULES:,} rules")
        try:
            return Policy(*listed)
        except InvalidInput as error:
            raise self._refused(error.what) from None

    def _refused(self, why: str, advice: str = "correct it, or move it away") -> InvalidInput:
        return InvalidInput(f"{self.path} cannot be used: {why}", advice=advice)


MAX_ARGUMENTS = 2_000


class Audit:
    """A JSONL file of decisions: time, tool, risk, resource, arguments, choice, reason, who.

    Arguments are cut after 2,000 characters, and what looks like a secret is left out. Raises
    `InvalidInput` if the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()
        append_text(self.path, "")

    def note(self, tool: Tool, touched: Touched, arguments: Mapping[str, Any], decision: Decision) -> None:
        """Write down who decided what. Raises `InvalidInput` if that fails."""
        try:
            given = scrub_json(dict(arguments))
        except RecursionError:
            given = "arguments that are nested too deeply to be shown"
        entry = {
            "time": datetime.now(UTC).isoformat(),
            "tool": tool.name,
            "risk": tool.risk,
            "resource": None if touched.resource is None else scrub(touched.resource),
            "arguments": excerpt(given, MAX_ARGUMENTS),
            "choice": decision.choice,
            "reason": scrub(decision.reason),
            "who": decision.by,
        }
        append_text(self.path, encode_line(entry) + "\n")


#: Cannot change, so that all who give no policy share it.
_BY_DEFAULT = Policy()


class Permissions:
    """A policy with a memory: what was allowed for the session, or for always, is not asked again.

    What a rule denies is denied, here or in the file, whatever was allowed before or is allowed now.
    Safe to share between threads, and with sub-agents.

    Args:
        policy: The rules to begin with, by default those of `Policy()`.
        path: A policies.json that keeps what is allowed for always, and is read again before each
            decision; without it, `settle` returns session for always, and the reason says why.
        audit: A JSONL file that gets a line for each decision, also for calls that `deny=` denies; what
            cannot be written down does not run.

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
        self.policy = policy or _BY_DEFAULT
        self._file = None if path is None else PolicyFile(path)
        self._audit = None if audit is None else Audit(audit)
        self._unwatched = path is None and audit is None
        self._granted: tuple[Rule, ...] = ()
        self._granting = threading.Lock()
        if self._file is not None:
            self._file.read()  # a file that cannot be understood is said now

    def __repr__(self) -> str:
        return f"Permissions({self.policy!r})"

    @property
    def lasts(self) -> bool:
        """Whether a policies.json keeps what is allowed for always."""
        return self._file is not None

    @classmethod
    def of_user(cls, policy: Policy | None = None, audit: str | Path | None = None) -> Permissions:
        """Return permissions that share the user's own policies.json; `policies_path` says where it is."""
        return cls(policy, policies_path(), audit)

    def with_session_of(self, other: Permissions) -> Permissions:
        """Return permissions with the same rules and files, for which another session holds."""
        made = copy(self)
        made._granted = other._granted
        return made

    def decide(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """Return the decision that stands: once, session, always, deny; pending if the user decides."""
        if self._unwatched and self.policy.waves_through(tool):
            return BY_RISK
        touched = Touched.by(tool, arguments)
        decision = self._judge(tool, touched)
        if decision.choice != "pending":
            return self._noted(tool, touched, arguments, decision)
        reason = "; ".join(part for part in (decision.reason, touched.unknown) if part)
        resource = "" if touched.unknown else touched.resource
        told: dict[str, Any] = {"risk": tool.risk, "resource": resource, "arguments": dict(arguments)}
        return replace(decision, reason=reason, lasts=self.lasts, **told)

    def settle(self, tool: Tool, arguments: Mapping[str, Any], decision: Decision) -> Decision:
        """Remember what a person said, and return what holds for this call: only allowed ones run."""
        touched = Touched.by(tool, arguments)
        if decision.choice == "pending":
            decision = Decision("deny", "nobody allowed it", by="nobody")
        if decision.allowed:
            standing = self._judge(tool, touched)
            decision = standing if standing.choice == "deny" else decision.within(self.lasts)
        decision = self._noted(tool, touched, arguments, decision)
        try:
            self._remember(tool, touched, decision)
        except InvalidInput as error:
            refusal = _refusal(f"{decision.choice} cannot be kept", error)
            return self._noted(tool, touched, arguments, refusal)
        return decision

    def note_denied(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Write down that a call was denied by `deny=`, before anybody was asked about it."""
        refusal = Decision("deny", f"{tool.name} is a denied tool", by="rule")
        self._noted(tool, Touched.by(tool, arguments), arguments, refusal)

    def _judge(self, tool: Tool, touched: Touched) -> Decision:
        try:
            kept = _NO_RULES if self._file is None else self._file.read()
        except InvalidInput as error:
            return _refusal("no rule can be read", error)
        decision = self.policy.judge(tool, touched)
        if decision.choice == "deny":
            return decision
        if refusal := kept.denial(tool, touched):
            return Decision("deny", f"policies.json denies {refusal}", by="rule")
        if decision.choice != "pending":
            return decision
        if any(rule.covers(tool, touched) for rule in self._granted):
            return Decision("session", f"{tool.name} is allowed for this session", by="rule")
        if kept.allows(tool, touched):
            return Decision("always", f"policies.json allows {tool.name}", by="rule")
        return decision

    def _remember(self, tool: Tool, touched: Touched, decision: Decision) -> None:
        if decision.choice not in ("session", "always"):
            return
        if decision.scope is not None:
            scope = f"({decision.scope})"
        elif touched.resource is not None:
            scope = f"({escape(touched.resource)})"
        elif touched.unknown:
            return  # it holds for this call alone, which cannot tell what it touches
        else:
            scope = ""
        rule = Rule(f"{tool.name}{scope}#{definition(tool)}")
        if decision.choice == "always" and self._file is not None:
            self._file.add("allow", rule.text)
            return
        with self._granting:
            if rule not in self._granted:
                self._granted = (*self._granted, rule)

    def _noted(
        self, tool: Tool, touched: Touched, arguments: Mapping[str, Any], decision: Decision
    ) -> Decision:
        try:
            if self._audit is not None:
                self._audit.note(tool, touched, arguments, decision)
        except InvalidInput as error:
            return _refusal("the decision cannot be written down", error)
        return decision


def _refusal(why: str, error: InvalidInput) -> Decision:
    """Deny a call because of a file: a person is warned, and the model does not read of it."""
    warnings.warn(f"{why}: {error}", stacklevel=2)
    return Decision("deny", f"{why}: {error.what}", by="rule")
