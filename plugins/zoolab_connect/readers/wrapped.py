"""The messages of an input or an output, however a program has wrapped them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.jsontext import encode, json_or
from zoolab.records import Message
from zoolab_connect.readers.contents import contents_in, is_contents
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.messages import messages_in
from zoolab_connect.readers.offered import parsed

_ROLES = ("human", "ai", "model", "gpt", "function")
_ITEMS = ("function_call", "function_call_output", "reasoning", "tool_call", "tool_use", "tool_result")
_WRAPPED = ("messages", "choices", "generations", "message", "output", "content", "text")
_ANSWERS = ("choices", "generations", "candidates")
_CALLS = ("tool_calls", "function_call")
#: What stands beside messages in a request or a reply and says nothing of the conversation.
_BESIDE = frozenset(
    {
        *("id", "object", "created", "model", "usage", "type", "role", "index", "finish_reason", "logprobs"),
        *("stop_reason", "stop_sequence", "system_fingerprint", "service_tier", "generation_info"),
        *("llm_output", "run", "tools", "functions", "tool_choice", "temperature", "top_p", "max_tokens"),
        *("stream", "n", "seed", "text", "prompts", "status", "created_at", "response_format"),
    }
)


def anything_in(value: Any, place: str, unread: Unread, role: str = "user") -> list[Message]:
    """Return the messages of an input or an output: a list, an object with one, or a text.

    >>> anything_in('{"messages": [{"role": "user", "content": "Hi"}]}', "input", Unread())
    [{'role': 'user', 'content': 'Hi'}]
    """
    before: list[Message] = []
    for _ in range(8):
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            held = json_or(None, value)
            if not isinstance(held, dict | list) or not _is_wrapped(held):
                break
            value = held
        elif is_contents(value):
            told = contents_in(value, place, unread)
            if told is None:
                break
            return [*before, *told]
        elif len(choices := choices_in(value)) > 1:
            unread.add(place, f"it has {len(choices)} answers; the first one is shown")
            value = choices[0]
        elif isinstance(value, list) and len(value) == 1 and not is_message(value[0]):
            [value] = value
        elif isinstance(value, Mapping) and not is_message(value):
            wrapped = next((key for key in _WRAPPED if value.get(key) not in (None, [], "")), None)
            if wrapped is None:
                break
            if isinstance(value.get("system"), str | list) and value["system"]:
                before = messages_in(
                    [{"role": "system", "content": value["system"]}], f"{place}.system", unread
                )
            for name in sorted(value.keys() - _BESIDE - {"system", *_WRAPPED}):
                if value[name] not in (None, [], {}, "", False):
                    unread.add(f"{place}.{name}", "it stands beside the messages and is not shown")
            value = _with_end(value[wrapped], value)
        else:
            break
    return [*before, *_read(value, place, unread, role)]


def choices_in(value: Any) -> list[Any]:
    """Return the answers of a reply, each as it stands there: several, if the model gave several.

    >>> choices_in({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]})[1]
    {'message': {'content': 'b'}}
    >>> choices_in("a")
    ['a']
    """
    held = parsed(value)
    if isinstance(value, str) and isinstance(held, list):  # a list in a text may be what the model wrote
        return [value]
    if isinstance(held, Mapping):
        held = next((held[name] for name in _ANSWERS if isinstance(held.get(name), list)), None)
    while isinstance(held, list) and len(held) == 1 and isinstance(held[0], list):
        [held] = held
    several = isinstance(held, list) and len(held) > 1 and all(map(_is_choice, held))
    return held if isinstance(held, list) and several else [value]


def _is_choice(value: Any) -> bool:
    """Return whether a value is one of the answers of a reply."""
    if not isinstance(value, Mapping) or is_message(value):
        return False
    beside = value.keys() & {"index", "finish_reason", "generation_info", "logprobs"}
    return (
        isinstance(value.get("message"), Mapping) or is_contents(value) or ("text" in value and bool(beside))
    )


def _with_end(held: Any, around: Mapping[str, Any]) -> Any:
    """Return the message in a choice, with the reason why it ended."""
    info = around.get("generation_info")
    told = (each.get("finish_reason") for each in (around, info) if isinstance(each, Mapping))
    why = next((each for each in told if isinstance(each, str)), None)
    return {"finish_reason": why, **held} if why and is_message(held) else held


def _read(value: Any, place: str, unread: Unread, role: str) -> list[Message]:
    if value in (None, "", [], {}):
        unread.add(place, "there is nothing")
        return []
    if is_message(value):
        value = [value]
    if isinstance(value, list) and all(map(_is_call, value)):
        return messages_in([{"role": "assistant", "content": None, "tool_calls": value}], place, unread, role)
    if isinstance(value, list) and any(map(is_message, value)):
        return messages_in([_unwrapped(each) for each in value], place, unread, role)
    if isinstance(value, list) and all(isinstance(part, Mapping) and "type" in part for part in value):
        return messages_in([{"role": role, "content": value}], place, unread, role)
    return [{"role": role, "content": value if isinstance(value, str) else encode(value)}]


def is_message(value: Any) -> bool:
    """Return whether a value is a message, also one of LangChain's."""
    return isinstance(value, Mapping) and (
        "role" in value
        or "kwargs" in value
        or value.get("type") in (*_ROLES, *_ITEMS)
        or ("content" in value and any(value.get(name) for name in _CALLS))
        or (
            value.get("type") in ("system", "user", "tool", "assistant")
            and ("content" in value or "data" in value)
        )
    )


def _is_wrapped(value: Any) -> bool:
    """Return whether JSON in a text holds messages, and is not what a model or a person wrote."""
    if isinstance(value, list):
        return bool(value) and all(is_message(each) or _is_call(each) for each in value)
    lists = ("messages", *_ANSWERS)
    return (
        is_message(value)
        or is_contents(value)
        or is_message(value.get("message"))
        or any(isinstance(value.get(k), list) for k in lists)
    )


def _is_call(value: Any) -> bool:
    function = value.get("function") if isinstance(value, Mapping) else None
    return isinstance(function, Mapping) and "name" in function and "arguments" in function


def _unwrapped(told: Any) -> Any:
    """Return a message of LangChain's without its wrapping; any other as it is."""
    held = told.get("kwargs", told.get("data")) if isinstance(told, Mapping) and "role" not in told else None
    if not isinstance(held, Mapping):
        return told
    names = told.get("id")
    named = (
        str(names[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        if isinstance(names, list) and names
        else ""
    )
    role = held.get("type") or told.get("type") or named
    end = {"finish_reason": told["finish_reason"]} if "finish_reason" in told else {}
    return {**end, **held, "role": named or role}
