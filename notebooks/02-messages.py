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
# A model remembers nothing. What looks like a conversation is a list that your program keeps, and sends **again, whole, with every request**. The list is called
# `messages`. If a result is missing in it, or carries the wrong id, the best model cannot help.
#
# Afterwards you can
#
# - read a conversation: who wrote each message, and which call a result answers;
# - say what the model really reads, and count its tokens with the tools included;
# - name three rules of `messages[]`, break them, and read the error that comes back;
# - decide what belongs in the system prompt, in an example, in a description, and in code.
#
# About 40 minutes. It runs offline. Words from [01](01-one-loop.ipynb): a *request* goes out, and a *reply* comes back. A *tool call* is a reply that asks for a
# function. Its *result* is a message that your program writes.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct, recorded. **Temperature** 0.8 means that there is some chance in its choice of words. So this is one of many replies that it could give.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Request, Scripted, model_for, predict, run
from zoolab.toolbox.catalog import tools_named

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-sampled-seed2")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)
print("settings:", model.recording.header.settings if LIVE is None else "those of the model")

# %% [markdown] tags=["slide"]
# ## Four roles
#
# | role | who wrote it | what it is for |
# | --- | --- | --- |
# | `system` | you, the programmer | standing instructions |
# | `user` | the person | what the person wants |
# | `assistant` | the model | text, or calls in `tool_calls` |
# | `tool` | your program | the result of one call, with the id of the call in `tool_call_id` |

# %%
SYSTEM = (
    "Use the tools where they help. When you have the results that you need, answer in one short sentence, "
    "without a call."
)
QUESTION = "What is the weather in Oslo, and what is 3 times 19?"
tools = tools_named("add", "multiply", "get_weather", "get_time", "check_status")

trace = run(QUESTION, tools, model, system=SYSTEM)
requests = [step.record for step in trace.steps if step.kind == "request"]
for number, message in enumerate(requests[0].messages):
    print(number, f"{message['role']:10}", message["content"])

# %% [markdown]
# That was the first request: two messages. The person asks for two things.

# %%
guess = predict(
    "Qwen asks for both calls in one reply. How many messages does the second request contain?", [3, 4, 5, 6]
)
guess

# %%
for number, message in enumerate(requests[-1].messages):
    print(number, f"{message['role']:10}", str(message["content"] or "")[:90])
    for call in message.get("tool_calls") or ():
        print(
            f"{'':13}{call['id']}: {call['function']['name']} {' '.join(call['function']['arguments'].split())}"
        )

# %% jupyter={"source_hidden": true}
guess.reveal(
    len(requests[-1].messages),
    because="The two from before, one message with both calls, and one result for each call.",
)

# %% [markdown]
# Several calls in one reply are called **parallel calls**. None of them can use the result of another one. Whether they may run at the same time
# depends on what they change ([08](08-execution.ipynb)).
#
# Now the last message. Both results are in the list. Does Qwen use them?

# %%
print(trace.answer)

# %% [markdown]
# In this recording it does not: it describes what it would do. The list was in order, and the answer is useless all the same. A correct list is necessary. It is not
# enough.

# %% [markdown]
# ## Ids
#
# How does a reader know which result belongs to which call? Only by the id. Let us exchange the ids of the two results.

# %%
from copy import deepcopy

from zoolab.apis.conversation import check_conversation

whole = run(QUESTION, tools, model_for(None, "qwen-sampled-seed2"), system=SYSTEM).messages
swapped = deepcopy(whole)
first, second = swapped[3:5]
first["tool_call_id"], second["tool_call_id"] = second["tool_call_id"], first["tool_call_id"]
for message in swapped[3:5]:
    print(message["tool_call_id"], "|", message["content"][:60])

# %% [markdown]
# The first call asked for the weather. Its result is now 57. `check_conversation` says what a strict server would reject. An empty result means that it found nothing.

# %%
guess = predict(
    "The ids are exchanged. Does check_conversation find it?", ["yes, one problem", "yes, two problems", "no"]
)
guess

# %%
problems = check_conversation(swapped)
print(problems)

# %% jupyter={"source_hidden": true}
guess.reveal(
    {0: "no", 1: "yes, one problem"}.get(len(problems), "yes, two problems"),
    because="Each call has one result, and each result names a call. The ids alone do not show whether it is the right one.",
)

# %% [markdown]
# So pair call and result in your code at the moment when the tool returns. Never pair them later by their order.

# %% [markdown]
# ## Step through time
#
# A trace keeps each moment of the list. Change the number of the step: what does each step change? `+` was added, and `-` was removed. Most steps change nothing. Validating and
# executing never touch `messages`.

# %%
from ipywidgets import BoundedIntText, interact


def show_change(step):
    print(trace.steps[step].kind)
    print(trace.diff(step - 1, step))


_ = interact(show_change, step=BoundedIntText(2, min=1, max=len(trace.steps) - 1))

# %% [markdown]
# The inspector shows the same. Click into it, and step with the arrow keys. The tab *Diff* says what was added, and the tab *Full* shows the whole list.

# %%
trace.inspect()

# %% [markdown] tags=["slide"]
# ## What the model really reads
#
# A model does not read JSON messages. It reads one text. A **chat template** makes this text from the messages and the tools. Each model has its own template, and the
# server applies it.
#
# This function writes a request in the way of the template that Qwen publishes for Qwen2.5
# ([function calling in Qwen's documentation](https://qwen.readthedocs.io/en/latest/framework/function_call.html)). It is simplified: the recording does not contain
# the text that the server made.

# %%
BEFORE = (
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
)
AFTER = (
    "</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)


def turn(role, part, text):
    return [("template", f"<|im_start|>{role}\n"), (part, text), ("template", "<|im_end|>\n")]


def call_text(call):
    function = call["function"]
    said = {"name": function["name"], "arguments": json.loads(function["arguments"])}
    return f"<tool_call>\n{json.dumps(said)}\n</tool_call>"


# %%
def as_text(request):
    "The pieces of the text that the model reads, each with the name of what it is."
    system, *others = request.messages
    head, *_ = turn("system", "system prompt", system["content"])
    pieces = [head, ("system prompt", system["content"]), ("template", BEFORE)]
    pieces += [("tools", json.dumps(tool) + "\n") for tool in request.tools]
    pieces += [("template", AFTER + "<|im_end|>\n")]
    for message in others:
        if message["role"] == "tool":
            said = f"<tool_response>\n{message['content']}\n</tool_response>"
            pieces += turn("user", "results", said)
        elif message.get("tool_calls"):
            pieces += turn("assistant", "calls", "\n".join(map(call_text, message["tool_calls"])))
        else:
            pieces += turn(message["role"], "question", message["content"])
    return [*pieces, ("template", "<|im_start|>assistant\n")]


for part, text in as_text(requests[-1]):
    print(f"{part:14}|", text.strip()[:90].replace("\n", " / "))

# %% [markdown]
# Three things to see. The tools stand inside the system message. In this template a result comes back as the *user*. And the text ends with `<|im_start|>assistant`:
# the model goes on from there. What it writes is the reply.
#
# ## Tokens
#
# The model reads the text as **tokens**, pieces of a few letters. `tokens_in` estimates them: four characters are one token. The server counts them exactly and reports
# them in `usage`. An estimate must include the tools, because they are sent with every request.

# %%
import pandas as pd

from zoolab.tokens import tokens_in

replies = {step.turn: step.reply for step in trace.steps if step.kind == "tool_call"}
counted = pd.DataFrame(
    [
        {
            "messages": tokens_in(request.messages),
            "tools": tokens_in(tools=request.tools),
            "estimate": tokens_in(request.messages, request.tools),
            "usage says": replies[turn].usage["prompt_tokens"],
        }
        for turn, request in enumerate(requests, 1)
    ],
    index=[f"request {turn}" for turn in replies],
)
counted

# %% [markdown]
# The estimate is too low, because it does not include the words of the template. The picture includes them. The colours are estimates, and the black line is the
# number in `usage`.

# %% tags=["slide"]
from zoolab.plots import Picture

PARTS = ["template", "system prompt", "tools", "question", "calls", "results"]
sizes = pd.DataFrame(
    [{part: sum(len(t) for p, t in as_text(r) if p == part) / 4 for part in PARTS} for r in requests],
    index=counted.index,
)
ax = sizes.plot.barh(stacked=True, figsize=(7, 2.6), colormap="tab10", width=0.6)
for row, reported in enumerate(counted["usage says"]):
    ax.plot([reported, reported], [row - 0.38, row + 0.38], color="black", linewidth=2)
ax.invert_yaxis()
ax.set(xlabel="tokens (black line: usage)", title="What Qwen reads")
ax.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.3))
said = [f"request {n}: about {whole:.0f} tokens" for n, whole in sizes.sum(axis=1).items()]
Picture(ax.figure, f"Bars of the tokens that Qwen reads, by part. {'; '.join(said)}.")

# %%
sizes.round().astype(int)

# %% [markdown]
# With the template, the estimate comes close to `usage`. Request 2 contains all of request 1 again. You pay for the same text again with every request. Notebook
# [13](13-context-and-cost.ipynb) draws this curve, with a cache and without one.
#
# ## Measure by subtraction
#
# You can measure a piece exactly, without knowing the template: send two requests that differ in one thing, and subtract. Here are two pairs that were recorded with
# Qwen.

# %%
recorded = {name: model_for(None, name) for name in ("qwen-course-00", "qwen-starter")}


def prompt_tokens(recording, prompt, *names, system=None):
    "The tokens that the server reported for a request."
    opening = [{"role": "system", "content": system}] if system else []
    messages = [*opening, {"role": "user", "content": prompt}]
    request = Request(messages, tuple(tools_named(*names).schemas()) if names else ())
    return recorded[recording](request).usage["prompt_tokens"]


CHECK = "Check the status of the server web-01."
without = prompt_tokens("qwen-course-00", CHECK)
one_tool = prompt_tokens("qwen-course-00", CHECK, "check_status")
print(f"without a tool: {without}, with check_status: {one_tool}, difference: {one_tool - without}")
print("estimate of the tool alone:", tokens_in(tools=tools_named("check_status").schemas()))

# %% [markdown]
# The difference is larger than the tool: the template adds its instructions as soon as there is one tool. Now a system prompt.

# %%
CALCULATOR = "You are a careful calculator. Use a tool for every calculation."
guess = predict(
    "The same question, once without a system prompt, and once with: "
    f"{CALCULATOR} Which request has more tokens?",
    ["the one with a system prompt", "the one without", "both have the same number"],
)
guess

# %%
SUM = "What is 42 + 58?"
silent = prompt_tokens("qwen-course-00", SUM, "add")
told = prompt_tokens("qwen-starter", SUM, "add", system=CALCULATOR)
print("without:", silent, "| with:", told)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "the one with a system prompt"
    if told > silent
    else "the one without"
    if told < silent
    else "both have the same number",
    because="If you write no system prompt, the template that Qwen publishes writes one: 'You are Qwen, created by "
    "Alibaba Cloud. You are a helpful assistant.' It is longer than yours.",
)

# %% [markdown]
# So "no system prompt" can mean "the system prompt of the template". You see it only if you count.

# %% [markdown] tags=["slide"]
# ## Three rules
#
# An **endpoint** is a server that runs a model and answers requests. Strict endpoints reject a list that breaks one of these rules:
#
# 1. After an assistant message with calls come the tool messages: one for each call, before anything else.
# 2. Each tool message names a call that waits for it, by its id.
# 3. The assistant message goes back as it came: with its calls, their ids, and `arguments` as text.
#
# The first rule alone has filled many bug reports, for example with [OpenAI](https://github.com/BloomLabsInc/genkit-plugins/issues/225),
# [DeepSeek](https://github.com/ThinkInAIXYZ/deepchat/issues/1078) and [Kimi](https://github.com/MoonshotAI/kimi-cli/issues/2405).
#
# Now break them on purpose. Programs do each of these five things by accident.

# %%
BUGS = {
    "the tool failed, so nothing was appended": lambda m: m.pop(3),
    "a retry appended the result twice": lambda m: m.insert(4, m[3]),
    "history was cut to the last two": lambda m: m.__delitem__(slice(0, -2)),
    "the result was sent as user": lambda m: m[3].update(role="user"),
    "arguments were parsed, then sent back": lambda m: m[2]["tool_calls"][0]["function"].update(arguments={}),
}
for bug, damage in BUGS.items():
    broken = deepcopy(whole)
    damage(broken)
    print(f"{bug}:\n    {check_conversation(broken)[0]}")

# %% [markdown]
# Look at "history was cut to the last two". If a conversation grows too long, many programs keep only the latest messages. That works until the cut falls between a
# call and its result. Lab 2 is about cutting without this bug.

# %% [markdown]
# ## Read a 400
#
# Requests travel by HTTP. The number 400 means "your request is wrong, and sending it again will not help". Below is the official `openai` client. Behind it is an
# endpoint that runs in this notebook. Its rules and the words of its errors are written by hand. The form of its errors is that of OpenAI's API.

# %%
import openai

from zoolab_connect.strict import strict_client

client = strict_client(Scripted(["All is well."]))
broken = deepcopy(whole)
broken.pop(3)
try:
    client.chat.completions.create(model="strict", messages=broken)
except openai.BadRequestError as error:
    print(error.status_code, json.dumps(error.body, indent=1))

# %% [markdown]
# Read three things. The *type* says that the request is wrong, not the server. The *param* is the path to the place: message 2, its first call. The *message* says what
# was expected. If you send the same request again, you get the same error again.

# %% [markdown]
# ## Examples in the conversation
#
# There are four places to tell a model something: the system prompt, a description, an example, and code. An example is also called a **few-shot** example. It can
# stand in the system prompt as text:

# %%
in_words = SYSTEM + (
    "\n\nExample. User: Is it cold in Paris? Call: get_weather with city Paris. Result: 18 degrees. "
    "You: No, it is 18 degrees in Paris."
)

# %% [markdown]
# Or it can stand in `messages[]`, as a conversation that never took place:

# %%
shown = run(
    "Is it cold in Paris?",
    tools,
    Scripted([[("get_weather", {"city": "Paris"})], "No, it is 18 degrees in Paris."]),
)
new_question = {"role": "user", "content": QUESTION}
in_messages = [{"role": "system", "content": SYSTEM}, *shown.messages, new_question]
plain = [{"role": "system", "content": SYSTEM}, new_question]
with_words = [{"role": "system", "content": in_words}, new_question]

for name, messages in {
    "no example": plain,
    "in the system prompt": with_words,
    "in messages[]": in_messages,
}.items():
    rules = "keeps the rules" if not check_conversation(messages) else "breaks the rules"
    print(f"{name:22} {len(messages)} messages, about {tokens_in(messages)} tokens, {rules}")

# %% [markdown]
# In `messages[]` the example looks exactly like a real call. But the model may also take it for a real part of this conversation, and use its facts. And it must keep the
# three rules. Each example is sent again with every request. Whether it helps your model is a question for an experiment ([04](04-selection.ipynb)). In
# [00](00-can-it-call-tools.ipynb) you saw a wrapper that puts six examples before every request of SmolLM2.

# %% [markdown] tags=["slide"]
# ## A sentence asks, code decides
#
# If a tool must not run, do not only say so in a prompt. Do not offer it, or deny it in your program. Then no reply of a model can run it. Here a script calls
# `restart_service`. It does not matter which model asks.

# %%
stubborn = Scripted([[("restart_service", {"service": "nginx"})], "I was not allowed to."])
denied = run(
    "Check nginx.",
    tools_named("check_status", "restart_service"),
    stubborn,
    deny=["restart_service"],
    system="Never restart anything.",
)
print(json.loads(denied.messages[3]["content"])["error_message"])

# %% [markdown]
# | what you want to say | where it belongs | why |
# | --- | --- | --- |
# | how to behave: language, tone, when to ask back | system prompt | it holds for the whole conversation |
# | when to use a tool | description of the tool | it goes wherever the tool goes |
# | how a good call looks | an example, or the schema | the schema is checked, an example is not |
# | what must never happen | code | only code is certain |

# %% [markdown]
# ## Your turn
#
# **1. Break another rule.** Write `damage`, so that `check_conversation` finds a problem that none of the five bugs above has.


# %%
def damage(messages):
    messages.pop(3)


# %%
known = set()
for harm in BUGS.values():
    broken = deepcopy(whole)
    harm(broken)
    known |= {problem.expected.partition('"')[0] for problem in check_conversation(broken)}
mine = deepcopy(whole)
damage(mine)
new = [problem for problem in check_conversation(mine) if problem.expected.partition('"')[0] not in known]
for problem in check_conversation(mine):
    print(problem)
print("right" if new else "not yet: there is no problem of a new kind")

# %% [markdown]
# <details><summary>Hint</summary>
#
# Think of a role that does not exist, an empty list of calls, a message without content, a call without a name, or two calls with one id.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def damage(messages):
#     calls = messages[2]["tool_calls"]
#     calls[1]["id"] = calls[0]["id"]
# ```
#
# Two calls have one id. Nobody could say which of them a result answers.
#
# </details>

# %% [markdown]
# **2. Mend a 400.** The cell below cuts one of the two results out of the list. Run it, and read the error. Then complete `mend`: for *any* call without a result, it
# appends a tool message with an error text.


# %%
def mend(messages):
    return messages


# %%
for missing in (3, 4):
    cut = [message for number, message in enumerate(whole[:5]) if number != missing]
    client = strict_client(Scripted(["All is well."]))
    try:
        client.chat.completions.create(model="strict", messages=mend(deepcopy(cut)))
        print("right   | without message", missing)
    except openai.BadRequestError as error:
        print("not yet | without message", missing, "| 400:", error.body["message"])

# %% [markdown]
# <details><summary>Hint</summary>
#
# Collect the ids of the calls in `messages[2]`. Which of them does no tool message carry? A tool message is `{"role": "tool", "tool_call_id": ..., "content": ...}`.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def mend(messages):
#     answered = {message.get("tool_call_id") for message in messages}
#     open_calls = [call for call in messages[2]["tool_calls"] if call["id"] not in answered]
#     return messages + [
#         {"role": "tool", "tool_call_id": call["id"], "content": "error: no result"} for call in open_calls
#     ]
# ```
#
# The model must learn that there is no result. So the error text says it. An invented value would be worse than the 400.
#
# </details>

# %% [markdown]
# **3. Measure two tools.** How many tokens do `get_weather` and `check_status` cost together? Use `prompt_tokens` twice with the question `SUM`, and subtract. The
# recording `qwen-starter` contains this question with the tools `add`, `get_weather` and `check_status`, in this order.

# %%
MINE = 0

# %%
both = tools_named("get_weather", "check_status").schemas()
exact = prompt_tokens("qwen-starter", SUM, "add", "get_weather", "check_status") - silent
print("your number:", MINE, "| the estimate:", tokens_in(tools=both))
print("right" if exact == MINE else "not yet")

# %% [markdown]
# <details><summary>Hint</summary>
#
# `silent` is the count with `add` alone. Both requests contain the instructions of the template once.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# MINE = prompt_tokens("qwen-starter", SUM, "add", "get_weather", "check_status") - silent
# ```
#
# The instructions of the template are in both counts, so they cancel out. The rest is the two tools.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - The list is the memory. It is sent whole, every time, with all tools.
# - Each call is answered once, by its id, before anything else. Only your code can know that the id is the right one.
# - The model reads one text that a template makes. Count its tokens with the tools included.
# - A 400 means that the list must be mended. Its `param` says where.
# - Prompts ask, descriptions explain, code decides.
#
# Next: [03 · Schemas](03-schemas.ipynb). Lab: [l2 · History](../labs/l2/l2.ipynb).
