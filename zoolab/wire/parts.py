"""Gemini's parts: what a turn is made of, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab.wire.openapi import camel
from zoolab.wire.received import Reading, reply_message
from zoolab.wire.shared import calls_of, is_error, json_object, raw_calls, text_of


def parts_of(message: Message) -> list[dict[str, Any]]:
    """The parts of a message: its text, then its calls.

    >>> parts_of({"role": "user", "content": "Hi"})
    [{'text': 'Hi'}]
    """
    text = text_of(message)
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    for call, (id, name, arguments) in zip(raw_calls(message), calls_of(message), strict=True):
        own = {"id": id} if id else {}
        signature = _google(call).get("thought_signature")
        signed = {} if signature is None else {"thoughtSignature": signature}
        parts.append({"functionCall": {**own, "name": name, "args": arguments}, **signed})
    return parts


def result_part(message: Message, name: str) -> dict[str, Any]:
    """The part of a tool message; `name` is that of the tool.

    >>> result_part({"role": "tool", "tool_call_id": "c", "content": "noon"}, "now")
    {'functionResponse': {'id': 'c', 'name': 'now', 'response': {'output': 'noon'}}}
    """
    response = _response(text_of(message))
    return {"functionResponse": {"id": message["tool_call_id"], "name": name, "response": response}}


def result_and_back(text: str) -> tuple[str, str | None]:
    """A result as it comes back, and the code of the warning where that is not as it went.

    >>> result_and_back("noon"), result_and_back('{"a": 1}')
    (('noon', None), ('{"a":1}', 'result_rewritten'))
    """
    response = _response(text)
    wrapped = _wrapped(response)
    back = encode(response) if wrapped is None else wrapped
    return back, None if back == text else "result_rewritten"


def signature_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a call's further fields: its thought signature.

    >>> signature_of({"extra_content": {"google": {"thought_signature": "Cv=="}, "other": 1}})
    {'extra_content': {'google': {'thought_signature': 'Cv=='}}}
    """
    google = _google(call)
    return {"extra_content": {"google": google}} if google else {}


def parts_in(content: dict[str, Any], reading: Reading) -> list[dict[str, Any]]:
    """The parts of a content, under their names in camelCase.

    >>> from zoolab.wire.received import sent
    >>> parts_in({"parts": [{"function_call": {}}]}, sent({}))
    [{'functionCall': {}}]
    """
    return [camel(part) for part in reading.objects(content.get("parts"), "parts")]


def messages_in(turn: dict[str, Any], reading: Reading) -> list[tuple[Message, str]]:
    """The messages of a turn, each with the name of the tool whose result it is.

    >>> from zoolab.wire.received import sent
    >>> messages_in({"parts": [{"text": "Hi"}]}, sent({}))
    [({'role': 'user', 'content': 'Hi'}, '')]
    """
    parts = parts_in(turn, reading)
    role = turn.get("role", "user")
    if role == "model":
        return [(assistant_in(parts, reading), "")]
    if role not in ("user", "function"):
        raise reading.junk("contents of user and model")
    made: list[tuple[Message, str]] = []
    texts: list[str] = []
    for part in parts:
        if "functionResponse" in part:
            made += _said(texts)
            texts = []
            made.append(_result_in(part["functionResponse"], reading))
        else:
            texts.append(text_in(part, reading))
    return made + _said(texts)


def assistant_in(parts: list[dict[str, Any]], reading: Reading) -> Message:
    """The assistant's message that parts make; thoughts, and what is neither text nor call, are left out.

    >>> from zoolab.wire.received import sent
    >>> assistant_in([{"text": "?", "thought": True}, {"text": "Hi"}], sent({}))
    {'role': 'assistant', 'content': 'Hi'}
    """
    texts = [reading.text(part["text"]) for part in parts if "text" in part and not part.get("thought")]
    calls = [_call_in(part, reading) for part in parts if "functionCall" in part]
    return reply_message("".join(texts), calls)


def text_in(part: dict[str, Any], reading: Reading) -> str:
    """The text of a part that must be one.

    >>> from zoolab.wire.received import sent
    >>> text_in({"inlineData": {}}, sent({"contents": []}))
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: the body is {"contents":[]}; expected text, functionCall and ...
    """
    if "text" not in part:
        raise reading.junk(f"text, functionCall and functionResponse, not {excerpt(list(part))}")
    return reading.text(part["text"])


def _google(call: Mapping[str, Any]) -> dict[str, Any]:
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, dict) else None
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return {"thought_signature": signature} if isinstance(signature, str) else {}


def _response(text: str) -> dict[str, Any]:
    response = json_object(text)
    if response is None:
        return {"error" if is_error(text) else "output": text}
    # What looks like a wrapped text is wrapped itself, or nobody could tell the two apart.
    return response if _wrapped(response) is None else {"output": text}


def _wrapped(response: dict[str, Any]) -> str | None:
    """The text that stands for itself in a response, or None where the response is the result."""
    key = next(iter(response)) if len(response) == 1 else ""
    text = response.get(key)
    if not isinstance(text, str):
        return None
    return text if key == "output" or (key == "error" and is_error(text)) else None


def _said(texts: list[str]) -> list[tuple[Message, str]]:
    return [({"role": "user", "content": "".join(texts)}, "")] if texts else []


def _call_in(part: dict[str, Any], reading: Reading) -> dict[str, Any]:
    call = reading.object(part["functionCall"], "a functionCall that is an object")
    made = reading.call(call.get("id"), call.get("name"), call.get("args"))
    if isinstance(signature := part.get("thoughtSignature"), str):
        made["extra_content"] = {"google": {"thought_signature": signature}}
    return made


def _result_in(result: Any, reading: Reading) -> tuple[Message, str]:
    result = reading.object(result, "a functionResponse that is an object")
    response = reading.object(result.get("response", {}), "a response that is an object")
    wrapped = _wrapped(response)
    text = reading.json(response) if wrapped is None else wrapped
    id, name = result.get("id"), result.get("name")
    message: Message = {"role": "tool", "tool_call_id": id if isinstance(id, str) else None, "content": text}
    return message, name if isinstance(name, str) else ""
