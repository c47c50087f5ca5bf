"""zoolab: learn LLM tool calling by stepping through it.

from zoolab import tool, walk, Scripted

@tool
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

for step in walk("What is 42 + 58?", [add], model):
    print(step.kind, step.record)
"""

from zoolab.lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def _registered(name: str, package: str) -> "Any":
    """A name that a plugin registered."""
    from zoolab.plugins import registered

    return registered(__name__, name, package)


__getattr__, __dir__, __all__ = lazily(__name__, _registered)
