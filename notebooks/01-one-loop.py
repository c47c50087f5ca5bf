# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · One loop
#
# A language model writes text. It cannot add, ping or look anything up. What it can do is write down,
# in JSON, *which function it would like to have called*. Your program calls it and tells the model what came out.
# That exchange is **tool calling**, and it has six steps:
#
# | step | who acts | what happens |
# | --- | --- | --- |
# | `define` | you | a Python function is described to the model |
# | `request` | you | the conversation and the descriptions are sent |
# | `tool_call` | the model | it asks for a call, in JSON |
# | `validate` | you | may this call run, with these arguments? |
# | `execute` | you | it runs |
# | `result` | you | the outcome goes back as a message |
#
# You will take them one at a time by hand, then let `walk` take them for you. Afterwards you can
#
# - go through a tool call with nothing but a dict and an `if`;
# - say at each step who acts, and what could go wrong;
# - step through a whole conversation in the inspector, and change it on the way;
# - tell a loop that ran from an answer that is right.
#
# About 30 minutes, no key and no network. `messages` is the list of what was said so far; **JSON** is a way to write
# down values as text, such as `{"a": 42}`.

# %% [markdown]
# ## Who answers?
#
# Two small real models, recorded: one chooses the calls, the other puts results into words. They need no more than a CPU
# and they make mistakes. Nothing here was written by hand to look good; a recording says of itself who answered.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import ToolCall, ToolRegistry, Trace, check_call, model_for, predict, read_calls, run, walk

model = model_for(LIVE, "starter")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## Step 1, define
#
# The model never sees your code. It sees a name, a description and a JSON Schema of the parameters (a description of
# which JSON is allowed).
# `@tool` reads all three from an ordinary function.

# %%
from zoolab.toolbox.starter import add

print(add(42, 58), "- it is still a function")
print(json.dumps(add.schema(), indent=2))

# %% [markdown]
# Which words in that JSON will make the model choose this tool for "What is 42 + 58?" Keep your answer; notebook 04 measures it.

# %% [markdown]
# ## Step 2, request
#
# A request is a dict: the conversation so far, called `messages`, and the tools. Here it is, whole.

# %%
messages = [{"role": "user", "content": "What is 42 + 58?"}]
settings = {"model": model.model, **(model.recording.header.settings if LIVE is None else {})}

body = {**settings, "messages": messages, "tools": [add.schema()], "tool_choice": "auto"}
print(json.dumps(body, indent=1))

# %% [markdown]
# It goes out through the official `openai` client. This client has no network behind it but the recording;
# with your own endpoint you would write `OpenAI()` and nothing else would change.
# (A model on this machine has a client too; `ask` finds whichever there is.)

# %%
from zoolab import Request


def ask(body):
    if LIVE is None:
        return model.client.chat.completions.create(**body).choices[0].message.to_dict()
    return model(Request(body["messages"], tuple(body["tools"]))).message


reply = ask(body)

# %% [markdown]
# ## Step 3, tool_call
#
# The reply has no text. It has a call, and its `arguments` are **a string**: the raw text that the model wrote.

# %%
print(json.dumps(reply, indent=1))

call = read_calls(reply)[0]
print("name     ", call.name)
print("arguments", repr(call.arguments))

# %% [markdown]
# ## Step 4, validate
#
# A string from a model is a stranger's input. Before anything runs: does this tool exist, is the text one JSON object,
# does the object meet the schema?

# %%
tools = ToolRegistry([add])
verdict = check_call(call, tools)
verdict.ok, verdict.arguments

# %% [markdown]
# Now break it, as models do.

# %%
guess = predict(
    'Which may run? 1: {"a": 42, "b": "58"}, 2: {"a": 42}, 3: {"a": 42, "b": 58, 4: {"a": 42, "b": 58.0}',
    ["all four", "1 and 4", "only 4", "none"],
)
guess

# %%
for arguments in ['{"a": 42, "b": "58"}', '{"a": 42}', '{"a": 42, "b": 58', '{"a": 42, "b": 58.0}']:
    broken = check_call(ToolCall(1, 0, "call_x", "add", arguments), tools)
    print(f"{arguments:24} {'runs' if broken.ok else broken.error_code}")
    for problem in broken.problems:
        print(f"{'':24} {problem.message}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "none",
    because="58.0 is not an integer here, though it equals one: strict is predictable.",
)

# %% [markdown]
# Notice what did *not* happen: nothing was guessed, nothing was turned into `{}`, and every problem names
# where it is, what was expected and what came. That text is what the model gets to read.

# %% [markdown]
# ## Step 5, execute
#
# The only step that touches the world, and the shortest one.

# %%
value = tools.execute(call.name, verdict.arguments)
value

# %% [markdown]
# ## Step 6, result
#
# The conversation grows by two messages: the reply, just as it came, and what came of the call. The second
# carries the id of the call that it answers. Leave one out and the next request is refused.

# %%
messages.append(reply)
messages.append({"role": "tool", "tool_call_id": call.id, "content": str(value)})
[message["role"] for message in messages]

# %% [markdown]
# And round again: the same request, with a longer conversation.

# %%
print(ask({**body, "messages": messages})["content"])

# %% [markdown]
# That was all. A tool call is two requests and a function call between them.

# %% [markdown]
# ## The same with `walk`
#
# `walk` takes the six steps in order and stops at each. Ask it for the next step as often as you like.

# %%
from zoolab.show.wording import headline

steps = walk("What is 42 + 58?", [add], model)
for _ in range(4):
    step = next(steps)
    print(f"{step.kind:10} {headline(step)}")

# %% [markdown]
# It waits now, before anything has run. Two more steps:

# %%
for _ in range(2):
    step = next(steps)
    print(f"{step.kind:10} {headline(step)}")

# %%
guess = predict("Those were six steps. How many are there in all, until the answer is there?", [6, 8, 12])
guess

# %%
trace = run("What is 42 + 58?", [add], model)
print(" ".join(step.kind for step in trace.steps))

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(trace.steps), because="The result goes out with a second request; what comes back calls nothing."
)

# %% [markdown]
# A `Trace` keeps all of it, and shows the story, step by step: what was done, and what came of it.

# %%
trace

# %% [markdown]
# The **inspector** is the same, alive. Click into it, then the arrow keys step, and `?` names the other keys. Each step shows what
# went in and what came out, and the tab *Diff* how the list changed. Find the step at which the tool ran.

# %%
trace.inspect()

# %% [markdown]
# Every change of `messages[]` is kept too, so you can ask how two moments differ.

# %%
print(trace.diff(1, 2))
print(trace.diff(2, 5))

# %% [markdown]
# By hand you sent back a bare 100. `walk` puts it into an **envelope**, so that a model can tell a value from an error: `success`, the
# `data`, and what went wrong if something did.
#
# A trace is a table, too, one row a step:

# %%
trace.to_frame()[["turn", "step", "tool", "status", "n_messages", "duration_ms"]]

# %% [markdown]
# ## When it goes wrong
#
# The same model, another question, two tools.

# %%
guess = predict(
    "What is the sum of 1000 and 234? There are add and multiply. Which one will it choose?",
    ["add", "multiply"],
)
guess

# %%
from zoolab.toolbox.starter import multiply

wrong = run("What is the sum of 1000 and 234?", [add, multiply], model)
print(wrong.tool_calls[0].name, wrong.tool_calls[0].arguments)
print(wrong.answer)
guess.reveal(wrong.tool_calls[0].name)

# %% [markdown]
# Every step is green: the tool exists, the JSON is fine, the call ran. If the answer is wrong all the same, the wrong
# tool was chosen. Validation cannot see that. Choosing tools is notebook 04.

# %% [markdown]
# ## Your turn
#
# **1. Write the next message.** The model has asked, nothing has run. What must be appended, so that the list is whole again?
# `check_conversation` names what is missing until it is. (This model is scripted: a script says what it says.)

# %%
from zoolab import Scripted
from zoolab.models.strict import check_conversation

asked = run(
    "Is 7 times 6 more than 40?", [multiply], Scripted([[("multiply", {"a": 7, "b": 6})], "Yes, 42."])
)
unfinished = asked.messages[:2]
next_message = {"role": "user", "content": "It is 42."}

check_conversation([*unfinished, next_message])

# %% [markdown]
# <details><summary>Hint</summary>
#
# Look at `asked.messages[2]`: its role, and whose id it carries.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# next_message = {"role": "tool", "tool_call_id": unfinished[1]["tool_calls"][0]["id"], "content": "42"}
# ```
#
# </details>

# %% [markdown]
# **2. Answer a step.** `answer` puts your record in place of the one that was yielded. Here the model's
# arguments are changed on their way to execution. Run the cell; then edit the `execute` step instead, so that `add` seems to
# return 7.

# %%
from dataclasses import replace

scripted = Scripted([[("add", {"a": 42, "b": 58})], "I heard the result."])
edited = Trace()
steps = edited.follow(walk("What is 42 + 58?", [add], scripted))
for step in steps:
    if step.kind == "tool_call" and step.slot is not None:
        steps.answer(replace(step.record, arguments='{"a": 1, "b": 2}'))
edited.messages[2]["content"]

# %% [markdown]
# <details><summary>Hint</summary>
#
# The record of an `execute` step is an `Outcome`: answer it with `replace(step.record, value=7)`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# for step in steps:
#     if step.kind == "execute":
#         steps.answer(replace(step.record, value=7))
# ```
#
# </details>

# %% [markdown]
# ## What to keep
#
# - The model asks; your program decides, runs and answers.
# - `arguments` is text until you have validated it.
# - Every call is answered by exactly one `tool` message with its id.
# - A green loop can still be wrong.
#
# Next: [02 · Anatomy of messages[]](02-messages.ipynb). Labs: [l2 · Validate](../labs/l2/l2.ipynb),
# [l3 · The loop](../labs/l3/l3.ipynb).
