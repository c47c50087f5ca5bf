"""`zoolab chat`: questions line by line, each shown as it is answered; in processes of their own."""

import os
import signal
import subprocess
import time

import pytest
from server import Answer, call, calling, completion, serving
from shell import ESCAPE, HOSTILE, command, live
from test_cli_process import on_a_terminal

from zoolab import Trace

MINE = """
from zoolab import tool

@tool
def now() -> str:
    "Tell the time."
    return "noon"

MINE = [now]
"""


def told(questions, *options, **environment):
    """What a chat says to questions that come through a pipe."""
    asked = command("chat", *options, **environment)
    return subprocess.run(**asked, input="\n".join(questions), capture_output=True, text=True, timeout=120)


def said(trace):
    return [message["content"] for message in trace.messages if message["role"] in ("user", "assistant")]


def test_recorded_questions_are_answered_in_one_conversation_that_is_kept(tmp_path):
    path = tmp_path / "t.jsonl"
    done = told(["What is 42 + 58?", "Who are you?", "Is nginx running?", "", "Lost"], "--trace", path)
    miss = "zoolab: this is not recorded with these tools; see zoolab walk --list, or say --local or --live\n"
    assert (done.returncode, done.stderr) == (0, miss)
    assert done.stdout.startswith("recorded: Needle 3")
    assert "it answers each question alone" in done.stdout.splitlines()[0]
    assert done.stdout.count("define ") == 1
    assert "the model asks for check_status" in done.stdout
    assert "Lost" not in done.stdout
    again = told(["Add 7 and 12."], "--trace", path)
    assert "turn 5" in again.stdout
    trace = Trace.load(path)
    assert said(trace) == [
        *("What is 42 + 58?", None, "The answer is 100."),
        *("Is nginx running?", None, "Yes, nginx is running."),
        *("Add 7 and 12.", None, "The answer is 19."),
    ]
    assert [turn.number for turn in trace.turns] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("last", ["", "exit", "Quit", "  "])
def test_a_line_that_is_no_question_ends_it(last):
    with serving(completion("Hello.")) as server:
        done = told(["Hi", last, "Lost"], *live(server))
        assert [each.body["messages"][-1]["content"] for each in server.asked] == ["Hi"]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_is_asked_for_questions_and_for_permission():
    asks = calling(call("restart_service", '{"service": "cron"}'))
    with serving(completion(asks), completion("Done."), completion("Bye.")) as server:
        asked = command("chat", *live(server), "--tools", "restart_service", "--system", "Be brief.")
        code, shown = on_a_terminal(asked, b"Restart cron.\n1\nThank you.\n\n")
        sent = [each.body["messages"] for each in server.asked]
    assert code == 0
    assert "an empty line ends the conversation" in shown
    assert shown.count("> ") >= 3
    assert "allow restart_service? [1] once" in shown
    assert "cron was restarted" in shown
    assert [message["role"] for message in sent[-1]] == [
        *("system", "user", "assistant", "tool", "assistant", "user")
    ]


def test_what_a_model_says_commands_no_terminal():
    with serving(completion(HOSTILE), completion("Yes.")) as server:
        done = told(["Hi", "Well?"], *live(server))
    assert done.returncode == 0
    assert ESCAPE not in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child alone")
def test_an_interrupt_ends_the_question_and_not_the_chat(tmp_path):
    path = tmp_path / "t.jsonl"
    with serving(completion("Hello."), Answer(completion("2"), delay=60), completion("Yes.")) as server:
        asked = command("chat", *live(server), "--trace", path)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(**asked, **pipes, text=True)
        process.stdin.write("Hi\nSlow\n")
        process.stdin.flush()
        while len(server.asked) < 2 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate("Well?\n", timeout=120)
    assert (process.returncode, err) == (0, "zoolab: interrupted\n")
    assert said(Trace.load(path)) == ["Hi", "Hello.", "Well?", "Yes."]


def test_an_answer_that_did_not_come_is_said_and_the_chat_goes_on(tmp_path):
    path = tmp_path / "t.jsonl"
    refused = Answer({"error": {"message": "no"}}, status=400)
    with serving(completion(""), refused, completion("Yes.")) as server:
        done = told(["Nothing?", "Refused?", "Well?"], *live(server), "--trace", path)
    first, second = done.stderr.splitlines()
    assert first.startswith("zoolab: no answer came: the reply")
    assert second.startswith("zoolab: ")
    assert (done.returncode, said(Trace.load(path))) == (0, ["Well?", "Yes."])


def test_tools_of_ones_own_and_those_that_a_file_lacks(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    path, own = tmp_path / "t.jsonl", {"PYTHONPATH": str(tmp_path)}
    with serving(completion(calling(call("now", "{}"))), completion("Noon."), completion("Bye.")) as server:
        done = told(["Time?"], *live(server), "--tools", "mine:MINE", "--trace", path, **own)
        assert (done.returncode, done.stderr) == (0, "")
        lost = told(["And now?"], *live(server), "--trace", path)
        assert lost.returncode == 2
        assert 'the conversation has tools of its own: "now"; name them with --tools' in lost.stderr
        more = told(["And now?"], *live(server), "--tools", "mine:MINE", "--trace", path, **own)
        assert (more.returncode, said(Trace.load(path))[-1]) == (0, "Bye.")
    wrong = told(["Hi"], "--tools", "mine:YOURS", **own)
    assert "cannot take YOURS from mine" in wrong.stderr
    (tmp_path / "t.jsonl").write_text("no trace\n")
    assert told(["Hi"], "--trace", path).returncode == 2
