"""The outline of a Python file: its classes and functions, with their lines."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import TypedDict

#: Letters that are parsed; the syntax tree takes some hundred times their room.
MAX_CHARS = 500_000
MAX_ENTRIES = 1_000
MAX_NAME = 200
# Python's filters are one for all threads.
_FILTERS = threading.Lock()


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


def outline_of(text: str, name: str) -> Outline:
    """The outline of a file's text, by the ending of its name; never raises."""
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
