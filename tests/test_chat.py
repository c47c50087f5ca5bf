"""`Chat`: several questions in one conversation."""

import pytest

from tests.test_tape import LOOK, Till, pay
from zoolab import Chat, Permissions, Scripted, Trace
from zoolab.errors import InvalidInput, LoopError, ModelError, UnknownOption
from zoolab.records import Decision, Limits


def test_what_was_said_stays_in_the_conversation():
    till = Till()
    model = Scripted([[LOOK], "One.", [pay(5)], "Paid."])
    chat = Chat(till.tools, model, ask=lambda _: Decision("once"), system="Be brief.")
    assert (chat.say("How much?"), chat.say("Pay 5."), till.paid) == ("One.", "Paid.", [5])
    assert [message["role"] for message in chat.trace.messages].count("system") == 1
    assert chat.questions == ["How much?", "Pay 5."]
    assert [turn.number for turn in chat.trace.turns] == [1, 2, 3, 4]
    assert "Pay 5." in chat._repr_html_()
    assert repr(Chat([], model)) == "<Chat: 0 questions>"
    assert Chat([], model)._repr_html_()


def test_a_question_that_raises_is_not_in_the_conversation():
    till = Till()
    model = Scripted(["Hello", [LOOK], [LOOK], "Yes."])
    chat = Chat(till.tools, model, limits=Limits(turns=1))
    chat.say("Hi")
    with pytest.raises(LoopError) as caught:
        chat.say("Look twice.")
    assert [turn.number for turn in caught.value.trace.turns] == [1, 2]
    assert (chat.questions, chat.trace.answer) == (["Hi"], "Hello")
    chat.options["limits"] = Limits(turns=2)
    assert chat.say("Well?") == "Yes."
    assert chat.questions == ["Hi", "Well?"]


def test_a_reply_that_says_nothing_is_no_answer():
    chat = Chat([], Scripted(["Hello", "", "Yes."]))
    chat.say("Hi")
    with pytest.raises(ModelError, match="no answer came") as caught:
        chat.say("What?")
    assert caught.value.trace.outcome == "empty"
    assert (chat.say("Well?"), chat.questions) == ("Yes.", ["Hi", "Well?"])


def test_a_fork_goes_on_after_any_answer(tmp_path):
    model = Scripted(["A", "B", "C", "D", "E"])
    chat = Chat([], model)
    assert [chat.say(text) for text in ("a", "b", "c")] == ["A", "B", "C"]
    loaded = Chat([], model, trace=Trace.load(chat.trace.save(tmp_path / "t.jsonl")))
    for each, said in ((chat, "D"), (loaded, "E")):
        fork = each.fork(1)
        assert (fork.questions, fork.trace.answer, fork.trace.outcome) == (["a"], "A", "answer")
        assert (fork.say("d"), fork.questions, each.questions) == (said, ["a", "d"], ["a", "b", "c"])
        assert fork.trace.replay().messages == fork.trace.messages
    assert chat.fork(3).trace is chat.trace
    for wrong in (0, 4, -1, "1", True):
        with pytest.raises(InvalidInput, match="expected 1 to 3"):
            chat.fork(wrong)
    with pytest.raises(InvalidInput, match="expected a chat with a question"):
        Chat([], model).fork(1)


def test_what_is_allowed_for_the_session_holds_for_the_chat():
    till, asked = Till(), []

    def once(step):
        asked.append(step)
        return Decision("session")

    replies = [[pay(5)], "Paid.", [pay(5)], "Paid again."]
    chat = Chat(till.tools, Scripted(replies), ask=once)
    assert (chat.say("Pay."), chat.say("Once more."), till.paid) == ("Paid.", "Paid again.", [5, 5])
    assert len(asked) == 1
    permissions = Permissions()
    assert Chat([], Scripted(["A"]), policy=permissions).options["policy"] is permissions


def test_an_option_that_the_conversation_says_itself_is_refused():
    for wrong in ("messages", "first_turn", "go_on", "meta", "sytem"):
        with pytest.raises(UnknownOption, match=f"Chat\\(\\) has no option '{wrong}'"):
            Chat([], Scripted(["A"]), **{wrong: None})


def test_a_chat_records_into_a_file_as_it_goes(tmp_path):
    chat = Chat([], Scripted(["A", "B"]))
    chat.say("a")
    chat.say("b", trace=Trace(tmp_path / "t.jsonl"))
    assert Trace.load(tmp_path / "t.jsonl") == chat.trace
