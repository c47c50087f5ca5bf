"""A recording answers an ordinary client, and the example works with it to the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from shell import Shell

from zoolab import Trace
from zoolab.models.replay import Replay
from zoolab_connect.proxy.recorded import RecordedFor
from zoolab_connect.proxy.watch import watch

RECORDED = [
    body
    for body in Replay("starter").recording.requests
    if body["messages"][-1]["role"] == "tool" and len(body["messages"]) < 5
]


@pytest.mark.parametrize("body", RECORDED[:12], ids=lambda body: str(body["messages"][0]["content"]))
def test_a_result_without_the_envelope_and_nulls_have_the_same_answer(body: Any) -> None:
    messages = []
    for message in json.loads(json.dumps(body["messages"])):
        if message["role"] == "tool" and message["content"].startswith('{"success":true'):
            value = json.loads(message["content"])["data"]
            message["content"] = value if isinstance(value, str) else json.dumps(value)
        if message["role"] == "assistant":
            message = {**message, "refusal": None, "annotations": [], "reasoning_content": None}
        messages.append(message)
    replay = Replay("starter").recording
    said = replay.response(replay.key_of(body))
    assert said is not None
    with watch(to=RecordedFor("starter")):
        client = openai.OpenAI(max_retries=0)
        reply = client.chat.completions.create(model="any", messages=messages, tools=body["tools"])
    assert reply.choices[0].message.content == said["choices"][0]["message"]["content"]


def test_another_question_is_still_a_miss() -> None:
    asked: list[Any] = [{"role": "user", "content": "Never asked."}]
    with watch(to=RecordedFor("starter")):
        client = openai.OpenAI(max_retries=0)
        with pytest.raises(openai.NotFoundError, match="holds no such"):
            client.chat.completions.create(model="any", messages=asked)


def test_the_example_works_to_the_end_offline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    zoo = Shell(capsys)
    (tmp_path / "my_agent.py").write_text(zoo("proxy", "--example").out)
    ran = zoo("proxy", "--to", "recording:starter", "--", sys.executable, "my_agent.py")
    assert ran.code == 0, ran.err
    assert "2 requests, 1 call; answer" in ran.err
    assert Trace.load("watched-1/001.jsonl").answer == "The answer is 100."
