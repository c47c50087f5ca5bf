"""What zoolab answers over HTTP itself, whatever it is asked: a completion, or an error in OpenAI's form.

And the other way round: whatever an endpoint streams, a model has a reply or one clear error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from server import Answer, chunk, serving, sse
from walks import TOOLS

from zoolab import OpenAIModel, Replay, Scripted, run
from zoolab.errors import ModelError
from zoolab.records import Request
from zoolab.steps.define import as_registry
from zoolab_connect.strict import strict_client

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "3"},
    ],
    "tools": as_registry(TOOLS).schemas(),
    "tool_choice": {"type": "function", "function": {"name": "add"}},
    "stream": True,
    "temperature": 0,
}
JUNK = st.sampled_from([None, True, 0, -1, 1.5, "", "x", "\ud800", [], {}, [[]], [{}], {"a": []}, "auto"])
RAW = [b"", b"{", b"[]", b"null", b'"x"', b'["stream":', b'[{"stream":true}]', b"\xff\xfe", b"[" * 100_000]
RAW += [b'{"stream": true, "n": ' + b"9" * 5_000 + b"}", b'{"messages": 5, "stream": true}', b'{"a": NaN}']


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(found for key, child in inner for found in places(child, (*path, key)))]


PLACES = places(BODY)[1:]


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A request in which some values are others, or gone."""
    body = json.loads(json.dumps(BODY))
    for path in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        holder = body
        try:
            for key in path[:-1]:
                holder = holder[key]
            if draw(st.booleans()):
                holder[path[-1]] = draw(JUNK)
            else:
                del holder[path[-1]]
        except (LookupError, TypeError):
            continue
    return json.dumps(body).encode()


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, openai.OpenAI]:
    """Clients that zoolab answers."""
    path = tmp_path_factory.mktemp("front") / "r.jsonl"
    run("Hi", TOOLS, Replay(path, live=Scripted(["Hello"])))
    return {"strict": strict_client(Scripted([lambda _: "Hello"] * 10_000)), "replay": Replay(path).client}


def check_answer(front: openai.OpenAI, content: bytes) -> None:
    answer = front._client.post("http://zoolab.invalid/v1/chat/completions", content=content)
    assert answer.status_code in (200, 400, 404)
    if answer.status_code == 200:
        assert answer.text.endswith("data: [DONE]\n\n") or answer.json()["choices"]
    else:
        assert answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["strict", "replay"])
@settings(max_examples=60, deadline=None)
@given(content=bodies())
def test_whatever_is_asked_the_answer_is_a_completion_or_an_error(
    fronts: dict[str, openai.OpenAI], name: str, content: bytes
) -> None:
    check_answer(fronts[name], content)


@pytest.mark.parametrize("content", RAW, ids=lambda raw: raw[:20])
@pytest.mark.parametrize("name", ["strict", "replay"])
def test_a_body_that_is_none_is_refused(fronts: dict[str, openai.OpenAI], name: str, content: bytes) -> None:
    check_answer(fronts[name], content)


DELTAS = [{"content": "4"}, {"content": "2"}, {"tool_calls": [{"index": 0, "function": {"name": "add"}}]}]
ENDS: dict[str, Callable[[str], str]] = {
    "done": lambda events: f"{events}data: [DONE]\n\n",
    "nothing": lambda events: events,
    "malformed": lambda events: f"{events}data: {{not json\n\n{events}data: [DONE]\n\n",
}


@pytest.mark.parametrize("end", ENDS)
@settings(max_examples=15, deadline=None)
@given(deltas=st.lists(st.sampled_from(DELTAS), min_size=1, max_size=5), data=st.data())
@example(deltas=DELTAS[:1], data=None)
def test_a_stream_ends_with_done_alone_and_is_named_where_it_is_malformed(
    end: str, deltas: list[dict[str, Any]], data: Any
) -> None:
    """Neither `finish_reason` nor `usage` is there, and the pieces are cut anywhere."""
    text = ENDS[end](sse([chunk(delta) for delta in deltas], done=False))
    size = len(text.encode())
    cuts = sorted(data.draw(st.sets(st.integers(1, size - 1), max_size=4))) if data else []
    with serving(Answer(text, cuts=tuple(cuts))) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key="x", max_retries=0, stream=True)
        if end == "done":
            reply = model(Request([{"role": "user", "content": "Hi"}]))
            assert (reply.finish_reason, reply.usage) == (None, None)
            assert (reply.text or "") == "".join(delta.get("content", "") for delta in deltas)
            return
        if end == "nothing":
            assert model(Request([{"role": "user", "content": "Hi"}])).end == "cut"
            return
        with pytest.raises(ModelError, match=f"event {len(deltas) + 1} of the stream"):
            model(Request([{"role": "user", "content": "Hi"}]))
