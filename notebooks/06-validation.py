# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 06 · Validation
#
# A model writes down what it wants: the name of a tool, and arguments as text. After that, a function runs. Between the two there is one step,
# **validation**: may this call run? Validation is cheap, and it is the last step
# before something happens.
#
# Afterwards you can
#
# - say which four things are checked, in which order, and why `json.loads` is not enough;
# - read an error: its code, its number, its place, and who is told about it;
# - count mistakes so that one check does not hide another;
# - find the cause of a mistake: the model, the temperature, or your own limit;
# - say what validation cannot see, and how often that happens.
#
# About 40 minutes. It runs offline.
#
# A **schema** says which arguments a tool takes: their names, their types, and which of them are required ([03](03-schemas.ipynb)).

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct, the model of notebook 04, with the same requests. In notebook 04 you looked at the *name* of the tool. Here you look at the whole call.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Request, ToolCall, ToolRegistry, check_call, model_for, predict, read_calls, tool
from zoolab_study import datasets

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-selection-3")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown] tags=["slide"]
# ## One call, two mistakes
#
# A person wants a new version of the service `cron`. "Live" means `production`, and "one machine after the other" is the strategy `rolling`.

# %%
ALL = datasets.selection_tools()
cases = datasets.load("selection-cases").set_index("prompt")


def ask(prompt):
    "The tools that are offered, the reply, and the calls in it."
    tools = ToolRegistry([ALL[name] for name in cases.loc[prompt, "offered"]])
    reply = model(Request([{"role": "user", "content": prompt}], tuple(tools.schemas())))
    return tools, reply, read_calls(reply.message, text=True)


DEPLOY = "Put cron 2.4.1 live for all customers, one machine after the other."
tools, reply, calls = ask(DEPLOY)
print(reply.text or calls)

# %%
qwen_wrote = '{"service": "nginx", "version": "2.4.1", "environment": "live", "strategy": "rolling"}'
call = ToolCall(1, 0, "call_1", "deploy_release", qwen_wrote)
guess = predict(
    "There are two mistakes in this call. Which one does validation find?",
    ["the service", "the environment", "both", "none"],
)
guess

# %%
found = check_call(call, tools).problems
print(*found, sep="\n")
places = {problem.pointer for problem in found}
for name in ("service", "environment"):
    print(name, tools["deploy_release"].parameters["properties"][name])

# %% jupyter={"source_hidden": true}
both = {"/service", "/environment"} <= places
guess.reveal(
    "both"
    if both
    else {"/environment": "the environment", "/service": "the service"}.get(min(places), "none"),
    because='The schema lists the allowed environments, and "live" is not one of them. Any text may be a service.',
)

# %% [markdown]
# The person said `cron`, and Qwen wrote `nginx`. No schema can know that. (The description of the argument gives `nginx` as an example. Perhaps Qwen copied it.) If Qwen had written `production`, this call would have passed, and the wrong service would have got a new
# version. So keep two questions apart: is a call **valid**, and is it **right**? This notebook is about the first question. At the end you count how many valid calls are right.

# %% [markdown] tags=["slide"]
# ## Four checks
#
# Each call is checked four times, in this order. The first check that fails stops the call.
#
# | check | question | code of the error |
# | --- | --- | --- |
# | 1 | Is there a tool with this name? | `unknown_tool` |
# | 2 | Is the tool allowed here? | `permission_denied` |
# | 3 | Are the arguments one JSON object? | `invalid_json` |
# | 4 | Does the object meet the schema? | `invalid_arguments` |
#
# The order has reasons. Without a tool there is no schema. If a tool is forbidden, the error should not reveal which arguments it takes. If a text is
# not JSON, it contains no arguments to look at. These five calls were written by hand:


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
# Python reads JSON with one function. Which texts does it accept? These nine were written by hand:

# %%
TEXTS = {
    "fine": '{"days": 7}',
    "a comma too many": '{"days": 7,}',
    "not a number": '{"days": NaN}',
    "larger than any number": '{"days": 1e999}',
    "one key, two values": '{"days": 7, "days": 14}',
    "half an emoji": '{"metric": "\\ud83d"}',
    "a list": '[{"days": 7}]',
    "JSON in JSON": '"{\\"days\\": 7}"',
    "Python, not JSON": "{'days': 7}",
}
guess = predict("How many of these nine texts does json.loads accept?", [1, 3, 5, 7])
guess

# %%
accepted = 0
for what, text in TEXTS.items():
    try:
        loaded = json.loads(text)
    except ValueError:
        loads = "rejected"
    else:
        accepted, loads = accepted + 1, f"accepted: {loaded!a}"
    verdict = check_call(ToolCall(1, 0, "call_1", "forecast", text), shop)
    print(f"{what:23} {loads:37} zoolab: {'may run' if verdict.ok else verdict.problems[0].expected}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    accepted,
    because="json.loads was made to read what programs write. Programs do not write one key twice.",
)

# %% [markdown]
# "One key, two values" is the worst of them. `json.loads` keeps the last value and says nothing, so your log shows one text and your tool gets another. Qwen
# writes such texts, too: you will see one below.
#
# Some texts can even crash your program. A long row of brackets makes `json.loads` raise a `RecursionError`, and that is not a `ValueError`. zoolab first looks at
# the size, the depth and the number of digits of a text. Only then does it read the text.
#
# Blank text is an exception. It is not JSON, but it can only mean that there are no arguments. So zoolab reads blank text as `{}`.

# %% [markdown]
# ## All problems at once
#
# One call can have several problems. This one was written by hand. In notebook 07 you see what Qwen does after this error.

# %%
from zoolab.toolbox.catalog import tools_named

lengths = tools_named("convert_length")
convert = ToolCall(1, 0, "call_1", "convert_length", '{"value": 3, "from": "km", "to": "m"}')
for problem in check_call(convert, lengths).problems:
    print(problem)

# %% [markdown]
# Each line contains three things: the place, what was expected, and what was received. `/source` is a **JSON Pointer**: the path to a value, with a `/` before each
# step. `/hosts/0` would be the first item of `hosts`. All problems are reported together, because the model reads them, and every further try costs a
# request.

# %% [markdown] tags=["slide"]
# ## Codes and numbers
#
# Here are all error codes of zoolab. `stage` says in which step the error happens. `error_type` is the word that the model reads. Some programs and
# their logs use numbers for errors, as HTTP does. So most codes have a `number`, too.

# %%
import pandas as pd

from zoolab.errors import ERROR_CODES

guess = predict(
    f"There are {len(ERROR_CODES)} codes. About how many of these errors is the model told?", [3, 8, 13, 18]
)
guess

# %%
codes = pd.DataFrame(
    {
        "stage": each.stage,
        "code": each.code,
        "number": each.number or "",
        "told": "the model" if each.returned else "nobody" if each.stage == "select" else "the caller",
        "error_type": each.error_type or "",
    }
    for each in ERROR_CODES.values()
)
codes.style.hide(axis="index")

# %% jupyter={"source_hidden": true}
guess.reveal(
    int((codes["told"] == "the model").sum()),
    because="A model can write a call again. It cannot mend your schema, your network or your recording.",
)

# %% [markdown]
# "The caller" is your program. It gets an exception. Look at three more things:
#
# - Several codes share a number. 501 covers every failure of a tool that ran, and 506 covers both kinds of invalid arguments. The code says more than the number.
# - `unknown_tool` and `resource_not_found` have the same `error_type`, because for the model both mean: this name does not exist.
# - Nobody is told about `no_tool_call` and `wrong_tool`. No program knows what a person meant. You see these two only in a test whose right answers are known.

# %% [markdown]
# ## The real mistakes of Qwen
#
# Now validate all calls that Qwen made. Each request allowed 96 tokens for the reply. (A **token** is a piece of a word.)

# %%
rows = []
for case in cases.itertuples():
    tools, reply, calls = ask(case.Index)
    for call in calls:
        verdict = check_call(call, tools)
        about = {"prompt": case.Index, "needed": case.tool, "offered": tools.names(), "called": call.name}
        came = {"arguments": call.arguments, "verdict": verdict, "finish_reason": reply.finish_reason}
        rows.append(about | came | {"code": verdict.error_code or "valid"})
made = pd.DataFrame(rows)
print(f"{len(cases)} requests, {len(made)} calls")

# %%
KINDS = ["unknown_tool", "invalid_json", "invalid_arguments"]
guess = predict("Which mistake is the most frequent one?", KINDS)
guess

# %%
counts = made["code"].value_counts()
counts.to_frame("calls")

# %% jupyter={"source_hidden": true}
guess.reveal(
    counts.reindex(KINDS, fill_value=0).idxmax(),
    because="Qwen invents names that sound right. The next table shows when.",
)

# %%
invented = made[made["code"] == "unknown_tool"]
invented = invented.assign(
    needed=invented["needed"].fillna("no tool"), offered=invented["offered"].str.join(", ")
)
invented[["prompt", "needed", "offered", "called"]].head(10).style.hide(axis="index")

# %% [markdown]
# Read the column `needed`. Qwen invents a tool mostly where no tool fits: to translate, to encrypt a disk, to say good morning. It writes a call that would be right if the
# tool existed. So validation stops these calls, but the cause is another one. This model seldom answers without a call ([04](04-selection.ipynb)).
#
# Next, the texts that are not JSON.

# %%
not_json = made[made["code"] == "invalid_json"]
guess = predict(
    f"{len(not_json)} calls are not valid JSON. How many of these replies did Qwen end by itself?",
    range(max(len(not_json), 1) + 1),
)
guess

# %%
display(pd.crosstab(made["code"], made["finish_reason"]))
print(*not_json["arguments"].head(1))

# %% jupyter={"source_hidden": true}
guess.reveal(
    int((not_json["finish_reason"] != "length").sum()),
    because="`length` means that the reply reached the limit of 96 tokens. We set this limit, not the model.",
)

# %% [markdown]
# All of these replies were cut by our limit. Nobody knows how they would have ended. If you count only error codes, you blame the model for your own limit. So read `finish_reason`
# together with the code.
#
# Last, the arguments that do not meet their schema:

# %%
for row in made[made["code"] == "invalid_arguments"].drop_duplicates("called").itertuples():
    print(f"{row.prompt}\n    {row.called}:", *row.verdict.problems)

# %% [markdown]
# Look at the refund. The person says that nothing is left to do, and Qwen refunds all the same, with an amount of 0. The schema wants an amount above 0, so it stopped a
# call that nobody wanted. A schema with exact limits catches more than typing errors.

# %% [markdown]
# ## Count each check by itself
#
# The four checks run one after the other. So a call is counted where it fails *first*, and you do not see what else is wrong with it. SmolLM2-135M-Instruct, a much smaller model, got similar
# requests, with the tools described in its prompt.

# %%
outputs = datasets.load("selection-outputs")
smol = outputs[(outputs["model"] == "smollm2") & (outputs["purpose"] == "choose")]
print(f"{len(smol)} replies")
smol["verdict"].value_counts().to_frame("replies, by the first thing that is wrong")

# %% [markdown]
# This table contains no malformed JSON. So does SmolLM2 write good JSON? Ask only check 3. The tool `anything` accepts every object, so only the JSON
# can fail.

# %%
guess = predict(
    "Ask check 3 of all these replies. How many contain malformed JSON?",
    ["0", "1 or 2", "5 to 10", "more than 20"],
)
guess

# %%
from zoolab import Tool
from zoolab.steps.validate import check_arguments

anything = Tool("anything", "Accepts any object.", {"type": "object"})


def is_malformed(reply):
    return any(not check_arguments(call["arguments"], anything).ok for call in reply.calls)


malformed = pd.Series([is_malformed(reply) for reply in smol.itertuples()], index=smol.index)
display(smol[malformed].groupby(["verdict", "finish_reason"]).size().to_frame("malformed JSON"))

# %% jupyter={"source_hidden": true}
count = int(malformed.sum())
guess.reveal(
    "0" if not count else "1 or 2" if count < 3 else "5 to 10" if count < 11 else "more than 20",
    because=f"There are {count}. Most of them name an unknown tool as well, so the first table counts them there.",
)

# %% [markdown]
# If SmolLM2 learned the names of the tools, the first table would suddenly show malformed JSON. But it would not be new. So count every check by itself before you say
# that a mistake is rare. And look at the finish reason here, too: these replies were cut.

# %% [markdown]
# ## Temperature and mistakes
#
# The replies above were made at **temperature** 0: the model always takes the token with the best score. At a higher temperature chance decides more often. Here Qwen
# got twelve questions once at temperature 0, and five times at 0.8, each time with another seed. Tools and system prompt are the same. Only the first reply to each
# question counts.


# %%
def mistakes(name):
    "The invalid calls in the first reply to each question of a recording."
    replay, found = model_for(None, name), {}
    for body in replay.recording.openings:
        tools = ToolRegistry([Tool(**each["function"]) for each in body["tools"]])
        reply = replay(Request(body["messages"], tuple(body["tools"])))
        invalid = [call for call in read_calls(reply.message, text=True) if not check_call(call, tools).ok]
        found[body["messages"][-1]["content"]] = [(call, check_call(call, tools)) for call in invalid]
    return found


cold = mistakes("qwen-course-06")
warm = [mistakes(f"qwen-sampled-seed{seed}") for seed in range(1, 6)]
print(f"temperature 0: {sum(map(bool, cold.values()))} of {len(cold)} first replies contain an invalid call")

# %%
guess = predict(
    "And at 0.8, how many of the 60 first replies contain an invalid call?",
    ["none", "1 to 5", "6 to 15", "more than 15"],
)
guess

# %%
total = sum(bool(invalid) for found in warm for invalid in found.values())
print(total, "of", sum(map(len, warm)))
for seed, found in enumerate(warm, 1):
    for question, invalid in found.items():
        for call, verdict in invalid:
            print(
                seed, verdict.error_code, "|", question[:42], "|", call.name, " ".join(call.arguments.split())
            )

# %% jupyter={"source_hidden": true}
guess.reveal(
    "none" if not total else "1 to 5" if total < 6 else "6 to 15" if total < 16 else "more than 15",
    because="The same weights and the same questions. Only chance was added.",
)

# %% [markdown]
# Here is malformed JSON that was not cut. One text has one key with three values, and another one contains a multiplication where a number belongs. With different seeds Qwen invents different names: `say`,
# `say_hello`. Is the difference between 0 and 0.8 more than luck? Compare question by question, as in notebook 04:

# %%
from zoolab_study.statistics import paired_difference

at_zero = {question: [float(bool(invalid))] for question, invalid in cold.items()}
at_08 = {question: [float(bool(found[question])) for found in warm] for question in cold}
print("invalid first replies, 0.8 against 0:", paired_difference(at_zero, at_08))

# %% [markdown]
# Twelve questions are few, so the interval is wide. If it contains 0, the data do not decide. They only point in one direction. A low temperature is the safer choice for tool calls, if your endpoint lets
# you choose. But it mends nothing: Qwen made all the mistakes under "The real mistakes of Qwen" at temperature 0.

# %% [markdown] tags=["slide"]
# ## What validation cannot see
#
# Go back to the calls at temperature 0, and take only the valid ones. For each request people wrote down the right call. So we can compare.

# %%
from zoolab_study.datasets.berkeley import same_arguments


def judge(row):
    meant = cases.loc[row.prompt, "arguments"]
    if row.called != row.needed:
        return "no tool was needed" if pd.isna(row.needed) else "wrong tool"
    given, schema = dict(row.verdict.arguments), ALL[row.called].parameters
    if same_arguments(meant, given, schema):
        return "right"
    same = all(key in given and given[key] == meant[key] for key in meant)
    return "an argument that nobody mentioned" if same else "another value"


valid = made[made["code"] == "valid"]
guess = predict(
    "How many of the valid calls are exactly what was meant?",
    ["nearly all", "about three quarters", "about half", "about a quarter"],
)
guess

# %%
judged = valid.assign(judgement=[judge(row) for row in valid.itertuples()])
judged["judgement"].value_counts().to_frame("valid calls")

# %% jupyter={"source_hidden": true}
share = (judged["judgement"] == "right").mean()
guess.reveal(
    "nearly all"
    if share > 0.85
    else "about three quarters"
    if share > 0.62
    else "about half"
    if share > 0.4
    else "about a quarter",
    because=f"It is {share:.0%}. All of these calls passed all four checks.",
)

# %% [markdown]
# The comparison is strict. An argument that nobody mentioned can be harmless, such as the number of lines of a log. A title in other words counts as another value. But read these:

# %%
for row in judged[judged["judgement"] == "another value"].drop_duplicates("called").head(5).itertuples():
    print(row.prompt)
    print("   wrote:", row.called, json.dumps(dict(row.verdict.arguments)))
    print("   meant:", row.called, json.dumps(cases.loc[row.prompt, "arguments"]), "\n")

# %% [markdown]
# "For colleagues only" became `public`. Such a call is valid. It runs, and the note is public. What helps? Ask a person before the call runs
# ([08](08-execution.ipynb)), and measure with known answers ([14](14-evaluation.ipynb)). Validation checks the form, and nothing else.

# %% [markdown]
# ## Your turn
#
# **1. Each key once.** Write `load_once`. It must read JSON as `json.loads` does, but raise a `ValueError` if an object contains a key twice.


# %%
def load_once(text):
    return json.loads(text)


# %%
for text, fine in [
    ('{"a": 1, "b": 2}', True),
    ('{"days": 7, "days": 14}', False),
    ('{"days": 7, "days": 7}', False),
    ('[{"a": 1}, {"a": 2}]', True),
    ('{"first": {"day": 1, "day": 2}}', False),
]:
    try:
        accepted = load_once(text) == json.loads(text)
    except ValueError:
        accepted = False
    print("right  " if accepted == fine else "not yet", "|", "accept" if fine else "reject", text)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `json.loads` takes `object_pairs_hook=`. This is a function of yours. It gets the list of all pairs of an object, and returns the object.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def each_key_once(pairs):
#     if len(dict(pairs)) < len(pairs):
#         raise ValueError("a key twice")
#     return dict(pairs)
#
#
# def load_once(text):
#     return json.loads(text, object_pairs_hook=each_key_once)
# ```
#
# A dict keeps one value for each key, so it is shorter than the list if a key comes twice. The hook is called for inner objects, too. `zoolab.jsontext.parse_json` is the
# whole strict reader, and lab l5 lets you write one.
#
# </details>

# %% [markdown]
# **2. Find the cause.** A code says what is wrong, and not why. Write `cause`, so that it returns one of three causes: `"our limit"` if the reply was cut, `"no tool fits"` if the
# model invents a tool although no tool is needed, and else `"the model"`. `needed` is the name of the right tool, or None.


# %%
def cause(code, finish_reason, needed):
    return "the model"


# %%
CAUSES = [
    (("invalid_json", "length", "create_report"), "our limit"),
    (("invalid_json", "stop", "create_report"), "the model"),
    (("unknown_tool", "stop", None), "no tool fits"),
    (("unknown_tool", "stop", "restart_service"), "the model"),
    (("unknown_tool", "length", None), "our limit"),
    (("invalid_arguments", "stop", None), "the model"),
]
for given, why in CAUSES:
    print("right  " if cause(*given) == why else "not yet", "|", given, "->", why)

invalid = made[made["code"] != "valid"].astype(object).where(lambda frame: frame.notna(), None)
print(
    invalid.apply(lambda row: cause(row.code, row.finish_reason, row.needed), axis=1).value_counts().to_dict()
)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Ask about the limit first. A reply that was cut says nothing about what the model would have written.
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def cause(code, finish_reason, needed):
#     if finish_reason == "length":
#         return "our limit"
#     if code == "unknown_tool" and needed is None:
#         return "no tool fits"
#     return "the model"
# ```
#
# Each cause needs another remedy: more tokens, a way to say that no tool fits ([11](11-structured-output.ipynb)), or a better description and a repair. A table of
# codes alone would send you to the wrong one.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Four checks, in this order: is the tool known, is it allowed, is it one JSON object, does it meet the schema?
# - Read JSON from a model with a strict reader. `json.loads` accepts one key with two values.
# - An error has a place, an expectation and a code. The code decides whether the model or your program is told.
# - Count each check by itself, and read the finish reason. Your own limit can look like a mistake of the model.
# - Valid is not right. Only known answers or a person can tell the difference.
#
# Next: [07 · Repair](07-repair.ipynb). Lab: [l5 · Validate a call](../labs/l5/l5.ipynb).
