"""Spans of other conventions: OpenInference (Phoenix), OpenLLMetry (Traceloop), Logfire, events, and values.

They tell messages in attributes such as `llm.input_messages.0.message.content`, one value each; or a request
and its answer in an attribute each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoolab.records import Message
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.messages import messages_in
from zoolab_connect.readers.offered import parsed, tools_beside, tools_in
from zoolab_connect.readers.wrapped import anything_in, choices_in

_GROUPS = (
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.prompts", "llm.completions"),
)
_WHOLE = ("pydantic_ai.all_messages", "all_messages_events", "events")
#: Attributes with a request and its answer, and whether they say so of the requests of models alone.
_PAIRS = (
    ("gen_ai.prompt", "gen_ai.completion", True),
    ("gen_ai.content.prompt", "gen_ai.content.completion", True),
    ("ai.prompt.messages", "ai.response", True),
    ("request_data", "response_data", True),
    ("langfuse.observation.input", "langfuse.observation.output", False),
    ("mlflow.spanInputs", "mlflow.spanOutputs", False),
    ("input.value", "output.value", False),
    ("traceloop.entity.input", "traceloop.entity.output", False),
)
_KINDS = ("openinference.span.kind", "langfuse.observation.type", "mlflow.spanType", "traceloop.span.kind")
_MODELS = ("LLM", "GENERATION", "CHAT_MODEL")
_TOOLS = ("gen_ai.tool.definitions", "ai.prompt.tools", "gen_ai.request.tools")
_MOST = 10_000


def messages_of(
    told: Mapping[str, Any], events: Sequence[Any], unread: Unread
) -> tuple[list[Message], list[list[Message]]]:
    """Return the messages in the attributes of a span, or in its events, and what each part of its answer
    says.
    """
    for begin, end in _GROUPS:
        found = messages_in(_listed(told, begin), begin, unread)
        answers = [messages_in([each], end, unread, "assistant") for each in _listed(told, end)]
        if found or answers:
            return found, answers
    for name in _WHOLE:
        listed = parsed(told.get(name))
        if isinstance(listed, list):
            return messages_in([_of_event(each) for each in listed], name, unread), []
    asks = {str(told.get(name, "")).strip('"').upper() for name in _KINDS} & {*_MODELS}
    for begin, end, always in _PAIRS:
        answer = _answer_of_vercel(told) if end == "ai.response" else told.get(end)
        if (always or asks) and (begin in told or answer is not None):
            found = anything_in(told.get(begin), begin, unread)
            answers = choices_in(answer)
            return found, [anything_in(each, end, unread, "assistant") for each in answers]
    named = [{**each["attributes"], "event.name": each["name"]} for each in events if _tells(each)]
    begun = [each for each in named if not each["event.name"].endswith("choice")]
    ends = [each for each in named if each["event.name"].endswith("choice")]
    return messages_in([_of_event(each) for each in begun], "events", unread), [
        messages_in([_of_event(each)], "events", unread, "assistant") for each in ends
    ]


def tools_told(told: Mapping[str, Any], place: str, unread: Unread) -> list[dict[str, Any]]:
    """Return the tools that a span says were offered."""
    for name in _TOOLS:
        if told.get(name):
            return tools_in(told[name], f"{place}, {name}", unread)
    told_one_by_one = [_tool(each.get("tool", each)) for each in _listed(told, "llm.tools", False)]
    listed = told_one_by_one or _listed(told, "llm.request.functions", False)
    if listed:
        return tools_in(listed, f"{place}, llm.tools", unread)
    held = (name for begin, _, _ in _PAIRS for name in [begin] if begin in told)
    return next((tools_beside(told[name], f"{place}, {name}", unread) for name in held), [])


def _tool(told: Any) -> Any:
    """Return a tool of OpenInference: its schema may be the whole of it, or that of its parameters."""
    if not isinstance(told, Mapping):
        return told
    schema = parsed(told.get("json_schema"))
    if isinstance(schema, Mapping) and ("function" in schema or "name" in schema):
        return schema
    return {**told, "parameters": schema}


def _answer_of_vercel(told: Mapping[str, Any]) -> Any:
    """Return what the AI SDK of Vercel says of an answer, as a message; None if it says nothing."""
    text = told.get("ai.response.text")
    calls = parsed(told.get("ai.response.toolCalls"))
    if text is None and not calls:
        return None
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _tells(event: Mapping[str, Any]) -> bool:
    name = str(event.get("name"))
    return name.startswith("gen_ai.") and name.endswith(("message", "choice"))


def _of_event(event: Any) -> Any:
    """Return a message from an event such as `gen_ai.user.message`; a choice holds it one level deeper."""
    if not isinstance(event, Mapping) or "event.name" not in event:
        return event
    held = parsed(event.get("message"))
    role = str(event["event.name"]).removeprefix("gen_ai.").partition(".")[0]
    named = {"role": "assistant" if role == "choice" else role}
    kept = ("role", "content", "tool_calls", "id", "parts")
    told = held if isinstance(held, Mapping) else {k: parsed(v) for k, v in event.items() if k in kept}
    return {**named, **told}


def _listed(told: Mapping[str, Any], prefix: str, messages: bool = True) -> list[Any]:
    """Return the list that is spread over attributes: `prefix.0.role`, `prefix.1.role`, ..."""
    tree: dict[str, Any] = {}
    for name, value in told.items():
        if not name.startswith(f"{prefix}."):
            continue
        at = tree
        (*inner, last) = name.removeprefix(f"{prefix}.").split(".")
        for key in inner:
            at = at.setdefault(key, {}) if isinstance(at.get(key, {}), dict) else {}
        at[last] = value
    return [_message(each) if messages else each for each in _ordered(tree)]


def _ordered(value: Any) -> list[Any]:
    numbers = sorted(int(key) for key in value if key.isdecimal()) if isinstance(value, dict) else []
    return [value[str(number)] for number in numbers[:_MOST] if str(number) in value]


def _message(told: Any) -> Any:
    """Return a message without the words that OpenInference puts around each part of it."""
    held = told.get("message", told) if isinstance(told, dict) else told
    if not isinstance(held, dict):
        return held
    message = {key: value for key, value in held.items() if key not in ("contents", "tool_calls")}
    message["content"] = _content(parsed(message.get("content")))
    listed = held.get("contents")
    contents = [_inside(each, "message_content") for each in _ordered(listed)]
    if contents:
        message["content"] = [*contents, *_not_among(contents, message["content"])]
    elif listed:
        message["contents"] = listed
    calls = [_inside(each, "tool_call") for each in _ordered(held.get("tool_calls"))]
    if name := message.pop("function_call_name", None):
        arguments = message.pop("function_call_arguments_json", "{}")
        calls.append({"function": {"name": name, "arguments": arguments}})
    return {**message, "tool_calls": calls} if calls else message


def _inside(told: Any, name: str) -> Any:
    return told.get(name, told) if isinstance(told, dict) else told


def _not_among(contents: list[Any], told: Any) -> list[Any]:
    """Return the content that stands beside the parts of a message, as parts; none if they say it, too."""
    texts = [
        each["text"] for each in contents if isinstance(each, dict) and isinstance(each.get("text"), str)
    ]
    if isinstance(told, list):
        return [each for each in told if each not in contents]
    same = not told or told in texts or told in ("".join(texts), "\n".join(texts))
    return [] if same else [{"type": "text", "text": told}]


def _content(value: Any) -> Any:
    return value if isinstance(value, str | list) or value is None else str(value)
