# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 1 · The loop
#
# A language model cannot run anything. It writes down which functions it wants to call. Your program runs them, tells
# the model the results, and asks again, until the model answers. This is **the loop**. Every assistant that reads
# files, books flights or restarts servers has one. Its core is not longer than what you write now.
#
# It is also the place where assistants break. Here are two faults of released systems. In one, a tool failed, and the
# results of all other tools were lost. In the other, arguments that could not be read became `{}`, so the tool ran
# with its defaults.
#
# Read notebook 01 first. This lab takes about 45 minutes and needs no key and no network.
#
# Your function is the beginning of a larger one. `zoolab.mini` is the same loop in a file of 300 lines: it also checks
# arguments against the schema, replaces ids that repeat, and stops a model that keeps making mistakes. When you have
# finished, read it and find your own lines in it: `import inspect, zoolab.mini; print(inspect.getsource(zoolab.mini))`.

# %% [markdown]
# ## What you get
#
# `run_loop(messages, tools, model, limit)` gets four things:
#
# | argument | what it is |
# | --- | --- |
# | `messages` | the conversation so far: a list of dicts with `role` and `content` |
# | `tools` | a dict: name of the tool -> `{"schema": ..., "run": ...}`, a critical one with `"confirm": ...` too |
# | `model` | a function: `model(messages, schemas)` returns the next message of the model, a dict |
# | `limit` | how often the model may be asked, at most |
#
# The model reads `schema`. `run` is the function itself; you call it as `run(**arguments)`. A tool that deletes or
# pays is **critical**, and it has `confirm`. This function takes the same arguments, asks a person, and returns
# `True` for yes. Here is a tool:


# %%
def disk_usage(host):
    "How full the disk of a host is, in percent."
    if host != "web-01":
        raise ValueError(f"no such host: {host}")
    return {"host": host, "used": 71}


parameters = {"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}
function = {"name": "disk_usage", "description": disk_usage.__doc__, "parameters": parameters}
tools = {"disk_usage": {"schema": {"type": "function", "function": function}, "run": disk_usage}}

# %% [markdown]
# A reply of the model is either an answer, or it has `tool_calls`. Note that `arguments` is **text**. The model wrote
# it, it should be JSON, and nobody has checked it yet. The `id` is the model's name for the call.

# %%
answer = {"role": "assistant", "content": "The disk of web-01 is 71 % full."}


def wants(*calls):
    "A reply that asks for calls, each given as (id, name, arguments)."
    asked = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
        for id, name, text in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


wants(("call_7", "disk_usage", '{"host": "web-01"}'))

# %% [markdown]
# ## The task
#
# Write `run_loop`. It asks the model, runs what the model asks for, and returns **all messages**, as a list.
#
# - **Ask** with all messages so far and with the list of the schemas of all tools, every time.
# - **Answer.** A reply without calls is the answer (`tool_calls` is missing, `None` or `[]`): append it and return.
# - **Keep the reply.** A reply with calls is appended as it came, before the results: its text, its `arguments` letter by
#   letter, and keys that you do not know.
# - **Run every call**, once, with its own arguments, and append one result for each, in the order of the calls:
#   `{"role": "tool", "tool_call_id": <the call's id>, "content": <text>}`. You may run them side by side.
# - **Content is text**: a string as it is, and any other value as JSON. Do not cut or strip anything, even if it is
#   long. If a string happens to be JSON, leave it as it is.
# - **Errors are results.** If a tool raises, its content has the word `error` and the exception's message. If no tool
#   has exactly this name, it has the word `error` and the name. If the arguments are not one JSON object, it has the
#   word `error`, and nothing runs. For a call with both mistakes, either error is right. The other calls of the reply
#   run all the same, and the conversation goes on.
# - **One JSON object** is what `json.loads` reads as a dict, and nothing else. `{}` is one: a tool without arguments
#   runs. Duplicate keys are fine here. `NaN` and deeply nested text are not tested. An argument may be called `name`.
#   Blank text is not an object: lab 5 reads it as `{}`, but here it is an
#   error. An object with other text around it is an error, too.
# - **Critical calls are confirmed.** If the tool has `confirm`, each call runs only if `confirm(**arguments)` has
#   just returned `True` for it, also if the same call was confirmed before. Anything else, also an exception, means
#   no: nothing runs, and the content has the word `error`. Ask once for each call.

# %% [markdown]
# - **Ids repeat.** Some servers give every call the same id. These are still separate calls.
# - **The limit** is 1 or more. After `limit` requests the model is not asked again, even if it wants more. Its last
#   calls get their results: run them by these rules, or answer that the limit was reached. Then return the messages.
#   Add no message of your own. There is no other limit: the model may ask for the same call again and again.
# - **The caller's list** is not changed.
#
# Lab 5 is about arguments that do not fit the schema. Here you need not check them: a tool that gets such arguments
# raises, and that is an error like any other.

# %%
import json


# %%
def run_loop(messages, tools, model, limit=8):
    "Ask the model and run its calls until it answers; returns all messages."
    # BEGIN SOLUTION
    messages = list(messages)
    schemas = [tool["schema"] for tool in tools.values()]
    for _ in range(limit):
        reply = model(messages, schemas)
        messages.append(reply)
        calls = reply.get("tool_calls") or []
        if not calls:
            break
        for call in calls:
            content = result_of(call["function"], tools)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return messages
    # END SOLUTION


# %% [markdown]
# If your function gets longer than ten lines, write a second function that handles one call.


# %%
# BEGIN SOLUTION
def result_of(function, tools):
    "Run one call; whatever goes wrong becomes text."
    name = function["name"]
    if name not in tools:
        return f"ERROR: there is no tool {name!r}"
    try:
        arguments = json.loads(function["arguments"])
        if not isinstance(arguments, dict):
            raise ValueError("the arguments are not one JSON object")
        confirm = tools[name].get("confirm")
        if confirm is not None and confirm(**arguments) is not True:
            return "ERROR: nobody confirmed this call, so it did not run"
        value = tools[name]["run"](**arguments)
    except Exception as error:
        return f"ERROR: {error}"
    return value if isinstance(value, str) else json.dumps(value)


# END SOLUTION

# %% [markdown]
# ## Try it by hand
#
# No model answers here. `scripted` returns replies that were written by hand, one after the other. Loops are tested
# in this way, because a script says the same every time.


# %%
def scripted(*replies):
    "Stands in for a model: gives these replies in turn."
    left = iter(replies)

    def model(messages, schemas):
        return next(left)

    return model


question = [{"role": "user", "content": "How full is the disk of web-01?"}]
calls = wants(("call_7", "disk_usage", '{"host": "web-01"}'), ("call_8", "disk_usage", '{"host": "web-1"}'))

for message in run_loop(question, tools, scripted(calls, answer), 8) or ["nothing came back"]:
    print(message)

# %% [markdown]
# **Predict first:** what should you see if the model asks for `disk_usge`? For `{"host": "web-01"`, cut off in the middle?
# What if it asks for a call again and again? If `tools["disk_usage"]["confirm"]` is `lambda host: False`? Change the
# script above and look.

# %% [markdown]
# ## With a real model
#
# Off by default. With `LIVE = True` two small real models on this machine answer in place of the script; they need
# `zoolab local fetch` once. Expect odd choices: they are very small.

# %%
LIVE = False

if LIVE:
    from zoolab import LocalModel, Request

    local = LocalModel()

    def ask(messages, schemas):
        return local(Request(messages, tuple(schemas))).message

    print(run_loop(question, tools, ask, 4))

# %% [markdown]
# ## Check it
#
# Save the notebook, then run this cell. It runs the public cases with its own values. Your teacher has more cases.

# %%
from zoolab import check

check("l1")
