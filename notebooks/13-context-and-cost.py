# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 · Context and cost
#
# A model remembers nothing between two requests. So every request contains the whole conversation again: the system prompt, all tools, every call and every
# result. So you pay for the same text many times. And there is a limit: the **context window** is the number of tokens that a model can read at once. (A
# **token** is a piece of a word, about four letters of English.)
#
# Afterwards you can
#
# - count what a request contains, and compare your estimate with what the server reports;
# - explain why the cost of a conversation grows with the square of its length, and what a cache changes;
# - make `messages[]` shorter without breaking it;
# - say what you lose when you do.
#
# About 35 minutes. It runs offline.

# %% [markdown]
# ## Who answers?

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

from zoolab import Policy, model_for, predict, run
from zoolab.toolbox.catalog import tools_named

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-tasks")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# The task needs several calls, and the model reads a result before it makes the next call.

# %%
tools = tools_named("devops")
QUESTION = "Read the log of redis, then restart it, then read the log again."
trace = run(QUESTION, tools, model, policy=Policy(ask=()))
print(len(tools), "tools:", ", ".join(tools.names()))
for call in trace.tool_calls:
    print(call.name, call.arguments.replace("\n", " "))

# %% [markdown]
# ## One count
#
# The server reports how many tokens each request had (`usage`). `tokens_in` estimates it from the text: four characters are one token.

# %%
import pandas as pd

from zoolab.tokens import tokens_in

requests = [step.record for step in trace.steps if step.kind == "request"]
replies = {step.turn: step.reply for step in trace.steps if step.kind == "tool_call"}
table = pd.DataFrame(
    [
        {
            "turn": turn,
            "messages": tokens_in(request.messages),
            "tools": tokens_in(tools=request.tools),
            "estimate": tokens_in(request.messages, request.tools),
            "reported": replies[turn].usage["prompt_tokens"],
        }
        for turn, request in enumerate(requests, 1)
    ]
).set_index("turn")
guess = predict(
    "Which part of the first request is the largest?", ["the question", "the system prompt", "the tools"]
)
guess

# %%
table

# %% jupyter={"source_hidden": true}
guess.reveal(
    "the tools",
    because="The tools are sent with every request, whether the model calls one or not.",
)

# %% [markdown]
# The picture shows all of it, step by step. Each dashed line is a request, which sends everything below the line once more.

# %%
from zoolab.plots import MessageGrowthDisplay

MessageGrowthDisplay.from_trace(trace)

# %% [markdown]
# The estimate is not exact, because each model cuts text into tokens in its own way, and because a chat template adds words. It is good enough to decide what to
# shorten. For a bill, use `reported`.
#
# ## What a conversation costs
#
# Prices are given for a million tokens. The prices here are invented, but their proportions are typical. Output costs more than input. Input that the server
# finds in its **cache** costs a tenth. A cache works only for the beginning of a request that has not changed since the last one. This beginning is called the
# **prefix**. Two more things belong to the bill:
#
# - *Writing* the cache may cost more than plain input: 1.25 times as much at [OpenAI](https://developers.openai.com/api/docs/guides/prompt-caching) (since
#   GPT-5.6; before, nothing) and at [Anthropic](https://platform.claude.com/docs/en/models/opus-5/overview) (for five minutes; for an hour it is twice as much).
#   So a prefix that is never read again costs more with a cache than without one.
# - A short request is not cached at all. OpenAI caches nothing under 1,024 tokens. At Anthropic the least number depends on the model.

# %%
from zoolab import Price

PRICE = Price(input=2.0, output=8.0, cached=0.2, cache_write=2.5)
LEAST = 1024  # tokens: a shorter request is not cached


def cost(number_of_turns, first=800, growth=100, reply=30, cache=False):
    "The cost of a conversation, in money for a thousand conversations."
    total, before = 0.0, 0
    for turn in range(number_of_turns):
        sent = first + turn * growth
        usage = {"prompt_tokens": sent, "completion_tokens": reply}
        if cache and sent >= LEAST:
            usage["prompt_tokens_details"] = {"cached_tokens": before, "cache_write_tokens": sent - before}
            before = sent
        total += PRICE.of(usage)
    return 1000 * total


guess = predict(
    "A conversation of 10 turns costs 1 without a cache. What does one of 40 turns cost?",
    ["about 4", "about 8", "about 16"],
)
guess

# %% tags=["slide"]
from zoolab_study.plots import CostDisplay

turns = range(1, 41)
plain, cached = [cost(n) for n in turns], [cost(n, cache=True) for n in turns]
CostDisplay({"without a cache": plain, "with a cache": cached}).plot()

# %% jupyter={"source_hidden": true}
ratio = cost(40) / cost(10)
guess.reveal(
    f"about {min((4, 8, 16), key=lambda n: abs(n - ratio))}",
    because=f"The ratio is {ratio:.1f}. The part that grows is sent again and again, so the cost grows faster than the length.",
)

# %% [markdown]
# The same for the recorded conversation, with the server's own counts. Without a cache you pay the full price for each request. With a cache you pay a tenth
# for the part that was sent before, and 1.25 times the price for the part that is new and gets written. (We pretend that this server caches short requests, too.)

# %%
paid = []
before = 0
for turn, reported in table["reported"].items():
    details = {"cached_tokens": before, "cache_write_tokens": reported - before}
    usage = {**replies[turn].usage, "prompt_tokens_details": details}
    paid.append(
        {
            "turn": turn,
            "without a cache": 1000 * PRICE.of({**usage, "prompt_tokens_details": None}),
            "with a cache": 1000 * PRICE.of(usage),
        }
    )
    before = reported
pd.DataFrame(paid).set_index("turn").cumsum().round(2)

# %% [markdown] tags=["slide"]
# ## What breaks a cache
#
# The cache needs an unchanged prefix. A request is read in this order: tools, system prompt, messages. (Providers document it:
# [OpenAI](https://platform.openai.com/docs/guides/prompt-caching), [Anthropic](https://docs.claude.com/en/docs/build-with-claude/prompt-caching).)

# %%
import json
from itertools import takewhile


def as_text(tools, messages):
    return json.dumps([tools, messages])


def kept(first, second):
    "The share of the second request that a cache could reuse."
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return len(list(same)) / len(second)


# %%
first, second = requests[0], requests[1]
unchanged = as_text(second.tools, second.messages)
CHANGES = {
    "nothing changed": unchanged,
    "the time in the system prompt": as_text(
        second.tools, [{"role": "system", "content": "It is 12:01."}, *second.messages]
    ),
    "another order of the tools": as_text(second.tools[::-1], second.messages),
}
earlier = {
    "nothing changed": as_text(first.tools, first.messages),
    "the time in the system prompt": as_text(
        first.tools, [{"role": "system", "content": "It is 12:00."}, *first.messages]
    ),
    "another order of the tools": as_text(first.tools, first.messages),
}

# %%
guess = predict("Which change costs most of the cache?", list(CHANGES)[1:])
guess

# %%
shares = {what: kept(earlier[what], text) for what, text in CHANGES.items()}
for what, share in shares.items():
    print(f"{what:32} {share:.0%} can be reused")

# %% jupyter={"source_hidden": true}
guess.reveal(
    min(list(CHANGES)[1:], key=lambda what: shares[what]),
    because="A cache helps only up to the first change. The earlier the change, the more is lost.",
)

# %% [markdown] tags=["slide"]
# ## Making messages[] shorter
#
# Three ways, from mild to strong:
#
# | way | what goes | what may be lost |
# | --- | --- | --- |
# | offer fewer tools | tools that do not fit the question | the one that was needed (notebook 05) |
# | clear old results | the data in old results; the call stays | a number that is needed later |
# | condense | old turns; a summary stands in their place | anything that the summary leaves out |
#
# `condense=` takes a function. It is called before each request. It gets the messages, and returns the messages to send. Here it clears all results but the
# last.


# %%
def clear_old_results(messages):
    results = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    return [
        {**message, "content": "[cleared]"} if index in results[:-1] else message
        for index, message in enumerate(messages)
    ]


# %% [markdown]
# A recorded model cannot answer requests that were never sent. So a script repeats the calls that Qwen made, and we look only at the size of the requests.

# %%
from zoolab import Scripted


def repeats():
    return Scripted([*([(call.name, json.loads(call.arguments))] for call in trace.tool_calls), "Done."])


guess = predict("How much smaller will the last request be, without its tools?", ["10 %", "40 %", "80 %"])
guess

# %%
full = run(QUESTION, tools, repeats(), policy=Policy(ask=()))
short = run(QUESTION, tools, repeats(), policy=Policy(ask=()), condense=clear_old_results)


def sizes(trace):
    return [tokens_in(step.record.messages) for step in trace.steps if step.kind == "request"]


print("full:     ", sizes(full))
print("condensed:", sizes(short))

# %% jupyter={"source_hidden": true}
saved = 1 - sizes(short)[-1] / sizes(full)[-1]
guess.reveal(
    f"{min((10, 40, 80), key=lambda n: abs(n - 100 * saved))} %",
    because=f"It is {saved:.0%}. The calls themselves stay, and so does the last result.",
)

# %% [markdown]
# The trace keeps every revision, so you can see what the model no longer saw. In the inspector, open the tab *Diff* at a `request` step.

# %%
short.inspect()

# %% [markdown]
# Two rules keep a shortened list valid:
#
# - A call and its results stay together, or go together.
# - Shorten rarely, but cut a lot each time. Every change of an old message breaks the cache behind it.
#
# zoolab checks the first rule. A function that drops only results is refused:

# %% tags=["raises-exception"]
run(
    QUESTION,
    tools,
    repeats(),
    policy=Policy(ask=()),
    condense=lambda messages: [message for message in messages if message["role"] != "tool"],
)

# %% [markdown]
# ## Code that calls tools
#
# There is another way to save context: let the model write a small program that calls the tools, and send back only what the program prints. Ten results of
# a thousand rows then never enter `messages[]`. Anthropic describes this for MCP
# ([code execution](https://www.anthropic.com/engineering/code-execution-with-mcp)). The price: you must run a program that a model wrote, in a sandbox. A tool that does the work of
# many calls has the same effect, and needs no sandbox:

# %%
from zoolab import tool


@tool
def status_of_all(services: list[str]) -> dict[str, str]:
    "Check the status of several services at once."
    return {service: tools.execute("check_status", {"service": service}) for service in services}


NAMES = ["nginx", "redis", "cron", "postgres"]
single = run(
    "Which services run?",
    tools,
    Scripted([*([("check_status", {"service": name})] for name in NAMES), "Done."]),
)
at_once = run(
    "Which services run?", [status_of_all], Scripted([[("status_of_all", {"services": NAMES})], "Done."])
)
print("one call each:", len(sizes(single)), "requests,", sum(sizes(single)), "tokens of messages in all")
print("one call:     ", len(sizes(at_once)), "requests,", sum(sizes(at_once)), "tokens of messages in all")

# %% [markdown]
# ## Your turn
#
# **1. Keep the last turns.** Write `keep_last`: it returns the first message and the last `n` calls with their results. It must not separate a call from
# its results.


# %%
def keep_last(messages, n=2):
    return messages[-n:]


# %%
from zoolab.apis.conversation import check_conversation

whole = list(full.messages)[:-1]
mine = keep_last(whole)
problems = check_conversation(mine)
if problems:
    print("not yet:", problems[0])
elif mine[:1] != whole[:1]:
    print("not yet: the question is gone")
else:
    kept_calls = sum(len(message.get("tool_calls") or ()) for message in mine)
    print("right" if kept_calls == 2 else f"not yet: {kept_calls} calls are left, not 2")

# %% [markdown]
# <details><summary>Hint</summary>
#
# Find the places of the messages with `tool_calls`. The part that you keep begins at the second last of them.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def keep_last(messages, n=2):
#     calls = [index for index, message in enumerate(messages) if message.get("tool_calls")]
#     return [messages[0], *messages[calls[-n] :]]
# ```
#
# It cuts in front of a call, so no result loses its call.
#
# </details>

# %% [markdown]
# **2. Where does the date belong?** An assistant needs today's date, and the date changes every day at midnight. The time is not needed. Write a list of messages
# that contains the date and loses as little of the cache as possible when the date changes.

# %%
LONG_RULES = {"role": "system", "content": "You help with servers. " + "Be careful. " * 200}


def opening(date, question):
    return [{"role": "system", "content": f"Today is {date}. " + LONG_RULES["content"]}, question]


# %%
asked = {"role": "user", "content": "Is redis running?"}
today, tomorrow = (as_text([], opening(date, asked)) for date in ("2026-11-23", "2026-11-24"))
share = kept(today, tomorrow)
if "2026-11-24" not in tomorrow:
    print("not yet: the date is gone")
else:
    print("right" if share > 0.9 else "not yet:", f"{share:.0%} of the request can be reused")

# %% [markdown]
# <details><summary>Hint</summary>
#
# A cache helps only up to the first change. Which part of the request changes every day?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def opening(date, question):
#     return [LONG_RULES, {**question, "content": f"{question['content']} (Today is {date}.)"}]
# ```
#
# The long rules come first and never change.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Every request contains everything: tools, prompt, calls, results.
# - Cost grows faster than length. A cache helps as long as the beginning does not change.
# - A call and its results stay together, or go together.
# - The model can no longer read what you removed. The trace still contains it.
#
# Next: [14 · Evaluation](14-evaluation.ipynb). Lab: [l2 · History](../labs/l2/l2.ipynb).
