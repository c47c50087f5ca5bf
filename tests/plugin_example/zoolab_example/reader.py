"""A reader: files of JSON with the minutes of a meeting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoolab.plugins import Reader
from zoolab_connect.readers.found import Conversation, Unread


def is_minutes(content: Any) -> bool:
    """Return whether a file holds minutes."""
    return isinstance(content, dict) and "minutes" in content


def conversations(content: Any, unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each question and answer; what is neither is named."""
    for number, row in enumerate(content["minutes"], 1):
        if not isinstance(row, list) or len(row) != 2:
            unread.add(f"row {number}", "it is no question with its answer")
            continue
        asked, answer = row
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        yield Conversation(messages, meta={"meeting": content.get("title")})


MINUTES = Reader("the minutes of a meeting", is_minutes, conversations)
