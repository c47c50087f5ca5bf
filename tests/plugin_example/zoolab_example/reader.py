"""A reader: files of JSON with the minutes of a meeting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoolab.plugins import Reader
from zoolab.records import Request


def is_minutes(content: Any) -> bool:
    """Return whether a file holds minutes."""
    return isinstance(content, dict) and "minutes" in content


def conversations(content: Any) -> Iterator[tuple[Request, dict[str, Any]]]:
    """Yield a conversation for each question and answer."""
    for asked, answer in content["minutes"]:
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        yield Request(messages), {"meeting": content.get("title")}


MINUTES = Reader("the minutes of a meeting", is_minutes, conversations)
