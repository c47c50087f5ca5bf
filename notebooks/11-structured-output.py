# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 · Structured output
#
# A program wants data, and a model writes text. In the earlier notebooks you checked the text after it was written. There is another way: the
# program that runs the model can *force* the text to have a certain form, while it is written. This is called **strict mode** or
# **constrained decoding**.
#
# It sounds as if it solved everything. It does not, and this notebook shows with recorded replies where it helps and where it does harm.
#
# Afterwards you can
#
# - say what strict mode promises, and what it does not promise;
# - turn a schema into one that strict mode accepts;
# - give a forced model a way to say "no tool";
# - ask for a final answer that your program can read, and handle an answer that does not fit.
#
# About 30 minutes. It runs offline.

# %% [markdown] tags=["slide"]
# ## How forcing works
#
# A model writes one token after the other. (A **token** is a piece of a word.) Before each token it gives every possible token a score. Without
# force, the best one is taken. With force, the server first removes all tokens that would break the schema. After `{"name": ` only the names of
# tools are left. So the text *always* fits, whatever the model wanted to say.
#
# ## Strict mode allows only a part of JSON Schema
#
# OpenAI's strict mode wants two things of every object: each property is required, and no other property is allowed
# ([source](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas)). How can a parameter be optional then?

# %%
import json

from zoolab import predict, tool


@tool
def check_disk(host: str, path: str = "/") -> float:
    "Report how full a disk is, in percent."
    return 71.0


@tool(strict=True)
def check_disk_strictly(host: str, path: str = "/") -> float:
    "Report how full a disk is, in percent."
    return 71.0


print("required:", check_disk.parameters["required"])

# %%
guess = predict(
    "What does the strict schema say about `path`?",
    ["it is still optional", "it is required, and may be null", "it is gone"],
)
guess

# %%
print("required:", check_disk_strictly.parameters["required"])
print(json.dumps(check_disk_strictly.parameters["properties"]["path"], indent=1))

# %% jupyter={"source_hidden": true}
guess.reveal(
    "it is required, and may be null",
    because="The model has to write something. Null means: use the default. The default moves into the description.",
)

# %% [markdown]
# The function is the same, and Python still sees the default:

# %%
from zoolab import ToolCall, ToolRegistry, check_call

tools = ToolRegistry([check_disk_strictly])
verdict = check_call(ToolCall(1, 0, "c", "check_disk_strictly", '{"host": "db01", "path": null}'), tools)
print("allowed:", verdict.ok, "| with", dict(verdict.arguments))
print("result: ", tools.execute("check_disk_strictly", verdict.arguments))

# %% [markdown]
# ## When forcing does harm
#
# The data set `trials` contains an experiment. SmolLM2-135M-Instruct got eight messages that need no tool, such as "Hello!". Each message was sent twice: once
# without a schema (*free*), and once with a schema for the whole reply (*forced*). The schema allows a call of one of the offered tools, and nothing else.

# %%
from zoolab_study import datasets

trials = datasets.load("trials")
forced = trials[trials["trial"] == "forced_schema"]
print("who answered:", *forced["who"].unique())
for row in forced.drop_duplicates("case").itertuples():
    print("-", row.request["messages"][-1]["content"])

# %%
guess = predict(
    "In how many of the eight forced replies does the model call a tool that nobody needs?", range(9)
)
guess

# %% tags=["slide"]
table = forced.groupby(["variant", "verdict"], sort=False).size().unstack(fill_value=0)
table

# %% jupyter={"source_hidden": true}
guess.reveal(
    int(table.loc["forced", "needless_call"]),
    because="The schema has no way to say that no tool is needed. So every reply that fits is a call.",
)

# %% [markdown]
# You need no statistics to see this effect. It follows from the schema: *every* text that fits is a call. Read two of the replies.

# %%
for row in forced[forced["variant"] == "forced"].head(2).itertuples():
    print("asked:", row.request["messages"][-1]["content"])
    print("wrote:", row.raw, "\n")

# %% [markdown]
# ## Forced, and still not JSON
#
# Strict mode promises that the text fits *if it is finished*. These requests allowed 96 tokens.

# %%
guess = predict("How many of the eight forced replies are complete JSON?", range(9))
guess


# %%
def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


replies = forced[forced["variant"] == "forced"]
complete = replies["raw"].map(is_json)
print(replies.assign(complete=complete).groupby(["finish_reason", "complete"]).size())

# %% jupyter={"source_hidden": true}
guess.reveal(
    int(complete.sum()),
    because="The finish reason `length` says that the reply was cut. Look at the finish reason before you look at the text.",
)

# %% [markdown] tags=["slide"]
# ## Who enforces what
#
# | API | how to ask for it | the promise |
# | --- | --- | --- |
# | OpenAI, Chat Completions and Responses | `strict: true` in the tool; `response_format` or `text.format` for the answer | [the arguments fit the schema](https://platform.openai.com/docs/guides/function-calling#strict-mode) |
# | Anthropic | `strict: true` in the tool; `output_config.format` with a schema for the answer | [the arguments, or the answer, fit the schema](https://platform.claude.com/docs/en/build-with-claude/structured-outputs) |
# | Gemini | the mode `VALIDATED` or `ANY` in `functionCallingConfig`; `responseSchema` or `responseJsonSchema` for the answer | [calls fit the declarations](https://ai.google.dev/gemini-api/docs/function-calling#function_calling_modes), and [the answer fits the schema](https://ai.google.dev/gemini-api/docs/structured-output) |
# | Ollama | `format` with a schema, for the answer | [the answer fits the schema](https://docs.ollama.com/capabilities/structured-outputs); arguments of tools are not enforced |
# | llama.cpp's server | `response_format` with a schema, or a grammar | [the text fits](https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md) |
#
# (Read in November 2026.) None of them promises that the values make sense. If a forced model does not know the host, it writes *any* host.

# %% [markdown] tags=["slide"]
# ## A way out
#
# The harm came from the schema, so mend the schema: add a branch for "no tool". Now a reply is a call *or* an answer.

# %%
from jsonschema import Draft202012Validator


def call_of(each):
    return {
        "type": "object",
        "properties": {"name": {"const": each.name}, "arguments": each.parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
call_only = {"anyOf": [call_of(check_disk)]}
with_way_out = {"anyOf": [call_of(check_disk), ANSWER]}

hello = {"answer": "Hello! How can I help?"}
for name, schema in (("calls only", call_only), ("with a way out", with_way_out)):
    print(f"{name:15} allows the answer: {Draft202012Validator(schema).is_valid(hello)}")

# %% [markdown]
# Does a model then use the way out? The schema cannot tell you. That is a question for an experiment like the one in notebook 04.
#
# ## A final answer that your program can read
#
# Often the tools may stay free, and only the *last* message has to be data. Pass `answer_schema=` to `run`. The answer is validated like a call. If it does not
# fit, the errors go back to the model. A scripted model plays a model that makes two mistakes.

# %%
from typing import Literal

from pydantic import BaseModel

from zoolab import Scripted, run
from zoolab.toolbox.catalog import tools_named


class Report(BaseModel):
    """How a service is."""

    service: str
    state: Literal["up", "down"]


# %%
script = Scripted(
    [
        [("check_status", {"service": "nginx"})],
        "nginx is up.",
        '{"service": "nginx", "state": "UP"}',
        '{"service": "nginx", "state": "up"}',
    ]
)
guess = predict("How many requests will this run send?", [2, 3, 4, 5])
guess

# %%
reported = run("Is nginx up?", tools_named("check_status"), script, answer_schema=Report)
for step in reported.steps:
    if step.kind == "validate" and step.error_code:
        print("turn", step.turn, step.error_code, "|", *[problem.message for problem in step.record.problems])
print("value: ", reported.value)

# %% jupyter={"source_hidden": true}
guess.reveal(
    sum(step.kind == "request" for step in reported.steps),
    because="One for the call, one for each of the three answers. The first two do not fit.",
)

# %% [markdown]
# Step through it. Each rejected answer stands in `messages[]`, and so does the complaint that followed.

# %%
reported.inspect()

# %% [markdown]
# ## Your turn
#
# **1. Read the finish reason.** Write a function that decides what to do with a forced reply: `"use"`, `"ask again with more tokens"` or `"reject"`.


# %%
def decide(text, finish_reason):
    return "use"


# %%
CASES = [
    ('{"name": "check_disk", "arguments": {"host": "db01"}}', "stop", "use"),
    ('{"name": "check_disk", "arguments": {"ho', "length", "ask again with more tokens"),
    ('{"name": "check_disk", "arguments": {"host": "db01"}}', "length", "use"),
    ("I cannot help with that.", "stop", "reject"),
]
for text, reason, right in CASES:
    print("right  " if decide(text, reason) == right else "not yet", "|", reason, "|", text)

# %% [markdown]
# <details><summary>Hint</summary>
#
# First ask whether the text is complete JSON. `is_json` is defined above. Only if it is not, the finish reason matters.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def decide(text, finish_reason):
#     if is_json(text):
#         return "use"
#     return "ask again with more tokens" if finish_reason == "length" else "reject"
# ```
#
# A reply can be complete at the very last token. A reply that stopped by itself and is not JSON will not become JSON with more tokens.
# "Use" means: validate it next. It does not mean that the values are right.
#
# </details>

# %% [markdown]
# **2. Build the way out for two tools.** `MINE` must allow a call of `add`, a call of `multiply`, and an answer in words. It must reject a call
# without arguments and an object that is a call and an answer at once.

# %%
two = tools_named("add", "multiply")
MINE = {"type": "object"}

# %%
EXAMPLES = [
    ({"name": "add", "arguments": {"a": 1, "b": 2}}, True),
    ({"name": "multiply", "arguments": {"a": 1, "b": 2}}, True),
    ({"answer": "Good morning!"}, True),
    ({"name": "add"}, False),
    ({"name": "divide", "arguments": {"a": 1, "b": 2}}, False),
    ({"name": "add", "arguments": {"a": 1, "b": 2}, "answer": "3"}, False),
]
for value, allowed in EXAMPLES:
    right = Draft202012Validator(MINE).is_valid(value) == allowed
    print("right  " if right else "not yet", "|", "allow " if allowed else "reject", json.dumps(value))

# %% [markdown]
# <details><summary>Hint</summary>
#
# `call_of` makes the branch of one tool, and `ANSWER` is the branch of an answer. You need one more branch than above.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# MINE = {"anyOf": [*map(call_of, two), ANSWER]}
# ```
#
# `additionalProperties: false` in each branch rejects the object that is both.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Strict mode forces the form of a text. It does not make the content right.
# - A schema without "no tool" makes every reply a call. In these trials all forced replies were needless calls, and nearly all free ones were right.
# - A forced reply can be cut. Look at the finish reason first.
# - `answer_schema=` leaves the tools free and checks the last message.
#
# Next: [12 · MCP](12-mcp.ipynb). Lab: [l5 · Validate a call](../labs/l5/l5.ipynb).
