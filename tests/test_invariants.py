"""A broken conversation is refused, whole ones are not, and every walk is whole."""

import copy

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Limits, Replay, Scripted, run
from zoolab.apis.conversation import check_conversation
from zoolab.toolbox.starter import starter_tools
from zoolab_connect.strict import strict_client

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}
WHOLE = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "3"},
    {"role": "tool", "tool_call_id": "c2", "content": "3"},
    {"role": "assistant", "content": "3"},
]
BREAKS = {
    "a result is missing": lambda m: m.pop(4),
    "a result comes twice": lambda m: m.insert(4, m[3]),
    "a result answers nobody": lambda m: m[3].update(tool_call_id="c9"),
    "a result without its call": lambda m: m.pop(2),
    "a result as user": lambda m: m[3].update(role="user"),
    "something between call and result": lambda m: m.insert(3, {"role": "user", "content": "Well?"}),
    "the same id twice": lambda m: m[2]["tool_calls"][1].update(id="c1"),
    "no id": lambda m: m[2]["tool_calls"][1].pop("id"),
    "arguments as an object": lambda m: m[2]["tool_calls"][0]["function"].update(arguments={"a": 1}),
    "an unknown role": lambda m: m[1].update(role="robot"),
    "no content": lambda m: m[1].update(content=None),
    "an empty list of calls": lambda m: m[5].update(tool_calls=[]),
    "nothing said and nothing called": lambda m: m[5].update(content=None),
    "no messages": lambda m: m.clear(),
}


def test_a_whole_conversation_is_accepted():
    assert check_conversation(WHOLE) == ()


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_one_is_refused_with_400(name):
    broken = copy.deepcopy(WHOLE)
    BREAKS[name](broken)
    assert check_conversation(broken)
    with pytest.raises(openai.BadRequestError) as caught:
        strict_client(Scripted(["never"])).chat.completions.create(model="m", messages=broken)
    assert caught.value.body["type"] == "invalid_request_error"


def test_several_replies_are_refused_and_the_model_is_listed():
    client = strict_client(Scripted(["never"]))
    with pytest.raises(openai.BadRequestError, match="n is 2; expected 1"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], n=2)
    assert [model.id for model in client.models.list()] == ["Scripted"]


def test_every_walk_is_whole():
    tools = starter_tools("add", "ping")
    replies = [[("add", {"a": 1}), ("nobody", {}), ("ping", "{")], [("add", {"a": 1, "b": 2})] * 3, "Done."]
    assert check_conversation(run("Go.", tools, Scripted(replies), limits=Limits(retries=9)).messages) == ()
    assert check_conversation(run("What is 42 + 58?", starter_tools("add"), Replay("starter")).messages) == ()


KEYS = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "function", "name"])
ROLES = st.sampled_from(["assistant", "tool", "user"])
ANYTHING = st.recursive(
    st.none() | st.text(max_size=3) | ROLES,
    lambda inner: st.dictionaries(KEYS, inner | st.lists(inner)),
    max_leaves=8,
)


@given(st.lists(ANYTHING))
def test_nothing_makes_it_fail(messages):
    check_conversation(messages)
