"""The tools that a server lists: checked, bounded, named so that a model may use them, and pinned.

    {"format":"zoolab-mcp-pins","version":1,"server":"files",
     "tools":[{"name":"read","digest":"1f..","description":"...","schema":{...}}]}

The pins say what each tool looked like when it was first seen, or last accepted: trust on first use. A
server that changes the text of a tool, after a user has read and trusted it, may be an attack. The file has
the text beside the digest, so that the difference can be shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from zoolab import jsontext
from zoolab.errors import InvalidInput, InvalidSchema
from zoolab.files import make_folder, needs_home, write_whole
from zoolab.jsontext import canonical, digest, encode_line, visible
from zoolab.schema.checker import SchemaChecker
from zoolab.secrets import scrub
from zoolab.tools import name_for_apis

#: Bytes of one message; the rest of a longer one is never read.
MAX_MESSAGE = 4 << 20
#: Bytes that a server may send unasked between two answers; each message counts for a little more.
MAX_UNASKED = 16 << 20
#: Seconds that a server has to end by itself once its input is closed, and then once more when told to.
GRACE = 2.0
MAX_TOOLS = 512
MAX_PAGES = 100
MAX_DESCRIPTION = 8_192
MAX_NAME = 128
#: Lines of a description that are compared for people; the digest always covers all of it.
MAX_LINES = 500
FORMAT = "zoolab-mcp-pins"
_ELSEWHERE = "name another file with --pins or pins=, or set XDG_CONFIG_HOME to a folder of your own"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Listed:
    """A tool as its server describes it; equal to another with the same words."""

    name: str
    description: str
    schema: dict[str, Any]
    #: Why it cannot be used, if its server describes it in a way that is not MCP.
    problem: str = ""

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Listed) else NotImplemented

    @cached_property
    def digest(self) -> str:
        """A name for all that a model would read of it."""
        return digest(canonical([self.name, self.description, self.schema]))

    def lines(self) -> list[str]:
        """Return the tool for people, line by line, with everything visible."""
        schema = json.dumps(self.schema, indent=2, ensure_ascii=False)
        return visible(f"{self.description}\n{schema}").split("\n")


def safe_line(text: str, limit: int = 300) -> str:
    """Return text of a stranger for an error: on one line, cut, without secrets and power over a terminal."""
    return jsontext.one_line(visible(scrub(text[: 4 * limit])), limit)


def sort_out(listed: Iterable[Listed], prefix: str = "") -> tuple[dict[str, Listed], dict[str, str]]:
    """Return the tools that can be used, by the names that models get; and of the others, by their own, why
    not.
    """
    good: dict[str, Listed] = {}
    left_out: dict[str, str] = {}
    for each in listed:
        name = name_for_apis(prefix + each.name)
        reason = _problem(each)
        if not reason and name in good:
            reason = f"a model cannot tell it from {good[name].name!r}: both would be {name}"
        if reason:
            left_out[safe_line(each.name)] = reason
        else:
            good[name] = each
    return good, left_out


def _problem(listed: Listed) -> str:
    if listed.problem:
        return listed.problem
    parts = ("name", listed.name, 1, MAX_NAME), ("description", listed.description, 0, MAX_DESCRIPTION)
    for what, text, least, most in parts:
        if not least <= len(text) <= most:
            return f"its {what} has {len(text):,} characters; expected {least} to {most:,}"
    try:
        SchemaChecker(listed.schema).compile()
    except InvalidSchema as error:
        return safe_line(str(error))
    return ""


@dataclass(frozen=True, slots=True)
class PinChange:
    """A tool that is not as it was pinned, or was not there: its name, and a unified diff to read."""

    name: str
    diff: str


class Offer(NamedTuple):
    """A resource, a template or a prompt that a server lists; its texts are bounded and safe to show."""

    name: str
    description: str
    #: Where a resource is, or the pattern of a template; empty for a prompt.
    uri: str = ""
    #: The arguments of a prompt, with a question mark after those that may be left out.
    arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, listed: Any) -> Offer:
        """Make one from the official package's form of any of them."""
        asked = (getattr(listed, "arguments", None) or ())[:MAX_LINES]
        arguments = tuple(safe_line(each.name, 80) + ("" if each.required else "?") for each in asked)
        uri = safe_line(str(getattr(listed, "uri", getattr(listed, "uri_template", ""))))
        return cls(safe_line(listed.name), safe_line(listed.description or ""), uri, arguments)


def pins_folder() -> Path:
    """Return where pins are kept unless another place is given: in the platform's configuration folder."""
    import platformdirs

    with needs_home("XDG_CONFIG_HOME"):
        return platformdirs.user_config_path("zoolab") / "mcp"


def read_pins(path: Path, server: str) -> dict[str, Listed] | None:
    """Return the pinned tools of a server by name; None if it was never seen.

    Raises `InvalidInput` for a file that is damaged or belongs to another server.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if (kept["format"], kept["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is {kept['format']} {kept['version']}, not {FORMAT} {VERSION}")
        if kept["server"] != server:
            raise ValueError(f"it belongs to the server {kept['server']!r}")
        pinned = {}
        for row in kept["tools"]:
            pinned[row["name"]] = tool = Listed(row["name"], row["description"], row["schema"])
            if tool.digest != row["digest"]:
                raise ValueError(f"the digest of {tool.name!r} does not match its description and schema")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"cannot read the pins in {path}: {error.strerror}", advice=_ELSEWHERE) from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        problem = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise InvalidInput(
            f"cannot use the pins in {path}: {problem}",
            advice="delete the file to trust the server anew, as it is",
        ) from None
    return pinned


def write_pins(path: Path, server: str, tools: Iterable[Listed]) -> None:
    """Pin these tools, and no others; raises `InvalidInput` if the file cannot be written."""
    rows = [
        {"name": tool.name, "digest": tool.digest, "description": tool.description, "schema": tool.schema}
        for tool in tools
    ]
    told = encode_line({"format": FORMAT, "version": VERSION, "server": server, "tools": rows})
    try:
        make_folder(path.parent)
        write_whole(path, [told, "\n"])
    except InvalidInput as error:
        raise InvalidInput(f"cannot keep the pins: {error.what}", advice=_ELSEWHERE) from None


def compare_with_pins(
    pinned: Mapping[str, Listed], seen: Mapping[str, Listed]
) -> tuple[tuple[PinChange, ...], tuple[PinChange, ...]]:
    """Return what has changed since it was pinned, and what is new; `seen` has the names that models get."""
    changed = []
    new = []
    for name, tool in seen.items():
        before = pinned.get(tool.name)
        if before is None:
            new.append(PinChange(name, _difference(name, [], tool.lines())))
        elif before != tool:
            changed.append(PinChange(name, _difference(name, before.lines(), tool.lines())))
    return tuple(changed), tuple(new)


def _difference(name: str, before: list[str], after: list[str]) -> str:
    titles = f"{name}, as pinned" if before else "nothing", f"{name}, as it is now"
    lines = list(difflib.unified_diff(before[:MAX_LINES], after[:MAX_LINES], *titles, lineterm=""))
    longest = max(len(before), len(after))
    if longest > MAX_LINES:
        lines.append(f"(only the first {MAX_LINES} of {longest:,} lines are compared here)")
    return "\n".join(lines)
