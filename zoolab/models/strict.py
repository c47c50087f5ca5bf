"""An endpoint that refuses a broken conversation, as the large ones do: the 400 that a learner meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zoolab.errors import Problem
from zoolab.jsontext import excerpt
from zoolab.models.assembly import completion_of
from zoolab.models.transport import offline_client
from zoolab.records import Model, Request

if TYPE_CHECKING:
    import openai

ROLES = ("system", "developer", "user", "assistant", "tool")


def check_conversation(messages: Sequence[Any]) -> tuple[Problem, ...]:
    """Everything that an endpoint would refuse a conversation for, each with where and what.

    - every message has a role of `ROLES`, and what its role needs;
    - an assistant message has text or calls; each call has an id of its own, a name and arguments as text;
    - after a message with calls come the tool messages, one for each id, before anything else;
    - no tool message answers a call that nobody made, or one that was answered already.

    >>> call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    >>> asked = [{"role": "user", "content": "Add."}, {"role": "assistant", "tool_calls": [call]}]
    >>> for problem in check_conversation(asked): print(problem)
    /messages/1/tool_calls/0: expected a tool message with tool_call_id "c1", received none
    >>> check_conversation([*asked, {"role": "tool", "tool_call_id": "c1", "content": "3"}])
    ()
    """
    if not messages:
        return (_problem("/messages", "at least one message", "none"),)
    return (*_each_alone(messages), *_calls_and_results(messages))


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
    seen: set[Any] = set()
    for slot, call in enumerate(calls):
        yield from _call(call, f"{where}/tool_calls/{slot}", seen)


def _call(call: Any, where: str, seen: set[Any]) -> Iterator[Problem]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        yield _problem(f"{where}/function", "an object with a name", excerpt(function, 30))
        return
    if not isinstance(function.get("arguments"), str):
        yield _problem(
            f"{where}/function/arguments", "text that holds JSON", excerpt(function.get("arguments"), 30)
        )
    name = call.get("id")
    if not isinstance(name, str) or not name or name in seen:
        yield _problem(f"{where}/id", "an id that no other call of this message has", excerpt(name, 30))
    else:
        seen.add(name)


def _calls_and_results(messages: Iterable[Any]) -> Iterator[Problem]:
    waiting: dict[str, str] = {}
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            answered = str(message.get("tool_call_id"))
            if waiting.pop(answered, None) is None:
                where = f"/messages/{index}/tool_call_id"
                yield _problem(where, "the id of a call that waits for its result", excerpt(answered, 30))
            continue
        yield from _unanswered(waiting)
        waiting = _ids_of(message, index)
    yield from _unanswered(waiting)


def _unanswered(waiting: dict[str, str]) -> Iterator[Problem]:
    for name, where in waiting.items():
        yield _problem(where, f"a tool message with tool_call_id {excerpt(name, 30)}", "none")


def _ids_of(message: dict[str, Any], index: int) -> dict[str, str]:
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(calls, list):
        return {}
    return {
        str(call["id"]): f"/messages/{index}/tool_calls/{slot}"
        for slot, call in enumerate(calls)
        if isinstance(call, dict) and isinstance(call.get("id"), str)
    }


def strict_client(model: Model) -> openai.OpenAI:
    """An `openai.OpenAI` that answers through `model`, and with 400 if a conversation is broken.

    No network: the rules are those of `check_conversation`, written by hand after what real endpoints
    refuse; the words of the error are ours, its form is theirs.

    >>> from zoolab import Scripted
    >>> client = strict_client(Scripted(["Hello"]))
    >>> hello = [{"role": "user", "content": "Hi"}]
    >>> client.chat.completions.create(model="any", messages=hello).choices[0].message.content
    'Hello'
    >>> client.chat.completions.create(model="any", messages=[{"role": "tool", "content": "3"}])
    Traceback (most recent call last):
    openai.BadRequestError: Error code: 400 - ...
    """

    def answer(read: Callable[[], dict[str, Any]], _key: str | None) -> tuple[int, dict[str, Any]]:
        body = read()
        problems = check_conversation(body.get("messages") or [])
        if problems:
            return 400, {"error": _refusal(problems[0].message, problems[0].pointer)}
        settings = {name: body[name] for name in body if name not in ("messages", "tools", "tool_choice")}
        tools = tuple(body.get("tools") or ())
        return 200, completion_of(model(Request(body["messages"], tools, settings=settings)))

    return offline_client(answer)


def _refusal(message: str, pointer: str) -> dict[str, Any]:
    param = pointer.strip("/").replace("/", ".")
    return {"message": message, "type": "invalid_request_error", "param": param, "code": None}
