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
# A model never sees your function. It sees a few hundred bytes: a name, a sentence or two, and a **JSON Schema**, which says
# which JSON is allowed. Those bytes decide whether your tool is found and whether it gets what it needs. They are the user
# interface of your function, and its user cannot ask you back.
#
# Afterwards you can
#
# - turn a Python function into a tool, and predict the schema it gets;
# - say which mistakes a schema prevents, and which it cannot;
# - use a linter on descriptions, and know what strict mode changes;
# - read the same tool in the formats of four providers;
# - design a tool of your own that a model uses rightly.
#
# About 40 minutes, offline.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import check_call, model_for, predict, run, tool

model = model_for(LIVE, "course-03")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## From a function to a schema
#
# `@tool` reads what any careful programmer writes anyway: names, types, defaults and the docstring.

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
# Read it line by line:
#
# - `properties`: one entry a parameter; its `type` comes from the hint, its `description` from the docstring.
# - `enum`: from `Literal`; these values and no others.
# - `required`: parameters without a default.
# - `additionalProperties: false`: the schema is **closed**. A misspelt argument is an error and not a silence.

# %%
guess = predict("Someone adds a parameter `depth: int | None = None`. Is it required?", ["yes", "no"])
guess


# %%
@tool
def list_folder(path: str, depth: int | None = None) -> list[str]:
    "List what is in a folder."
    return [path, str(depth)]


print(json.dumps(list_folder.parameters["properties"]["depth"]))

# %% jupyter={"source_hidden": true}
guess.reveal(
    "yes" if "depth" in list_folder.parameters["required"] else "no",
    because="It has a default. That it may be null is another matter.",
)

# %% [markdown]
# ## What a schema catches
#
# Six sets of arguments, as models write them. `check_call` says which may run, and what is wrong with the others: the same sentences go
# back to the model, so that it can try again.

# %%
from zoolab import ToolCall, ToolRegistry

tools = ToolRegistry([check_disk_usage])
WRITTEN = [
    '{"host": "db01"}',
    '{"hostname": "db01"}',
    '{"host": "db01", "unit": "gigabytes"}',
    '{"host": ["db01", "db02"]}',
    '{"host": "db01", "path": "/dev/null; rm -rf /"}',
    '{"host": "the database server"}',
]
for arguments in WRITTEN:
    verdict = check_call(ToolCall(1, 0, "c", "check_disk_usage", arguments), tools)
    print("runs   " if verdict.ok else "refused", arguments)
    for problem in verdict.problems:
        print("         ", problem)

# %% [markdown]
# The last two run. A schema knows forms, not meanings: a path is text, and so is an attack. What a schema cannot say belongs into the
# function (lab 2) or into a policy (notebook 08).
#
# Compare a tool whose parameters are *all strings*, the commonest shortcut in the wild. Count what it lets through.

# %%
from zoolab import Tool

lazy = Tool.from_schema(
    "check_disk_usage",
    "Disk tool.",
    {"type": "object", "properties": {name: {"type": "string"} for name in ("host", "path", "unit")}},
    lambda **arguments: arguments,
)
accepted = {
    "the careful schema": [check_call(ToolCall(1, 0, "c", "check_disk_usage", a), tools).ok for a in WRITTEN],
    "the lazy one": [
        check_call(ToolCall(1, 0, "c", "check_disk_usage", a), ToolRegistry([lazy])).ok for a in WRITTEN
    ],
}
for name, verdicts in accepted.items():
    print(f"{name:20} lets {sum(verdicts)} of {len(verdicts)} through")

# %% [markdown]
# ## Descriptions
#
# Which tool is chosen depends on names and descriptions. Here is one question and three ways to describe the same function, next to a tool that
# has nothing to do with it.

# %%
from zoolab.toolbox.starter import check_status, ping

guess = predict(
    "'Is the disk of db01 nearly full?' Will the model choose the tool if it is called `tool1` and described as 'Does things.'?",
    ["yes", "no"],
)
guess

# %%
from dataclasses import replace

WAYS = {
    "as above": check_disk_usage,
    "a vague description": replace(check_disk_usage, description="Does things."),
    "a vague name, too": replace(check_disk_usage, name="tool1", description="Does things."),
}
chosen = {}
for way, described in WAYS.items():
    walked = run("Is the disk of db01 nearly full?", [ping, described, check_status], model)
    chosen[way] = walked.tool_calls[0].name if walked.tool_calls else "none"
    print(f"{way:22}", [(call.name, call.arguments) for call in walked.tool_calls])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "yes" if chosen["a vague name, too"] == "tool1" else "no",
    because="Look at the parameters: their names and descriptions still speak of hosts and disks.",
)

# %% [markdown]
# Three questions to one model are three anecdotes. Notebook 04 asks hundreds and gives intervals. What you can do without asking anybody is
# **lint**: look for what is known to go wrong.

# %%
from zoolab.lint import lint

for finding in lint(lazy):
    print(f"{finding.severity:8}{finding}")
print()
for finding in lint(check_disk_usage):
    print(f"{finding.severity:8}{finding}")

# %% [markdown]
# The opposite mistake is **stuffing**: piling up keywords so that the tool is found for everything. It then is, for questions that
# are not its own. The linter sees that, too.

# %%
stuffed = replace(
    check_disk_usage,
    description="disk disk disk usage space disk storage disk full disk free disk check disk",
)
[
    str(finding)
    for finding in lint(stuffed)
    if finding.rule not in {found.rule for found in lint(check_disk_usage)}
]

# %% [markdown]
# ## Strict mode
#
# Some endpoints offer to *enforce* a schema while the model writes: it then cannot produce JSON that does not fit. That is strict mode. It
# understands less of JSON Schema, so the schema has to change.

# %%
guess = predict(
    "In strict mode, what becomes of the optional `path`?",
    ["it stays optional", "required, may be null", "it is dropped"],
)
guess


# %%
@tool(strict=True)
def check_disk_strictly(host: str, path: str = "/", percent: bool = True) -> float:
    "Report how full a disk is."
    return 71.0 if percent else 142.0


print(json.dumps(check_disk_strictly.parameters, indent=1))

# %% jupyter={"source_hidden": true}
guess.reveal(
    "required, may be null",
    because="Null stands for leaving it out, and the default moves into the description.",
)

# %% [markdown]
# Strict mode forces form, not sense. A model that is forced to fill in a form fills it in, also when it should have said
# "I do not know". Forms were never the main trouble; notebook 06 counts.

# %% [markdown]
# ## Four wires
#
# Every provider writes the same thing differently. The **wire** is what really travels. One request in four formats:

# %%
from zoolab import Request
from zoolab.wire import translate

request = Request(
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How full is db01?"}],
    tuple(tools.schemas()),
    "required",
)
for name in ("openai", "anthropic", "gemini", "ollama"):
    wire = translate(request, name, model="" if name == "gemini" else "some-model")
    print(f"{name:10} {len(json.dumps(wire.body)):5} bytes, fields: {', '.join(wire.body)}")
    for warning in wire.warnings:
        print(f"{'':10} warning: {warning}")

# %%
print(json.dumps(translate(request, "anthropic", model="some-model").body, indent=1)[:900])

# %% [markdown]
# Things to notice: where the system prompt goes, what the schema is called (`parameters`, `input_schema`, …), what "you must call a
# tool" looks like, and what one of them cannot say at all. A library that hides this is convenient until something is lost on the way;
# that is why zoolab warns by name.

# %% [markdown]
# ## Your turn
#
# **1.** Make `lint` quiet about this tool without making it longer than two lines of description.


# %%
@tool
def info(x: str) -> str:
    "Info."
    return x


for finding in lint(info):
    print(finding)

# %% [markdown]
# <details><summary>Hint</summary>
#
# What does it inform about, when should one use it, what is `x`? `Annotated[str, "The ticket's number, such as T-1001."]` describes a parameter
# in place.
#
# </details>
#
# <details><summary>One solution</summary>
#
# ```python
# from typing import Annotated
#
#
# @tool
# def get_ticket_status(ticket: Annotated[str, "The ticket's number, such as T-1001."]) -> str:
#     "Get the status of a support ticket. Use this when the user asks how far a ticket is."
#     return ticket
# ```
#
# Call `lint(get_ticket_status)` below it. The name is part of the description, too.
#
# </details>

# %% [markdown]
# **2. Design a tool.** A helpdesk wants the model to open tickets: a title, a priority of *low, normal, urgent*, perhaps the name of a customer, perhaps
# a list of tags. Write the function. The cell shows what gets through: make every line of `BAD` fail and every line of `GOOD` run.


# %%
@tool
def open_ticket(title: str, priority: str) -> str:
    "Open a ticket."
    return f"{title} ({priority})"


GOOD = [
    '{"title": "No mail", "priority": "urgent"}',
    '{"title": "No mail", "priority": "low", "tags": ["mail"]}',
]
BAD = [
    '{"title": "No mail", "priority": "HIGH"}',
    '{"title": "No mail"}',
    '{"title": "x", "priority": "low", "tags": "mail"}',
]
mine = ToolRegistry([open_ticket])
for arguments in GOOD + BAD:
    ok = check_call(ToolCall(1, 0, "c", "open_ticket", arguments), mine).ok
    print("as it should be" if ok == (arguments in GOOD) else "NOT YET        ", arguments)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `Literal[...]` for the priority, `list[str] | None = None` for the tags.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# from typing import Annotated
#
#
# @tool
# def open_ticket(
#     title: Annotated[str, "What is wrong, in a few words."],
#     priority: Literal["low", "normal", "urgent"],
#     customer: Annotated[str | None, "Who reported it, if known."] = None,
#     tags: list[str] | None = None,
# ) -> str:
#     "Open a new ticket when somebody reports a problem. For existing tickets use find_ticket."
#     return f"{title} ({priority})"
# ```
#
# </details>

# %% [markdown]
# ## What to keep
#
# - The schema is the interface. Close it, require what is needed, list the values that are allowed.
# - A description says what the tool does and *when* to use it, in words that a person would use.
# - Forms can be checked, meanings cannot: the function still has to be careful.
# - Strict mode changes the schema, and not what the model understands.
# - Wires differ. Look at what is sent.
#
# Next: [04 · Selection](04-selection.ipynb). Labs: [l1 · Define](../labs/l1/l1.ipynb), [l2 · Validate](../labs/l2/l2.ipynb).
