# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 9 · Test the tester
#
# In lab 1 a grader told you whether your loop was right. How did it know? Now you write the grader.
#
# Tests of loops can be wrong in two ways. A test that is too **lenient** passes broken loops. For example, it looks
# only at the final answer, and a script always gives that. A test that is too **strict** refuses right loops, for
# example because they say `Error:` and it expected `ERROR:`. Both happened in graders of real courses. A right answer
# got no points because it printed a warning. And an object that claimed to equal everything got all points.
#
# You can measure a test: break the program on purpose, in many small ways, and count how often the test notices. Each
# broken version is called a **mutant**, and the method is called **mutation testing**.
#
# Do lab 1 first. This lab takes about two hours and needs no key and no network.

# %% [markdown]
# ## What you get
#
# You get a loop, but not its code. You get only `run`: it makes one conversation with the loop and returns what
# happened.
#
# `run(messages, replies, tools, limit=8)`
#
# | you give | what it is |
# | --- | --- |
# | `messages` | the conversation so far: at least one message |
# | `replies` | what the scripted model says, one message after the other (1 to 30) |
# | `tools` | name -> `{"returns": value}` or `{"raises": "why"}` |
# | `limit` | how often the model may be asked, at most (1 to 30) |
#
# Keep a scenario small: 10,000 characters and 30 calls at most.

# %% [markdown]
# It returns a dict, a record of what the loop did:
#
# | key | what it holds |
# | --- | --- |
# | `messages` | the messages that the loop returned |
# | `requests` | a list, one for each time the model was asked: `{"messages": [...], "tools": [names]}` |
# | `executed` | a list of `[name, arguments]`, each call that ran, in the order they ran |
# | `given` | your list `messages`, as it was afterwards |
# | `ended` | `"returned"`, or what the loop raised, as `"raised ValueError: ..."` |
#
# A loop that asks for more replies than you scripted ends with `"raised EOFError: ..."`. If a loop raised, `messages` are those
# of its last request.

# %% [markdown]
# ## What a right loop does
#
# The rules of lab 1:
#
# 1. It asks with all messages so far and all tools, every time, first with the messages as they were given.
# 2. A reply without calls is the answer, even if it has no text, or if `tool_calls` is an empty list or `None`. It is
#    appended as it came, and all messages are returned.
# 3. A reply with calls is appended as it came, with its text and its arguments, before the results.
# 4. Every call runs once, with its own arguments. One result for each follows, in the order of the calls, with role
#    `tool` and the call's id as `tool_call_id`. Ids may repeat, also in a later reply. These are still separate
#    calls.
# 5. The content of a result is text: a string as it is, anything else as JSON.
# 6. Errors are results. If a tool raises, the result has the word `error` and the reason. If the tool is unknown, it
#    has the word `error` and the name. The reason and the name are not changed: each capital letter stays. If the
#    arguments are not one JSON object, the result has the word `error`. In the last two cases nothing runs. The other
#    calls run all the same, and the conversation goes on.
# 7. The model is asked `limit` times at most. The last calls get their results then too, and all messages are returned.
# 8. The caller's list is not changed.

# %% [markdown]
# What a right loop is **free** to do:
#
# - run the calls of a reply in any order;
# - use its own words for errors, and write the word `error` in large or small letters;
# - use its own layout for JSON: spaces, the order of keys, escapes;
# - add a key `name` to a result;
# - at the limit, run the last calls, or just answer them with some text.
#
# ## How far a broken loop goes
#
# No test finds every fault. So these are the bounds: each broken loop shows its fault in one of these situations.
#
# | what | in which situations |
# | --- | --- |
# | conversations | up to 12 replies, and up to 6 calls in one; the given messages may have calls and results in them |
# | values that tools return, and arguments | every kind of JSON value, also false and empty ones, and an object with a key `error`; lists of up to 60 values |
# | texts | up to 300 ASCII characters: spaces around them, several lines, capital letters, digits, the word `error` |
# | arguments that are not one JSON object | blank or cut text; words, a fence or a second object around an object; single quotes; a comma before the closing brace; every other kind of JSON value; JSON in a text |
# | unknown tools | any name, also one that differs from a tool's name in capital letters, in a space (also for `_`), or in `functions.` before it |
#
# A broken loop confuses no numbers that are equal in Python, such as `1`, `1.0` and `true`. It always returns a list of
# messages. Ids and names are not empty.
#
# ## The task
#
# Write `faults_of(run)`. It tries the loop behind `run` as often as it likes (up to 100 times) and returns a **list
# of texts**: one for each fault that it found, in your own words (a million characters at most). For a right loop,
# the list is empty. Do not raise: a test that crashes has found nothing. One text is enough. So you can
# stop at the first fault, which saves time. All loops together have 15 seconds of computing time, which is enough for
# dozens of small scenarios.
#
# You will be judged with loops that you have not seen, in any order. Your checks must pass the right loops, and find
# a fault in the broken ones.
#
# ## A loop to try it on
#
# Here is a right loop with the same `run`. When your checks pass it, break it: delete a line or swap two, and see
# whether your checks notice.

# %%
import json


# %%
def right_loop(messages, model, tools, limit):
    "A right loop, to be broken."
    messages = list(messages)
    for _ in range(limit):
        reply = model(messages, list(tools))
        messages.append(reply)
        if not reply.get("tool_calls"):
            break
        for call in reply["tool_calls"]:
            content = content_of(call["function"], tools)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return messages


def content_of(function, tools):
    try:
        arguments = json.loads(function["arguments"])
        value = tools[function["name"]](**arguments)
    except Exception as error:
        return f"ERROR: {error}"
    return value if isinstance(value, str) else json.dumps(value)


# %%
class Scene:
    "Plays the model and the tools for a loop, and writes down what happens."

    def __init__(self, replies):
        self.replies, self.requests, self.executed = replies, [], []

    def model(self, messages, tools):
        self.requests.append({"messages": list(messages), "tools": tools})
        if len(self.requests) > len(self.replies):
            raise EOFError("the script has no further reply")
        return self.replies[len(self.requests) - 1]

    def tool(self, name, does):
        def run(**arguments):
            self.executed.append([name, arguments])
            if "raises" in does:
                raise RuntimeError(does["raises"])
            return does["returns"]

        return run


# %%
def run_on(loop):
    "The `run` of a loop."

    def run(messages, replies, tools, limit=8):
        scene, ended = Scene(replies), "returned"
        functions = {name: scene.tool(name, does) for name, does in tools.items()}
        try:
            came = loop(messages, scene.model, functions, limit)
        except Exception as error:
            ended = f"raised {type(error).__name__}: {error}"
            came = scene.requests[-1]["messages"] if scene.requests else messages
        record = {"messages": came, "requests": scene.requests, "executed": scene.executed}
        return {**record, "given": messages, "ended": ended}

    return run


def wants(*calls, text=None):
    "A reply with calls, each given as (id, name, arguments)."
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": args}}
        for id, name, args in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


# %%
question = [{"role": "user", "content": "Is web-01 up?"}]
script = [wants(("call_x", "ping", '{"host": "web-01"}')), {"role": "assistant", "content": "Yes."}]
run_on(right_loop)(question, script, {"ping": {"returns": {"ms": 3}}})

# %% [markdown]
# ## Your checks
#
# One way is this. First write **scenarios**: small conversations, each of which tests some rule. Then write a
# function that compares any record with the rules, whatever its scenario.

# %%
# BEGIN SOLUTION
# STUB: # Room for scenarios.
TOOLS = {
    "ping": {"returns": {"up": True, "ms": None, "error": ""}},
    "read_log": {"returns": "nothing new"},
    "restart": {"raises": "Permission missing: ask an admin.\n" + "Nobody else may do it. " * 5},
    "stop": {"raises": "there is no power"},
    "list_all": {"returns": [*range(60)]},
    "list_one": {"returns": ["a"]},
    "list_none": {"returns": []},
    "find": {"returns": None},
    "is_up": {"returns": False},
    "load": {"returns": 0.5},
    "read_page": {"returns": "  A <b>long</b> page. " * 12 + "\n"},
    "read_mail": {"returns": ""},
    "read_id": {"returns": "42"},
    "read_hint": {"returns": "Error 7 is harmless."},
}


def call(id, name, **arguments):
    return id, name, json.dumps(arguments)


OPENING = [
    {"role": "user", "content": " Hello. "},
    wants(call("c_71", "ping", host="old")),
    {"role": "tool", "tool_call_id": "c_71", "content": "old"},
    {"role": "user", "content": "How are the servers?"},
]
DONE = {"role": "assistant", "content": "All is well."}
ROUNDS = [
    wants(call("c_71", "ping", host="a"), call("c_12", "read_log", lines=3), call("c_55", "ping", host="b")),
    wants(call("c_71", "ping", host="c"), text="One more."),
    wants(call("c_71", "read_log", lines=9), text=""),
]
# END SOLUTION

# %%
# BEGIN SOLUTION
# STUB: # More room.
TROUBLE = [
    wants(
        call("d_4", "restart", host="a"),
        call("d_9", "reboot"),
        ("d_2", "ping", '{"host": "a'),
        call("d_5", "stop"),
        call("d_1", "ping"),
    ),
    wants(call("d_3", "reboot")),
]
ARGUMENTS = [None, 0, "", "7", "{}", [1, {"a": 2}], " a ", "long " * 25]
VALUES = wants(
    *[("v_1", name, ' {"n":0, "m": 1}') for name in ("list_all", "list_all", *list(TOOLS)[5:])],
    *[call("v_2", "read_log", N=value) for value in ARGUMENTS],
)
NOT_JSON = ["", " ", "{} {}", "It is {}", "```json\n{}\n```", "{'a': 1}", '{"a": 1,}']
NO_OBJECT = ["null", "false", "7", '""', '"{}"', "[]", "[1]", '[["a", 1]]', '[{"a": 1}]']
NO_TOOLS = ["Read_Log", "read_log ", "read log", "functions.read_log"]
BAD = wants(
    *[(f"b_{n}", "read_log", text) for n, text in enumerate([*NOT_JSON, *NO_OBJECT, "{}"])],
    *[(f"n_{n}", name, "{}") for n, name in enumerate(NO_TOOLS)],
)
FAILS = wants(call("r_1", "restart"))
SILENT = {"role": "assistant", "content": "", "tool_calls": []}
NONE = {"role": "assistant", "content": None, "tool_calls": None}
ENDLESS = [wants(call(f"e_{n}", "ping", host=f"h{n}"), call(f"f_{n}", "ping", host="z")) for n in range(6)]
SCENARIOS = [([*ROUNDS, DONE], 8), ([*TROUBLE, DONE], 8), (ENDLESS, 3), ([*ROUNDS[:1], DONE], 2), ([DONE], 1)]
SCENARIOS += [([VALUES, FAILS, FAILS, SILENT], 8), ([VALUES, DONE], 8), ([BAD, DONE], 8), ([NONE], 8)]
SCENARIOS += [(ROUNDS[1:], 1), (TROUBLE, 1), ([FAILS] * 7, 6), ([wants(call("s_1", "ping"))] * 13, 12)]
# END SOLUTION

# %%
# BEGIN SOLUTION
# STUB: # Room for a function that judges one result.


def may_run(function):
    "Whether this call can run at all."
    try:
        return function["name"] in TOOLS and isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        return False


def tells(content, function):
    "Whether a result says what came of the call, or why nothing did."
    if not isinstance(content, str):
        return False
    does = TOOLS.get(function["name"], {})
    if may_run(function) and "returns" in does:
        if isinstance(does["returns"], str):
            return content == does["returns"]
        try:
            return json.loads(content) == does["returns"]
        except ValueError:
            return False
    why = does.get("raises", "") if does else function["name"]
    return "error" in content.lower() and (why in content or (does and not may_run(function)))


# END SOLUTION

# %%
# BEGIN SOLUTION
# STUB: # Room for one that compares a record with the rules.


def compare(record, replies, limit):
    "The faults of one record, rule by rule."
    said, asked, at = record["messages"], replies[:limit], len(OPENING)
    if record["ended"] != "returned" or len(record["requests"]) != len(asked):
        yield f"{len(record['requests'])} requests for {len(asked)} replies; {record['ended']}"
    if record["given"] != OPENING or said[:at] != OPENING:
        yield "the opening messages were changed"
    for turn, (request, reply) in enumerate(zip(record["requests"], asked, strict=False)):
        if request["messages"] != said[:at] or sorted(request["tools"]) != sorted(TOOLS):
            yield f"request {turn} is not complete"
        if said[at : at + 1] != [reply]:
            yield f"reply {turn} was changed or left out"
        calls = reply.get("tool_calls") or []
        results = said[at + 1 : at + 1 + len(calls)]
        yield from compare_results(calls, results, last=turn == limit - 1)
        at += 1 + len(calls)
    if len(said) != at:
        yield "the conversation is longer or shorter than it should be"


# END SOLUTION

# %%
# BEGIN SOLUTION
# STUB: # Room for its helpers.


def compare_results(calls, results, last):
    "The faults of the results of one reply."
    keys = [(result.get("role"), result.get("tool_call_id")) for result in results]
    if keys != [("tool", call["id"]) for call in calls]:
        yield "the results do not match the calls"
    for call, result in zip(calls, results, strict=False):
        content = result.get("content")
        if not (isinstance(content, str) if last else tells(content, call["function"])):
            yield f"a result of {call['function']['name']} does not tell what came of it"


def compare_executed(executed, replies, limit):
    "Whether each call ran that had to, once; at the limit the last ones may run."
    ran = [sorted(json.dumps(call) for call in executed)]
    rounds = [[one["function"] for one in reply.get("tool_calls") or []] for reply in replies[:limit]]
    for most in (rounds, rounds[: limit - 1]):
        calls = [
            [f["name"], json.loads(f["arguments"])] for functions in most for f in functions if may_run(f)
        ]
        ran.append(sorted(json.dumps(call) for call in calls))
    return [] if ran[0] in ran[1:] else ["calls ran that should not, or did not, or twice"]


# END SOLUTION


# %%
def faults_of(run):
    "What is wrong with the loop behind `run`: a list of texts, empty if nothing is."
    # BEGIN SOLUTION
    faults = []
    for replies, limit in SCENARIOS:
        record = run([*OPENING], replies, TOOLS, limit)
        faults += compare(record, replies, limit)
        faults += compare_executed(record["executed"], replies, limit)
    return faults
    # END SOLUTION


# %% [markdown]
# ## Try it by hand
#
# On the right loop, and on one that runs only the first call of a reply. **Predict first:** how would you break
# `right_loop` so that your own checks do not notice?


# %%
def first_only(messages, model, tools, limit):
    "A mutant: the loop never sees more than the first call."

    def model_with_one_call(said, names):
        reply = model(said, names)
        return {**reply, "tool_calls": (reply.get("tool_calls") or [])[:1]}

    return right_loop(messages, model_with_one_call, tools, limit)


print("right loop:", faults_of(run_on(right_loop)))
print("mutant:    ", faults_of(run_on(first_only)))

# %% [markdown]
# You do not need a live model here. A test that asks a real model tests the model, and not the loop.
#
# ## Check it
#
# Save the notebook, then run this cell. It tries the public loops. Your teacher has more of them.

# %%
from zoolab import check

check("l9")
