# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 06 · Validation and the taxonomy of errors
#
# A **tool call** is a wish that a model writes down: the name of a function, and arguments as text. Between the wish and the deed stands
# one step, **validation**: may this call run? It costs next to nothing, and it is the last moment at which nothing has happened yet.
#
# Afterwards you can
#
# - say what is checked, in which order, and why `json.loads` is not enough;
# - read a problem: where, what was expected, what came;
# - name any failure of a tool call by its code, and say who is told about it;
# - say what validation cannot see, with a number;
# - classify real broken calls at a glance.
#
# About 40 minutes, offline. **JSON** is a way to write values as text, such as `{"days": 7}`. A **schema** says which JSON a tool takes: which
# arguments, of which type, which of them are required ([03](03-schemas.ipynb)).

# %% [markdown]
# ## Who answers?
#
# Two kinds of evidence. A conversation with two small models, recorded, and a **data set**: hundreds of calls that small models wrote and
# that were broken, word for word, each with what was meant.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import ToolCall, ToolRegistry, check_call, model_for, predict, run, tool
from zoolab.datasets import load, selection_tools

model = model_for(LIVE, "course-05")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

broken = load("broken-arguments")
by_models = broken[broken.made == "recorded"]
print(f"{len(by_models)} broken calls, written by {', '.join(sorted(by_models.model.unique()))}")

# %% [markdown]
# `needle3-L6` is Needle 3 with only 6 of its 20 layers: the same model made shallow, so that it errs more often. `raw` means that it
# may also write names of tools that do not exist.
#
# ## One reply, two calls
#
# A person writes to a security desk. Three tools are on offer. This is the whole model, with all its layers.

# %%
ASKED = "No need to isolate laptop7 yet; open a low incident, Odd login, contact Grace, grace@example.com."
desk = selection_tools("query_siem", "isolate_host", "open_incident")

trace = run(ASKED, desk, model)
for call in trace.tool_calls:
    print(call.name, call.arguments)

# %%
guess = predict(
    "Read both calls and the question again. Which of them does validation stop?",
    ["both", "only the first", "only the second", "none"],
)
guess

# %%
verdicts = [check_call(call, desk) for call in trace.tool_calls]
for call, verdict in zip(trace.tool_calls, verdicts, strict=True):
    print(f"{call.name:15} {'may run' if verdict.ok else verdict.error_code}")
    for problem in verdict.problems:
        print(f"{'':15} {problem.message}")
stopped = tuple(not verdict.ok for verdict in verdicts)
answers = {(True, True): "both", (True, False): "only the first", (False, True): "only the second"}

# %% jupyter={"source_hidden": true}
guess.reveal(
    answers.get(stopped, "none"), because="It judges how a call is written, not whether anybody wanted it."
)

# %% [markdown]
# In the recording, the model asks to cut `laptop7` off the network. The person had asked for the opposite, and the call is flawless. What stopped it
# was not validation but a policy: isolating a host is a high risk, and nobody was there to allow it
# ([08](08-execution.ipynb)). The other call has the right wish, and cannot run: it names two contacts, and which one counts?
#
# Keep these two apart. **A call can be valid and wrong. A call can be right and invalid.**

# %% [markdown]
# ## Four doors
#
# A call passes four doors, in this order. The first one that stays shut ends it.
#
# | door | question | code if not |
# | --- | --- | --- |
# | 1 | is there a tool of that name? | `unknown_tool` |
# | 2 | is it allowed here? | `permission_denied` |
# | 3 | is the text **one JSON object**? | `invalid_json` |
# | 4 | does the object meet the schema? | `invalid_arguments` |
#
# The order has reasons. Without a tool there is no schema; a forbidden tool should not even tell what it takes; text that is not JSON has no
# arguments to look at. These five calls were written by hand:


# %%
@tool
def forecast(metric: str = "revenue", days: int = 7) -> str:
    "Forecast a metric for some days."
    return f"{metric}: up"


@tool
def wipe(table: str) -> str:
    "Delete a table."
    return "gone"


shop = ToolRegistry([forecast, wipe])
for name, text in [
    ("foretell", "{not even JSON"),
    ("wipe", '{"rows": 3}'),
    ("forecast", '{"days": 7'),
    ("forecast", '{"days": "7"}'),
    ("forecast", '{"days": 7}'),
]:
    verdict = check_call(ToolCall(1, 0, "call_1", name, text), shop, deny=["wipe"])
    print(f"{name:9} {text:15} {verdict.error_code or 'may run':18}", *verdict.problems)

# %% [markdown]
# ## Why not just `json.loads`?
#
# Python reads JSON with one function. How much does it let through? Nine texts, written by hand:

# %%
TEXTS = {
    "fine": '{"days": 7}',
    "a comma too many": '{"days": 7,}',
    "not a number": '{"days": NaN}',
    "larger than any number": '{"days": 1e999}',
    "two answers": '{"days": 7, "days": 14}',
    "half an emoji": '{"metric": "\\ud83d"}',
    "a list": '[{"days": 7}]',
    "JSON in JSON": '"{\\"days\\": 7}"',
    "Python, not JSON": "{'days': 7}",
}
guess = predict("How many of these nine does json.loads accept?", [1, 3, 5, 7])
guess

# %%
accepted = 0
for what, text in TEXTS.items():
    try:
        loaded = json.loads(text)
    except ValueError:
        loads = "refused"
    else:
        accepted, loads = accepted + 1, f"accepted: {loaded!a}"
    verdict = check_call(ToolCall(1, 0, "call_1", "forecast", text), shop)
    print(f"{what:23} {loads:37} zoolab: {'may run' if verdict.ok else verdict.problems[0].expected}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    accepted,
    because="It was made to read what programs write, not what models write.",
)

# %% [markdown]
# "Two answers" is the worst of them. `json.loads` keeps the last and says nothing, so your log shows one text and your tool got another. The
# security desk above would have written to one of two contacts, by chance of order.
#
# Python's types have traps as well. `True` *is* an integer in Python, and `7.0 == 7`:

# %%
for text in ['{"days": true}', '{"days": 7.0}', '{"days": null}', " "]:
    value = json.loads(text).get("days") if text.strip() else None
    verdict = check_call(ToolCall(1, 0, "call_1", "forecast", text), shop)
    print(f"{text:15} isinstance(…, int): {isinstance(value, int)!s:6}", verdict.arguments, *verdict.problems)

# %% [markdown]
# Blank text is the one kindness: models leave the arguments empty if a tool needs none, so blank stands for `{}`. For a tool with a required argument,
# that is an error like any other.
#
# And text from a stranger can be an attack. A number of thousands of digits, or brackets within brackets:

# %%
for what, text in {"digits": f'{{"days": {"9" * 5000}}}', "brackets": '{"days": ' + "[" * 100_000}.items():
    try:
        json.loads(text)
    except Exception as error:
        print(f"{what:9} json.loads: {type(error).__name__}")
    print(f"{'':9} zoolab:    ", *check_call(ToolCall(1, 0, "call_1", "forecast", text), shop).problems)

# %% [markdown]
# A `RecursionError` is no `ValueError`: a program that catches only the latter dies of a row of brackets. zoolab looks at size, depth and
# digits first, and reads then.

# %% [markdown]
# ## All problems at once
#
# Here is a call that a model wrote for `plot_chart`, and what is wrong with it. `/kind` is a **JSON Pointer**: the path to a value, `/` before each
# step. `/hosts/0` would be the first item of `hosts`.

# %%
many = by_models[by_models.problems.map(len) > 1].sort_values("id")
row = many[many.tool == "plot_chart"].iloc[0] if (many.tool == "plot_chart").any() else many.iloc[0]
print("asked: ", row.prompt)
print("wrote: ", row.called, row.raw)
for problem in row.problems:
    print("   ", problem)

# %% [markdown]
# Each line has three parts: where, what was expected, what came. All of them are told at once, because the model is going to read them, and every
# round costs a request. "Invalid arguments" alone would be true and useless.

# %% [markdown]
# ## The taxonomy
#
# A **taxonomy** sorts things so that each has one place. Here is zoolab's, whole. `stage` says where in the loop it happens; `told` says who
# hears of it: the model, as a result that it can react to, or the caller, as an exception. `error_type` is the word that the model reads.

# %%
import pandas as pd

from zoolab.errors import ERROR_CODES

table = pd.DataFrame(
    [
        {
            "stage": entry.stage,
            "code": entry.code,
            "told": "the model" if entry.returned else "nobody" if entry.stage == "select" else "the caller",
            "error_type": entry.error_type or "",
        }
        for entry in ERROR_CODES.values()
    ]
)
table.style.hide(axis="index")

# %% [markdown]
# Look at the first two rows. If a model chooses the wrong tool, or calls none where one was needed, nobody is told: no program can know
# what was meant. Those two codes exist only where somebody wrote down the right answer beforehand, as in a test.

# %% [markdown]
# ## How often does what happen?
#
# `selection-outputs` holds what small models answered to requests of which we know the right answer. One **verdict** a reply. We take those in which three tools
# were on offer; the others were made to provoke errors, with a single tool and little room.

# %%
outputs = load("selection-outputs")
outputs = outputs[outputs.offered.map(len) == 3]
print(f"{len(outputs)} replies")
guess = predict(
    "Which is the commonest of these?",
    ["text that is not JSON", "arguments against the schema", "an invented tool", "a wrong tool"],
)
guess

# %%
WORDS = {
    "invalid_json": "text that is not JSON",
    "invalid_arguments": "arguments against the schema",
    "unknown_tool": "an invented tool",
    "wrong_tool": "a wrong tool",
}
counts = outputs.verdict.value_counts()
commonest = counts.reindex(list(WORDS), fill_value=0).idxmax()
display(pd.crosstab(outputs.verdict, outputs.model, margins=True, margins_name="all").sort_values("all"))

# %% jupyter={"source_hidden": true}
guess.reveal(
    WORDS[commonest], because="Models have read a great deal of JSON. They have not read your tools."
)

# %% [markdown]
# Read the columns, too. What a model gets wrong depends on how it is asked. Needle writes under a **constraint** here: at each step only
# names of the tools on offer can be written, so it *cannot* invent one. SmolLM2 got the tools as part of a text and may write what it
# likes.

# %%
for kind in ("invalid_json", "unknown_tool"):
    who = outputs[outputs.verdict == kind].model.value_counts()
    print(f"{kind:13} {counts.get(kind, 0):3}", who.to_dict())
invented = outputs[outputs.verdict == "unknown_tool"].head(4)
for row in invented.itertuples():
    print(f"  offered {', '.join(row.offered)}: called {row.tool!r}")

# %% [markdown]
# The table hides something. The checks run one after the other, and a reply is counted where it fails *first*. If the tool does not exist, nobody looks at
# the JSON any more. So count each check on its own, for example for SmolLM2:


# %%
def is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


smol = outputs[outputs.model == "smollm2"]
malformed = sum(any(not is_object(call["arguments"]) for call in row.calls) for row in smol.itertuples())
first = int((smol.verdict == "invalid_json").sum())
print(f"{len(smol)} replies: invalid JSON comes first in {first}, and is there in {malformed}")

# %% [markdown]
# In these replies a wrong or invented tool is more frequent than broken JSON. That is true of these two models and these requests. Of another model you know it when
# you have counted.

# %% [markdown]
# ## What validation cannot see
#
# Now take only the replies whose calls pass all four doors. They exist, they are JSON, they meet the schema. How many of them do what was asked?

# %%
valid = outputs[(outputs.codes.map(len) == 0) & (outputs.calls.map(len) > 0)]
guess = predict(
    "Of the replies with flawless calls, how many do what was asked?",
    ["nearly all", "about two thirds", "about half", "fewer than half"],
)
guess

# %%
share = (valid.verdict == "right").mean()
bounds = {0.85: "nearly all", 0.58: "about two thirds", 0.45: "about half", 0: "fewer than half"}
print(f"{(valid.verdict == 'right').sum()} of {len(valid)} valid replies are right")
display(valid.verdict.value_counts().to_frame("valid replies"))
guess.reveal(next(text for bound, text in bounds.items() if share >= bound))

# %% [markdown]
# These are small models, some of them shallow on purpose, and many of the requests were made to mislead. A large model does better. But the *kind* of
# gap is the same for all: validation is a check of form. A loop in which every step is green has been proven to be well formed, and nothing else. Choice is
# notebook 04, measuring it is notebook 15.

# %%
wrong = valid[(valid.verdict == "wrong_arguments") & (valid.model == "needle3-L20")]
wrong = wrong if len(wrong) else valid[valid.verdict == "wrong_arguments"]
for row in wrong.head(3).itertuples():
    print("asked:", row.prompt)
    print("wrote:", row.calls[0]["name"], row.calls[0]["arguments"])
    print("meant:", json.dumps(row.expected_arguments), "\n")

# %% [markdown]
# ## The error goes back
#
# Back to the security desk. The call that failed was answered, as every call is. This is what the model got to read, and what it made of it:

# %%
for message in trace.messages:
    if message["role"] == "tool":
        result = json.loads(message["content"])
        print(f"{message['tool_call_id']}  {result['error_type']}: {result['error_message']}")
print("\nthe model:", (trace.answer or "nothing")[:240])

# %% [markdown]
# The result is precise: what, where, why. A large model would write the call anew, with one contact. In the recording, this one complains, and
# repeats itself. Whether sending errors back helps depends on who reads them, and [07](07-repair.ipynb) measures it.

# %% [markdown]
# ## Your turn
#
# **1. Break all doors.** Change the three texts so that each comes to the code on its left. They are all fine as they stand.

# %%
WANTED = {
    "unknown_tool": ("forecast", '{"days": 7}'),
    "invalid_json": ("forecast", '{"days": 7}'),
    "invalid_arguments": ("forecast", '{"days": 7}'),
}
for code, (name, text) in WANTED.items():
    came = check_call(ToolCall(1, 0, "call_1", name, text), shop).error_code
    print("yes    " if came == code else "not yet", code, "<-", name, text)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A name, a piece of punctuation, a type. There are dozens of ways; the shortest changes one character.
#
# </details>

# %% [markdown]
# **2. Write the third door.** `one_object` shall return the object in a text, or None. It begins as most programs do. The cell compares
# it with zoolab on the nine texts above.


# %%
def one_object(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


for what, text in TEXTS.items():
    mine = one_object(text) is not None
    theirs = check_call(ToolCall(1, 0, "call_1", "forecast", text), shop).error_code != "invalid_json"
    print("as zoolab" if mine == theirs else "NOT YET  ", what)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `json.loads` takes `parse_constant=` and `object_pairs_hook=`: functions that may raise a `ValueError`. After reading, ask whether the value is a dict, and
# whether it can be written as UTF-8.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def no_twins(pairs):
#     if len(dict(pairs)) < len(pairs):
#         raise ValueError("a key twice")
#     return dict(pairs)
#
#
# def finite(text):
#     if float(text) in (float("inf"), float("-inf")):
#         raise ValueError("too large")
#     return float(text)
#
#
# def no_constant(name):
#     raise ValueError(name)
#
#
# def one_object(text):
#     try:
#         value = json.loads(
#             text, object_pairs_hook=no_twins, parse_float=finite, parse_constant=no_constant
#         )
#         json.dumps(value, ensure_ascii=False).encode()
#     except (ValueError, RecursionError):
#         return None
#     return value if isinstance(value, dict) else None
# ```
#
# Half an emoji fails in `encode`: a lone surrogate cannot be sent as UTF-8.
#
# </details>

# %% [markdown]
# **3. Classify twenty real broken calls.** The codes say at which door a call failed. For mending it you need to know *how*. Here are eight kinds:
#
# | kind | means |
# | --- | --- |
# | invented tool | there is no tool of that name on offer |
# | cut off | the text just ends |
# | badly written | not JSON for another reason: a comma, a quote, a colon |
# | key twice | two values for one argument |
# | missing | a required argument is not there |
# | made up | an argument that the schema does not know |
# | wrong type | a text where an object belongs, and the like |
# | value not allowed | right type, but not one of the listed values, or not of the required form |
#
# First, how the kind is read from the problems:


# %%
SIGNS = {
    "cut off": ("unterminated", "the end of the text"),
    "key twice": ("each key once",),
    "badly written": ("expected valid JSON", "one JSON object", "a JSON value"),
    "missing": ("received nothing",),
    "made up": ("expected only ",),
    "value not allowed": ("expected one of", "expected pattern", "expected at ", "expected a "),
}
KINDS = ["invented tool", *SIGNS, "wrong type"]


def kinds_of(row):
    if row.called not in row.offered:
        return ["invented tool"]
    found = []
    for problem in row.problems:
        signs = (kind for kind, texts in SIGNS.items() if any(text in problem for text in texts))
        found.append(next(signs, "wrong type"))
    return sorted(set(found), key=KINDS.index)


# %% [markdown]
# Twenty calls, drawn so that every kind has its turn. `takes` is the schema in short: `?` marks what is optional.

# %%
from zlib import crc32


def in_short(schema):
    named = schema["properties"].items()
    types = {name: "|".join(map(str, each.get("enum", ()))) or each.get("type") for name, each in named}
    return ", ".join(f"{name}{'' if name in schema['required'] else '?'}: {types[name]}" for name in types)


short = by_models[by_models.raw.str.len().between(4, 110)].drop_duplicates(["raw", "tool"])
short = short.assign(kinds=short.apply(kinds_of, axis=1), order=short.id.map(lambda id: crc32(id.encode())))
short = short.assign(kind=short.kinds.str[0]).sort_values("order")
short = short.assign(turn=short.groupby("kind").cumcount())
twenty = short.sort_values(["turn", "order"]).head(20).sort_values("order").reset_index(drop=True)
twenty.index += 1
shown = twenty.assign(takes=twenty.schema.map(in_short), offered=twenty.offered.map(", ".join))
look = shown[["offered", "called", "raw", "takes"]].rename(columns={"raw": "arguments"})
cells = {"text-align": "left", "white-space": "pre-wrap", "overflow-wrap": "anywhere"}
look.style.set_properties(["arguments", "takes"], **cells)

# %% [markdown]
# Now choose. Where two kinds apply, either counts. (No menus on your screen? `menus[3].value = "made up"` in a cell does the same.)

# %%
from ipywidgets import Dropdown, VBox

menus = {
    number: Dropdown(
        options=["?", *KINDS],
        description=f"{number}. {row.called[:18]}",
        style={"description_width": "180px"},
    )
    for number, row in twenty.iterrows()
}
VBox(list(menus.values()))

# %%
said = [menus[number].value for number in twenty.index]
right = [mine in kinds for mine, kinds in zip(said, twenty.kinds, strict=True)]
print(f"you classified {sum(each != '?' for each in said)} of {len(said)}; {sum(right)} rightly")
result = look[["called", "arguments"]].assign(
    you=said, it_is=twenty.kinds.map(", ".join), problem=twenty.problems.map(lambda problems: problems[0])
)
result.style.set_properties(["arguments", "problem"], **cells)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Look in this order: is `called` among `offered`? Does the text end in `}`? Then compare the names of the arguments with `takes`: names that are
# not there, names that lack. Only then look at the values.
#
# </details>

# %% [markdown]
# And all of them, not only twenty. A call may be of several kinds.

# %%
every = by_models.assign(kind=by_models.apply(kinds_of, axis=1)).explode("kind")
pd.crosstab(every.kind, every.model).assign(all=every.kind.value_counts()).sort_values("all", ascending=False)

# %% [markdown]
# "Cut off" leads because many of these calls were asked with little room, on purpose: a limit on the **tokens** (pieces of words) that a model may
# write. It happens in real life for the same reason. What deserves your attention is how few are only *badly written*.
#
# Ask of each kind: could a program mend it without knowing what was meant? A comma, yes. A missing argument, no. What is cut off, never. The next
# notebook counts how many of these calls can be saved at all; make a guess now.

# %% [markdown]
# ## What to keep
#
# - Four doors: known, allowed, one JSON object, meets the schema. In this order.
# - Reading JSON from a stranger takes more than `json.loads`: two answers, NaN, size, depth.
# - A problem says where, what was expected and what came, and all problems are said at once.
# - Form can be checked, meaning cannot: valid and right are two things.
# - Name the kind before you mend: most real failures are not badly *written*.
#
# Next: [07 · Repair](07-repair.ipynb). Lab: [l2 · Validate a call](../labs/l2/l2.ipynb).
