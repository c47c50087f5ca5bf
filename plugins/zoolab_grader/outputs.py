"""Takes the outputs out of a notebook while it is bytes: pictures do not decide what is graded."""

from __future__ import annotations

import re

#: Bytes of a notebook with its outputs, and values in it, beyond which it is not read.
MAX_WITH_OUTPUTS = 200_000_000
MAX_TOKENS = 4_000_000

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]', re.DOTALL)
_OPEN, _CLOSE = b"[{", b"]}"
#: Depth at which the keys of a cell stand: within the notebook, its list of cells, and the cell.
_IN_CELL = 3


def without_outputs(data: bytes) -> bytes:
    """Put an empty list in the place of what cells printed; a text that is no notebook stays as it is.

    >>> without_outputs(b'{"cells": [{"outputs": [{"text": "]"}], "source": "x"}]}')
    b'{"cells": [{"outputs": [], "source": "x"}]}'
    """
    kept: list[bytes] = []
    depth = begin = 0
    start, key, after_key = -1, b"", False
    for count, found in enumerate(_TOKEN.finditer(data)):
        if count > MAX_TOKENS:
            return data
        token = found[0]
        if token in _OPEN:
            if depth == _IN_CELL and after_key and key == b'"outputs"' and token == b"[":
                start = found.start()
            depth += 1
        elif token in _CLOSE:
            depth -= 1
            if depth == _IN_CELL and start >= 0:
                kept += [data[begin:start], b"[]"]
                begin, start = found.end(), -1
        after_key = token == b":"
        if token[:1] == b'"':
            key = token
    return b"".join([*kept, data[begin:]])
