"""What each tool of a server looked like when it was first seen, or last accepted: trust on first use.

    {"format": "zoolab-mcp-pins", "version": 1, "server": "files", "tools": [
    {"name": "read", "digest": "1f..", "description": "...", "schema": {...}}]}

A server that changes what it says of a tool, after somebody has read and trusted it, may be after
something else. The text is kept beside the digest so that the difference can be shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import write_whole
from zoolab.jsontext import encode_line
from zoolab.mcp.listing import Listed

FORMAT = "zoolab-mcp-pins"
VERSION = 1
#: Lines of a description that are compared for people; the digest always covers all of it.
MAX_LINES = 500


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that is not as it was pinned, or was not there: its name, and a unified diff to read."""

    name: str
    diff: str


def pins_folder() -> Path:
    """Where pins are kept unless another place is given: in the platform's configuration folder.

    >>> pins_folder().name
    'mcp'
    """
    import platformdirs

    return platformdirs.user_config_path("zoolab") / "mcp"


def read_pins(path: Path, server: str) -> dict[str, Listed] | None:
    """The pinned tools of a server by name; None where it was never seen.

    Raises `InvalidInput` for a file that is damaged or belongs to another server.

    >>> read_pins(Path("no-such-file.json"), "files") is None
    True
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from None
    try:
        kept = json.loads(text)
        if (kept["format"], kept["version"]) != (FORMAT, VERSION):
            raise _damaged(path, f"it is {kept['format']} {kept['version']}, not {FORMAT} {VERSION}")
        if kept["server"] != server:
            raise _damaged(path, f"it belongs to the server {kept['server']!r}")
        return {tool["name"]: _pinned(tool) for tool in kept["tools"]}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from None


def write_pins(path: Path, server: str, tools: Iterable[Listed]) -> None:
    """Pin these tools, and no others.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "files.json"
    >>> write_pins(path, "files", [Listed("ls", "List.", {"type": "object"})])
    >>> list(read_pins(path, "files"))
    ['ls']
    """
    rows = [
        {"name": tool.name, "digest": tool.digest, "description": tool.description, "schema": tool.schema}
        for tool in tools
    ]
    head = f'{{"format": "{FORMAT}", "version": {VERSION}, "server": {encode_line(server)}, "tools": ['
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make {path.parent}: {error.strerror}", advice="choose another place"
        ) from None
    write_whole(path, [head, "\n", ",\n".join(map(encode_line, rows)), "]}\n"])


def compare(
    pinned: Mapping[str, Listed], seen: Mapping[str, Listed]
) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """What has changed since it was pinned, and what is new; `seen` has the names that models get.

    >>> old, now = Listed("ls", "List.", {"type": "object"}), Listed("ls", "Delete.", {"type": "object"})
    >>> changed, new = compare({"ls": old}, {"ls": now})
    >>> print(changed[0].diff)
    --- ls, as pinned
    +++ ls, as it is now
    @@ -1,4 +1,4 @@
    -List.
    +Delete.
     {
       "type": "object"
     }
    """
    changed, new = [], []
    for name, tool in seen.items():
        before = pinned.get(tool.name)
        if before is None:
            new.append(Change(name, _difference(name, [], tool.lines())))
        elif before != tool:
            changed.append(Change(name, _difference(name, before.lines(), tool.lines())))
    return tuple(changed), tuple(new)


def _difference(name: str, before: list[str], after: list[str]) -> str:
    titles = f"{name}, as pinned" if before else "nothing", f"{name}, as it is now"
    lines = list(difflib.unified_diff(before[:MAX_LINES], after[:MAX_LINES], *titles, lineterm=""))
    if max(len(before), len(after)) > MAX_LINES:
        lines.append(
            f"(only the first {MAX_LINES} of {max(len(before), len(after)):,} lines are compared here)"
        )
    return "\n".join(lines)


def _pinned(row: Any) -> Listed:
    tool = Listed(row["name"], row["description"], row["schema"])
    if tool.digest != row["digest"]:
        raise ValueError(f"the digest of {tool.name!r} does not fit")
    return tool


def _damaged(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"cannot use the pins in {path}: {why}", advice="delete the file to trust the server anew, as it is"
    )
