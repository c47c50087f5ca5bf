"""The master of a lab, the notebook with its solutions, and what students get of it."""

from __future__ import annotations

from collections.abc import Callable

from zoolab.errors import InvalidInput

# The marks of a master, which is text in py:percent.
BEGIN = "# BEGIN SOLUTION"
END = "# END SOLUTION"
STUB = "# STUB:"
YOUR_CODE = "...  # your code"
Marked = Callable[[str, list[str], list[str]], list[str]]


def for_student(master: str) -> str:
    """Return a master with each solution replaced by its stub: `...  # your code`, or the lines after `#
    STUB:`.
    """
    return rewritten(master, lambda before, prompt, _solution: prompt or [before + YOUR_CODE])


def rewritten(master: str, marked: Marked) -> str:
    """Return a master with what `marked` makes of each solution in its place.

    `marked(before, prompt, solution)` gets the lines of the lab's own stub, none for the usual one, and those
    of the solution. Raises `InvalidInput` for marks that do not pair.
    """
    lines: list[str] = []
    prompt: list[str] = []
    solution: list[str] = []
    inside = False
    before = ""
    for number, line in enumerate(master.split("\n"), start=1):
        mark = line.strip()
        if mark == (BEGIN if inside else END):
            raise InvalidInput(f"line {number}: {mark}", expected=END if inside else BEGIN)
        if mark == BEGIN:
            inside = True
            before = line.partition("#")[0]
            prompt = []
            solution = []
        elif mark == END:
            inside = False
            lines += marked(before, prompt, solution)
        elif not inside:
            lines.append(line)
        elif mark.startswith(STUB):
            prompt.append(before + mark.removeprefix(STUB).removeprefix(" "))
        else:
            solution.append(line)
    if inside:
        raise InvalidInput("a solution block is not closed", expected=END)
    return "\n".join(lines)
