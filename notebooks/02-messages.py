# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 · Anatomy of messages[]
#
# A model remembers nothing. What looks like a conversation is a list that your program keeps and sends **again, whole, with every
# request**. The list is called `messages`. Nearly every bug in a tool-calling program is a bug in this list.
#
# Afterwards you can
#
# - read any conversation and say who wrote which message, and why;
# - say what exactly changes between two requests, and what it costs;
# - name three rules for `messages[]` that strict endpoints enforce, and read the error when one is broken;
# - say what belongs into the system prompt and what into the description of a tool.
#
# About 30 minutes, offline. Words from [01](01-one-loop.ipynb): a *request* goes out, a *reply* comes back, a *tool call* is a reply that
# names a function, its *result* is a message of yours.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import model_for, predict, run

model = model_for(LIVE, "course-02")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## Four roles
#
# | role | who wrote it | what it is for |
# | --- | --- | --- |
# | `system` | you, the programmer | standing instructions |
# | `user` | the person | what is wanted |
# | `assistant` | the model | text, or calls in `tool_calls` |
# | `tool` | your program | what came of one call, with the call's id in `tool_call_id` |

# %%
from zoolab.toolbox.starter import add, get_weather

trace = run("What is 42 + 58?", [add], model, system="You are a friendly calculator.")
for number, message in enumerate(trace.messages):
    text = message.get("content") or json.dumps(message["tool_calls"][0]["function"])
    print(number, f"{message['role']:10}", text.splitlines()[0][:90])

# %% [markdown]
# ## The two raw requests
#
# One question cost two requests. Here is what went over the wire, both times, shortened to the messages.

# %%
guess = predict("The first request carried 2 messages. How many does the second carry?", [1, 2, 3, 4])
guess

# %%
requests = [step.record for step in trace.steps if step.kind == "request"]
for number, request in enumerate(requests, 1):
    print(f"request {number}:", [message["role"] for message in request.messages])

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(requests[-1].messages),
    because="All that was there, then the call, just as it came, then its result. The model remembers nothing.",
)

# %% [markdown]
# Everything is sent again. Add up what was sent over a longer conversation, and it grows with the *square* of the number of turns. That
# is the commonest reason for a surprising bill. Here are ten rounds, from a **scripted** model (it says what a script
# tells it; no model was asked), counted in tokens, the pieces a model reads.

# %%
guess = predict("How many times over is the conversation sent, until ten calls are done?", [1, 2, 6, 50])
guess

# %%
from zoolab import Limits, Scripted
from zoolab.tokens import tokens_in

script = Scripted([*([("add", {"a": n, "b": 1})] for n in range(10)), "Done."])
long = run("Count up.", [add], script, limits=Limits(turns=12))
sizes = [tokens_in(step.record.messages) for step in long.steps if step.kind == "request"]
print("tokens of each request:", sizes)
print("sent in all:", sum(sizes), "| the conversation itself:", sizes[-1])
times = sum(sizes) / sizes[-1]

# %% jupyter={"source_hidden": true}
guess.reveal(
    min((1, 2, 6, 50), key=lambda n: abs(n - times)),
    because=f"Computed: {times:.1f} times.",
)

# %%
from zoolab.plots import MessageGrowthDisplay

MessageGrowthDisplay.from_trace(long)
# %% [markdown]
# ## A slider through time
#
# A trace keeps every moment of the list. Move the slider: what does each step change? `+` came, `-` went. Most steps
# change nothing, and that is a finding too: validating and executing never touch `messages`.

# %%
from ipywidgets import IntSlider, interact


def show_change(step):
    print(trace.steps[step].kind)
    print(trace.diff(step - 1, step))


_ = interact(show_change, step=IntSlider(min=1, max=len(trace.steps) - 1, value=2))
# %% [markdown]
# The inspector shows the same with everything else around it. Click into it and step with the arrow keys: the tab *Diff* says what
# came, the tab *Full* shows the whole list.

# %%
trace.inspect()

# %% [markdown]
# ## Three rules
#
# An **endpoint** is a server that runs a model and answers requests. The large ones refuse a list that breaks one of these:
#
# 1. After an assistant message with calls come the tool messages: one for each call, before anything else.
# 2. Every tool message names a call that waits for it, by its id.
# 3. What the assistant said goes back as it came: with its calls, their ids, and `arguments` as text.
#
# `check_conversation` knows them. An empty result means that nothing is wrong.

# %%
from zoolab.models.strict import check_conversation

check_conversation(trace.messages)

# %% [markdown]
# Break them on purpose, as programs do by accident. The names on the left are real bugs.

# %%
from copy import deepcopy

BUGS = {
    "the tool failed, so nothing was appended": lambda m: m.pop(3),
    "a retry appended the result twice": lambda m: m.insert(4, m[3]),
    "history was cut to the last two": lambda m: m.__delitem__(slice(0, 3)),
    "the result was sent as user": lambda m: m[3].update(role="user"),
    "arguments were parsed, then sent back": lambda m: m[2]["tool_calls"][0]["function"].update(arguments={}),
}
for bug, damage in BUGS.items():
    broken = deepcopy(trace.messages)
    damage(broken)
    print(f"{bug}:\n    {check_conversation(broken)[0]}")

# %% [markdown]
# Look at "history was cut to the last two". Keeping only the latest messages is what everybody does when a conversation grows
# too long, and it works, until the cut falls between a call and its result. Lab 4 is about cutting well.

# %% [markdown]
# ## Read a 400
#
# HTTP is how requests travel; 400 is its word for "your request is wrong, sending it again will not help". Below is the official `openai` client.
# Behind it stands an endpoint that runs in this notebook and is as strict as the large ones. Its rules are written by hand, so is the
# text of its errors; their form is that of the real ones.

# %%
import openai

from zoolab.models.strict import strict_client

client = strict_client(Scripted(["All is well."]))
broken = deepcopy(trace.messages)
broken.pop(3)
try:
    client.chat.completions.create(model="strict", messages=broken)
except openai.BadRequestError as error:
    print(error.status_code, json.dumps(error.body, indent=1))

# %% [markdown]
# Three things to read: the *type* (it is the request, not the server), the *param* (the path to the place: message 2, its first call), and the
# message. Retrying a 400 is pointless; a program that does has a bug that costs money.

# %% [markdown]
# ## System prompt against tools
#
# The system prompt and the tools are two ways to tell a model something. Which one wins if they disagree?

# %%
guess = predict(
    "System prompt: 'Never use tools. Answer in words.' The tool add is on offer. What does this model do?",
    ["calls add all the same", "answers in words"],
)
guess

# %%
told = run("What is 42 + 58?", [add], model, system="Never use tools. Answer in words.")
print([(call.name, call.arguments) for call in told.tool_calls])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "calls add all the same" if told.tool_calls else "answers in words",
)

# %% [markdown]
# Whatever yours did: a sentence in a prompt is a wish. If a tool must not run, do not send it, or forbid it in your
# program, where no sentence can talk it round. `deny=` does that, and the model is told so in the result.

# %%
denied = run("What is 42 + 58?", [add], model, deny=["add"], system="Never use tools. Answer in words.")
print(denied.messages[-2]["content"])
print("the model then said:", denied.answer)

# %% [markdown]
# Read the last line again. The tool did not run, so nobody added anything. If there is a number in that sentence, the model made it up: small
# models answer a refusal as if it were a result.
#
# And the other way round: does a word in the system prompt do what a description should? This tool has a name and a description that say
# nothing.

# %%
from dataclasses import replace

vague = replace(get_weather, name="lookup", description="Look something up.")
for system in (None, "Use lookup for questions about the weather."):
    tried = run("How warm is it in Oslo?", [add, vague], model, system=system)
    print(f"{system!s:45}", [(call.name, call.arguments) for call in tried.tool_calls])

# %% [markdown]
# If both lines are the same, the system prompt was not needed. Look at the arguments: one parameter is called `city`, and that was enough. Models
# read everything in a description, names included.
#
# Rule of thumb: *when to use a tool* belongs to the tool's description, since it travels with the tool wherever the tool goes. *How to
# behave* (tone, language, when to ask back) belongs to the system prompt. *What must never happen* belongs to neither: it is code.

# %% [markdown]
# ## Your turn
#
# **1.** Change `damage` so that the endpoint refuses the list for another reason than any of the five above. How many can you find?


# %%
def damage(messages):
    messages[1]["role"] = "person"


mine = deepcopy(trace.messages)
damage(mine)
for problem in check_conversation(mine):
    print(problem)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Ids, an empty list of calls, a message without content, a call without a name, something between a call and its result.
#
# </details>
#
# <details><summary>One solution</summary>
#
# ```python
# def damage(messages):
#     calls = messages[2]["tool_calls"]
#     calls.append(calls[0])
# ```
#
# Two calls with one id: nobody could say which of them a result answers.
#
# </details>

# %% [markdown]
# **2. Break one, read the 400, mend it.** This list has two calls and one result. Run it, read the error, and add what is missing in `mend`.

# %%
two = run(
    "What is 1 + 2, and what is 30 + 40?",
    [add],
    Scripted([[("add", {"a": 1, "b": 2}), ("add", {"a": 30, "b": 40})], "3 and 70."]),
)
cut = [message for message in two.messages[:-1] if message.get("tool_call_id") != two.tool_calls[1].id]


def mend(messages):
    return messages


try:
    print(client.chat.completions.create(model="strict", messages=mend(cut)).choices[0].message.content)
except openai.BadRequestError as error:
    print("400:", error.body["message"])

# %% [markdown]
# <details><summary>Hint</summary>
#
# The error names the id. A tool message is `{"role": "tool", "tool_call_id": ..., "content": ...}`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def mend(messages):
#     return [*messages, {"role": "tool", "tool_call_id": two.tool_calls[1].id, "content": "70"}]
# ```
#
# </details>

# %% [markdown]
# ## What to keep
#
# - The list is the memory. It is sent whole, every time.
# - Each call is answered once, by its id, before anything else is said.
# - What the assistant wrote goes back unchanged.
# - 400 means: mend the list. Its `param` says where.
# - Prompts ask, descriptions explain, code decides.
#
# Next: [03 · Schemas](03-schemas.ipynb). Labs: [l3 · The loop](../labs/l3/l3.ipynb), [l4 · History](../labs/l4/l4.ipynb).
