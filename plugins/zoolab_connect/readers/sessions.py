"""Sessions of coding agents, a line for each message: `{"type": "user", "message": {...}}`.

A line of Claude Code names the line before it (`parentUuid`). Two lines after the same one are a rewind, and
two conversations. An agent below the session has a conversation of its own. The sessions of Codex are read
in `codex.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import excerpt
from zoolab.records import Message
from zoolab_connect.readers import codex
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.joining import joined
from zoolab_connect.readers.messages import content_text, read_message

_SPEAKERS = ("user", "assistant", "system")


def recognises(values: Sequence[Any]) -> bool:
    """Return whether values are the lines of such a session."""
    return any(map(_is_line, values)) or codex.recognises(values)


def _is_line(value: Any) -> bool:
    message = value.get("message") if isinstance(value, dict) else None
    return isinstance(message, dict) and "role" in message and value.get("type") in _SPEAKERS


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each session, each branch of it, and each agent below it."""
    if not any(map(_is_line, values)):
        yield from codex.read(values, unread)
        return
    tree = _Tree(unread)
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            unread.add(f"value {number + 1}", "it is no message")
        elif _is_line(value) and not value.get("isApiErrorMessage"):
            tree.grow(number, value)
        else:
            tree.pass_over(number, value)
    if tree.repeated:
        unread.add("the file", f"{tree.repeated:,} lines stand there twice; each is shown once")
    yield from (_conversation(turn) for turn in tree.turns if not turn.followed)


@dataclass(slots=True, eq=False)
class _Turn:
    """A message of the user; or one of the model, perhaps of several lines, with the results of its calls."""

    agent: tuple[str, ...]
    session: str
    before: _Turn | None
    lines: list[tuple[str, Mapping[str, Any]]]
    #: What went wrong at the API after it, by the places.
    failures: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    followed: bool = False


class _Tree:
    """The turns of a file, each with the one before it."""

    def __init__(self, unread: Unread) -> None:
        self.turns: list[_Turn] = []
        self.repeated = 0
        self._unread = unread
        #: The turn that a line is part of, by the line's `uuid`; None at the beginning of a conversation.
        self._at: dict[str, _Turn | None] = {}
        self._messages: dict[str, Any] = {}
        self._last: dict[tuple[str, ...], _Turn] = {}
        self._answers: dict[tuple[str, ...], _Turn] = {}

    def grow(self, number: int, line: Mapping[str, Any]) -> None:
        """Add a line with a message to its turn, or as a new turn."""
        name = line.get("uuid")
        if isinstance(name, str) and self._messages.get(name) == line["message"]:
            self.repeated += 1
            return
        place = f"value {number + 1}"
        before, why = self._before(line)
        turn = self._part_of(line, before)
        if turn is None:
            turn = _Turn(_agent(line), _session(line), before, [])
            self.turns.append(turn)
            if before is not None:
                before.followed = True
        turn.lines.append((place, line))
        if why:
            turn.notes[place] = why
        self._keep(line, turn)

    def pass_over(self, number: int, line: Mapping[str, Any]) -> None:
        """Name a line that is no message; the next line may name it as the one before."""
        place = f"value {number + 1}"
        (before, _) = self._before(line)
        if isinstance(line.get("uuid"), str):
            self._at[line["uuid"]] = before
        if not line.get("isApiErrorMessage"):
            kind = " ".join(str(line[key]) for key in ("type", "subtype") if line.get(key))
            self._unread.add(place, f"{kind or 'it'}: it is no message")
            return
        message = line.get("message")
        said = content_text(message.get("content") if isinstance(message, dict) else None, place, Unread())
        why = f"an error of the API, not an answer: {excerpt(said, 200)}"
        if before is None:
            self._unread.add(place, why)
        else:
            before.failures[place] = said
            before.notes[place] = why

    def _before(self, line: Mapping[str, Any]) -> tuple[_Turn | None, str]:
        """Return the turn before a line, and what is odd about that."""
        last = self._last.get((_session(line), *_agent(line)))
        parent = line.get("parentUuid", "")
        if parent == "":
            return last, ""
        if parent is None:
            return None, ""
        if not isinstance(parent, str) or parent not in self._at:
            return last, "the line before it is not in the file before this one"
        turn = self._at[parent]
        return (turn if turn is not None and turn.agent == _agent(line) else None), ""

    def _part_of(self, line: Mapping[str, Any], before: _Turn | None) -> _Turn | None:
        """Find the turn that a line continues; None if it begins one."""
        message = line["message"]
        if message["role"] == "assistant" and message.get("id"):
            return self._answers.get(_answer(line))
        if before is None or message["role"] != "assistant":
            return before if _holds_results(message) else None
        last = before.lines[-1][1]["message"]
        return before if last["role"] == "assistant" and not (last.get("id") or before.followed) else None

    def _keep(self, line: Mapping[str, Any], turn: _Turn) -> None:
        if isinstance(line.get("uuid"), str):
            self._at[line["uuid"]] = turn
            self._messages[line["uuid"]] = line["message"]
        self._last[_session(line), *_agent(line)] = turn
        if line["message"]["role"] == "assistant" and line["message"].get("id"):
            self._answers[_answer(line)] = turn


def _session(line: Mapping[str, Any]) -> str:
    return str(line.get("sessionId", line.get("session_id")))


def _agent(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells the agents of a session apart; empty words for the first one."""
    named = (line.get("agentId") if line.get("isSidechain") else "", line.get("parent_tool_use_id"))
    return ("beside" if line.get("isSidechain") else "", *(str(each or "") for each in named))


def _answer(line: Mapping[str, Any]) -> tuple[str, ...]:
    return _session(line), *_agent(line), str(line["message"]["id"])


def _holds_results(message: Mapping[str, Any]) -> bool:
    parts = message.get("content")
    listed = parts if isinstance(parts, list) else ()
    return any(isinstance(each, Mapping) and each.get("type") == "tool_result" for each in listed)


def _conversation(last: _Turn) -> Conversation:
    """Make the conversation that ends with a turn."""
    turns = [last]
    while (before := turns[-1].before) is not None:
        turns.append(before)
    own = Unread()
    messages = [message for turn in reversed(turns) for message in _messages(turn, own)]
    beside, agent, call = last.agent
    meta: dict[str, Any] = {"session": last.session}
    meta |= {"sidechain": True} if beside or call else {}
    meta |= {"agent": agent} if agent else {}
    failed = next(reversed(last.failures.values()), "")
    if failed and (not messages or messages[-1]["role"] != "assistant"):
        return Conversation(messages, (), meta, own, "failed", failed)
    return Conversation(messages, (), meta, own)


def _messages(turn: _Turn, unread: Unread) -> list[Message]:
    said: list[Message] = []
    others: list[Message] = []
    for place, line in turn.lines:
        kept = {k: v for k, v in line["message"].items() if k in ("role", "content", "stop_reason")}
        own = said if kept["role"] == "assistant" else others
        own += read_message(kept, place, unread)
    for place, why in turn.notes.items():
        unread.add(place, why)
    return [*joined(said), *others]
