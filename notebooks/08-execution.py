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
# Until now, a tool call was only a text. In this step a function runs: it reads a file, restarts a service or spends money. The code of this step is short. But a
# mistake here has an effect outside of your program, and often you cannot undo it.
#
# Afterwards you can
#
# - run the calls of one reply at the same time, and say when you must not;
# - say what the model is told if a tool fails, hangs or returns too much;
# - decide which calls may run: ask a person, remember the answer, write rules, and keep a log;
# - give a tool data that the model must neither see nor choose;
# - set limits for a loop, and give a task to a **sub-agent**.
#
# About 45 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# The questions about permission are answered by Qwen2.5-Coder-1.5B-Instruct, from a recording. Some cells need calls that a model does not
# make on demand. They use `Scripted`, which is not a model: it gives replies that were written by hand.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import time
from contextlib import suppress

from zoolab import Limits, Policy, Scripted, Trace, model_for, predict, run, tool
from zoolab.errors import LoopError

qwen = model_for("qwen" if LIVE == "local" else LIVE, "course-08-qwen")
print("who answers:", qwen.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## Parallel calls
#
# A model may ask for several calls in one reply. zoolab runs them at the same time, each in a thread of its own.


# %%
@tool
def measure(host: str, seconds: float) -> str:
    "Measure the load of a host, which takes a while."
    time.sleep(seconds)
    return f"{host} took {seconds} s"


three = [("measure", {"host": f"web0{n}", "seconds": s}) for n, s in enumerate((0.6, 0.4, 0.2), 1)]
guess = predict(
    "Three calls take 0.6, 0.4 and 0.2 seconds. How long do they take together?",
    ["about 0.2 s", "about 0.6 s", "about 1.2 s"],
)
guess

# %%
started = time.perf_counter()
trace = run("Measure all three.", [measure], Scripted([three, "Done."]))
together = time.perf_counter() - started
for message in trace.messages:
    if message["role"] == "tool":
        print(message["tool_call_id"], message["content"][:48])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "about 0.6 s" if together < 0.9 else "about 1.2 s",
    because=f"Measured: {together:.2f} s. The calls run at the same time, so the slowest one decides.",
)

# %% [markdown]
# The first call finished last. But its result stands first, because results keep the order of the calls. If they kept the order in which they finish, the same run
# could give another conversation every time.
#
# The trace knows when each call began and how long it took. So it can be drawn by time.

# %%
from zoolab.plots import StepTimelineDisplay

StepTimelineDisplay.from_trace(trace, by="seconds")

# %% [markdown]
# ### When parallel is wrong
#
# The model has not seen any result yet, so no call of a reply can use the *result* of another one. But a call can depend on the *effect* of another one. Here the
# first call saves a note, and the second call reads it.

# %%
note = {"text": "old"}


@tool
def save_note(text: str) -> str:
    "Save the note."
    time.sleep(0.1)
    note["text"] = text
    return "saved"


@tool
def read_note() -> str:
    "Read the note."
    return note["text"]


# %%
def save_and_read(parallel):
    note["text"] = "old"
    calls = [("save_note", {"text": "new"}), ("read_note", {})]
    trace = run("Go.", [save_note, read_note], Scripted([calls, "Done."]), parallel=parallel)
    return [step.record.value for step in trace.steps if step.kind == "execute"][1]


guess = predict("Both calls run at the same time. What does read_note return?", ["old", "new"])
guess

# %%
print("parallel=True: ", save_and_read(True))
print("parallel=False:", save_and_read(False))

# %% jupyter={"source_hidden": true}
guess.reveal(save_and_read(True), because="read_note finished before save_note had written anything.")

# %% [markdown]
# With `parallel=False` the calls run one after the other, in the order of the reply. Use it if the tools change something that they share.
#
# ## Async tools
#
# A tool may be an `async def` function. Then `arun` waits for a whole run, and `awalk` gives its steps one by one, in an `async for`. While one run waits, another
# one can go on. This is how a server holds many conversations at once.

# %%
import asyncio

from zoolab import arun, awalk


@tool
async def fetch(page: str) -> str:
    "Fetch a page."
    await asyncio.sleep(0.3)
    return f"text of {page}"


def asks(page):
    return Scripted([[("fetch", {"page": page})], f"I have read {page}."])


async for step in awalk("Read page a.", [fetch], asks("a")):
    print(step.kind, end=" ")

# %%
guess = predict("Ten such runs start together. How long do they take?", ["about 0.3 s", "about 3 s"])
guess

# %%
started = time.perf_counter()
runs = await asyncio.gather(*(arun("Read it.", [fetch], asks(page)) for page in "abcdefghij"))
together = time.perf_counter() - started
print([each.answer for each in runs[:2]], "and", len(runs) - 2, "more")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "about 0.3 s" if together < 1.5 else "about 3 s",
    because=f"Measured: {together:.2f} s. While one run waits for its page, the others go on.",
)

# %% [markdown]
# ## Streaming
#
# A reply can be shown while it is written. It arrives in small pieces, and so do the arguments of a call. Nothing may run before the last piece is there: half of a
# call is not a call.

# %%
from zoolab.toolbox.starter import check_status, restart_service

SERVICES = [check_status, restart_service]
streaming = model_for("qwen" if LIVE == "local" else LIVE, "course-08-qwen", stream=True)
streamed = run("Restart cron.", SERVICES, streaming, policy=Policy(ask=()))
pieces = next(step.reply.pieces for step in streamed.steps if step.reply is not None)
print([piece.get("content") for piece in pieces[:12]])
print(len(pieces), "pieces make the first of these calls:", [call.name for call in streamed.tool_calls])

# %% [markdown] tags=["slide"]
# Qwen writes a call as JSON in the text of its reply, so these are pieces of that text. The recording was made without streaming, so zoolab
# cut the reply into pieces.
#
# ## Tools that fail
#
# A tool is a program, and programs fail. One failed call must not end the conversation, and it must not lose the results of the other calls. Here are five calls in
# one reply. Only the last one works.


# %%
@tool
def fails(name: str) -> str:
    "Raise an error."
    raise FileNotFoundError(f"no file {name}")


@tool
def leaves() -> str:
    "Try to end the whole program."
    raise SystemExit(3)


@tool
def floods() -> str:
    "Return far too much."
    return "x" * 200_000


# %%
written = []


@tool(timeout=0.3)
def hangs() -> str:
    "Take too long, and then write something."
    time.sleep(0.8)
    written.append("an order")
    return "at last"


# %%
calls = [("fails", {"name": "a.txt"}), ("leaves", {}), ("floods", {}), ("hangs", {})]
calls += [("measure", {"host": "web01", "seconds": 0})]
bad = run("Do it all.", [fails, leaves, floods, hangs, measure], Scripted([calls, "I see."]))
for step in bad.steps:
    if step.kind == "result":
        code, size = step.record.error_code or "ok", step.record.sent_bytes
        print(f"{step.call.name:8} {code:17} {size:>6} bytes  {step.record.content[16:80]}")

# %% [markdown]
# Each call got exactly one result, in the order of the calls. The model reads an error as data, and may try something else. The long result was cut, and a notice
# says so.
#
# ### A tool that timed out may still be running
#
# The tool `hangs` did not return before its timeout, so zoolab stopped waiting for it. It writes to a list. Look at this list a second later.

# %%
hung = next(step.record for step in bad.steps if step.kind == "execute" and step.call.name == "hangs")
print("the model was told:", hung.error.message)
print("still running when its time was over:", hung.still_running)
guess = predict("After one more second: what is in the list `written`?", ["nothing", "an order"])
guess

# %%
time.sleep(1)
print(written)

# %% jupyter={"source_hidden": true}
guess.reveal(
    written[0] if written else "nothing",
    because="Python cannot kill a thread from outside. The loop stopped waiting, but the function went on.",
)

# %% [markdown] tags=["slide"]
# So "timeout" does not mean "it did not happen". If a payment times out, do not simply pay again. First check whether the first payment was made.
#
# ## Permission
#
# Each tool has a **risk**: safe, medium or high. A **policy** decides what runs at once, what never runs, and about which calls a person is asked. If you give no
# policy, a person is asked about tools of medium and high risk.

# %%
print({each.name: each.risk for each in SERVICES})
guess = predict(
    "Qwen asks for a restart of cron. Nobody is there to be asked. What happens?",
    ["it runs", "it waits forever", "it is denied"],
)
guess

# %%
alone = Trace()
with suppress(LoopError):
    run("Restart cron.", SERVICES, qwen, trace=alone, limits=Limits(turns=3))
for message in alone.messages:
    for call in message.get("tool_calls", []):
        print("call:  ", " ".join(call["function"]["arguments"].split()))
    if message["role"] == "tool":
        print("result:", message["content"][:98])
print("ended with:", alone.outcome)

# %% jupyter={"source_hidden": true}
denied = any(error.code == "permission_denied" for error in alone.errors)
guess.reveal(
    "it is denied" if denied else "it runs",
    because="If nobody answers, the answer is no. A program that waits forever, or runs the call, would be worse.",
)

# %% [markdown]
# Qwen read that the call was denied, and asked for it again. It did not give up before the limit of three turns. So a denial must hold for every repetition, and a loop
# needs a limit.
#
# ### Decide in the inspector

# %% [markdown]
# The inspector drives a walk that has not happened yet. Press *Step* until the inspector says that the walk **waits for permission**. Read
# which tool would run, and with which arguments. Then allow the call once, or deny it, and step on. Run the cell again to try the other answer.

# %%
from zoolab import inspect, walk

inspect(walk("Restart cron.", SERVICES, qwen))

# %% [markdown]
# The same in code: a call that waits for permission is a step whose status is `pending`. Answer the step with a `Decision`, and the walk goes on.

# %%
from zoolab import Decision

refused = Trace()
steps = refused.follow(walk("Restart cron.", SERVICES, qwen))
with suppress(LoopError):
    for step in steps:
        if step.status == "pending":
            print("asked about:", step.call.name, dict(step.record.arguments), "| risk:", step.record.risk)
            steps.answer(Decision("deny", "said in the inspector"))
print("ended with:", refused.outcome)

# %% [markdown]
# ### Remembered answers
#
# There are four answers. `once` allows this call. `session` allows this call and later calls like it, as long as the `Permissions` object exists. `always` also keeps
# the permission in a file. `deny` refuses.
#
# In a program, `ask=` names the function that answers. This one answers the same every time, and counts how often it is asked.

# %%
from zoolab import Permissions


def times_asked(choice, permissions):
    "Restart cron with Qwen; return how often a person was asked, and how often the tool ran."
    asked = []

    def person(step):
        asked.append(step.record.arguments)
        return Decision(choice, "I looked at the log first")

    trace = run("Restart cron.", SERVICES, qwen, policy=permissions, ask=person)
    return len(asked), sum(step.kind == "result" and not step.record.error_code for step in trace.steps)


asked, ran = times_asked("once", Permissions())
print(f"once:    asked {asked} times, the tool ran {ran} times")

# %% [markdown]
# In this recording, Qwen gets the result of the restart and asks for the same restart again. So a person is asked again.

# %%
guess = predict("The same with the answer `session`. How often is a person asked?", [0, 1, 2, 3])
guess

# %%
asked, ran = times_asked("session", Permissions())
print(f"session: asked {asked} times, the tool ran {ran} times")

# %% jupyter={"source_hidden": true}
guess.reveal(
    asked, because="The first answer is remembered. The later restarts run, and nobody looks at them again."
)

# %% [markdown]
# This is convenient, and it is a risk. People who are asked too often say yes to everything. But a remembered yes also holds for a call that you would have refused.
#
# `always` keeps the answer in a file, `policies.json`. A second file is the **audit log**: a line for each decision, with who made it.

# %%
import json
from pathlib import Path
from tempfile import mkdtemp

folder = Path(mkdtemp()).resolve()
FILES = {"path": folder / "policies.json", "audit": folder / "audit.jsonl"}
print("today:    asked", times_asked("always", Permissions(**FILES))[0], "times")
print("tomorrow: asked", times_asked("always", Permissions(**FILES))[0], "times")
print(FILES["path"].read_text() if FILES["path"].exists() else "nobody was asked")
for line in FILES["audit"].read_text().splitlines():
    entry = json.loads(line)
    print(entry["tool"], entry["choice"], "|", entry["who"], "|", entry["reason"])

# %% [markdown]
# In the log, `person` decided once, and `rule` decided after that. Now read the rule. It does not name cron, because this tool does not say what it touches. So the
# yes holds for every service. The characters after `#` are a fingerprint of the tool's definition. If the definition changes, the rule no longer fits, and a person is
# asked again:

# %%
from dataclasses import replace

changed = replace(restart_service, description="Restart a service, or the whole machine.")
for each, service in ((restart_service, "cron"), (restart_service, "postgres"), (changed, "cron")):
    decision = Permissions(**FILES).decide(each, {"service": service})
    print(f"{decision.choice:8} {service:9} {each.description[:45]}")

# %% [markdown]
# ### Rules
#
# It is better to write down what is always fine, and what must never happen. A rule is the name of a tool. It can have a pattern in brackets, for what the call
# touches. Here that is a path: `**` stands for any text.

# %%
from zoolab_course.worlds.files import file_tools

(folder / "notes.txt").write_text("Buy milk.\n")
(folder / "secret.key").write_text("hunter2\n")
files = file_tools(folder)
rules = Policy(allow=[f"read_file({folder.as_posix()}/**)"], deny=["read_file(**.key)"])
PATHS = ["notes.txt", "secret.key", "../../etc/passwd"]
guess = predict(
    "All files of the folder are allowed. All files that end in .key are denied. How many of these three are read: "
    f"{', '.join(PATHS)}?",
    [0, 1, 2, 3],
)
guess

# %%
script = Scripted([[("read_file", {"path": path}) for path in PATHS], "Done."])
looked = run("Read everything.", files, script, policy=rules)
outcomes = [step.record.error_code or "read" for step in looked.steps if step.kind == "result"]
for path, outcome in zip(PATHS, outcomes, strict=True):
    print(f"{path:18} {outcome}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    outcomes.count("read"),
    because="If one rule allows a call and another one denies it, it is denied. The last path lies outside of the folder, and no rule allows it.",
)

# %% [markdown] tags=["slide"]
# There are two defences here: the policy, and the tool itself, which never leaves its folder. Use both. A rule looks at the path that the call really reaches.
# Otherwise `notes/../secret.key` would get past it.
#
# ## What the model must not choose
#
# A tool that shows orders must know whose orders. If the customer were a parameter, the model could write any name into it. So the program passes the name
# as **context**. A parameter of the type `Context` receives it. This parameter is not part of the schema.

# %%
from zoolab import Context

ORDERS = {"ada": ["a mug"], "grace": ["a lamp", "a chair"]}


@tool
def my_orders(limit: int, context: Context) -> list[str]:
    "List the orders of the customer who is logged in."
    return ORDERS[context.data["user"]][:limit]


guess = predict("Which parameters does the model see?", ["limit", "limit and context", "limit and user"])
guess

# %%
print(json.dumps(my_orders.parameters["properties"]))
trick = Scripted([[("my_orders", {"limit": 9}), ("my_orders", {"limit": 9, "user": "grace"})], "Done."])
mine = run("Show me the orders of Grace.", [my_orders], trick, context={"user": "ada"})
for step in mine.steps:
    if step.kind == "result":
        print(step.call.arguments, "->", step.record.content[:100])

# %% jupyter={"source_hidden": true}
guess.reveal(
    " and ".join(my_orders.parameters["properties"]),
    because="The program passes the context. A user that the model writes into its call does not pass validation.",
)

# %% [markdown] tags=["slide"]
# ## Limits
#
# Some models do not stop. You saw Qwen ask for the same restart again and again. The loop has to stop it.

# %%
for limits in (Limits(turns=2), Limits(repeats=2)):
    try:
        run("Restart cron.", SERVICES, qwen, policy=Policy(ask=()), limits=limits)
    except LoopError as error:
        print(f"{len(error.trace.tool_calls)} calls, then {error.code}: {error.what}")

# %% [markdown]
# `turns` counts requests to the model. `repeats` counts the same call with the same result. There are also limits for time, tokens, money and retries. The trace
# survives: `error.trace` contains everything that happened before the end.
#
# ## A sub-agent
#
# A whole loop can be a tool of another loop. The outer model sees a name, a task and an answer. What happens inside does not get into its `messages`, so they stay
# short.

# %%
from zoolab import as_tool


def helper():
    inner = Scripted([[("restart_service", {"service": "nginx"})], "I tried to restart nginx."])
    return as_tool("investigate", "Find out what is wrong with a service.", SERVICES, inner)


outer = Scripted([[("investigate", {"task": "Look at nginx."})], "Done."])
guess = predict(
    "The outer run allows everything. The sub-agent asks for a restart. Does the restart run?", ["yes", "no"]
)
guess

# %%
delegated = run("Why is the shop slow?", [helper()], outer, policy=Policy(ask=()))
print("the outer model saw:", delegated.messages[2]["content"][:60])
within = next(step.record.trace for step in delegated.steps if step.kind == "execute")
print("inside:", [(call.name, call.arguments) for call in within.tool_calls])
print("errors inside:", [error.code for error in within.errors])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "no" if within.errors else "yes",
    because="A sub-agent has a policy of its own. What the outer run allows does not hold inside. Limits do hold inside.",
)

# %% [markdown]
# Note what the outer model read: "I tried to restart nginx". It cannot see that the restart was denied. You can, because the trace of the sub-agent is kept inside
# the outer one.
#
# ## Your turn
#
# **1. Repair the tool.** Three deposits of 10 run at the same time, and the balance is wrong. Change `deposit` so that the balance is right, also with
# `parallel=True`.

# %%
account = {"balance": 0}


@tool
def deposit(amount: int) -> int:
    "Add to the account."
    before = account["balance"]
    time.sleep(0.02)
    account["balance"] = before + amount
    return account["balance"]


# %%
account["balance"] = 0
script = Scripted([[("deposit", {"amount": 10})] * 3, "Done."])
run("Three deposits.", [deposit], script, parallel=True)
right = account["balance"] == 30
print("right" if right else "not yet:", "the balance is", account["balance"], "after three deposits of 10")

# %% [markdown]
# <details><summary>Hint</summary>
#
# All three calls read the balance before any of them wrote it. A `threading.Lock` lets one call in at a time.
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
# Reading and writing now belong together: no other call can come in between. A shorter sleep would only make the mistake rare, and a rare mistake is harder to find.
#
# </details>

# %% [markdown]
# **2. Write a guard.** `decide` is asked about every call that needs permission. Allow restarts of `nginx` and `redis`. Deny all others. Never allow more than two
# restarts in one run.


# %%
def make_guard():
    def decide(step):
        return Decision("once")

    return decide


# %%
def guarded(*services):
    wishes = Scripted([[("restart_service", {"service": name})] for name in services] + ["Done."])
    limits = Limits(turns=len(services) + 1)
    trace = run("Restart things.", [restart_service], wishes, ask=make_guard(), limits=limits)
    return [step.record.error_code or "ran" for step in trace.steps if step.kind == "result"]


NO = "permission_denied"
CASES = [
    (["nginx", "cron", "redis"], ["ran", NO, "ran"]),
    (["nginx", "redis", "nginx"], ["ran", "ran", NO]),
    (["cron", "docker", "nginx"], [NO, NO, "ran"]),
]
for services, wanted in CASES:
    outcomes = guarded(*services)
    what = [f"{service}: {outcome}" for service, outcome in zip(services, outcomes, strict=True)]
    print("right  " if outcomes == wanted else "not yet", "|", ", ".join(what))

# %% [markdown]
# <details><summary>Hint</summary>
#
# `step.record.arguments["service"]` is the service of the call. Count the restarts that you allowed in a list inside `make_guard`.
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
#             return Decision("deny", f"{service} is not restarted by a model")
#         if len(allowed) == 2:
#             return Decision("deny", "two restarts are enough")
#         allowed.append(service)
#         return Decision("once")
#
#     return decide
# ```
#
# The guard counts what it allowed, not what it was asked: denied calls cost nothing. It lists what is allowed, so that a service that you forgot is denied.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Every call gets one result, in the order of the calls. A failed tool is data for the model.
# - Parallel calls do not see each other's results. But they can depend on each other's effects.
# - If nobody answers, the answer is no. A remembered yes also holds for the next call.
# - A tool that timed out may still be running.
# - What the model must not choose does not belong in the schema.
#
# Next: [09 · Traces](09-traces.ipynb). Lab: [l1 · The loop](../labs/l1/l1.ipynb).
