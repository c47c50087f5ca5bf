"""What students get of a lab: its notebook, its page and the public cases.

The wheel has the labs in the same form. What builds it runs `public_cases` without zoolab installed, so this
module needs the standard library only until a lab is handed out.
"""

from __future__ import annotations

import ast
from pathlib import Path


def public_cases(source: str) -> str:
    """Return the text of a `cases.py` with its public cases, and with nothing that only hidden ones use.

    >>> hidden = "@case(points=1, hint='')\\ndef hidden(student, chance): return SECRET\\n"
    >>> print(public_cases("LAB = 1\\nSECRET = 7  # of a hidden case\\n\\n" + hidden))
    LAB = 1
    <BLANKLINE>
    """
    statements = ast.parse(source).body
    made = [(_names_made(each), each) for each in statements]
    waiting = [each for names, each in made if not names or "LAB" in names or _is_public(each)]
    kept: set[ast.stmt] = set()
    while waiting:
        statement = waiting.pop()
        kept.add(statement)
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        waiting += [each for names, each in made if names & used and each not in kept and not _marks(each)]
    lines = source.splitlines(keepends=True)
    text = ""
    end = 0
    for statement in statements:
        begin, end = end, statement.end_lineno or end  # with the comments before it
        text += "".join(lines[begin:end]) if statement in kept else ""
    return text


def _names_made(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names} - {"annotations"}
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _marks(statement: ast.stmt) -> list[ast.Call]:
    found = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    calls = [mark for mark in found if isinstance(mark, ast.Call)]
    return [mark for mark in calls if ast.unparse(mark.func).rpartition(".")[2] == "case"]


def _is_public(statement: ast.stmt) -> bool:
    named = (keyword for mark in _marks(statement) for keyword in mark.keywords)
    return any(each.arg == "public" and ast.unparse(each.value) == "True" for each in named)


def hand_out(lab: str, out: Path) -> list[Path]:
    """Write what students get of a lab into a folder of its name in `out`; return the files that are new.

    `lab` is a lab's name, or a folder with a `cases.py`. Raises `InvalidInput` if there is none, and if a
    file is there already and differs.
    """
    from tools.building import built_files, write_new
    from zoolab_grader.labs import folder_of

    folder = folder_of(lab)
    notebook = folder / f"{folder.name}.ipynb"
    page = folder / "README.md"
    # Not the notebook as it lies there: somebody may have worked in it.
    built = built_files(lab)[notebook] if (folder / "master.py").is_file() else notebook.read_text("utf-8")
    files = {notebook.name: built, "cases.py": public_cases((folder / "cases.py").read_text("utf-8"))}
    if page.is_file():
        files[page.name] = page.read_text("utf-8")
    return write_new({out / folder.name / name: text for name, text in files.items()})
