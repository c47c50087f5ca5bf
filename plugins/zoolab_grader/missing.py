"""Says why a submission lacks a name that the lab asks for, or a name that its own code uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

#: Names that are compared with the missing one, and how alike they have to be, from 0 to 1.
MAX_NAMES = 500
SIMILAR = 0.8

_DEFINED = re.compile(r"^(?:(?:async +)?def|class) +(\w{1,100})\b|^(\w{1,100}) *=(?!=)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rest:
    """What a notebook has besides its cells of code: its texts, and the version of Python that it names.

    `texts` are the cells that are not code, each with what it is called.
    """

    texts: Sequence[tuple[str, str]] = ()
    python: str = ""

    def newer_than(self, version: tuple[int, int]) -> str:
        """Return the Python of the notebook if it is newer than `version`; else nothing.

        >>> Rest(python="3.14.0rc1").newer_than((3, 11)), Rest(python="3.9").newer_than((3, 11))
        ('3.14', '')
        """
        found = re.match(r"(\d{1,2})\.(\d{1,2})(?!\d)", self.python)
        return found[0] if found and (int(found[1]), int(found[2])) > version else ""


#: Of what is not a notebook.
NO_REST = Rest()


@dataclass(slots=True)
class Known:
    """What is known of a submission before one of its names is looked for.

    `texts` are the cells that are not code, each with what it is called; `functions` are the names that the
    lab asks for. The other fields grow while the cells are loaded.
    """

    cells: Sequence[str] = ()
    texts: Sequence[tuple[str, str]] = ()
    functions: Sequence[str] = ()
    #: The cells that failed, and how.
    broken: dict[str, str] = field(default_factory=dict)
    #: The name that was not defined, for each cell that failed over one.
    undefined: dict[str, str] = field(default_factory=dict)
    #: The cells of which lines were not run, and which.
    not_run: dict[str, str] = field(default_factory=dict)

    def failed(self, name: str) -> str:
        """Return how a cell that has this name failed; empty if no cell did."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        for cell, note in self.broken.items():
            # That the name itself is missing is no reason, unless the cell was to define it further down.
            circular = self.undefined.get(cell) == name and not _defines(cell, name)
            if not circular and word.search(cell):
                return note
        return ""

    def why(self, name: str) -> str:
        """Return the rest of a sentence about the missing name; empty if nothing is known.

        >>> Known(["run_lopp = 5"]).why("run_loop")
        ': no cell defines it, but cell 1 defines `run_lopp`'
        """
        if note := self.failed(name):
            return f", because its code could not be run: {note}"
        if note := next((note for cell, note in self.not_run.items() if _defines(cell, name)), ""):
            return f": {note}"
        if not self.cells or any(_defines(cell, name) for cell in self.cells):
            return ""
        found = next(self._hints(name), "")
        return f": no cell defines it{', but ' if found else ''}{found}"

    def _hints(self, name: str) -> Iterator[str]:
        inside = re.compile(rf"^[ \t]+(?:async +)?def +{re.escape(name)}\b", re.MULTILINE)
        for number, cell in enumerate(self.cells, 1):
            if inside.search(cell):
                yield f"cell {number} has an indented `def {name}`, which belongs to what stands above it"
        for called, text in self.texts:
            if _defines(text, name) or inside.search(text):
                yield f"{called} has it: make it a cell of code"
        places = self._names()
        for alike in get_close_matches(_folded(name), places, 1, SIMILAR):
            number, similar = places[alike]
            yield f"cell {number} defines `{similar}`"

    def _names(self) -> dict[str, tuple[int, str]]:
        """Return the names that cells define, folded, with the number of the cell and as they are written."""
        places: dict[str, tuple[int, str]] = {}
        for number, cell in enumerate(self.cells, 1):
            for found in _DEFINED.finditer(cell):
                if len(places) == MAX_NAMES:
                    return places
                name = found[1] or found[2]
                if name not in self.functions:
                    places.setdefault(_folded(name), (number, name))
        return places


def _defines(text: str, name: str) -> bool:
    return any(name in (found[1], found[2]) for found in _DEFINED.finditer(text))


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()
