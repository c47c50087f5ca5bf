"""Exports of Langfuse: the generations of each trace, with input and output; JSON, its lines, and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zoolab.jsontext import excerpt
from zoolab_connect.readers.beginnings import longest
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.offered import tools_beside
from zoolab_connect.readers.wrapped import anything_in, choices_in

_ASKS = ("GENERATION", "AGENT")
_OTHERS = ("SPAN", "EVENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
_MODELS = ("model", "provided_model_name", "providedModelName", "internalModel")
#: One of these stands beside input and output in the row of a trace.
_TRACES = ("sessionId", "session_id", "userId", "user_id", "htmlPath", "observationCount", "trace_name")


def recognises(values: Sequence[Any]) -> bool:
    """Return whether values are traces with observations, observations, or rows of traces."""
    return any(map(_listed, values))


def _listed(value: Any) -> list[Any]:
    """Return the observations that a value holds, or is; empty if there are none."""
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("observations"), list) and "input_messages" not in value:
        held: list[Any] = value["observations"]
        return held if any(isinstance(each, dict) and "type" in each for each in held) else [value]
    if isinstance(value.get("data"), list):
        return value["data"] if any(map(_is_row, value["data"])) else []
    return [value] if _is_row(value) else []


def _is_row(value: Any) -> bool:
    if not isinstance(value, dict) or not {"input", "output"} & value.keys():
        return False
    return value.get("type") in (*_ASKS, *_OTHERS) or bool({*_TRACES} & value.keys())


def read(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each generation that no other one tells from the beginning."""
    rows: list[tuple[str, Any]] = []
    for number, value in enumerate(values):
        own = f"value {number + 1}, " if len(values) > 1 else ""
        held = _listed(value)
        if not held:
            unread.add(f"value {number + 1}", "it holds no observation")
        rows += [(f"{own}observations[{at}]", each) for at, each in enumerate(held)]
    asking = any(isinstance(each, dict) and each.get("type") in _ASKS for _, each in rows)
    found: dict[str, list[Conversation]] = {}
    for place, each in rows:
        kind = each.get("type") if isinstance(each, dict) else "no observation"
        if not isinstance(each, dict) or (kind not in _ASKS and (asking or kind in _OTHERS)):
            name = each.get("name") if isinstance(each, dict) else None
            unread.add(place, f"{kind}{f' {excerpt(name, 60)}' if name else ''}: it is no generation")
            continue
        trace = each.get("traceId", each.get("trace_id"))
        found.setdefault(str(trace), []).extend(_of_row(each, place))
    for conversations in found.values():
        yield from longest(conversations, unread)


def _of_row(row: Mapping[str, Any], place: str) -> Iterator[Conversation]:
    """Yield the conversation of a row, once for each answer of the model."""
    for number, said in enumerate(choices_in(row.get("output"))):
        yield _with_answer(row, said, number, place)


def _with_answer(row: Mapping[str, Any], said: Any, number: int, place: str) -> Conversation:
    own = Unread()
    failed = str(row.get("statusMessage") or row.get("status_message") or "it does not say why")
    failed = failed if row.get("level") == "ERROR" else ""
    messages = anything_in(row.get("input"), f"{place}.input", own)
    answer = [] if failed and not said else anything_in(said, f"{place}.output", own, "assistant")
    model = next((row[name] for name in _MODELS if row.get(name)), None)
    meta: dict[str, Any] = {"model": model} if isinstance(model, str) else {}
    meta |= {"choice": number} if number else {}
    if failed:
        own.add(place, f"it ended with an error: {failed}")
    tools = tools_beside(row.get("input"), f"{place}.input", own)
    outcome = "failed" if failed and not answer else ""
    return Conversation([*messages, *answer], tools, meta, own, outcome, failed if outcome else "")
