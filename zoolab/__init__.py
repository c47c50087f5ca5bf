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
    """A name that a plugin registered; see `zoolab.plugins`."""
    from zoolab.plugins import NAMES, BrokenPlugin

    try:
        value = NAMES.find(name)
    except BrokenPlugin as error:
        raise ImportError(f"zoolab.{name} is not here: {error}", name=package or None) from error
    if value is None:
        told = f": it comes with {package}, which is not installed" if package else ""
        raise AttributeError(f"module 'zoolab' has no attribute {name!r}{told}")
    return value


__getattr__, __dir__, __all__ = lazily(__name__, _registered)
