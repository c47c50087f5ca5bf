"""What strict servers refuse in the conversation that a program sends back.

Each rule is a pure function of a request (its API and its body) and of the replies that the server gave
before. It returns what a server answers, in our words, or None. Servers differ: vLLM and llama.cpp parse past
arguments, Mistral wants ids of nine letters and digits, Anthropic and OpenAI compare signed thinking with
what they sent. A case names the rules that its server has.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from zoolab.jsontext import excerpt
from zoolab_connect.endpoint.cases import Body
from zoolab_connect.endpoint.reading import SentTurn, object_in, objects, sent_turns

#: A rule: the API, the body, and the replies before it in their plain form.
Rule = Callable[[str, Body, Sequence[Any]], str | None]

_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_OF_NINE = re.compile(r"[a-zA-Z0-9]{9}")
#: The APIs in which arguments are an object; in the others they are its text.
_OBJECTS = ("anthropic", "gemini", "ollama")
_THINKING = ("thinking", "redacted_thinking", "tool_use")


def broken_rule(rules: Sequence[str], api: str, body: Body, said: Sequence[Any] = ()) -> str | None:
    """Return what the first of these rules that is broken says; None if the server takes the request.

    >>> bad = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}
    >>> broken_rule(["names", "arguments"], "chat", {"messages": [bad]})
    'the arguments of a call of "f" are not a JSON object'
    """
    return next(filter(None, (RULES[rule](api, body, said) for rule in rules)), None)


def check_argument_objects(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that the arguments of each call are an object, or the text of one."""
    for turn in sent_turns(api, body):
        for call in turn.calls:
            value = call.arguments if api in _OBJECTS else _parsed(call.arguments)
            if not isinstance(value, dict):
                return f"the arguments of a call of {excerpt(call.name)} are not a JSON object"
    return None


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def check_names(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that each call has a name of letters, digits and a few marks."""
    for turn in sent_turns(api, body):
        for call in turn.calls:
            if not isinstance(call.name, str) or not _NAME.fullmatch(call.name):
                return f"{excerpt(call.name)} is not the name of a function"
    return None


def check_ids(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that each call has an id, and no other call has the same; in Chat, no other call of its
    message.
    """
    seen = list[Any]()
    for turn in sent_turns(api, body):
        ids = [call.id for call in turn.calls]
        if any(not isinstance(id, str) or not id for id in ids):
            return "a call has no id"
        seen = ids if api == "chat" else seen + ids
        if len(set(seen)) < len(seen):
            return f"two calls have the id {excerpt(Counter(seen).most_common(1)[0][0])}"
    return None


def check_ids_of_nine(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that the ids of calls and results are nine letters and digits, as Mistral has them."""
    turns = sent_turns(api, body)
    ids = [call.id for turn in turns for call in turn.calls] + [id for turn in turns for id in turn.results]
    wrong = [id for id in ids if not isinstance(id, str) or not _OF_NINE.fullmatch(id)]
    return f"the id {excerpt(wrong[0])} is not nine letters and digits" if wrong else None


def check_pairs(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that each call has one result, directly after its turn, and each result has a call."""
    turns = sent_turns(api, body)
    if api == "responses":
        kept = body.get("previous_response_id") is not None
        return _items_pair(turns, kept=kept)
    for before, turn in zip([SentTurn("other"), *turns], [*turns, SentTurn("other")], strict=True):
        asked = [call.name if api == "gemini" else call.id for call in before.calls]
        found = list(turn.results)
        if before.side != "assistant" and not found:
            continue
        if api == "gemini" and len(asked) != len(found):
            return f"{len(found)} function responses for {len(asked)} function calls"
        if Counter(map(str, asked)) != Counter(map(str, found)):
            return _unpaired(asked, found)
    return None


def _items_pair(turns: Sequence[SentTurn], *, kept: bool) -> str | None:
    """Check that, in Responses, calls and outputs pair wherever they stand; the server may hold the calls."""
    asked = [call.id for turn in turns for call in turn.calls]
    found = [id for turn in turns for id in turn.results]
    if Counter(map(str, asked)) == Counter(map(str, found)):
        return None
    return None if kept and set(map(str, asked)) <= set(map(str, found)) else _unpaired(asked, found)


def _unpaired(asked: Sequence[Any], found: Sequence[Any]) -> str:
    open_calls = Counter(map(str, asked)) - Counter(map(str, found))
    if open_calls:
        return f"the call {excerpt(next(iter(open_calls)))} has no result"
    return f"the result for {excerpt(next(iter(found)))} follows no such call"


def check_empty(api: str, body: Body, _said: Sequence[Any]) -> str | None:
    """Check that no turn is empty, and no block is an empty text."""
    for turn in sent_turns(api, body):
        if turn.blank:
            return f"a message of the {'assistant' if turn.side == 'assistant' else 'user'} is empty"
    return None


def check_thinking(_api: str, body: Body, said: Sequence[Any]) -> str | None:
    """Check that thinking and calls of a turn of Messages are as they came, in the same order."""
    for reply in said:
        came = _signed_blocks(reply)
        ids = {mark for kind, mark in came if kind == "tool_use"}
        for message in objects(body.get("messages")):
            back = _signed_blocks(message)
            if ids & {mark for kind, mark in back if kind == "tool_use"} and back != came:
                return "thinking blocks must go back as they came, in their places"
    return None


def _signed_blocks(message: Any) -> list[tuple[Any, str]]:
    blocks = objects(message.get("content") if isinstance(message, dict) else None)
    kept = [block for block in blocks if block.get("type") in _THINKING]
    return [(b["type"], str(b.get("signature") or b.get("data") or b.get("id"))) for b in kept]


def check_reasoning(_api: str, body: Body, said: Sequence[Any]) -> str | None:
    """Check that, in Responses, a reasoning item stands directly before the item that followed it when it
    came.
    """
    back = [_mark(item) for item in objects(body.get("input"))]
    for reply in said:
        came = [_mark(item) for item in objects(reply.get("output") if isinstance(reply, dict) else None)]
        for reasoning, item in pairwise(came):
            if reasoning[0] != "reasoning" or item not in back:
                continue
            place = back.index(item)
            if place == 0 or back[place - 1] != reasoning:
                return f"the item {excerpt(item[1])} came after the reasoning {excerpt(reasoning[1])}"
    return None


def _mark(item: Body) -> tuple[str, str]:
    return str(item.get("type", "message")), str(item.get("call_id") or item.get("id"))


RULES: Mapping[str, Rule] = {
    "arguments": check_argument_objects,
    "names": check_names,
    "ids": check_ids,
    "ids_of_nine": check_ids_of_nine,
    "pairs": check_pairs,
    "empty": check_empty,
    "thinking": check_thinking,
    "reasoning": check_reasoning,
}


def rejected(rejects: Sequence[Body], body: Body) -> Body | None:
    """Return the first of the rejections of settings that meets a request: its status and body; None if none
    does.

    >>> rule = {"setting": "temperature", "when": "always", "status": 400, "body": {}}
    >>> rejected([rule], {"temperature": 0})["status"], rejected([rule], {})
    (400, None)
    """
    has_tools = bool(body.get("tools"))
    for each in rejects:
        when = {"always": True, "beside tools": has_tools, "without tools": not has_tools}[each["when"]]
        if when and _has(body, each["setting"]):
            return each
    return None


def _has(body: Body, setting: str) -> bool:
    inner, _, last = setting.rpartition(".")
    place = object_in(body, inner) if inner else body
    return place.get(last) is not None
