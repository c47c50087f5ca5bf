"""Exports of LangSmith: the runs of a model, with LangChain's messages, and the examples of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoolab.records import Message
from zoolab_connect.readers.beginnings import longest
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.offered import parsed, tools_beside
from zoolab_connect.readers.wrapped import anything_in, choices_in, is_message


def recognises(value: Any) -> bool:
    """Return whether a value is a run or an example, or holds runs."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("runs"), list) or "run_type" in value or {"inputs", "outputs"} <= value.keys()


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield a conversation for each run of a model that no other one tells from the beginning."""
    yield from longest([*_conversations(value, unread)], unread)


def _conversations(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    waiting = (
        [("runs", each) for each in value["runs"]]
        if isinstance(value.get("runs"), list)
        else [("run", value)]
    )
    number = 0
    asking = False
    whole: dict[str, Conversation] = {}
    passed: dict[str, str] = {}
    while waiting:
        where, run = waiting.pop(0)
        place = f"{where}[{number}]"
        number = number + 1
        if not isinstance(run, dict):
            unread.add(place, "it is no run")
            continue
        if isinstance(run.get("child_runs"), list):
            waiting += [("child_runs", each) for each in run["child_runs"]]
        if run.get("run_type", "llm") not in ("llm", "chat_model"):
            passed[place] = f"{run.get('run_type')} {run.get('name', '')}: it is no run of a model"
            if not run.get("parent_run_id") and (state := _of_state(run, place)) is not None:
                whole[place] = state
            continue
        asking = True
        yield from _of_run(run, place)
    if not asking:
        yield from whole.values()
    for place, why in passed.items():
        if asking or place not in whole:
            unread.add(place, why)


def _of_state(run: Mapping[str, Any], place: str) -> Conversation | None:
    """Make the conversation of a graph from the messages of its state; None if its state has none."""
    own = Unread()
    error = str(run["error"]) if run.get("error") else ""
    begin = _state_messages(run.get("inputs"), f"{place}.inputs", own)
    end = _state_messages(run.get("outputs"), f"{place}.outputs", own)
    if not end and not (begin and error):
        return None
    messages = end if end[: len(begin)] == begin else [*begin, *end]
    meta = {"run": str(run.get("id")), **({"agent": run["name"]} if run.get("name") else {})}
    return Conversation(messages, (), meta, own, "failed" if error else "", error)


def _state_messages(state: Any, place: str, own: Unread) -> list[Message]:
    held = parsed(state)
    listed = held.get("messages") if isinstance(held, Mapping) else None
    if not isinstance(listed, list) or not any(map(is_message, listed)):
        return []
    return anything_in(held, place, own)


def _of_run(run: Mapping[str, Any], place: str) -> Iterator[Conversation]:
    """Yield the conversation of a run, or each of them, if it is a batch."""
    given = parsed(run.get("inputs"))
    answers = parsed(run.get("outputs"))
    meta = {"run": str(run.get("id"))}
    settings = _settings(run)
    for name in ("model", "model_name"):
        if isinstance(settings.get(name), str):
            meta.setdefault("model", settings[name])
    error = str(run["error"]) if run.get("error") else ""
    told = [
        (asked, said, {**({"batch": number} if number else {}), **({"choice": at} if at else {})})
        for number, (asked, answer) in enumerate(_batch(given, answers))
        for at, said in enumerate(choices_in(answer))
    ]
    for asked, answer, which in told:
        own = Unread()
        messages = anything_in(asked, f"{place}.inputs", own)
        if not error or answer:
            messages += anything_in(answer, f"{place}.outputs", own, "assistant")
        tools = tools_beside(settings, f"{place}.extra", own) or tools_beside(given, f"{place}.inputs", own)
        yield Conversation(messages, tools, {**meta, **which}, own, "failed" if error else "", error)


def _settings(run: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = parsed(run.get("extra"))
    held = extra.get("invocation_params") if isinstance(extra, Mapping) else None
    return held if isinstance(held, Mapping) else {}


def _batch(given: Any, answers: Any) -> list[tuple[Any, Any]]:
    """Return each request with its answer: several, if `messages` has a list for each."""
    name = next((k for k in ("messages", "prompts") if k in given), "") if isinstance(given, Mapping) else ""
    listed = given[name] if name else None
    if not isinstance(listed, list) or len(listed) < 2 or not (name == "prompts" or _are_lists(listed)):
        return [(listed if name == "prompts" else given, answers)]
    generations = answers.get("generations") if isinstance(answers, Mapping) else None
    told = generations if isinstance(generations, list) else []
    return [(each, told[n] if n < len(told) else None) for n, each in enumerate(listed)]


def _are_lists(listed: list[Any]) -> bool:
    return all(isinstance(each, list) for each in listed)
