"""The rules of `messages[]` that endpoints hold a conversation to: roles, calls, one result for each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from zoolab.errors import InvalidInput, Problem
from zoolab.jsontext import excerpt
from zoolab.messages import Condensed, Message, Messages
from zoolab.running.interrupts import interruptible

ROLES = ("system", "developer", "user", "assistant", "tool")


def check_conversation(messages: Sequence[Any]) -> tuple[Problem, ...]:
    """Return everything that an endpoint would refuse a conversation for, each with where and what.

    - every message has a role of `ROLES`, and what its role needs;
    - an assistant message has text or calls; each call has an id of its own, a name and arguments as text;
    - after a message with calls come the tool messages, one for each id, before anything else;
    - no tool message answers a call that nobody made, or one that was answered already.
    """
    if not messages:
        return (_problem("/messages", "at least one message", "none"),)
    return (*_each_alone(messages), *_calls_and_results(messages))


def condensed(condense: Callable[[list[Message]], Iterable[Message]], messages: Messages) -> Messages:
    """Return what `condense` makes of the messages; raises `InvalidInput` if an endpoint would refuse it."""
    made: Any = interruptible(condense, messages.tolist())
    expected = "a list of messages in which each call stands before its result"
    if not isinstance(made, list | tuple):
        raise InvalidInput(f"condense returned {excerpt(made, 60)}", expected=expected)
    if [*made] == messages.tolist():
        return messages
    for problem in check_conversation(made):
        advice = "leave out a call together with all of its results"
        raise InvalidInput(f"condense returned messages with {problem}", expected=expected, advice=advice)
    return Condensed(made, messages)


def _problem(pointer: str, expected: str, received: str) -> Problem:
    return Problem("invalid_input", pointer, expected, received)


def _each_alone(messages: Iterable[Any]) -> Iterator[Problem]:
    for index, message in enumerate(messages):
        where = f"/messages/{index}"
        if not isinstance(message, dict):
            yield _problem(where, "an object", excerpt(message, 30))
        elif message.get("role") not in ROLES:
            yield _problem(f"{where}/role", " or ".join(ROLES), excerpt(message.get("role"), 30))
        elif message["role"] == "assistant":
            yield from _assistant(message, where)
        elif not isinstance(message.get("content"), str | list):
            yield _problem(f"{where}/content", "text", excerpt(message.get("content"), 30))


def _assistant(message: dict[str, Any], where: str) -> Iterator[Problem]:
    calls = message.get("tool_calls")
    if calls is None:
        if not isinstance(message.get("content"), str | list):
            yield _problem(where, "content or tool_calls", "neither")
        return
    if not isinstance(calls, list) or not calls:
        yield _problem(f"{where}/tool_calls", "an array of one call or more", excerpt(calls, 30))
        return
    seen: set[str] = set()
    for slot, call in enumerate(calls):
        place = f"{where}/tool_calls/{slot}"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            yield _problem(f"{place}/function", "an object with a name", excerpt(function, 30))
            continue
        arguments = function.get("arguments")
        id = call.get("id")
        if not isinstance(arguments, str):
            yield _problem(f"{place}/function/arguments", "text that holds JSON", excerpt(arguments, 30))
        if not isinstance(id, str) or not id or id in seen:
            yield _problem(f"{place}/id", "an id that no other call of this message has", excerpt(id, 30))
        else:
            seen.add(id)


def _calls_and_results(messages: Iterable[Any]) -> Iterator[Problem]:
    waiting: dict[str, str] = {}
    for index, message in enumerate([*messages, {}]):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            answered = str(message.get("tool_call_id"))
            if waiting.pop(answered, None) is None:
                where = f"/messages/{index}/tool_call_id"
                yield _problem(where, "the id of a call that waits for its result", excerpt(answered, 30))
            continue
        for id, where in waiting.items():
            yield _problem(where, f"a tool message with tool_call_id {excerpt(id, 30)}", "none")
        made = message.get("tool_calls") if message.get("role") == "assistant" else None
        waiting = {
            str(call["id"]): f"/messages/{index}/tool_calls/{slot}"
            for slot, call in enumerate(made if isinstance(made, list) else ())
            if isinstance(call, dict) and isinstance(call.get("id"), str)
        }
