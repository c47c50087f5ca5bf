"""Tools that read files: those under one folder, and no others, whatever path or link is given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from zoolab.errors import (
    ExecutionFailed,
    InvalidArguments,
    InvalidInput,
    PermissionDenied,
    ResourceNotFound,
    ToolIOError,
)
from zoolab.registry import ToolRegistry
from zoolab.steps.define import as_registry, tool

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 1_000


class Files:
    """The files under `root`. A link is followed only if it ends under `root` too.

    Raises `InvalidInput` if `root` is no folder.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("hello")
    ...     Files(folder).get_file_tree(), Files(folder).read_file("a.txt")
    (['a.txt'], 'hello')
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise InvalidInput(f"no folder {str(root)!r}", expected="the folder whose files may be read")

    def get_file_tree(
        self, folder: Annotated[str, "Folder relative to the project root; a dot is the root."] = "."
    ) -> list[str]:
        """List the paths of all files in the project, hidden ones left out. Use this to find a file."""
        top = self._inside(folder)
        if not top.is_dir():
            raise ResourceNotFound(f"no folder {folder!r}", expected="a folder under the project root")
        found: list[str] = []
        for path in self._files(top):
            if len(found) == MAX_FILES:
                inner = ", ".join(sorted(child.name for child in top.iterdir() if child.is_dir())[:20])
                raise ExecutionFailed(f"more than {MAX_FILES:,} files", advice=f"name a folder: {inner}")
            found.append(path.relative_to(self.root).as_posix())
        return found

    def read_file(
        self, path: Annotated[str, "File path relative to the project root, for example src/main.py."]
    ) -> str:
        """Read a text file of the project, at most 10 MB. Use this when the contents of a file matter."""
        found = self._inside(path)
        if found.is_dir():
            raise ToolIOError(f"{path!r} is a folder", expected="a file", advice="list it with get_file_tree")
        if not found.exists():
            raise ResourceNotFound(f"no file {path!r}", advice="list the files with get_file_tree")
        if not found.is_file():
            raise ToolIOError(f"{path!r} is no regular file")
        return _text(found, path)

    def _inside(self, path: str) -> Path:
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolIOError(f"{path!r} cannot be followed") from error
        except ValueError as error:
            raise InvalidArguments(f"{path!r} is no path") from error
        if not found.is_relative_to(self.root):
            raise PermissionDenied(f"{path!r} lies outside the project", expected="a path under its root")
        return found

    def _files(self, top: Path) -> Iterator[Path]:
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                if not name.startswith(".") and self._is_readable(path):
                    yield path

    def _is_readable(self, path: Path) -> bool:
        try:
            return path.resolve().is_relative_to(self.root) and path.is_file()
        except (OSError, RuntimeError):
            return False


def file_tools(root: str | Path) -> ToolRegistry:
    """The tools for the files under `root`; reading one is of medium risk, so that a walk asks.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file_tools(folder).execute("read_file", {"path": "../secret"})
    Traceback (most recent call last):
    zoolab.errors.PermissionDenied: '../secret' lies outside the project; expected ...
    """
    files = Files(root)
    return as_registry([files.get_file_tree, tool(files.read_file, risk="medium")])


def _text(found: Path, path: str) -> str:
    try:
        with found.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ToolIOError(f"{path!r} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ToolIOError(f"{path!r} is larger than {MAX_BYTES // 1024 // 1024} MB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolIOError(f"{path!r} is no text", expected="a file in UTF-8")
    return text
