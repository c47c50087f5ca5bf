"""Tools that read files: those under one folder, and no others, whatever path or link is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from zoolab.errors import (
    ExecutionFailed,
    InvalidArguments,
    InvalidInput,
    PermissionDenied,
    ResourceNotFound,
    ToolIOError,
)
from zoolab.steps.define import as_registry, tool
from zoolab.toolbox.outline import Entry, Outline, outline_of
from zoolab.tools import ToolRegistry

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 1_000
#: Files whose outlines are kept, the last ones that were read.
MAX_OUTLINES = 1_000


class Files:
    """The files under `root`. A link is followed only if it ends under `root` too.

    Raises `InvalidInput` if `root` is not a folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise InvalidInput(f"no folder {str(root)!r}", expected="the folder whose files may be read")
        #: The outlines of the Python and Markdown files that were read, by their path under the root.
        self.outlines: dict[str, list[Entry]] = {}

    def get_file_tree(
        self, folder: Annotated[str, "Folder relative to the project root; a dot is the root."] = "."
    ) -> list[str]:
        """List the paths of all files in the project, hidden ones left out. Use this to find a file."""
        top = self._inside(folder)
        if not top.is_dir():
            raise ResourceNotFound(f"no folder {folder!r}", expected="a folder under the project root")
        found: list[str] = []
        for here, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            readable = (Path(here, name) for name in sorted(names) if not name.startswith("."))
            for path in filter(self._is_readable, readable):
                if len(found) == MAX_FILES:
                    inner = ", ".join(sorted(child.name for child in top.iterdir() if child.is_dir())[:20])
                    raise ExecutionFailed(
                        f"more than {MAX_FILES:,} files", advice=f"list a folder inside it: {inner}"
                    )
                found.append(path.relative_to(self.root).as_posix())
        return found

    def read_file(
        self,
        path: Annotated[str, "File path relative to the project root, for example src/main.py."],
        offset: Annotated[int, "How many lines to skip: to read on after 200 lines, give 200."] = 0,
        lines: Annotated[int | None, "How many lines to read at most; null for all."] = None,
    ) -> str:
        """Read a text file of the project, at most 10 MB. Use this when the contents of a file matter.

        A long file is cut: read on with offset and lines.
        """
        if offset < 0 or (lines is not None and lines < 1):
            raise InvalidArguments(
                f"offset {offset}, lines {lines}", expected="an offset of at least 0, and at least 1 line"
            )
        text = self._read(path)[0]
        if offset == 0 and lines is None:
            return text
        found = StringIO(text, newline="\n").readlines()
        if offset > len(found):
            raise InvalidArguments(
                f"{path!r} has {len(found):,} lines", expected=f"an offset of at most {len(found)}"
            )
        return "".join(found[offset : None if lines is None else offset + lines])

    def get_outline(
        self, path: Annotated[str, "File path relative to the project root, for example src/main.py."]
    ) -> dict[str, Any]:
        """List the classes and functions of a Python file, or the headings of a Markdown file, with lines.

        Use this to find a place in a long file.
        """
        outline = self._read(path)[1]
        return {"entries": outline.entries, "reason": outline.reason}

    def resource_of(self, arguments: Mapping[str, Any]) -> str:
        """What a call of these tools touches: the resolved path, with slashes on Windows, too.

        Raises `PermissionDenied` for a path outside the root.
        """
        return self._inside(arguments.get("path", arguments.get("folder", "."))).as_posix()

    def _read(self, path: str) -> tuple[str, Outline]:
        found = self._inside(path)
        if found.is_dir():
            raise ToolIOError(f"{path!r} is a folder", expected="a file", advice="list it with get_file_tree")
        if not found.exists():
            raise ResourceNotFound(f"no file {path!r}", advice="list the files with get_file_tree")
        if not found.is_file():
            raise ToolIOError(f"{path!r} is not a regular file", expected="a text file")
        text = _text(found, path)
        outline = outline_of(text, found.name)
        name = found.relative_to(self.root).as_posix()
        self.outlines.pop(name, None)
        if outline.entries:
            self.outlines[name] = outline.entries
        while len(self.outlines) > MAX_OUTLINES:
            self.outlines.pop(next(iter(self.outlines), ""), None)
        return text, outline

    def _inside(self, path: str) -> Path:
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolIOError(
                f"{path!r} is a link that cannot be followed", advice="list the files with get_file_tree"
            ) from error
        except ValueError as error:
            raise InvalidArguments(
                f"{path!r} is not a valid path", expected="a path under the project root"
            ) from error
        if not found.is_relative_to(self.root):
            raise PermissionDenied(f"{path!r} lies outside the project", expected="a path under its root")
        return found

    def _is_readable(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self.root) and path.is_file()
        except (OSError, RuntimeError):
            return False


def file_tools(root: str | Path | Files) -> ToolRegistry:
    """The tools for the files under `root`; reading one is of medium risk, so that a walk asks.

    Rules may name paths: what these tools touch is the resolved path. Give `Files` to look at its
    outlines afterwards.
    """
    files = root if isinstance(root, Files) else Files(root)
    touches = files.resource_of
    return as_registry(
        [
            tool(files.get_file_tree, resource=touches),
            tool(files.read_file, risk="medium", resource=touches),
            tool(files.get_outline, risk="medium", resource=touches),
        ]
    )


def _text(found: Path, path: str) -> str:
    try:
        with found.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ToolIOError(
            f"{path!r} cannot be read: {error.strerror}", advice="choose another file"
        ) from error
    if len(data) > MAX_BYTES:
        raise ToolIOError(
            f"{path!r} is larger than {MAX_BYTES // 1024 // 1024} MB", expected="a smaller file"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolIOError(f"{path!r} is not a text file", expected="a file in UTF-8")
    return text
