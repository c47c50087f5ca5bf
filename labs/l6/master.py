# %% [markdown]
# # Lab 6 · Repair
#
# A model calls a tool by writing its arguments as JSON. Sometimes the text is not JSON: `{'city': 'Oslo',}`. You can
# throw it away, send the error back to the model, or **repair** it.
#
# Even good systems make mistakes in repair. Two well-known ones ran the tool with `{}` when the arguments could not
# be read. And we gave 40 broken texts to a popular repair library: it got 36 right and 4 wrong, without an error. A
# tool that runs with wrong arguments can do damage. A tool that does not run does none.
#
# So the most important rule of your repair is: **it may change how something is written, but never what it says.**

# %% [markdown]
# ## What you are given
#
# Two small functions. Use them as they are.
#
# A **schema** says which arguments a tool takes. Here it is always flat: text, numbers, truth values.
# `problems(value, schema)` lists what is wrong with a value; an empty list means that the value is fine.

# %%
import ast
import json
import math
import re

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


def problems(value, schema):
    """What is wrong with a value, as a list of sentences; empty if nothing is."""
    if not isinstance(value, dict):
        return ["the arguments are not one object"]
    known = schema["properties"]
    found = [f"{key} is missing" for key in schema.get("required", []) if key not in value]
    found += [f"{key} is not an argument of this tool" for key in value if key not in known]
    for key in value.keys() & known.keys():
        found += problems_of_one(key, value[key], known[key])
    return found


# %%
def problems_of_one(key, value, rule):
    """What is wrong with one argument. In Python true is a number; in JSON it is none."""
    fits = isinstance(value, TYPES[rule["type"]]) and (type(value) is bool) == (rule["type"] == "boolean")
    if not fits or (type(value) is float and not math.isfinite(value)):
        return [f"{key} must be of type {rule['type']}"]
    if "enum" in rule and value not in rule["enum"]:
        return [f"{key} must be one of {rule['enum']}"]
    return []


schema = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
print(problems({"city": "Oslo", "days": "3"}, schema))

# %% [markdown]
# `words(text)` lists the words of an object: its keys, its texts and its numbers, in their order. Quotes, commas,
# brackets and the text around the object do not count. `\u00e9` is the letter `é`. Two texts with the same words say
# the same, even if they are written differently. So you can see whether a repair has changed what was meant.


# %%
def words(text):
    """The keys, texts and numbers between the first { and the last }, in their order."""
    text = re.sub(r"(\\u[0-9a-fA-F]{4})+", lambda found: json.loads(f'"{found[0]}"'), text)
    start, end = text.find("{"), text.rfind("}")
    inside = text[max(start, 0) : end if end > start else len(text)]
    found = re.findall(r"""[^\s{}\[\]:,"'\\`]+""", inside)
    python = {"True": "true", "False": "false", "None": "null"}
    return [python.get(word, word) for word in found]


print(words("Here you are: {'city': 'Oslo', 'days': 3,}"))
print(words('{"city": "Oslo", "days": 3}'))
print(words('{"city": "Bergen", "days": 3}'))

# %% [markdown]
# ## Your task
#
# Write `repair(raw, schema, model, budget)`. It returns the arguments as a dict, or `None`.
#
# `raw` is the text that the model wrote. `model` is a function: you give it a question as text and it
# returns its **proposal**, which is text as well. The model is asked at most `budget` times, and not at all
# with a budget of 0. Use only Python's standard library.
#
# 1. Text that is valid already comes back as it is; the model is not asked.
# 2. Then come rules, without the model. A Markdown fence around the JSON comes off: three backticks on a
#    line above it, maybe followed by the word `json` or `JSON`, and three on a line below. A comma before
#    the closing brace is dropped. Single quotes are read as Python prints a dict: `{'guest': "O'Hara"}`.
#    JSON inside a JSON string (`"{\"city\": \"Oslo\"}"`) is opened. Several of these faults may come
#    together. Text is read and never run.
# 3. These are all the rules. If the rules cannot read a text, ask the model. Examples are `{city: Oslo}`,
#    and a number in quotes if the schema wants it without quotes. Each question contains the raw text (as
#    it is, or as JSON or Python writes it) and the whole schema. After a proposal that failed, the next
#    question also contains that proposal. A proposal may be badly written itself: the same rules read it.
#    The first right one ends the asking. A model that raises an error has used one question; the next may
#    help.
#
# Text before or after the JSON, with a fence or without, is not a fault that you must repair. You may read such a
# text, or leave it to the model. The brackets of a list are not such text: no rule reads `[{"city": "Oslo"}]`.

# %% [markdown]
# 4. Everything that you return, from the rules or from the model, **meets the schema** (`problems` finds
#    nothing). It also **has the words of `raw`**: all of them, in the same order, and no others. Letters
#    count: `OSLO` is not `Oslo`. Compare `words(raw)` with the words of the value that you return,
#    written with `json.dumps`. Do not compare it with the words of the proposal's text, because that text
#    may have a key twice, and the value cannot. (You may also refuse such a proposal.) Words do not show
#    the marks around them. So a rule must not change anything inside a string. (`1.50` and `1.5` are two
#    words, because Python writes the second. JSON may write 😀 as `\ud83d\ude00`, which Python reads as two
#    broken signs. No case has such numbers or such signs.)
# 5. Else you return `None`, never `{}`. You return `None` as well, whatever the model proposes, for
#    - text with an opening brace and no closing one: it was cut off, and nobody knows what is missing. (One
#      closing brace is enough, wherever it stands: do not count braces.)
#    - text with two meanings: a key that is there twice, in one object or in two. (It is enough to compare the
#      words: no case has a proposal that puts both values into one text, such as `Oslo city Bergen`.)
#
# Then write `run_tool(raw, schema, tool, model, budget)`: it repairs with this budget, calls
# `tool(**arguments)` once, and returns `{"ran": True, "result": what the tool returned}`. If nothing right
# came, the tool does not run, and you return `{"ran": False, "result": None}`. No tool raises an error here.


# %%
# BEGIN SOLUTION
# STUB: def repair(raw, schema, model, budget):
# STUB:     ...  # your code
# STUB:
# STUB:
# STUB: def run_tool(raw, schema, tool, model, budget):
# STUB:     ...  # your code
def readings(text):
    """The objects that the rules find in a text, the plainest first."""
    text = text.strip()
    fence = re.fullmatch(r"```\w*\s*(.*?)\s*```", text, re.DOTALL)
    inner = fence[1] if fence else text
    for candidate in (text, inner, re.sub(r",\s*}$", "}", inner)):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(candidate)
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
            yield from readings(value) if isinstance(value, str) else [value]


# %%
def accepted(text, raw, schema):
    """The arguments in a text, if they meet the schema and have the words of raw."""
    for value in readings(text):
        if not problems(value, schema) and words(json.dumps(value, ensure_ascii=False)) == words(raw):
            return value
    return None


def is_cut_off(raw):
    return "{" in raw and "}" not in raw


# %%
def repair(raw, schema, model, budget):
    found = accepted(raw, raw, schema)
    question = f"Write these arguments as JSON, and change no word: {raw}\nSchema: {json.dumps(schema)}"
    asked = 0
    while found is None and asked < budget and not is_cut_off(raw):
        asked += 1
        try:
            proposal = str(model(question))
        except Exception:
            continue
        found = accepted(proposal, raw, schema)
        question += f"\nThis was wrong: {proposal}\n{[problems(v, schema) for v in readings(proposal)]}"
    return found


# %%
def run_tool(raw, schema, tool, model, budget):
    arguments = repair(raw, schema, model, budget)
    if arguments is None:
        return {"ran": False, "result": None}
    return {"ran": True, "result": tool(**arguments)}


# END SOLUTION

# %% [markdown]
# ## Try it by hand
#
# The model below is **scripted**: it returns the texts of a list, whatever you ask it. That is enough to see what
# your code does. The first proposal changes the city, so your code must reject it.


# %%
def scripted(*proposals):
    """A model that gives these proposals one after the other, and shows what it was asked."""
    left = list(proposals)

    def model(question):
        print("asked:", question)
        return left.pop(0)

    return model


for raw in ("{'city': 'Oslo', 'days': 3,}", '{"city": "Oslo", "days": 3', "{city: Oslo, days: 3}"):
    model = scripted('{"city": "Bergen", "days": 3}', '{"city": "Oslo", "days": 3}')
    print(raw, "->", repair(raw, schema, model, 2))


# %%
def book(city, days):
    return f"{days} days in {city}"


print(run_tool('```json\n{"city": "Oslo", "days": 3}\n```', schema, book, scripted(), 0))

# %% [markdown]
# You can also ask a real model. Set `LIVE` to `"local"` for the small model on this machine (`zoolab
# local fetch` downloads it), or to `"endpoint"` for the model at `OPENAI_BASE_URL`. Do not expect much of
# a small model. In one of our trials, SmolLM2 repaired none of 34 texts. Your code has to reject each of
# them.

# %%
LIVE = ""

if LIVE:
    from zoolab_course.local import LocalModel
    from zoolab.models import OpenAIModel
    from zoolab.records import Request

    live = LocalModel() if LIVE == "local" else OpenAIModel()
    ask = lambda question: live(Request([{"role": "user", "content": question}])).text  # noqa: E731
    print(repair("{city: Oslo, days: 3}", schema, ask, 2))

# %% [markdown]
# ## Check it
#
# Save the notebook first. The cell runs the public cases. The hidden cases ask the same with other values.

# %%
from zoolab import check

check("l6")
