"""A conversation of somebody else's loop becomes a trace that can be looked at."""

import json

from hypothesis import given
from hypothesis import strategies as st

from zoolab import Replay, ToolRegistry, Trace, inspect, run
from zoolab.runs import read_conversation
from zoolab.toolbox.starter import add

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5)
CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", ""]) | JSON,
        "function": st.fixed_dictionaries({"name": st.text(max_size=4) | JSON, "arguments": JSON}) | JSON,
    },
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool", "robot"]) | JSON,
        "content": JSON,
        "tool_calls": st.lists(CALL, max_size=3) | JSON,
        "tool_call_id": st.sampled_from(["a", "b"]) | JSON,
    },
)


def test_it_shows_the_same_messages_as_the_walk_itself():
    walked = run("What is 42 + 58?", [add], Replay("starter"))
    read = read_conversation(walked.messages, ToolRegistry([add]))
    assert read.messages == walked.messages
    assert read.answer == walked.answer
    kinds = [step.kind for step in walked.steps if step.kind != "execute"]
    assert [step.kind for step in read.steps] == kinds


def test_a_conversation_that_is_not_over_stays_open():
    asked = [{"role": "user", "content": "Hi"}]
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    called = [{"role": "assistant", "tool_calls": [call]}]
    answered = [{"role": "tool", "tool_call_id": "a", "content": "1"}]
    for messages in (asked, asked + called + answered):
        assert (read_conversation(messages).outcome, read_conversation(messages).answer) == ("open", None)
    assert read_conversation([*asked, {"role": "assistant", "content": "Hello"}]).outcome == "answer"


def test_what_never_was_answered_is_shown_as_sent():
    read = read_conversation([{"role": "user", "content": "Hello"}])
    assert [step.kind for step in read.steps] == ["request"]
    assert read.messages == [{"role": "user", "content": "Hello"}]


def test_a_result_for_no_call_is_kept_without_a_slot():
    orphan = {"role": "tool", "tool_call_id": "nobody", "content": "42"}
    (step,) = read_conversation([orphan]).steps
    assert (step.kind, step.slot, step.record.content) == ("result", None, "42")


@given(st.lists(MESSAGE, max_size=6))
def test_any_conversation_can_be_read_shown_and_saved(messages):
    read = read_conversation(messages, ToolRegistry([add]))
    assert "text/html" in inspect(read)._repr_mimebundle_()[0]
    assert read.to_html()
    assert all(json.dumps(message) for message in read.messages)
    assert isinstance(read, Trace)
