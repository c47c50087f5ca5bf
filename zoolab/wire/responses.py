"""OpenAI's Responses: `POST /responses`.

What differs from OpenAI's Chat Completions, and is made plain on the way:

    the conversation   `input`, a list of items: messages, `function_call`, `function_call_output`
    system messages    the first, if it opens the conversation, is `instructions`; others stay items
    the assistant      a message and its calls are items in a row; so two assistant messages in a row
                       are one, unless both have text
    an empty message   left out
    an id              every call needs one, as its `call_id`
    a tool             flat; `strict` is on unless it is switched off, so False is sent where Chat says
                       nothing; `parameters` is null where there are none
    settings           `max_completion_tokens` is `max_output_tokens`, `reasoning_effort` is in `reasoning`

What is read from a body or a response of others, and comes back otherwise: an `input` of one text is a
user's message; the parts of a message are one text; ids and states of items are left out. Reasoning goes
back with the message that it led to, where it is kept under `extra_content.openai.reasoning`. A tool
without `strict` has `strict: None` in Chat's form, and goes without again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.items import (
    call_in,
    items_of,
    merged,
    output_item,
    reasoned,
    reasoning_of,
    take_item,
    text_in,
)
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.plain import Manner, kept, plain_message, plain_messages, without_empty
from zoolab.wire.received import Reading, answered, read_tool, reply_message, sent
from zoolab.wire.shared import at_home, function_in, is_foreign, renamed, with_settings
from zoolab.wire.terms import plain_choice, plain_settings, plain_tools

_SETTINGS = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_BACK = {"max_output_tokens": "max_completion_tokens"}
_HOMES = (
    *("max_completion_tokens", "max_tokens", "metadata", "model", "parallel_tool_calls", "prompt_cache_key"),
    *("prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream", "temperature"),
    *("top_logprobs", "top_p", "user"),
)
_OURS = ("function",)
_OWN = ("instructions", "input", "tools", "tool_choice")
_CHOICES = ("auto", "required", "none")
_A_CHOICE = "tool_choice auto, required, none or a function with a name"


def normalise(request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
    """The request as this wire can say it, and what of it changed.

    >>> normalise(Request([{"role": "user", "content": "Hi"}]))[1]
    ()
    """
    notes = Notes()
    placed = without_empty(plain_messages(request.messages, _MANNER, notes), notes)
    messages = merged(placed, notes)
    tools = plain_tools(request.tools, _tool_and_back, notes)
    choice = plain_choice(request.tool_choice, tools, notes)
    names = {"max_tokens": "max_completion_tokens", "max_output_tokens": "max_completion_tokens"}
    settings = plain_settings(request.settings, _settings_in(_fields(request.settings)), names, notes)
    return Request(messages, tools, choice, settings), notes.warnings


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: The name of the model; left out if empty.
        settings: Further fields of the body. Chat's names are translated; what only Chat knows is left
            out, the others go as they are.

    Raises:
        InvalidInput: A message or a tool that this API has no form for.

    >>> to_body(Request([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]))
    {'instructions': 'Be brief.', 'input': [{'role': 'user', 'content': 'Hi'}]}
    """
    plain, _ = normalise(with_settings(request, model, settings))
    body = _fields(plain.settings)
    messages = list(plain.messages)
    if messages and messages[0]["role"] == "system":
        body["instructions"] = messages.pop(0)["content"]
    body["input"] = [item for message in messages for item in items_of(message)]
    if plain.tools:
        body["tools"] = [_tool(tool) for tool in plain.tools]
        choice = plain.tool_choice
        body["tool_choice"] = choice if choice in _CHOICES else {"type": "function", "name": choice}
    return body


def from_body(body: Any) -> Request:
    """The request that a body holds.

    Raises:
        InvalidInput: It is none, or holds what zoolab has no form for, as an image.

    >>> from_body({"instructions": "Be brief.", "input": "Hi"}).messages
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hi'}]
    """
    reading = sent(body)
    fields = dict(reading.object(body, "an object with an input"))
    told = fields.pop("instructions", None) or ""
    messages: list[Message] = [{"role": "system", "content": told}] if reading.text(told) else []
    given = fields.pop("input", "")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in reading.objects(items, "an input of text or items"):
        take_item(item, messages, reading)
    tools = tuple(_tool_in(tool, reading) for tool in reading.objects(fields.pop("tools", None), "tools"))
    choice = _choice_in(fields.pop("tool_choice", None), reading)
    return Request(messages, tools, choice, _settings_in(fields))


def to_response(message: Message) -> dict[str, Any]:
    """The smallest response that answers with an assistant message.

    >>> to_response({"role": "assistant", "content": "Hi"})["output"][0]["content"]
    [{'type': 'output_text', 'text': 'Hi', 'annotations': []}]
    """
    items = items_of(normalise_reply(message)[0])
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "",
        "output": [output_item(item, f"item_{number}") for number, item in enumerate(items, 1)],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
    }


def from_response(body: Any) -> Message:
    """The assistant message of a response, in Chat's form.

    Texts are joined; reasoning is kept under `extra_content.openai.reasoning`, since the API wants it back.
    The calls that the API answers itself are left out.

    Raises:
        ModelError: The response holds no output.

    >>> call = {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"}
    >>> from_response({"output": [call]})["tool_calls"]
    [{'id': 'c', 'type': 'function', 'function': {'name': 'add', 'arguments': '{}'}}]
    """
    reading = answered(body)
    expected = "a response with a list of output items"
    output = reading.object(body, expected).get("output")
    if not isinstance(output, list):
        raise reading.junk(expected)
    items = reading.objects(output, expected)
    texts = [text_in(item.get("content"), reading) for item in items if item.get("type") == "message"]
    calls = [call_in(item, reading) for item in items if item.get("type") == "function_call"]
    reasoning = [item for item in items if item.get("type") == "reasoning"]
    return {**reply_message("".join(texts), calls), **reasoned(reasoning)}


def normalise_reply(message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
    """The assistant message as it comes back, and what of it changed.

    >>> normalise_reply({"role": "assistant", "content": "Hi"})
    ({'role': 'assistant', 'content': 'Hi'}, ())
    """
    notes = Notes()
    return plain_message(message, (), _MANNER, notes), notes.warnings


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    known, others = renamed(at_home(settings, _HOMES, _OWN), _SETTINGS)
    effort = settings.get("reasoning_effort")
    reasoning = {} if effort is None or "reasoning" in others else {"reasoning": {"effort": effort}}
    return {**others, **known, **reasoning}


def _settings_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    known, others = renamed(fields, _BACK)
    reasoning = others.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.keys() == {"effort"} and reasoning["effort"] is not None:
        others["reasoning_effort"] = others.pop("reasoning")["effort"]
    return {**others, **known}


_MANNER = Manner(
    arguments=kept, roles=("developer",), of_message=lambda message: reasoned(reasoning_of(message))
)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if is_foreign(tool, _OURS):
        return tool
    function = {key: value for key, value in function_in(tool, "a tool").items() if key != "type"}
    strict = {"strict": function.pop("strict", False)}
    schema = {"parameters": function.pop("parameters", None)}
    return {"type": "function", **function, **schema, **({} if strict["strict"] is None else strict)}


def _tool_in(tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
    if is_foreign(tool, _OURS):
        return tool
    function = {key: value for key, value in tool.items() if key != "type"}
    if function.get("parameters") is None:
        function.pop("parameters", None)
    if function.setdefault("strict", None) is False:
        del function["strict"]
    return read_tool(function, reading)


def _tool_and_back(tool: Any) -> dict[str, Any]:
    made = _tool(tool)
    return _tool_in(made, sent(made))


def _choice_in(choice: Any, reading: Reading) -> str:
    if choice is None or choice in _CHOICES:
        return choice or "auto"
    made = reading.object(choice, _A_CHOICE)
    if made.get("type") != "function":
        raise reading.junk(_A_CHOICE)
    return reading.text(made.get("name"), _A_CHOICE)
