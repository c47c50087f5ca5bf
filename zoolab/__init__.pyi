# The names of this package, for type checkers, and for `zoolab.lazy`, which imports them when they are used.

from zoolab import apis as apis
from zoolab_study import datasets as datasets
from zoolab import errors as errors
import zoolab_grader as grading
from zoolab import jsontext as jsontext
from zoolab import lint as lint
from zoolab_connect import mcp as mcp
from zoolab import models as models
from zoolab import plots as plots
from zoolab import policy as policy
from zoolab_connect import proxy as proxy
from zoolab import records as records
from zoolab import repair as repair
from zoolab import retrieval as retrieval
from zoolab import schema as schema
from zoolab import secrets as secrets
from zoolab import show as show
from zoolab import steps as steps
import zoolab_study as study
from zoolab import textcalls as textcalls
from zoolab import tokens as tokens
from zoolab import toolbox as toolbox
from zoolab import tools as tools
from zoolab import trace as trace
from zoolab_course.predictions import predict as predict
from zoolab_course.progress import progress as progress
from zoolab_grader.checking import check as check
from zoolab.loop import walk as walk
from zoolab_connect.faulty import Faulty as Faulty
from zoolab_course.local import LocalModel as LocalModel
from zoolab.models.openai import OpenAIModel as OpenAIModel
from zoolab.models.replay import Replay as Replay
from zoolab.models.replay import model_for as model_for
from zoolab.models.scripted import Scripted as Scripted
from zoolab.policy import Permissions as Permissions
from zoolab.policy import Policy as Policy
from zoolab.policy import ask_user as ask_user
from zoolab_connect.proxy.watch import watch as watch
from zoolab.records import Decision as Decision
from zoolab.records import Limits as Limits
from zoolab.records import Outcome as Outcome
from zoolab.records import Reply as Reply
from zoolab.records import Request as Request
from zoolab.records import Result as Result
from zoolab.records import Step as Step
from zoolab.records import ToolCall as ToolCall
from zoolab.records import Verdict as Verdict
from zoolab.runs import Trace as Trace
from zoolab.runs import inspect as inspect
from zoolab.runs import run as run
from zoolab.runs.awaited import arun as arun
from zoolab.runs.awaited import awalk as awalk
from zoolab.runs.nested import as_tool as as_tool
from zoolab.runs.nested import with_tools as with_tools
from zoolab.steps.define import tool as tool
from zoolab.steps.tool_call import read_calls as read_calls
from zoolab.steps.validate import check_call as check_call
from zoolab_study import experiment as experiment
from zoolab.tokens import Price as Price
from zoolab.tools import Context as Context
from zoolab.tools import Tool as Tool
from zoolab.tools import ToolRegistry as ToolRegistry

__version__: str

def load_ipython_extension(shell: object) -> None: ...
