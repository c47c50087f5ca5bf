"""The outline of a file: the classes and functions of Python, the headings of Markdown, with their lines."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypedDict

#: Letters of Python that are parsed; the syntax tree takes some hundred times their room.
MAX_CHARS = 500_000
MAX_ENTRIES = 1_000
MAX_NAME = 200
#: What is looked at of a line of Markdown.
MAX_LINE = 1_000

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(\S.*))?")
_CLOSING = re.compile(r"(?:\A|[ \t]+)#+\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_PARAGRAPH = re.compile(r" {0,3}(?![-=#>|*+`~]|\d{1,9}[.)])\S.*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)")
# Python's filters are one for all threads.
_FILTERS = threading.Lock()


class Entry(TypedDict):
    """A class, a function or a heading: its line counts from 1, its level is the depth, 1 at the top."""

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
    ending = PurePath(name).suffix.lower()
    if ending in (".py", ".pyi"):
        return _python(text)
    if ending in (".md", ".markdown"):
        return _bounded(_markdown(text))
    return Outline([], "only Python (.py) and Markdown (.md) have outlines")


def _bounded(entries: Iterator[Entry]) -> Outline:
    found: list[Entry] = []
    for entry in entries:
        if len(found) == MAX_ENTRIES:
            return Outline(found, f"only the first {MAX_ENTRIES:,} entries")
        found.append({**entry, "name": entry["name"][:MAX_NAME]})
    return Outline(found)


def _python(text: str) -> Outline:
    if len(text) > MAX_CHARS:
        return Outline([], f"more than {MAX_CHARS:,} characters of Python")
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        return Outline([], f"no valid Python: {error.msg}, line {error.lineno}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline([], f"no Python that can be parsed: {type(error).__name__}")
    return _bounded(_definitions(tree))


def _definitions(tree: ast.Module) -> Iterator[Entry]:
    """Depth first without recursion: what is nested may be nested deeply."""
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (*inside, node.name)
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            yield {"kind": kind, "name": ".".join(inside), "line": node.lineno, "level": len(inside)}
        # What is in expressions has no name, so only the statements within a statement are looked at.
        blocks = [getattr(node, name, None) for name in ("body", "handlers", "orelse", "finalbody", "cases")]
        inner = [statement for block in blocks if isinstance(block, list) for statement in block]
        waiting += [(statement, inside) for statement in reversed(inner)]


def _markdown(text: str) -> Iterator[Entry]:
    """Headings of both kinds; those in fences, in front matter and in indented code are none."""
    fence = before = ""
    lines = text.split("\n")
    ends = [at for at, line in enumerate(lines[:200]) if line.rstrip() == "---"]
    skipped = ends[1] + 1 if ends[1:] and ends[0] == 0 else 0
    for number, line in enumerate(lines[skipped:], skipped + 1):
        line = line[:MAX_LINE].rstrip()
        marker = _FENCE.fullmatch(line)
        if fence:
            closes = marker is not None and marker[1].startswith(fence) and not marker[2]
            fence = "" if closes else fence
            before = ""
            continue
        if marker is not None:
            fence, before = marker[1], ""
            continue
        if heading := _HEADING.fullmatch(line):
            name = _CLOSING.sub("", heading[2] or "")
            yield {"kind": "heading", "name": name, "line": number, "level": len(heading[1])}
        elif before and (under := _UNDERLINE.fullmatch(line)):
            level = 1 if under[1][0] == "=" else 2
            yield {"kind": "heading", "name": before.strip(), "line": number - 1, "level": level}
        before = line if _PARAGRAPH.fullmatch(line) else ""
