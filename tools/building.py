"""The notebooks of a lab, built from its master in py:percent: the student's and the solution."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoolab.errors import InvalidInput, needs
from zoolab.files import write_whole
from zoolab.grading.labs import folder_of, lab_names
from zoolab.grading.masters import for_student, solved

#: nbgrader's settings, which a teacher changes: they are never written over.
NBGRADER_CONFIG = "nbgrader_config.py"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def build_labs(names: Iterable[str] = (), check: bool = False) -> list[Path]:
    """Write the notebooks of these labs, by default of all, that differ from their master; return those.

    A lab is named, or is a folder of your own with a `cases.py` and a `master.py`. With `check=True` only
    look. Raises `InvalidInput` for an unknown lab, a master whose marks do not pair, and if jupytext is
    not installed.
    """
    files = {path: text for name in names or lab_names() for path, text in built_files(name).items()}
    return write_stale(files, check)


def write_stale(files: dict[Path, str], check: bool = False) -> list[Path]:
    """Write the files whose text is another one, and return those; with `check=True` only look."""
    stale = []
    for path, text in files.items():
        wanted = text.encode()
        if path.is_file() and path.read_bytes() == wanted:
            continue
        stale.append(path)
        if not check:
            path.write_bytes(wanted)
    return stale


def built_files(name: str) -> dict[Path, str]:
    """The text of each file that is built for a lab: the student's notebook and the solution."""
    folder = folder_of(name)
    source, notebook = folder / "master.py", folder / f"{folder.name}.ipynb"
    try:
        master = source.read_text(encoding="utf-8")
        texts = {notebook: for_student(master), folder / "solution.ipynb": solved(master)}
    except OSError as error:
        raise InvalidInput(f"{source}: {error.strerror}", expected="the lab's master.py") from None
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}", advice="correct its markers of solutions") from None
    return {path: rendered(text) for path, text in texts.items()}


def rendered(text: str) -> str:
    """A notebook as Jupyter saves it, from py:percent text: without outputs, and the same bytes each time.

    Raises `InvalidInput` if jupytext is not installed.
    """
    needs("jupytext", "nbformat")
    import jupytext
    import nbformat

    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for index, cell in enumerate(notebook.cells):
        cell["id"] = str(index)
        # jupytext's note on blank lines: it would change with the layout of the source.
        cell.metadata.pop("lines_to_next_cell", None)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"  # type: ignore[no-untyped-call]


def write_new(files: dict[Path, str]) -> list[Path]:
    """Write the files that are not there, and return those; `InvalidInput` if one is there and differs."""
    new = {path: text for path, text in files.items() if _is_new(path, text)}
    for path, text in new.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text])
    return list(new)


def _is_new(path: Path, text: str) -> bool:
    if not path.exists() or path.name == NBGRADER_CONFIG:
        return not path.exists()
    if path.read_text(encoding="utf-8") == text:
        return False
    raise InvalidInput(
        f"{path} exists already with other content", advice="remove it, or name another folder"
    )
