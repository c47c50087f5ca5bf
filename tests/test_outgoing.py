"""What goes back to a model: it always parses, and nothing is changed without a word."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Limits, Request, Scripted, run, tool
from zoolab.apis import APIS
from zoolab.apis.conversation import check_conversation
from zoolab.errors import LoopError
from zoolab.messages.outgoing import RAW, outgoing
from zoolab.records import Messages
from zoolab.repair import RuleRepair

ARGUMENTS = st.sampled_from(
    ["", " ", "{}", '{"a": 1}', '{"a": 1.0}', "{'a': 1}", '{"a": ', "[1]", "null", "x"]
)
ARGUMENTS |= st.text(max_size=8) | st.none() | st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)
CALLS = st.fixed_dictionaries(
    {
        "function": st.fixed_dictionaries(
            {"name": st.sampled_from(["add", "fly", "", "to fly"]), "arguments": ARGUMENTS}
        )
    },
    optional={"id": st.sampled_from(["a", "a", "b", "", 7, None]), "type": st.just("function")},
)
REPLIES = st.fixed_dictionaries(
    {"content": st.sampled_from([None, "", " ", "Hi", '{"name": "add", "arguments": {"a": 1}}', "<think>"])},
    optional={"tool_calls": st.lists(CALLS, max_size=3), "reasoning_content": st.just("hm")},
)


@tool
def add(a: int, b: int = 1) -> int:
    """Add two integers."""
    return a + b


def parses(text):
    return isinstance(json.loads(text), dict)


def call(arguments):
    return {"id": "a", "type": "function", "function": {"name": "add", "arguments": arguments}}


def said(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


@given(st.lists(REPLIES, min_size=1, max_size=4), st.sampled_from(["native", "auto", "text"]), st.booleans())
def test_what_a_walk_sends_is_a_conversation_that_servers_take(replies, calls, repairs):
    sent = []

    def script(request):
        sent.append(request.body()["messages"])
        return replies[len(sent) - 1] if len(sent) <= len(replies) else "fin"

    repair = RuleRepair() if repairs else None
    with suppress(LoopError):
        run("q", [add], Scripted(script), calls=calls, repair=repair, limits=Limits(turns=9, retries=9))
    for messages in sent:
        assert check_conversation(messages) == ()
        made = [each for message in messages for each in message.get("tool_calls", ())]
        assert all(parses(each["function"]["arguments"]) for each in made)
        assert {each["function"]["name"] for each in made} <= {"add", "fly", "unnamed", "to_fly"}
        assert all(
            message["role"] != "assistant" or message.get("tool_calls") or message["content"].strip()
            for message in messages
        )


@given(st.lists(st.lists(ARGUMENTS.filter(lambda it: isinstance(it, str)), max_size=3), max_size=4))
def test_each_change_is_told_and_nothing_else_changes(given_arguments):
    messages = [said(*map(call, each), content="Hi") for each in given_arguments]
    sent, changes = outgoing(Messages(messages))
    before = [text for each in given_arguments for text in each]
    after = [each["function"]["arguments"] for message in sent for each in message["tool_calls"]]
    assert len(sent) == len(messages)
    assert len(changes) == sum(a != b for a, b in zip(before, after, strict=True))
    for a, b in zip(before, after, strict=True):
        wanted = a if b == a else {} if not a.strip() else {RAW: a}
        assert b == a or json.loads(b) == wanted


@pytest.mark.parametrize(
    ("name", "goes"), [("", "unnamed"), (" ", "unnamed"), ("do it!", "do_it_"), ("a.b-c", "a.b-c")]
)
def test_a_call_goes_back_with_a_name_that_a_tool_can_have(name, goes):
    named = {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        said(named),
        {"role": "tool", "tool_call_id": "a", "content": "no"},
    ]
    sent, changes = outgoing(Messages(messages))
    assert sent[1]["tool_calls"][0]["function"]["name"] == goes
    assert [f"the name of call 1 was sent as {goes!r}" in line for line in changes] == [True] * (name != goes)
    for api in APIS.values():
        assert f'"{goes}"' in json.dumps(api.to_body(Request(messages), "m"))


def test_an_earlier_moment_of_a_conversation_has_its_own_changes():
    first = Messages([said(call(""))])
    then = first.with_next({"role": "assistant", "content": ""}).with_next({"role": "user", "content": "Hi"})
    assert [len(each) for each in outgoing(then)] == [2, 2]
    assert [len(each) for each in outgoing(first)] == [1, 1]
    assert Request(then).changes == outgoing(then)[1]
    assert [len(each) for each in outgoing(Messages())] == [0, 0]


def test_the_trace_tells_what_was_changed_and_messages_keep_the_raw_text():
    class Model(Scripted):
        def __call__(self, request):
            from dataclasses import replace

            return replace(super().__call__(request), changed=request.changes)

    trace = run("q", [add], Model([[("add", '{"a": oops}')], "Sorry."]))
    assert trace.messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a": oops}'
    assert "oops" in trace.messages[2]["content"]
    (line,) = trace.turns[1].reply.omissions
    assert "were sent as a JSON object" in line
    assert "were sent as a JSON object" in trace.to_html()
