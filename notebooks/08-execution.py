# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · Execution
#
# Until now, tool calls were words. This is the step that touches the world: files are read, services restarted, money is spent. It is the shortest
# step in code and the longest in consequences.
#
# Afterwards you can
#
# - run the calls of one reply side by side, and say why their results keep their order;
# - say what happens to a tool that fails, hangs, prints or returns far too much;
# - let people decide what may run, and write rules that decide for them;
# - bound a loop, so that it ends whatever the model wants;
# - give a task to a **sub-agent**, and watch a reply as it is **streamed**, piece by piece.
#
# About 45 minutes, offline. Words: a *call* is what the model asked for, a *result* the message that answers it
# ([01](01-one-loop.ipynb)); `Scripted` is a model that says what a script tells it, so that we can ask for anything.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import time

from zoolab import Scripted, model_for, predict, run, tool, walk

model = model_for(LIVE, "course-07")
print("who answers, where a real model does:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## Side by side
#
# A model may ask for several calls in one reply. It has seen no result yet, so no call can use the *result* of another one. But a call can depend on what another
# one *does*: one call writes a file, and the next one reads it. Calls that only look at something may run at the same time.


# %%
@tool
def measure(host: str, seconds: float) -> str:
    "Measure the load of a host, which takes a while."
    time.sleep(seconds)
    return f"{host} took {seconds} s"


three = [("measure", {"host": f"web0{n}", "seconds": s}) for n, s in enumerate((0.6, 0.4, 0.2), 1)]
guess = predict(
    "Three calls take 0.6, 0.4 and 0.2 seconds. How long do they take together?",
    ["about 1.2 s", "about 0.6 s"],
)
guess

# %%
started = time.perf_counter()
trace = run("Measure all three.", [measure], Scripted([three, "Done."]))
together = time.perf_counter() - started
for message in trace.messages:
    if message["role"] == "tool":
        print(message["tool_call_id"], message["content"][:60])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "about 0.6 s" if together < 1.1 else "about 1.2 s",
    because=f"Measured: {together:.2f} s.",
)

# %% [markdown]
# The slowest finished last, and yet its result stands first: results keep the order of the calls, not of their ends. Otherwise the same run would
# give another conversation every time. With `parallel=False` they run one after the other, for tools that share something.

# %% [markdown]
# ## Tools that misbehave
#
# A tool is a program, and programs fail. What must not happen: that the conversation breaks, or that the neighbours of a failed call are
# lost. Five bad tools in one reply:


# %%
@tool
def fails(name: str) -> str:
    "Raise an error."
    raise FileNotFoundError(f"no file {name}")


@tool(timeout=0.3)
def hangs() -> str:
    "Never come back."
    time.sleep(30)
    return "at last"


@tool
def leaves() -> str:
    "Try to end the whole program."
    raise SystemExit(3)


@tool
def floods() -> str:
    "Return far too much."
    return "x" * 200_000


# %%
asked = [
    ("fails", {"name": "a.txt"}),
    ("hangs", {}),
    ("leaves", {}),
    ("floods", {}),
    ("measure", {"host": "web01", "seconds": 0}),
]
bad = run("Do your worst.", [fails, hangs, leaves, floods, measure], Scripted([asked, "I see."]))
for step in bad.steps:
    if step.kind == "result":
        print(
            f"{step.call.name:8} {step.record.error_code or 'ok':16} {step.record.sent_bytes:>6} bytes  {step.record.content[17:75]}"
        )

# %% [markdown]
# Each got exactly one result, in order. The model sees an error as data and may try something else. The long result was cut, with a notice
# inside. And the one that hangs? It was given up, which is not the same as stopped:

# %%
hung = next(step.record for step in bad.steps if step.kind == "execute" and step.call.name == "hangs")
print(hung.error.message, "| still running:", hung.still_running)

# %% [markdown]
# A thread cannot be killed from outside. A tool that writes to a database may still write after you gave up. The record
# says so; few systems do.

# %% [markdown]
# ## May it run?
#
# Each tool has a **risk**: safe, medium or high. A **policy** decides what runs at once, what never does, and what a person is asked about. By
# default people are asked about medium and high.

# %%
from zoolab import Policy
from zoolab.toolbox.starter import check_status, restart_service

print({each.name: each.risk for each in (check_status, restart_service)})
guess = predict(
    "The model asks to restart nginx, and nobody is there to be asked. What happens?",
    ["it runs", "it waits", "it is denied"],
)
guess

# %%
alone = run("Restart nginx.", [check_status, restart_service], model)
results = [message["content"] for message in alone.messages if message["role"] == "tool"]
print([(call.name, call.arguments) for call in alone.tool_calls])
print(results[0][:170])
denied = bool(alone.errors) and alone.errors[0].code == "permission_denied"

# %% jupyter={"source_hidden": true}
guess.reveal(
    "it is denied" if denied else "it runs",
    because="When nobody answers, the answer is no.",
)

# %% [markdown]
# A pending decision is a step that waits. Answer it, and the walk goes on. `once` allows this call, `session` the like of it from now on, `deny`
# refuses.

# %%
from zoolab import Decision, Trace

asked_me = Trace()
steps = asked_me.follow(walk("Restart nginx.", [check_status, restart_service], model))
for step in steps:
    if step.status == "pending":
        print("asked about:", step.call.name, step.record.arguments, "| risk:", step.record.risk)
        steps.answer(Decision("once", "I looked at the queue first"))
print(asked_me.answer)

# %% [markdown]
# People who are asked too often say yes to everything. Better write down what is always fine and what never is. A rule is a
# tool's name, perhaps with a pattern of what it touches.

# %%
from pathlib import Path
from tempfile import mkdtemp

from zoolab.toolbox.files import file_tools

folder = Path(mkdtemp()).resolve()
(folder / "notes.txt").write_text("Buy milk.\n")
(folder / "secret.key").write_text("hunter2\n")
files = file_tools(folder)
rules = Policy(allow=[f"read_file({folder.as_posix()}/**)"], deny=["read_file(**.key)"])
guess = predict(
    "All of the folder is allowed, all that ends in .key is denied. How many of these run: "
    "notes.txt, secret.key, ../../etc/passwd?",
    [0, 1, 2, 3],
)
guess

# %%
reads = [
    ("read_file", {"path": "notes.txt"}),
    ("read_file", {"path": "secret.key"}),
    ("read_file", {"path": "../../etc/passwd"}),
]
looked = run("Read everything.", files, Scripted([reads, "Done."]), policy=rules)
for step in looked.steps:
    if step.kind == "result":
        print(f"{step.call.arguments:32} {step.record.error_code or 'ok':18}")
ran = sum(step.kind == "result" and not step.record.error_code for step in looked.steps)

# %% jupyter={"source_hidden": true}
guess.reveal(
    ran,
    because="Where one rule allows and another denies, the one that denies wins.",
)

# %% [markdown]
# Two walls stand here: the policy, and the tool itself, which never leaves its folder. Rely on both. A rule looks at the path as it *resolves*,
# not at its spelling, or `notes/../secret.key` would walk past it.

# %% [markdown]
# ## Limits
#
# Some models never stop. The loop has to.

# %%
from zoolab import Limits
from zoolab.errors import LoopError

forever = Scripted(lambda _request: [("check_status", {"service": "nginx"})])
for limits in (Limits(turns=4), Limits(repeats=3)):
    try:
        run("Is it up?", [check_status], forever, limits=limits)
    except LoopError as error:
        print(f"{len(error.trace.tool_calls)} calls, then {error.code}: {error.what}")

# %% [markdown]
# The trace is kept: `error.trace` holds all that happened before the end. Lost evidence is the other half of most incidents.

# %% [markdown]
# ## A sub-agent
#
# A whole loop can be a tool of another loop. The outer model sees a name, a task and an answer; what happened within stays out of its
# `messages`, which keeps them short. It is kept in the trace.

# %%
from zoolab import as_tool

inner = Scripted([[("check_status", {"service": "nginx"})], "nginx is fine."])
inspector_agent = as_tool("investigate", "Find out what is wrong with a service.", [check_status], inner)
outer = run(
    "Why is the shop slow?",
    [inspector_agent],
    Scripted([[("investigate", {"task": "Look at nginx."})], "It is not nginx."]),
)
print("the outer model saw:", outer.messages[2]["content"][:45])
within = next(step.record.trace for step in outer.steps if step.kind == "execute")
print("within, there were:", [step.kind for step in within.steps])

# %% [markdown]
# ## Streaming
#
# A long reply can be shown as it is written. It comes in **deltas**, small pieces, and the arguments of a call come in pieces, too.

# %%
streamed = model_for(LIVE, "course-07", stream=True)
seen = run("Is nginx running?", [check_status], streamed)
pieces = next(step.reply.pieces for step in seen.steps if step.kind == "tool_call")
for piece in pieces[:8]:
    print(piece)
print(f"... {len(pieces)} pieces make one call:", seen.tool_calls[0].arguments)

# %% [markdown]
# Half a call is no call. However tempting it is to begin early: nothing runs before the last piece is there and the whole is valid. (Where a recording was made
# without streaming, as here, zoolab cuts the pieces; the text is the model's.)

# %% [markdown]
# ## Your turn
#
# **1.** Why is this total wrong? Run it, then run it with `parallel=False`. What would you change in the tool?

# %%
account = {"balance": 0}


@tool
def deposit(amount: int) -> int:
    "Add to the account."
    before = account["balance"]
    time.sleep(0.02)
    account["balance"] = before + amount
    return account["balance"]


run("Three deposits.", [deposit], Scripted([[("deposit", {"amount": 10})] * 3, "Done."]), parallel=True)
print("balance:", account["balance"], "after three deposits of 10")

# %% [markdown]
# <details><summary>Hint</summary>
#
# All three read the balance before any wrote it. A lock (`threading.Lock`), or a tool that is told to run alone.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# from threading import Lock
#
# lock = Lock()
#
#
# @tool
# def deposit(amount: int) -> int:
#     "Add to the account."
#     with lock:
#         before = account["balance"]
#         time.sleep(0.02)
#         account["balance"] = before + amount
#         return account["balance"]
# ```
#
# </details>

# %% [markdown]
# **2. Write a guard.** `decide` is asked about every call that needs permission. Allow restarts of `nginx` and `redis`, deny all
# others, and never allow more than two restarts in one run. The cell shows what your guard did.


# %%
def make_guard():
    def decide(step):
        return Decision("once")

    return decide


services = ["nginx", "critical-db", "redis", "nginx"]
wishes = Scripted([[("restart_service", {"service": name})] for name in services] + ["Done."])
guarded = run("Restart things.", [restart_service], wishes, ask=make_guard())
for step in guarded.steps:
    if step.kind == "result":
        print(step.call.arguments, "->", step.record.error_code or "ran")

# %% [markdown]
# <details><summary>Hint</summary>
#
# `step.record.arguments["service"]` is what would run. Count inside `make_guard`, with a list that `decide` appends to.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def make_guard():
#     allowed = []
#
#     def decide(step):
#         service = step.record.arguments["service"]
#         if service not in ("nginx", "redis"):
#             return Decision("deny", f"{service} is not to be restarted by a model")
#         if len(allowed) == 2:
#             return Decision("deny", "two restarts are enough")
#         allowed.append(service)
#         return Decision("once")
#
#     return decide
# ```
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Every call gets one result, in order, whatever happens to it.
# - A failed tool is data for the model, not the end of the loop.
# - No answer means no. Write rules for what is always fine and what never is.
# - Limits end a loop; the trace survives it.
# - Given up is not stopped.
#
# Next: [09 · Traces](09-traces.ipynb). Lab: [l3 · The loop](../labs/l3/l3.ipynb).
