"""policies.json: the rules that outlast a session, shared by all processes of a user.

    {"version": 1, "allow": ["read_file(/srv/app/**)"], "deny": ["isolate_host"]}

It is replaced whole, under a lock, and never touched where it cannot be understood.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from zoolab.errors import InvalidInput
from zoolab.files import locked, write_whole
from zoolab.jsontext import NotStrictJSON, encode, excerpt, is_utf8, parse_json
from zoolab.policy.rules import Rule, rules

VERSION = 1
MAX_BYTES = 1 << 20
MAX_RULES = 2_000

List = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is kept: rules that allow, and rules that deny."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


def policies_path() -> Path:
    """The user's policies.json: in `ZOOLAB_CONFIG`, or the platform's folder for configuration.

    >>> policies_path().name
    'policies.json'
    """
    chosen = os.environ.get("ZOOLAB_CONFIG")
    if chosen:
        return Path(chosen).expanduser().absolute() / "policies.json"
    import platformdirs

    return platformdirs.user_config_path("zoolab") / "policies.json"


class PolicyFile:
    """A policies.json; a file that is missing has no rules.

    >>> import tempfile
    >>> kept = PolicyFile(Path(tempfile.mkdtemp()) / "policies.json")
    >>> kept.add("allow", "read_file(/srv/app/**)")
    >>> kept.read().allow
    (Rule(text='read_file(/srv/app/**)'),)
    """

    def __init__(self, path: str | Path) -> None:
        #: Where it really is: a link is followed and stays a link.
        self.path = Path(os.path.realpath(Path(path).expanduser()))
        self._last: tuple[bytes | None, Remembered] = (None, Remembered())

    def read(self) -> Remembered:
        """The rules as they are on the disk now; `InvalidInput` where they cannot be understood."""
        data = self._bytes()
        if data is None:
            return Remembered()
        before, known = self._last
        if data != before:
            known = self._parsed(data)
            self._last = data, known
        return known

    def add(self, kind: List, rule: str) -> None:
        """Keep a rule. Raises `InvalidInput` where it is none, or cannot be kept."""
        added = Rule(rule)
        if not is_utf8(rule):
            raise InvalidInput(f"{excerpt(rule)} is no rule", expected="text that can be kept as UTF-8")

        def with_it(known: Remembered) -> Remembered:
            listed: tuple[Rule, ...] = getattr(known, kind)
            return known if added in listed else replace(known, **{kind: (*listed, added)})

        self._change(with_it)

    def remove(self, rule: str) -> None:
        """Forget a rule, whether it allows or denies. Raises `InvalidInput` where there is none such."""

        def without_it(known: Remembered) -> Remembered:
            allow, deny = (tuple(r for r in listed if r.text != rule) for listed in (known.allow, known.deny))
            if len(allow) + len(deny) == len(known.allow) + len(known.deny):
                raise InvalidInput(f"no rule {excerpt(rule)} in {self.path}", advice="see zoolab policy list")
            return Remembered(allow, deny)

        self._change(without_it)

    def _change(self, edit: Callable[[Remembered], Remembered]) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"cannot make {self.path.parent}: {error.strerror}",
                advice="set ZOOLAB_CONFIG to a folder that can be written",
            ) from None
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            known = self.read()
            changed = edit(known)
            if changed == known:
                return
            text = encode({"version": VERSION, "allow": _texts(changed.allow), "deny": _texts(changed.deny)})
            if len(text.encode()) >= MAX_BYTES or len(changed.allow) + len(changed.deny) > MAX_RULES:
                raise InvalidInput(f"{self.path} is full", advice="remove rules that are not needed")
            write_whole(self.path, [text, "\n"], mode=0o600)

    def _bytes(self) -> bytes | None:
        try:
            # Not to wait: a pipe has no end to be read to, and is refused.
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(
                f"cannot read {self.path}: {error.strerror}", advice="see who may read it"
            ) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise self._refused("it is no regular file")
        try:
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise InvalidInput(
                f"cannot read {self.path}: {error.strerror}", advice="see who may read it"
            ) from None
        if len(data) > MAX_BYTES:
            raise self._refused(f"it is larger than {MAX_BYTES // 1024} KB")
        return data

    def _parsed(self, data: bytes) -> Remembered:
        try:
            body = parse_json(data.decode("utf-8"))
        except (NotStrictJSON, UnicodeDecodeError) as error:
            raise self._refused(f"it is not JSON: {error}") from None
        version = body.get("version") if isinstance(body, dict) else None
        if type(version) is not int:
            raise self._refused("it has no version")
        if version != VERSION:
            raise self._refused(f"it has version {excerpt(version, 20)}, and this zoolab reads {VERSION}")
        if body.keys() - {"version", "allow", "deny"}:
            raise self._refused("it has more than version, allow and deny")
        listed = body.get("allow", []), body.get("deny", [])
        if not all(isinstance(each, list) for each in listed) or sum(map(len, listed)) > MAX_RULES:
            raise self._refused(f"allow and deny are not lists of at most {MAX_RULES:,} rules")
        try:
            return Remembered(*map(rules, listed))
        except InvalidInput as error:
            raise self._refused(error.what) from None

    def _refused(self, why: str) -> InvalidInput:
        return InvalidInput(f"{self.path} cannot be used: {why}", advice="mend it, or move it away")


def _texts(listed: tuple[Rule, ...]) -> list[str]:
    return [rule.text for rule in listed]
