"""A name: `zoolab.dozen`."""

from __future__ import annotations


def dozen() -> int:
    """Return how many a dozen is."""
    return 12
