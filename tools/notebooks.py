"""Notebooks are written as py:percent text, reviewed as text, and built into `.ipynb`.

    python -m tools.notebooks [--check] [FOLDER]

`notebooks/NN-name.py` becomes `notebooks/NN-name.ipynb`, and `zoo.py`, the pages of the small worlds, becomes
`zoo.ipynb`: without outputs, and the same bytes each time, so that a stale notebook shows in a comparison.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.building import rendered, write_stale
from zoolab.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build", "render", "sources"]


def sources(folder: Path) -> list[Path]:
    """Return the notebooks' sources in `folder`, in the order in which they are read; the zoo comes last.

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
    """Return the text of the `.ipynb` that belongs to one py:percent file."""
    return rendered(source.read_text(encoding="utf-8"))


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
        InvalidInput: `folder` is no folder.
    """
    files = {source.with_suffix(".ipynb"): render(source) for source in sources(folder)}
    return write_stale(files, check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check; 0 when all is well, 1 for stale notebooks under `--check`, 2 for wrong input."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description="Build the notebooks.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("notebooks"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    options = parser.parse_args(arguments)
    try:
        stale = build(options.folder, options.check)
    except InvalidInput as error:
        print(error, file=sys.stderr)
        return 2
    for path in stale:
        print(f"{path}: {'stale, run python -m tools.notebooks' if options.check else 'built'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
