"""Readers of files that other programs have written; `zoolab.runs.imported` makes traces of what they read.

SPANS    of OpenTelemetry, as OTLP/JSON: those with `gen_ai.input.messages` and `gen_ai.output.messages`
SAMPLES  the logs of Inspect AI, as JSON: a conversation for each sample
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode, excerpt, parse_json
from zoolab.plugins import Reader
from zoolab.records import Message, Request

_SAID = {"model": "gen_ai.request.model", "agent": "gen_ai.agent.name"}


def _of_sample(sample: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
    """A sample of Inspect AI: calls hold their name and arguments themselves, results an error beside."""
    messages: list[Message] = []
    for told in sample["messages"]:
        message: Message = {"role": told["role"], "content": _text_of(told.get("content"))}
        if told.get("tool_calls"):
            message["tool_calls"] = [
                _call(call.get("id"), call["function"], call.get("arguments")) for call in told["tool_calls"]
            ]
        if told["role"] == "tool":
            message["tool_call_id"] = str(told.get("tool_call_id"))
            failed = (told.get("error") or {}).get("message")
            message["content"] = f"ERROR: {failed}" if failed else message["content"]
        messages.append(message)
    return Request(messages), {"sample": str(sample.get("id")), "epoch": sample.get("epoch")}


def _of_spans(resources: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Request, dict[str, Any]]]:
    """For each conversation its longest `chat` span: it holds what the shorter ones held."""
    longest: dict[str, tuple[list[Message], dict[str, Any], list[dict[str, Any]]]] = {}
    for resource in resources:
        for span in (span for scope in resource.get("scopeSpans", ()) for span in scope.get("spans", ())):
            # A value of OTLP/JSON is an object with its type as the key.
            known_as = ((each["key"], [*each["value"].values()]) for each in span.get("attributes", ()))
            told = {key: values[0] if values else None for key, values in known_as}
            if "gen_ai.input.messages" not in told:
                continue
            name = str(told.get("gen_ai.conversation.id") or span.get("traceId"))
            parts = [*_list(told["gen_ai.input.messages"]), *_list(told.get("gen_ai.output.messages", "[]"))]
            messages = [message for part in parts for message in _of_parts(part)]
            tools = _list(told.get("gen_ai.tool.definitions", "[]"))
            meta = {key: told[name] for key, name in _SAID.items() if name in told}
            known = longest.get(name)
            if known is None or len(messages) > len(known[0]):
                longest[name] = messages, {**meta, "conversation": name}, tools or (known[2] if known else [])
            elif tools and not known[2]:
                longest[name] = known[0], known[1], tools
    for messages, meta, tools in longest.values():
        functions = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]
        yield Request(messages, tuple(functions)), meta


def _of_parts(message: Mapping[str, Any]) -> Iterator[Message]:
    texts, calls = [], []
    for part in message.get("parts", ()):
        match part.get("type"):
            case "text":
                texts.append(str(part.get("content", "")))
            case "tool_call":
                calls.append(_call(part.get("id"), part["name"], part.get("arguments")))
            case "tool_call_response":
                said = part.get("response", part.get("result"))
                yield {"role": "tool", "tool_call_id": str(part.get("id")), "content": _text_of(said)}
    if texts or calls or message.get("role") == "assistant":
        plain: Message = {"role": str(message["role"]), "content": "\n".join(texts)}
        yield {**plain, "tool_calls": calls} if calls else plain


def _call(number: Any, name: Any, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else encode({} if arguments is None else arguments)
    return {"id": str(number), "type": "function", "function": {"name": str(name), "arguments": text}}


def _text_of(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else "" if content is None else encode(content)


def _list(text: Any) -> list[Any]:
    found = parse_json(text) if isinstance(text, str) else text
    if not isinstance(found, list):
        raise InvalidInput(f"messages of a span are {excerpt(found)}", expected="a list")
    return found


def _has_list(content: Any, field: str) -> bool:
    return isinstance(content, dict) and isinstance(content.get(field), list)


SPANS = Reader(
    "spans of OpenTelemetry",
    lambda content: _has_list(content, "resourceSpans"),
    lambda content: _of_spans(content["resourceSpans"]),
)
SAMPLES = Reader(
    "a log of Inspect AI",
    lambda content: _has_list(content, "samples"),
    lambda content: map(_of_sample, content["samples"]),
)
