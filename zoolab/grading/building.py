"""The notebooks of a lab: the student's and the solution, both made from one master in py:percent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from zoolab.errors import InvalidInput
from zoolab.grading.labs import folder_of, lab_names
from zoolab.grading.notebooks import render

BEGIN, END, STUB = "# BEGIN SOLUTION", "# END SOLUTION", "# STUB:"
YOUR_CODE = "...  # your code"


def build_labs(names: Iterable[str] = (), check: bool = False) -> list[Path]:
    """Write the notebooks of these labs, by default of all, that differ from their master; return those.

    A lab is named, or is a folder of your own with a `cases.py` and a `master.py`. With `check=True` only
    look. Raises `InvalidInput` for an unknown lab, a master whose marks do not pair, and if jupytext is
    not installed.

    >>> build_labs(["l99"])
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: there is no lab 'l99'; expected one of ...
    """
    stale = []
    for path, text in (built for name in names or lab_names() for built in built_files(name).items()):
        wanted = text.encode()
        if path.is_file() and path.read_bytes() == wanted:
            continue
        stale.append(path)
        if not check:
            path.write_bytes(wanted)
    return stale


def built_files(name: str) -> dict[Path, str]:
    """The text of each file that is built for a lab: the student's notebook and the solution.

    >>> [path.name for path in built_files("l5")]
    ['l5.ipynb', 'solution.ipynb']
    """
    folder = folder_of(name)
    source, notebook = folder / "master.py", folder / f"{folder.name}.ipynb"
    try:
        master = source.read_text(encoding="utf-8")
        texts = {notebook: for_student(master), folder / "solution.ipynb": solved(master)}
    except OSError as error:
        raise InvalidInput(f"{source}: {error.strerror}", expected="the lab's master.py") from None
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}", advice="correct its marks") from None
    return {path: rendered(text) for path, text in texts.items()}


def for_student(master: str) -> str:
    """A master with each solution replaced by its stub: `...  # your code`, or the lines after `# STUB:`.

    >>> print(for_student("def f(x):\\n    # BEGIN SOLUTION\\n    return x + 1\\n    # END SOLUTION"))
    def f(x):
        ...  # your code
    """
    return "\n".join(line for part in parts(master) for line in stub(*part))


def solved(master: str) -> str:
    """A master without its marks.

    >>> print(solved("# BEGIN SOLUTION\\n# STUB: x = None\\nx = 1\\n# END SOLUTION"))
    x = 1
    """
    return "\n".join(
        line for inside, lines in parts(master) for line in lines if not (inside and _is_mark(line))
    )


def parts(master: str) -> Iterator[tuple[bool, list[str]]]:
    """The lines of a master in turns: outside of a solution, inside with its marks, outside, …

    >>> list(parts("x = 0\\n# BEGIN SOLUTION\\nx = 1\\n# END SOLUTION"))
    [(False, ['x = 0']), (True, ['# BEGIN SOLUTION', 'x = 1', '# END SOLUTION']), (False, [])]
    """
    inside = False
    lines: list[str] = []
    for number, line in enumerate(master.split("\n"), start=1):
        if line.strip() == (BEGIN if inside else END):
            raise InvalidInput(f"line {number}: {line.strip()}", expected=END if inside else BEGIN)
        if line.strip() == BEGIN:
            yield inside, lines
            inside, lines = True, []
        lines.append(line)
        if line.strip() == END:
            yield inside, lines
            inside, lines = False, []
    if inside:
        raise InvalidInput("a solution has no end", expected=END)
    yield inside, lines


def stub(inside: bool, lines: list[str]) -> list[str]:
    """What the student finds in place of a part of a master.

    >>> stub(True, ["    # BEGIN SOLUTION", "    return 1", "    # END SOLUTION"])
    ['    ...  # your code']
    """
    if not inside:
        return lines
    indent = lines[0][: -len(lines[0].lstrip())]
    stubs = [line.strip().removeprefix(STUB).removeprefix(" ") for line in lines if _is_stub(line)]
    return [indent + text for text in stubs or [YOUR_CODE]]


def _is_stub(line: str) -> bool:
    return line.strip().startswith(STUB)


def _is_mark(line: str) -> bool:
    return line.strip() in (BEGIN, END) or _is_stub(line)


def rendered(text: str) -> str:
    """A notebook as Jupyter saves it, from py:percent text.

    >>> '"cells"' in rendered("# %%\\nx = 1\\n")
    True
    """
    with TemporaryDirectory() as folder:
        source = Path(folder) / "lab.py"
        source.write_text(text, encoding="utf-8")
        return render(source)
