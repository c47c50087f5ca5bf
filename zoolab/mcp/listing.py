"""A server's tools as it lists them: checked, bounded, and under names that a model may use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import canonical, digest, is_utf8, visible
from zoolab.mcp.process import one_line
from zoolab.schema.checker import SchemaChecker

MAX_TOOLS = 512
MAX_PAGES = 100
MAX_DESCRIPTION = 8_192
MAX_NAME = 128


@dataclass(frozen=True, eq=False)
class Listed:
    """A tool as its server describes it; equal to another with the same words.

    >>> Listed("now", "The time.", {"type": "object"}) == Listed("now", "The time!", {"type": "object"})
    False
    """

    name: str
    description: str
    schema: dict[str, Any]

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Listed) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """A name for all that a model would read of it."""
        return digest(canonical([self.name, self.description, self.schema]))

    def lines(self) -> list[str]:
        """The tool for people, line by line, with everything visible."""
        schema = json.dumps(self.schema, indent=2, ensure_ascii=False)
        return visible(f"{self.description}\n{schema}").split("\n")


def tool_name(name: str, prefix: str = "") -> str:
    """A name that models take, from any name: 1 to 64 letters, digits, _ or -.

    >>> tool_name("files.read text"), tool_name("ls", prefix="home_")
    ('files_read_text', 'home_ls')
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", prefix + name)[:64]


def sort_out(listed: Iterable[Listed], prefix: str = "") -> tuple[dict[str, Listed], dict[str, str]]:
    """The tools that can be used, by the names that a model gets; and of the others, by their own, why not.

    >>> good, bad = sort_out([Listed("a.b", "", {"type": "object"}), Listed("a_b", "", {"type": "object"})])
    >>> list(good), bad
    (['a_b'], {'a_b': "a model cannot tell it from 'a.b': both would be a_b"})
    """
    good: dict[str, Listed] = {}
    left_out: dict[str, str] = {}
    for each in listed:
        name = tool_name(each.name, prefix)
        reason = _problem(each)
        if not reason and name in good:
            reason = f"a model cannot tell it from {good[name].name!r}: both would be {name}"
        if reason:
            left_out[one_line(each.name)] = reason
        else:
            good[name] = each
    return good, left_out


def _problem(listed: Listed) -> str:
    if not 1 <= len(listed.name) <= MAX_NAME:
        return f"its name has {len(listed.name):,} characters; expected 1 to {MAX_NAME}"
    if len(listed.description) > MAX_DESCRIPTION:
        size = len(listed.description)
        return f"its description has {size:,} characters; expected at most {MAX_DESCRIPTION:,}"
    if not is_utf8(listed.name + listed.description):
        return "its description is not text"
    try:
        SchemaChecker(listed.schema).compile()
    except InvalidSchema as error:
        return one_line(str(error))
    return ""
