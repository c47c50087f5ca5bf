"""Requests pass in a process of their own, and are not held by what is written about them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit

import pytest
from server import answered_by, serving

from zoolab import Trace, watch
from zoolab.errors import InvalidInput
from zoolab.models.recording import Recording
from zoolab_connect.proxy.exchange import HttpRequest, HttpResponse

HELLO = {"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
JSON = {"content-type": "application/json"}

PROGRAM = """
import http.client, json, os, sys
from zoolab import watch
with watch(to=sys.argv[1], folder=sys.argv[2]) as seen:
    line = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2])
    said = [{"role": "user", "content": "x" * 500}]
    for number in range(1_000):
        line.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": said}))
        said.append(json.loads(line.getresponse().read())["choices"][0]["message"])
        said.append({"role": "user", "content": f"more {number}"})
        print(number, flush=True)
"""


def hello(_: HttpRequest) -> HttpResponse:
    return HttpResponse(200, JSON, [json.dumps(HELLO).encode()])


def ask(content: str, address: str = "") -> bytes:
    place = urlsplit(address or os.environ["OPENAI_BASE_URL"])
    with closing(http.client.HTTPConnection(place.netloc, timeout=60)) as line:
        body = {"model": "m", "messages": [{"role": "user", "content": content}]}
        line.request("POST", f"{place.path}/chat/completions", json.dumps(body), JSON)
        return line.getresponse().read()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_watch_has_lost_no_answer_that_the_program_had(tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    with answered_by(hello) as url:
        command = [sys.executable, "-c", PROGRAM, f"{url}/v1", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert [int(child.stdout.readline()) for _ in range(5)] == [*range(5)]
            child.send_signal(signal.SIGKILL)
    assert len(Recording(folder / "recording.jsonl")) >= 5
    assert len(Trace.load(folder / "001.jsonl").turns) >= 5


def test_a_request_that_is_being_answered_when_the_watch_ends_gets_its_answer() -> None:
    came, go_on = threading.Event(), threading.Event()

    def late(request: HttpRequest) -> HttpResponse:
        came.set()
        go_on.wait(60)
        return hello(request)

    answers: list[bytes] = []
    with answered_by(late) as url:
        with watch(to=f"{url}/v1") as seen:
            place = os.environ["OPENAI_BASE_URL"]
            asking = threading.Thread(target=lambda: answers.append(ask("Hi", place)))
            asking.start()
            assert came.wait(60)
        go_on.set()
        asking.join()
    assert json.loads(answers[0]) == HELLO
    assert [trace.outcome for trace in seen.traces] == ["open"]


def test_nothing_is_imported_from_the_folder_of_the_program(tmp_path: Path) -> None:
    for name in ("json.py", "zoolab_connect.py"):
        (tmp_path / name).write_text("raise SystemExit('a stranger')", encoding="utf-8")
    program = "from zoolab import watch\nwith watch(to='http://127.0.0.1:9/v1'):\n    print('open')"
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.stdout, done.stderr) == ("open\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_watch_ends_beside_a_process_that_was_forked_in_it() -> None:
    program = f"""
import os, time
from zoolab import watch
with watch(to={"http://127.0.0.1:9/v1"!r}):
    child = os.fork()
    if not child:
        time.sleep(600)
print("ended")
os.kill(child, 9)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "ended\n", ended.stderr


def test_the_end_of_its_process_is_told_and_holds_nobody() -> None:
    with answered_by(hello) as url, watch(to=f"{url}/v1") as seen:
        ask("Hi")
        seen._passing._process.kill()  # type: ignore[union-attr]
        seen._passing._listening.join()  # type: ignore[union-attr]
        seen.wait()
    assert [trace.answer for trace in seen.traces] == ["Hello"]
    assert seen.unread == ["the process that passes requests on has ended; start the watch again"]


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken, serving() as endpoint:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"cannot listen on port {port}"):
            watch(to=endpoint.url, port=port).__enter__()


def test_a_python_that_cannot_be_started_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with (
        serving() as endpoint,
        pytest.raises(InvalidInput, match="the process that passes requests on does not start"),
    ):
        watch(to=endpoint.url).__enter__()


def test_an_answer_waits_with_its_request_so_that_no_other_answer_waits_for_long() -> None:
    """To write the answer to a large request takes as long as the request is large."""
    long = "word " * 200_000
    with answered_by(hello) as url, watch(to=f"{url}/v1") as seen:
        held, waiting = threading.Event(), seen._recorder.backlog
        seen._recorder.later(lambda: held.wait(60) and None)  # type: ignore[func-returns-value]
        ask(long)
        # Held are the task that holds, the request, what says that it is written, the answer, and that again.
        for _ in range(6_000):
            if waiting.waiting > 2 * len(long):
                break
            sleep(0.01)
        assert waiting.waiting > 2 * len(long)
        assert waiting.patience(0) < 1
        held.set()
        seen.wait()
    assert [trace.answer for trace in seen.traces] == ["Hello"]
