"""Tools that read files: those under one folder, and no others, whatever path or link is given.

The outline of a Python file is its classes and functions, with their lines.
"""

from __future__ import annotations

import ast
import errno
import os
import stat
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path, PurePath
from types import NoneType
from typing import Annotated, Any, TypedDict

from zoolab.errors import (
    ExecutionFailed,
    InvalidArguments,
    InvalidInput,
    PermissionDenied,
    ResourceNotFound,
    ToolIOError,
    ZoolabError,
)
from zoolab.jsontext import excerpt
from zoolab.steps.define import as_registry, tool
from zoolab.tools import ToolRegistry

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 1_000
#: Files whose outlines are kept, the last ones that were read.
MAX_OUTLINES = 1_000
#: Letters that are parsed; the syntax tree takes some hundred times their room.
MAX_CHARS = 500_000
MAX_ENTRIES = 1_000
MAX_NAME = 200
# Python's filters are one for all threads.
_FILTERS = threading.Lock()

#: Whether a file can be opened part by part of its path, from one open folder to the next.
_BY_PARTS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class Entry(TypedDict):
    """A class or a function: its line counts from 1, its level is the depth, 1 at the top."""

    kind: str
    name: str
    line: int
    level: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The entries of a file, in order; `reason` says why there are none, or not all."""

    entries: list[Entry]
    reason: str = ""


class Files:
    """The files under `root` that are not hidden: no part of their path begins with a dot.

    A link is followed only if it ends at such a file. A file with hard links is refused, since its other
    names may lie outside. Whoever may change the folder can swap a part of a path for a link after it was
    checked. Such a link is never followed, except on Windows, which cannot open a file part by part.

    Raises `InvalidInput` if `root` is not a folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise InvalidInput(f"no folder {str(root)!r}", expected="the folder whose files may be read")
        #: The outlines of the Python files that were read, by their path under the root.
        self.outlines: dict[str, list[Entry]] = {}

    def get_file_tree(
        self, folder: Annotated[str, "Folder relative to the project root; a dot is the root."] = "."
    ) -> list[str]:
        """List the paths of all files in the project, hidden ones left out. Use this to find a file."""
        top, state = self._visible(folder)
        if not stat.S_ISDIR(state.st_mode):
            raise ResourceNotFound(f"no folder {folder!r}", expected="a folder under the project root")
        found: list[str] = []
        inner: list[str] | None = None
        for here, folders, names in self._walk(top, folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inner = folders[:20] if inner is None else inner
            for path in (here / name for name in sorted(names) if self._is_readable(here / name)):
                if len(found) == MAX_FILES:
                    raise ExecutionFailed(
                        f"more than {MAX_FILES:,} files",
                        advice=f"list a folder inside it: {', '.join(inner)}",
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
        if type(offset) is not int or type(lines) not in (int, NoneType):
            raise InvalidArguments(f"offset {offset!r}, lines {lines!r}", expected="whole numbers")
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
        """List the classes and functions of a Python file, with the lines where they begin.

        Use this to find a place in a long file.
        """
        outline = self._read(path)[1]
        return {"entries": outline.entries, "reason": outline.reason}

    def resource_of(self, arguments: Mapping[str, Any]) -> str:
        """Return what a call of these tools touches: the resolved path, with slashes on Windows, too.

        Raises `PermissionDenied` for a path outside the root.
        """
        return self._inside(arguments.get("path", arguments.get("folder", "."))).as_posix()

    def _read(self, path: str) -> tuple[str, Outline]:
        found, state = self._visible(path)
        if stat.S_ISDIR(state.st_mode):
            raise ToolIOError(f"{path!r} is a folder", expected="a file", advice="list it with get_file_tree")
        text = _text(self._open(found, path), path)
        outline = outline_of(text, found.name)
        name = found.relative_to(self.root).as_posix()
        self.outlines.pop(name, None)
        if outline.entries:
            self.outlines[name] = outline.entries
        while len(self.outlines) > MAX_OUTLINES:
            self.outlines.pop(next(iter(self.outlines), ""), None)
        return text, outline

    def _inside(self, path: str) -> Path:
        if not isinstance(path, str | PurePath):
            what = f"{excerpt(path)} is not a path"
            raise InvalidArguments(what, expected="a text: a path under the project root")
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError):
            advice = "list the files with get_file_tree"
            raise ToolIOError(f"{path!r} is a link that cannot be followed", advice=advice) from None
        except ValueError:
            expected = "a path under the project root"
            raise InvalidArguments(f"{path!r} is not a valid path", expected=expected) from None
        if not found.is_relative_to(self.root):
            raise PermissionDenied(f"{path!r} lies outside the project", expected="a path under its root")
        return found

    def _visible(self, path: str) -> tuple[Path, os.stat_result]:
        found = self._inside(path)
        if any(part.startswith(".") for part in found.relative_to(self.root).parts):
            raise PermissionDenied(f"{path!r} is hidden", expected="a file that get_file_tree lists")
        try:
            return found, found.stat()
        except OSError as error:
            raise _unreadable(path, error) from None

    def _is_readable(self, path: Path) -> bool:
        try:
            state = self._visible(str(path))[1]
        except ZoolabError:
            return False
        return stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and not path.name.startswith(".")

    def _walk(self, top: Path, path: str) -> Iterator[tuple[Path, list[str], list[str]]]:
        """As `os.walk`, from an open folder on; no link is followed."""
        if not _BY_PARTS:
            yield from ((Path(here), folders, names) for here, folders, names in os.walk(top))
            return
        handle = self._open(top, path)
        try:
            for inner, folders, names, _ in os.fwalk(".", dir_fd=handle):
                yield top / inner, folders, names
        finally:
            os.close(handle)

    def _open(self, found: Path, path: str) -> int:
        """Return a descriptor of the file or folder at a resolved path; a link on the way is refused."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            if not _BY_PARTS:
                return os.open(found, flags)
            handle = os.open(self.root, flags | os.O_NOFOLLOW)
            for part in found.relative_to(self.root).parts:
                folder = handle
                try:
                    handle = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
                finally:
                    os.close(folder)
            return handle
        except OSError as error:
            raise _unreadable(path, error) from None


def file_tools(root: str | Path | Files) -> ToolRegistry:
    """Return the tools for the files under `root`; reading one is of medium risk, so that a walk asks.

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


def _unreadable(path: str, error: OSError) -> ZoolabError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ResourceNotFound(f"no file {path!r}", advice="list the files with get_file_tree")
    if error.errno == errno.ELOOP:
        return PermissionDenied(f"{path!r} became a link while it was opened", expected="a path that stays")
    return ToolIOError(f"{path!r} cannot be read: {error.strerror}", advice="choose another file")


def _text(handle: int, path: str) -> str:
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise ToolIOError(f"{path!r} is not a regular file", expected="a text file")
        if state.st_nlink > 1:
            raise PermissionDenied(
                f"{path!r} has more than one name (hard links), and the others may lie outside the project",
                expected="a file with one name",
            )
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(handle)
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


def outline_of(text: str, name: str) -> Outline:
    """Return the outline of a file's text, by the ending of its name; never raises."""
    if PurePath(name).suffix.lower() not in (".py", ".pyi"):
        return Outline([], "only Python (.py) has outlines")
    if len(text) > MAX_CHARS:
        return Outline([], f"more than {MAX_CHARS:,} characters of Python")
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(islice(_definitions(ast.parse(text)), MAX_ENTRIES + 1))
    except SyntaxError as error:
        return Outline([], f"no valid Python: {error.msg}, line {error.lineno}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline([], f"no Python that can be parsed: {type(error).__name__}")
    more = f"only the first {MAX_ENTRIES:,} entries" if len(found) > MAX_ENTRIES else ""
    return Outline(found[:MAX_ENTRIES], more)


def _definitions(tree: ast.Module) -> Iterator[Entry]:
    """Depth first without recursion: what is nested may be nested deeply."""
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (*inside, node.name)
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            yield {
                "kind": kind,
                "name": ".".join(inside)[:MAX_NAME],
                "line": node.lineno,
                "level": len(inside),
            }
        # What is in expressions has no name, so only the statements within a statement are looked at.
        blocks = [getattr(node, name, None) for name in ("body", "handlers", "orelse", "finalbody", "cases")]
        inner = [statement for block in blocks if isinstance(block, list) for statement in block]
        waiting += [(statement, inside) for statement in reversed(inner)]
