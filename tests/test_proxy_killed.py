"""A killed watch has lost only the request in flight, and what waits to be written is bounded."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from zoolab import Scripted, Trace, watch
from zoolab.models.recording import Header, Recording
from zoolab_connect.proxy.exchange import HttpResponse
from zoolab_connect.proxy.seen import Seen

PROGRAM = """
import http.client, json, sys
from zoolab import Scripted, watch
with watch(to=Scripted(["word " * 50] * 1_000), folder=sys.argv[1]) as seen:
    said = [{"role": "user", "content": "x" * 500}]
    with_server = http.client.HTTPConnection(seen.url.removeprefix("http://"))
    for number in range(1_000):
        body = json.dumps({"model": "m", "messages": said})
        with_server.request("POST", "/v1/chat/completions", body)
        said.append(json.loads(with_server.getresponse().read())["choices"][0]["message"])
        said.append({"role": "user", "content": f"more {number}"})
        print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
@pytest.mark.parametrize("answers", [1, 5, 12])
def test_a_killed_watch_has_lost_no_answer_that_the_program_had(tmp_path: Path, answers: int) -> None:
    folder = tmp_path / "seen"
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        had = [int(child.stdout.readline()) for _ in range(answers)]
        child.send_signal(signal.SIGKILL)
    assert had == [*range(answers)]
    recording = folder / "recording.jsonl"
    lines = recording.read_bytes().split(b"\n")
    assert [json.loads(line) for line in lines[:-1]]
    assert len(Recording(recording)) >= answers
    assert len(Trace.load(folder / "001.jsonl").turns) >= answers


def ask(seen: Seen, content: str) -> bytes:
    with closing(http.client.HTTPConnection(seen.url.removeprefix("http://"), timeout=60)) as line:
        body = {"model": "m", "messages": [{"role": "user", "content": content}]}
        line.request("POST", "/v1/chat/completions", json.dumps(body))
        return line.getresponse().read()


def test_what_waits_to_be_written_is_bounded_and_nothing_is_dropped() -> None:
    waited: list[int] = []
    with watch(to=Scripted(["Hello"] * 40)) as seen:
        seen._recorder.backlog.most = 10_000
        held = threading.Event()
        seen._recorder.later(lambda: held.wait(60) and None)  # type: ignore[func-returns-value]
        asking = [threading.Thread(target=ask, args=(seen, f"{n} " * 1_000)) for n in range(20)]
        for each in asking:
            each.start()
        waited.append(seen._recorder.backlog.waiting)
        held.set()
        for each in asking:
            each.join()
        seen.wait()
        waited.append(seen._recorder.backlog.waiting)
    assert waited[0] < 10_000 + 2 * 6_000
    assert len(seen.traces) == 20
    assert {trace.answer for trace in seen.traces} == {"Hello"}


def test_an_error_while_it_is_written_does_not_hold_the_program() -> None:
    seen = Seen(lambda _: HttpResponse(200, {}, [b"{}"]), None, Header("authored", "", "a test"))
    with seen:
        assert ask(seen, "Hi") == b"{}"
        seen._recorder.later(lambda: [][0])  # type: ignore[misc]
        seen.wait()
    assert "list index" in seen.unread[0]


def test_nobody_waits_for_a_watch_that_has_ended() -> None:
    with watch(to=Scripted(["Hello"])) as seen:
        ask(seen, "Hi")
    assert seen._recorder.later(lambda: None).is_set()
