"""A run in one row: how it ended, and what it took, read from its line in the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from zoolab.limits import counted
from zoolab.records import Reply
from zoolab.study.packing import LETTERS, reading_a_line

__all__ = ["summary_of"]


class _Facts(NamedTuple):
    """What a summary is made of, however the line holds it."""

    kinds: str
    #: The final message, where it asks for nothing more.
    last: Mapping[str, Any] | None
    usages: list[Any]
    #: Verdicts and outcomes; those that went well may be left out, or be no dicts.
    judged: list[Any]
    #: With `t`, `outcome` and `error`.
    end: Mapping[str, Any]


def summary_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """How a run ended (`outcome`, `error`, `said`, the final text) and what it took.

    `turns` are requests; `calls` are those that the model asked for, `errors` those of them that were
    refused or failed; `duration_ms` is of the whole run; tokens are as the endpoints counted them, those
    of sub-agents too, None if they did not. Safe for lines from strangers.

    Raises:
        InvalidTrace: It is no trace that was packed.

    >>> import json
    >>> from zoolab import Scripted, run
    >>> from zoolab.study.packing import Parts, pack
    >>> trace = run("Hi", [], Scripted(["Hello"]))
    >>> summary = summary_of(json.loads(pack({}, trace, Parts())))
    >>> summary["outcome"], summary["said"], summary["turns"], summary["calls"], summary["tokens_in"]
    ('answer', 'Hello', 1, 0, None)
    """
    with reading_a_line():
        return _summary(_of_events(line["events"]) if "events" in line else _of_packed(line))


def _summary(facts: _Facts) -> dict[str, Any]:
    kinds, ended = facts.kinds, facts.end["t"]
    return {
        "outcome": facts.end["outcome"],
        "error": facts.end["error"],
        "said": None if facts.last is None else Reply(dict(facts.last)).text,
        "turns": kinds.count(LETTERS["request"]),
        "steps": len(kinds),
        "calls": kinds.count(LETTERS["validate"]),
        "errors": sum(map(_went_wrong, facts.judged)),
        "duration_ms": None if ended is None else round(ended * 1e3, 3),
        "tokens_in": _total(facts.usages, "prompt_tokens"),
        "tokens_out": _total(facts.usages, "completion_tokens"),
    }


def _of_packed(line: Mapping[str, Any]) -> _Facts:
    data, messages = line["trace"], line["messages"]
    final = data["kind"].endswith(LETTERS["tool_call"]) and not messages[-1].get("tool_calls")
    return _Facts(
        data["kind"],
        messages[-1] if final else None,
        [reply.get("usage") for reply in data.get("replies", {}).values()] + _usages_within(data["outcomes"]),
        [*data.get("verdicts", {}).values(), *data["outcomes"]],
        {"t": data["ended"], "outcome": data["outcome"], "error": data["error"]},
    )


def _of_events(events: list[Any]) -> _Facts:
    steps = [event for event in events if event["event"] == "step"]
    last = steps[-1]["record"] if steps else {}
    return _Facts(
        "".join(LETTERS[step["kind"]] for step in steps),
        last["message"] if last.get("type") == "reply" else None,
        _usages(steps),
        [step["record"] for step in steps],
        events[-1],
    )


def _usages(steps: list[Any]) -> list[Any]:
    # A reply is held by each of its calls; one without any is the record itself.
    first = [step for step in steps if step["kind"] == "tool_call" and not step["slot"]]
    own = [(step["reply"] or step["record"]).get("usage") for step in first]
    return own + _usages_within([step["record"] for step in steps])


def _usages_within(records: list[Any]) -> list[Any]:
    """The usages of sub-agents: an outcome holds the events of its trace."""
    inner = [record["trace"] for record in records if isinstance(record, dict) and record.get("trace")]
    return [usage for events in inner for usage in _usages([e for e in events if e["event"] == "step"])]


def _went_wrong(record: Any) -> bool:
    return isinstance(record, dict) and (record.get("ok") is False or bool(record.get("error")))


def _total(usages: list[Any], name: str) -> int | None:
    counts = [count for usage in usages if (count := counted(usage, name)) is not None]
    return sum(counts) if counts else None
