"""Gemini's generateContent: `POST /v1beta/models/{model}:generateContent`.

What differs from OpenAI's form:

    the model          is named in the address, not in the body
    system messages    one `systemInstruction`, wherever they stood
    the assistant      has the role `model`
    a call             a `functionCall` part; its `args` are an object
    a result           a `functionResponse` part with the tool's name; results in a row share one turn
    its `response`     the result, if that is a JSON object; else `{"output": text}` or `{"error": text}`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no turn without parts
    settings           `temperature` and the like live in `generationConfig`
"""

from __future__ import annotations

from typing import Any

from zoolab.records import Message, Request
from zoolab.wire.received import dict_in, list_in, reply_call, reply_message, text_in
from zoolab.wire.shared import (
    as_list,
    calls_of,
    functions_of,
    is_error,
    json_object,
    renamed,
    role_of,
    settings_of,
    system_of,
    text_of,
    tool_names,
)

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "stop": "stopSequences",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
}
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def to_body(request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
    """The body of the HTTP request.

    Args:
        request: The conversation, the tools and the choice of them.
        model: Not used: this API names the model in the address.
        settings: Further fields of the body; OpenAI's names for sampling go into `generationConfig`.

    Raises:
        InvalidInput: A message or a tool that this API has no form for; a result without its call.

    >>> to_body(Request([{"role": "user", "content": "Hi"}]), temperature=0)["generationConfig"]
    {'temperature': 0}
    """
    known, body = renamed(settings_of(request, model, settings), _SETTINGS)
    body.pop("model", None)
    if known:
        if "stopSequences" in known:
            known["stopSequences"] = as_list(known["stopSequences"])
        body["generationConfig"] = {**known, **body.get("generationConfig", {})}
    if system := system_of(request.messages):
        body["systemInstruction"] = {"parts": [{"text": system}]}
    body["contents"] = _turns(request.messages)
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool(function) for function in functions_of(request)]}]
        body["toolConfig"] = {"functionCallingConfig": _choice(request.tool_choice)}
    return body


def from_response(body: dict[str, Any]) -> Message:
    """The assistant message of the first candidate, in OpenAI's form.

    Texts are joined, thoughts left out. A thought signature, which newer models want back, is kept
    with its call, where Google's own OpenAI-compatible endpoint has it.

    Raises:
        ModelError: The response holds no candidate with content.

    >>> part = {"functionCall": {"name": "add", "args": {"a": 1}}}
    >>> from_response({"candidates": [{"content": {"parts": [part]}}]})["tool_calls"]
    [{'type': 'function', 'function': {'name': 'add', 'arguments': '{"a":1}'}}]
    """
    expected = "a candidate with content"
    candidates = list_in(dict_in(body, body, expected).get("candidates"), body, expected)
    candidate = dict_in(candidates[0] if candidates else None, body, expected)
    content = dict_in(candidate.get("content"), body, expected)
    parts = [dict_in(part, body, expected) for part in list_in(content.get("parts"), body, expected)]
    texts = [text_in(part["text"], body) for part in parts if "text" in part and not part.get("thought")]
    calls = [_reply_call(part, body) for part in parts if "functionCall" in part]
    return reply_message("".join(texts) or None, calls)


def _reply_call(part: dict[str, Any], body: Any) -> dict[str, Any]:
    call = dict_in(part["functionCall"], body, "a functionCall that is an object")
    made = reply_call(call.get("id"), call.get("name"), call.get("args"))
    if isinstance(signature := part.get("thoughtSignature"), str):
        made["extra_content"] = {"google": {"thought_signature": signature}}
    return made


def _turns(messages: list[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    previous = ""
    for message, name in zip(messages, tool_names(messages), strict=True):
        role = role_of(message)
        if role == "tool" and previous == "tool":
            turns[-1]["parts"].append(_result(message, name))
        elif role == "tool":
            turns.append({"role": "user", "parts": [_result(message, name)]})
        elif role != "system" and (parts := _parts(message)):
            turns.append({"role": "model" if role == "assistant" else role, "parts": parts})
        previous = role
    return turns


def _parts(message: Message) -> list[dict[str, Any]]:
    text = text_of(message)
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    for call, (id, name, arguments) in zip(message.get("tool_calls") or (), calls_of(message), strict=True):
        own = {"id": id} if id else {}
        parts.append({"functionCall": {**own, "name": name, "args": arguments}, **_signature(call)})
    return parts


def _signature(call: dict[str, Any]) -> dict[str, Any]:
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, dict) else None
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return {"thoughtSignature": signature} if isinstance(signature, str) else {}


def _result(message: Message, name: str) -> dict[str, Any]:
    text = text_of(message)
    response = json_object(text)
    if response is None:
        response = {"error" if is_error(text) else "output": text}
    return {"functionResponse": {"id": message["tool_call_id"], "name": name, "response": response}}


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if "description" in function else {}
    schema = {"parametersJsonSchema": function["parameters"]} if "parameters" in function else {}
    return {"name": function["name"], **described, **schema}


def _choice(choice: str) -> dict[str, Any]:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}
