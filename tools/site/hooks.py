"""What the site changes of Sphinx: docstrings of modules, and the levels of headings in the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", keep_columns)
    app.connect("html-page-context", say_levels, priority=900)


def keep_columns(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """The docstring of a module is plain text: a paragraph laid out in columns becomes a block."""
    if what != "module":
        return
    paragraphs = "\n".join(lines).strip().split("\n\n")
    for at, paragraph in enumerate(paragraphs):
        if "  " in paragraph or "\n " in paragraph:
            paragraphs[at] = "::\n\n" + "\n".join("    " + line for line in paragraph.split("\n"))
    lines[:] = "\n\n".join(paragraphs).split("\n")


def say_levels(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The theme calls the captions of its menu headings, and does not say of which level."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
