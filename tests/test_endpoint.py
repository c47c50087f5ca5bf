"""The strict endpoint: whole cases, rules that refuse what servers refuse, and right verdicts."""

from __future__ import annotations

import dataclasses
import http.client
import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.datasets.reports import reports_made_again
from zoolab.commands.cli import run_command as command
from zoolab.errors import InvalidInput
from zoolab_connect.endpoint import Endpoint, ReportedCase, all_cases, endpoint, find_cases
from zoolab_connect.endpoint.cases import APIS, all_tools
from zoolab_connect.endpoint.judging import RESULTS, judge, marker
from zoolab_connect.endpoint.playing import MAX_REQUESTS, Play, events
from zoolab_connect.endpoint.server import MAX_BYTES
from zoolab_connect.endpoint.strict import RULES, broken_rule, rejected
from zoolab_study.datasets.loading import rows_of

LOOP = str(Path(__file__).parent / "programs" / "endpoint_loop.py")
CASES = all_cases()


def call(id: Any = "call_a01", name: Any = "get_time", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: Any, content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}


def result(id: str = "call_a01", text: str = "ran get_time()") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def post(server: Endpoint, path: str, body: Any, **headers: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    place = urlsplit(server.root)
    connection = http.client.HTTPConnection(str(place.hostname), int(place.port or 0))
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


# The cases


def test_the_cases_cover_every_api_and_every_rule() -> None:
    assert len(CASES) >= 70
    assert {case.api for case in CASES.values()} == set(APIS)
    assert {rule for case in CASES.values() for rule in case.refuses} == set(RULES)
    assert {end for case in CASES.values() for end in case.ends} == {
        *("answered", "calls", "cut", "filtered", "failed", "empty")
    }


def test_the_data_set_would_be_made_so_again() -> None:
    assert reports_made_again() == list(rows_of("endpoint-reports"))


@pytest.mark.parametrize("id", CASES)
def test_every_case_is_well_formed(id: str) -> None:
    case = CASES[id]
    assert id.startswith(f"{case.api}-")
    assert re.fullmatch("[a-z-]+", id)
    assert case.source
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+( #\d+,?)+", each) for each in case.source)
    assert (case.made, case.day) == ("authored", "2026-11-27")
    assert case.happened.endswith(".")
    assert case.must.endswith(".")
    assert set(case.tools) <= set(all_tools())
    assert {each["name"] for each in (*case.must_run, *case.must_not_run)} <= set(case.tools)
    assert case.ends[-1] == "answered"
    assert not case.must_not_run or case.ends[0] in ("cut", "filtered", "empty")
    for reply in case.streamed:
        assert isinstance(reply, dict) or all(events(case.api, reply))


def test_tools_return_what_the_verdict_reads() -> None:
    told = all_tools()["get_weather"]["returns"].format(city="Oslo", days=2)
    assert told == "ran " + marker({"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}})


def test_cases_are_found_by_id_api_and_kind() -> None:
    assert [case.id for case in find_cases(["chat-cut-blank", "chat-cut-blank"])] == ["chat-cut-blank"]
    assert {case.api for case in find_cases(["ollama"])} == {"ollama"}
    assert len(find_cases()) == len(CASES)
    with pytest.raises(InvalidInput, match='no case is named "x"; expected a case or an API'):
        find_cases(["x"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"api": "soap"}, "has an unknown API or end"),
        ({"ends": ["lost", "answered"]}, "has an unknown API or end"),
        ({"plain": []}, "not as many as ends"),
        ({"plain": [], "streamed": [], "ends": []}, "has no replies"),
        ({"refuses": ["smoke"]}, "has the unknown rule .smoke"),
    ],
)
def test_a_case_of_your_own_is_checked(change: dict[str, Any], said: str) -> None:
    row = dataclasses.asdict(CASES["chat-cut-blank"]) | change
    with pytest.raises(InvalidInput, match=said), endpoint(row):
        pass


# What strict servers refuse

GEMINI_CALL = {"functionCall": {"name": "get_time", "args": {}}}
GEMINI_RESULT = {"functionResponse": {"name": "get_time", "response": {"output": "noon"}}}
THINKING = [
    {"type": "thinking", "thinking": "a", "signature": "S1"},
    {"type": "tool_use", "id": "t1", "name": "get_time", "input": {}},
    {"type": "thinking", "thinking": "b", "signature": "S2"},
    {"type": "tool_use", "id": "t2", "name": "get_time", "input": {}},
]
ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "get_time", "arguments": "{}"},
]


def blocks(*content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": list(content)}]}


@pytest.mark.parametrize(
    ("rule", "api", "body", "said", "refused"),
    [
        ("arguments", "chat", {"messages": [asks(call())]}, [], False),
        ("arguments", "chat", {"messages": [asks(call(arguments=""))]}, [], True),
        ("arguments", "chat", {"messages": [asks(call(arguments="[1]"))]}, [], True),
        ("arguments", "chat", {"messages": [asks(call(arguments={}))]}, [], True),
        ("arguments", "chat", {"messages": [asks(call(arguments="[" * 100_000))]}, [], True),
        ("arguments", "ollama", {"messages": [asks(call(arguments={}))]}, [], False),
        ("arguments", "ollama", {"messages": [asks(call(arguments="{}"))]}, [], True),
        ("arguments", "anthropic", blocks(THINKING[1]), [], False),
        ("arguments", "anthropic", blocks({**THINKING[1], "input": "{}"}), [], True),
        ("arguments", "responses", {"input": ITEMS}, [], False),
        ("arguments", "responses", {"input": [{**ITEMS[1], "arguments": "{"}]}, [], True),
        ("arguments", "gemini", {"contents": [{"role": "model", "parts": [GEMINI_CALL]}]}, [], False),
        ("names", "chat", {"messages": [asks(call(name="get_time"))]}, [], False),
        ("names", "chat", {"messages": [asks(call(name=""))]}, [], True),
        ("names", "chat", {"messages": [asks(call(name=None))]}, [], True),
        ("ids", "chat", {"messages": [asks(call("a"), call("b"))]}, [], False),
        ("ids", "chat", {"messages": [asks(call("a"), call("a"))]}, [], True),
        ("ids", "chat", {"messages": [asks(call("a")), asks(call("a"))]}, [], False),
        ("ids", "chat", {"messages": [asks(call(None))]}, [], True),
        ("ids", "anthropic", {"messages": blocks(THINKING[1])["messages"] * 2}, [], True),
        ("ids_of_nine", "chat", {"messages": [asks(call("abcDEF123")), result("abcDEF123")]}, [], False),
        ("ids_of_nine", "chat", {"messages": [asks(call("call_1"))]}, [], True),
        ("ids_of_nine", "chat", {"messages": [asks(call("abcDEF123")), result("call_1")]}, [], True),
        ("pairs", "chat", {"messages": [asks(call()), result()]}, [], False),
        ("pairs", "chat", {"messages": [asks(call("a"), call("b")), result("b"), result("a")]}, [], False),
        ("pairs", "chat", {"messages": [asks(call())]}, [], True),
        ("pairs", "chat", {"messages": [asks(call()), {"role": "user", "content": "x"}, result()]}, [], True),
        ("pairs", "chat", {"messages": [result()]}, [], True),
        ("pairs", "chat", {"messages": [asks(call()), result(), result()]}, [], True),
        ("pairs", "responses", {"input": [ITEMS[1]]}, [], True),
        (
            "pairs",
            "responses",
            {"input": [{"type": "function_call_output", "call_id": "c1"}], "previous_response_id": "r"},
            [],
            False,
        ),
        ("pairs", "responses", {"input": [{"type": "function_call_output", "call_id": "c1"}]}, [], True),
        (
            "pairs",
            "gemini",
            {
                "contents": [
                    {"role": "model", "parts": [GEMINI_CALL, GEMINI_CALL]},
                    {"role": "user", "parts": [GEMINI_RESULT]},
                ]
            },
            [],
            True,
        ),
        (
            "pairs",
            "gemini",
            {
                "contents": [
                    {"role": "model", "parts": [GEMINI_CALL]},
                    {"role": "user", "parts": [GEMINI_RESULT]},
                ]
            },
            [],
            False,
        ),
        ("empty", "chat", {"messages": [asks(content="Hi")]}, [], False),
        ("empty", "chat", {"messages": [asks(content=" ")]}, [], True),
        ("empty", "chat", {"messages": [asks(call())]}, [], False),
        ("empty", "anthropic", blocks({"type": "text", "text": ""}, THINKING[1]), [], True),
        ("empty", "anthropic", blocks(), [], True),
        ("empty", "gemini", {"contents": [{"role": "model", "parts": []}]}, [], True),
        ("thinking", "anthropic", blocks(*THINKING), [{"content": THINKING}], False),
        ("thinking", "anthropic", blocks(THINKING[0], THINKING[2]), [{"content": THINKING}], False),
        (
            "thinking",
            "anthropic",
            blocks(*sorted(THINKING, key=lambda block: block["type"])),
            [{"content": THINKING}],
            True,
        ),
        ("thinking", "anthropic", blocks(THINKING[1]), [{"content": THINKING}], True),
        ("reasoning", "responses", {"input": ITEMS}, [{"output": ITEMS}], False),
        ("reasoning", "responses", {"input": ITEMS[1:]}, [{"output": ITEMS}], True),
        ("reasoning", "responses", {"input": ITEMS[::-1]}, [{"output": ITEMS}], True),
    ],
)
def test_what_strict_servers_refuse(rule: str, api: str, body: Any, said: Any, refused: bool) -> None:
    assert (broken_rule([rule], api, body, said) is not None) == refused


@pytest.mark.parametrize(
    ("setting", "when", "body", "met"),
    [
        ("temperature", "always", {"temperature": 0}, True),
        ("temperature", "always", {"temperature": None}, False),
        ("x", "beside tools", {"x": 1, "tools": [1]}, True),
        ("x", "beside tools", {"x": 1, "tools": []}, False),
        ("x", "without tools", {"x": 1}, True),
        ("generationConfig.topK", "always", {"generationConfig": {"topK": 1}}, True),
        ("generationConfig.topK", "always", {"generationConfig": 1}, False),
    ],
)
def test_settings_are_rejected_where_a_server_rejects_them(
    setting: str, when: str, body: Any, met: bool
) -> None:
    rule = {"setting": setting, "when": when, "status": 400, "body": {}}
    assert (rejected([rule], body) is rule) == met


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "messages",
                        "input",
                        "contents",
                        "parts",
                        "content",
                        "role",
                        "type",
                        "text",
                        "id",
                        "args",
                    ),
                    *(
                        "tool_calls",
                        "function",
                        "name",
                        "arguments",
                        "call_id",
                        "functionCall",
                        "tool_call_id",
                    ),
                    *("functionResponse", "tools", "previous_response_id", "output", "signature"),
                ]
            ),
            inner | st.sampled_from(["assistant", "tool", "model", "user", "tool_use", "function_call"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(CASES)), st.lists(st.dictionaries(st.text(max_size=8), odd) | odd, max_size=3))
def test_whatever_a_program_sends_it_gets_an_answer_and_a_verdict(id: str, bodies: list[Any]) -> None:
    play = Play(CASES[id])
    for body in bodies:
        if isinstance(body, dict):
            assert 200 <= play.answer(body, streamed=False).status < 500
    assert judge(play, ended_well=True).result in RESULTS


# The server


def test_each_reply_comes_in_turn_and_the_last_one_stays() -> None:
    with endpoint("chat-cut-blank") as server:
        path = "/chat-cut-blank/v1/chat/completions"
        said = [json.loads(post(server, path, {"messages": []})[1]) for _ in range(3)]
        ends = [each["choices"][0]["finish_reason"] for each in said]
        assert ends == ["length", "stop", "stop"]
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("case", "path", "body", "begins"),
    [
        ("chat-cut-blank", "/v1/chat/completions", {"stream": True}, 'data: {"id":"c1"'),
        ("responses-failed", "/v1/responses", {"stream": True}, "event: response.created\ndata: {"),
        ("anthropic-refusal", "/v1/messages", {"stream": True}, "event: message_start\ndata: {"),
        ("gemini-safety", "/v1beta/models/m:streamGenerateContent?alt=sse", {}, "data: {"),
        ("ollama-length", "/api/chat", {}, '{"model":"any"'),
        ("ollama-length", "/api/chat", {"stream": False}, '{"model":"any"'),
    ],
)
def test_each_api_has_its_address_and_its_stream(case: str, path: str, body: Any, begins: str) -> None:
    with endpoint(case) as server:
        status, text = post(server, f"/{case}{path}", body)
        verdict = server.verdict()
    assert (status, text[: len(begins)]) == (200, begins)
    assert verdict.streamed == ("stream" not in body or body["stream"])


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/chat-cut-blank/chat/completions", {}, {}, 404),
        ("/chat-cut-blank/v1/responses", {}, {}, 404),
        ("/no-such/v1/chat/completions", {}, {}, 404),
        ("/../../etc/passwd", {}, {}, 404),
        ("/%2e%2e/v1/chat/completions", {}, {}, 404),
        ("/chat-cut-blank/v1/chat/completions", b"{", {}, 400),
        ("/chat-cut-blank/v1/chat/completions", b"[" * 100_000, {}, 400),
        ("/chat-cut-blank/v1/chat/completions", [1], {}, 400),
        ("/chat-cut-blank/v1/chat/completions", {}, {"Host": "example.org"}, 403),
        ("/chat-cut-blank/v1/chat/completions", {}, {"Origin": "http://example.org"}, 403),
        ("/chat-cut-blank/v1/chat/completions", b"", {"Content-Length": str(MAX_BYTES + 1)}, 413),
        ("/chat-cut-blank/v1/chat/completions", b"", {"Content-Length": "-1"}, 411),
    ],
)
def test_the_server_takes_no_more_than_it_must(path: str, body: Any, headers: Any, status: int) -> None:
    with endpoint("chat-cut-blank") as server:
        assert post(server, path, body, **headers)[0] == status
        assert server.requests == []


def test_a_program_at_another_address_is_told_so_in_the_verdict() -> None:
    with endpoint("chat-cut-blank") as server:
        post(server, "/chat-cut-blank/chat/completions", {})
        assert server.verdict().why == "no request came; asked at /chat-cut-blank/chat/completions"


def test_requests_are_bounded_in_number() -> None:
    play = Play(CASES["chat-cut-blank"])
    answers = [play.answer({"messages": []}, streamed=False).status for _ in range(MAX_REQUESTS + 1)]
    assert (answers[-2:], len(play.requests)) == ([200, 429], MAX_REQUESTS)


def test_several_cases_have_addresses_of_their_own() -> None:
    with endpoint("chat-text-cut", "gemini-safety") as server:
        post(server, "/gemini-safety/v1beta/models/m:generateContent", {})
        assert [verdict.case for verdict in server.verdicts()] == ["gemini-safety"]
        assert server.url.endswith("/chat-text-cut")


def test_a_port_that_is_taken_is_one_line() -> None:
    with (
        endpoint("chat-text-cut") as server,
        pytest.raises(InvalidInput, match="cannot serve at port"),
        endpoint("chat-text-cut", port=int(server.root.rpartition(":")[2])),
    ):
        pass


# The verdicts

ASKED = {"role": "user", "content": "x"}
PATH = {"content": "ran cleanup(path=/data, older_than_days=0)"}


@pytest.mark.parametrize(
    ("case", "requests", "ended_well", "verdict"),
    [
        ("chat-cut-blank", [], None, "gave_up"),
        ("chat-cut-blank", [[]], False, "did_right"),
        ("chat-cut-blank", [[]], True, "took_a_failed_end_for_an_answer"),
        ("chat-cut-blank", [[], [asks(call(name="cleanup")), result() | PATH]], True, "ran_a_cut_call"),
        (
            "chat-cut-blank",
            [[], [asks(call(name="cleanup", arguments="")), result() | PATH]],
            True,
            "ran_a_cut_call",
        ),
        ("chat-cut-blank", [[], [asks(call(name="cleanup")), result(text="error: cut")]], True, "did_right"),
        ("chat-cut-blank", [[], [ASKED]], True, "did_right"),
        ("chat-cut-blank", [[], [ASKED]], False, "gave_up"),
        ("chat-blank-arguments", [[]], True, "lost_a_field"),
        ("chat-blank-arguments", [[]], None, "gave_up"),
        ("chat-blank-arguments", [[], [asks(call()), result()]], True, "did_right"),
        ("chat-blank-arguments", [[], [asks(call()), result(text="no")]], True, "lost_a_field"),
        (
            "chat-blank-arguments",
            [[], [asks(call(arguments="")), result()]],
            False,
            "sent_back_what_strict_servers_refuse",
        ),
        ("chat-reasoning-content", [[], [asks(call()), result()]], False, "lost_a_field"),
        ("chat-content-in-parts", [[], [asks(call(), content="it up."), result()]], True, "lost_a_field"),
        ("chat-empty-turn", [[], [asks(content="")]], True, "sent_back_what_strict_servers_refuse"),
        ("chat-empty-turn", [[], []], True, "did_right"),
    ],
)
def test_what_a_program_did_is_seen_in_its_requests(
    case: str, requests: Any, ended_well: bool | None, verdict: str
) -> None:
    play = Play(CASES[case])
    for messages in requests:
        play.answer({"messages": messages}, streamed=False)
    assert judge(play, ended_well).result == verdict


def test_a_call_that_ran_twice_or_with_other_arguments_is_not_the_same() -> None:
    play = Play(CASES["chat-one-index"])
    play.answer({"messages": []}, streamed=True)
    ran = [
        result("a", "ran get_weather(city=Oslo, days=1)"),
        result("b", "ran get_weather(city=Roma, days=1)"),
    ]
    play.answer({"messages": [asks(call("a"), call("b")), *ran]}, streamed=True)
    assert judge(play).why == "get_weather(city=Rome, days=1) did not run"


def test_what_the_offered_tools_say_of_their_results_is_no_result() -> None:
    play = Play(CASES["chat-cut-blank"])
    play.answer({"messages": [], "tools": [all_tools()[name] for name in play.case.tools]}, streamed=False)
    assert "ran cleanup" in json.dumps(play.requests)
    assert judge(play, ended_well=False).ok


def test_a_rejected_setting_is_right_once_the_program_asks_without_it() -> None:
    play = Play(CASES["chat-rejected-by-groq"])
    assert play.answer({"reasoning_effort": "low"}, streamed=False).status == 400
    assert judge(play).why == "after reasoning_effort was rejected"
    assert play.answer({}, streamed=False).status == 200
    assert judge(play, ended_well=True).ok


# Programs


def test_the_anthropic_client_sends_back_what_came() -> None:
    anthropic = pytest.importorskip("anthropic")
    for id in ("anthropic-thinking-between-calls", "anthropic-thinking-is-kept"):
        with endpoint(id) as server:
            client = anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0)
            asked: list[Any] = [{"role": "user", "content": CASES[id].prompt}]
            given: Any = {"model": "any", "max_tokens": 100}
            with client.messages.stream(messages=asked, **given) as stream:
                message = stream.get_final_message()
            texts = {"get_weather": "ran get_weather(city=Oslo, days=1)", "get_time": "ran get_time()"}
            used = [block for block in message.content if block.type == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": texts[block.name]}
                for block in used
            ]
            asked += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
            client.messages.create(messages=asked, **given)
            assert str(server.verdict(ended_well=True)) == f"+ {id}: did right"


@pytest.mark.parametrize("id", ["responses-reasoning-between-calls", "responses-reasoning-is-kept"])
def test_the_openai_client_sends_back_what_came(id: str) -> None:
    with endpoint(id) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        asked: list[Any] = [{"role": "user", "content": CASES[id].prompt}]
        with client.responses.stream(model="any", input=asked) as stream:
            items = stream.get_final_response().output
        texts = {"get_weather": "ran get_weather(city=Oslo, days=1)", "get_time": "ran get_time()"}
        asked += [item.to_dict() for item in items]
        asked += [
            {"type": "function_call_output", "call_id": item.call_id, "output": texts[item.name]}
            for item in items
            if item.type == "function_call"
        ]
        client.responses.create(model="any", input=asked)
        assert str(server.verdict(ended_well=True)) == f"+ {id}: did right"


def judged(*words: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the verdicts of the command, in a process of its own."""
    line = [sys.executable, "-P", "-m", "zoolab", "endpoint", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(each) for each in done.stdout.splitlines()]


def test_the_command_judges_a_right_program() -> None:
    ids = ["chat-cut-blank", "chat-second-choice", "chat-broken-arguments", "chat-same-ids"]
    ids += ["chat-thought-signature", "chat-schema-beside-tools", "chat-failed-generation"]
    code, verdicts = judged(*ids, "--json", "--", sys.executable, LOOP)
    assert [verdict["result"] for verdict in verdicts] == ["did_right"] * len(ids)
    assert (code, [verdict["case"] for verdict in verdicts]) == (0, ids)


@pytest.mark.parametrize(
    ("how", "case", "expected"),
    [
        ("careless", "chat-cut-blank", "ran_a_cut_call"),
        ("forgetful", "chat-reasoning-content", "lost_a_field"),
        ("raw", "chat-broken-arguments", "sent_back_what_strict_servers_refuse"),
        ("quitter", "chat-blank-arguments", "lost_a_field"),
        ("cheerful", "chat-text-cut", "took_a_failed_end_for_an_answer"),
        ("right", "gemini-safety", "gave_up"),
    ],
)
def test_the_command_judges_a_wrong_program(how: str, case: str, expected: str) -> None:
    code, verdicts = judged(case, "--json", "--", sys.executable, LOOP, how)
    assert (code, [verdict["result"] for verdict in verdicts]) == (1, [expected])


def test_words_of_the_command_are_filled_in(capfd: pytest.CaptureFixture[str]) -> None:
    told = "import sys; print(*sys.argv[1:], sep='\\n')"
    words = ["{api}", "{url}", "{prompt}"]
    assert command(["endpoint", "chat-text-cut", "--", sys.executable, "-c", told, *words]) == 1
    out, err = capfd.readouterr()
    assert re.match(r"chat\nhttp://127.0.0.1:\d+/chat-text-cut/v1\nPlease clean up the data folder.\n", err)
    assert out.splitlines()[0] == "x chat-text-cut: gave up (no request came)"
    assert out.splitlines()[-1] == "x   1 gave up: the program stopped before the end, or never asked"


def test_a_program_that_does_not_end_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    waits = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    assert command(["endpoint", "chat-text-cut", "--seconds", "0.1", "--", *waits]) == 1
    assert "gave up" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense", "--", "true"], 'no case is named "nonsense"'),
        (["chat-text-cut", "--", "no-such-program"], 'cannot start "no-such-program"'),
        (["chat-text-cut", "--port", "99999999"], "cannot serve at port 99999999"),
    ],
)
def test_what_cannot_run_is_one_line(words: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(["endpoint", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert said in err


def test_the_list_of_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["endpoint", "--list", "gemini"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(find_cases(["gemini"]))
    assert lines[0].split()[0] == "gemini-max-tokens"


def test_without_a_program_it_serves_until_it_is_stopped() -> None:
    line = [sys.executable, "-P", "-m", "zoolab", "endpoint", "ollama-length"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        assert served.stdout is not None
        place = urlsplit(served.stderr.readline().split()[-1])
        served.stderr.readline()
        connection = http.client.HTTPConnection(str(place.hostname), int(place.port or 0))
        connection.request("POST", f"{place.path}/api/chat", b"{}")
        assert connection.getresponse().status == 200
        connection.close()
        served.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            served.wait(120)
        served.kill()  # only if it did not hear Ctrl-C
        assert served.stdout.readline() == "+ ollama-length: did right\n"
        assert served.wait() == 0


def test_it_may_be_stopped_as_soon_as_it_has_said_an_address() -> None:
    line = [sys.executable, "-P", "-m", "zoolab", "endpoint"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        served.stderr.readline()
        served.send_signal(signal.SIGINT)
        _, said = served.communicate(timeout=120)
    assert "interrupted" not in said


def test_a_case_of_your_own() -> None:
    row = dataclasses.asdict(CASES["chat-text-cut"]) | {"id": "mine"}
    with endpoint(row, ReportedCase.of(row | {"id": "other"})) as server:
        assert list(server.plays) == ["mine", "other"]
