"""What stands in a request of one of five APIs, whoever wrote it: turns, with their calls and results.

A request comes from any program, so everything in it may have any type. What does not fit is left out here;
`zoolab_connect.endpoint.strict` says what servers refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from zoolab_connect.endpoint.cases import Body


class SentCall(NamedTuple):
    """A call that the model made, as the program sent it back."""

    id: Any
    name: Any
    arguments: Any


class SentTurn(NamedTuple):
    """What one side said: the assistant (`assistant`), tools (`results`), or anyone else (`other`)."""

    side: str
    texts: tuple[str, ...] = ()
    calls: tuple[SentCall, ...] = ()
    #: The ids of the calls that results belong to, or their names where an API has no ids.
    results: tuple[Any, ...] = ()
    #: Whether some part of it is an empty text, or it has no parts at all.
    blank: bool = False


def sent_turns(api: str, body: Body) -> list[SentTurn]:
    """Return the turns of a request in their order; results in a row are one turn.

    >>> call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    >>> said = {"role": "assistant", "content": None, "tool_calls": [call]}
    >>> result = {"role": "tool", "tool_call_id": "a", "content": "1"}
    >>> sent_turns("chat", {"messages": [said, result]})[1].results
    ('a',)
    """
    joined: list[SentTurn] = []
    for turn in _READERS[api](body):
        before = joined[-1] if joined else None
        if before is not None and before.side == turn.side and turn.side != "other" and _may_join(api, turn):
            joined[-1] = SentTurn(
                turn.side,
                before.texts + turn.texts,
                before.calls + turn.calls,
                before.results + turn.results,
                before.blank or turn.blank,
            )
        else:
            joined.append(turn)
    return joined


def _may_join(api: str, turn: SentTurn) -> bool:
    """Return whether two may join: results in each API; items of the assistant where they are its messages in
    pieces.
    """
    return turn.side == "results" or api == "responses"


def objects(value: Any) -> list[Body]:
    """Return the objects of a list; none if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def object_in(value: Any, key: str) -> Body:
    """Return the object under a key; an empty one if there is none."""
    inner = value.get(key) if isinstance(value, Mapping) else None
    return inner if isinstance(inner, dict) else {}


def texts_within(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys left out."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, list):
            waiting += reversed(inner)
        elif isinstance(inner, dict):
            waiting += reversed(list(inner.values()))


def objects_in(value: Any) -> Iterator[Body]:
    """Yield every object in a JSON value, itself included."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield inner
            waiting += inner.values()
        elif isinstance(inner, list):
            waiting += inner


def _content_texts(content: Any) -> tuple[str, ...]:
    """Return the texts of content that is one text, or parts with texts."""
    if isinstance(content, str):
        return (content,) if content.strip() else ()
    parts = [part.get("text") for part in objects(content)]
    joined = "".join(part for part in parts if isinstance(part, str))
    return (joined,) if joined.strip() else ()


def _chat(body: Body) -> Iterator[SentTurn]:
    for message in objects(body.get("messages")):
        role = message.get("role")
        if role == "tool":
            yield SentTurn("results", results=(message.get("tool_call_id"),))
        elif role == "assistant":
            calls = tuple(_function_call(call) for call in objects(message.get("tool_calls")))
            texts = _content_texts(message.get("content"))
            yield SentTurn("assistant", texts, calls, blank=not texts and not calls)
        else:
            yield SentTurn("other")


def _function_call(call: Body) -> SentCall:
    function = object_in(call, "function")
    return SentCall(call.get("id"), function.get("name"), function.get("arguments"))


def _responses(body: Body) -> Iterator[SentTurn]:
    for item in objects(body.get("input")):
        kind = item.get("type", "message")
        if kind == "function_call":
            call = SentCall(item.get("call_id"), item.get("name"), item.get("arguments"))
            yield SentTurn("assistant", calls=(call,))
        elif kind == "function_call_output":
            yield SentTurn("results", results=(item.get("call_id"),))
        elif kind == "reasoning":
            yield SentTurn("assistant")
        elif item.get("role") == "assistant":
            yield SentTurn("assistant", _content_texts(item.get("content")))
        else:
            yield SentTurn("other")


def _anthropic(body: Body) -> Iterator[SentTurn]:
    for message in objects(body.get("messages")):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        blank = not blocks or any(not isinstance(text, str) or not text.strip() for text in texts)
        if message.get("role") == "assistant":
            used = [block for block in blocks if block.get("type") == "tool_use"]
            calls = tuple(SentCall(use.get("id"), use.get("name"), use.get("input")) for use in used)
            yield SentTurn("assistant", _content_texts(content), calls, blank=blank)
            continue
        results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        if results:
            yield SentTurn("results", results=tuple(results), blank=blank)
        if len(results) < len(blocks) or not blocks:
            yield SentTurn("other", blank=blank)


def _gemini(body: Body) -> Iterator[SentTurn]:
    for content in objects(body.get("contents")):
        parts = objects(content.get("parts"))
        blank = not parts or any(not part for part in parts)
        if content.get("role") == "model":
            asked = [object_in(part, "functionCall") for part in parts if "functionCall" in part]
            calls = tuple(SentCall(call.get("id"), call.get("name"), call.get("args", {})) for call in asked)
            said = [part for part in parts if not part.get("thought")]
            yield SentTurn("assistant", _content_texts(said), calls, blank=blank)
            continue
        results = [
            object_in(part, "functionResponse").get("name") for part in parts if "functionResponse" in part
        ]
        if results:
            yield SentTurn("results", results=tuple(results), blank=blank)
        if len(results) < len(parts) or not parts:
            yield SentTurn("other", blank=blank)


_READERS: Mapping[str, Callable[[Body], Iterator[SentTurn]]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _chat,
}
