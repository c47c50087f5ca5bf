"""An endpoint that refuses a broken conversation, as the large ones do: the 400 that a learner meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zoolab.models.assembly import completion_of
from zoolab.models.transport import offline_client
from zoolab.records import Model, Request
from zoolab.wire.invariants import check_conversation

if TYPE_CHECKING:
    import openai


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
