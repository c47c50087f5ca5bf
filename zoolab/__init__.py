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

# Not from typing: `python -m zoolab` comes here before it can leave out the folder that it is started in.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from zoolab import datasets as datasets
    from zoolab import errors as errors
    from zoolab import grading as grading
    from zoolab import jsontext as jsontext
    from zoolab import lint as lint
    from zoolab import mcp as mcp
    from zoolab import models as models
    from zoolab import plots as plots
    from zoolab import policy as policy
    from zoolab import proxy as proxy
    from zoolab import records as records
    from zoolab import repair as repair
    from zoolab import retrieval as retrieval
    from zoolab import schema as schema
    from zoolab import secrets as secrets
    from zoolab import show as show
    from zoolab import steps as steps
    from zoolab import study as study
    from zoolab import textcalls as textcalls
    from zoolab import tokens as tokens
    from zoolab import toolbox as toolbox
    from zoolab import tools as tools
    from zoolab import trace as trace
    from zoolab import wire as wire
    from zoolab.course.predictions import predict
    from zoolab.course.progress import progress
    from zoolab.grading.checking import check
    from zoolab.loop import walk
    from zoolab.models.faulty import Faulty
    from zoolab.models.local import LocalModel
    from zoolab.models.openai import OpenAIModel
    from zoolab.models.replay import Replay, model_for
    from zoolab.models.scripted import Scripted
    from zoolab.policy import Permissions, Policy, ask_user
    from zoolab.proxy.watch import watch
    from zoolab.records import Decision, Limits, Outcome, Reply, Request, Result, Step, ToolCall, Verdict
    from zoolab.runs import Trace, inspect, run
    from zoolab.runs.awaited import arun, awalk
    from zoolab.runs.nested import as_tool, with_tools
    from zoolab.steps.define import tool
    from zoolab.steps.tool_call import read_calls
    from zoolab.steps.validate import check_call
    from zoolab.study import experiment
    from zoolab.tokens import Price
    from zoolab.tools import Context, Tool, ToolRegistry

__version__ = "0.1.0"

# Tools, and the steps of a call
__all__ = ["Context", "Tool", "ToolRegistry", "as_tool", "check_call", "read_calls", "tool", "with_tools"]
# A walk, and what stands in its trace
__all__ += ["Limits", "Price", "Trace", "arun", "awalk", "inspect", "run", "walk", "watch"]
__all__ += ["Decision", "Outcome", "Reply", "Request", "Result", "Step", "ToolCall", "Verdict"]
# Models
__all__ += ["Faulty", "LocalModel", "OpenAIModel", "Replay", "Scripted", "model_for"]
# Permission
__all__ += ["Permissions", "Policy", "ask_user"]
# The course
__all__ += ["check", "experiment", "predict", "progress"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "study": "experiment",
            "grading.checking": "check",
            "tokens": "Price",
            "loop": "walk",
            "models.faulty": "Faulty",
            "models.local": "LocalModel",
            "models.openai": "OpenAIModel",
            "models.replay": "Replay model_for",
            "models.scripted": "Scripted",
            "runs.nested": "as_tool with_tools",
            "course.predictions": "predict",
            "course.progress": "progress",
            "policy": "Permissions Policy ask_user",
            "proxy.watch": "watch",
            "records": "Decision Limits Outcome Reply Request Result Step ToolCall Verdict",
            "steps.define": "tool",
            "steps.tool_call": "read_calls",
            "steps.validate": "check_call",
            "tools": "Context Tool ToolRegistry",
            "runs": "Trace inspect run",
            "runs.awaited": "arun awalk",
        },
    )


def load_ipython_extension(shell: object) -> None:
    """Make `%%walk` known to a notebook; called by `%load_ext zoolab`."""
    from zoolab.course.magic import register

    register(shell)
