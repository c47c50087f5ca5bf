# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 · Repair
#
# A model wrote `{'city': 'Oslo',}`. This is Python and not JSON, so the call may not run. Everybody can see what was meant. May your program run the call as it
# was meant?
#
# Sometimes. A **repair** turns arguments that may not run into arguments that may. A good repair saves a request. A bad one deletes the wrong folder, and your log says that
# the model asked for it.
#
# Afterwards you can
#
# - send an error back to the model, and limit how often;
# - repair by rules, and say when a program must refuse;
# - tell a repair that changes the writing from a repair that changes the meaning;
# - draw the repair curve: what bolder repair wins, and what it costs;
# - measure how well a model repairs, and let a guard decide.
#
# About 45 minutes. It runs offline. Words from before: *arguments* are the text that a model writes for a call, a *schema* says what they may be, and *validation*
# checks them ([06](06-validation.ipynb)).

# %% [markdown] tags=["slide"]
# ## Three ways out
#
# | the arguments may not run, so | it costs | the risk |
# | --- | --- | --- |
# | send the error back | another request, longer than the last one | the model writes the same again |
# | repair the text by rules or by a model | nothing, or a request | **something else is done than was meant** |
# | give up | nothing | the task is not done |
#
# Qwen2.5-Coder-1.5B-Instruct answers wherever a model is asked here.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Limits, Request, Scripted, Tool, ToolRegistry, check_call, model_for, predict
from zoolab import read_calls, run, tool

LIVE = "qwen" if LIVE == "local" else LIVE
SETS = ("qwen-corrections", "qwen-corrections-system", "qwen-course-07")
prepared = {name: model_for(None, name).recording.requests for name in SETS}
model = model_for(LIVE, "qwen-corrections")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# ## The first way: send the error back
#
# Fourteen conversations were prepared. In each one a person asks something, and then comes a call that fails. These calls were written by hand, so that each error that a model is told occurs at least
# once. The error message is zoolab's own. Then it is Qwen's turn. Here is one of the requests:

# %%


def failed_validation(body):
    "Whether the call never ran. Then the message begins with the name of the tool."
    failed, error = body["messages"][-2:]
    name = failed["tool_calls"][0]["function"]["name"]
    return json.loads(error["content"])["error_message"].startswith(f"{name}: ")


def first_errors(name, messages):
    "The requests after the first error. The calls that failed validation come first."
    bodies = [body for body in prepared[name] if len(body["messages"]) == messages]
    return sorted(bodies, key=failed_validation, reverse=True)


firsts = first_errors("qwen-corrections", 3)
for message in firsts[3]["messages"]:
    print(message["role"], "|", message["content"] or message["tool_calls"][0]["function"])

# %% [markdown]
# What does Qwen do next? Five reactions are possible: the same call again, another invalid call, a valid call, words, or nothing.
#
# The arguments of two calls are not JSON. zoolab sends such arguments back as `{"_raw": "the text"}`, because many servers accept only JSON there.


# %%
def reaction(body, model):
    "What a model does after an error, and the text that it writes."
    tools = ToolRegistry([Tool(**each["function"]) for each in body["tools"]])
    failed = body["messages"][-2]["tool_calls"][0]["function"]
    reply = model(Request(body["messages"], tuple(body["tools"])))
    calls = read_calls(reply.message, text=True)
    if not calls:
        return "words" if reply.text.strip() else "nothing", reply.text
    call = calls[0]
    wrote, before = ("".join(each.split()) for each in (call.arguments, failed["arguments"]))
    if (call.name, wrote) == (failed["name"], before):
        return "the same call again", reply.text
    return ("a valid call" if check_call(call, tools).ok else "another invalid call"), reply.text


# %%
guess = predict(
    "Seven of the fourteen calls failed validation. After how many of these does Qwen write a valid call?",
    range(8),
)
guess

# %%
import pandas as pd


def reactions(bodies, model):
    found = []
    for body in bodies:
        failed, error = body["messages"][-2:]
        call, told = failed["tool_calls"][0]["function"], json.loads(error["content"])
        came, text = reaction(body, model)
        found.append(
            {"failed call": f"{call['name']}({call['arguments']})", "told": told["error_type"]}
            | {"message": told["error_message"].removeprefix(f"{call['name']}: "), "then": came, "text": text}
        )
    return pd.DataFrame(found)


plain = reactions(firsts, model)
left = {"text-align": "left", "white-space": "pre-wrap", "overflow-wrap": "anywhere"}
plain[["failed call", "message", "then"]].style.hide(axis="index").set_properties(**left)

# %% jupyter={"source_hidden": true}
seven = plain.head(7)
guess.reveal(
    int((seven["then"] == "a valid call").sum()),
    because="The first seven rows failed validation. Most of the time Qwen wrote the same call again.",
)

# %% [markdown]
# Now the same fourteen conversations with a system prompt: "Use the tools where they help. When you have the results that you need, answer in one short sentence, without a
# call."

# %%
bodies = first_errors("qwen-corrections-system", 4)
told = reactions(bodies, model_for(LIVE, "qwen-corrections-system"))
display(
    pd.DataFrame({"without": plain["then"].value_counts(), "with": told["then"].value_counts()})
    .fillna(0)
    .astype(int)
)
for text in told["text"].iloc[[0, 3, 4, 7]]:
    print("-", text)
print("\nAfter the error about Oslo, without the system prompt:", " ".join(plain["text"].iloc[5].split()))

# %% [markdown]
# Two sentences change what Qwen does after an error. Without them it mostly calls again. With them it always answers in words, and mostly says what went wrong. This is better than the same call again, because a person can act on it.
# But in neither case does Qwen mend many calls. And look at the last line: Qwen mended the JSON, but it copied `_raw` too. So the call is still invalid.
#
# This is not a law. It is one model, one form of the error message, and calls that this model did not write itself. Put your own model behind `LIVE = "endpoint"` and
# count again.

# %% [markdown] tags=["slide"]
# ## The retry budget
#
# If a model writes the same call again and again, the loop could go on forever. So a loop needs a **retry budget**: `Limits(retries=2)` is the default. The first call below was
# written by hand, and the others are Qwen's.

# %%
from zoolab.errors import ToolRetriesExhausted
from zoolab.toolbox.catalog import tools_named

WRONG = ("multiply", '{"a": "twelve", "b": 12}')


def after(first, model):
    "A model whose first reply was written by hand."
    by_hand = Scripted([[first]])
    return lambda request: by_hand(request) if len(request.messages) == 1 else model(request)


def multiply_with(retries):
    "The trace of a walk whose first call fails, and the error that ended it."
    opening, kit = after(WRONG, model), tools_named("add", "multiply")
    try:
        return run("Multiply 12 by 12.", kit, opening, calls="auto", limits=Limits(retries=retries)), None
    except ToolRetriesExhausted as error:
        return error.trace, error


# %%
guess = predict("With retries=2, how many requests are sent before the walk ends?", [1, 2, 3, 4, 5])
guess

# %%
for retries in (0, 1, 2):
    trace, error = multiply_with(retries)
    requests = sum(step.kind == "request" for step in trace.steps)
    print(
        f"retries={retries}: {requests} requests;",
        error and f"{error.code}, number {error.number}: {error.what}",
    )

# %% jupyter={"source_hidden": true}
guess.reveal(
    requests,
    because="The first try is not a retry. Two retries follow it, and the third failure ends the walk.",
)

# %% [markdown]
# Step through the walk with two retries. Each turn contains the same call and the same error, and `messages[]` grows.

# %%
trace.inspect()

# %% [markdown]
# The model is not told that its budget is spent. Your program is: it gets the exception `ToolRetriesExhausted`, with the trace of everything so far. Three details matter:
#
# - Each tool has a budget of its own, and it counts *turns*. Three bad calls in one reply are one failure.
# - All unknown names share one budget. Otherwise a model could invent a new name for every try.
# - Only calls that fail validation count. A tool that runs and fails is limited by `turns` and `repeats` ([08](08-execution.ipynb)).
#
# ## The second way: repair the text
#
# There are libraries that read nearly everything. Here is a good one, `json_repair`, with six texts that were written by hand.

# %%
import json_repair

TEXTS = {
    "Python": "{'city': 'Oslo',}",
    "no quotes": "{city: Oslo}",
    "a fence": '```json\n{"city": "Oslo"}\n```',
    "two objects": '{"city": "Oslo"} {"city": "Rome"}',
    "key twice": '{"city": "Oslo", "city": "Rome"}',
    "cut off": '{"command": "rm -rf /home/ada/c',
}
guess = predict(
    "The last text is cut off in the middle of a path. What does the library make of it?",
    ["it refuses", "an empty object", "it closes the quote and the brace"],
)
guess

# %%
for what, text in TEXTS.items():
    print(f"{what:12} {text!r:40} -> {json_repair.loads(text)}")
last = json_repair.loads(TEXTS["cut off"])

# %% jupyter={"source_hidden": true}
guess.reveal(
    "it closes the quote and the brace" if last else "an empty object" if last == {} else "it refuses",
    because="Perhaps the model was writing /home/ada/cache. Now the command says /home/ada/c.",
)

# %% [markdown] tags=["slide"]
# The library does what it promises. It answers the question "which JSON could this be?" You have another question: "what was meant?" The first three texts have one
# meaning. The last three have several, and the library chooses one.
#
# ## The guard
#
# One rule decides: **a repair may change how something is written, and never what it says.** The function `keeps_intent` checks this rule. Quotes, commas, comments and closing
# brackets may change. Words, numbers, their order and their nesting may not. A text that stops in the middle is not completed.

# %%
from zoolab.repair import keeps_intent

PAIRS = [
    ("{'city': 'Oslo',}", '{"city": "Oslo"}'),
    ('{"days": "7"}', '{"days": 7}'),
    ('{"city": "Oslo"', '{"city": "Oslo"}'),
    ('{"city": "Os', '{"city": "Os"}'),
    ('{"city": "oslo"}', '{"city": "Oslo"}'),
    ('{"city": "Oslo"} {"city": "Rome"}', '{"city": "Rome"}'),
]
guess = predict("How many of these six repairs keep what was said?", [1, 2, 3, 4, 5])
guess

# %%
for raw, proposed in PAIRS:
    print(f"{'keeps  ' if keeps_intent(raw, proposed) else 'CHANGES'} {raw:36} -> {proposed}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    sum(keeps_intent(*pair) for pair in PAIRS),
    because="A capital letter is a change, because it matters in a password or in the name of a file.",
)

# %% [markdown]
# ## Rules with a guard
#
# `RuleRepair` reads badly written JSON by rules. Each proposal must pass the guard. `propose` returns a text, or None if it has no proposal. Its `report` says why.
# Here are the six texts again, and then three texts that Qwen wrote in recordings of this course.

# %%
from zoolab.repair import RuleRepair

BY_QWEN = {
    "27 * 3": '{"a": 15, "b": 27 * 3}',
    "three values": '{ "service": "nginx", "service": "redis", "service": "cron" }',
    "a list": '{"service": ["nginx", "postgres", "redis"]}',
}
rules = RuleRepair()
for text in (TEXTS | BY_QWEN).values():
    rules.propose(text, {"type": "object", "properties": {"service": {"type": "string"}}})
for what, done in zip(TEXTS | BY_QWEN, rules.report, strict=True):
    print(f"{what:12} {done.outcome:8} {done.proposed or '-':18} {done.reason}")

# %% [markdown] tags=["slide"]
# The rules mend none of Qwen's three texts. They refuse two. The third is well written, but it contains a list where the schema wants a text. So the rules keep it as it is, and validation stops it.
# This is right. Perhaps all three services were meant, but then three calls are needed.
#
# ## Fail closed
#
# To **fail closed** means: if in doubt, do nothing, like a door that stays locked without power. For a loop it means four things:
#
# 1. It validates repaired arguments again, in full.
# 2. It never runs a call whose repair failed, and it never puts `{}` in place of the arguments.
# 3. It does not repair a reply that was cut by its length limit.
# 4. It records both texts, so nobody can say "the model asked for it".
#
# Here are two calls of a script (authored). The first is badly written, and the second stops in the middle.


# %%
@tool
def remove_folder(path: str) -> str:
    "Delete a folder and everything in it."
    return f"{path} is gone"


replies = Scripted(
    [[("remove_folder", "{'path': '/tmp/cache',}"), ("remove_folder", '{"path": "/home/ada/c')], "Done."]
)
trace = run("Clean up.", [remove_folder], replies, repair=RuleRepair())
for step in trace.steps:
    if step.kind == "validate":
        repair = step.record.repair
        print(f"{step.call.arguments:26} repaired to: {repair.proposed}, may run: {step.record.ok}")

# %% [markdown]
# Now point 3. This text looks whole. But `length` says that the reply reached its length limit, so nobody knows what would have followed. The last call of such a reply never runs.

# %%
from zoolab import Reply

call = {"name": "remove_folder", "arguments": "{'path': '/home'}"}
asks = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": call}]}
for finish_reason in ("tool_calls", "length"):
    replies = Scripted([Reply(asks, finish_reason), "Done."])
    trace = run("Clean up.", [remove_folder], replies, repair=RuleRepair())
    (verdict,) = [step.record for step in trace.steps if step.kind == "validate"]
    print(f"{finish_reason:10} may run: {verdict.ok!s:6}", *verdict.problems[-1:])

# %% [markdown]
# ## How much can be saved?
#
# The data set `broken-arguments` contains calls that may not run, each with what was **meant**. There are two kinds of rows:
#
# - `recorded`: Needle (with 6, 7, 8 or 20 of its layers) or SmolLM2-135M-Instruct wrote it. Some were asked in a way that provokes mistakes.
# - `seeded`: the arguments were right, and a program damaged them on purpose, in one of 22 ways.
#
# A row is `recoverable` if each text, number and truth value that was meant stands somewhere in the broken text.

# %%
from zoolab_study.datasets import load

broken = load("broken-arguments")
display(pd.crosstab(broken["made"], broken["recoverable"]))

# %% [markdown] tags=["slide"]
# Most texts of Needle and SmolLM2 say the wrong thing, or stop too early. Only a small part of them can be saved at all. Another model has another share. So look at *your* broken calls before you build a
# repair. Ask of each one: is it badly written, or does it say the wrong thing? A repair helps only with the first kind.
#
# ## The repair curve
#
# Now from careful to bold. Each level tries everything that the level before it does, and one thing more:
#
# | level | if validation still fails |
# | --- | --- |
# | rules | the rules with the guard |
# | + guess | whatever `json_repair` reads |
# | + cast | take a value out of a list, 90.0 as 90, a number as text |
# | + drop | leave out arguments that the tool does not know |
# | + fill | put something where something is missing |


# %%
def guess_object(raw):
    try:
        value = json_repair.loads(raw)
    except (ValueError, RecursionError):
        return {}  # too many brackets, or too many digits
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, dict) else {}


def cast(value, schema):
    kind = schema.get("type")
    if isinstance(value, list) and len(value) == 1 and kind != "array":
        value = value[0]
    if kind == "integer" and isinstance(value, float) and value == value // 1:
        return int(value)
    return str(value) if kind == "string" and isinstance(value, (int, float)) else value


def filler(schema):
    blank = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    return schema["enum"][0] if "enum" in schema else blank.get(schema.get("type"), "")


# %%
LEVELS = ["rules", "+ guess", "+ cast", "+ drop", "+ fill"]


def proposals(raw, schema):
    "What each level proposes, from careful to bold."
    known = schema["properties"]
    yield RuleRepair().propose(raw, schema)
    value = guess_object(raw)
    yield json.dumps(value)
    value = {name: cast(each, known.get(name, {})) for name, each in value.items()}
    yield json.dumps(value)
    value = {name: each for name, each in value.items() if name in known}
    yield json.dumps(value)
    yield json.dumps({**{name: filler(known[name]) for name in schema["required"]}, **value})


# %% [markdown]
# A proposal can end in three ways. It is refused, so nothing runs. It runs and is right. Or it runs and is wrong. The last one is dangerous: there is no error and no warning, and
# something else is done.

# %%
from zoolab_study.datasets.berkeley import same_arguments
from zoolab.steps.validate import check_arguments

TOOLS = {row.tool: Tool(row.tool, "-", row.schema) for row in broken.itertuples()}


def judge(row, proposed):
    if proposed is None:
        return "refused"
    verdict = check_arguments(proposed, TOOLS[row.tool])
    if not verdict.ok:
        return "refused"
    return "right" if same_arguments(row.meant, verdict.arguments, row.schema) else "wrong"


def climb(row):
    "The result at each level. The first proposal that may run stays."
    found = "refused"
    for proposed in proposals(row.raw, row.schema):
        found = judge(row, proposed) if found == "refused" else found
        yield found


# %%
guess = predict(
    "From the first level to the last: which number grows more, that of right calls or that of wrong calls?",
    ["right", "wrong"],
)
guess

# %%
climbed = pd.DataFrame([list(climb(row)) for row in broken.itertuples()], columns=LEVELS)
curve = climbed.apply(pd.Series.value_counts).reindex(["right", "wrong", "refused"]).fillna(0).astype(int)
curve

# %% jupyter={"source_hidden": true}
grown = curve["+ fill"] - curve["rules"]
guess.reveal(
    "right" if grown["right"] > grown["wrong"] else "wrong",
    because="At each level more calls run. The curve shows which ones.",
)

# %%
import matplotlib.pyplot as plt

from zoolab.plots import Picture

fig, ax = plt.subplots(figsize=(7, 3.4), facecolor="white")
for outcome, colour, marker in (("right", "#1b7f5c", "o"), ("wrong", "#c2352b", "s")):
    ax.plot(LEVELS, curve.loc[outcome], color=colour, marker=marker, lw=2)
    end = (4, curve.loc[outcome, "+ fill"])
    ax.annotate(f"runs, and is {outcome}", end, (8, -3), textcoords="offset points", color=colour)
ax.set(ylabel="calls", title="What bolder repair wins, and what it costs", xlim=(-0.2, 5.3), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.grid(axis="y", alpha=0.3)

said = [f"{outcome} calls {', '.join(map(str, curve.loc[outcome]))}" for outcome in ("right", "wrong")]
Picture(fig, f"Two lines over the levels {', '.join(LEVELS)}: {'; '.join(said)}.")

# %% [markdown]
# From left to right, right calls grow slowly. Wrong calls jump twice: at "+ guess", which chooses one of several meanings, and at "+ fill", which makes values up. "+ cast" wins right calls, and it costs hardly
# any wrong ones. A report that shows only "calls that ran after repair" shows the *sum* of both lines. Then each level looks like progress. So always draw both lines.
#
# "Wrong" compares with what the *person* wanted. Often the text was wrong before any repair. Validation would have stopped it, and a bold repair lets it run.
#
# Who made the damage?

# %%
for level in ("rules", "+ fill"):
    display(
        pd.crosstab(broken["made"], climbed[level].rename(level)).reindex(columns=curve.index, fill_value=0)
    )

# %% [markdown]
# In the seeded rows the *writing* is often damaged: quotes, commas, fences. The rules repair many of these, and none wrongly. In the recorded rows the *content* is damaged. There it is right to refuse.

# %% [markdown]
# ## A model as repairer
#
# What rules cannot do, perhaps a model can. `LLMRepair` sends a request of its own. The rows were chosen before Qwen was asked, and only short texts were taken: two rows of each kind of
# seeded damage, all recoverable rows of Needle and SmolLM2, and every sixteenth of their other rows. This is what Qwen gets:

# %%
from zoolab.repair import LLMRepair

mender = model_for(LIVE, "qwen-course-07")
chosen = {body["messages"][-1]["content"] for body in prepared["qwen-course-07"]}


def asked(row):
    return LLMRepair(mender).request(row.raw, {**row.schema, "title": row.tool})


rows = broken.drop_duplicates(["tool", "raw"]).set_index("id", drop=False)
rows = rows[[asked(row).messages[-1]["content"] in chosen for row in rows.itertuples()]]
first = rows[rows["fault"] == "single_quoted"].iloc[0]
for message in asked(first).messages:
    print(f"{message['role']}: {message['content']}\n")
print("Qwen:", mender(asked(first)).text)

# %% [markdown]
# Compare the reply with the broken text. The instruction was "Never add, leave out or change a value". So `LLMRepair` does not trust the reply. It has a guard:
#
# | guard | the model may change |
# | --- | --- |
# | `"strict"` | the writing only, as in `keeps_intent` |
# | `"words"`, the default | marks of JSON, and no word and no number |
# | `"schema"` | also a value, to the nearest one that the schema allows |
# | `None` | anything |

# %%
guess = predict(
    f"{len(rows)} texts, without a guard: validation alone decides what may run. How many calls will be right, and how many wrong?",
    ["many right, hardly any wrong", "about as many wrong as right", "many wrong, hardly any right"],
)
guess


# %%
def result(repair, row):
    return judge(row, repair.propose(row.raw, {**row.schema, "title": row.tool}))


repairers = {"rules": RuleRepair()} | {
    f"Qwen, guard={guard!r}": LLMRepair(mender, guard=guard) for guard in ("strict", "words", "schema", None)
}
results = pd.DataFrame(
    {name: [result(each, row) for row in rows.itertuples()] for name, each in repairers.items()}
)
results.apply(pd.Series.value_counts).reindex(curve.index).fillna(0).astype(int).T

# %% jupyter={"source_hidden": true}
right, wrong = ((results["Qwen, guard=None"] == outcome).sum() for outcome in ("right", "wrong"))
guess.reveal(
    "many right, hardly any wrong"
    if right > 4 * wrong
    else "many wrong, hardly any right"
    if wrong > 4 * right
    else "about as many wrong as right",
    because="All of these calls meet their schema. Validation cannot see that a value was made up.",
)

# %% [markdown]
# Read what the guard stopped. The first lines were right, and the guard refused them all the same, because it cannot know what was meant. This is its price. The other lines were wrong. This is what you get for the price.

# %%
look = rows.reset_index(drop=True).assign(
    alone=results["Qwen, guard=None"], strict=results["Qwen, guard='strict'"]
)
look = look[(look["alone"] != look["strict"])].sort_values("alone", kind="stable").groupby("alone").head(4)
look = look.assign(wrote=[" ".join(mender(asked(row)).text.split()) for row in look.itertuples()])
look[["alone", "raw", "wrote"]].style.hide(axis="index").set_properties(**left)

# %% [markdown]
# Qwen often adds an argument that nobody wrote, although the instruction forbids it. This is one model with one prompt.
#
# Does it help to ask Qwen only where the rules refuse?

# %%
rules_only = results["rules"]
then_qwen = rules_only.where(rules_only != "refused", results["Qwen, guard='strict'"])
print("rules:          ", rules_only.value_counts().to_dict())
print("rules, then Qwen:", then_qwen.value_counts().to_dict())
tokens = [
    mender(asked(row)).usage["total_tokens"] for row in rows[rules_only.eq("refused").to_numpy()].itertuples()
]
print(f"tokens for {len(tokens)} tries: {sum(tokens)}")

# %% [markdown]
# If both lines are equal, the model added nothing behind this guard, and its tokens were spent for nothing. Choose a weaker guard, and it adds right calls and wrong ones. The table above says how many.

# %% [markdown]
# ## Your turn
#
# **1. Pass the guard.** For each broken text write a repair that keeps what was said. One of them has none: write `None` there.

# %%
MINE = {
    "{'to': 'Ada', 'urgent': True}": "{}",
    '{"path": "/tmp/x", "force": false': "{}",
    '{"amount": 12.50} {"amount": 125.0}': "{}",
    'Sure: {"tags": ["a", "b",]}': "{}",
}

# %%
for raw, proposed in MINE.items():
    none = RuleRepair().propose(raw) is None
    fine = proposed is None if none else proposed is not None and keeps_intent(raw, proposed)
    print("right  " if fine else "not yet", "|", repr(raw), "->", proposed)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Python writes `True`, and JSON writes `true`. Which of the texts could mean two things?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# MINE = {
#     "{'to': 'Ada', 'urgent': True}": '{"to": "Ada", "urgent": true}',
#     '{"path": "/tmp/x", "force": false': '{"path": "/tmp/x", "force": false}',
#     '{"amount": 12.50} {"amount": 125.0}': None,
#     'Sure: {"tags": ["a", "b",]}': '{"tags": ["a", "b"]}',
# }
# ```
#
# The third text contains two amounts. A program that takes one of them makes a decision that belongs to a person.
#
# </details>

# %% [markdown]
# **2. How bold?** A right call is worth 1, and a wrong call costs `cost`. Write `boldest`, so that it returns the level of `curve` with the highest sum. For a tool that only reads, a wrong call costs little. For a
# tool that deletes, it costs a lot.


# %%
def boldest(cost):
    return "+ fill"


# %%
worth = {cost: curve.loc["right"] - cost * curve.loc["wrong"] for cost in (0, 0.1, 1, 20)}
for cost, sums in worth.items():
    print(
        "right  " if boldest(cost) == sums.idxmax() else "not yet",
        "| a wrong call costs",
        cost,
        "->",
        boldest(cost),
    )

# %% [markdown]
# <details><summary>Hint</summary>
#
# `curve.loc["right"]` and `curve.loc["wrong"]` are two rows of numbers. You may subtract one from the other. `idxmax()` names the column with the largest number.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def boldest(cost):
#     return (curve.loc["right"] - cost * curve.loc["wrong"]).idxmax()
# ```
#
# Which level is best depends on the cost of a wrong call. Notebook 08 gives each tool a risk. Use it to decide how bold its repair may be.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Send the error back, and limit how often. A model may write the same call again.
# - A repair may change the writing, never the meaning. If there are two meanings, refuse.
# - Fail closed: validate again, never run `{}` instead, and never repair what was cut.
# - Draw both lines: the right calls that repair wins, and the wrong calls that it lets run.
# - Rules first. A model's proposal must pass the same guard.
#
# Next: [08 · Execution](08-execution.ipynb). Lab: [l6 · Repair](../labs/l6/l6.ipynb).
