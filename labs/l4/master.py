# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 4 · History
#
# A model remembers nothing. Every request carries the whole conversation, `messages`, and a model reads only so much:
# its **context window**, counted in **tokens** (pieces of words, about four characters each). An assistant that has
# worked for an hour has read more files than that. So every long-lived one has a function that leaves old messages out.
#
# The obvious one is `messages[-20:]`, the last twenty. It works until the cut falls between a call and its result. Then
# the request holds an answer to a question that is nowhere, and the endpoint refuses it with status 400. The same cut
# loses the system prompt, so that the assistant forgets its rules; and in a long chain of calls it loses the question, so
# that it forgets what it was asked.
#
# Read notebook 02 first. This lab takes about 40 minutes and needs no key and no network.

# %% [markdown]
# ## A conversation
#
# Two questions. The first was answered after one call; for the second, two calls were made in one reply, and the
# model has not answered yet.


# %%
def asks(*calls):
    "A reply of the model with calls, each given as (id, name, arguments)."
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
        for id, name, text in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


conversation = [
    {"role": "system", "content": "You look after three web servers. Never restart one without asking."},
    {"role": "user", "content": "Is web-01 up?"},
    asks(("call_0", "ping", '{"host": "web-01"}')),
    {"role": "tool", "tool_call_id": "call_0", "content": "64 bytes, 3 ms"},
    {"role": "assistant", "content": "Yes, it answers within 3 ms."},
    {"role": "user", "content": "And the others?"},
    asks(("call_0", "ping", '{"host": "web-02"}'), ("call_1", "ping", '{"host": "web-03"}')),
    {"role": "tool", "tool_call_id": "call_0", "content": "64 bytes, 4 ms"},
    {"role": "tool", "tool_call_id": "call_1", "content": "error: no route to host"},
]

# %% [markdown]
# Look at the ids: `call_0` is there twice. Some servers begin to count anew in each reply. A result belongs to the reply
# that it **follows**.
#
# ## The task
#
# Write `condense(messages, budget, tokens_of)`. It returns a list: those of the `messages` that are kept.
#
# - `budget` is how many tokens the kept messages may have together.
# - `tokens_of(message)` gives the tokens of one message. Models count differently, so do not estimate: ask it.
#
# A **unit** is a reply with calls together with the `tool` messages that follow it; any other message is a unit of
# its own. Units stay whole or go whole.
#
# 1. **Always kept:** every message with role `system` or `developer` (its newer name), and the last message of the user.
# 2. **Then the newest units**, going back from the end, as long as all that is kept fits the budget. At the first unit
#    that does not fit, stop: nothing older is kept, even if it is small. (What rule 1 keeps does not count as a stop.)
# 3. If what rule 1 keeps is over the budget by itself, then just that comes back.

# %% [markdown]
# - What is kept stays **as it was**: the same messages in the same order, nothing shortened, nothing added. The arguments
#   of a call above all: a model that reads a call of its own with other arguments believes that it made it.
# - A conversation that fits, also exactly, comes back whole.
# - A reply may have text **and** calls: it is a reply with calls. One whose `tool_calls` is `None` or `[]` has none.
# - The caller's list is not changed.


# %%
# BEGIN SOLUTION
# STUB: # Room for functions of your own.
def units_of(messages):
    "The messages in groups that stay or go together."
    units = []
    for message in messages:
        if message["role"] == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units


# END SOLUTION


# %%
def condense(messages, budget, tokens_of):
    "Leave out the oldest messages until the others fit the budget; calls keep their results."
    # BEGIN SOLUTION
    units = units_of(messages)
    roles = [unit[0]["role"] for unit in units]
    sizes = [sum(tokens_of(message) for message in unit) for unit in units]
    kept = {number for number, role in enumerate(roles) if role in ("system", "developer")}
    kept |= {
        number for number, role in enumerate(roles) if role == "user" and "user" not in roles[number + 1 :]
    }
    left = budget - sum(sizes[number] for number in kept)
    for number in reversed(range(len(units))):
        if number in kept:
            continue
        left -= sizes[number]
        if left < 0:
            break
        kept.add(number)
    return [message for number in sorted(kept) for message in units[number]]
    # END SOLUTION


# %% [markdown]
# ## Try it by hand
#
# A rough count, four characters a token. Watch what goes as the budget shrinks. **Predict first:** at which
# budget does the first question go? And its call?


# %%
def about(message):
    return len(str(message.get("content") or "") + str(message.get("tool_calls") or "")) // 4


print("all:", sum(map(about, conversation)), "tokens")
for budget in (116, 115, 100, 80, 60, 10):
    kept = condense(conversation, budget, about) or []
    print(f"{budget:4}", [message["role"] for message in kept], sum(map(about, kept)))

# %% [markdown]
# What you never see again is gone. Real systems often have a model write a summary of what they leave out; that costs a
# request, and the summary can be wrong. What you built is the part that has to be right either way.
#
# ## With a real model
#
# Off by default. With `LIVE = True` a small real model on this machine answers from what was kept; it needs
# `zoolab local fetch` once.

# %%
LIVE = False

if LIVE:
    from zoolab import LocalModel, Request

    kept = condense(conversation, 180, about)
    print(LocalModel()(Request(kept)).message["content"])

# %% [markdown]
# ## Check it
#
# Save the notebook, then run this. It plays the public cases with values of its own; your teacher has more of them.

# %%
from zoolab import check

check("l4")
