"""Recording a conversation, beside a deep copy of `messages[]` at each step."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

from pairs import Effort, Row, cpu_seconds, interleaved

from zoolab.records import Messages
from zoolab.trace.log import MessageJournal

MESSAGES, LENGTH, SAMPLE = 2000, 800, 50


def conversation() -> list[dict[str, Any]]:
    """2,000 messages of 800 characters."""
    return [{"role": "user", "content": f"{number:04d}" + "x" * (LENGTH - 4)} for number in range(MESSAGES)]


def journalled(log: list[dict[str, Any]]) -> tuple[MessageJournal, Messages]:
    """Commit after each message."""
    journal, messages = MessageJournal(), Messages()
    for message in log:
        messages = messages.with_next(message)
        journal.commit(messages)
    return journal, messages


def rows(effort: Effort) -> Iterator[Row]:
    """Every revision can be rebuilt exactly, as from the copies, of which only a sample is made."""
    log = conversation()
    journal, messages = journalled(log)
    for length in range(0, MESSAGES, SAMPLE):
        assert journal.rebuild(messages.first(length)) == log[:length]
    lengths = range(SAMPLE, MESSAGES + 1, SAMPLE)
    pairs = interleaved(
        partial(journalled, log),
        lambda: [copy.deepcopy(log[:length]) for length in lengths],
        effort,
        cpu_seconds,
    )
    ours, copies = (median(column) for column in zip(*pairs, strict=True))
    yield Row(
        "recording",
        f"{MESSAGES:,} messages of {LENGTH} characters",
        ours,
        copies * SAMPLE,
        median(our / their for our, their in pairs) / SAMPLE,
        f"a deep copy of messages[] at each step (each {SAMPLE}th made, times {SAMPLE})",
    )
