"""Sessions of Codex: its rollout files, and what `codex exec --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.joining import joined
from zoolab_connect.readers.messages import call, content_text, read_message

_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_STATES = ("item.started", "item.updated", "item.completed")
_EVENTS = ("thread.started", "turn.started", "turn.completed", "turn.failed", *_STATES)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_READ = ("message", "reasoning", "function_call_output", "custom_tool_call_output", *_CALLS)
_ITEMS = (*_READ, "web_search_call")
#: Events of a rollout that say more than the items beside them.
_TELLING = (
    *("error", "stream_error", "warning", "turn_aborted", "context_compacted", "thread_rolled_back"),
    *("task_failed", "background_event"),
)
#: What the agent did: the name of the call, what it was asked, and what it gave.
_DONE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "command_execution": (("command",), ("aggregated_output", "exit_code")),
    "mcp_tool_call": (("arguments",), ("result", "error")),
    "file_change": (("changes",), ("status",)),
    "web_search": (("query",), ("results",)),
}


def recognises(values: Sequence[Any]) -> bool:
    """Return whether values are the lines of such a session."""
    return any(_is_line(each) or _is_event(each) or _is_state(each) for each in values)


def _is_state(value: Any) -> bool:
    """Return whether a value is a mark of an older rollout, whose items stand in no object of their own."""
    return isinstance(value, dict) and value.keys() == {"record_type"}


def _as_line(value: Any) -> Any:
    """Return a line of an older rollout in today's form; any other value as it is."""
    if not isinstance(value, dict) or "payload" in value:
        return value
    if "type" not in value and {"id", "timestamp"} <= value.keys():
        return {"type": "session_meta", "payload": value}
    return {"type": "response_item", "payload": value} if value.get("type") in _ITEMS else value


def _is_line(value: Any) -> bool:
    return (
        isinstance(value, dict) and value.get("type") in _LINES and isinstance(value.get("payload"), Mapping)
    )


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") not in _EVENTS:
        return False
    return value["type"] not in _STATES or isinstance(value.get("item"), Mapping)


@dataclass(slots=True)
class _Session:
    """What the lines of one session say."""

    meta: dict[str, Any] = field(default_factory=dict)
    system: list[str] = field(default_factory=list)
    told: list[list[Message]] = field(default_factory=list)
    #: Items of work by their ids: the index in `told`, and the event that told the last of it.
    work: dict[str, tuple[int, str, Mapping[str, Any]]] = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)
    failed: str = ""

    def conversation(self) -> Conversation:
        for at, place, event in self.work.values():
            done = event["type"] == "item.completed"
            self.told[at] = _of_work(event["item"], place, self.unread, done)
        begin: list[Message] = [{"role": "system", "content": text} for text in self.system]
        messages = [*begin, *joined([message for each in self.told for message in each])]
        outcome = "failed" if self.failed else ""
        return Conversation(messages, (), self.meta, self.unread, outcome, self.failed)


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each session."""
    sessions = [_Session()]
    passed: Counter[str] = Counter()
    older = any(map(_is_state, values))
    for number, value in enumerate(map(_as_line, values) if older else values):
        place = f"value {number + 1}"
        if _begins(value, sessions[-1]):
            sessions.append(_Session())
        if _is_line(value):
            _read_line(value["type"], value["payload"], place, sessions[-1], passed)
        elif _is_event(value):
            _read_event(value, place, sessions[-1], passed)
        elif _is_state(value):
            passed[f"record_type {value['record_type']}"] += 1
        elif isinstance(value, dict) and value.get("type") == "error":
            sessions[-1].unread.add(place, f"an error: {_said(value, place)}")
        else:
            unread.add(place, "it is no line of a session")
    for kind, count in passed.items():
        unread.add(kind, f"it is no message; number of lines: {count:,}")
    yield from (each.conversation() for each in sessions)


def _begins(value: Any, before: _Session) -> bool:
    """Tell whether a value begins another session. A fork names two sessions before its first message."""
    if not before.told or not (_is_line(value) or _is_event(value)):
        return False
    if value["type"] == "session_meta":
        return str(value["payload"].get("id")) != before.meta.get("session")
    return bool(value["type"] == "thread.started")


def _read_line(
    kind: str, payload: Mapping[str, Any], place: str, session: _Session, passed: Counter[str]
) -> None:
    """Read a line of a rollout."""
    what = str(payload.get("type"))
    match kind:
        case "session_meta":
            session.meta.setdefault("session", str(payload.get("id")))
            session.system = session.system or _instructions(payload)
        case "turn_context":
            if isinstance(payload.get("model"), str):
                session.meta["model"] = payload["model"]
            passed["turn_context"] += 1
        case "response_item":
            session.told.append(_of_item(payload, place, session.unread))
            session.failed = ""
        case "compacted":
            session.unread.add(place, f"the history was condensed here to: {_said(payload, place)}")
        case _ if what in _TELLING:
            session.unread.add(place, f"{what}: {_said(payload, place)}")
            if what in ("error", "task_failed", "turn_aborted"):
                session.failed = _said(payload, place)
        case _:
            passed[f"{kind} {what}"] += 1


def _instructions(payload: Mapping[str, Any]) -> list[str]:
    held = payload.get("base_instructions")
    base = held.get("text") if isinstance(held, Mapping) else held
    return [text for text in (base, payload.get("instructions")) if isinstance(text, str) and text]


def _of_item(item: Mapping[str, Any], place: str, unread: Unread) -> list[Message]:
    """Read the messages of an item of the Responses API."""
    kind = str(item.get("type"))
    if kind not in _READ:
        unread.add(place, f"{kind}, not shown: {excerpt(item.get('action', item), 120)}")
        return []
    if kind in _CALLS:
        plain, input_, action = (item.get(name) for name in ("arguments", "input", "action"))
        arguments = {"function_call": plain, "custom_tool_call": {"input": input_}}.get(kind, action)
        number = item.get("call_id", item.get("id"))
        name = item.get("name", "local_shell")
        return [_calling(call(number, name, arguments))]
    if kind == "message":
        kept = {key: item[key] for key in ("role", "content") if key in item}
        return read_message(kept, place, unread, "assistant")
    if kind == "reasoning":
        return _thoughts(item, place, unread)
    kept = {"type": "function_call_output", **{k: item[k] for k in ("call_id", "output") if k in item}}
    return read_message(kept, place, unread)


def _thoughts(item: Mapping[str, Any], place: str, unread: Unread) -> list[Message]:
    texts = [content_text(item[key], place, unread) for key in ("summary", "content") if item.get(key)]
    if not texts:
        unread.add(place, "the text of a reasoning is hidden")
        return []
    return [{"role": "assistant", "content": [{"type": "reasoning", "text": text} for text in texts]}]


def _read_event(value: Mapping[str, Any], place: str, session: _Session, passed: Counter[str]) -> None:
    """Read an event that `codex exec --json` printed."""
    kind = value["type"]
    if kind == "thread.started":
        session.meta["session"] = str(value.get("thread_id"))
        session.unread.add(place, "what the user asked is not in the output of codex exec")
    elif kind == "turn.failed":
        session.failed = _said(value.get("error"), place)
    elif kind not in _STATES:
        passed[kind] += 1
    else:
        number = str(value["item"].get("id", place))
        at, _, _ = session.work.get(number, (len(session.told), "", {}))
        session.work[number] = at, place, value
        if at == len(session.told):
            session.told.append([])
        session.failed = ""


def _of_work(item: Mapping[str, Any], place: str, unread: Unread, done: bool) -> list[Message]:
    """Make the messages of an item of work; one that is not done has no result."""
    kind = str(item.get("type"))
    if kind in ("agent_message", "reasoning"):
        text = content_text(item.get("text"), place, unread)
        parts = [{"type": "text" if kind == "agent_message" else "reasoning", "text": text}]
        return read_message({"role": "assistant", "content": parts}, place, unread)
    if kind not in _DONE:
        said = item.get("message", item.get("items", item))
        unread.add(place, f"{kind}, not shown: {excerpt(said, 120)}")
        return []
    asks, gives = _DONE[kind]
    asked = item.get("arguments") if kind == "mcp_tool_call" else {k: item[k] for k in asks if k in item}
    gave = {k: item[k] for k in gives if item.get(k) is not None}
    number = str(item.get("id", place))
    name = f"{item.get('server')}.{item.get('tool')}" if kind == "mcp_tool_call" else kind
    calling = _calling(call(number, name, asked))
    if not done or not gave:
        return [calling]
    only = next(iter(gave.values())) if len(gave) == 1 or gave.get("exit_code") == 0 else gave
    text = only if isinstance(only, str) else encode(only)
    return [calling, {"role": "tool", "tool_call_id": number, "content": text}]


def _calling(asked: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [asked]}


def _said(value: Any, place: str) -> str:
    """Return what an error or an event says."""
    if isinstance(value, Mapping):
        named = next((value[key] for key in ("message", "reason", "error") if value.get(key)), None)
        value = named if named is not None else {k: v for k, v in value.items() if k != "type"}
    return content_text(value, place, Unread()) or "it does not say why"
