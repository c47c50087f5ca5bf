"""`zoolab proxy`: a program under watch, from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from server import call, calling, completion, serving
from shell import Shell

from zoolab import Trace

PROGRAM = """
import json, openai, sys
client = openai.OpenAI(max_retries=0)
messages = [{"role": "user", "content": "42 + 58?"}]
schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
tools = [{"type": "function", "function": {"name": "add", "description": "Add.", "parameters": schema}}]
while True:
    said = client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
    if not said.tool_calls:
        sys.exit(7 if said.content == "It is 100." else 3)
    messages.append(said)
    for each in said.tool_calls:
        given = json.loads(each.function.arguments)
        messages.append({"role": "tool", "tool_call_id": each.id, "content": str(given["a"] + given["b"])})
"""


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return Shell(capsys)


ANSWERS = (completion(calling(call("add", '{"a": 42, "b": 58}'))), completion("It is 100."))
RUN = ("--", sys.executable, "program.py")


def test_a_program_is_watched_replayed_edited_and_broken(zoo, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-abcdefghijklmnop1234")
    with serving(*ANSWERS) as endpoint:
        ran = zoo("proxy", "--to", endpoint.url, "--report", *RUN)
    assert ran.code == 7
    assert "conversation 1: 2 requests, 1 call; answer" in ran.err
    assert "request 2" in ran.err
    assert "watched-1" in ran.err
    assert [call.name for call in Trace.load("watched-1/001.jsonl").tool_calls] == ["add"]
    monkeypatch.delenv("OPENAI_API_KEY")

    assert zoo("proxy", "--replay", "watched-1", "--folder", "again", *RUN).code == 7
    assert (tmp_path / "again" / "001.jsonl").is_file()

    reply = {"role": "assistant", "content": "No."}
    (tmp_path / "reply.json").write_text(json.dumps(reply))
    edited = zoo("proxy", "--replay", "watched-1", "--edit", "1.2=reply.json", *RUN)
    assert edited.code == 3
    assert Trace.load("watched-2/001.jsonl").answer == "No."

    broken = zoo("proxy", "--replay", "watched-1", "--fault", "http_500", *RUN)
    assert broken.code == 1
    assert "the endpoint answered 500" in broken.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--to", "somewhere", *RUN], "recording:NAME, local"),
        ([], "nothing to watch"),
        (["--serve", *RUN], "nothing to watch"),
        (["--port", "1000000", *RUN], "cannot listen"),
        (["--fault", "nan:often", *RUN], "NAME:RATE"),
        (["--fault", "unheard_of", *RUN], "unheard_of"),
        (["--fault", "hang", *RUN], "one of tools"),
        (["--replay", "nowhere", *RUN], "cannot read"),
        (["--replay", ".", "--edit", "first=reply.json", *RUN], "CONVERSATION.TURN=FILE"),
        (["--edit", "1.1=program.py", *RUN], "not JSON"),
        (["--to", "http://127.0.0.1:1/v1", "--", "no-such-program"], 'cannot start "no-such-program"'),
    ],
)
def test_whatever_cannot_be_done_is_one_line(zoo, given, told):
    ran = zoo("proxy", *given)
    assert ran.code == 2
    assert told in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


def test_a_program_that_asks_nothing_is_told_which_variables_it_could_have_read(zoo):
    ran = zoo("proxy", "--", sys.executable, "-c", "")
    assert ran.code == 0
    assert "nothing was asked" in ran.err
    for name in ("OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"):
        assert name in ran.err


def test_what_was_not_understood_is_counted_and_named(zoo):
    program = (
        "import openai; ask = openai.OpenAI(api_key='k', max_retries=0).embeddings.create\n"
        "for text in 'ab': ask(model='m', input=text, encoding_format='float')"
    )
    found = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}
    with serving({**found, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}) as endpoint:
        ran = zoo("proxy", "--to", endpoint.url, "--", sys.executable, "-c", program)
    assert ran.code == 0
    assert "not understood, passed on: POST /v1/embeddings, 2 times" in ran.err
    assert "nothing was asked" not in ran.err


PAYING = """
import openai, zoolab

@zoolab.taped
def pay(euros):
    with open("paid", "a") as file:
        file.write(f"{euros} ")
    return open("paid").read()

asked = [{"role": "user", "content": "Pay."}]
said = openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=asked)
print(said.choices[0].message.content, pay(5))
"""


def test_a_marked_tool_pays_once_and_plays_in_a_replay(zoo, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    command = ("--", sys.executable, "-c", PAYING)
    with serving(*ANSWERS) as endpoint:
        first = zoo("proxy", "--to", endpoint.url, *command)
    assert Path("paid").read_text() == "5 "
    again = zoo("proxy", "--replay", "watched-1", *command)
    assert (again.code, again.out, Path("paid").read_text()) == (0, first.out, "5 ")
    assert "marked with zoolab.taped give what they gave" in again.err
    assert "payment" not in again.err


def test_that_tools_run_again_is_said_before_the_program_starts(zoo, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving(*ANSWERS) as endpoint:
        assert "payment" not in zoo("proxy", "--to", endpoint.url, *RUN).err
    said = zoo("proxy", "--replay", "watched-1", *RUN).err
    assert said.index("tools run for real; a payment is made again") < said.index("conversation 1")
    with serving(*ANSWERS) as endpoint:
        command = ("stress", "--to", endpoint.url, "--fault", "nan", "--", sys.executable, "-c", "")
        assert "runs 2 times, and its own tools run each time" in zoo(*command).err
