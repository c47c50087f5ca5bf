"""A model: it says one sentence, whatever it is asked."""

from __future__ import annotations

from typing import Any

from zoolab import Scripted


def parrot(name: str | None = None, **settings: Any) -> Scripted:  # noqa: ARG001
    """Return a model that repeats its name."""
    return Scripted([f"I am {name or 'a parrot'}."])
