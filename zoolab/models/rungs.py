"""The names of the local models: Needle runs at several depths, and with or without its guard.

needle          all 20 layers; may only write calls of the tools that it was given
needle-L8       its first 8 layers: faster, and worse. One file of weights serves every depth
needle-raw      may write anything
needle-L8-raw   both
smollm2         writes words
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from zoolab.errors import InvalidInput

#: The depths that Needle was trained for.
LAYERS = range(2, 21)

_NEEDLE = re.compile(r"needle(?:-L(?P<layers>[1-9][0-9]?))?(?P<raw>-raw)?")


@dataclass(frozen=True, slots=True)
class Rung:
    """Which weights run, how many of their layers, and whether anything may be written."""

    weights: str
    #: None: all of them.
    layers: int | None = None
    raw: bool = False

    @property
    def title(self) -> str:
        """What is added to the title of the weights; empty for the model as it is.

        >>> read_name("needle-L8-raw").title
        ', 8 of 20 layers, unconstrained'
        """
        depth = "" if self.layers is None else f", {self.layers} of {LAYERS[-1]} layers"
        return depth + (", unconstrained" if self.raw else "")


def read_name(name: str) -> Rung:
    """What a local model's name stands for; another name than Needle's is that of its weights.

    >>> read_name("needle-L8")
    Rung(weights='needle', layers=8, raw=False)
    >>> read_name("needle-L40")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: needle has no 40 layers; expected -L2 to -L20
    """
    found = _NEEDLE.fullmatch(name)
    if found is None:
        return Rung(name)
    layers = int(found["layers"]) if found["layers"] else None
    if layers is not None and layers not in LAYERS:
        raise InvalidInput(f"needle has no {layers} layers", expected=f"-L{LAYERS[0]} to -L{LAYERS[-1]}")
    return Rung("needle", layers, found["raw"] is not None)
