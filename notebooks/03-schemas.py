# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 · Schemas and descriptions
#
# A model never sees your function. It sees a name, a sentence or two, and a **JSON Schema**: JSON that says which other JSON is allowed. This description is the user
# interface of your function. Its user is the model, and the model cannot ask you what you meant.
#
# Afterwards you can
#
# - turn a Python function into a tool, and predict its schema;
# - say which mistakes a schema prevents, and which it cannot prevent;
# - use a linter for descriptions;
# - use `tool_choice`, and check whether the server obeys it;
# - read an experiment: one change that has an effect, and one that has none.
#
# About 45 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct, recorded. You need it only in the second half.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import check_call, model_for, predict, run, tool

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-course-00")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## From a function to a schema
#
# `@tool` reads what a careful programmer writes anyway: the name, the types, the defaults and the docstring.

# %%
from typing import Literal


@tool
def check_disk_usage(host: str, path: str = "/", unit: Literal["percent", "GB"] = "percent") -> float:
    """Report how full a disk is.

    Args:
        host: Name of the server, such as db01.
        path: Where the disk is mounted.
        unit: How to report it.
    """
    return 71.0 if unit == "percent" else 142.0


print(check_disk_usage.description)
print(json.dumps(check_disk_usage.parameters, indent=1))

# %% [markdown]
# | in the schema | where it comes from |
# | --- | --- |
# | the description of the tool | the first part of the docstring |
# | `properties` | one entry for each parameter |
# | `type` | the type hint |
# | `description` of a parameter | the part `Args:` of the docstring |
# | `enum` | `Literal`: these values and no others |
# | `required` | the parameters without a default |
# | `additionalProperties: false` | zoolab: a misspelt argument is an error, and is not silently ignored |

# %%
guess = predict("Somebody adds a parameter: depth: int | None = None. Is it required?", ["yes", "no"])
guess


# %%
@tool
def list_folder(path: str, depth: int | None = None) -> list[str]:
    "List what is in a folder."
    return [path, str(depth)]


print(json.dumps(list_folder.parameters["properties"]["depth"]))
print("required:", list_folder.parameters["required"])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "yes" if "depth" in list_folder.parameters["required"] else "no",
    because="It has a default. That it may be null is another question.",
)

# %% [markdown]
# ## Limits for values: `Field`
#
# Python's `int` has no limits. Your disk check does. `Field` of the library pydantic says more about a parameter: limits, lengths, patterns, and also its description.

# %%
from typing import Annotated

from pydantic import Field


@tool
def ping_host(
    host: Annotated[str, Field(min_length=1, max_length=253)],
    count: Annotated[int, Field(ge=1, le=10, description="How many packets to send.")] = 4,
) -> str:
    "Send packets to a host, and report whether it answers."
    return f"{host}: {count} packets sent"


print(json.dumps(ping_host.parameters["properties"], indent=1))

# %% [markdown]
# `ge` means "greater or equal", and `le` means "less or equal". They become `minimum` and `maximum`. The model can read them, and validation checks them.
#
# ## Without a function signature: `Tool.build`
#
# Sometimes the parameters are known only when the program runs, for example if they come from a file. Then build the tool step by step.

# %%
from zoolab import Tool

UNITS = ["percent", "GB"]  # imagine that a file contains them


def disk(host, path="/", unit="percent"):
    return f"{host}{path}: 71 {unit}"


built = (
    Tool.build("check_disk_usage", "Report how full a disk is.")
    .param("host", "string", "Name of the server, such as db01.")
    .param_opt("path", "string", "Where the disk is mounted.", default="/")
    .param_opt("unit", "string", "How to report it.", enum=UNITS, default="percent")
    .call(disk)
)
print("the same schema as above:", built.parameters == check_disk_usage.parameters)

# %% [markdown]
# `param` adds a required parameter, `param_opt` an optional one, and `call` ends with the function. A third way is `Tool.from_schema`, if you have the whole schema
# already.

# %% [markdown] tags=["slide"]
# ## What a schema catches
#
# Here are six sets of arguments, written by hand. `check_call` says which may run, and what is wrong with the others. The model gets to read the same sentences, so
# that it can try again.

# %%
from zoolab import ToolCall, ToolRegistry

WRITTEN = [
    '{"host": "db01"}',
    '{"hostname": "db01"}',
    '{"host": "db01", "unit": "gigabytes"}',
    '{"host": ["db01", "db02"]}',
    '{"host": "db01", "path": "/dev/null; rm -rf /"}',
    '{"host": "the database server"}',
]


def check(one_tool, arguments):
    return check_call(ToolCall(1, 0, "call_1", one_tool.name, arguments), ToolRegistry([one_tool]))


for arguments in WRITTEN:
    verdict = check(check_disk_usage, arguments)
    print("may run " if verdict.ok else "rejected", arguments)
    for problem in verdict.problems:
        print("         ", problem)

# %% [markdown]
# The last two may run. A schema knows the form, not the meaning. A path is text, and an attack is text, too. What a schema cannot say belongs in the function
# ([lab 5](../labs/l5/README.md)) or in a policy ([08](08-execution.ipynb)).
#
# Now a careless schema: all parameters are strings, and none is required. How much does it let through?

# %%
lazy = Tool.from_schema(
    "check_disk_usage",
    "Disk tool.",
    {"type": "object", "properties": {name: {"type": "string"} for name in ("host", "path", "unit")}},
    lambda **arguments: arguments,
)
guess = predict("How many of the six sets does the careless schema let through?", range(7))
guess

# %%
accepted = {
    name: [check(each, arguments).ok for arguments in WRITTEN]
    for name, each in {"careful": check_disk_usage, "careless": lazy}.items()
}
for name, verdicts in accepted.items():
    print(f"{name:10} lets {sum(verdicts)} of {len(verdicts)} through")

# %% jupyter={"source_hidden": true}
guess.reveal(
    sum(accepted["careless"]),
    because="Only the list of two hosts is not a string. A misspelt name passes, because the schema allows unknown properties.",
)

# %% [markdown] tags=["slide"]
# ## Descriptions
#
# Validation checks a call against the schema. Nothing checks the description: the model only reads it. A description answers two questions: what does the tool do,
# and *when* should it be used? A **linter** is a program that looks for known mistakes without running anything. zoolab has one for tools.

# %%
from zoolab.lint import lint

for name, each in {"careless": lazy, "careful": check_disk_usage}.items():
    print(name)
    for finding in lint(each):
        print(f"   {finding.severity:8}{finding}")

# %% [markdown]
# The linter warns about the careful tool, too. Its description does not say when to use the tool. `dataclasses.replace` makes a copy of a tool with another description:

# %%
from dataclasses import replace

better = replace(
    check_disk_usage,
    description="Report how full a disk is. Use this when the user asks about disk space on a server.",
)
print([str(finding) for finding in lint(better)])

# %% [markdown]
# The opposite mistake is **stuffing**: somebody piles up keywords, so that the tool is found for everything. The linter sees this, too.

# %%
stuffed = replace(
    check_disk_usage,
    description="disk disk disk usage space disk storage disk full disk free disk check disk",
)
for finding in lint(stuffed):
    print(finding)

# %% [markdown]
# A linter knows rules, not models. Whether a description helps *your* model is a question for an experiment. Notebook [04](04-selection.ipynb) compares written
# descriptions with "Does things.", and in its exercise you measure your own.

# %% [markdown]
# ## `tool_choice`
#
# A request may also say *whether* the model shall call a tool:
#
# | `tool_choice` | means |
# | --- | --- |
# | `"auto"` | the model decides; this is the default |
# | `"none"` | no call |
# | `"required"` | at least one call, of any tool |
# | the name of a tool | a call of this tool |
#
# The first three are the words of [OpenAI's Chat Completions](https://platform.openai.com/docs/guides/function-calling). There, the name of a tool stands in an object.
# `body` writes it so:

# %%
from zoolab import Request, read_calls
from zoolab.toolbox.catalog import tools_named

pair = tools_named("ping", "add")
question = [{"role": "user", "content": "What is 1 + 2?"}]
forced = Request(question, tuple(pair.schemas()), "ping")
print(forced.body()["tool_choice"])

# %% [markdown]
# The question is about a sum, but the request forces `ping`. For a user that makes no sense. It is a good test: if a call of `ping` comes back, the server has obeyed.

# %%
guess = predict(
    "The request was sent to Qwen, which runs in llama.cpp. What came back?",
    ["a call of ping", "a call of add", "a text"],
)
guess

# %%
reply = model(forced)
calls = read_calls(reply.message, text=True)
print([(call.name, " ".join(call.arguments.split())) for call in calls] or reply.text)

# %% jupyter={"source_hidden": true}
guess.reveal(
    f"a call of {calls[0].name}" if calls else "a text",
    because="This server obeyed."
    if calls and calls[0].name == "ping"
    else "This server accepted the field and did not enforce it. It returned no error.",
)

# %% [markdown]
# So check what came back. Some models refuse instead: they answer 400 if a request forces a call. Claude does so while it thinks
# ([extended thinking](https://platform.claude.com/docs/en/build-with-claude/extended-thinking)). That is a limit of the API. It says
# nothing about whether the model can choose this tool. Which providers enforce `tool_choice`, and which cannot even say it, is a topic of [10](10-providers.ipynb).
#
# There is a second trap. If every request of a loop forces a call, the loop never ends, because the model is never allowed to answer. `walk` forces only the first
# turn. A script shows it:

# %%
from zoolab import Scripted

loop = run("What is 1 + 2?", pair, Scripted([[("add", {"a": 1, "b": 2})], "3."]), tool_choice="required")
print([step.record.tool_choice for step in loop.steps if step.kind == "request"])

# %% [markdown]
# ## An experiment with an effect
#
# Do two sentences in the system prompt change how often a model calls tools needlessly? In [00](00-can-it-call-tools.ipynb) Qwen went on calling although it had the
# result. Here is a way to count this: a call is **repeated** if the same conversation already contains a call of the same tool with the same arguments. Most of these
# tools only look something up, so the second call brings nothing new. (There are exceptions. One task says "then read the log again".)
#
# The plan: 60 tasks with the tools of five small worlds. Each is asked twice, once without a system prompt and once with this one:
#
# > Use the tools where they help. When you have the results that you need, answer in one short sentence, without a call.

# %%
from zoolab import Limits, Policy, Trace, walk
from zoolab.errors import LoopError

WORLDS = (
    ("add", "multiply", "get_weather", "get_time", "convert_length"),
    *([name] for name in ("devops", "support", "analytics", "security")),
)


# %%
def hold(opening, answering):
    "Hold the conversation that begins with a recorded request, for at most six turns."
    *system, prompt = (message["content"] for message in opening["messages"])
    fresh = (tools_named(*names) for names in WORLDS)  # each conversation begins in a new world
    tools = next(kit for kit in fresh if kit.schemas() == opening["tools"])
    trace = Trace()
    limits = Limits(turns=6)
    steps = walk(
        prompt, tools, answering, system="".join(system) or None, policy=Policy(ask=()), limits=limits
    )
    try:
        for _ in trace.follow(steps):
            pass
    except LoopError:
        pass  # it went on calling until the limit
    return prompt, trace


# %%
RECORDED = {"without": "qwen-tasks", "with": "qwen-tasks-system"}
held = {}
for variant, name in RECORDED.items():
    replay = model_for(None, name)
    held[variant] = dict(hold(opening, replay) for opening in replay.recording.openings)
print("who answered:", replay.recording.header.who)
print({variant: len(traces) for variant, traces in held.items()}, "tasks")

# %% [markdown]
# Before you compare numbers, read one conversation, with and without the system prompt:

# %%
TASK = "Read the log of redis, then restart it, then read the log again."
for variant, traces in held.items():
    print(f"{variant} the system prompt")
    for call in traces[TASK].tool_calls:
        print("   ", call.name, " ".join(call.arguments.split()))
    print("    answer:", repr(traces[TASK].answer))


# %%
def repeated(trace):
    "How many calls were made before, with the same arguments."
    made = [(call.name, "".join(call.arguments.split())) for call in trace.tool_calls]
    return len(made) - len(set(made))


with_repeats = {
    variant: {task: [float(repeated(trace) > 0)] for task, trace in traces.items()}
    for variant, traces in held.items()
}
counts = {variant: int(sum(hit for [hit] in hits.values())) for variant, hits in with_repeats.items()}
print("tasks with a repeated call, without the system prompt:", counts["without"])
guess = predict(
    "In how many tasks does Qwen repeat a call with the system prompt?",
    ["about as many", "about half as many", "hardly any"],
)
guess

# %%
from zoolab_study.statistics import paired_difference

print(counts)
print("with against without:", paired_difference(with_repeats["without"], with_repeats["with"]))

# %% jupyter={"source_hidden": true}
share = counts["with"] / counts["without"]
guess.reveal(
    "about as many" if share > 0.75 else "about half as many" if share > 0.2 else "hardly any",
    because="The interval is far from 0. These two sentences change what this model does.",
)

# %% [markdown]
# The numbers in brackets are the 95 % **interval**: with so few tasks, the difference over *all* such tasks may lie anywhere in it. Notebook 04 counts *answers* in the
# same conversations. Fewer calls are no success if the answer is wrong, so look at both.
#
# ## An experiment that decides nothing
#
# The same conversations, another question. Does the system prompt also help Qwen to write arguments that fit the schema? We look at the first call of each
# conversation, because later calls depend on the earlier ones.


# %%
def first_fits(trace):
    "Whether the first call of a conversation passed validation."
    first = next((step for step in trace.steps if step.kind == "validate"), None)
    return first is not None and first.record.ok


fits = {
    variant: {task: [float(first_fits(trace))] for task, trace in traces.items()}
    for variant, traces in held.items()
}
guess = predict(
    "With the system prompt, do the arguments of the first call fit the schema more often?",
    ["more often", "less often", "not decisive"],
)
guess

# %%
found = paired_difference(fits["without"], fits["with"])
print({variant: int(sum(hit for [hit] in hits.values())) for variant, hits in fits.items()})
print("with against without:", found)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "not decisive" if not found.decisive else "more often" if found.estimate > 0 else "less often",
    because="The interval contains 0. And nearly all first calls fit already, so there was almost no room to become better.",
)

# %% [markdown]
# **Not decisive** does not mean "no effect". It means that these data cannot tell. If nearly everything is right already, there is little
# room for an improvement, and you would need very many tasks to see one.
#
# The number of tasks was decided before the first request was sent. The two questions were chosen later, for this page. In your own experiment, decide both first. A 95 %
# interval is wrong about once in twenty times. So if you try twenty measures, one of them will probably look like an effect by luck.

# %% [markdown]
# ## Your turn
#
# **1. Satisfy the linter.** Change `info` so that `lint` finds nothing. Its description may have two lines at most. You may rename everything. If you rename the
# function, add a last line `info = new_name`.


# %%
@tool
def info(x: str) -> str:
    "Info."
    return x


# %%
def linted(one_tool):
    findings = lint(one_tool)
    for finding in findings:
        print("not yet:", finding)
    if len(one_tool.description.splitlines()) > 2:
        print("not yet: the description has more than two lines")
    elif not findings:
        print("right")


linted(info)

# %% [markdown]
# <details><summary>Hint</summary>
#
# What does it inform about? When should one use it? What is `x`? `Annotated[str, "The number of the ticket, such as T-1001."]` describes a parameter in place.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# @tool
# def get_ticket_status(ticket: Annotated[str, "The number of the ticket, such as T-1001."]) -> str:
#     "Get the status of a support ticket. Use this when the user asks how far a ticket is."
#     return ticket
#
#
# info = get_ticket_status
# ```
#
# The model reads the name, too. `info` could mean anything.
#
# </details>

# %% [markdown]
# **2. Design a tool.** A help desk wants the model to open tickets. A ticket has a title of 3 to 80 characters, a priority (*low, normal, urgent*), and perhaps a list
# of tags. Change the parameters of `open_ticket`, so that each line of `GOOD` may run, and each line of `BAD` is rejected.


# %%
@tool
def open_ticket(title: str, priority: str) -> str:
    "Open a ticket."
    return f"{title} ({priority})"


# %%
GOOD = [
    '{"title": "No mail", "priority": "urgent"}',
    '{"title": "No mail", "priority": "low", "tags": ["mail"]}',
]
BAD = [
    '{"title": "No mail", "priority": "HIGH"}',
    '{"title": "No mail"}',
    '{"title": "No mail", "priority": "low", "tags": "mail"}',
    '{"title": "", "priority": "low"}',
]
for arguments in GOOD + BAD:
    as_wanted = check(open_ticket, arguments).ok == (arguments in GOOD)
    wanted = "must run" if arguments in GOOD else "must be rejected"
    print("right  " if as_wanted else "not yet", f"| {wanted:16} |", arguments)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `Literal[...]` for the priority, `Field(min_length=..., max_length=...)` for the title, and `list[str] | None = None` for the tags.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# @tool
# def open_ticket(
#     title: Annotated[str, Field(min_length=3, max_length=80, description="What is wrong, in a few words.")],
#     priority: Literal["low", "normal", "urgent"],
#     tags: list[str] | None = None,
# ) -> str:
#     "Open a new ticket when somebody reports a problem."
#     return f"{title} ({priority})"
# ```
#
# A rule in the schema is checked before the function runs, and the model can read it.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - The schema is the interface. Forbid unknown parameters, require what is needed, and list the allowed values.
# - A description says what the tool does and *when* to use it.
# - A form can be checked, a meaning cannot. The function still has to be careful.
# - `tool_choice` is a request. Check whether the server obeyed.
# - Decide the number of cases before the experiment. "Not decisive" is a result, too.
#
# Next: [04 · Selection](04-selection.ipynb). Lab: [l3 · Define](../labs/l3/l3.ipynb).
