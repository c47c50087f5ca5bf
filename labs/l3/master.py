# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 3 · Define three tools
#
# A model never sees your functions. It sees what you write about them: a name, a **description**, which is text, and
# a **JSON Schema**, which says what arguments there are. The description tells it *whether* to call, and the schema
# tells it *how*.
#
# Mistakes in both are hard to see. If a schema accepts any text, the model may send `"severity": "asap!!"`. You
# notice it only when the function fails. And descriptions work like advertising. In a study of 2025 (arXiv
# 2505.18135), only the description of a tool was edited. Then GPT-4.1 used the tool ten times as often, whether or
# not it was the better one.
#
# Read notebook 03 first. This lab takes about 40 minutes and needs no key and no network.

# %% [markdown]
# ## What a tool looks like
#
# This is OpenAI's form. Most servers understand it. `required` lists the arguments that must be there.
# `additionalProperties: False` says that no others are allowed. Without it, invented arguments are accepted.

# %%
check_memory = {
    "type": "function",
    "function": {
        "name": "check_memory",
        "description": "Say how much memory a host has and how much of it is swapped. "
        "Use this when the user asks about RAM.",
        "parameters": {
            "type": "object",
            "properties": {
                "host": {"type": "string", "description": "Name of the host, for example web01."},
                "detail": {
                    "type": "string",
                    "enum": ["sum", "processes"],
                    "description": "The sum only, or each process.",
                },
            },
            "required": ["host"],
            "additionalProperties": False,
        },
    },
}

# %% [markdown]
# ## The three tools
#
# **`check_disk_usage`** tells how full the disk of a host is. Its words: *disk*, *usage*, *space*.
#
# | argument | what it is |
# | --- | --- |
# | `host` | text, required |
# | `path` | text: a folder on the disk |
# | `unit` | `percent` or `gigabytes` |
#
# **`search_logs`** finds what a service wrote down about its work. Its words: *logs*, *lines*, *errors*.
#
# | argument | what it is |
# | --- | --- |
# | `service` | text, required |
# | `level` | `debug`, `info`, `warning` or `error`; required |
# | `words` | a list of texts, at least one: only lines that contain one of them |
# | `limit` | a whole number from 1 to 200 |

# %% [markdown]
# **`open_ticket`** asks colleagues for help. Its words: *ticket*, *problem*, *support*.
#
# | argument | what it is |
# | --- | --- |
# | `title` | text, required |
# | `severity` | `low`, `normal` or `high`; required |
# | `contact` | who asks, required: an object with `name` (text, required) and `email` (text), and nothing else |
# | `hours` | a number, 0 or more: the time that it may take; 0.5 is half an hour |
# | `public` | true or false |
#
# An argument that is not marked as required may be left out, but `null` is not a value for it. No other arguments are
# allowed. The table is complete: a text is any text, of any length. (Whether an empty text is allowed is not judged,
# and a `format` has no effect.) Write the schemas by hand, or let your own code or `pydantic` make them. When you are
# graded, zoolab is not installed.

# %% [markdown]
# ## What is asked of a description
#
# - It says what the tool does and when to use it.
# - A **lexical model** finds the tool by its description. This is not a language model. It compares words: a
#   description gets points for each word that it shares with the request, and more points for rare words. (The
#   formula is called BM25.) The description with the most points wins. The lexical model sees only descriptions, not
#   names: those of your three tools, and of six tools of other people. It must choose each of your tools for each of
#   its three words, and for whole requests that contain them. It must not choose your tools for the requests of the
#   other six.
# - It is a text for readers: 8 to 60 words, at least one in five of them a small word (*a, of, is, the, when, to,
#   …*), and no other word more than three times.
#
# The small words are: *a about after all an and any are as asks at be before below by can do for from has have how
# if in into is it its me not of on only or out over please so than that the their them there they this to use used
# user uses was what when where whether which who why will with you*.
#
# Each argument needs a description too, of three words or more. This includes the arguments in `contact`. In one
# tool, no two descriptions may be alike. (Capital letters and marks make no difference.)

# %% [markdown]
# ## Your three tools

# %%
# BEGIN SOLUTION
# STUB: check_disk_usage = ...  # your code
check_disk_usage = {
    "type": "function",
    "function": {
        "name": "check_disk_usage",
        "description": "Report the disk usage of a host: how full it is, and how much space is free. "
        "Use this when the user asks whether a disk fills up or space runs out.",
        "parameters": {
            "type": "object",
            "properties": {
                "host": {"type": "string", "description": "Name of the host, for example web01."},
                "path": {"type": "string", "description": "A folder on the disk, for example /var."},
                "unit": {"enum": ["percent", "gigabytes"], "description": "Unit of the answer."},
            },
            "required": ["host"],
            "additionalProperties": False,
        },
    },
}
# END SOLUTION

# %%
# BEGIN SOLUTION
# STUB: search_logs = ...  # your code
level = {"enum": ["debug", "info", "warning", "error"], "description": "The lowest level to show."}
words = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "description": "Only lines with one of these.",
}
limit = {"type": "integer", "minimum": 1, "maximum": 200, "description": "At most so many lines."}
service = {"type": "string", "description": "Name of the service, for example nginx."}
about = (
    "Search the logs of a service and return the lines that match, newest first. "
    "Use this when the user asks which errors or warnings there were."
)
parameters = {
    "type": "object",
    "properties": {"service": service, "level": level, "words": words, "limit": limit},
    "required": ["service", "level"],
    "additionalProperties": False,
}
function = {"name": "search_logs", "description": about, "parameters": parameters}
search_logs = {"type": "function", "function": function}
# END SOLUTION


# %%
# BEGIN SOLUTION
# STUB: open_ticket = ...  # your code
def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def text(description, **more):
    return {"type": "string", "description": description, **more}


contact = closed(["name"], name=text("Full name of the person."), email=text("Their mail address."))
parameters = closed(
    ["title", "severity", "contact"],
    title=text("One line about the problem."),
    severity=text("How bad it is.", enum=["low", "normal", "high"]),
    contact={**contact, "description": "Whom to ask back."},
    hours={"type": "number", "minimum": 0, "description": "Hours that it may take."},
    public={"type": "boolean", "description": "Whether everybody may read it."},
)
about = (
    "Open a ticket, so that support looks into a problem. Use this when the user wants colleagues to help."
)
function = {"name": "open_ticket", "description": about, "parameters": parameters}
open_ticket = {"type": "function", "function": function}
# END SOLUTION

# %% [markdown]
# ## Try it
#
# zoolab has a linter for tools. It reports what may confuse a model. This lab does not require all of its advice. For
# example, the linter wants a default for each optional argument.

# %%
written = [tool for tool in (check_disk_usage, search_logs, open_ticket) if isinstance(tool, dict)]
try:
    from zoolab import Tool
    from zoolab.lint import lint
    from zoolab.retrieval import BM25
except ImportError:  # so it is while this notebook is graded
    written = []

for tool in written:
    made = tool["function"]
    for finding in lint(Tool.from_schema(made["name"], made["description"], made["parameters"])):
        print(finding)

# %% [markdown]
# Here the lexical model reads what you have written so far, together with `check_memory`. Each row is a word. Each
# number is the score of one description. **Predict first:** is there a word for which two descriptions have a score?

# %%
texts = [tool["function"]["description"] for tool in [*written, check_memory]]
for word in ("disk", "usage", "space", "logs", "errors", "ticket", "problem", "memory") if written else ():
    print(f"{word:8}", *(f"{score:6.2f}" for score in BM25().scores(word, texts)))

# %% [markdown]
# ## Optional: ask a real model
#
# With `LIVE = "local"` the small model of `zoolab local fetch` chooses; it runs on your machine, without a key. It
# also reads names and arguments, and it is not always right. This is not judged.

# %%
LIVE = None

if LIVE == "local" and written:
    from zoolab import walk
    from zoolab_course.local import LocalModel

    model, made = LocalModel(), [tool["function"] for tool in written]
    tools = [Tool.from_schema(f["name"], f["description"], f["parameters"], lambda **_: "done") for f in made]
    for request in ("Is there space left on the disk of web01?", "Which errors did nginx log?", "Good day!"):
        step = next(step for step in walk(request, tools, model) if step.kind == "tool_call")
        print(request, "->", "no tool" if step.slot is None else step.record.name)

# %% [markdown]
# ## Check it
#
# The cell runs the public cases on the code of this notebook, in a separate process. There are more cases when you
# hand it in.

# %%
from zoolab import check

check("l3")
