# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10 · Providers
#
# You wrote a loop for one API. Now your team wants to use another model, and that model has another API. Both APIs carry the
# same conversation: a question, a call, a result. But they write it down differently, and they reject different mistakes.
#
# A **provider** is a company or a program that runs a model. A **wire format** is the JSON that travels between your program
# and the provider. In this notebook you look at five wire formats:
#
# | name in zoolab | API | who uses it |
# | --- | --- | --- |
# | `openai` | Chat Completions | OpenAI, and most servers that copy its API |
# | `responses` | Responses | OpenAI, for its newer models; Ollama and others serve it, too |
# | `anthropic` | Messages | Anthropic (Claude); Ollama, llama.cpp and others serve it, too |
# | `gemini` | generateContent | Google (Gemini) |
# | `ollama` | chat | Ollama, which runs models on your machine |
#
# Afterwards you can
#
# - find the call, the arguments and the result in each of the five formats;
# - say which parts of a reply you must send back unchanged, and what happens if you drop them;
# - read a warning that tells you what a translation loses;
# - connect the loop to a provider of your choice.
#
# About 35 minutes. It runs offline.

# %% [markdown]
# ## Who answers?
#
# Qwen2.5-Coder-1.5B-Instruct is a small model that runs on a laptop. It was asked once, and its replies were recorded.

# %%
LIVE = None  # "local": the models on this machine; "endpoint": OPENAI_BASE_URL with your key

import json

from zoolab import Trace, model_for, predict, walk
from zoolab.toolbox.catalog import tools_named

model = model_for("qwen" if LIVE == "local" else LIVE, "qwen-walk")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %% [markdown]
# The question needs two calls. We stop before the second request is sent. At that moment the conversation contains everything that a wire
# format must carry: a question, a call and a result.

# %%
tools = tools_named("add", "multiply", "get_weather", "check_status")
trace = Trace()
for step in trace.follow(walk("Multiply 7 by 6, then add 8.", tools, model)):
    if step.kind == "request" and step.turn == 2:
        break
request = trace.steps[-1].record
for message in request.messages:
    print(message["role"], "|", message.get("content") or message["tool_calls"][0]["function"])

# %% [markdown]
# ## One request in five formats
#
# `translate` writes a request in another format. It does not send anything. `body` is the JSON that would travel. `warnings` say
# what changed on the way.

# %%
from zoolab.apis import translate

FORMATS = ["openai", "responses", "anthropic", "gemini", "ollama"]
bodies = {name: translate(request, name, model="some-model") for name in FORMATS}
for name, wire in bodies.items():
    print(f"{name:10} {', '.join(wire.body)}")

# %% [markdown]
# Before you look inside: in Chat Completions `arguments` is a text that contains JSON. You met this in notebook 01.

# %%
guess = predict(
    "In how many of the five formats do the arguments travel as a text, and not as a JSON object?",
    [0, 1, 2, 3, 4, 5],
)
guess


# %%
def conversation(body):
    return next(body[field] for field in ("messages", "input", "contents") if field in body)


for name, wire in bodies.items():
    call = conversation(wire.body)[1]
    print(f"--- {name}")
    print(json.dumps(call, indent=1))

# %% jupyter={"source_hidden": true}
as_text = [name for name, wire in bodies.items() if '\\"a\\"' in json.dumps(conversation(wire.body)[1])]
guess.reveal(
    len(as_text),
    because=f"Only {' and '.join(as_text)} send the text that the model wrote. The others send an object, "
    "so broken JSON has no place in a whole reply: the provider has already parsed it, or has thrown it away.",
)

# %% [markdown] tags=["slide"]
# This is why you can study broken JSON only with some providers. If the model writes `{"a": 7,`, Chat Completions and Responses give you that
# text. A whole reply of the other three cannot carry it. A *streamed* reply of Anthropic can: there the arguments come in pieces of text, and with
# `eager_input_streaming` nobody checks them, so they may be broken or cut off
# ([fine-grained tool streaming](https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming)).
#
# ## Where is the result?
#
# The result is the last message. Look at two things: its role, and how it names the call that it answers.

# %%
for name, wire in bodies.items():
    result = conversation(wire.body)[-1]
    shown = json.dumps(result)
    print(f"{name:10} {shown[:150]}{' ...' if len(shown) > 150 else ''}")

# %% [markdown]
# | format | role of the result | how it names its call | how an error is marked |
# | --- | --- | --- | --- |
# | `openai` | `tool` | `tool_call_id` | in the text only |
# | `responses` | no role; the item has the type `function_call_output` | `call_id` | in the text only |
# | `anthropic` | `user`, with a block `tool_result` | `tool_use_id` | `is_error: true` |
# | `gemini` | `user`, with a part `functionResponse` | the name, and `id` if the call had one | in the response object only |
# | `ollama` | `tool` | `tool_name`, and the id if the server gave one | in the text only |
#
# In Anthropic's and Gemini's formats the result stands in a *user* message. So "the last user message" is not always what a person said.

# %% [markdown]
# ## What a translation loses
#
# A translation is not always complete. zoolab names each change, so that you do not have to guess.

# %%
for name, wire in bodies.items():
    print(f"--- {name}: {len(wire.warnings)} warning(s)")
    for warning in wire.warnings:
        print("   ", warning)

# %% [markdown]
# Some of these changes are harmless. `arguments_rewritten` means that spaces in the arguments are gone, but the values are the same. Others can
# hurt. Try a request with settings that not every provider has:

# %%
from dataclasses import replace

demanding = replace(request, tool_choice="required", settings={"seed": 7, "n": 2})
guess = predict(
    "The request says: you must call a tool (tool_choice is required). Which format cannot say this?",
    FORMATS,
)
guess

# %%
for name in FORMATS:
    lost = [w for w in translate(demanding, name, model="some-model").warnings if w.code == "tool_choice"]
    print(f"{name:10} {lost[0] if lost else 'can say it'}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "ollama",
    because="Its API has no field tool_choice. The request goes out, and the model may answer without a call.",
)

# %% [markdown]
# A format that can say it is not enough. The *model* may refuse it: Claude with extended thinking answers 400 to a forced choice, because it
# would have to call before it may think. If a forced choice is refused, leave it out, and say in the prompt which tool you want.

# %% [markdown] tags=["slide"]
# ## What you must send back
#
# A model that reasons writes down thoughts before it calls. Some providers send these thoughts to you in a sealed form, and they expect
# them back with the result. Google and Anthropic **sign** the thoughts; OpenAI **encrypts** them. You cannot read it and you must not change it.
#
# The next replies were written by hand after the providers' documentation, because showing real ones would need three keys.
# The texts in `signature` and `encrypted_content` are placeholders.

# %%
ANTHROPIC = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "First the product.", "signature": "SEALED-BY-ANTHROPIC"},
        {"type": "tool_use", "id": "toolu_1", "name": "multiply", "input": {"a": 7, "b": 6}},
    ],
    "stop_reason": "tool_use",
}
GEMINI_CALL = {
    "functionCall": {"name": "multiply", "args": {"a": 7, "b": 6}},
    "thoughtSignature": "SEALED-BY-GOOGLE",
}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [GEMINI_CALL]}, "finishReason": "STOP"}]}

# %%
RESPONSES = {
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SEALED-BY-OPENAI"},
        {"type": "function_call", "call_id": "call_1", "name": "multiply", "arguments": '{"a": 7, "b": 6}'},
    ],
}
AUTHORED = {"anthropic": ANTHROPIC, "gemini": GEMINI, "responses": RESPONSES}

# %% [markdown]
# zoolab keeps every conversation in one form, that of Chat Completions. Chat Completions has no field for sealed thoughts. Where do they go?

# %%
from zoolab.apis import api

messages = {name: api(name).from_response(body) for name, body in AUTHORED.items()}
for name, message in messages.items():
    print(f"--- {name}")
    print(json.dumps(message, indent=1))

# %% [markdown]
# They stay in the message, under `extra_content` and the name of the provider. When the conversation goes back to the same provider, they go with it:

# %%
from zoolab import Request


def next_request(message):
    [call] = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": call.get("id", "call00001"), "content": "42"}
    return Request(
        [{"role": "user", "content": "What is 7 times 6?"}, message, result], tuple(tools.schemas())
    )


def sealed(body):
    return "SEALED" in json.dumps(body)


for name, message in messages.items():
    back = translate(next_request(message), name, model="some-model")
    print(f"{name:10} sends its own sealed thought back: {sealed(back.body)}")

# %%
guess = predict(
    "A program keeps only role, content and tool_calls of each message, because it knows only those. "
    "It talks to Gemini. What happens at the second request?",
    ["nothing changes", "the provider rejects the request", "the model calls the tool again"],
)
guess


# %%
def forgetful(message):
    "Keep only the fields that everybody knows."
    calls = [
        {key: call[key] for key in ("type", "function")} | {"id": "call_1"} for call in message["tool_calls"]
    ]
    return {"role": "assistant", "content": message["content"], "tool_calls": calls}


for name, message in messages.items():
    back = translate(next_request(forgetful(message)), name, model="some-model")
    print(f"{name:10} sends its own sealed thought back: {sealed(back.body)}")

# %% jupyter={"source_hidden": true}
guess.reveal(
    "the provider rejects the request",
    because="Gemini 3 and later models answer with HTTP 400 if a function call comes back without its signature.",
)

# %% [markdown]
# What the three providers demand, from their documentation (read in November 2026):
#
# | provider | what must come back | if it is missing | source |
# | --- | --- | --- | --- |
# | Google, Gemini 3 and later | `thoughtSignature` of the call | HTTP 400 | [thought signatures](https://ai.google.dev/gemini-api/docs/thought-signatures) |
# | Anthropic, with extended thinking | the thinking blocks before the `tool_use`, unchanged | HTTP 400 | [extended thinking](https://docs.claude.com/en/docs/build-with-claude/extended-thinking) |
# | OpenAI, Responses without stored state | the reasoning items | the model loses its thoughts; some models reject the request | [reasoning](https://platform.openai.com/docs/guides/reasoning) |
#
# The rule for your own loop: **put the reply into `messages[]` exactly as it came.** Do not rebuild it from the fields that you know.

# %% [markdown] tags=["slide"]
# ## What each provider enforces
#
# All of them want one result for each call. `check_conversation` tells you which rules a list of messages breaks, before a provider rejects it.

# %%
from zoolab.apis.conversation import check_conversation

unanswered = [{"role": "user", "content": "What is 7 times 6?"}, messages["anthropic"]]
for problem in check_conversation(unanswered):
    print(problem)

# %% [markdown]
# zoolab's own models check this for every request. You need it if your program builds `messages[]` by hand.
#
# ## Connect the loop to a provider
#
# `run` and `walk` take any of these models. Each needs an account or a server, so this cell only shows how to write them.
#
# ```python
# from zoolab.models import AnthropicModel, GeminiModel, OllamaModel, OpenAIModel, ResponsesModel
#
# run("Multiply 7 by 6, then add 8.", tools, ResponsesModel("NAME"))  # OPENAI_API_KEY
# run("Multiply 7 by 6, then add 8.", tools, AnthropicModel("NAME"))  # ANTHROPIC_API_KEY
# run("Multiply 7 by 6, then add 8.", tools, GeminiModel("NAME"))  # GEMINI_API_KEY
# run("Multiply 7 by 6, then add 8.", tools, OllamaModel("NAME"))  # a server on this machine
# ```
#
# The trace looks the same for all of them. The inspector shows, in its tab *Wire*, what was really sent.

# %% [markdown]
# ## Your turn
#
# **1. Write a result for Anthropic.** The call has the id `toolu_1`, and the tool failed with the text `division by zero`. Write the message that
# must follow. The cell says whether the API would accept it.

# %%
MINE = {"role": "tool", "tool_call_id": "toolu_1", "content": "division by zero"}


# %%
def check_mine(message):
    if message.get("role") != "user":
        return "not yet: in this format the result stands in a message of the user"
    blocks = message.get("content")
    if not isinstance(blocks, list) or [block.get("type") for block in blocks] != ["tool_result"]:
        return "not yet: the content must be a list with one block of the type tool_result"
    if blocks[0].get("tool_use_id") != "toolu_1":
        return "not yet: the block must name the call"
    if blocks[0].get("is_error") is not True:
        return "not yet: the block does not say that the tool failed"
    return "right"


check_mine(MINE)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Look at the row `anthropic` in the table under "Where is the result?"
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# MINE = {
#     "role": "user",
#     "content": [
#         {"type": "tool_result", "tool_use_id": "toolu_1", "content": "division by zero", "is_error": True}
#     ],
# }
# ```
#
# Only this format has a field that marks an error. In the other formats the text must say it.
#
# </details>

# %% [markdown]
# **2. Keep the seal.** Mend `trimmed`, so that a program can drop the text of an old message and all three providers still get their sealed thoughts.


# %%
def trimmed(message):
    "The message without its text."
    return {"role": "assistant", "content": None, "tool_calls": message["tool_calls"]}


# %%
for name, message in messages.items():
    back = translate(next_request(trimmed(message)), name, model="some-model")
    print("right  " if sealed(back.body) else "not yet: the sealed thought is gone", "|", name)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Gemini's signature stays, because it belongs to the call. Where are the two others?
#
# </details>
#
# <details><summary>Solution</summary>
#
# ```python
# def trimmed(message):
#     "The message without its text."
#     return {**message, "content": None}
# ```
#
# It starts from the whole message and changes one field. A field that it does not know stays where it is.
#
# </details>

# %% [markdown]
# ## What to keep
#
# - Five APIs carry the same conversation. They differ in names, in places, and in what they can say at all.
# - Chat Completions and Responses show you the text that the model wrote as arguments. Anthropic shows it only in a stream.
# - A reply goes back as it came. A program that rebuilds it loses signatures, and the provider may reject the next request.
# - A translation that loses something must say so. Read the warnings.
#
# Next: [11 · Structured output](11-structured-output.ipynb). Lab: [l1 · The loop](../labs/l1/l1.ipynb).
