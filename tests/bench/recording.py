"""Recording a conversation, beside a deep copy of `messages[]` at each step."""

from __future__ import annotations

import copy
from typing import Any

from pairs import cpu_seconds

from zoolab.records import Messages
from zoolab.trace.journal import Journal

MESSAGES, LENGTH, SAMPLE = 2000, 800, 50


def conversation() -> list[dict[str, Any]]:
    """2,000 messages of 800 characters."""
    return [{"role": "user", "content": f"{number:04d}" + "x" * (LENGTH - 4)} for number in range(MESSAGES)]


def journalled(log: list[dict[str, Any]]) -> Journal:
    """Commit after each message."""
    journal, messages = Journal(), Messages()
    for message in log:
        messages = messages.with_next(message)
        journal.commit(messages)
    return journal


def main() -> None:
    """Print the share, and rebuild every revision that is sampled."""
    log = conversation()
    ours = cpu_seconds(lambda: journalled(log))
    copies = sum(cpu_seconds(lambda n=n: copy.deepcopy(log[:n])) for n in range(SAMPLE, MESSAGES + 1, SAMPLE))
    share = ours / (copies * SAMPLE)
    journal = journalled(log)
    exact = all(
        journal.rebuild(journal.revision._replace(length=n)) == log[:n] for n in range(0, MESSAGES, SAMPLE)
    )
    print(
        f"\nrecording {MESSAGES:,} messages: {ours * 1e3:.1f} ms, {100 * share:.2f} % of a deep copy a step"
    )
    print(f"revisions rebuilt exactly: {exact}")


if __name__ == "__main__":
    main()
