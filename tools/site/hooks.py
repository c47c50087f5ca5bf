"""What the site changes of Sphinx: docstrings of modules, and the levels of headings in the menu."""

from __future__ import annotations

import ast
from textwrap import indent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Set up what Sphinx calls."""
    app.connect("autodoc-process-docstring", keep_columns)
    app.connect("html-page-context", say_levels, priority=900)


def keep_columns(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Make blocks of code and of paragraphs laid out in columns: the docstring of a module is plain text.

    >>> lines = ["Add things.", "", "import this", "", "this(1)"]
    >>> keep_columns(None, "module", "", None, None, lines)
    >>> lines
    ['Add things.', '', '::', '', '    import this', '', '    this(1)']
    """
    if what != "module":
        return
    shown = []
    in_block = False
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        is_block = "  " in paragraph or "\n " in paragraph or _is_code(paragraph)
        if is_block and not in_block:
            shown.append("::")
        shown.append(indent(paragraph, "    ") if is_block else paragraph)
        in_block = is_block
    lines[:] = "\n\n".join(shown).split("\n")


def _is_code(paragraph: str) -> bool:
    try:
        ast.parse(paragraph)
    except SyntaxError:
        return False
    return True


def say_levels(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Say of which level the captions of the menu are: the theme calls them headings, and does not say it."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
