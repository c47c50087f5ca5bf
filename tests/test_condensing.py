"""A function condenses messages[] between turns, and every revision stays in the trace."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walks import add

from zoolab import Outcome, Replay, Result, Scripted, Trace, inspect, run, walk
from zoolab.apis.conversation import check_conversation
from zoolab.errors import InvalidInput
from zoolab.show.blocks import blocks
from zoolab.show.moment import Moment
from zoolab.tokens import tokens_in
from zoolab.trace.log import drive
from zoolab_connect.protocol import to_markdown
from zoolab_study import experiment

LAB = Path(__file__).parent.parent / "labs" / "l2" / "right"


def sums(count: int) -> list[Any]:
    return [*([("add", {"a": n, "b": n})] for n in range(count)), "Done."]


def last_round(messages: list[Any]) -> list[Any]:
    """The question, and the last call with its result."""
    return [messages[0], *messages[-2:]]


def test_each_request_but_the_first_is_condensed_and_every_revision_stays(tmp_path: Path) -> None:
    trace = run("Add.", [add], Scripted(sums(3)), condense=last_round)
    requests = [step for step in trace.steps if step.kind == "request"]
    assert [len(step.record.messages) for step in requests] == [1, 3, 3, 3]
    third = trace.index(requests[2])
    before, after = trace.messages_at(third - 1), trace.messages_at(third)
    assert (len(before), after) == (5, last_round(before))
    assert trace.diff(third - 1, third).removed == tuple(before[1:])
    assert "condensed before this request: 4 messages" in str(blocks(Moment(trace, third)))
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    for seq in range(len(trace)):
        assert loaded.messages_at(seq) == trace.messages_at(seq)
    assert loaded == trace
    for view in (trace.to_html(), to_markdown(trace), inspect(trace).overview):
        assert view


def test_a_fork_goes_on_from_what_was_sent_and_condenses_on() -> None:
    def note(messages: list[Any]) -> list[Any]:
        return [{"role": "system", "content": f"{len(messages)} messages so far"}, *messages[-2:]]

    trace = run("Add.", [add], Scripted(sums(3)), condense=note)
    seq = next(seq for seq, step in enumerate(trace.steps) if step.kind == "execute" and step.turn == 2)
    child = trace.fork(seq, Outcome(77), model=Scripted(["It is 77."]))
    assert child.messages_at(seq) == trace.messages_at(seq), "the request of the turn stays as it was sent"
    assert "77" in child.messages[-2]["content"]
    assert child.messages[0]["content"] == "5 messages so far"
    assert [len(child.messages_at(at)) for at in range(seq)] == [
        len(trace.messages_at(at)) for at in range(seq)
    ]


def test_an_answered_step_shows_the_messages_before_they_were_condensed() -> None:
    def answer(step: Any) -> Any:
        if step.kind != "result" or step.turn != 2:
            return None
        return Result("edited", step.record.tool_call_id)

    trace = drive(Trace(), walk("Add.", [add], Scripted(sums(2)), condense=last_round), answer)
    seq = next(seq for seq, step in enumerate(trace.steps) if step.kind == "result" and step.turn == 2)
    assert len(trace.messages_at(seq)) == 5
    assert trace.messages_at(seq)[-1]["content"] == "edited"
    assert len(trace.messages_at(seq + 1)) == 3


def test_what_changes_nothing_leaves_no_mark() -> None:
    plain = run("Add.", [add], Scripted(sums(2)), envelope="plain")
    same = run("Add.", [add], Scripted(sums(2)), envelope="plain", condense=lambda messages: tuple(messages))
    assert [step.messages for step in same.steps] == [step.messages for step in plain.steps]
    assert len(same.steps) == len(plain.steps)


@pytest.mark.parametrize(
    ("condense", "said"),
    [
        (lambda _: None, "condense returned null; expected a list of messages"),
        (lambda _: "Hi", 'condense returned "Hi"'),
        (lambda messages: messages[-1:], "the id of a call that waits for its result"),
        (lambda messages: messages[:-1], "a tool message with tool_call_id"),
        (lambda _: [], "at least one message"),
        (lambda messages: [*messages, 3], "an object"),
        (lambda messages: [*messages, {"role": "wizard", "content": "x"}], "wizard"),
    ],
)
def test_a_bad_result_is_one_clear_error(condense: Any, said: str) -> None:
    trace = Trace()
    with pytest.raises(InvalidInput) as caught:
        run("Add.", [add], Scripted(sums(1)), condense=condense, trace=trace)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert check_conversation(trace.messages) == ()
    with pytest.raises(InvalidInput, match="condense is 5"):
        run("Add.", [add], Scripted(sums(1)), condense=5)


@pytest.mark.filterwarnings("ignore:about to condense")
@pytest.mark.parametrize("answer", sorted(path.stem for path in LAB.glob("*.py")))
def test_the_answers_of_lab_2_plug_in(answer: str) -> None:
    condense = runpy.run_path(str(LAB / f"{answer}.py"))["condense"]

    def size(message: Any) -> int:
        return 10 + tokens_in([message])

    trace = run("Add.", [add], Scripted(sums(4)), condense=lambda messages: condense(messages, 120, size))
    requests = [step.record.messages for step in trace.steps if step.kind == "request"]
    assert all(sum(map(size, messages)) <= 120 for messages in requests)
    assert len(requests[-1]) < len(run("Add.", [add], Scripted(sums(4))).messages)
    assert all(messages[0]["content"] == "Add." for messages in requests)


def test_a_recording_replays_a_condensed_walk(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    made = run("Add.", [add], Replay(path, live=Scripted(sums(3))), condense=last_round)
    again = run("Add.", [add], Replay(path), condense=last_round)
    assert again.messages[-1] == made.messages[-1]
    assert again.answer == "Done."


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_whatever_is_kept_the_trace_says_what_was_sent(kept: list[int]) -> None:
    keeps = iter([*kept, *([1] * 9)])
    sent: list[Any] = []

    def condense(messages: list[Any]) -> list[Any]:
        return [messages[0], *messages[1:][-2 * next(keeps) :]]

    model = Scripted(sums(4))
    trace = run(
        "Add.", [add], lambda request: sent.append(request.messages) or model(request), condense=condense
    )
    asked = [seq for seq, step in enumerate(trace.steps) if step.kind == "request"]
    assert [trace.messages_at(seq) for seq in asked] == sent


def test_a_variant_may_condense() -> None:
    done = experiment(
        [{"id": "a", "prompt": "Add.", "tools": [add]}],
        {"whole": {}, "short": {"condense": last_round}},
        Scripted(sums(2)),
        executor="threads",
        progress=False,
    )
    lengths = {trace.meta["variant"]: len(trace.messages) for trace in done.traces}
    assert lengths == {"whole": 6, "short": 4}
