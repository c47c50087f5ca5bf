"""`ask_again`: one frozen request, many models; nothing is executed."""

from dataclasses import replace

import pytest

from zoolab import Replay, Scripted, Trace, ask_again, run, tool
from zoolab.errors import InvalidInput, ModelError
from zoolab.records import Decision, Reply
from zoolab.toolbox.starter import add as starter_add
from zoolab.toolbox.starter import check_status, get_weather
from zoolab_study.statistics import wilson

EVIL = "<script>alert(1)</script>\x1b[2J\ud800"
KEY = "sk-proj-" + "Zq81TestTestTestTest9xW"


class Bank:
    """A tool that counts what it is asked to pay, also while its arguments are checked."""

    def __init__(self):
        self.paid = []

        @tool(risk="high")
        def pay(euros: int, to: str = "ada") -> str:
            """Pay."""
            self.paid.append(euros)
            return f"paid {euros} to {to}"

        model = Scripted([[("pay", {"euros": 5})], "Done."])
        self.trace = run("Pay 5.", [pay], model, ask=lambda _: Decision("once"))
        self.paid.clear()


def counted(asked):
    """The rows without their intervals and examples."""
    return [(row.model, row.tools, row.did, row.verdict, row.times, row.of) for row in asked.rows]


def drawn(seed):
    """A model that does other things each time."""
    return Scripted([[[("pay", '{ "euros": 5 }')], [("pay", {"euros": 6})], "No."][seed % 3]])


def test_what_each_would_do_is_counted():
    bank = Bank()
    models = {
        "drawn": drawn,
        "wrong": Scripted([[("pay", {"euros": "five"}), ("fly", {})]]),
        "cut": Scripted([Reply({"role": "assistant", "content": "I w"}, "length")]),
    }
    asked = ask_again(bank.trace, 1, models, repeats=5)
    assert counted(asked) == [
        ("drawn", "pay", "equal", "may_run", 2, 5),
        ("drawn", "pay", "other_arguments", "may_run", 2, 5),
        ("drawn", "", "answer", "", 1, 5),
        ("wrong", "pay, fly", "other_tools", "invalid_arguments, unknown_tool", 5, 5),
        ("cut", "", "answer", "cut", 5, 5),
    ]
    assert asked.rows[0].rate == wilson(2, 5)
    assert (asked.recorded.did, asked.recorded.calls) == ("equal", (("pay", '{"euros":5}'),))
    assert bank.paid == []


def test_the_request_is_sent_as_it_was_from_any_step_of_its_turn(tmp_path):
    bank, seen = Bank(), []
    loaded = Trace.load(bank.trace.save(tmp_path / "t.jsonl"))
    last = loaded.turns[-1]
    for step in (last.seq, last.seq + 1, -1, loaded.steps[-1]):
        asked = ask_again(loaded, step, {"m": Scripted(lambda request: seen.append(request) or "No.")}, 1)
        assert asked.recorded.text == "Done."
    assert {request.body() == last.request.body() for request in seen} == {True}
    assert len(seen) == 4


def test_an_error_of_a_model_is_a_row():
    bank = Bank()

    def failing(_request):
        raise ModelError("the endpoint is down", advice="try later")

    def broken(seed):
        raise RuntimeError(f"no such model {KEY} {seed}")

    models = {"failing": failing, "broken": broken, "odd": lambda _request: 7, "last": Scripted(["No."])}
    asked = ask_again(bank.trace, 1, models, repeats=2)
    assert counted(asked) == [
        ("failing", "", "error", "model_error", 2, 2),
        ("broken", "", "error", "failed", 2, 2),
        ("odd", "", "error", "invalid_input", 2, 2),
        ("last", "", "answer", "", 2, 2),
    ]
    assert "the endpoint is down" in asked.rows[0].example
    assert KEY not in asked._repr_html_() + str(asked)


def test_a_recording_is_asked_once():
    trace = run("What is 42 + 58?", [starter_add, get_weather, check_status], Replay("starter"))
    asked = ask_again(trace, 1, {"recorded": Replay("starter")})
    assert counted(asked) == [("recorded", "add", "equal", "may_run", 1, 1)]


def test_calls_in_the_text_are_read_if_the_trace_or_the_model_has_them_there():
    text = '{"name": "pay", "arguments": {"euros": 5}}'
    model = Scripted([text])
    model.calls = "text"
    asked = ask_again(Bank().trace, 1, {"text": model, "native": Scripted([text])}, repeats=1)
    assert [row.did for row in asked.rows] == ["equal", "answer"]


def test_without_a_define_step_the_tools_are_those_of_the_request():
    bank = Bank()
    bare = Trace()
    for step in bank.trace.steps[1:]:
        bare.add(step)
    asked = ask_again(bare, 0, {"m": Scripted([[("pay", {"euros": "x"})]])}, repeats=1)
    assert counted(asked) == [("m", "pay", "other_arguments", "invalid_arguments", 1, 1)]


def test_a_request_without_a_reply_can_be_asked_again():
    with pytest.raises(ModelError) as caught:
        run("Hi", [], Scripted([]))
    asked = ask_again(caught.value.trace, -1, Scripted(["Hello"]), repeats=1)
    assert (asked.recorded.did, asked.rows[0].example) == ("error", "Hello")
    assert "the script has no reply" in str(asked)


def test_the_table_and_the_views():
    bank = Bank()
    asked = ask_again(
        bank.trace, 1, {EVIL: Scripted([f"{EVIL} {KEY} {'x' * 9_000}"]), "drawn": drawn}, repeats=3
    )
    frame = asked.frame
    columns = ["model", "tools", "did", "verdict", "times", "of", "rate", "low", "high", "example"]
    assert list(frame.columns) == columns
    assert frame.groupby("model")["times"].sum().to_dict() == {EVIL: 3, "drawn": 3}
    assert ((frame.low <= frame.rate) & (frame.rate <= frame.high)).all()
    shown = asked._repr_html_()
    assert type(shown) is str
    assert "<script" not in shown
    for view in (shown, str(asked), repr(asked)):
        assert "\x1b" not in view
        assert KEY not in view
        assert len(view) < 8_000
        view.encode()


@pytest.mark.parametrize(
    ("step", "models", "repeats", "message"),
    [
        (0, Scripted(["Hi"]), 1, "step 0 comes before the first request"),
        (1, {}, 1, "there are no models"),
        (1, {"m": 7}, 1, "cannot be called"),
        (1, Scripted(["Hi"]), 0, "repeats is 0"),
        (99, Scripted(["Hi"]), 1, "there is no step 99"),
    ],
)
def test_what_cannot_be_asked_is_refused(step, models, repeats, message):
    with pytest.raises(InvalidInput, match=message):
        ask_again(Bank().trace, step, models, repeats)


def test_a_hostile_request_is_refused_and_runs_nothing():
    bank = Bank()
    step = bank.trace.steps[1]
    bare = Trace()
    bare.add(
        step._replace(record=replace(step.record, tools=({"type": "function", "function": {"name": 7}},)))
    )
    with pytest.raises(InvalidInput, match="tools that cannot be read"):
        ask_again(bare, 0, Scripted(["Hi"]), 1)
