"""Logs of Inspect AI: a conversation for each sample, with its scores, its error and its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.jsontext import excerpt
from zoolab.records import Message
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.messages import messages_in

_LINK = "attachment://"


def recognises(value: Any) -> bool:
    """Return whether a value is a log."""
    if not isinstance(value, dict):
        return False
    header = isinstance(value.get("eval"), Mapping) and "status" in value
    return isinstance(value.get("samples"), list) or header


def read(log: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each sample, also for those without messages."""
    asked = log.get("eval")
    about = asked if isinstance(asked, Mapping) else {}
    failed = _message(log.get("error"))
    if failed:
        unread.add("the log", f"it ended with an error: {failed}")
    samples = log.get("samples")
    if not isinstance(samples, list):
        unread.add("the log", "it has no samples: it is the header of a log")
    for number, sample in enumerate(samples if isinstance(samples, list) else ()):
        if isinstance(sample, Mapping):
            yield _of_sample(sample, f"samples[{number}]", about)
        else:
            unread.add(f"samples[{number}]", f"it is {excerpt(sample, 60)}; expected a sample")


def _of_sample(sample: Mapping[str, Any], place: str, about: Mapping[str, Any]) -> Conversation:
    unread = Unread()
    held = sample.get("attachments")
    attachments = held if isinstance(held, Mapping) else {}
    told = sample.get("messages") or _asked_and_said(sample)
    listed = _attached(told, attachments) if attachments else told
    messages = _with_errors(messages_in(listed, f"{place}.messages", unread), listed)
    if not messages and not unread.lines():
        unread.add(place, "it has no messages")
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    if isinstance(choices, list) and len(choices) > 1:
        unread.add(f"{place}.output", f"it has {len(choices)} answers; the first one is shown")
    meta: dict[str, Any] = {"sample": str(sample.get("id")), "epoch": sample.get("epoch")}
    meta |= {key: about[key] for key in ("task", "model") if isinstance(about.get(key), str)}
    meta |= _scores(sample.get("scores"), f"{place}.scores", unread)
    for name in ("target", "metadata"):
        if sample.get(name) not in (None, "", [], {}):
            meta[name] = sample[name]
    retried = sample.get("error_retries")
    for at, each in enumerate(retried if isinstance(retried, list) else ()):
        unread.add(f"{place}.error_retries[{at}]", f"it was run again after an error: {_message(each)}")
    outcome = ""
    error = _message(sample.get("error"))
    limit = sample.get("limit")
    if error:
        outcome = "failed"
    elif isinstance(limit, Mapping):
        outcome = "loop_limit"
        error = f"the limit of {limit.get('type')} was reached: {limit.get('limit')}"
    return Conversation(messages, (), meta, unread, outcome, error)


def _asked_and_said(sample: Mapping[str, Any]) -> Any:
    """Return the messages of a sample that has only its input and the model's output."""
    given = sample.get("input")
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    said = [each["message"] for each in choices or () if isinstance(each, Mapping) and "message" in each]
    if not said:
        return sample.get("messages")
    if isinstance(given, list):
        return [*given, said[0]]
    return [{"role": "user", "content": given}, said[0]] if given else said[:1]


def _with_errors(messages: list[Message], listed: Any) -> list[Message]:
    """Return the messages, with the errors of tools in place of their results."""
    told = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    failed = {str(each.get("tool_call_id")): _message(each.get("error")) for each in told}
    return [
        {**each, "content": f"ERROR: {why}"}
        if each["role"] == "tool" and (why := failed.get(str(each.get("tool_call_id"))))
        else each
        for each in messages
    ]


def _scores(given: Any, place: str, unread: Unread) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        unread.add(place, f"they are {excerpt(given, 60)}; expected an object")
    scores = given if isinstance(given, Mapping) else {}
    values = {k: v.get("value") if isinstance(v, Mapping) else v for k, v in scores.items()}
    told: dict[str, Any] = {"scores": values} if values else {}
    for name in ("answer", "explanation"):
        said = {k: v[name] for k, v in scores.items() if isinstance(v, Mapping) and v.get(name)}
        told |= {f"{name}s": said} if said else {}
    return told


def _message(error: Any) -> str:
    """Return what an error says; empty if there is none."""
    if isinstance(error, Mapping):
        return str(error.get("message") or excerpt(error, 300))
    return error if isinstance(error, str) else ""


def _attached(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Return the value with long texts put back that the log keeps apart."""
    if isinstance(value, str) and value.startswith(_LINK):
        return attachments.get(value.removeprefix(_LINK), value)
    if isinstance(value, list):
        return [_attached(each, attachments) for each in value]
    if isinstance(value, dict):
        return {key: _attached(each, attachments) for key, each in value.items()}
    return value
