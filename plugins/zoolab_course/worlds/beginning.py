"""What is in the worlds at the beginning."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

from zoolab.files import read_table

_WORLDS = read_table("zoolab_course.worlds", "worlds.json")


def fresh(domain: str, part: str) -> Callable[[], Any]:
    """Return what makes a part of a domain's world as it is at the beginning."""
    return partial(deepcopy, _WORLDS[domain][part])
