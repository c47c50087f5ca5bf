"""Sessions of coding agents, a line for each message: `{"type": "user", "message": {...}}`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import messages_in

_SPEAKERS = ("user", "assistant", "system")


def recognises(values: Sequence[Any]) -> bool:
    """Whether values are the lines of such a session."""
    return any(map(_is_line, values))


def _is_line(value: Any) -> bool:
    message = value.get("message") if isinstance(value, dict) else None
    return isinstance(message, dict) and "role" in message and value.get("type") in _SPEAKERS


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each session, and for each agent below it."""
    told: dict[tuple[str, bool], list[Any]] = {}
    notes: dict[tuple[str, bool], Unread] = {}
    for number, value in enumerate(values):
        if not _is_line(value):
            kind = value.get("type") if isinstance(value, dict) else None
            unread.add(f"value {number + 1}", f"{kind or 'it'}: it is no message")
            continue
        key = str(value.get("sessionId", value.get("session_id"))), bool(value.get("isSidechain"))
        own = notes.setdefault(key, Unread())
        kept = {k: v for k, v in value["message"].items() if k in ("role", "content")}
        told.setdefault(key, []).extend(messages_in([kept], f"value {number + 1}", own))
    for (session, beside), messages in told.items():
        meta = {"session": session, **({"sidechain": True} if beside else {})}
        yield Conversation(_joined(messages), (), meta, notes[session, beside])


def _joined(messages: list[Any]) -> list[Any]:
    """The messages, with those of the model that stand side by side as one: a line has a part each."""
    found: list[Any] = []
    for each in messages:
        last = found[-1] if found else {}
        if each["role"] == "assistant" == last.get("role"):
            texts = [part for part in (last["content"], each["content"]) if part]
            content = texts[0] if len(texts) == 1 else _parts(texts)
            calls = [*last.get("tool_calls", ()), *each.get("tool_calls", ())]
            found[-1] = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
        else:
            found.append(each)
    return found


def _parts(contents: list[Any]) -> Any:
    if all(isinstance(each, str) for each in contents):
        return "\n".join(contents)
    listed = ([{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents)
    return [part for each in listed for part in each]
