# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 2 · History
#
# A model remembers nothing. Every request contains the whole conversation, `messages`. And a model can read only a
# limited number of **tokens** (pieces of words, about four characters each). This limit is its **context window**.
# After an hour of work, a conversation is longer than that. So an assistant needs a function that leaves old messages
# out.
#
# The simplest one is `messages[-20:]`, the last twenty messages. It works until the cut is between a call and its
# result. Then the request contains a result without its call, and the endpoint rejects it with status 400. The same
# cut loses the system prompt, so the assistant forgets its rules. And in a long chain of calls it loses the question.
#
# Read notebook 02 first. This lab takes about 40 minutes and needs no key and no network.

# %% [markdown]
# ## A conversation
#
# This conversation has two questions. The first was answered after one call. For the second, the model made two calls
# in one reply, and it has not answered yet.


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
# Look at the ids: `call_0` is there twice, because some servers count from 0 in each reply. A result belongs to the
# reply that it **follows**.
#
# ## The task
#
# Write `condense(messages, budget, tokens_of)`. It returns the list of the `messages` that are kept.
#
# - `budget` is how many tokens the kept messages may have together.
# - `tokens_of(message)` returns the number of tokens of one message. Models count differently, so do not estimate.
#   Call it.
#
# A **unit** is a reply with calls together with the `tool` messages that follow it; any other message is a separate
# unit. A unit is kept as a whole, or left out as a whole.
#
# In every conversation here the user says something, and it has at most 500 messages. A `tool` message comes right
# after a reply with calls or after another of its results, and each call has at most one result. Use only Python's
# standard library.
#
# 1. **Always kept:** every message with role `system` or `developer` (its newer name), and the last message of the user.
# 2. **Then the newest units**, going back from the end, as long as all that is kept fits the budget. At the first unit
#    that does not fit, stop: nothing older is kept, even if it is small. (What rule 1 keeps does not count as a stop.)
# 3. If the messages of rule 1 alone are over the budget, return just these.

# %% [markdown]
# - The kept messages stay **as they were**: the same messages in the same order, nothing shortened, nothing added.
#   This is most important for the arguments of a call. If you change them, the model believes that it made the
#   changed call.
# - If the whole conversation fits the budget, even exactly, return all of it.
# - A reply may have text **and** calls: it is a reply with calls. One whose `tool_calls` is `None` or `[]` has none.
#   Its `content` may be missing.
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
# This is a rough count: four characters are one token. Watch which messages go when the budget gets smaller.
# **Predict first:** at which budget does the first question go? And its call?


# %%
def about(message):
    return len(str(message.get("content") or "") + str(message.get("tool_calls") or "")) // 4


print("all:", sum(map(about, conversation)), "tokens")
for budget in (116, 115, 100, 80, 60, 10):
    kept = condense(conversation, budget, about) or []
    print(f"{budget:4}", [message["role"] for message in kept], sum(map(about, kept)))

# %% [markdown]
# The model can no longer use what you leave out. In many real systems a model writes a summary of it. That costs a
# request, and the summary can be wrong. Even then, the cut that you built must be right.
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
# Save the notebook, then run this cell. It runs the public cases with its own values. Your teacher has more cases.

# %%
from zoolab import check

check("l2")
