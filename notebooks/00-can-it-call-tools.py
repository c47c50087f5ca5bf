# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · Can this model call tools?
#
# A **language model** is a program that continues text. Give it a question and it writes an answer, word by word, from what
# it has read. It cannot look anything up, it cannot run anything, and it is bad at sums.
#
# A **tool** is a function of yours that a model may ask for. The model writes down a name and arguments, your program runs
# the function and tells the model what came out. That is all that **tool calling** is. Weather bots, coding assistants and
# "agents" are built on it.
#
# Not every model can do it. Before you build anything on a model, examine it, as a doctor would: a few questions, each with
# one thing to look at.
#
# Afterwards you can
#
# - say what a model must be able to do before it may call tools, and check it in a minute;
# - read what was sent to a model and what came back, without guessing;
# - tell "it cannot" from "I asked badly";
# - write a probe of your own.
#
# About 20 minutes. It runs on your machine, without a key and without a network.

# %% [markdown]
# ## Who answers?
#
# Two small real models. They were asked once, and what they said was **recorded**: a file holds each question and each answer,
# word for word. That is why this notebook gives the same answers to everybody, offline. Nobody improved them.
#
# `LIVE` is the one switch: `None` plays the recording, `"local"` asks the same models on this machine (fetch them
# once with `zoolab local fetch`), `"endpoint"` asks a server that you name in `OPENAI_BASE_URL`.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import model_for, predict

model = model_for(LIVE, "course-00")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## One question, no tools
#
# A **request** is what goes out: a list of messages, each with a role. `user` is you. The **reply** is one message with the role
# `assistant`: the model.

# %%
from zoolab import Request

hello = Request([{"role": "user", "content": "Say hello."}])
print(hello.body())
print(model(hello).text)

# %% [markdown]
# It answers. That is the first thing a doctor wants to know, and it is not yet much: every model writes text.

# %% [markdown]
# ## The same with a tool on the table
#
# Now the request also carries the description of a tool: its name, what it is for, and which arguments it takes. The model
# never sees the function's code, only this.
#
# Then you are asked what will come. Answer before you go on: the cell that tells you why is folded, a `...` on which you can click.

# %%
import json

from zoolab.toolbox.starter import starter_tools

tools = starter_tools("add")
print(json.dumps(tools.schemas()[0], indent=1))

# %%
guess = predict(
    "The question is: What is 42 + 58? The tool add is on offer. What does the model write?",
    ["the number 100", "a call of add", "a sentence that explains addition"],
)
guess

# %%
question = Request([{"role": "user", "content": "What is 42 + 58?"}], tuple(tools.schemas()))
reply = model(question)
print(json.dumps(reply.message, indent=1))

asked_for = [call["function"]["name"] for call in reply.message.get("tool_calls") or []]

# %% jupyter={"source_hidden": true}
guess.reveal(
    "a call of add" if "add" in asked_for else "something else",
    because="It does not calculate. It asks you to, in JSON, and waits.",
)

# %% [markdown]
# **JSON** is a way to write down values as text: `{"a": 42}` is an object with one member. Look closely at `arguments`:
# the model wrote a *text* that looks like JSON. Whether it really is some, and whether it fits the tool, is for you to check. Much of
# this course is about that sentence. (If there is a `reasoning_content`: a thought, which some models write down before they call.)

# %% [markdown]
# ## Seven probes
#
# `zoolab doctor` asks seven questions. Each has one thing to look at:
#
# | probe | what is asked | what must come |
# | --- | --- | --- |
# | answers | a plain question | any text |
# | calls | a question that one tool answers | a call of that tool |
# | chooses | the same with three tools | a call of the right one |
# | arguments | a question with two details | arguments that fit the tool's description |
# | abstains | "Hello!", with tools on the table | **no** call |
# | forced | a question for one tool, another one forced | a call of the forced one |
# | result | the outcome of a call | a sentence that contains it |
#
# Three of them decide: without `calls`, `arguments` and `result` there is no loop.

# %%
guess = predict("How many of the seven will these two small models pass?", list(range(8)))
guess

# %%
import pandas as pd

from zoolab.course.doctor import SUMMARIES, can_call_tools, examine

results = list(examine(model))
table = pd.DataFrame([{"probe": r.name, "passed": r.ok, "verdict": r.verdict} for r in results])
table.style.hide(axis="index")

# %%
print(SUMMARIES[can_call_tools(results)])

# %% jupyter={"source_hidden": true}
guess.reveal(
    sum(result.ok for result in results),
    because="The table says which.",
)

# %% [markdown]
# ## Read what came, not what you expected
#
# A verdict is an opinion. Behind it stand two facts: what was sent and what came. Look at those that failed.

# %%
for result in results:
    if not result.ok:
        print(f"{result.name}: {result.verdict}")
        print("  sent:", result.sent["messages"][-1]["content"])
        calls = (result.came or {}).get("tool_calls") or []
        for call in calls:
            print("  came:", call["function"]["name"], call["function"]["arguments"])
        print("  advice:", result.advice, "\n")

# %% [markdown]
# If `abstains` failed, you have met the commonest weakness of small models: with a tool on the table they use it, whatever you
# said. Somebody who only says hello gets a service checked. A model that was trained to choose calls has
# seen few conversations in which none was needed. Notebook 04 measures how often it happens.

# %% [markdown]
# ## "It cannot" or "I asked badly"?
#
# The second of the two models, SmolLM2, writes text and has never been trained for tools. Ask it the way that was just used, with the
# tool's description in the request.

# %%
guess = predict(
    "SmolLM2 gets the question 42 + 58 and the tool add. What will it do?", ["call add", "write text"]
)
guess

# %%
writer = model_for("smollm2" if LIVE in ("local", "endpoint") else None, "course-00-smollm2")
said = writer(question)
print(said.text)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "call add" if said.message.get("tool_calls") else "write text",
)

# %% [markdown]
# Does it ignore the tool? Worse: it has never seen it. Before a model reads a request, a **chat template** turns messages and
# tools into one text. SmolLM2's template has no place for tools and drops them without a word. No error, no warning. The count
# of tokens (the pieces that a model reads, a few letters each) gives it away.

# %%
without_tools = writer(Request(question.messages))
print("tokens read with the tool:   ", said.usage["prompt_tokens"])
print("tokens read without the tool:", without_tools.usage["prompt_tokens"])

# %% [markdown]
# Equal numbers mean that the description never arrived. There is a way around: describe the tools in words, in a **system** message (the
# instructions that stand before a conversation), and read the call out of the text that comes back. zoolab does this for models
# that need it.

# %%
from zoolab import read_calls
from zoolab.steps.request import opening_messages

described = Request(opening_messages("What is 42 + 58?", text_tools=tools))
print(described.messages[0]["content"], "\n")
in_words = writer(described)
print("it said:", in_words.text)
print("calls found in it:", [(call.name, call.arguments) for call in read_calls(in_words.message, text=True)])

# %% [markdown]
# Now it has seen the tool. What it makes of it is another matter: 135 million parameters are about a thousandth of a large
# model. Compare the doctor's findings:

# %%
small = list(examine(writer))
both = table.assign(smollm2=[result.ok for result in small]).rename(columns={"passed": "needle + smollm2"})
both[["probe", "needle + smollm2", "smollm2"]].style.hide(axis="index")

# %% [markdown]
# ## Your turn
#
# **1.** Which probes would you want to see passed before you let a model restart a server? Write three names into the list. The cell
# says whether this pair of models has them.

# %%
needed = ["calls", "arguments", "abstains"]
passed = {result.name for result in results if result.ok}
print("fit for it" if set(needed) <= passed else f"not fit: {sorted(set(needed) - passed)}")

# %% [markdown]
# <details><summary>Hint</summary>
#
# The names are those that the seven probes above carry. Think of what would hurt: a restart that nobody wanted, or one of the wrong service.
#
# </details>
#
# <details><summary>One solution</summary>
#
# ```python
# needed = ["abstains", "arguments", "chooses"]
# ```
#
# Restarting is not undone by saying sorry: not calling when nothing is needed comes first, then the right name and the right tool.
#
# </details>

# %% [markdown]
# **2. Add a probe.** A probe is a request and a judge: a function that looks at the reply and the calls in it and returns
# `None` if all is well, else what is wrong. This one asks for two sums at once. Run it, then write one of your own: does the model
# pass a name on as it was written, capital letters and all?

# %%
from zoolab.course.doctor import Probe


def judge_two_calls(_reply, calls):
    return None if len(calls) == 2 else f"{len(calls)} call(s), not 2"


two_sums = Probe(
    name="two at once",
    asks="does it ask for two calls in one reply?",
    request=Request(
        [{"role": "user", "content": "What is 1 + 2, and what is 30 + 40?"}], tuple(tools.schemas())
    ),
    judge=judge_two_calls,
    advice="ask one thing at a time",
)
mine = list(examine(model, also=[two_sums]))[-1]
print(mine.name, "passed" if mine.ok else "failed:", "" if mine.ok else mine.verdict)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Offer `starter_tools("check_status")` and ask "Is the service MariaDB running?". The judge parses `calls[0].arguments` with `json.loads` and
# compares the name. What should it say when there is no call at all? (This question is in the recording; others need
# `LIVE = "local"`.)
#
# </details>
#
# <details><summary>One solution</summary>
#
# ```python
# def judge_spelling(_reply, calls):
#     if not calls:
#         return "no call came"
#     name = json.loads(calls[0].arguments).get("service")
#     return None if name == "MariaDB" else f"it wrote {name!r}"
# ```
#
# </details>


# %% [markdown]
# ## What to keep
#
# - A model writes text. A tool call is text of a certain form; your program does the rest.
# - Examine a model before you trust it: does it call, with fitting arguments, and does it use what comes back?
# - Not calling is a skill too, and the rarer one.
# - A template can drop your tools without a word. Count the tokens.
# - Look at what was sent and what came. Verdicts come after.
#
# Your own model: set `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `ZOOLAB_MODEL`, then `LIVE = "endpoint"` above, or
# `zoolab doctor --live` in a terminal.
#
# Next: [01 · One loop](01-one-loop.ipynb), the same exchange by hand, step by step. A first lab:
# [l1 · Define](../labs/l1/l1.ipynb).
