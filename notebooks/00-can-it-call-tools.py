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
# A team builds a chat bot for its servers. A colleague writes: "Check the status of the server web-01." The bot answers: "I will check the server for you."
# Then nothing happens. The bot cannot check a server. It can only write text, and a promise is text.
#
# A **language model** is a program that continues text. It has read a lot, so its text often sounds right. It cannot look anything up, and it cannot run
# anything. A **tool** is a function of yours that a model may ask for. The model writes down the name of the tool and the arguments. Your program runs the function
# and tells the model the result. This exchange is **tool calling**.
#
# Not every model can do it. Examine a model before you build on it. Examine it like a doctor: ask a few questions, and let each question test one thing.
#
# Afterwards you can
#
# - see the difference between a promise and a call;
# - say what a model must be able to do before it may call tools, and check it in a minute;
# - read what was sent to a model and what came back;
# - find out whether a model cannot do something, or whether you asked badly;
# - write a probe of your own.
#
# About 30 minutes. It runs on your machine, without a key and without a network.

# %% [markdown]
# ## Who answers?
#
# Three real models answer in this course. All of them run on a laptop:
#
# - **Qwen** (Qwen2.5-Coder-1.5B-Instruct) reads the whole conversation, with tools and results.
# - **Needle** only chooses calls. It never sees a result.
# - **SmolLM2** only writes text. It never sees a tool.
#
# Each model was asked once, and its replies were **recorded**: a file contains every request and every reply, word for word. So this notebook gives the same
# replies to everybody, offline. Nobody has improved them. Some are wrong, and these are the interesting ones.
#
# `LIVE` is a switch. `None` plays the recordings. `"local"` asks the same models on this machine; download them once with `zoolab local fetch`
# and `zoolab local fetch qwen`. `"endpoint"` asks a server that you name in `OPENAI_BASE_URL`.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import model_for, predict

qwen = model_for("qwen" if LIVE == "local" else LIVE, "qwen-course-00")
print("who answers:", qwen.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## A promise
#
# A **request** is what you send: a list of messages, each with a role. The role `user` is you. The **reply** is one message with the role `assistant`. It comes
# from the model.
#
# Before you run the next cells, answer the question. The cell that tells you the answer is folded: click on the `...`.

# %%
from zoolab import Request

guess = predict(
    "Qwen has no tool, and no connection to any server. It is asked: Check the status of the server web-01. What will it write?",
    ["that it cannot check servers", "a text that looks like a result"],
)
guess

# %%
question = [{"role": "user", "content": "Check the status of the server web-01."}]
promise = qwen(Request(question))
print(promise.text)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "a text that looks like a result" if "192.168" in promise.text else "that it cannot check servers",
    because="It continues text, and texts about servers continue like this. Nobody has measured these numbers.",
)

# %% [markdown]
# Read it again. There is an address, a time in milliseconds, and "Lost = 0". All of this is made up. A person in a hurry reads "the server answers".

# %% [markdown]
# ## A call
#
# Now the same question with a tool. The request contains a description of the tool: its name, what it is for, and which arguments it takes. The model never sees
# the code of the function. It sees only this:

# %%
import json

from zoolab.toolbox.catalog import tools_named

status = tools_named("check_status")
print(json.dumps(status.schemas()[0], indent=1))

# %%
guess = predict(
    "The same question, and the tool check_status is offered. What will Qwen write?",
    ["the same text as before", "a call of check_status", "that the server is running"],
)
guess

# %%
reply = qwen(Request(question, tuple(status.schemas())))
print(reply.text or json.dumps(reply.message["tool_calls"], indent=1))

# %%
from zoolab import read_calls

calls = read_calls(reply.message, text=True)
print("calls found:", [(call.name, call.arguments.replace("\n", " ")) for call in calls])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "a call of check_status" if calls and calls[0].name == "check_status" else "something else",
    because="It does not say how the server is. It writes, in JSON, which tool to run and with which arguments.",
)

# %% [markdown]
# **JSON** is a way to write values as text: `{"service": "web-01"}` is an object with one member. Many APIs put a call into a field of its own, `tool_calls`.
# Qwen writes it into its text, between two lines of three backticks. In both places it is text that a model wrote. Is it valid JSON? Does it fit the tool? Your
# program must check that. A large part of this course is about these two questions.
#
# Now somebody has to run the function. The model cannot.

# %%
try:
    print(status.execute(calls[0].name, json.loads(calls[0].arguments)))
except Exception as error:
    print(type(error).__name__, "|", error)

# %% [markdown]
# The true answer is less pleasant: there is no service `web-01`. But a true answer is worth more than a text with an invented address.

# %% [markdown] tags=["slide"]
# ## Seven probes
#
# `zoolab doctor` asks seven questions. For each of them it looks at one thing:
#
# | probe | what is asked | what the reply must be |
# | --- | --- | --- |
# | answers | a plain question | any text |
# | calls | a question that one tool can answer | a call of that tool |
# | chooses | the same question, with three tools | a call of the right one |
# | arguments | a question with two details | arguments that fit the description |
# | abstains | "Hello!", with tools | **no** call |
# | forced | a question for one tool, while another one is forced | a call of the forced one |
# | result | the result of a call | a sentence that contains it |
#
# Three probes decide. A model that fails `calls`, `arguments` or `result` is not ready for tool calling.

# %%
guess = predict("How many of the seven probes will Qwen pass?", range(8))
guess

# %%
from zoolab_course.doctor import SUMMARIES, can_call_tools, examine

results = list(examine(qwen))

# %% tags=["slide"]
import pandas as pd

table = pd.DataFrame([{"probe": r.name, "passed": r.ok, "verdict": r.verdict} for r in results])
table.style.hide(axis="index")

# %%
print(SUMMARIES[can_call_tools(results)])

# %% jupyter={"source_hidden": true}
guess.reveal(sum(result.ok for result in results), because="The table names them.")

# %% [markdown]
# ## Read the replies
#
# Judge from two facts: what you sent and what came back. Look at both for the probes that failed.

# %%
for result in results:
    if not result.ok:
        print(f"{result.name}: {result.verdict}")
        print("  sent:", str(result.sent["messages"][-1]["content"])[:100])
        print("  came:", str((result.came or {}).get("content") or "")[:160].replace("\n", " "))
        print("  advice:", result.advice, "\n")

# %% [markdown]
# Two of these failures are typical. If `abstains` fails, the model uses a tool although nobody needs one. If `result` fails, it goes on calling although it has the
# answer. You will meet both again: notebook 04 counts the first one, and notebook 08 stops the second one.

# %% [markdown]
# ## Two small specialists
#
# Needle chooses calls, and SmolLM2 writes text. zoolab lets them work as a pair: Needle gets every question, and SmolLM2 gets every result. So each of them
# gets *another* request than the one that you wrote. You can see both:

# %%
pair = model_for(LIVE, "course-00")
pair_results = list(examine(pair))

# %%
both = table[["probe"]].assign(qwen=table["passed"], pair=[result.ok for result in pair_results])
both.style.hide(axis="index")

# %% [markdown]
# The pair passes two more probes. Look at what was sent in the probe `result`, to Qwen and to SmolLM2:

# %%
for name, examined in (("Qwen", results), ("SmolLM2", pair_results)):
    sent = next(result.sent for result in examined if result.name == "result")
    print(
        f"{name} got {len(sent['messages'])} messages; tools: {len(sent.get('tools') or ())}. The last message:"
    )
    print("  ", sent["messages"][-1], "\n")

# %% [markdown]
# Qwen got the conversation as you would write it. SmolLM2 got another one: six worked examples, the question with its result in words, and no tools. Without
# tools it cannot go on calling. So this success comes from the wrapper, and not from a better model. When somebody tells you that a model passes a test, ask
# what was sent.

# %% [markdown]
# ## "It cannot" or "I asked badly"?
#
# Ask SmolLM2 alone, with the description of a tool in the request.

# %%
from zoolab.toolbox.starter import starter_tools

tools = starter_tools("add")
addition = Request([{"role": "user", "content": "What is 42 + 58?"}], tuple(tools.schemas()))
guess = predict(
    "SmolLM2 gets the question 42 + 58 and the tool add. What will it do?", ["call add", "write text"]
)
guess

# %%
writer = model_for("smollm2" if LIVE in ("local", "endpoint") else None, "course-00-smollm2")
said = writer(addition)
print(said.text)

# %% jupyter={"source_hidden": true}
guess.reveal("call add" if said.message.get("tool_calls") else "write text")

# %% [markdown]
# Does it ignore the tool? No: it has never seen it. Before a model reads a request, a **chat template** turns messages and tools into one text. The template of
# SmolLM2 has no place for tools. It drops them without an error. You can see this in the number of tokens. (A **token** is a piece of a word, the unit in which
# models read.)

# %%
without_tools = writer(Request(addition.messages))
print("tokens read with the tool:   ", said.usage["prompt_tokens"])
print("tokens read without the tool:", without_tools.usage["prompt_tokens"])

# %% [markdown]
# Equal numbers mean that the description never arrived. There is another way. Describe the tools in words, in a **system message** (instructions at the
# beginning of a conversation). Then read the call from the text that comes back.

# %%
from zoolab.steps.request import opening_messages

described = Request(opening_messages("What is 42 + 58?", text_tools=tools))
print(described.messages[0]["content"], "\n")
in_words = writer(described)
print("it said:", in_words.text)
print("calls found in it:", [(call.name, call.arguments) for call in read_calls(in_words.message, text=True)])

# %% [markdown]
# Now it has seen the tool. Whether it uses the tool well is another question. SmolLM2 has 135 million parameters, and Qwen has eleven times as many.
# (Parameters are the numbers that a model has learned.)

# %% [markdown]
# ## Your turn
#
# **1. Choose the probes.** You want to let a model restart servers. Which three probes must it pass? Write their names into `NEEDED`. The cell checks
# whether your choice covers the two mistakes that would hurt most: a restart that nobody wanted, and a restart of the wrong service.

# %%
NEEDED = ["answers", "forced", "result"]

# %%
passed = {result.name for result in results if result.ok}
if unknown := set(NEEDED) - {result.name for result in results}:
    print("not yet: there is no probe", *unknown)
elif "abstains" not in NEEDED:
    print("not yet: nothing here sees a restart that nobody wanted")
elif not {"arguments", "chooses"} & set(NEEDED):
    print("not yet: nothing here sees a restart of the wrong service")
else:
    print("right. Qwen", "may do it" if set(NEEDED) <= passed else f"fails {sorted(set(NEEDED) - passed)}")

# %% [markdown]
# <details><summary>Hint</summary>
#
# The table under "Seven probes" says what each probe looks at. Which one asks for *no* call?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# NEEDED = ["abstains", "arguments", "chooses"]
# ```
#
# A restart cannot be undone. So not calling comes first, and then the right tool with the right name of the service.
#
# </details>

# %% [markdown]
# **2. Write a probe.** A probe is a request and a judge. The judge is a function that looks at the reply and at the calls in it. It returns `None` if all
# is well, and otherwise it says what is wrong. This probe asks the pair for the status of a service with capital letters in its name. Complete the judge, so that it
# compares the name in the call with `MariaDB`.

# %%
from zoolab_course.doctor import Probe


def judge_spelling(_reply, calls):
    return None


# %%
spelling = Probe(
    name="spelling",
    asks="does it keep the capital letters of a name?",
    request=Request(
        [{"role": "user", "content": "Is the service MariaDB running?"}],
        tuple(starter_tools("check_status").schemas()),
    ),
    judge=judge_spelling,
    advice="give the names of services in the schema, as an enum",
)
found = list(examine(pair, also=[spelling]))[-1]
print("the probe:", "passed" if found.ok else f"failed: {found.verdict}")

from zoolab import ToolCall

CASES = [('{"service": "MariaDB"}', True), ('{"service": "mariadb"}', False), ("{}", False)]
for arguments, ok in CASES:
    verdict = judge_spelling(None, [ToolCall(1, 0, "c", "check_status", arguments)])
    print("right  " if (verdict is None) == ok else "not yet", "|", arguments)
print("right  " if judge_spelling(None, []) is not None else "not yet", "| no call at all")

# %% [markdown]
# <details><summary>Hint</summary>
#
# `calls[0].arguments` is a text. `json.loads` turns it into a dict, and `.get("service")` reads the name. What if the list of calls is empty?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def judge_spelling(_reply, calls):
#     if not calls:
#         return "no call came"
#     name = json.loads(calls[0].arguments).get("service")
#     return None if name == "MariaDB" else f"it wrote {name!r}"
# ```
#
# A model may also reply without any call. A judge must expect that.
#
# </details>


# %% [markdown]
# ## What to keep
#
# - A model without tools can only promise, and its promises look like results.
# - A tool call is text of a certain form. Your program does the rest.
# - Examine a model before you trust it: does it call, do the arguments fit, and does it use the result?
# - Knowing when not to call a tool is a skill, too.
# - A template can drop your tools without an error. Compare the number of tokens.
#
# To examine a model of your own, set `OPENAI_BASE_URL`, `OPENAI_API_KEY` and `ZOOLAB_MODEL`. Then set `LIVE = "endpoint"` above, or run `zoolab doctor --live`
# in a terminal.
#
# Next: [01 · One loop](01-one-loop.ipynb), the same exchange by hand, step by step. After it comes the first lab:
# [l1 · The loop](../labs/l1/l1.ipynb).
