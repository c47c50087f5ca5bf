"""Datasets: ShareGPT, Hermes, ToolACE, LMSYS, preferences, prompts with completions, calls to make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import call, messages_in
from zoolab_connect.readers.offered import parsed, tools_in
from zoolab_connect.readers.text_calls import calling, results_of
from zoolab_connect.readers.wrapped import anything_in

_TURNS = ("conversations", "conversation")
#: The words for who speaks. `function_call` is the model's call, and `observation` its result.
_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model", "function_call"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "observation", "function_response", "function-response"), "tool"),
}
#: Fields of a question, and of its answer: of the row of a dataset without messages.
_ASKED = (("instruction", "output"), ("prompt", "completion"), ("prompt", "response"), ("query", "answers"))
_PREFERRED = (("chosen", "rejected"), ("preferred_output", "non_preferred_output"))
_PLACED = frozenset(
    {"id", "tools", "system", "input", "prompt", *_TURNS, *(n for each in _PREFERRED for n in each)}
)


def recognises(value: Any) -> bool:
    """Return whether a value is the row of a dataset."""
    return isinstance(value, dict) and _form(value) is not None


def read(value: Mapping[str, Any], _unread: Unread) -> Iterator[Conversation]:
    """Yield the conversation of a row; those of a preference are two, each with what it is."""
    form = _form(value)
    yield from form(value) if form is not None else ()


def _form(value: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Iterator[Conversation]] | None:
    """Return what reads a row; None if it has no form that is known."""
    if any(_is_turns(value.get(name)) for name in _TURNS):
        return _of_turns
    if "messages" not in value and any(_is_roles(value.get(name)) for name in _TURNS):
        return _of_roles
    if any({*each} <= value.keys() for each in _PREFERRED):
        return _of_preference
    if "messages" not in value and any(
        all(isinstance(value.get(k), str | list) for k in each) for each in _ASKED
    ):
        return _of_question
    return None


def _is_turns(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Mapping) and "from" in each for each in value)


def _is_roles(value: Any) -> bool:
    """Return whether a value is a list of messages with roles, as LMSYS and WildChat have it."""
    return isinstance(value, list) and any(isinstance(each, Mapping) and "role" in each for each in value)


def _of_roles(row: Mapping[str, Any]) -> Iterator[Conversation]:
    own = Unread()
    name = next(each for each in _TURNS if _is_roles(row.get(each)))
    listed = row[name]
    if isinstance(row.get("system"), str) and row["system"]:
        listed = [{"role": "system", "content": row["system"]}, *listed]
    meta = {"model": row["model"]} if isinstance(row.get("model"), str) else {}
    messages = messages_in(listed, name, own)
    tools = tools_in(row.get("tools"), "tools", own)
    yield Conversation(messages, tools, meta, _rest(row, own, *meta))


def _of_turns(row: Mapping[str, Any]) -> Iterator[Conversation]:
    own = Unread()
    name = next(each for each in _TURNS if _is_turns(row.get(each)))
    told = [{"from": "system", "value": row["system"]}] if isinstance(row.get("system"), str) else []
    turns = [*told, *row[name]]
    uses_tools = bool(row.get("tools")) or any(map(_is_of_tools, turns))
    messages: list[Message] = []
    for number, turn in enumerate(turns, -len(told)):
        place = f"{name}[{number}]" if number >= 0 else "system"
        if not isinstance(turn, Mapping):
            own.add(place, f"it is {excerpt(turn, 60)}; expected a turn")
            continue
        who = turn.get("from")
        said = turn.get("value", turn.get("content"))
        role = _ROLES.get(str(who).lower())
        if role is None:
            own.add(f"{place}.from", f"it is {excerpt(who, 40)}; taken for user")
        for key in sorted(turn.keys() - {"from", "value", "content", "weight", "loss"}):
            if turn[key] not in (None, "", [], {}):
                own.add(f"{place}.{key}", "it has no place in a conversation here")
        text = said if isinstance(said, str) else encode(said)
        calls = _calls_of(said, number) if who == "function_call" else []
        if calls:
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif role == "assistant":
            messages.append(calling(text, number, uses_tools, place, own))
        elif role == "tool":
            waiting = _without_results(messages)
            if not waiting:
                own.add(place, "it is the result of a call that was not found")
            messages += results_of(text, waiting)
        else:
            messages.append({"role": role or "user", "content": text})
    yield Conversation(messages, tools_in(row.get("tools"), "tools", own), {}, _rest(row, own))


def _is_of_tools(turn: Any) -> bool:
    """Return whether a turn says that the conversation has tools."""
    if not isinstance(turn, Mapping):
        return False
    role = _ROLES.get(str(turn.get("from")).lower())
    said = turn.get("value", turn.get("content"))
    return role == "tool" or (role == "system" and isinstance(said, str) and "<tools>" in said)


def _calls_of(said: Any, number: int) -> list[dict[str, Any]]:
    """Return the calls in a text; empty if it is no such text."""
    told = parsed(said)
    listed = told if isinstance(told, list) else [told]
    if not all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in listed):
        return []
    return [
        call(f"call_{number}_{at}", each["name"], each.get("arguments", each.get("parameters")))
        for at, each in enumerate(listed)
    ]


def _without_results(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """Return the calls just made that have no result yet."""
    answered = {each.get("tool_call_id") for each in messages}
    calls: list[Mapping[str, Any]] = []
    for message in reversed(messages):
        if message.get("tool_calls"):
            calls = [*message["tool_calls"], *calls]
        elif message["role"] != "tool" or calls:
            break
    return [each for each in calls if each["id"] not in answered]


def _of_preference(row: Mapping[str, Any]) -> Iterator[Conversation]:
    for name in next(each for each in _PREFERRED if {*each} <= row.keys()):
        own = Unread()
        given = row.get("prompt", row.get("input"))
        asked = anything_in(given, "prompt", own) if given else []
        said = anything_in(row[name], name, own, "assistant")
        inner = given.get("tools") if isinstance(given, Mapping) else None
        tools = tools_in(row.get("tools", inner), "tools", own)
        yield Conversation([*asked, *said], tools, {"preference": name}, _rest(row, own))


def _of_question(row: Mapping[str, Any]) -> Iterator[Conversation]:
    own = Unread()
    question, answer = next(each for each in _ASKED if {*each} <= row.keys())
    asked = anything_in(row[question], question, own)
    if question == "instruction" and row.get("input"):
        asked += anything_in(row["input"], "input", own)
    if isinstance(row.get("system"), str) and row["system"]:
        asked = [*messages_in([{"role": "system", "content": row["system"]}], "system", own), *asked]
    calls = _calls_of(row[answer], 0) if answer == "answers" else []
    said: list[Any] = (
        [{"role": "assistant", "content": None, "tool_calls": calls}]
        if calls
        else anything_in(row[answer], answer, own, "assistant")
    )
    tools = tools_in(row.get("tools"), "tools", own)
    yield Conversation([*asked, *said], tools, {}, _rest(row, own, question, answer))


def _rest(row: Mapping[str, Any], own: Unread, *read_already: str) -> Unread:
    """Name what stands beside the conversation."""
    for name in sorted(row.keys() - _PLACED - {*read_already}):
        if row[name] not in (None, "", [], {}):
            own.add(name, f"it stands beside the conversation: {excerpt(row[name], 60)}")
    return own
