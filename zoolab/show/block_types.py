"""The kinds of blocks: plain dicts whose key `b` names the kind. A `Room` makes them with bounded texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Literal

from zoolab.errors import Problem
from zoolab.messages import calls_of
from zoolab.records import Fault, Message
from zoolab.show.wording import content_of, headline, other_fields, pretty, readable
from zoolab.text.markup import pictured
from zoolab.text.wording import count, differences
from zoolab.trace.log import TraceLog

Block = dict[str, Any]
Style = Literal["raw", "prose", "call"]

#: Of a list, the rest is counted.
MAX_ROWS = 40
#: Characters of a line and of a text.
LINE = 200
TEXT = 16_000
#: What a row costs besides its texts.
_ROW = 60
_MAX_PIECES = 400


class Room:
    """So many bytes of JSON for the blocks of a panel; each text takes some, and what does not fit is cut."""

    def __init__(self, size: int) -> None:
        self.left = size

    def text(self, text: str, limit: int = TEXT) -> dict[str, Any]:
        """Return the beginning of a text, and how many characters are left out."""
        shown = self._fitting(text[:limit])
        return {"text": shown, "cut": len(text) - len(shown)}

    def line(self, value: Any, limit: int = LINE) -> str:
        """Return any value as text for a line, cut with an ellipsis."""
        text = readable(value)
        shown = self._fitting(text[:limit])
        self.left -= _ROW
        return shown if len(shown) == len(text) else shown + "…"

    def _fitting(self, text: str) -> str:
        shown = pictured(text)
        if _size(shown) > self.left:
            shown = pictured(text[: max(0, self.left) // 6])
        self.left -= _size(shown)
        return shown

    def facts(self, *rows: tuple[str, Any]) -> list[Block]:
        """Return names and values; a value of None is left out, and so is a block of nothing."""
        shown = [[label, self.line(value)] for label, value in rows if value is not None]
        return [{"b": "facts", "rows": shown}] if shown else []

    def code(self, label: str, text: str, limit: int = TEXT, style: Style = "raw") -> Block:
        """Make a block of a text as it is; `style` tells prose and Python calls from data."""
        return {"b": "code", "label": label, "style": style, **self.text(text, limit)}

    def both_ends(self, label: str, text: str) -> Block:
        """Return a text without its middle, if it is too long: what is new stands at its end."""
        fits = max(0, self.left)
        cut = 0
        if len(text) > fits:
            head = fits // 3
            tail = fits // 2
            cut = len(text) - head - tail
            text = f"{text[:head]}\n[{cut:,} characters are left out here]\n{text[len(text) - tail :]}"
        block = self.code(label, text, len(text))
        return {**block, "cut": cut or block["cut"]}

    def note(self, tone: str, text: str) -> Block:
        """Return a remark: info, warn, error or fault."""
        return {"b": "note", "tone": tone, "text": self.line(text, 2_000)}

    def remaining(self, number: int, noun: str) -> list[Block]:
        """Return how much of a list is left out; nothing if nothing is left out."""
        left_out = f"{count(number, f'more {noun}')} {'is' if number == 1 else 'are'} left out here."
        return [self.note("info", left_out)] if number > 0 else []

    def message(self, index: int, message: Message, new: bool = True, limit: int = 4_000) -> dict[str, Any]:
        """Return a row of `messages`: who says it, what it says, what it asks for."""
        others = other_fields(message)
        return {
            "i": index,
            "role": self.line(message.get("role"), 40),
            "id": self.line(message.get("tool_call_id") or "", 80),
            "new": new,
            **self.text(content_of(message), limit),
            "calls": [
                {
                    "name": self.line(name, 80),
                    "id": self.line(call_id, 80),
                    "arguments": self.line(arguments, 1_000),
                }
                for name, call_id, arguments in calls_of(message)[:MAX_ROWS]
            ],
            "others": self.line(pretty(others), 1_000) if others else "",
        }

    def messages(
        self, first: int, rows: Iterable[tuple[Message, bool]], limit: int = 4_000, old_limit: int = 4_000
    ) -> Block:
        """Return messages from index `first` on, each with whether it is new. The last ones get their room
        first.
        """
        shown = list(enumerate(islice(rows, MAX_ROWS), first))
        made = [self.message(i, m, new, limit if new else old_limit) for i, (m, new) in reversed(shown)]
        return {"b": "messages", "rows": made[::-1]}

    def check(self, state: str, text: str, problem: Problem | None = None) -> dict[str, Any]:
        """Return a row of a checklist: ok, bad, or none if it never came to that."""
        return {
            "state": state,
            "text": self.line(text),
            "pointer": "" if problem is None else self.line(problem.pointer),
            "expected": "" if problem is None else self.line(problem.expected, 1_000),
            "received": "" if problem is None else self.line(problem.received, 1_000),
        }

    def difference(self, label: str, before: str, after: str) -> Block:
        """Return two texts, character by character."""
        pieces = differences(before, after)
        if len(pieces) > _MAX_PIECES:
            pieces = [("del", before), ("ins", after)]
        shown = [[kind, self.text(text, 4_000)["text"]] for kind, text in pieces]
        return {"b": "diff", "label": label, "pieces": shown}

    def stream(self, label: str, pieces: Sequence[str]) -> list[Block]:
        """Return the pieces in which a text came; past 400 the rest is one piece. Nothing if it came
        whole.
        """
        if not pieces:
            return []
        rest = "".join(pieces[_MAX_PIECES:])
        shown = [*pieces[:_MAX_PIECES], *([rest] if rest else [])]
        cut = [self.text(piece, 4_000)["text"] for piece in shown]
        return [as_details({"b": "stream", "label": label, "pieces": cut})]

    def fault(self, fault: Fault) -> list[Block]:
        """Return a fault that was injected, and what it changed."""
        told = [self.note("fault", f"fault injected: {fault}")]
        if fault.before or fault.after:
            told.append(self.difference("before and after the fault", fault.before, fault.after))
        return told

    def nested(self, trace: TraceLog, title: str) -> Block:
        """Return the trace of a sub-agent, and its steps in a line each."""
        return {
            "b": "nested",
            "label": "a sub-agent did this",
            "title": self.line(title),
            "steps": len(trace.steps),
            "outcome": self.line(trace.outcome, 80),
            "rows": [self.line(f"{step.kind}: {headline(step)}") for step in trace.steps[:MAX_ROWS]],
            "cut": max(0, len(trace.steps) - MAX_ROWS),
        }


def _size(text: str) -> int:
    plain = text.isascii() and '"' not in text and "\\" not in text and "\n" not in text
    return len(text) if plain else len(json.dumps(text, ensure_ascii=False).encode())


def as_details(block: Block) -> Block:
    """Return the same block, marked as one that says in more detail what others say already.

    The page folds it, and the terminal leaves it out.
    """
    return {**block, "fold": True}


def browser_json(value: Any) -> Any:
    """Return plain data as JSON that any browser reads: no lone surrogate, no NaN, no number past 2^53."""
    if isinstance(value, dict):
        return {pictured(readable(key)): browser_json(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [browser_json(child) for child in value]
    if isinstance(value, str):
        return pictured(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else readable(value)
    return value if isinstance(value, float) and abs(value) < float("inf") else readable(value)
