"""Exports of LangSmith: the runs of a model, with LangChain's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import anything_in


def recognises(value: Any) -> bool:
    """Whether a value is a run, or holds runs."""
    return isinstance(value, dict) and (isinstance(value.get("runs"), list) or "run_type" in value)


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each run of a model."""
    waiting = (
        [("runs", each) for each in value["runs"]]
        if isinstance(value.get("runs"), list)
        else [("run", value)]
    )
    number = 0
    while waiting:
        where, run = waiting.pop(0)
        place, number = f"{where}[{number}]", number + 1
        if not isinstance(run, dict):
            unread.add(place, "it is no run")
            continue
        if isinstance(run.get("child_runs"), list):
            waiting += [("child_runs", each) for each in run["child_runs"]]
        if run.get("run_type") not in ("llm", "chat_model"):
            unread.add(place, f"{run.get('run_type')} {run.get('name', '')}: it is no run of a model")
            continue
        own = Unread()
        messages = anything_in(run.get("inputs"), f"{place}.inputs", own)
        messages += anything_in(run.get("outputs"), f"{place}.outputs", own, "assistant")
        outcome, error = ("failed", str(run["error"])) if run.get("error") else ("", "")
        yield Conversation(
            messages, meta={"run": str(run.get("id"))}, unread=own, outcome=outcome, error=error
        )
