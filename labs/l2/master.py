# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 2 · Validate a call
#
# A model asks for a tool by writing text: a name, and arguments in JSON. That text is a stranger's input. Before anything
# runs, your program decides whether it may: does the tool exist, is the text JSON, does it fit the tool's schema?
#
# It is a small function, and a famous place for accidents. Two well-known agent frameworks ran the tool with **no**
# arguments, `{}`, when the text could not be read; a file tool then works on its default folder. And Python itself is
# lax: `json.loads` takes `NaN`, lets the last of two equal keys win, and `isinstance(True, int)` holds.
#
# Read notebook 06 first. This lab takes about 45 minutes and needs no key and no network.

# %% [markdown]
# ## What you get
#
# `validate(call, registry)` gets a call as it is on the wire, and a registry: a dict from each tool's name to the
# **JSON Schema** of its arguments, the description of what it takes.

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
# Schemas here use these keywords and no others: `type` (one of `string integer number boolean array object`; every
# schema has one), `properties`, `required`, `additionalProperties` (`false`, or not there), `items`, `enum`, `minimum`,
# `maximum`. A registry may hold any tool that can be described so.

# %% [markdown]
# ## What you return
#
# A **list** with one dict for each problem, in any order; an empty list when the call may run. A problem has a `code`
# and a `pointer`; further keys, a message for instance, are welcome and not judged.
#
# | code | when | pointer |
# | --- | --- | --- |
# | `unknown_tool` | the name is not in the registry, letter by letter | `""` |
# | `invalid_json` | the arguments are not one JSON object | `""` |
# | `invalid_arguments` | a value does not fit its schema, is missing, or is one too many | where |
#
# The first two end the matter: they are then the only problem. Of the third kind, report **all** at once: a model that
# hears of one problem at a time needs one round for each.
#
# A **JSON Pointer** is a path: `/nights` is the argument, `/guests/0/age` the age of the first guest. What is missing has
# the pointer that it would have, what is too much the pointer that it has. `~` in a name is written `~0`, `/` is written `~1`.

# %% [markdown]
# ## The small print
#
# - Blank text stands for `{}`. `null`, a list, or a text with JSON inside does not: that is `invalid_json`.
# - `NaN`, `Infinity`, `-Infinity` and a key that comes twice in one object, equal values or not, are `invalid_json`. So is
#   Python: `True`, single quotes, a comment, a comma too many. Inside of a text in quotes all of this is only text.
# - Nothing is cut out: an object with other text around it, a code fence for one, is `invalid_json`.
# - Nothing is converted: `"3"` is no number, `true` is no integer and no number, `2.0` is no integer. `2` is a number.
# - A value of the wrong type is one problem; what is inside of it is not looked at.
# - `validate` never raises, whatever the text: 100,000 opened brackets, or a number of 5,000 digits, are `invalid_json`.
# - The call and the registry stay as they are.
#
# You may build all of it yourself or use the package `jsonschema`, which does not agree with every line above.
# Only `validate` is judged; the two helpers are a suggestion.

# %% [markdown]
# ## 1. Read the arguments
#
# `json.loads` takes two hooks: `object_pairs_hook` is called with the list of key and value pairs of each object, and
# `parse_constant` with the text of each `NaN` or `Infinity`. A hook that raises `ValueError` makes the text invalid.


# %%
def read_arguments(raw):
    "The arguments as a dict, or None when the text is not one JSON object."
    # BEGIN SOLUTION
    try:
        value = json.loads(raw.strip() or "{}", object_pairs_hook=each_key_once, parse_constant=refuse)
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
# This one calls itself: for each property of an object, for each item of a list, with a longer pointer.


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
# ## 3. Validate
#
# Known tool, one JSON object, as the schema says: in this order.


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
# These are the public checks, run on the code in this notebook in a process of its own. There are more when you hand
# it in, on other tools with other names.

# %%
from zoolab import check

check("l2")
