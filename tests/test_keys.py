"""The names of requests: the times of a result make no difference, and everything else does."""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Replay, Scripted
from zoolab.errors import ReplayMiss
from zoolab.models.recording import shipped
from zoolab.models.request_keys import DELIVERY, RequestKeys
from zoolab.records import Outcome, Request
from zoolab.steps.result import make_result

# Letters that build no secret: what looks like one has no name of its own.
TEXTS = st.text('ab"\\{}:,0é\u2028\ud800', max_size=6) | st.sampled_from(
    ['"timestamp":1', '"timestamp":2', '{"execution_time_ms":1}', "1", "true", "null"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, -0.0]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OUTCOMES = st.builds(Outcome, VALUES, duration_ms=st.floats(0, 1e7), started_ms=st.integers(0, 1 << 41))


def result(outcome: Outcome, envelope: Any = "json", untrusted: str = "") -> dict[str, Any]:
    return dict(make_result(outcome, "call_1", envelope, untrusted).message)


MESSAGES = st.lists(
    st.dictionaries(st.sampled_from(["role", "content", "name"]) | TEXTS, VALUES, max_size=3)
    | st.builds(result, OUTCOMES, st.sampled_from(["json", "plain"]), st.sampled_from(["", "a page"])),
    max_size=4,
)
BODIES = st.builds(
    lambda body, messages: {**body, "messages": messages},
    st.dictionaries(st.sampled_from(["temperature", "tools", "tool_choice", "model"]), VALUES),
    MESSAGES,
)


def as_asked(body: dict[str, Any]) -> str:
    """What is asked, written out; the times of an envelope are left out by its own structure."""

    def plain(message: Any) -> Any:
        if not isinstance(message, dict) or message.get("role") != "tool":
            return message
        content = message.get("content")
        if not isinstance(content, str):
            return message
        notice, begins, rest = (
            content.rpartition("]\n") if content.startswith("[untrusted") else ("", "", content)
        )
        try:
            envelope = json.loads(rest)
            envelope["metadata"] = [*envelope["metadata"]], envelope["metadata"]["data_size_bytes"]
        except (ValueError, TypeError, KeyError):
            return message
        return {**message, "content": [notice, begins, envelope]}

    return json.dumps({**body, "messages": [plain(each) for each in body["messages"]]}, sort_keys=True)


@given(BODIES, BODIES)
def test_two_requests_share_a_name_if_they_ask_the_same(a: dict[str, Any], b: dict[str, Any]) -> None:
    keys = RequestKeys()
    assert (keys.of(a) == keys.of(b)) == (as_asked(a) == as_asked(b))
    assert RequestKeys().of(b) == keys.of(b)


@given(BODIES, st.data())
def test_a_change_anywhere_changes_the_name(body: dict[str, Any], data: st.DataObject) -> None:
    other = copy.deepcopy(body)
    holders: list[Any] = [other]
    for holder in holders:
        inner = holder.values() if isinstance(holder, dict) else holder
        holders += [each for each in inner if isinstance(each, dict | list)]
    holder = data.draw(st.sampled_from([each for each in holders if each]))
    at = data.draw(st.sampled_from([*holder] if isinstance(holder, dict) else range(len(holder))))
    holder[at] = [] if (holder is other and at == "messages") else data.draw(VALUES)
    keys = RequestKeys()
    assert (keys.of(body) == keys.of(other)) == (as_asked(body) == as_asked(other))


def conversation(ids: list[str], answered: list[int]) -> dict[str, Any]:
    """A body with a call for each id, and results for them in this order."""
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    results = [{"role": "tool", "tool_call_id": ids[slot], "content": "same"} for slot in answered]
    return {"messages": [{"role": "assistant", "content": None, "tool_calls": calls}, *results]}


IDS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=2, unique=True)


@given(IDS, IDS, st.permutations([0, 1]), st.permutations([0, 1]))
def test_ids_name_calls_and_nothing_else(a: list[str], b: list[str], first: Any, second: Any) -> None:
    keys = RequestKeys()
    same = keys.of(conversation(a, first)) == keys.of(conversation(b, second))
    assert same == (first == second)
    longer = conversation(b, second)
    longer["messages"].append({"role": "user", "content": "Hi"})
    assert keys.of(longer) == RequestKeys().of(longer)


@given(OUTCOMES, st.floats(0, 1e7), st.integers(0, 1 << 41), st.sampled_from(["", "a page"]))
def test_the_times_of_a_result_make_no_difference(
    outcome: Outcome, duration: float, started: int, untrusted: str
) -> None:
    again = Outcome(outcome.value, duration_ms=duration, started_ms=started)
    first, second = ({"messages": [dict(result(each, untrusted=untrusted))]} for each in (outcome, again))
    assert RequestKeys().of(first) == RequestKeys().of(second)
    for role in ("user", "assistant", "system"):
        first["messages"][0]["role"] = second["messages"][0]["role"] = role
        assert (RequestKeys().of(first) == RequestKeys().of(second)) == (first == second)


def test_a_timestamp_that_a_tool_is_given_makes_a_difference(tmp_path: Any) -> None:
    """A tool's own argument may be called `timestamp`; two such requests once shared a name."""

    def asked(timestamp: int) -> Request:
        call = {"name": "events_at", "arguments": f'{{"timestamp":{timestamp}}}'}
        calls = [{"id": "call_1", "type": "function", "function": call}]
        return Request([{"role": "assistant", "content": None, "tool_calls": calls}])

    Replay(tmp_path / "r.jsonl", live=Scripted(["Nothing happened."]))(asked(1))
    replay = Replay(tmp_path / "r.jsonl")
    assert replay(asked(1)).text == "Nothing happened."
    with pytest.raises(ReplayMiss):
        replay(asked(2))


@pytest.mark.parametrize("name", shipped())
def test_each_request_of_a_shipped_recording_has_a_name_of_its_own(name: str) -> None:
    data = shipped()[name].read_bytes()
    text = (gzip.decompress(data) if shipped()[name].suffix == ".gz" else data).decode("utf-8")
    entries = [json.loads(line) for line in text.split("\n")[1:] if line]
    bodies = [{k: v for k, v in each["request"].items() if k not in DELIVERY} for each in entries]
    replay = Replay(name)
    for body, entry in zip(bodies, entries, strict=True):
        assert replay.recording.response(replay.recording.key_of(body)) == entry["response"]
