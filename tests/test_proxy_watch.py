"""The server that passes requests on, and what a watch makes of them."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest
from server import Answer, serving

from zoolab import Scripted, Trace
from zoolab.errors import InvalidInput
from zoolab.models.recording import Header, Recording
from zoolab.models.replay import Replay
from zoolab.records import Request
from zoolab_connect.proxy.exchange import MAX_BYTES, HttpRequest, HttpResponse
from zoolab_connect.proxy.seen import Seen
from zoolab_connect.proxy.server import LoopbackServer
from zoolab_connect.proxy.watch import Edit, watch


def told(request: HttpRequest) -> HttpResponse:
    said = {"method": request.method, "path": request.path, "content": request.content.decode()}
    return HttpResponse(200, {"content-type": "application/json"}, [json.dumps(said).encode()])


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    made = LoopbackServer(told)
    yield made
    made.close()


def ask(server: LoopbackServer, method: str = "POST", path: str = "/v1/x", **given: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    try:
        connection.request(method, path, **given)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_request_is_answered(server):
    status, said = ask(server, body=b'{"a": 1}')
    assert (status, said) == (200, {"method": "POST", "path": "/v1/x", "content": '{"a": 1}'})


@pytest.mark.parametrize(("version", "header"), [("1.0", ""), ("1.1", "Connection: close\r\n")])
def test_a_connection_that_the_program_wants_closed_is_closed(version, header):
    made = LoopbackServer(lambda _: HttpResponse(200, {}, iter([b"one", b"two"])))
    with socket.create_connection(("127.0.0.1", made.server_port), timeout=60) as asked:
        head = f"POST /v1/x HTTP/{version}\r\nHost: 127.0.0.1:{made.server_port}\r\nContent-Length: 0\r\n"
        asked.sendall(f"{head}{header}\r\n".encode())
        answer = b"".join(iter(lambda: asked.recv(65_536), b""))
    made.close()
    assert answer.endswith(b"onetwo" if version == "1.0" else b"0\r\n\r\n")
    assert (b"chunked" in answer) == (version == "1.1")


def test_what_was_watched_replays_and_forks_and_no_tool_runs():
    """Its settings, and what the program made of messages, are on the tape."""
    add = Scripted([[("add", {"a": 1, "b": 2})], "It is 3."])
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": parameters}}]
    messages: list[Any] = [{"role": "user", "content": "1 + 2?"}]
    with watch(add) as seen:
        client = openai.OpenAI()
        for _ in range(2):
            asked = client.chat.completions.create(model="m", messages=messages, tools=tools, temperature=0.2)
            said = asked.choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls or []:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "3"})
        seen.wait()
    trace = seen.traces[0]
    again = trace.replay()
    assert (again.answer, again.messages) == ("It is 3.", trace.messages)
    assert [turn.request.settings for turn in again.turns] == [turn.request.settings for turn in trace.turns]
    child = trace.fork(0, model=Scripted([[("add", {"b": 2, "a": 1})], "Three."]))
    assert (child.answer, child.messages[2]["content"]) == ("Three.", "3")
    assert "temperature" not in child.turns[0].request.settings


def test_a_content_in_chunks_is_read(server):
    assert ask(
        server, body=iter([b"ab", b"c"]), encode_chunked=True, headers={"transfer-encoding": "chunked"}
    ) == (
        200,
        {"method": "POST", "path": "/v1/x", "content": "abc"},
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
    ],
)
def test_another_host_or_a_page_of_another_site_is_refused(server, headers):
    status, said = ask(server, body=b"{}", headers=headers)
    assert status == 403
    assert "this machine alone" in said["error"]["message"]


def test_a_request_that_is_too_large_is_refused_before_it_is_read(server):
    status, _ = ask(server, headers={"content-length": str(MAX_BYTES + 1)})
    assert status == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 5_000])
def test_a_length_that_is_none_is_refused(server, length):
    assert ask(server, headers={"content-length": length})[0] == 400


def test_pieces_go_out_as_they_come():
    step = threading.Event()

    def slow(_: HttpRequest) -> HttpResponse:
        def pieces() -> Iterator[bytes]:
            yield b"first"
            assert step.wait(10)
            yield b"second"

        return HttpResponse(200, {}, pieces())

    server = LoopbackServer(slow)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request("POST", "/v1/x", body=b"{}")
    answer = connection.getresponse()
    assert answer.read1(100) == b"first"
    step.set()
    assert answer.read() == b"second"
    connection.close()
    server.close()


def test_an_answer_to_head_has_no_content():
    """Else the next request on the connection reads it."""
    server = LoopbackServer(lambda _: HttpResponse(200, {}, iter([b"whatever"])))
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    for method, said in (("HEAD", b""), ("GET", b"whatever")):
        connection.request(method, "/v1/x")
        assert connection.getresponse().read() == said
    connection.close()
    server.close()


def test_an_answer_that_breaks_off_is_seen_to_be_broken():
    def breaks(_: HttpRequest) -> HttpResponse:
        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ConnectionResetError

        return HttpResponse(200, {}, pieces())

    server = LoopbackServer(breaks)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request("POST", "/v1/x", body=b"{}")
    with pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()
    connection.close()
    server.close()


# A watch


ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    },
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 42, "b": 58}'}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def completion(message: dict[str, Any], **more: Any) -> HttpResponse:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], **more}
    return HttpResponse(200, {"content-type": "application/json"}, [json.dumps(body).encode()])


class Endpoint:
    """Answers as it is told, one after the other, and keeps what it was asked."""

    def __init__(self, *answers: HttpResponse) -> None:
        self.answers, self.asked = list(answers), list[HttpRequest]()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def watched(*answers: HttpResponse, folder: Path | None = None) -> tuple[Seen, Endpoint]:
    endpoint = Endpoint(*answers)
    return Seen(endpoint, folder, Header("authored", "", "a test"), key="none"), endpoint


def converse(client: openai.OpenAI) -> str | None:
    """A program of somebody else: it asks, adds, and asks again."""
    messages: list[Any] = [{"role": "user", "content": "42 + 58?"}]
    while True:
        reply = client.chat.completions.create(model="m", messages=messages, tools=[ADD])  # type: ignore[call-overload]
        message = reply.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        messages.append(message)
        for call in message.tool_calls:
            given = json.loads(call.function.arguments)
            messages.append(
                {"role": "tool", "tool_call_id": call.id, "content": str(given["a"] + given["b"])}
            )


def test_code_that_runs_meanwhile_is_a_trace():
    seen, endpoint = watched(completion(ASKS), completion({"role": "assistant", "content": "It is 100."}))
    before = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_PROXY")}
    with seen:
        assert converse(openai.OpenAI(max_retries=0)) == "It is 100."
    assert {name: os.environ.get(name) for name in before} == before
    (trace,) = seen.traces
    kinds = ["define", "request", "tool_call", "validate", "result", "request", "tool_call"]
    assert [step.kind for step in trace.steps] == kinds
    assert [(call.name, call.arguments) for call in trace.tool_calls] == [("add", '{"a": 42, "b": 58}')]
    assert (trace.answer, trace.outcome) == ("It is 100.", "answer")
    sent = trace.turns[0].reply.body_sent(trace.turns[0].request)
    assert sent == json.loads(endpoint.asked[0].content)
    assert [*trace.started] == sorted(trace.started)


def test_what_a_program_must_be_told_is_the_same_within_the_watch(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "intern.example")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    seen, _ = watched(completion(ASKS))
    with seen:
        told = seen.environment
    assert (told["OPENAI_API_KEY"], told["ANTHROPIC_API_KEY"]) == ("none", "none")
    assert told["NO_PROXY"] == "intern.example,127.0.0.1"


def test_keys_are_passed_on_and_never_written(tmp_path):
    secret = "sk-proj-abcdefghijklmnop123456"
    seen, endpoint = watched(
        completion({"role": "assistant", "content": f"my key is {secret}"}), folder=tmp_path
    )
    with seen:
        client = openai.OpenAI(api_key=secret, max_retries=0)
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"key {secret}"}])
    assert endpoint.asked[0].headers["authorization"] == f"Bearer {secret}"
    assert secret.encode() in endpoint.asked[0].content
    names = sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".jsonl")
    assert names == ["001.jsonl", "recording.jsonl"]
    assert not [path for path in tmp_path.iterdir() if secret in path.read_text(encoding="utf-8")]


def test_what_cannot_be_read_is_told_without_its_secrets():
    secret = b"sk-proj-abcdefghijklmnop123456"
    seen, _ = watched(HttpResponse(200, {}, [b'{"choices": [], "note": "' + secret + b'"}']))
    with seen:
        raw(seen, b'{"messages": [{"role": "user", "content": "Hi"}]}')
        raw(seen, b'{"' + secret + b'": 1, "' + secret + b'": 2}')
        seen.wait()
    assert "expected a chat completion" in seen.failures[0][1]
    assert len(seen.unread) == 1
    assert secret.decode() not in f"{seen.failures}{seen.unread}{seen.traces[0].error}"


def test_what_was_watched_can_be_loaded_and_replayed(tmp_path):
    seen, _ = watched(
        completion(ASKS), completion({"role": "assistant", "content": "It is 100."}), folder=tmp_path
    )
    with seen:
        converse(openai.OpenAI(max_retries=0))
    assert Trace.load(tmp_path / "001.jsonl") == seen.traces[0]
    recorded = Replay(tmp_path / "recording.jsonl")
    assert recorded(seen.traces[0].turns[1].request).text == "It is 100."


def test_a_watch_goes_on_if_nothing_more_can_be_written(tmp_path):
    folder = tmp_path / "seen"
    folder.mkdir()
    seen, _ = watched(completion(ASKS), completion({"role": "assistant", "content": "100"}), folder=folder)
    with seen:
        client = openai.OpenAI(max_retries=0)
        folder.rmdir()
        folder.write_text("something else")
        for question in ("42 + 58?", "1 + 1?"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        seen.wait()
        assert len(seen.unread) == 2
    assert seen.traces == []


def test_a_conversation_of_more_than_a_megabyte_is_seen_and_replayed(tmp_path):
    def converse(client: openai.OpenAI) -> list[str | None]:
        messages: list[Any] = [{"role": "user", "content": "word " * 250_000}]
        said = []
        for question in ("And?", "Then?"):
            reply = client.chat.completions.create(model="m", messages=messages).choices[0].message
            said.append(reply.content)
            messages += [reply, {"role": "user", "content": question}]
        return said

    folder = tmp_path / "seen"
    with watch(to=Scripted(["One.", "Two."]), folder=folder) as seen:
        assert converse(openai.OpenAI(max_retries=0)) == ["One.", "Two."]
    assert [len(trace.turns) for trace in seen.traces] == [2]
    with watch(replay=folder):
        assert converse(openai.OpenAI(max_retries=0)) == ["One.", "Two."]


def test_what_cannot_be_read_is_passed_on_and_said():
    seen, endpoint = watched(HttpResponse(200, {}, [b"whatever"]))
    with seen:
        status, said = raw(seen, b'{"messages": "none"}')
        seen.wait()
    assert (status, said) == (200, b"whatever")
    assert endpoint.asked[0].content == b'{"messages": "none"}'
    assert len(seen.unread) == 1
    assert seen.traces == []


@pytest.mark.parametrize(
    "odd",
    [
        {"messages": []},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        {"messages": [{"role": "assistant", "content": 1, "tool_calls": [1, {"id": {}, "function": []}]}]},
        {
            "messages": [{"role": {}, "content": {}, "tool_call_id": []}],
            "tools": [{}],
            "tool_choice": {"a": 1},
        },
        {"messages": [{"role": "user", "content": "Hi"}], "tools": {"a": 1}},
        [],
    ],
)
def test_odd_requests_and_answers_pass_and_end_nothing(odd):
    answers = (completion(ASKS), HttpResponse(200, {}, [b'{"choices": [{"message": 1}]}']))
    seen, _ = watched(*answers, completion({"role": "assistant", "content": "Hello"}))
    with seen:
        assert [raw(seen, json.dumps(odd).encode())[0] for _ in range(3)] == [200] * 3
        client = openai.OpenAI(max_retries=0)
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "And then?"}])
    assert seen.traces[-1].answer == "Hello"


def test_an_error_of_the_endpoint_is_passed_on_and_told():
    body = json.dumps({"error": {"message": "slow down", "type": "rate_limit"}}).encode()
    seen, _ = watched(HttpResponse(429, {"content-type": "application/json"}, [body]))
    with seen:
        status, said = raw(
            seen, json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
        )
        seen.wait()
    assert (status, said) == (429, body)
    assert seen.failures == [{1: "the endpoint answered 429: slow down"}]
    assert seen.traces[0].outcome == "model_error"


def test_other_requests_pass_without_a_trace():
    seen, endpoint = watched(HttpResponse(200, {"content-type": "application/json"}, [b'{"data": []}']))
    with seen:
        assert [*openai.OpenAI(max_retries=0).models.list()] == []
    assert endpoint.asked[0].path == "/v1/models"
    assert seen.traces == []


def test_the_page_grows_and_is_whole_when_the_watch_ends():
    seen, _ = watched(completion(ASKS), completion({"role": "assistant", "content": "<b>It is 100.</b>"}))
    with seen:
        found: list[str] = []

        def read() -> None:
            with urllib.request.urlopen(seen.page, timeout=10) as answer:
                found.append(answer.read().decode())

        reader = threading.Thread(target=read)
        reader.start()
        converse(openai.OpenAI(max_retries=0))
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{seen.page.rpartition('/')[0]}/guessed", timeout=10)
    reader.join(10)
    assert found[0].rstrip().endswith("</html>")
    assert "Conversation 1, turn 2" in found[0]
    assert "&lt;b&gt;It is 100." in found[0]
    assert "<script" not in found[0]


def test_an_inspector_grows_with_its_trace():
    seen, _ = watched(completion(ASKS), completion({"role": "assistant", "content": "It is 100."}))
    with seen:
        with pytest.raises(InvalidInput, match="no conversation"):
            seen.inspect()
        client = openai.OpenAI(max_retries=0)
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "42 + 58?"}])
        inspector = seen.inspect()
        before = inspector.overview["n"]
        client.chat.completions.create(
            model="m",
            messages=[
                {"role": "user", "content": "42 + 58?"},
                ASKS,  # type: ignore[list-item]
                {"role": "tool", "tool_call_id": "call_1", "content": "100"},
            ],
        )
        seen.wait()
        assert len(seen.traces) == 1
        assert inspector.overview["n"] > before


def test_a_command_is_run_with_the_addresses_and_its_exit_code_comes_back():
    seen, _ = watched(completion({"role": "assistant", "content": "Hello"}))
    program = (
        "import openai, sys; said = openai.OpenAI().chat.completions.create(model='m',"
        " messages=[{'role': 'user', 'content': 'Hi'}]); sys.exit(len(said.choices[0].message.content))"
    )
    with seen:
        assert seen.run([sys.executable, "-c", program]) == 5
        with pytest.raises(InvalidInput, match="cannot start"):
            seen.run(["no-such-program-here"])
    assert seen.traces[0].answer == "Hello"


def raw(seen: Seen, content: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(seen.url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/chat/completions", body=content)
    answer = connection.getresponse()
    said = answer.status, answer.read()
    connection.close()
    return said


# Who answers


QUESTION: list[Any] = [{"role": "user", "content": "42 + 58?"}]


def test_an_endpoint_is_watched_and_replayed_without_it(tmp_path):
    answers = [
        {"id": "a", "choices": [{"message": ASKS, "finish_reason": "tool_calls"}], "model": "m-1"},
        {"id": "b", "choices": [{"message": {"role": "assistant", "content": "It is 100."}}], "model": "m-1"},
    ]
    with serving(*answers) as endpoint, watch(to=endpoint.url, folder=tmp_path / "seen") as seen:
        assert converse(openai.OpenAI(api_key="none", max_retries=0)) == "It is 100."
    with watch(replay=tmp_path / "seen") as again:
        assert converse(openai.OpenAI(max_retries=0)) == "It is 100."
    calls = [[(call.name, call.arguments) for call in each.traces[0].tool_calls] for each in (seen, again)]
    assert calls[0] == calls[1] == [("add", '{"a": 42, "b": 58}')]
    assert Recording(tmp_path / "seen" / "recording.jsonl").header.made == "recorded"


def test_what_is_not_recorded_is_a_miss_that_shows_the_difference(tmp_path):
    with watch(to=Scripted(["Hello"]), folder=tmp_path):
        openai.OpenAI().chat.completions.create(model="m", messages=QUESTION)
    other: Any = [{"role": "user", "content": "42 + 59?"}]
    with watch(replay=tmp_path) as seen, pytest.raises(openai.NotFoundError, match=r"42 \+ 59"):
        openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=other)
    assert "holds no such request" in seen.failures[0][1]


def test_a_fork_goes_on_live_after_an_edited_reply(tmp_path):
    with watch(to=Scripted([[("add", {"a": 42, "b": 58})], "It is 100."]), folder=tmp_path):
        converse(openai.OpenAI())
    told = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    edit = Edit(1, 1, {"role": "assistant", "content": None, "tool_calls": [told]})
    with watch(replay=tmp_path, edit=edit), pytest.raises(openai.NotFoundError):
        converse(openai.OpenAI(max_retries=0))
    with watch(to=Scripted(["It is 3."]), replay=tmp_path, live=True, edit=edit) as seen:
        assert converse(openai.OpenAI()) == "It is 3."
    assert [call.arguments for call in seen.traces[0].tool_calls] == ['{"a": 1, "b": 2}']


def test_faults_break_the_traffic_and_are_marked():
    script = Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
    with watch(to=script, faults=["trailing_comma"]) as seen, pytest.raises(json.JSONDecodeError):
        converse(openai.OpenAI())
    assert [call.arguments for call in seen.traces[0].tool_calls] == ['{"a":42,"b":58,}']
    assert [fault.name for step in seen.traces[0].steps if step.reply for fault in step.reply.faults]
    assert [error.code for error in seen.traces[0].errors] == ["invalid_json"]


def test_a_recording_can_be_broken_whatever_the_program_calls_the_model(tmp_path):
    """The recording knows its model by its own name."""

    class Named(Scripted):
        model = "own-name"

    path = tmp_path / "kept.jsonl"
    Replay(path, live=Named(["It is 100."]))(Request(QUESTION))
    with watch(to=Replay(path), faults={"nan": 1.0}) as seen:
        said = openai.OpenAI(max_retries=0).chat.completions.create(model="another", messages=QUESTION)
    assert said.choices[0].message.content == seen.traces[0].answer == "It is 100."


def test_an_endpoint_that_breaks_off_is_told_without_a_traceback(capsys):
    half = Answer('{"id": "a", "choices": [', content_type="application/json", drop=True)
    with serving(half) as endpoint, watch(to=endpoint.url) as seen:
        with pytest.raises(openai.APIConnectionError):
            openai.OpenAI(api_key="k", max_retries=0).chat.completions.create(model="m", messages=QUESTION)
        seen.wait()
    assert seen.failures == [{1: "the answer broke off"}]
    assert capsys.readouterr().err == ""


def test_the_connections_to_the_endpoint_end_with_the_watch():
    body = {"id": "b", "choices": [{"message": {"role": "assistant", "content": "100"}}], "model": "m-1"}
    with serving(body) as endpoint:
        before = {*threading.enumerate()}
        with watch(to=endpoint.url), openai.OpenAI(api_key="k", max_retries=0) as client:
            client.chat.completions.create(model="m", messages=QUESTION)
        for serves in {*threading.enumerate()} - before:  # one for each connection
            serves.join(5)
            assert not serves.is_alive()


def test_an_endpoint_can_be_broken_too():
    body = {"id": "a", "choices": [{"message": ASKS, "finish_reason": "tool_calls"}], "model": "m-1"}
    with (
        serving(body) as endpoint,
        watch(to=endpoint.url, faults={"http_429": 1.0}, times=1) as seen,
        pytest.raises(openai.RateLimitError),
    ):
        openai.OpenAI(api_key="k", max_retries=0).chat.completions.create(model="m", messages=QUESTION)
    assert seen.traces[0].fault is not None
    assert seen.traces[0].fault.name == "http_429"


@pytest.mark.parametrize(
    "given", [{"live": True}, {"edit": Edit(1, 1, ASKS)}, {"to": Scripted(["Hi"]), "replay": "there"}]
)
def test_what_has_no_part_in_it_is_refused(given):
    with pytest.raises(InvalidInput):
        watch(**given)


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="not empty"):
        watch(to=Scripted(["Hi"]), folder=tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_turn_that_is_not_there_cannot_be_edited(tmp_path):
    with watch(to=Scripted(["Hello"]), folder=tmp_path):
        openai.OpenAI().chat.completions.create(model="m", messages=QUESTION)
    with pytest.raises(InvalidInput, match="no turn 2"):
        watch(replay=tmp_path, edit=Edit(1, 2, ASKS))


def test_a_program_that_asks_again_gets_through():
    with watch(to=Scripted(["Hello"]), faults=["http_500"], times=1) as seen:
        said = openai.OpenAI(max_retries=2).chat.completions.create(model="m", messages=QUESTION)
    assert said.choices[0].message.content == "Hello"
    assert [*seen.failures[0]] == [1]
    assert seen.traces[0].answer == "Hello"


def test_each_attempt_is_drawn_anew():
    with watch(to=Scripted(["Hello"] * 20), faults={"http_500": 0.5}, seed=1) as seen:
        for _ in range(20):
            with suppress(openai.InternalServerError):
                openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=QUESTION)
    refused = sum(map(len, seen.failures))
    assert 3 < refused < 17


def made(folder: Path) -> str:
    return Recording(folder / "recording.jsonl").header.made


def test_what_was_broken_or_edited_is_not_kept_as_what_a_model_said(tmp_path):
    body = {"id": "a", "choices": [{"message": {"role": "assistant", "content": "Hello"}}], "model": "m-1"}

    def ask() -> None:
        openai.OpenAI(api_key="k", max_retries=0).chat.completions.create(model="m", messages=QUESTION)

    with serving(body) as endpoint:
        address = endpoint.url.replace("//", "//ada:lovelace-1815@")
        with watch(to=address, folder=tmp_path / "plain"):
            ask()
        with watch(to=endpoint.url, folder=tmp_path / "broken", faults=["markup_in_text"]):
            ask()
        edit = Edit(1, 1, {"role": "assistant", "content": "Goodbye"})
        for number, more in enumerate([{}, {"live": True, "to": endpoint.url}]):
            with watch(replay=tmp_path / "plain", edit=edit, folder=tmp_path / f"edited-{number}", **more):
                ask()
    found = [made(tmp_path / name) for name in ("plain", "broken", "edited-0", "edited-1")]
    assert found == ["recorded", "authored", "authored", "authored"]
    assert "lovelace" not in (tmp_path / "plain" / "recording.jsonl").read_text(encoding="utf-8")


def half_a_stream(message: dict[str, Any]) -> Answer:
    """A stream of Chat Completions that breaks off before it says how the reply ended."""
    pieces = [{"role": "assistant", "content": None}, message]
    events = [{"id": "a", "choices": [{"index": 0, "delta": piece}]} for piece in pieces]
    return Answer("".join(f"data: {json.dumps(event)}\n\n" for event in events), drop=True)


#: What clients raise, by their version.
BREAKS = "Connection error|incomplete chunked read"
PART_OF_A_CALL = {"index": 0, "id": "c", "function": {"name": "add", "arguments": '{"a": 1'}}


@pytest.mark.parametrize("message", [{"content": "It is 1"}, {"tool_calls": [PART_OF_A_CALL]}])
def test_a_stream_that_breaks_off_is_told_recorded_and_replayed_so(tmp_path, message):
    def ask() -> None:
        client = openai.OpenAI(api_key="k", max_retries=0)
        for _ in client.chat.completions.create(model="m", messages=QUESTION, stream=True):
            pass

    folder = tmp_path / "a"
    with (
        serving(half_a_stream(message)) as endpoint,
        watch(to=endpoint.url, folder=folder) as seen,
        pytest.raises(Exception, match=BREAKS),
    ):
        ask()
    (trace,) = seen.traces
    assert (trace.outcome, trace.turns[0].reply.end) == ("cut", "cut")
    assert seen.failures == [{1: "the answer broke off"}]
    (line,) = Recording(folder / "recording.jsonl")._entries.values()
    assert line["response"]["choices"][0]["finish_reason"] == "incomplete"
    with watch(replay=folder) as again, pytest.raises(Exception, match=BREAKS):
        ask()
    assert again.traces[0].outcome == "cut"
    assert again.traces[0].turns[0].reply.message == trace.turns[0].reply.message


def test_a_program_that_asks_again_after_a_broken_stream_goes_on_with_its_conversation():
    whole = {"id": "a", "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is 100."}}]}
    half = half_a_stream({"content": "It is 1"})
    with serving(half, Answer(whole)) as endpoint, watch(to=endpoint.url) as seen:
        client = openai.OpenAI(api_key="k", max_retries=0)
        with pytest.raises(Exception, match=BREAKS):
            list(client.chat.completions.create(model="m", messages=QUESTION, stream=True))
        client.chat.completions.create(model="m", messages=QUESTION)
    (trace,) = seen.traces
    assert (trace.outcome, trace.answer, len(trace.turns)) == ("answer", "It is 100.", 2)
