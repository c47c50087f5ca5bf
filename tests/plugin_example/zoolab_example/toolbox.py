"""A domain of tools: a kitchen."""

from __future__ import annotations

from zoolab import ToolRegistry, tool


@tool
def boiling_time(egg: str) -> int:
    """Say how many minutes an egg boils.

    Args:
        egg: soft or hard
    """
    return {"soft": 5, "hard": 10}[egg]


def kitchen_tools() -> ToolRegistry:
    """Return the tools of the kitchen."""
    return ToolRegistry([boiling_time])
