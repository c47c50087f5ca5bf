"""What `--json` prints: one JSON document on standard output."""

from __future__ import annotations

import json
from typing import Any


def print_json(document: Any) -> None:
    r"""Print a document as JSON in ASCII, so that nothing in it commands a terminal.

    >>> print_json({"name": "a\x1b[2J"})
    {
      "name": "a\u001b[2J"
    }
    """
    print(json.dumps(document, indent=2))
