# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 5 · Validate a call
#
# A model asks for a tool by writing text: a name, and arguments in JSON. You cannot trust this text. Before anything
# runs, your program checks three things: does the tool exist, is the text JSON, and does it fit the tool's schema?
#
# The function is small, and accidents happen here. Two well-known agent frameworks ran the tool with **no**
# arguments, `{}`, when they could not read the text. Then a file tool works on its default folder. And Python itself
# is not strict: `json.loads` accepts `NaN`, it keeps only the last of two equal keys, and `isinstance(True, int)` is
# true.
#
# Read notebook 06 first. This lab takes about 45 minutes and needs no key and no network.

# %% [markdown]
# ## What you get
#
# `validate(call, registry)` gets two things. The call looks as the model's server sends it. The registry is a dict:
# for each name of a tool it has the **JSON Schema** of its arguments.

# %%
import json

registry = {
    "book_room": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "nights": {"type": "integer", "minimum": 1, "maximum": 30},
            "board": {"type": "string", "enum": ["none", "half", "full"]},
            "guests": {
                "type": "array",
                "items": {"type": "object", "properties": {"age": {"type": "integer"}}},
            },
        },
        "required": ["city", "nights"],
        "additionalProperties": False,
    },
}


def a_call(name, arguments):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


a_call("book_room", '{"city": "Oslo", "nights": 2}')

# %% [markdown]
# The schemas in this lab use only these keywords: `type` (one of `string integer number boolean array object`; every
# schema has one), `properties`, `required`, `additionalProperties` (`false`, or not there), `items`, `enum`,
# `minimum`, `maximum`. A registry may contain any tool that these keywords can describe.
# (`properties`, `required` and `additionalProperties` are only in schemas of objects, `items` only in those of lists,
# `minimum` and `maximum` only in those of numbers, `enum` only in those of numbers and strings.)

# %% [markdown]
# ## What you return
#
# A **list** with one dict for each problem, in any order; an empty list if the call may run. (A tuple is fine, too.) A
# problem has a `code` and a `pointer`. Further keys, such as a message, are not judged, but JSON must be able to
# express them.
#
# | code | when | pointer |
# | --- | --- | --- |
# | `unknown_tool` | the name is not in the registry, letter by letter | `""` |
# | `invalid_json` | the arguments are not one JSON object | `""` |
# | `invalid_arguments` | a value does not fit its schema, is missing, or is one too many | where |
#
# If a call has one of the first two problems, it is the only problem to report. Of the third kind, report **all** at
# once. If you report one at a time, the model needs one round for each.
#
# A **JSON Pointer** is a path: `/nights` is the argument, and `/guests/0/age` is the age of the first guest. A
# missing value has the pointer that it would have. A value that is too much has its own pointer. `~` in a name is
# written `~0`, `/` is written `~1`.

# %% [markdown]
# ## The small print
#
# - Blank text means `{}`. `null`, a list, or a string that contains JSON does not: these are `invalid_json`.
# - `NaN`, `Infinity` and `-Infinity` are `invalid_json`. So is a key that is twice in one object, even if both values
#   are equal. So is Python's notation: `True`, single quotes, a comment, a comma too many. Inside a string, all of
#   this is only text.
# - Do not cut anything out. An object with other text around it, such as a code fence, is `invalid_json`.
# - Do not convert anything. `"3"` is not a number. `true` is neither an integer nor a number. `2.0` and `2e0`
#   are not integers. `2` is a number, too, and equals `2.0`.
# - A value of the wrong type is one problem. Do not look inside it.
# - `validate` never raises, whatever the text: 100,000 opened brackets, or a number of 5,000 digits, are `invalid_json`.
#   (A number such as `1e999`, and half of a surrogate pair, such as `"\ud83d"`, are not judged.)
# - Do not change the call or the registry.
#
# You may write all of it yourself, or use the package `jsonschema`. But `jsonschema` does not follow every rule
# above. Only `validate` is judged. The two helpers are a suggestion.

# %% [markdown]
# ## 1. Read the arguments
#
# `json.loads` has two hooks. It calls `object_pairs_hook` with the list of key and value pairs of each object. It
# calls `parse_constant` with the text of each `NaN` or `Infinity`. A hook that raises `ValueError` makes the text
# invalid.


# %%
def read_arguments(raw):
    "The arguments as a dict, or None when the text is not one JSON object."
    # BEGIN SOLUTION
    try:
        value = json.loads(
            raw if raw.strip() else "{}", object_pairs_hook=each_key_once, parse_constant=refuse
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def each_key_once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")
    # END SOLUTION


# %% [markdown]
# ## 2. Compare a value with its schema
#
# This function calls itself with a longer pointer: for each property of an object, and for each item of a list.


# %%
def problems_in(value, schema, pointer=""):
    "A list of problems, each with the code invalid_arguments and the pointer of what is wrong."
    # BEGIN SOLUTION
    if not has_type(value, schema["type"]) or not is_allowed(value, schema):
        return [problem("invalid_arguments", pointer)]
    found = []
    if schema["type"] == "array" and "items" in schema:
        for index, item in enumerate(value):
            found += problems_in(item, schema["items"], f"{pointer}/{index}")
    if schema["type"] == "object":
        known = schema.get("properties", {})
        names = [name for name in schema.get("required", []) if name not in value]
        if schema.get("additionalProperties") is False:
            names += [name for name in value if name not in known]
        found += [problem("invalid_arguments", step(pointer, name)) for name in names]
        for name in value.keys() & known.keys():
            found += problems_in(value[name], known[name], step(pointer, name))
    return found
    # END SOLUTION


# %%
# BEGIN SOLUTION
# STUB: # Room for helpers, if you want some.
KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, KINDS[name])


def is_allowed(value, schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    in_bounds = (low is None or value >= low) and (high is None or value <= high)
    return in_bounds and value in schema.get("enum", [value])


def step(pointer, name):
    return pointer + "/" + name.replace("~", "~0").replace("/", "~1")


def problem(code, pointer):
    return {"code": code, "pointer": pointer}


# END SOLUTION


# %% [markdown]
# Try the two parts before you go on: `None` or nothing means that a part is not written yet, or that it refuses.

# %%
for raw in ('{"city": "Oslo"}', " ", "[1]", '{"a": NaN}', '{"a": 1, "a": 2}', '{"city": "Oslo"'):
    print(f"{raw:17} -> {read_arguments(raw)}")
print(problems_in({"nights": "3", "pets": 1}, registry["book_room"]))

# %% [markdown]
# ## 3. Validate
#
# Check in this order: is the tool known, are the arguments one JSON object, and does it meet the schema?


# %%
def validate(call, registry):
    "The problems of a call, as a list of dicts with `code` and `pointer`; [] when it may run."
    # BEGIN SOLUTION
    name, raw = call["function"]["name"], call["function"]["arguments"]
    if name not in registry:
        return [problem("unknown_tool", "")]
    arguments = read_arguments(raw)
    if arguments is None:
        return [problem("invalid_json", "")]
    return problems_in(arguments, registry[name])
    # END SOLUTION


# %% [markdown]
# ## Try it
#
# **Predict first:** which of these may run, and what is wrong with the others? One has two problems.

# %%
for name, raw in [
    ("book_room", '{"city": "Oslo", "nights": 2}'),
    ("book_rooms", '{"city": "Oslo", "nights": 2}'),
    ("book_room", '{"city": "Oslo", "nights": 2'),
    ("book_room", '[{"city": "Oslo", "nights": 2}]'),
    ("book_room", '{"city": "Oslo", "nights": "2"}'),
    ("book_room", '{"city": "Oslo", "nights": true}'),
    ("book_room", '{"nights": 31, "pets": 1, "city": "Oslo"}'),
    ("book_room", '{"city": "Oslo", "nights": 2, "guests": [{"age": 7}, {"age": "nine"}]}'),
]:
    print(f"{name:11} {raw}\n{'':11} -> {validate(a_call(name, raw), registry)}")

# %% [markdown]
# ## Check it
#
# The cell runs the public cases on the code of this notebook, in a separate process. There are more cases when you
# hand it in. They use other tools with other names.

# %%
from zoolab import check

check("l5")
