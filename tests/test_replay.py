"""A recording answers what it was asked, through the real client, and keeps no secret."""

from __future__ import annotations

import gzip
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from server import Answer, call, calling, completion, refused_url, serving

import zoolab
from zoolab import Replay, Scripted, Trace, model_for, walk
from zoolab.errors import InvalidInput, ModelError, ReplayMiss
from zoolab.jsontext import encode
from zoolab.models.openai import OpenAIModel
from zoolab.models.recording import Recording
from zoolab.models.transport import http_library
from zoolab.records import Request
from zoolab.toolbox.starter import starter_tools

KEY = "sk-proj-" + "Zq81TestTestTestTest9xW"
PASSWORD = "Tr0ub4dor-and-3"
TOOLS = starter_tools("add", "get_weather")
HELLO = Request([{"role": "user", "content": "Hello"}], tuple(TOOLS.schemas()), settings={"seed": 1})


def recorded(path: Path, *replies: Any, request: Request = HELLO) -> Replay:
    replay = Replay(path, live=Scripted(replies))
    replay(request)
    return Replay(path)


def live_at(url: str, key: str = KEY) -> OpenAIModel:
    return OpenAIModel("test", client=openai.OpenAI(base_url=url, api_key=key, max_retries=0, timeout=5))


def shuffled(value: Any) -> Any:
    """The same JSON value with the keys of its objects the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(each) for each in value] if isinstance(value, list | tuple) else value


def test_the_order_of_keys_makes_no_difference(tmp_path: Path) -> None:
    replay = recorded(tmp_path / "r.jsonl", "Hi")
    request = Request(
        shuffled(HELLO.messages), tuple(shuffled(HELLO.tools)), settings=shuffled(HELLO.settings)
    )
    assert json.dumps(request.messages) != json.dumps(HELLO.messages)
    assert replay(request).text == "Hi"


def test_streaming_makes_no_difference(tmp_path: Path) -> None:
    asks = {**calling(call("add", '{"a": 1, "b": "é\\u2028"}'), call("get_weather", "")), "content": "So:"}
    plain = recorded(tmp_path / "r.jsonl", asks)(HELLO)
    streamed = Replay(tmp_path / "r.jsonl", stream=True)(HELLO)
    assert streamed.message == plain.message == asks
    assert (plain.pieces, len(streamed.pieces) > 5) == ((), True)


@pytest.mark.parametrize("arguments", [{"a": 1}, None, "", "{broken"])
def test_streaming_makes_no_difference_to_odd_arguments(tmp_path: Path, arguments: Any) -> None:
    asks = calling({"id": "x", "type": "function", "function": {"name": "add", "arguments": arguments}})
    plain = recorded(tmp_path / "r.jsonl", asks)(HELLO)
    streamed = Replay(tmp_path / "r.jsonl", stream=True)(HELLO)
    assert zoolab.read_calls(streamed.message) == zoolab.read_calls(plain.message)


def test_how_long_a_tool_took_makes_no_difference(tmp_path: Path) -> None:
    def conversation(milliseconds: int, data: int = 3) -> Request:
        times = {
            "execution_time_ms": milliseconds,
            "data_size_bytes": 1,
            "timestamp": 1700000000 + milliseconds,
        }
        content = encode({"success": True, "data": data, "metadata": times})
        return Request([{"role": "tool", "tool_call_id": "x", "content": content}])

    replay = recorded(tmp_path / "r.jsonl", "3", request=conversation(1))
    assert replay(conversation(2)).text == "3"
    with pytest.raises(ReplayMiss):
        replay(conversation(1, data=4))


def test_a_text_that_only_ends_like_an_envelope_keeps_its_times(tmp_path):
    def conversation(milliseconds: int) -> Request:
        text = f',"metadata":{{"execution_time_ms":{milliseconds},"data_size_bytes":1,"timestamp":2}}}}'
        return Request([{"role": "tool", "tool_call_id": "x", "content": text}])

    replay = recorded(tmp_path / "r.jsonl", "3", request=conversation(1))
    with pytest.raises(ReplayMiss):
        replay(conversation(2))


CHANGES: dict[str, tuple[Request, str]] = {
    "message": (Request([{"role": "user", "content": "Bye"}], HELLO.tools, settings={"seed": 1}), "Bye"),
    "more": (Request([*HELLO.messages, {"role": "user", "content": "!"}], HELLO.tools), '"!"'),
    "role": (Request([{"role": "system", "content": "Hello"}], HELLO.tools, settings={"seed": 1}), "system"),
    "tools": (Request(HELLO.messages, HELLO.tools[:1], settings={"seed": 1}), "get_weather"),
    "choice": (Request(HELLO.messages, HELLO.tools, "required", {"seed": 1}), "required"),
    "setting": (Request(HELLO.messages, HELLO.tools, settings={"seed": 2}), '"seed": 2'),
    "new setting": (Request(HELLO.messages, HELLO.tools, settings={"seed": 1, "top_p": 1}), '"top_p": 1'),
    "model": (Request(HELLO.messages, HELLO.tools, settings={"seed": 1, "model": "other"}), "other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_question_is_a_miss_that_shows_the_change(tmp_path: Path, change: str) -> None:
    replay = recorded(tmp_path / "r.jsonl", "Hi")
    request, shown = CHANGES[change]
    with pytest.raises(ReplayMiss, match=r"r\.jsonl holds no such request among its 1") as caught:
        replay(request)
    changed = [line for line in caught.value.difference.splitlines() if line[:1] in "+-"]
    assert any(shown in line for line in changed)
    assert caught.value.difference in str(caught.value)
    assert replay(Request(HELLO.messages, HELLO.tools, settings={"seed": 1})).text == "Hi"


def test_the_nearest_request_is_compared(tmp_path: Path) -> None:
    def asking(text: str) -> Request:
        return Request([{"role": "user", "content": text}, {"role": "user", "content": text.upper()}])

    replay = Replay(tmp_path / "r.jsonl", live=Scripted(["1", "2"]))
    replay(asking("near"))
    replay(asking("far"))
    other = Request([{"role": "user", "content": "near"}, {"role": "user", "content": "else"}])
    with pytest.raises(ReplayMiss, match=r'-   "content": "NEAR",\n\+   "content": "else"') as caught:
        Replay(tmp_path / "r.jsonl")(other)
    assert "far" not in caught.value.difference


def test_what_is_missing_is_recorded_once_and_without_headers(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    asks = calling(call("add", '{"a": 42, "b": 58}'))
    with serving(completion(asks), completion("100")) as server:
        first = Trace.record(walk("42 + 58?", TOOLS, Replay(path, live=live_at(server.url))))
        again = Trace.record(walk("42 + 58?", TOOLS, Replay(path, live=live_at(server.url))))
        assert len(server.asked) == 2
        assert KEY in server.asked[0].headers["authorization"]
    offline = Trace.record(walk("42 + 58?", TOOLS, Replay(path, live=live_at(refused_url()))))
    assert (
        first.answer
        == again.answer
        == offline.answer
        == Trace.record(walk("42 + 58?", TOOLS, Replay(path))).answer
    )
    text = path.read_text(encoding="utf-8")
    assert KEY not in text
    assert "authorization" not in text.lower()
    header, *pairs = map(json.loads, text.splitlines())
    assert (header["made"], header["model"], header["settings"]) == ("recorded", "test", {"temperature": 0})
    assert [pair["answered_by"] for pair in pairs] == ["test-2026", "test-2026"]
    assert pairs[0]["response"]["choices"][0]["message"] == asks


def secret_walk(model: Any) -> Trace:
    def log_in(password: str, url: str) -> dict[str, str]:
        """Log in."""
        return {"said": f"welcome to {url}, {password[:0]}your api_key={KEY}\nbye"}

    prompt = f"My key:\n{KEY}\nLog in at https://ada:{PASSWORD}@db01/."
    return Trace.record(walk(prompt, [zoolab.tool(log_in)], model, system=f"password: {PASSWORD}"))


def test_secrets_are_taken_out_and_replay_works_with_and_without_them(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    arguments = encode({"password": PASSWORD, "url": f"https://ada:{PASSWORD}@db01/?token={KEY}"})
    answers = completion(calling(call("log_in", arguments))), completion(f"Bearer {KEY} works.", note=KEY)
    with serving(*answers) as server:
        first = secret_walk(Replay(path, live=live_at(server.url)))
        assert len(server.asked) == 2
    text = path.read_text(encoding="utf-8")
    assert KEY not in text
    assert PASSWORD not in text
    for line in text.splitlines():
        json.loads(line)
    assert secret_walk(Replay(path)).answer == first.answer == "Bearer [secret removed] works."
    assert len(Replay(path).recording) == 2


def test_a_miss_shows_no_secret(tmp_path: Path) -> None:
    replay = recorded(tmp_path / "r.jsonl", "Hi")
    with pytest.raises(ReplayMiss) as caught:
        replay(Request([{"role": "user", "content": f"{KEY} and password={PASSWORD}"}]))
    assert KEY not in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_a_failed_request_records_nothing(tmp_path: Path) -> None:
    replay = Replay(tmp_path / "r.jsonl", live=Scripted([]))
    with pytest.raises(ModelError, match="the script has no reply to request"):
        replay(HELLO)
    with serving(Answer({"error": {"message": KEY}}, 500)) as server, pytest.raises(ModelError):
        Replay(tmp_path / "live.jsonl", live=live_at(server.url))(HELLO)
    for name in ("r.jsonl", "live.jsonl"):
        assert len((tmp_path / name).read_text(encoding="utf-8").splitlines()) == 1


def test_the_client_can_be_used_by_hand(tmp_path: Path) -> None:
    replay = recorded(tmp_path / "r.jsonl", calling(call("add", '{"a":1}')))
    body = replay.body(HELLO)
    made = replay.client.chat.completions.create(**body)
    assert made.choices[0].message.tool_calls[0].function.arguments == '{"a":1}'
    chunks = list(replay.client.chat.completions.create(**body, stream=True))
    parts = [chunk.choices[0].delta.tool_calls for chunk in chunks if chunk.choices[0].delta.tool_calls]
    assert "".join(part[0].function.arguments for part in parts) == '{"a":1}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    with pytest.raises(openai.NotFoundError, match="holds no such request"):
        replay.client.chat.completions.create(model="m", messages=[])


def test_asking_again_and_client_retries_advance_nothing(tmp_path: Path) -> None:
    replay = recorded(tmp_path / "r.jsonl", "Hi")
    retrying = replay.client.with_options(max_retries=2)
    body = replay.body(HELLO)
    texts = [retrying.chat.completions.create(**body).choices[0].message.content for _ in range(3)]
    assert texts == ["Hi"] * 3
    assert replay.client.max_retries == 0


def test_eight_threads_record_a_whole_file(tmp_path: Path) -> None:
    def said(request: Request) -> str:
        return f"{len(request.tools)} {request.messages[0]['content']}" * 1000

    asked = [
        Request([{"role": "user", "content": f"\u2028 {number % 40}"}], HELLO.tools[: number % 3])
        for number in range(240)
    ]
    replay = Replay(tmp_path / "r.jsonl", live=Scripted(said))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(lambda request: replay(request).text, asked))
    finally:
        sys.setswitchinterval(interval)
    assert texts == [said(request) for request in asked]
    again = Replay(tmp_path / "r.jsonl")
    assert len(again.recording) == 120
    assert [again(request).text for request in asked] == texts


HEADER = {"recording": "zoolab", "version": 1, "made": "authored", "model": "m"}
PAIR = {"request": {"messages": [{"role": "user", "content": "x"}]}, "response": completion("y")}
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty; expected a recording"),
    "binary": (b"\xff\xfe\x00", "it is not UTF-8 text"),
    "prose": ("hello\n", "r.jsonl, line 1, is not JSON"),
    "foreign": ('{"event": "trace"}\n', "r.jsonl, line 1, is not the header of a recording"),
    "a list": ("[]\n", r"r.jsonl, line 1, is \[\]; expected an object"),
    "later version": (
        encode({**HEADER, "version": 2}),
        "line 1, is not the header of a recording; expected .*version 1",
    ),
    "maker unknown": (encode({**HEADER, "made": "guessed"}), "line 1, .*made: recorded or authored"),
    "odd settings": (encode({**HEADER, "settings": {"client": 1}}), "line 1, has the settings"),
    "settings text": (encode({**HEADER, "settings": "hot"}), "line 1, has the settings"),
    "no header": (encode(PAIR), "line 1, is not the header of a recording"),
    "cut in the middle": (f"{encode(HEADER)}\n{encode(PAIR)[:60]}\n{encode(PAIR)}\n", "line 2, is not JSON"),
    "blank line": (f"{encode(HEADER)}\n\n{encode(PAIR)}\n", "line 2, is not JSON"),
    "two in one": (f"{encode(HEADER)}\n{encode(HEADER)}\n", "line 2, is not part of a recording"),
    "no response": (f"{encode(HEADER)}\n{encode({**PAIR, 'response': {}})}", "line 2, is not part"),
    "no choices": (
        f"{encode(HEADER)}\n{encode({**PAIR, 'response': {'choices': []}})}",
        "line 2, is not part",
    ),
    "no messages": (
        f"{encode(HEADER)}\n{encode({**PAIR, 'request': {'messages': 'x'}})}",
        "line 2, is not part",
    ),
    "deep": (f"{encode(HEADER)}\n{'[' * 100_000}", "line 2, is not JSON"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("live", [None, Scripted(["Hi"])], ids=["replay", "record"])
def test_a_broken_file_is_told_by_its_line(tmp_path: Path, name: str, live: Any) -> None:
    content, told = BROKEN[name]
    path = tmp_path / "r.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if not content and live:  # a kill before the first line: it is begun
        assert Replay(path, live=live)(HELLO).text == "Hi"
        return
    with pytest.raises(InvalidInput, match=told) as caught:
        Replay(path, live=live)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_a_recording_that_was_cut_anywhere_heals_and_loses_no_line_before(tmp_path: Path) -> None:
    asked = [Request([{"role": "user", "content": f"{n} é"}]) for n in range(3)]
    path = tmp_path / "r.jsonl"

    def answer_all() -> list[str]:
        live = Replay(path, live=Scripted(["Hi é"] * 3))
        return [live(request).text for request in asked]

    answer_all()
    data = path.read_bytes()
    ends = [at for at, byte in enumerate(data) if byte == ord("\n")]
    for cut in sorted({*range(0, len(data), 13), *ends, *(end + 1 for end in ends)}):
        path.write_bytes(data[:cut])
        whole = sum(end < cut for end in ends)
        if whole > 1:
            assert len(Replay(path).recording) == whole - 1 + (cut in ends)
        assert answer_all() == ["Hi é"] * 3
        lines = path.read_bytes().splitlines(keepends=True)
        assert len(lines) == 4
        assert lines[:whole] == data.splitlines(keepends=True)[:whole]
        assert all(json.loads(line) for line in lines)


def test_a_compressed_recording_answers_and_is_never_written_to(tmp_path: Path) -> None:
    recorded(tmp_path / "r.jsonl", "Hi")(HELLO)
    data = gzip.compress((tmp_path / "r.jsonl").read_bytes())
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(data)
    assert Replay(packed)(HELLO).text == "Hi"
    other = Request([{"role": "user", "content": "Bye"}])
    with pytest.raises(InvalidInput, match=r"r\.jsonl\.gz is compressed; unpack it to add to it"):
        Replay(packed, live=Scripted(["Bye"]))(other)
    assert packed.read_bytes() == data
    for broken in (data[:-20], b"{}", data[:4] + b"\xff" * 40):
        packed.write_bytes(broken)
        with pytest.raises(InvalidInput, match=r"cannot read .*not whole"):
            Replay(packed)


def test_the_switch_record_answers_from_a_recording_and_asks_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ZOOLAB_MODEL", "test")
    with serving(completion("Hi")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = model_for("record:endpoint", tmp_path / "r.jsonl")
        assert (model(HELLO).text, model(HELLO).text, len(server.asked)) == ("Hi", "Hi", 1)
    assert Replay(tmp_path / "r.jsonl")(HELLO).text == "Hi"
    model_for("record:qwen", tmp_path / "q.jsonl")
    assert Recording(tmp_path / "q.jsonl").header.model == "qwen"
    with pytest.raises(InvalidInput, match="no local model is named 'nonsense'"):
        model_for("record:nonsense", tmp_path / "n.jsonl")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*nothing\.jsonl.*expected a recording"):
        Replay(tmp_path / "nothing.jsonl")


def test_no_hand_writes_into_what_a_model_said(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with serving(completion("Hi")) as server:
        Replay(path, live=live_at(server.url))(HELLO)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="is recorded from test, and this is Scripted, authored"):
        Replay(path, live=Scripted(["I am the model."]))
    assert path.read_bytes() == before


def test_the_transport_is_that_of_the_installed_client() -> None:
    assert issubclass(openai.DefaultHttpxClient, http_library().Client)
    assert isinstance(Replay("starter").client, openai.OpenAI)
