"""How alike the code of two submissions is."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from zlib import crc32

from zoolab_grader.worker.cells import without_magics

#: Tokens in a run: fewer find more in common in work that is not alike.
RUN = 16
#: How much of two shapes is the same, from 0 to 1, if they are listed.
ALIKE = 0.75
#: Runs below which a shape is too short to say anything.
SHORTEST = 20
MAX_COMPARED = 50_000
_LEFT_OUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
_KINDS = {tokenize.NAME: "name", tokenize.NUMBER: "number", tokenize.STRING: "text"}
#: What work is compared by: a hash for each run of tokens, in which its kind stands for every name, number
#: and text. So other names, another layout and other comments make no difference.
Shape = frozenset[int]


def shape_of(cells: Sequence[str]) -> Shape:
    """Return the hashes of all runs of tokens in these cells; nothing in them is run or compiled.

    >>> renamed = "def total(prices):  # mine\\n    return sum(price * 2 for price in prices)"
    >>> shape_of(["def add(xs):\\n  return sum(x * 3 for x in xs)"]) == shape_of([renamed])
    True
    """
    tokens = list(_tokens("\n".join(map(without_magics, _first_of(cells)))[:MAX_COMPARED] + "\n"))
    return frozenset(crc32(" ".join(tokens[at : at + RUN]).encode()) for at in range(len(tokens) - RUN + 1))


def _first_of(cells: Sequence[str]) -> Iterator[str]:
    """Yield the cells, up to what is compared: reading one takes time."""
    left = MAX_COMPARED
    for cell in cells:
        yield cell[:left]
        left -= len(cell)
        if left <= 0:
            return


def _tokens(code: str) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type in _LEFT_OUT:
                continue
            if keyword.iskeyword(token.string) or token.type == tokenize.OP:
                yield token.string
            else:
                yield _KINDS.get(token.type, str(token.type))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return  # the rest is no Python


def alike(shapes: Mapping[str, Shape], given: Shape = frozenset()) -> list[tuple[float, str, str]]:
    """Return the pairs that are alike, the most alike first: how much, and their names.

    What students were given, and what many have, does not count.
    """
    times = Counter(run for shape in shapes.values() for run in shape)
    usual = {run for run, count in times.items() if count > max(len(shapes) / 2, 6)}
    own = {name: shape - given - usual for name, shape in shapes.items()}
    long_enough = sorted(name for name, shape in own.items() if len(shape) >= SHORTEST)
    found: list[tuple[float, str, str]] = []
    for one, other in combinations(long_enough, 2):
        both = len(own[one] & own[other])
        share = both / (len(own[one]) + len(own[other]) - both)
        if share >= ALIKE:
            found.append((share, one, other))
    return sorted(found, key=lambda pair: (-pair[0], *pair[1:]))
