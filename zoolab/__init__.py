"""zoolab: learn LLM tool calling by stepping through it.

from zoolab import tool, walk, Scripted

@tool
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

for step in walk("What is 42 + 58?", [add], model):
    print(step.kind, step.record)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoolab.experiments import experiment
    from zoolab.grading.checking import check
    from zoolab.inspector.inspector import inspect
    from zoolab.loop import walk
    from zoolab.models.choosing import who_answers
    from zoolab.models.faulty import Faulty
    from zoolab.models.local import LocalModel
    from zoolab.models.openai import OpenAIModel
    from zoolab.models.replay import Replay
    from zoolab.models.scripted import Scripted
    from zoolab.nested import as_tool, with_tools
    from zoolab.policy import Permissions, Policy, ask_person
    from zoolab.predictions import predict
    from zoolab.records import Decision, Limits, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
    from zoolab.registry import ToolRegistry
    from zoolab.steps.define import tool
    from zoolab.steps.tool_call import read_calls
    from zoolab.steps.validate import check_call
    from zoolab.tools import Context, Tool
    from zoolab.trace import Trace, arun, awalk, run

__version__ = "0.1.0"

_HOMES = {
    "experiments": "experiment",
    "grading.checking": "check",
    "inspector.inspector": "inspect",
    "loop": "walk",
    "models.choosing": "who_answers",
    "models.faulty": "Faulty",
    "models.local": "LocalModel",
    "models.openai": "OpenAIModel",
    "models.replay": "Replay",
    "models.scripted": "Scripted",
    "nested": "as_tool with_tools",
    "predictions": "predict",
    "policy": "Permissions Policy ask_person",
    "records": "Decision Limits Outcome Reply Request Result Step ToolCall Verdict",
    "steps.define": "tool",
    "steps.tool_call": "read_calls",
    "steps.validate": "check_call",
    "registry": "ToolRegistry",
    "tools": "Context Tool",
    "trace": "Trace arun awalk run",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Context",
    "Decision",
    "Faulty",
    "Limits",
    "LocalModel",
    "OpenAIModel",
    "Outcome",
    "Permissions",
    "Policy",
    "Replay",
    "Reply",
    "Request",
    "Result",
    "Scripted",
    "Step",
    "Tool",
    "ToolCall",
    "ToolRegistry",
    "Trace",
    "Verdict",
    "arun",
    "as_tool",
    "ask_person",
    "awalk",
    "check",
    "check_call",
    "experiment",
    "inspect",
    "predict",
    "read_calls",
    "run",
    "tool",
    "walk",
    "who_answers",
    "with_tools",
]


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used, so that `import zoolab` costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'zoolab' has no attribute {name!r}")
    value = getattr(import_module(f"zoolab.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
