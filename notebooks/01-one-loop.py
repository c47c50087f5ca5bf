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
# A language model writes text. It cannot look anything up. But it can write down, in JSON, *which function your program should call*. Your program calls the
# function and sends the result back. This exchange is **tool calling**.
#
# Afterwards you can
#
# - go through a tool call with nothing but a list and a few functions;
# - say for each step who acts, and what can go wrong;
# - stop a running conversation in the inspector, allow a call, edit a result, and compare what follows;
# - explain why a loop without any error can give a wrong answer.
#
# About 40 minutes. It runs on your machine, without a key and without a network. `messages` is the list of what was said so far. **JSON** is a way to write values as
# text, such as `{"a": 42}`.

# %% [markdown] tags=["slide"]
# ## Six steps
#
# | step | who acts | what happens |
# | --- | --- | --- |
# | `define` | you | you describe a Python function for the model |
# | `request` | you | you send the conversation and the descriptions |
# | `tool_call` | the model | it asks for a call, in JSON |
# | `validate` | you | you check whether this call may run with these arguments |
# | `execute` | you | you run the function |
# | `result` | you | you add the result to the conversation |
#
# "You" means your program. In this notebook you take the six steps by hand. Then `walk` takes them for you, and the inspector lets you stop, change and repeat them.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct, a small model that runs on a laptop. It received each question once, and its replies were recorded.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Request, ToolCall, check_call, model_for, predict, read_calls, run, walk
from zoolab.toolbox.catalog import tools_named

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-tasks-system")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## The whole exchange in one picture
#
# You watch over the computers of an office. Each computer in a network has a number, its **IP address**. You ask the model about one address. It may use three tools:
# search the log of events, look up whether an address is known as malicious, and cut a computer off from the network.

# %%
SYSTEM = (
    "Use the tools where they help. When you have the results that you need, answer in one short sentence, "
    "without a call."
)
QUESTION = "Check the reputation of 198.51.100.23, then search for events with that address."

trace = run(QUESTION, tools_named("security"), model, system=SYSTEM)
print(trace.answer)

# %%
from zoolab.plots import SequenceDisplay

SequenceDisplay.from_trace(trace)

# %% [markdown]
# Read the picture from top to bottom. *App* and *Validator* are your program. It stands between the model and the tool. The model never reaches the tool: it can only
# ask.
#
# Now take the same steps by hand.
#
# ## Step 1, define
#
# The model never sees your code. It sees a name, a description, and a **JSON Schema** of the parameters. A JSON Schema is JSON that says which other JSON is allowed.

# %%
tools = tools_named("security")
print(tools.names())
print(json.dumps(tools["check_ip_reputation"].schema(), indent=2))

# %% [markdown]
# Notebook 03 shows how such a description is made from a Python function.
#
# ## Step 2, request
#
# The conversation begins with two messages. The **system message** contains your standing instructions. The **user message** contains the question.

# %%
messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
first = Request(messages, tuple(tools.schemas()))
reply = model(first)

# %% [markdown]
# A request is a dict. It contains the messages, the tools and some settings; `reply.sent` names the settings. Here is the first request, in full.

# %%
print(json.dumps(first.body(**reply.sent), indent=1))

# %% [markdown]
# `temperature` 0 means that the model always takes the word with the best score. `tool_choice` is `auto`: the model may call a tool or answer.
#
# ## Step 3, tool_call
#
# The reply is one message with the role `assistant`.

# %%
print(json.dumps(reply.message, indent=1))

# %% [markdown]
# Many servers put a call into a field of its own, `tool_calls`. This one left the call in the text. `read_calls` finds it in both places.

# %%
call = read_calls(reply.message, text=True)[0]
print("name     ", call.name)
print("arguments", repr(call.arguments))

# %% [markdown]
# `arguments` is **a string**, the raw text that the model wrote. It looks like JSON. Nobody has checked that yet.
#
# ## Step 4, validate
#
# Treat this text like text from a stranger. Before anything runs, ask three questions. Does this tool exist? Is the text one JSON object? Does the object fit the
# schema?

# %%
verdict = check_call(call, tools)
verdict.ok, verdict.arguments

# %% [markdown]
# Models also write worse arguments than these. Here are four others, written by hand.

# %%
WRITTEN = [
    '{"ip": "198.51.100.23"',
    '{"address": "198.51.100.23"}',
    '{"ip": 198.51}',
    '{"ip": "my neighbour"}',
]
guess = predict(
    "Which of them may run? " + "   ".join(f"{n}: {text}" for n, text in enumerate(WRITTEN, 1)),
    ["none", "only 4", "3 and 4", "2, 3 and 4"],
)
guess

# %%
runs = []
for number, text in enumerate(WRITTEN, 1):
    checked = check_call(ToolCall(1, 0, "call_x", "check_ip_reputation", text), tools)
    runs += [number] if checked.ok else []
    print(f"{number}  {text:32} {'may run' if checked.ok else checked.error_code}")
    for problem in checked.problems:
        print(f"{'':35} {problem.message}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "only 4" if runs == [4] else str(runs),
    because="The schema asks for a text, and 'my neighbour' is a text. A schema knows the form, not the meaning.",
)

# %% [markdown]
# The validator does not guess, and it does not replace broken arguments by `{}`. Each error names the place, what was expected, and what came instead. The model
# receives this text, so that it can try again.
#
# ## Step 5, execute
#
# This is the only step that touches the world. It is also the shortest one.

# %%
value = tools.execute(call.name, verdict.arguments)
value

# %% [markdown]
# ## Step 6, result
#
# The conversation grows by two messages. The first is the reply of the model, with its call in `tool_calls`. The second is the result. It carries the id of the call
# that it answers.
#
# The value travels in an **envelope**: a JSON object that says whether the call succeeded. So the model can tell a value from an error.

# %%
from zoolab import Outcome
from zoolab.steps.result import make_result
from zoolab.steps.tool_call import message_with_calls

before = list(messages)
messages.append(message_with_calls(reply.message, [call], sent_natively=True))
messages.append(make_result(Outcome(value), call.id).message)

print("before:", [message["role"] for message in before])
print("after: ", [message["role"] for message in messages])
print(json.dumps(messages[2:], indent=1))

# %% [markdown]
# ## Round again
#
# The model remembers nothing. So the second request contains the whole conversation again, and all tools.

# %%
guess = predict(
    "The question asked for two things: the reputation and the events. Qwen now has the reputation. What does it do?",
    ["it calls query_siem to search for events", "it answers"],
)
guess

# %%
second = Request(messages, tuple(tools.schemas()))
answer = model(second)
print(json.dumps(answer.message, indent=1))

# %% jupyter={"source_hidden": true}
calls = read_calls(answer.message, text=True)
guess.reveal(
    "it calls query_siem to search for events" if calls else "it answers",
    because="The model decides when it stops. No step has failed, but nobody has searched for events.",
)

# %% [markdown]
# Here is the second request in full, with each message and each tool on a line of its own. Compare it with the first one. Only two messages are new.

# %%
for field, content in second.body(**answer.sent).items():
    print(field)
    for row in content if isinstance(content, list) else [content]:
        print("   ", json.dumps(row))

# %% [markdown]
# That was the whole loop. A tool call needs two requests. Between them, your program runs a function.

# %% [markdown]
# ## The same with `walk`
#
# `walk` takes the six steps in order and stops at each. Ask for the next step as often as you like.

# %%
from itertools import islice

from zoolab.show.wording import headline

steps = walk(QUESTION, tools_named("security"), model, system=SYSTEM)
for step in islice(steps, 4):
    print(f"{step.kind:10} {headline(step)}")

# %% [markdown]
# The walk waits now. The call is checked, and nothing has run. Take two more steps:

# %%
for step in islice(steps, 2):
    print(f"{step.kind:10} {headline(step)}")

# %%
guess = predict("Those were six steps. How many are there in all, with the answer?", [6, 7, 8, 12])
guess

# %%
print(" ".join(step.kind for step in trace.steps))

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(trace.steps), because="The result goes out with a second request. What comes back contains no call."
)

# %% [markdown]
# `run` is `walk` without stops. It gives you a **trace**: everything that happened, step by step. You can read a trace as a story, or as a table.

# %%
trace

# %%
trace.to_frame()[["turn", "step", "tool", "status", "n_messages"]]

# %% [markdown]
# ## The blackboard
#
# The **inspector** shows a walk while it goes on. You decide when it takes a step, and you can change what a step contains.
#
# A recording can only repeat its replies. If you change something, the next request is new, and the recording has no reply to it. So here a **script** plays the
# model. It is written by hand. It reads the last message, and decides by what it finds there.


# %%
from zoolab import Scripted


def analyst(request):
    "What the script says; it reads only the last message."
    last = request.messages[-1]
    if last["role"] == "user":
        return [("query_siem", {"query": "laptop7 malware"})]
    result = json.loads(last["content"])
    found = result["data"]
    if not result["success"]:
        return f"I stopped. {result['error_message']}"
    if isinstance(found, list):
        return [("check_ip_reputation", {"ip": found[0]["ip"]})] if found else "There are no such events."
    if isinstance(found, dict):
        bad = found["verdict"] == "malicious"
        return [("isolate_host", {"host": "laptop7"})] if bad else f"{found['ip']} is {found['verdict']}."
    return f"Done: {found}."


# %%
from zoolab import inspect

TASK = "Find the malware on laptop7; if its address is malicious, isolate the host."
print("who answers here:", Scripted.who)
inspect(walk(TASK, tools_named("security"), Scripted(analyst)))

# %% [markdown]
# Click into it, and do this:
#
# 1. **Step.** Press *Step* again and again. Watch `messages[]` in the tab *Diff*. Most steps do not change it.
# 2. **Allow.** Cutting off the wrong computer does harm. So `isolate_host` needs your permission, and the walk stops. Press *Allow once*. Then press *Run to end*.
# 3. **Edit and fork.** Go back to the step *execute* of `check_ip_reputation`, with the arrow keys. Press `f`. Replace `malicious` by `clean` in the value, and press
#    *Re-run live*. That asks the script again, and costs nothing. A **fork** is a copy of the trace that goes on from your edit. The original stays as it is.
# 4. **Compare.** The two traces now stand side by side. Find the first step that differs. Is `laptop7` cut off in the fork?
#
# *Replay* can only repeat the recorded replies and results. Your edit makes a new request, so *Replay* would stop there and say so.
# `?` names all keys.
#
# The same three things in code: allow, edit, fork.

# %%
from dataclasses import replace

from zoolab import Decision


def allow(step):
    return Decision("once")


done = run(TASK, tools_named("security"), Scripted(analyst), ask=allow)
print([call.name for call in done.tool_calls], "|", done.answer)

# %%
guess = predict(
    "The fork goes on with an address that is clean. How many tools does the fork call in all?", [1, 2, 3]
)
guess

# %%
checked = next(
    step for step in done.steps if step.kind == "execute" and step.call.name == "check_ip_reputation"
)
edited = replace(checked.record, value={**checked.record.value, "verdict": "clean"})
fork = done.fork(checked, edited)
print([call.name for call in fork.tool_calls], "|", fork.answer)

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(fork.tool_calls),
    because="The steps before the edit are kept. After it, the script reads 'clean' and asks for no third call.",
)

# %% [markdown]
# A fork answers the question "what would have happened if this step had returned something else?" You will use it in [09](09-traces.ipynb) to find the cause of a
# failure.

# %% [markdown] tags=["slide"]
# ## When every step succeeds
#
# Another question, with three tools for a small shop database. Qwen answers again.

# %%
shop = run(
    "How many orders are open, and how many are cancelled?", tools_named("analytics"), model, system=SYSTEM
)
print([step.status for step in shop.steps])
print([call.arguments for call in shop.tool_calls])
print(shop.answer)

# %%
guess = predict("No step has failed. Is the answer right?", ["yes", "no"])
guess

# %%
counts = tools_named("analytics").execute(
    "sql_select", {"query": "SELECT status, count(*) FROM orders GROUP BY status"}
)
truth = dict(counts["rows"])
print(truth)
print("what the call returned:", [step.record.value for step in shop.steps if step.kind == "execute"])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "yes"
    if f"{truth['open']} open" in shop.answer and f"{truth['cancelled']} cancelled" in shop.answer
    else "no",
    because="The query returned two numbers without names. Qwen took the first for the open orders, and it is the other one.",
)

# %% [markdown]
# The tool exists, the JSON is valid, the query ran, and the answer sounds sure. Validation cannot see this mistake. You find it only if you know the right answer, or
# if you check the answer against the data. Notebook [14](14-evaluation.ipynb) does both.

# %% [markdown]
# ## Your turn
#
# **1. Write the next message.** The script has asked for a call, and the function returned 42. Which message must follow? Complete `next_message`. The cell says what is
# missing.

# %%
from zoolab.apis.conversation import check_conversation
from zoolab.toolbox.starter import multiply

asked = run("What is 7 times 6?", [multiply], Scripted([[("multiply", {"a": 7, "b": 6})], "42."]))
unfinished = asked.messages[:2]
print(json.dumps(unfinished[1], indent=1))

# %%
next_message = {"role": "user", "content": "It is 42."}

# %%
problems = check_conversation([*unfinished, next_message])
for problem in problems:
    print("not yet:", problem)
if not problems:
    print("right" if "42" in next_message["content"] else "not yet: the model does not get to read the 42")

# %% [markdown]
# <details><summary>Hint</summary>
#
# Which role do results have? Whose id do they carry? Look at the last message under "Step 6, result".
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# next_message = {"role": "tool", "tool_call_id": unfinished[1]["tool_calls"][0]["id"], "content": "42"}
# ```
#
# A message with the role `user` would say that a *person* has said 42, and the call would stay without an answer. Strict servers reject such a list.
#
# </details>

# %% [markdown]
# **2. Fork it yourself.** In `done`, the script looked up the address of the malware. What would have happened if it had looked up 192.0.2.10? Change the record of the
# call, so that the fork goes on with that address. This time you edit the call, not the result. The tool runs again, with your arguments. (Nobody is asked for
# permission in this fork. So `isolate_host` would be denied.)


# %%
def edit(call):
    return call


# %%
asking = next(
    step
    for step in done.steps
    if step.kind == "tool_call" and step.call and step.call.name == "check_ip_reputation"
)
mine = done.fork(asking, edit(asking.record))
looked_up = json.loads(mine.tool_calls[1].arguments)
print(looked_up, "|", mine.answer)
print("right" if looked_up == {"ip": "192.0.2.10"} else "not yet: the fork asks for another address")

# %% [markdown]
# <details><summary>Hint</summary>
#
# `replace(record, field=value)` copies a record and changes one field. The arguments of a call are a text.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def edit(call):
#     return replace(call, arguments='{"ip": "192.0.2.10"}')
# ```
#
# The edit is a text, because it replaces the text that the model wrote. So it is validated like any other call.
#
# </details>

# %% [markdown]
# ## The whole loop in one file
#
# You have seen every step from outside. Now read how it is made. `zoolab.mini` is one file of 300 lines, with the same six steps and the same `messages[]`. It has no trace
# and no inspector. Its heart is one function. In it, `log` is `messages[]`. Find the lines that add to it. To which step does
# each of them belong?

# %%
import inspect

from zoolab import mini

print(inspect.getsource(mini.walk))

# %% [markdown]
# The other functions each make one step. `print(inspect.getsource(mini))` shows them all, and reading them takes about ten minutes. A test compares `mini` with `zoolab.walk`,
# step by step, on recordings like the ones of this course.

# %% [markdown]
# ## What to keep
#
# - The model asks. Your program decides, runs and answers.
# - `arguments` is text until you have validated it.
# - Each call is answered by exactly one `tool` message with its id.
# - The second request contains everything again.
# - A loop can run without an error and still give a wrong answer.
#
# Next: [02 · Anatomy of messages[]](02-messages.ipynb). Lab: [l1 · The loop](../labs/l1/l1.ipynb).
