"""Notebooks are written as py:percent text, reviewed as text, and built into `.ipynb`.

    python -m zoolab.grading.notebooks [--check] [FOLDER]

`notebooks/NN-name.py` becomes `notebooks/NN-name.ipynb`, and `zoo.py`, the pages of the small worlds, becomes
`zoo.ipynb`: without outputs, and the same bytes each time, so that a stale notebook shows in a comparison.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build", "render", "sources"]

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources(folder: Path) -> list[Path]:
    """The notebooks' sources in `folder`, in the order in which they are read; the zoo comes last.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> for name in ("zoo.py", "02-more.py", "01-first.py", "helper.py"):
    ...     _ = (folder / name).write_text("")
    >>> [source.name for source in sources(folder)]
    ['01-first.py', '02-more.py', 'zoo.py']

    Raises:
        InvalidInput: `folder` is no folder.
    """
    if not folder.is_dir():
        raise InvalidInput(f"no folder {str(folder)!r}", expected="the folder of the notebooks")
    return [*sorted(folder.glob("[0-9][0-9]-*.py")), *folder.glob("zoo.py")]


def render(source: Path) -> str:
    """The text of the `.ipynb` that belongs to one py:percent file.

    >>> from tempfile import mkdtemp
    >>> source = Path(mkdtemp()) / "01-first.py"
    >>> _ = source.write_text('# %% [markdown]\\n# # Hello\\n\\n# %% tags=["raises-exception"]\\n1 / 0\\n')
    >>> import json
    >>> markdown, code = json.loads(render(source))["cells"]
    >>> markdown["id"], markdown["source"]
    ('0', ['# Hello'])
    >>> code["id"], code["source"], code["metadata"], code["outputs"]
    ('1', ['1 / 0'], {'tags': ['raises-exception']}, [])
    """
    jupytext, nbformat = _import("jupytext"), _import("nbformat")
    text = source.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell["id"] = str(index)
        # jupytext's note on blank lines: it would change with the layout of the source.
        cell.metadata.pop("lines_to_next_cell", None)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def build(folder: Path, check: bool = False) -> list[Path]:
    """Write every notebook in `folder` that differs from its source, and return those.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "01-first.py").write_text("# %%\\n1 + 1\\n")
    >>> [path.name for path in build(folder, check=True)]
    ['01-first.ipynb']
    >>> [path.name for path in build(folder)], build(folder)
    (['01-first.ipynb'], [])

    Args:
        folder: holds `NN-name.py` files, perhaps a `zoo.py`; the notebooks are written beside them.
        check: only look, write nothing.

    Raises:
        InvalidInput: `folder` is no folder, or the `dev` extra is not installed.
    """
    stale: list[Path] = []
    for source in sources(folder):
        target, wanted = source.with_suffix(".ipynb"), render(source).encode()
        if target.is_file() and target.read_bytes() == wanted:
            continue
        stale.append(target)
        if not check:
            target.write_bytes(wanted)
    return stale


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InvalidInput(
            f"{name} is not installed", expected="what builds notebooks", advice="run: pip install jupytext"
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check; 0 when all is well, 1 for stale notebooks under `--check`, 2 for wrong input."""
    parser = argparse.ArgumentParser(
        prog="python -m zoolab.grading.notebooks", description="Build the notebooks."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("notebooks"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    options = parser.parse_args(arguments)
    try:
        stale = build(options.folder, options.check)
    except InvalidInput as error:
        print(error, file=sys.stderr)
        return 2
    for path in stale:
        print(f"{path}: {'stale, run python -m zoolab.grading.notebooks' if options.check else 'built'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
