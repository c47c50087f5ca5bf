"""Slides from the key cells of a notebook: one HTML file that fetches nothing.

    python -m tools.slides [NUMBER...] [--out FOLDER] [--no-run]

Key cells are the first cell, the predictions with what is revealed, the last cell, and each cell that is
marked in its source: `# %% tags=["slide"]`. The notebook is run first, so that the slides show its outputs.
What is revealed is folded. Arrow keys turn the slides.
"""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.notebooks import sources
from zoolab.text.markup import Html, clipped, folded, page, pictured, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MARK = "slide"
FOLDER = Path(__file__).parents[1] / "notebooks"
#: Larger output in HTML is shown as text: a whole trace is not a slide.
MAX_HTML = 30_000
MAX_TEXT = 1_500
STYLE, SCRIPT = (
    Html(Path(__file__).with_name(f"slides.{kind}").read_text(encoding="utf-8")) for kind in ("css", "js")
)
#: What a notebook says that ran without a reader.
NOBODY = "You made no prediction. "
_LOCAL_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")
_FOREIGN = re.compile(r"<(style|script)\b.*?</\1>", re.IGNORECASE | re.DOTALL)
_FETCHES = re.compile(r"<(img|iframe|link|object|embed|video|audio|source)\b[^>]*>", re.IGNORECASE)
#: A picture with its text, as the displays of zoolab show it.
_PICTURE = re.compile(r'<img alt="[^"<>]*" src="data:image/png;base64,[A-Za-z0-9+/=]+">')
_PREDICTS = re.compile(r"= predict\(")
_REVEALS = re.compile(r"\.reveal\(")


def read(source: Path, run: bool = True) -> list[Any]:
    """Return the cells of a notebook's source; with `run`, also what they show."""
    import jupytext

    notebook = jupytext.read(source)
    if run:
        from nbclient import NotebookClient

        place = {"metadata": {"path": str(source.parent)}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    return list(notebook.cells)


def deck(name: str, cells: Sequence[Any]) -> str:
    """Return the page with the slides of a notebook.

    >>> from types import SimpleNamespace as Cell
    >>> first = Cell(cell_type="markdown", source="# 01 · One [loop](x.ipynb)", metadata={})
    >>> told = deck("01", [first, first])
    >>> told.count("<section"), "x.ipynb" in told
    (2, False)
    """
    shown = list(slides(cells))
    body = (
        tag("section", each, aria_label=f"{number} of {len(shown)}", tabindex=-1)
        for number, each in enumerate(shown, 1)
    )
    notice = "Text: CC BY 4.0, zoolab contributors. Code: Apache-2.0. Keys: left and right; space unfolds."
    return page(name, STYLE, tag("main", *body), tag("footer", notice), script=SCRIPT)


def slides(cells: Sequence[Any]) -> Iterator[Html]:
    """Yield the content of each slide, in order."""
    ends = {0, len(cells) - 1}
    for index, cell in enumerate(cells):
        marked = MARK in cell.metadata.get("tags", ())
        if cell.cell_type == "markdown":
            if marked or index in ends:
                yield prose(cell.source)
        elif _REVEALS.search(cell.source):
            yield folded("What happened?", *outputs(cell))
        elif _PREDICTS.search(cell.source):
            yield tag("div", *outputs(cell) or [code(cell.source)])
        elif marked:
            shown = outputs(cell)
            yield tag("div", *shown, folded("Code", code(cell.source)) if shown else code(cell.source))


def prose(text: str) -> Html:
    """Return Markdown as HTML. Links into the course lead nowhere from one file, so they become text."""
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    return Html(harmless(markdown2html_mistune(_LOCAL_LINK.sub(r"\1", text))))


def code(text: str) -> Html:
    """Return a cell of code."""
    return tag("pre", tag("code", text))


def outputs(cell: Any) -> list[Html]:
    """Return what a cell showed: pictures, tables, and text; a widget is left out, since it needs a
    kernel.
    """
    given = cell.get("outputs", ())
    questions = [each for each in given if "zoolab-question" in each.get("data", {}).get("text/html", "")]
    return [shown for each in questions or given if (shown := _output(each)) is not None]


def _output(output: Any) -> Html | None:
    data = output.get("data", {})
    if "image/png" in data:
        alt = escape(pictured(data.get("text/plain", "a plot")))
        return Html(f'<img alt="{alt}" src="data:image/png;base64,{data["image/png"].strip()}">')
    given = data.get("text/html", "")
    if _PICTURE.fullmatch(given.strip()):
        return Html(given)
    html = harmless(given).replace(NOBODY, "")
    if html and len(html) <= MAX_HTML:
        return Html(html)
    text = output.get("text") or data.get("text/plain") or output.get("evalue") or ""
    return tag("pre", clipped(text, MAX_TEXT)) if text.strip() else None


def harmless(html: str) -> str:
    """Return HTML without styles and scripts of its own, and without anything that fetches."""
    return _FETCHES.sub("", _FOREIGN.sub("", html))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the slides of the notebooks that are named, by default of all; 2 if one does not exist."""
    parser = argparse.ArgumentParser(prog="python -m tools.slides", description="Make slides of notebooks.")
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="such as 04; by default all")
    parser.add_argument("--out", type=Path, default=Path("slides"), help="the folder to write into")
    parser.add_argument("--no-run", action="store_true", help="do not run the notebooks: no outputs")
    options = parser.parse_args(arguments)
    course = {source.stem[:2]: source for source in sources(FOLDER) if source.stem[0].isdigit()}
    if unknown := [number for number in options.numbers if number not in course]:
        print(f"no notebook {unknown[0]}; expected one of {', '.join(course)}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    for number in options.numbers or course:
        source = course[number]
        target = options.out / f"{source.stem}.html"
        target.write_text(deck(source.stem, read(source, not options.no_run)), encoding="utf-8")
        print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
