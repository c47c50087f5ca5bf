# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 16 · Somebody else's agent
#
# You will rarely write the loop yourself. You will take a **framework**: a library that runs the loop for you. It writes prompts, sends tools, checks calls
# and reports errors to the model, and most of this you never see. This notebook shows it: two frameworks work on the same task, and you read what each sends.
#
# Afterwards you can
#
# - watch any program that speaks to OpenAI or Anthropic, without changing it;
# - read what a framework adds to your task, and what it costs;
# - say what a framework does with a bad call, and what the model learns of it;
# - break the traffic of a program on purpose, and see whether the program notices.
#
# About 40 minutes. It runs offline.

# %% [markdown]
# ## Watch a program
#
# `zoolab.watch` starts a small server on your machine. While the `with` is open, clients of OpenAI and of Anthropic send their requests to this server. It passes them
# on, and it keeps each conversation as a trace. Here a script answers (authored), so no key is needed.

# %%
import openai

from zoolab import Scripted, predict, watch

with watch(to=Scripted(["Hello! What can I do for you?"])) as seen:
    client = openai.OpenAI()
    question = [{"role": "user", "content": "Hi"}]
    said = client.chat.completions.create(model="any", messages=question)

print("the program got:", said.choices[0].message.content)
print("the trace:", seen.traces[0])

# %% [markdown]
# The two lines with `client` know nothing of zoolab. A whole program is watched in the same way, from a terminal:
#
#     zoolab proxy -- python my_agent.py
#
# Its requests go to the real endpoint, with your key, and come back unchanged. The key is never written.

# %% [markdown] tags=["slide"]
# ## Two frameworks, one task
#
# We watched two programs like this: one with **openai-agents**, one with **smolagents**. Both are a few lines long. Both have the tools `add` and
# `multiply`, and both get the question "What is (2 + 3) * (4 + 5)?".
#
# A script answered both (authored), with the same calls in the same order. So the frameworks wrote whatever differs.
#
# openai-agents spoke to the Responses API, and smolagents to Chat Completions (notebook 10). A trace shows both in the form of Chat Completions, so you can
# compare them.

# %%
from pathlib import Path

from zoolab import Trace

agents = Trace.load(Path("traffic") / "openai-agents.jsonl")
smol = Trace.load(Path("traffic") / "smolagents.jsonl")
for trace in (agents, smol):
    print(trace.meta["program"], "over", trace.meta["api"])
    print([f"{call.name}({call.arguments})" for call in trace.tool_calls], "\n")

# %%
guess = predict(
    "Both programs have the same question and the same two tools. How many times as long is the longer first request?",
    ["less than twice", "two to five times", "more than five times"],
)
guess

# %%
import json


def length_of(request):
    "The characters of the messages and the tools of a request, as JSON."
    return len(json.dumps([request.messages, request.tools]))


first = {trace.meta["program"]: trace.turns[0].request for trace in (agents, smol)}
sizes = {name: length_of(request) for name, request in first.items()}
print(sizes)

# %% jupyter={"source_hidden": true}
ratio = max(sizes.values()) / min(sizes.values())
guess.reveal(
    "less than twice" if ratio < 2 else "two to five times" if ratio <= 5 else "more than five times",
    because=f"It is {ratio:.1f} times as long. smolagents puts a long system message before your task. Every "
    "request sends it again.",
)

# %% [markdown]
# Read the beginning of the two system messages. Which of them stands in the program, and which comes from a framework?

# %%
for name, request in first.items():
    content = request.messages[0]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    print(f"--- {name}\n{text[:600]}\n")

# %% [markdown]
# The first is a sentence of the program. The second comes with the framework. It explains tools, actions and observations, and examples follow. You pay for it
# in each request.
#
# ## The tools differ, too
#
# Both programs have a Python function `add` with two integers. See what each framework sends for it:

# %%
for name, request in first.items():
    print(f"--- {name}: {len(request.tools)} tools")
    for tool in request.tools:
        print(json.dumps(tool["function"]))

# %% [markdown]
# - openai-agents writes `"strict": true` and forbids further arguments, so that an endpoint which supports this keeps to the schema (notebook 11).
# - smolagents adds a tool of its own, `final_answer`. The model must *call* it to end the run. A text alone is no answer here.

# %% [markdown] tags=["slide"]
# ## A call that is wrong
#
# The script's first call was wrong on purpose: `add(a=2, b="three")`. The schema asks for integers. zoolab's verdict is the same for both:

# %%
for trace in (agents, smol):
    print(trace.meta["program"], [str(error.message) for error in trace.errors])

# %%
guess = predict(
    "What does the model of openai-agents get back after this call?",
    ["that b must be an integer", "only that something went wrong", "nothing: the run ends"],
)
guess

# %%
second = {trace.meta["program"]: trace.turns[1].request for trace in (agents, smol)}
for name, request in second.items():
    print(f"--- {name}")
    for message in request.messages[1:]:
        content = message.get("content")
        text = content if isinstance(content, str) or content is None else content[0]["text"]
        print(f"{message['role']:9} {text or [call['function'] for call in message['tool_calls']]}")

# %% jupyter={"source_hidden": true}
told = next(message for message in agents.turns[1].request.messages if message["role"] == "tool")
guess.reveal(
    "that b must be an integer" if "integer" in told["content"] else "only that something went wrong",
    because="The tool message says that an error occurred, and not which one. The model must guess what to change.",
)

# %% [markdown]
# This is the text of openai-agents 0.24.0 if the program sets none. It can set one, with `function_tool(failure_error_function=...)`
# ([tools, in the library's documentation](https://openai.github.io/openai-agents-python/tools/)).
#
# smolagents tells the model what was wrong: `b` should be an integer. But look at its messages once more: the wrong call is gone. The model gets its old task, with
# an error below it, and no memory of what it did.
#
# zoolab lists such things for a whole conversation. `+` was added, `~` was edited, `-` was dropped:

# %%
from zoolab_connect.proxy import what_changed

what_changed(smol)

# %% [markdown]
# Three things to see:
#
# 1. After the wrong call, the reply "did not go back", and the user's message is another one.
# 2. Later calls go back as *text* ("Calling tools: ..."), and results as messages of the *user* ("Observation: ..."). The API has places for both, and
#    smolagents does not use them.
# 3. Many endpoints keep the beginning of a prompt in a **cache** and charge less for it (notebook 13). Request 2 changed an earlier message, so the cache ends
#    there. Here the loss is small, because the change is near the end.

# %%
guess = predict(
    "In which of the two conversations is every request the one before plus something new?",
    ["in both", "only in that of openai-agents", "only in that of smolagents", "in neither"],
)
guess

# %%
only_added = {
    trace.meta["program"]: [change.only_added for change in what_changed(trace).changes]
    for trace in (agents, smol)
}
only_added

# %% jupyter={"source_hidden": true}
kept = [name.split()[0] for name, values in only_added.items() if all(values)]
guess.reveal(
    {0: "in neither", 2: "in both"}.get(len(kept)) or f"only in that of {kept[0]}",
    because="openai-agents appends, as our own loop does. smolagents writes the history anew before each request.",
)

# %% [markdown]
# Both conversations side by side in the inspector: "This trace" is that of openai-agents. Step with the arrow keys. *Compare* shows one trace or both.

# %%
agents.inspect(smol)

# %% [markdown]
# The trace of another program is a tape, like your own, if the program sends results back as tool messages, as openai-agents does: `replay()` plays it, and a fork takes the
# results of its calls from it. No tool of the program runs.

# %%
agents.replay().answer

# %% [markdown] tags=["slide"]
# ## Break it on purpose
#
# Does a program notice when the traffic goes wrong? `faults=` breaks replies on their way (notebook 15 explains the faults). This little program adds without
# looking. A script answers it (authored):

# %%
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": SCHEMA}}


def little_program():
    "Ask for a sum, run one call, and return its result."
    client = openai.OpenAI(max_retries=0)
    asked = [{"role": "user", "content": "What is 2 + 3?"}]
    reply = client.chat.completions.create(model="any", messages=asked, tools=[TOOL])
    call = reply.choices[0].message.tool_calls[0]
    given = json.loads(call.function.arguments)
    return given["a"] + given["b"]


# %%
def under(fault):
    "What the program does under a fault."
    script = Scripted([[("add", {"a": 2, "b": 3})]])
    try:
        with watch(to=script, faults=[fault] if fault else []):
            return little_program()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:70]


for fault in (None, "http_500", "trailing_comma", "duplicate_key", "boolean_for_integer"):
    print(f"{fault or 'no fault':20} {under(fault)}")

# %% [markdown]
# An error is the good case: somebody sees it. The bad case is a wrong number without an error. Python's `json.loads` takes a key that comes twice, and the last
# one wins. And in Python, `True` counts as 1.
#
# For a whole program, `zoolab stress -- python my_agent.py` runs it once under each fault, and draws a scorecard: recovered, failed, silently wrong.

# %% [markdown]
# ## Play it again, and pay nothing
#
# `zoolab proxy --replay watched-1 -- python my_agent.py` answers the program from an earlier run. But the program runs its own tools again: it would pay a second time. One
# line above a function, `@zoolab.taped`, puts the function on the tape. Its calls are recorded while the proxy watches, and in a replay they give what they gave.
# Without the proxy the line does nothing. Here we name the file ourselves:

# %%
from pathlib import Path
from tempfile import mkdtemp

from zoolab import taped

paid = []


def pay(euros):
    "A payment."
    paid.append(euros)
    return f"paid {euros} euros"


file = Path(mkdtemp()) / "tools.jsonl"
print("recorded:", taped(pay, file)(5))

# %% [markdown]
# The file exists now. A program that is started again plays it:

# %%
from zoolab_connect.taped import FileTape

print("played:  ", FileTape(file).play("pay", {"euros": 5}).value)
print("payments:", len(paid))

# %% [markdown]
# ## Your turn
#
# **1. Where did the tokens go?** Fill in `overhead`: the share of a framework's *last* request that is its system message. Compare the two.


# %%
def overhead(trace):
    "The characters of the first message, as a share of all characters of the last request's messages."


print([overhead(trace) for trace in (agents, smol)])


# %%
def correct(trace):
    messages = trace.turns[-1].request.messages
    return len(json.dumps(messages[0])) / len(json.dumps(messages))


found = [overhead(trace) for trace in (agents, smol)]
expected = [correct(trace) for trace in (agents, smol)]
close = all(isinstance(f, float) and abs(f - e) < 0.02 for f, e in zip(found, expected, strict=True))
print("right" if close else f"not yet: {found} should be near {[round(each, 2) for each in expected]}")

# %% [markdown]
# <details><summary>Hint</summary>
#
# `trace.turns[-1].request.messages` is a list. `json.dumps` makes text of a message, and of the whole list.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def overhead(trace):
#     messages = trace.turns[-1].request.messages
#     return len(json.dumps(messages[0])) / len(json.dumps(messages))
# ```
#
# Count the whole request and not one message alone: the system message is sent again each time, so its share says what you pay for it.
#
# </details>

# %% [markdown]
# **2. A careful program.** Change `careful` so that no fault of the list makes it return a wrong number. It may raise an error.

# %%
from zoolab import Tool, ToolRegistry

registry = ToolRegistry([Tool.from_schema("add", "Add.", SCHEMA)])


def careful(message):
    "The sum that a reply asks for, or an error."
    given = json.loads(message["tool_calls"][0]["function"]["arguments"])
    return given["a"] + given["b"]


# %%
def outcome(arguments):
    "What `careful` makes of a reply with these arguments."
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": arguments}}
    try:
        return careful({"role": "assistant", "content": None, "tool_calls": [call]})
    except Exception:
        return "an error"


cases = {'{"a": 2, "b": 3}': 5, '{"a": 2, "b": 3, "b": 9}': "an error", '{"a": true, "b": 3}': "an error"}
wrong = {text: outcome(text) for text, right in cases.items() if outcome(text) != right}
print("right" if not wrong else f"not yet: {wrong}")

# %% [markdown]
# <details><summary>Hint</summary>
#
# In `zoolab`, `read_calls(message)` reads the calls of a reply, and `check_call(call, registry)` gives a verdict. `verdict.raise_for_problems()` raises what is wrong.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# from zoolab import check_call, read_calls
#
#
# def careful(message):
#     verdict = check_call(read_calls(message)[0], registry)
#     verdict.raise_for_problems()
#     return verdict.arguments["a"] + verdict.arguments["b"]
# ```
#
# Validation reads strict JSON and knows the schema. So it sees both faults that `json.loads` lets pass.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - A framework writes a part of your prompt. Read it once, and know what it costs.
# - Two frameworks may tell the model different things about the same mistake. The model can only mend what it is told.
# - A loop that only appends keeps the cache. If a loop changes an early message, you pay again for everything after it.
# - A replay runs the program's own tools again, unless they are on the tape.
# - Test what your program does when the traffic breaks. A wrong number without an error is worse than an error.
#
# This was the last notebook. Lab: the [capstone](../labs/l11/l11.ipynb). Then watch a program of your own: `zoolab proxy -- python my_agent.py`.
