"""Gemini's generateContent: `POST /v1beta/models/{model}:generateContent`.

What differs from OpenAI's form, and is made plain on the way:

    the model          is named in the address, not in the body; so is whether to stream
    system messages    one `systemInstruction`, wherever they stood
    the assistant      has the role `model`
    a call             a `functionCall` part; its `args` are an object
    a result           a `functionResponse` part with the tool's name; results in a row share one turn
    its `response`     the result, if that is a JSON object; else `{"output": text}` or `{"error": text}`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no turn without parts
    an id              every call gets one, so that its result finds it
    strict             there are no strict tools
    settings           `temperature` and the like live in `generationConfig`

What is read from a body or a response of others, and comes back otherwise: names in snake_case, as the
API takes them too; `parameters` in OpenAPI's words (`STRING`, `nullable`), which come back as JSON Schema;
calls and results without ids, which are paired by name and place; texts of one turn are joined, and stand
before its calls; thoughts are left out, a thought signature stays with its call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.records import Message, Request
from zoolab.schema.openapi import from_openapi
from zoolab.wire.notes import Notes, WireWarning
from zoolab.wire.openapi import camel, name_in_camel, note_unpromised
from zoolab.wire.parts import (
    assistant_in,
    messages_in,
    parts_in,
    parts_of,
    result_and_back,
    result_part,
    signature_of,
    text_in,
)
from zoolab.wire.plain import Manner, plain_message, plain_messages, system_first, without_empty
from zoolab.wire.received import Reading, answered, paired_by_place, read_tool, sent
from zoolab.wire.shared import (
    as_list,
    at_home,
    function_in,
    renamed,
    tool_names,
    with_settings,
)
from zoolab.wire.terms import plain_choice, plain_settings, plain_tools

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "n": "candidateCount",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "stop": "stopSequences",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
}
_BACK = {theirs: ours for ours, theirs in reversed(_SETTINGS.items())}
_OWN = ("contents", "systemInstruction", "tools", "toolConfig")
_A_MODE = "a functionCallingConfig of mode AUTO, NONE, or ANY with at most one name"
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def normalise(request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
    """The request as this wire can say it, and what of it changed.

    >>> asked = Request([{"role": "user", "content": "Hi"}], settings={"model": "gemini"})
    >>> print(normalise(asked)[1][0])
    setting_dropped at /model: there is no place for it here
    """
    notes = Notes()
    placed = plain_messages(request.messages, _MANNER, notes)
    messages = [message for _, message in system_first(without_empty(placed, notes), notes)]
    tool_names(messages)  # each result has its call
    tools = plain_tools(request.tools, _tool_and_back, notes)
    for index, tool in enumerate(tools):
        note_unpromised(tool["function"].get("parameters"), ("tools", index, "function", "parameters"), notes)
    choice = plain_choice(request.tool_choice, tools, notes)
    names = {key: _BACK.get(_SETTINGS.get(key, ""), name_in_camel(key)) for key in request.settings}
    settings = plain_settings(request.settings, _settings_in(_fields(request.settings)), names, notes)
    return Request(messages, tools, choice, settings), notes.warnings


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: Not used: this API names the model in the address.
        settings: Further fields of the body; OpenAI's names for sampling go into `generationConfig`, what
            only OpenAI knows is left out, the others go as they are.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), temperature=0)["generationConfig"]
    {'temperature': 0}
    """
    plain, _ = normalise(with_settings(request, model, settings))
    body = _fields(plain.settings)
    messages = list(plain.messages)
    if messages and messages[0]["role"] == "system":
        body["systemInstruction"] = {"parts": [{"text": messages.pop(0)["content"]}]}
    body["contents"] = _turns(messages)
    if plain.tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in plain.tools]}]
        body["toolConfig"] = {"functionCallingConfig": _choice(plain.tool_choice)}
    return body


def from_body(body: Any) -> Request:
    """The request that a body holds.

    Raises:
        InvalidInput: It is none, or holds what zoolab has no form for, as an image or a search tool.

    >>> from_body({"contents": [{"parts": [{"text": "Hi"}]}]}).messages
    [{'role': 'user', 'content': 'Hi'}]
    """
    reading = sent(body)
    fields = camel(reading.object(body, "an object with contents"))
    system = camel(reading.object(fields.pop("systemInstruction", {}), "a systemInstruction with parts"))
    texts = [text_in(part, reading) for part in parts_in(system, reading)]
    messages: list[Message] = [{"role": "system", "content": "\n\n".join(texts)}] if any(texts) else []
    names = [""] * len(messages)
    for turn in reading.objects(fields.pop("contents", ""), "a list of contents"):
        for message, name in messages_in(turn, reading):
            messages.append(message)
            names.append(name)
    messages = paired_by_place(messages, names, reading)
    tool_names(messages)
    listed = [camel(tool) for tool in reading.objects(fields.pop("tools", None), "tools")]
    tools = tuple(made for tool in listed for made in _tools_in(tool, reading))
    config = camel(reading.object(fields.pop("toolConfig", {}), "a toolConfig"))
    choice = _choice_in(reading.object(config.get("functionCallingConfig", {}), _A_MODE), reading)
    reading.object(fields.get("generationConfig", {}), "a generationConfig that is an object")
    return Request(messages, tools, choice, _settings_in(fields))


def to_response(message: Message) -> dict[str, Any]:
    """The smallest response that answers with an assistant message.

    >>> to_response({"role": "assistant", "content": "Hi"})["candidates"][0]["content"]
    {'role': 'model', 'parts': [{'text': 'Hi'}]}
    """
    content = {"role": "model", "parts": parts_of(normalise_reply(message)[0])}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def from_response(body: Any) -> Message:
    """The assistant message of the first candidate, in OpenAI's form.

    Texts are joined, thoughts left out. A thought signature, which newer models want back, is kept
    with its call, where Google's own OpenAI-compatible endpoint has it.

    Raises:
        ModelError: The response holds no candidate with content.

    >>> part = {"functionCall": {"name": "add", "args": {"a": 1}}}
    >>> from_response({"candidates": [{"content": {"parts": [part]}}]})["tool_calls"]
    [{'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}]
    """
    reading = answered(body)
    expected = "a candidate with content"
    candidates = reading.items(reading.object(body, expected).get("candidates"), expected)
    candidate = reading.object(candidates[0] if candidates else None, expected)
    content = reading.object(candidate.get("content"), expected)
    return assistant_in(parts_in(content, reading), reading)


def normalise_reply(message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
    """The assistant message as it comes back, and what of it changed.

    >>> normalise_reply({"role": "assistant", "content": "Hi"})
    ({'role': 'assistant', 'content': 'Hi'}, ())
    """
    notes = Notes()
    return plain_message(message, (), _MANNER, notes), notes.warnings


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    # Only what goes into generationConfig has a home among OpenAI's settings.
    known, others = renamed(at_home(settings, _SETTINGS, _OWN), _SETTINGS)
    fields = {key: value for key, value in camel(others).items() if key not in _OWN}
    config = fields.get("generationConfig", {})
    if not isinstance(config, dict):
        raise InvalidInput(f"generationConfig is {excerpt(config)}", expected="an object")
    if "stopSequences" in known:
        known["stopSequences"] = as_list(known["stopSequences"])
    if known or config:
        fields["generationConfig"] = {**known, **config}
    return fields


def _settings_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(fields)
    known, others = renamed(camel(settings.pop("generationConfig", {})), _BACK)
    return {**settings, **({"generationConfig": others} if others else {}), **known}


def _turns(messages: list[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    previous = ""
    for message, name in zip(messages, tool_names(messages), strict=True):
        role = message["role"]
        if role == "tool" and previous == "tool":
            turns[-1]["parts"].append(result_part(message, name))
        elif role == "tool":
            turns.append({"role": "user", "parts": [result_part(message, name)]})
        else:
            turns.append({"role": "model" if role == "assistant" else role, "parts": parts_of(message)})
        previous = role
    return turns


_MANNER = Manner(result=result_and_back, of_call=signature_of)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = dict(function_in(tool, "a tool"))
    function.pop("strict", None)
    schema = function.pop("parameters", None)
    described = {} if schema is None else {"parametersJsonSchema": schema}
    return {"name": function.pop("name"), **function, **described}


def _tools_in(tool: dict[str, Any], reading: Reading) -> list[dict[str, Any]]:
    if tool.keys() != {"functionDeclarations"}:
        raise reading.junk(f"functionDeclarations, not {excerpt(list(tool))}")
    declared = reading.objects(tool["functionDeclarations"], "a list of functions")
    return [_tool_in(camel(declaration), reading) for declaration in declared]


def _tool_in(declaration: dict[str, Any], reading: Reading) -> dict[str, Any]:
    function = {key: value for key, value in declaration.items() if key != "parametersJsonSchema"}
    if "parameters" in function:
        function["parameters"] = from_openapi(function["parameters"])
    if "parametersJsonSchema" in declaration:
        function["parameters"] = declaration["parametersJsonSchema"]
    return read_tool(function, reading)


def _tool_and_back(tool: Any) -> dict[str, Any]:
    made = _tool(tool)
    return _tool_in(camel(made), sent(made))


def _choice(choice: str) -> dict[str, Any]:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _choice_in(config: dict[str, Any], reading: Reading) -> str:
    config = camel(config)
    names = reading.items(config.get("allowedFunctionNames"), _A_MODE)
    mode = config.get("mode", "AUTO")
    if mode == "ANY" and len(names) == 1:
        return reading.text(names[0], _A_MODE)
    for ours, theirs in _MODES.items():
        if mode == theirs and not names:
            return ours
    raise reading.junk(_A_MODE)
