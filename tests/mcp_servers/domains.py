"""The four domains in one registry, and tools that misbehave; printing, while it is imported, too."""

from __future__ import annotations

import os
import sys

from zoolab import ToolRegistry, tool
from zoolab_course.worlds.analytics import analytics_tools
from zoolab_course.worlds.devops import devops_tools
from zoolab_course.worlds.security import security_tools
from zoolab_course.worlds.support import support_tools

print("imported")


@tool
def chatter() -> str:
    "Print in every way there is."
    print("to the real one", file=sys.__stdout__, flush=True)
    os.system("echo from a child")
    print("to sys.stdout")
    return "said"


@tool
def crash() -> str:
    "Raise what no tool should."
    raise SystemExit("secret detail")


@tool
def nonsense() -> object:
    "Return what is not JSON."
    return object()


def tools() -> ToolRegistry:
    """All of them."""
    rooms = [analytics_tools(), devops_tools(), security_tools(), support_tools()]
    return ToolRegistry([*(each for room in rooms for each in room), chatter, crash, nonsense])
