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

__version__ = "0.1.0"

__getattr__, __dir__ = lazily(__name__, "zoolab.plugins")
