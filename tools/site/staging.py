"""The sources of the site: pages of the checkout, in the folders where they lie, so that their links hold."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tools.site.inspectors import FOLDER
from tools.site.plan import PATHS, address_of

PAGES = (
    *(
        "*.md",
        "notebooks/*.md",
        "notebooks/*.ipynb",
        "notebooks/*.png",
        "notebooks/*/*.md",
        "notebooks/*/*.html",
        "notebooks/traffic/*.jsonl",
    ),
    *("labs/README.md", "labs/*/README.md", "labs/l*/l*.ipynb", "datasets/*.md", "datasets/*/*.md"),
    *("tests/bench/README.md", "LICENSE*"),
)
PROJECT = Path(__file__).resolve().parents[2]
SETUP = """import sys

sys.path.insert(0, {project!r})
from tools.site.inspectors import show_as_pages

show_as_pages({folder!r}, {notebook!r})"""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")


def stage(own: Path, into: Path, extra: Path, run: str = "*", lite: bool = False) -> None:
    """Copy the pages of the project, and the site's own pages, into a new folder.

    Notebooks of the course whose name fits the pattern `run` will run, and what they write for the site
    goes into `extra`. The others, and the labs, are shown as they are handed out.

    A link to a file that is not part of the site becomes plain text. With `lite`, the notebooks that are part
    of the Lite site as well get a link to it.
    """
    shutil.rmtree(into, ignore_errors=True)
    extra.mkdir(parents=True, exist_ok=True)
    shutil.copytree(own, into, ignore=shutil.ignore_patterns("__pycache__"))
    pages = sorted({path for pattern in PAGES for path in PROJECT.glob(pattern)})
    copies = [into / page.relative_to(PROJECT) for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, copy)
    for copy in copies:
        if copy.suffix == ".md":
            copy.write_text(with_links_of_the_site(copy.read_text("utf-8"), copy, into), encoding="utf-8")
        elif copy.suffix == ".ipynb":
            notebook = json.loads(copy.read_text("utf-8"))
            _prepare(notebook, copy, into)
            if lite and (path := copy.relative_to(into).as_posix()) in PATHS:
                notebook["cells"].insert(1, _link_to_lite(path))
            if copy.parent.name == "notebooks" and copy.match(f"{run}.ipynb"):
                notebook["cells"].insert(0, _setup(copy.stem, extra))
            else:
                notebook["metadata"]["mystnb"] = {"execution_mode": "off"}
            copy.write_text(json.dumps(notebook, ensure_ascii=False, indent=1), encoding="utf-8")


def _prepare(notebook: dict[str, Any], page: Path, root: Path) -> None:
    """Mend the links, and fold what the notebook folds."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = with_links_of_the_site("".join(cell["source"]), page, root)
        elif cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-cell"]


def _link_to_lite(path: str) -> dict[str, Any]:
    """Return a line that opens the notebook in the Lite site; plain HTML, since Sphinx does not know that
    site.
    """
    up = "../" * path.count("/")
    link = f'<p><a class="run-in-browser" href="{up}lite/{address_of(path)}">Run it in the browser</a></p>'
    return {"cell_type": "markdown", "id": "lite", "metadata": {}, "source": link}


def _setup(name: str, extra: Path) -> dict[str, Any]:
    """Return the cell that makes inspectors pages of the site; readers do not see it."""
    code = SETUP.format(project=str(PROJECT), folder=str(extra / FOLDER), notebook=name)
    cell = {"cell_type": "code", "id": "site", "metadata": {"tags": ["remove-cell"]}, "source": code}
    return {**cell, "execution_count": None, "outputs": []}


def with_links_of_the_site(text: str, page: Path, root: Path) -> str:
    """Return the text of a page; a link to a file that the site does not have becomes plain text."""

    def link(found: re.Match[str]) -> str:
        picture, label, target, anchor = found.groups()
        target = target.replace("tools/site/pages/", "")  # the site's own pages lie at its root
        there = (page.parent / target).resolve()
        if there.is_dir() and (there / "README.md").is_file():
            return f"{picture}[{label}]({target.rstrip('/')}/README.md{anchor or ''})"
        kept = f"{picture}[{label}]({target}{anchor or ''})"
        return kept if there.is_file() and there.is_relative_to(root.resolve()) else label

    return _LINK.sub(link, text)
