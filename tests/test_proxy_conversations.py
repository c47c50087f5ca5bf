"""Which request belongs to which conversation."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab import Trace
from zoolab.fault import Fault
from zoolab.records import Reply, Request
from zoolab_connect.proxy.conversations import Conversations

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    },
}


def called(id: str, a: int, b: int) -> dict[str, Any]:
    function = {"name": "add", "arguments": f'{{"a": {a}, "b": {b}}}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def watched() -> Conversations:
    return Conversations(lambda *_: Trace(), lambda _: None)


class Agent:
    """A program that asks, runs the call, and asks again; `like` says in which words it sends things back."""

    def __init__(self, number: int, turns: int, question: str, unique: bool, like: str) -> None:
        self.number, self.turns, self.unique, self.like = number, turns, unique, like
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You add."},
            {"role": "user", "content": question},
        ]
        self.asked: list[str] = []
        self.waiting: Any = None

    def go_on(self, seen: Conversations) -> None:
        """Ask, or take the reply and run its call."""
        if self.waiting is None:
            self.waiting = seen.ask(Request(self.messages, (ADD,)), {}, 0.0)
            return
        conversation, self.waiting = self.waiting, None
        if len(self.asked) == self.turns:
            self.turns = -1
            seen.answer(conversation, Reply({"role": "assistant", "content": f"done {self.number}"}), 0.0)
            return
        turn = len(self.asked) + 1
        reply = called(f"call_{self.number}_{turn}" if self.unique else f"call_{turn}", self.number, turn)
        seen.answer(conversation, Reply(reply), 0.0)
        self.asked.append(reply["tool_calls"][0]["function"]["arguments"])
        back = reply
        if self.like == "rewritten":
            arguments = self.asked[-1].replace(" ", "")
            function = {"name": "add", "arguments": arguments}
            back = {**reply, "content": "", "tool_calls": [{**reply["tool_calls"][0], "function": function}]}
        told = {
            "role": "tool",
            "tool_call_id": reply["tool_calls"][0]["id"],
            "content": f"{self.number + turn}",
        }
        self.messages = [*self.messages, back, told]
        if self.like == "forgetful" and turn == 3:
            self.messages = [self.messages[0], {"role": "user", "content": "in short: adding"}, back, told]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["same", "rewritten", "forgetful"]))
def test_a_hundred_conversations_side_by_side_are_not_mixed_up(seed, same_question, like):
    draw, numbers, seen = random.Random(seed), count(1), watched()
    # Calls with the same ids and the same question are told apart by their arguments.
    unique = like == "forgetful" or draw.random() < 0.5
    agents = [
        Agent(n, draw.randint(0, 5), "add" if same_question else f"add {n}", unique, like)
        for n in (next(numbers) for _ in range(100))
    ]
    going = list(agents)
    while going:
        agent = draw.choice(going)
        agent.go_on(seen)
        if agent.turns < 0:
            going.remove(agent)
    found = sorted([call.arguments for call in trace.tool_calls] for trace in seen.traces)
    assert found == sorted(agent.asked for agent in agents)
    answers = sorted(str(trace.answer) for trace in seen.traces)
    assert answers == sorted(f"done {agent.number}" for agent in agents)
    for trace in seen.traces:
        kinds = [step.kind for step in trace.steps]
        assert kinds == [
            "define",
            "request",
            *["tool_call", "validate", "result", "request"] * len(trace.tool_calls),
            "tool_call",
        ]
        assert trace.outcome == "answer"


def test_a_request_that_was_refused_is_asked_again_in_the_same_conversation():
    seen = watched()
    asked = Request([{"role": "user", "content": "Hi"}])
    first = seen.ask(asked, {}, 0.0)
    fault = Fault("too_many", "the request")
    seen.answer(first, "the endpoint answered 429: too many", 0.0, fault)
    trace = seen.traces[0]
    assert (trace.outcome, trace.fault) == ("model_error", fault)
    again = seen.ask(asked, {}, 0.0)
    assert again is first
    assert (trace.outcome, trace.error, trace.fault) == ("open", None, None)
    seen.answer(again, Reply({"role": "assistant", "content": "Hello"}), 0.0)
    assert (trace.outcome, trace.answer, trace.error) == ("answer", "Hello", None)
    assert first.failures == {1: "the endpoint answered 429: too many"}


def test_each_request_and_each_answer_is_told_as_growth():
    told: list[Trace] = []
    seen = Conversations(lambda *_: Trace(), told.append)
    asked = Request([{"role": "user", "content": "Hi"}])
    first = seen.ask(asked, {}, 0.0)
    assert told == [first.trace]
    seen.answer(first, "the endpoint answered 429: too many", 0.0)
    assert told == [first.trace] * 2
    seen.answer(seen.ask(asked, {}, 0.0), Reply({"role": "assistant", "content": "Hello"}), 0.0)
    assert told == [first.trace] * 4


def test_the_same_question_again_is_another_conversation():
    seen = watched()
    asked = Request([{"role": "user", "content": "Hi"}])
    seen.answer(seen.ask(asked, {}, 0.0), Reply({"role": "assistant", "content": "Hello"}), 0.0)
    seen.ask(asked, {}, 0.0)
    assert len(seen.traces) == 2


def test_examples_that_two_conversations_begin_with_do_not_make_them_one():
    examples = [
        {"role": "user", "content": "1 + 1"},
        called("e", 1, 1),
        {"role": "tool", "tool_call_id": "e", "content": "2"},
    ]
    seen = watched()
    for question in ("2 + 2", "3 + 3"):
        asked = Request([*examples, {"role": "user", "content": question}], (ADD,))
        seen.answer(seen.ask(asked, {}, 0.0), Reply(called("c", 2, 2)), 0.0)
    assert len(seen.traces) == 2


def test_of_a_conversation_that_is_told_anew_one_reply_is_enough_to_know_it():
    seen = watched()
    hello = {"role": "assistant", "content": "Hello"}
    first = seen.ask(Request([{"role": "user", "content": "Hi"}]), {}, 0.0)
    seen.answer(first, Reply(hello), 0.0)
    short = [{"role": "user", "content": "in short: greeted"}]
    more = [*short, {"role": "user", "content": "And?"}]
    assert seen.ask(Request(more), {}, 0.0) is not first
    assert seen.ask(Request([*short, hello, *more[1:]]), {}, 0.0) is first


def test_two_answers_to_the_same_messages_are_two_conversations():
    seen = watched()
    asked = Request([{"role": "user", "content": "Hi"}])
    first, second = seen.ask(asked, {}, 0.0), seen.ask(asked, {}, 0.0)
    assert first is not second


def test_a_conversation_that_takes_back_its_last_question_goes_on():
    seen = watched()
    messages = [{"role": "user", "content": "Hi"}]

    def answered(conversation, text):
        reply = {"role": "assistant", "content": text}
        seen.answer(conversation, Reply(reply), 0.0)
        return reply

    first = seen.ask(Request(messages), {}, 0.0)
    messages += [answered(first, "Hello"), {"role": "user", "content": "And?"}]
    assert seen.ask(Request(messages), {}, 0.0) is first
    second = seen.ask(Request(messages), {}, 0.0)  # a copy of it, while the first waits
    messages += [answered(conversation, "Yes") for conversation in (first, second)][:1]
    assert seen.ask(Request([*messages, {"role": "user", "content": "Why?"}]), {}, 0.0) is first
    answered(first, "So.")
    # It ends with the last reply of the copy, so nothing in it is new to the copy.
    assert second is not first
    assert seen.ask(Request(messages), {}, 0.0) is first


def test_responses_kept_by_the_endpoint_are_joined_by_their_id():
    seen = watched()
    first = seen.ask(Request([{"role": "user", "content": "Hi"}]), {}, 0.0)
    raw = {"object": "response", "id": "resp_7"}
    seen.answer(first, Reply({"role": "assistant", "content": "Hello"}, raw=raw), 0.0)
    again = seen.ask(Request([{"role": "user", "content": "And?"}]), {"previous_response_id": "resp_7"}, 0.0)
    assert again is first
    assert [message["content"] for message in seen.traces[0].messages] == ["Hi", "Hello", "And?"]


def test_a_call_is_checked_against_the_tools_of_its_own_request():
    seen = watched()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "add"}]
    reply = called("c1", 1, 2)
    seen.answer(seen.ask(Request(messages, (ADD,)), {}, 0.0), Reply(reply), 0.0)
    messages += [reply, {"role": "tool", "tool_call_id": "c1", "content": "3"}]
    seen.answer(seen.ask(Request(messages), {}, 0.0), Reply(called("c2", 3, 4)), 0.0)
    verdicts = [step.record for step in seen.traces[0].steps if step.kind == "validate"]
    assert [verdict.error_code for verdict in verdicts] == [None, "unknown_tool"]


def test_a_schema_that_cannot_be_checked_leaves_the_calls_unchecked():
    seen = watched()
    odd = {"type": "function", "function": {"name": "add", "parameters": {"type": "nonsense"}}}
    seen.answer(
        seen.ask(Request([{"role": "user", "content": "add"}], (odd,)), {}, 0.0),
        Reply(called("c", 1, 2)),
        0.0,
    )
    assert [call.name for call in seen.traces[0].tool_calls] == ["add"]


def test_calls_and_results_that_are_told_as_text_go_on_with_their_conversation():
    seen, system = watched(), {"role": "system", "content": [{"type": "text", "text": "You add."}]}
    asked = [system, {"role": "user", "content": [{"type": "text", "text": "add"}]}]
    begun = [seen.ask(Request(asked, (ADD,)), {}, 0.0) for _ in range(2)]
    for conversation, id in zip(begun, ("c_1", "c_2"), strict=True):
        seen.answer(conversation, Reply(called(id, 1, 2)), 0.0)
    for conversation, id in reversed([*zip(begun, ("c_1", "c_2"), strict=True)]):
        text = [{"type": "text", "text": f"I called {id}"}]
        told = [*asked, {"role": "assistant", "content": text}, {"role": "user", "content": "It is 3."}]
        assert seen.ask(Request(told, (ADD,)), {}, 0.0) is conversation
    assert len(seen.traces) == 2


def test_a_question_that_grows_by_what_went_wrong_goes_on_with_its_conversation():
    seen = watched()
    for grown in ("add", "add\nError: b is not a number", "add\nError: b is not a number\nError: again"):
        asked = [{"role": "system", "content": "You add."}, {"role": "user", "content": grown}]
        seen.answer(seen.ask(Request(asked, (ADD,)), {}, 0.0), Reply(called("c", 1, 2)), 0.0)
    assert [len(trace.turns) for trace in seen.traces] == [3]


def test_another_question_after_a_call_that_nobody_ran_is_another_conversation():
    seen = watched()
    for question in ("add", "adding", "multiply"):
        asked = [{"role": "system", "content": "You add."}, {"role": "user", "content": question}]
        seen.answer(seen.ask(Request(asked, (ADD,)), {}, 0.0), Reply(called("c", 1, 2)), 0.0)
    assert len(seen.traces) == 3
