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
# A model wrote `{'city': 'Oslo',}`. That is Python and not JSON, so the call may not run. Anybody can see what was meant. May your program act on what
# anybody can see?
#
# Sometimes. A **repair** turns broken arguments into arguments that can run, and it is the one place in the loop where your program puts words into
# the model's mouth. Done well it saves a request. Done badly it deletes the wrong folder, and the log says that the model asked for it.
#
# Afterwards you can
#
# - repair by rules, and say when to refuse;
# - tell a repair that changed the writing from one that changed the meaning;
# - draw the curve: what boldness wins, and what it costs;
# - say what a small model is worth as a repairer, with numbers;
# - write a rule of your own and measure the harm it does.
#
# About 45 minutes, offline. Words from before: *arguments* are the text that a model writes for a call, a *schema* says what they may be, *validation*
# checks them ([06](06-validation.ipynb)).

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Request, Scripted, Tool, ToolCall, ToolRegistry, model_for, predict, run, tool
from zoolab.datasets import load

model = model_for(LIVE, "course-06")
print("who answers, where a model is asked:", model.recording.header.who if LIVE is None else LIVE)

broken = load("broken-arguments")
print(broken.made.value_counts().to_dict())

# %% [markdown]
# The data set holds calls that could not run, each with what was **meant**. `recorded`: a small model wrote it. `seeded`: the arguments were right, and
# a fault was put in on purpose, often a kind of damage that these models rarely make and others do.
#
# ## Three ways out
#
# | when arguments are broken | costs | risk |
# | --- | --- | --- |
# | give up | nothing | nothing is done |
# | send the error back | one more request, longer than the last | the model tries the same again |
# | repair | next to nothing by rules, a request by a model | **something else is done than was meant** |
#
# ## The tempting way
#
# There are libraries that read nearly anything. Here is a good one, `json_repair`, on six texts (written by hand).

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
    "The last text is cut off: the path was going on. What does the library make of it?",
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
    because="The model may have been writing /home/ada/cache. Now it says /home/ada/c.",
)

# %% [markdown]
# This is no fault of the library. It answers "what JSON could this be?" That is another question than "what was meant?" The first three have one
# answer. The last three have several, and it picks one.
#
# ## The guard
#
# One sentence decides: **a repair may change how something is written, never what it says.** `keeps_intent` makes it a function. Quotes, commas,
# comments and closing brackets may differ. Words, numbers, their order and their nesting may not, and no text is completed.

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
    because="A capital letter is a change: for a file name or a password it decides.",
)

# %% [markdown]
# ## Rules, guarded
#
# `RuleRepair` reads damaged JSON by rules of its own. Whatever it proposes must pass the guard. `propose` returns text, or None: there is
# no proposal. It never raises, and its `report` says why. With a weaker guard (`RuleRepair(guard="words")`) one missing mark may be put in, too.

# %%
from zoolab.repair import RuleRepair

rules = RuleRepair()
for text in TEXTS.values():
    rules.propose(text, {"type": "object"})
for what, done in zip(TEXTS, rules.report, strict=True):
    print(f"{what:12} {done.outcome:8} {done.proposed or '-':18} {done.reason}")

# %% [markdown]
# ## Fail closed
#
# To **fail closed** is to do nothing when in doubt, as a door that locks when the power fails. In the loop it means four things:
#
# 1. what is repaired is validated again, in full;
# 2. what fails again does not run, and never with `{}` in its place;
# 3. a reply that was cut off by length is not repaired at all;
# 4. the record keeps both texts, so that nobody says "the model asked for it".
#
# Two calls, scripted (a script says what it is told to): one badly written, one cut in the middle.


# %%
@tool
def remove_folder(path: str) -> str:
    "Delete a folder and all that is in it."
    return f"{path} is gone"


replies = Scripted(
    [[("remove_folder", "{'path': '/tmp/cache',}"), ("remove_folder", '{"path": "/home/ada/c')], "Done."]
)
trace = run("Clean up.", [remove_folder], replies, repair=RuleRepair())
for step in trace.steps:
    if step.kind == "validate":
        repair = step.record.repair
        print(f"{step.call.arguments:26} repaired to: {repair.proposed}, may run: {step.record.ok}")
    if step.kind == "result":
        print(
            "   ", json.loads(step.record.content)["data"] or json.loads(step.record.content)["error_message"]
        )

# %% [markdown]
# And the third: this text is whole and well written, as it happens. But the reply ended because the model was out of room (`finish_reason` is
# `length`), so nobody knows what would have followed.

# %%
from zoolab.steps.validate import check_with_repair

tools = ToolRegistry([remove_folder])
call = ToolCall(1, 0, "call_1", "remove_folder", "{'path': '/home'}")
for cut in (False, True):
    verdict = check_with_repair(call, tools, RuleRepair(), cut=cut)
    print(f"cut={cut!s:6} may run: {verdict.ok!s:6}", *verdict.repair.remaining)

# %% [markdown]
# ## How much is there to save?
#
# A repair can only bring back what is in the text. In the data set, a row is `recoverable` if every text, number and truth value that was meant stands
# somewhere in what the model wrote.

# %%
by_models = broken[broken.made == "recorded"]
guess = predict(
    "Of the calls that small models broke: how many hold all that was meant?",
    ["nearly all", "about half", "about a third", "one in six or fewer"],
)
guess

# %%
share = by_models.recoverable.mean()
bounds = {0.7: "nearly all", 0.42: "about half", 0.17: "about a third", 0: "one in six or fewer"}
print(f"{by_models.recoverable.sum()} of {len(by_models)}: {share:.0%}")
for row in (
    by_models[~by_models.recoverable & (by_models.raw.str.len() > 12)]
    .drop_duplicates("case")
    .head(4)
    .itertuples()
):
    print(f"   {row.raw[:60]:62} {row.why_not}")
guess.reveal(next(text for bound, text in bounds.items() if share >= bound))

# %% [markdown]
# These models were made to err, so the share is theirs alone. The lesson is not. Before you build a repair, look at *your* broken calls and ask of
# each: is it badly written, or does it say the wrong thing? Only the first kind can be repaired.
#
# ## The curve
#
# Now from timid to bold. Each rung tries what the one before it does, and then dares a little more:
#
# | rung | if validation still says no... |
# | --- | --- |
# | rules | the guarded rules |
# | + guess | whatever `json_repair` reads |
# | + cast | take a value out of a list, 90.0 as 90, a number as text |
# | + drop | leave out arguments that the tool does not know |
# | + fill | put something where something is missing |


# %%
def guess_object(raw):
    try:
        value = json_repair.loads(raw)
    except (ValueError, RecursionError):
        return {}  # brackets within brackets, numbers without end
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
RUNGS = ["rules", "+ guess", "+ cast", "+ drop", "+ fill"]


def proposals(raw, schema):
    """What each rung proposes, from timid to bold."""
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
# Three things can come of a proposal. It is refused: nothing runs. It runs, and it is what was meant. Or it runs, and it is not. The last is the one to
# fear: no error, no warning, something else is done.

# %%
from zoolab.datasets.berkeley import same_arguments
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
    """The judgement at each rung: the first proposal that may run stays."""
    found = "refused"
    for proposed in proposals(row.raw, row.schema):
        found = judge(row, proposed) if found == "refused" else found
        yield found


# %%
guess = predict(
    "Over all rows, from the first rung to the last: what grows more, calls that are right or calls that are wrong?",
    ["right", "wrong"],
)
guess

# %%
import time

import pandas as pd

started = time.perf_counter()
climbed = pd.DataFrame([list(climb(row)) for row in broken.itertuples()], columns=RUNGS)
seconds = time.perf_counter() - started
curve = climbed.apply(pd.Series.value_counts).reindex(["right", "wrong", "refused"]).fillna(0).astype(int)
grown = curve["+ fill"] - curve["rules"]
display(curve)
print(
    f"{len(broken)} rows, {1000 * seconds / len(broken):.1f} ms for all five rungs of a row; no model was asked"
)

# %% jupyter={"source_hidden": true}
guess.reveal(
    "right" if grown["right"] > grown["wrong"] else "wrong", because="More and more runs. Look at what."
)

# %%
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 3.4), facecolor="white")
for outcome, colour, marker in (("right", "#1b7f5c", "o"), ("wrong", "#c2352b", "s")):
    ax.plot(RUNGS, curve.loc[outcome], color=colour, marker=marker, lw=2)
    ax.annotate(
        f"runs, and is {outcome}",
        (4, curve.loc[outcome, "+ fill"]),
        (8, -3),
        textcoords="offset points",
        color=colour,
    )
ax.set(ylabel="calls", title="Boldness: what it wins, and what it costs", xlim=(-0.2, 5.3), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.grid(axis="y", alpha=0.3)

# %% [markdown]
# Success rises slowly, changed intent rises fast. ("Wrong" is judged by what the *person* wanted. Often the model's text was wrong before any repair, `ginx` for
# `nginx`; a bold repair then makes a mistake run that would have been stopped.) A report that shows only "calls that ran after repair" shows the *sum* of both lines, and every rung looks
# like progress. Always draw both.
#
# Split by who made the damage, and the rules alone look quite different:

# %%
for rung in ("rules", "+ guess", "+ fill"):
    print(rung)
    print(
        pd.crosstab(broken.made, climbed[rung]).reindex(columns=["right", "wrong", "refused"], fill_value=0),
        "\n",
    )

# %% [markdown]
# Damage to the *writing* (quotes, commas, fences), which is mostly seeded here because these small models rarely make it: the rules mend much of it and get none of
# it wrong. Damage to the *content*, which is what the small models really do: there, a rule that refuses is a rule that works.
#
# ## Then a model
#
# What rules cannot do, perhaps a model can. `LLMRepair` sends a request of its own: the tool's schema and the broken text, with the order to change the
# format only. It trusts the answer with nothing: the same guard decides.

# %%
from zoolab.repair import LLMRepair


def titled(row):
    return {**row.schema, "title": row.tool}


first = broken[broken.fault == "trailing_comma"].sort_values("id")
first = first.loc[first.raw.str.len().idxmin()]
for message in LLMRepair(model).request(first.raw, titled(first)).messages:
    print(f"{message['role']}: {message['content']}\n")

# %% [markdown]
# Small models imitate better than they obey. So there is a second way to ask: no schema, only three examples and the text.

# %%
EXAMPLES = [
    ("{'city': 'Oslo',}", '{"city": "Oslo"}'),
    ('{city: "Rome", "days": 3', '{"city": "Rome", "days": 3}'),
    ('Sure: {"on": True}', '{"on": true}'),
]


def in_examples(request):
    """The same request, asked by example."""
    text = request.messages[-1]["content"].rpartition("Broken arguments: ")[2]
    messages = [{"role": "system", "content": "Write the same as valid JSON."}]
    for bad, good in EXAMPLES:
        messages += [{"role": "user", "content": bad}, {"role": "assistant", "content": good}]
    return Request([*messages, {"role": "user", "content": text}])


# %% [markdown]
# Which rows? Only recoverable ones, to be fair; and of these, those that the recording holds (a model takes seconds for each). With `LIVE` set, a
# dozen.

# %%
WAYS = {"told what to do": lambda request: request, "shown three examples": in_examples}


def is_here(row, way):
    request = WAYS[way](LLMRepair(model).request(row.raw, titled(row)))
    return LIVE or model.recording.response(model.recording.key_of(model.body(request))) is not None


whole = broken[broken.recoverable].drop_duplicates(["tool", "raw"])
asked = {way: [row for row in whole.itertuples() if is_here(row, way)][: 12 if LIVE else 99] for way in WAYS}
print({way: len(rows) for way, rows in asked.items()})


# %%
def put(row, way):
    """What the model says to a row, and what the guard lets through."""
    said = []

    def ask(request):
        said.append(model(WAYS[way](request)))
        return said[-1]

    repair = LLMRepair(ask)
    proposed = repair.propose(row.raw, titled(row))
    [reply] = said
    found = {"asked": way, "id": row.id, "made": row.made, "raw": row.raw, "said": reply.text}
    found["unguarded"] = judge(row, reply.text if reply.finish_reason != "length" else None)
    found["guarded"], found["why"] = judge(row, proposed), repair.report[0].reason
    return {**found, "tokens": (reply.usage or {}).get("total_tokens", 0)}


answers = pd.DataFrame([put(row, way) for way, rows in asked.items() for row in rows])

# %%
guess = predict(
    "Told what to do, in words and with a schema: how many does the small model repair?",
    ["none", "a few", "most"],
)
guess

# %%
told = answers[answers.asked == "told what to do"]
fixed = int((told.unguarded == "right").sum())
shortest = told.loc[told.raw.str.len().idxmin()]
print(f"{fixed} of {len(told)}. What it wrote for {shortest.raw}\n\n{shortest.said[:360]} ...")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "none" if not fixed else "a few" if fixed < len(told) / 2 else "most",
)

# %% [markdown]
# In the recording it explains the schema, over and over, until it runs out of room. It was asked to repair something; it does what such texts do, it
# goes on about JSON Schema. **SmolLM2 does not repair when it is told to.** That is one model with one prompt, and not all small models. Now with examples, beside the
# rules on the very same rows:

# %%
shown = answers[answers.asked == "shown three examples"]
rows = {row.id: row for row in whole.itertuples()}
by_rules = shown.id.map(lambda id: judge(rows[id], RuleRepair().propose(rows[id].raw, rows[id].schema)))
table = pd.DataFrame(
    {
        "rules": by_rules.value_counts(),
        "model, unguarded": shown.unguarded.value_counts(),
        "model, guarded": shown.guarded.value_counts(),
    }
)
table = table.reindex(["right", "wrong", "refused"]).fillna(0).astype(int)
table.loc["tokens a try"] = [0, shown.tokens.mean().round(), shown.tokens.mean().round()]
table.astype(int)

# %% [markdown]
# A **token** is a piece of a word, and the unit in which models are paid. What did the model do with each text?

# %%
look = shown[["made", "raw", "said", "unguarded", "guarded"]].assign(differ=shown.unguarded != shown.guarded)
look = look.sort_values(["differ", "guarded"], ascending=False).drop(columns="differ")
look = look.assign(raw=look.raw.str[:80], said=look.said.str[:80])
cells = {"text-align": "left", "white-space": "pre-wrap", "overflow-wrap": "anywhere"}
look.style.hide(axis="index").set_properties(["raw", "said"], **cells)

# %% [markdown]
# Read the column `said` from top to bottom. It has learnt the pattern, and where the damage looks like one of the examples it mends it. Where a value is wrong,
# it copies it. Where it is unsure, it makes something up: look for a query that became `{"on": true}`, out of an example.
#
# The lines at the top are those where the guard made a difference. Some that it refused were *right*: it cannot know what was meant, it knows only that a
# word of the text is gone. That is its price. Those that it refused and that were *wrong* are what the price is paid for.
#
# ### Rules, then a model
#
# The usual order: what costs nothing first. A repair is anything with a `propose`, so the two are put together in a few lines.


# %%
class InTurn:
    """Asks one repair after the other until one proposes something that meets the schema."""

    def __init__(self, *repairs):
        self.repairs = repairs

    def propose(self, raw, schema=None):
        for repair in self.repairs:
            proposed = repair.propose(raw, schema)
            if proposed and check_arguments(proposed, Tool("any", "-", schema)).ok:
                return proposed
        return None


both = InTurn(RuleRepair(), LLMRepair(lambda request: model(in_examples(request))))
by_both = shown.id.map(lambda id: judge(rows[id], both.propose(rows[id].raw, titled(rows[id]))))

# %%
from zoolab.plots import AblationDisplay

variants = {"rules": by_rules, "model, guarded": shown.guarded, "rules, then model": by_both}
frame = pd.concat(
    pd.DataFrame({"case_id": shown.id, "variant": name, "success": outcome == "right"})
    for name, outcome in variants.items()
)
AblationDisplay.from_frame(frame)

# %% [markdown]
# Read the differences, not the dots: "not decisive" means that chance alone could make such a difference. Does the model earn its tokens on top of the rules?
# Here it is one small model; put your own behind `LIVE = "endpoint"` and run again. The method stays the same.
#
# ### Or send the error back
#
# The third way out: the model that made the mistake reads what was wrong, and tries again. The data set `trials` has that: broken calls, sent back with the
# error, to the model that made them.

# %%
trials = load("trials")
again = trials[trials.trial == "repair"]
display(pd.crosstab(again.verdict, again.model))
print(f"{(again.verdict == 'right').sum()} of {len(again)} were right the second time")
for row in again.drop_duplicates("model").itertuples():
    print(
        f"\n{row.model} was told: {row.request['messages'][-1]['content'][-150:]}\n   and wrote: {row.raw[:150]}"
    )

# %% [markdown]
# A model that could not do it the first time needs more than being told that it was wrong. Large models often do correct themselves, which is why every loop
# sends errors back, and why every loop needs a limit on it.

# %% [markdown]
# ## Your turn
#
# **1. Test the guard.** Write pairs of a broken text and a repair. Find one that a person would accept and the guard does not, and decide who is right.

# %%
MINE = [
    ('{"amount": "1.000"}', '{"amount": 1000}'),
    ("{'when': 'tomorrow'}", '{"when": "2026-11-23"}'),
    ('{"to": Ada Lovelace}', '{"to": "Ada Lovelace"}'),
]
for raw, proposed in MINE:
    print("keeps  " if keeps_intent(raw, proposed) else "CHANGES", raw, "->", proposed)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A point is a decimal mark in one country and parts thousands in another. What a person "simply knows" is often what they know of the situation, and the
# guard knows only the text.
#
# </details>

# %% [markdown]
# **2. One rung of your own.** In the curve, which rung pays? `per_right` counts how many wrong calls each rung adds for every right one. Which rung would you
# allow for a tool that only reads, and which for one that deletes?

# %%
added = curve.T[["right", "wrong"]].diff().fillna(curve.T[["right", "wrong"]])
added.assign(per_right=(added.wrong / added.right.where(added.right > 0)).round(1)).astype(
    {"right": int, "wrong": int}
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# For a tool that reads, a wrong call costs a request and a wrong answer. For a tool that deletes it costs the data. The risk of the tool decides how bold its
# repair may be; notebook 08 gives each tool a risk.
#
# </details>

# %% [markdown]
# **3. Write a rule.** `my_rule` sees what the guarded rules refused, and returns arguments as text, or None. As it stands it unwraps a list with one
# object in it. Make it save more. Every wrong call costs five points, since somebody has to clean up after it.


# %%
def my_rule(raw, schema):
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        return json.dumps(value[0])
    return None


# %%
refused = broken[(climbed["rules"] == "refused").to_numpy()]
mine = pd.Series(
    [judge(row, my_rule(row.raw, row.schema)) for row in refused.itertuples()], index=refused.index
)
score = (mine == "right").sum() - 5 * (mine == "wrong").sum()
print(
    f"right {(mine == 'right').sum()}, wrong {(mine == 'wrong').sum()}, left alone {(mine == 'refused').sum()}; score {score}"
)

open_rows = refused[(mine != "right") & refused.recoverable & (refused.raw.str.len() < 90)]
open_rows = open_rows.assign(like=open_rows.fault.fillna(open_rows.tool)).drop_duplicates("like")
for row in open_rows.head(9).itertuples():
    print(f"   {row.raw}\n        {row.problems[0][:90]}")
for row in refused[mine == "wrong"].head(5).itertuples():
    print(f"WRONG {row.raw[:75]}\n      meant {json.dumps(row.meant)}")

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# `{"service":"mailer hangs","service":"that"}` has two meanings, and `json.loads` takes the second without a word. It takes `object_pairs_hook=` as well, a
# function that gets the list of pairs. (A pair that says the same thing twice has one meaning: that much the rules have mended already.)
#
# </details>
#
# <details><summary>Hint 2</summary>
#
# `90.0` where an integer is asked for is 90, exactly. `["db01"]` where a text is asked for is `db01`, if you trust that one item means one. Leaving out an argument
# that the tool does not know is the boldest of the three: look at what it gets wrong.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def once(pairs):
#     if len(dict(pairs)) < len(pairs):
#         raise ValueError("two meanings")
#     return dict(pairs)
#
#
# def my_rule(raw, schema):
#     try:
#         value = json.loads(raw, object_pairs_hook=once)
#     except (ValueError, RecursionError):
#         return None
#     if isinstance(value, list) and len(value) == 1:
#         value = value[0]
#     if not isinstance(value, dict):
#         return None
#     known = schema["properties"]
#     for name, each in value.items():
#         kind = known.get(name, {}).get("type")
#         if kind == "integer" and isinstance(each, float) and each.is_integer():
#             value[name] = int(each)
#         if kind == "string" and isinstance(each, list) and len(each) == 1:
#             value[name] = each[0]
#     return json.dumps(value)
# ```
#
# Three kinds of damage, each with one meaning, and no text with two. It is validated again afterwards, like every repair. If a row stays wrong, look at it: did your rule change what
# the text said, or did the text say the wrong thing? No rule can see the second.
#
# </details>

# %% [markdown]
# A rule is a repair as soon as it has a `propose`. Here yours works in a loop, after the rules:


# %%
class Mine:
    def propose(self, raw, schema=None):
        return my_rule(raw, schema)


asked_once = Scripted([[("remove_folder", '[{"path": "/tmp/cache"}]')], "Done."])
mended = run("Clean up.", [remove_folder], asked_once, repair=InTurn(RuleRepair(), Mine()))
print(mended.tool_calls[0].arguments, "->", json.loads(mended.messages[2]["content"])["data"])

# %% [markdown]
# ## What to keep
#
# - A repair may change the writing, never the meaning. If there are two meanings, there is no repair.
# - Fail closed: validate again, never `{}`, nothing that was cut off.
# - Draw both lines, what was saved and what was changed. Their sum is not success.
# - Rules first: they are free, and they can be read. A model's proposal passes the same guard.
# - Most of what small models break is not badly written. Nothing repairs a wrong value but knowing the right one.
#
# Next: [08 · Execution](08-execution.ipynb). Lab: [l5 · Repair](../labs/l5/l5.ipynb).
