"""Models of zoolab behind the official clients: plain and streamed, with errors, faults and many at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import openai
import pytest
from server import answered_by

from zoolab import Faulty, Replay, Scripted
from zoolab.errors import InvalidInput, ModelError
from zoolab.records import Model, Reply, Request
from zoolab_connect.proxy.answering import MAX_KEPT, AnsweredBy
from zoolab_connect.proxy.exchange import HttpRequest, HttpResponse

Body = dict[str, Any]
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
}
NAMES = sorted(PATHS)
QUESTION = "What is 1 + 2?"
CALL = [("add", {"a": 1, "b": 2})]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
SCHEMA["required"] = ["a", "b"]
ADD = {"name": "add", "description": "Add two integers."}
TOOLS: dict[str, list[Any]] = {
    "openai": [{"type": "function", "function": {**ADD, "parameters": SCHEMA}}],
    "responses": [{"type": "function", **ADD, "parameters": SCHEMA, "strict": False}],
    "anthropic": [{**ADD, "input_schema": SCHEMA}],
}


def post(upstream: AnsweredBy, api: str, body: Body, path: str = "") -> HttpResponse:
    content = json.dumps(body).encode()
    return upstream(HttpRequest("POST", path or PATHS[api], {}, content))


def body_of(response: HttpResponse) -> Body:
    answered: Body = json.loads(b"".join(response.content))
    return answered


def asking(api: str, text: str = QUESTION, **more: Any) -> Body:
    field = "input" if api == "responses" else "messages"
    limit = {"max_tokens": 99} if api == "anthropic" else {}
    return {"model": "some-model", field: [{"role": "user", "content": text}], **limit, **more}


def openai_at(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def anthropic_at(url: str) -> Any:
    return pytest.importorskip("anthropic").Anthropic(base_url=url, api_key="none", max_retries=0)


def asked_plainly(api: str, url: str, **more: Any) -> Any:
    """What the official client makes of a whole answer."""
    more = {**asking(api), **more}
    if api == "openai":
        return openai_at(url).chat.completions.create(**more)
    return (
        openai_at(url).responses.create(**more)
        if api == "responses"
        else anthropic_at(url).messages.create(**more)
    )


def asked_streaming(api: str, url: str, **more: Any) -> Any:
    """What the official client makes of a stream, put together by its own code."""
    more = {**asking(api), **more}
    if api == "openai":
        usage = {"stream_options": {"include_usage": True}}
        with openai_at(url).chat.completions.stream(**more, **usage) as stream:
            return stream.get_final_completion()
    if api == "responses":
        with openai_at(url).responses.stream(**more) as events:
            return events.get_final_response()
    with anthropic_at(url).messages.stream(**more) as messages:
        return messages.get_final_message()


def told(answer: Any) -> Body:
    """The answer as JSON, without what is its own: ids and times, and what clients add for their parsers."""
    own = {
        "id",
        "created",
        "created_at",
        "parsed",
        "parsed_arguments",
        "output_parsed",
        "parsed_output",
        "index",
    }

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items() if key not in own and inner is not None}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    found: Body = plain(answer.model_dump(mode="json", warnings=False))
    return found


SAID = [
    "It is 3.",
    CALL,
    {"content": "Let me see: é 東京.", "tool_calls": [
        {"id": f"c{n}", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        for n in range(2)
    ]},
]  # fmt: skip


@pytest.mark.parametrize("said", SAID, ids=["text", "call", "both"])
@pytest.mark.parametrize("api", NAMES)
def test_the_official_client_reads_the_same_plain_and_streamed(api: str, said: Any) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    whole = Scripted([said])(Request([])).message
    with answered_by(AnsweredBy(lambda _: Reply(whole, usage=usage))) as url:
        plain = asked_plainly(api, url, tools=TOOLS[api])
        streamed = asked_streaming(api, url, tools=TOOLS[api])
    assert told(plain) == told(streamed)
    assert plain.model == "some-model"
    assert plain.usage.model_dump()["prompt_tokens" if api == "openai" else "input_tokens"] == 9
    assert plain.id != streamed.id
    assert "add" in str(plain) or said == "It is 3."


@pytest.mark.parametrize("api", NAMES)
def test_a_model_gets_messages_tools_and_settings(api: str) -> None:
    asked: list[Request] = []

    def model(request: Request) -> Reply:
        asked.append(request)
        return Reply({"role": "assistant", "content": "3"})

    post(
        AnsweredBy(model),
        api,
        asking(api, tools=TOOLS[api], temperature=0.5, stream=True, new_field={"x": 1}),
    )
    (request,) = asked
    assert request.messages == [{"role": "user", "content": QUESTION}]
    assert request.tools[0]["function"]["name"] == "add"
    assert request.settings["temperature"] == 0.5
    assert request.settings["new_field"] == {"x": 1}
    assert "stream" not in request.settings


def test_a_models_own_name_wins_over_the_programs() -> None:
    """An endpoint or a recording knows its model under one name, whatever the program calls it."""

    class Named:
        model = "own-name"

        def __call__(self, request: Request) -> Reply:
            assert "model" not in request.settings
            return Reply({"role": "assistant", "content": "3"}, model=self.model)

    assert body_of(post(AnsweredBy(Named()), "openai", asking("openai")))["model"] == "some-model"


def test_usage_is_streamed_only_if_the_program_asks_for_it() -> None:
    reply = Reply({"role": "assistant", "content": "3"}, usage={"prompt_tokens": 9, "completion_tokens": 1})
    upstream = AnsweredBy(lambda _: reply)
    for options in ({}, {"stream_options": {"include_usage": True}}):
        streamed = b"".join(post(upstream, "openai", asking("openai", stream=True, **options)).content)
        assert (b'"usage"' in streamed) == bool(options)
        assert streamed.endswith(b"data: [DONE]\n\n")


def test_a_recording_answers_the_client(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    body = asking("openai", tools=TOOLS["openai"])
    stored = {**body, "store": True, "user": "somebody"}  # they say nothing of what is asked
    live = AnsweredBy(Replay(path, live=Scripted([CALL])))
    first = body_of(post(live, "openai", body))
    replayed = AnsweredBy(Replay(path))
    again = body_of(post(replayed, "openai", stored))
    assert again["choices"][0]["message"] == first["choices"][0]["message"]
    assert again["id"] != first["id"]
    # The same conversation in the words of another API differs in what only that API must say.
    other = body_of(post(replayed, "anthropic", asking("anthropic", tools=TOOLS["anthropic"])))
    assert other["error"]["type"] == "replay_miss"
    assert '+ "max_tokens": 99' in other["error"]["message"]


@pytest.mark.parametrize("api", NAMES)
def test_a_miss_is_a_404_that_shows_the_difference(api: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    post(AnsweredBy(Replay(path, live=Scripted(["3"]))), api, asking(api))
    response = post(AnsweredBy(Replay(path)), api, asking(api, "What is 2 + 2?"))
    error = body_of(response)["error"]
    assert (response.status, error["type"]) == (404, "replay_miss")
    assert "What is 2 + 2?" in error["message"]
    assert "What is 1 + 2?" in error["message"]


ERRORS = {401: openai.AuthenticationError, 429: openai.RateLimitError, 500: openai.InternalServerError}


@pytest.mark.parametrize("status", sorted(ERRORS))
@pytest.mark.parametrize("api", NAMES)
def test_a_status_on_purpose_is_what_the_client_meets(api: str, status: int) -> None:
    upstream = AnsweredBy(Faulty(Scripted(["3"]), [f"http_{status}"]))
    with answered_by(upstream) as url:
        wanted: Any = ERRORS[status]
        if api == "anthropic":
            wanted = getattr(pytest.importorskip("anthropic"), wanted.__name__)
        with pytest.raises(wanted) as caught:
            asked_plainly(api, url)
    (fault,) = post(upstream, api, asking(api)).faults
    assert fault.name == f"http_{status}"
    body = caught.value.response.json()
    assert (body.get("type") == "error") == (api == "anthropic")
    assert body["error"]["message"]


@pytest.mark.parametrize("api", NAMES)
def test_a_timeout_holds_the_program_and_ends_as_a_gateway_does(api: str) -> None:
    """Also in the midst of other requests."""
    library: Any = pytest.importorskip("anthropic") if api == "anthropic" else openai
    with answered_by(AnsweredBy(Faulty(Scripted(["3"]), ["timeout"]), timeout_seconds=0.2)) as url:
        with ThreadPoolExecutor(8) as pool:
            asking_at_once = [pool.submit(asked_plainly, api, url) for _ in range(8)]
        for asked in asking_at_once:
            with pytest.raises(library.InternalServerError, match="did not answer in time") as caught:
                asked.result()
            assert caught.value.status_code == 504


def test_a_program_that_waits_for_less_meets_its_own_timeout() -> None:
    upstream = AnsweredBy(Faulty(Scripted(["3"]), ["timeout"]), timeout_seconds=0.5)
    with answered_by(upstream) as url, pytest.raises(openai.APITimeoutError):
        openai_at(url).with_options(timeout=0.05).chat.completions.create(**asking("openai"))
    assert [fault.name for fault in post(upstream, "openai", asking("openai")).faults] == ["timeout"]


def read_to_the_end(api: str, url: str, seen: list[str]) -> None:
    """Add the pieces of a streamed text to `seen`, as they come."""
    if api == "openai":
        for chunk in openai_at(url).chat.completions.create(**asking(api), stream=True):
            seen.append(chunk.choices[0].delta.content or "")
    elif api == "responses":
        for event in openai_at(url).responses.create(**asking(api), stream=True):
            seen.append(event.delta if event.type == "response.output_text.delta" else "")
    else:
        with anthropic_at(url).messages.stream(**asking(api)) as stream:
            seen.extend(stream.text_stream)


@pytest.mark.parametrize("api", NAMES)
def test_a_stream_that_drops_breaks_off_half_way(api: str) -> None:
    text, seen = "One two three four five six.", list[str]()
    with answered_by(AnsweredBy(Faulty(Scripted([text] * 2), ["dropped_stream"]))) as url:
        with pytest.raises(Exception, match=r"(?i)peer|connection|incomplete|chunked"):
            read_to_the_end(api, url, seen)
        assert text.startswith("".join(seen))
        assert "".join(seen) not in ("", text)
        with pytest.raises(Exception, match=r"(?i)peer|connection|incomplete"):
            asked_plainly(api, url)


@pytest.mark.parametrize("api", NAMES)
def test_broken_arguments_reach_the_program(api: str) -> None:
    upstream = AnsweredBy(Faulty(Scripted([CALL]), ["trailing_comma"]))
    response = post(upstream, api, asking(api, tools=TOOLS[api], stream=True))
    streamed = b"".join(response.content).decode()
    texts = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
    pieces = {
        "openai": lambda event: event["choices"][0]["delta"].get("tool_calls", [{"function": {}}])[0][
            "function"
        ],
        "responses": lambda event: {"arguments": event.get("delta")},
        "anthropic": lambda event: {"arguments": event.get("delta", {}).get("partial_json")},
    }
    assert "".join(pieces[api](event).get("arguments") or "" for event in texts) == '{"a":1,"b":2,}'
    assert [fault.name for fault in response.faults] == ["trailing_comma"]


def test_other_tools_than_functions_do_not_stop_a_fault() -> None:
    tools = [{"type": "web_search"}, *TOOLS["responses"]]
    upstream = AnsweredBy(Faulty(Scripted([CALL]), ["trailing_comma", "poisoned_description"]))
    response = post(upstream, "responses", asking("responses", tools=tools))
    assert body_of(response)["output"][0]["arguments"] == '{"a":1,"b":2,}'


@pytest.mark.parametrize("api", NAMES)
def test_what_cannot_be_read_is_a_400(api: str) -> None:
    upstream = AnsweredBy(Scripted(["3"]))
    for content in (b"", b"[]", b"{", b"\xff", b'{"messages": 1, "input": 1}', b'{"a": NaN}'):
        response = upstream(HttpRequest("POST", PATHS[api], {}, content))
        error = body_of(response)["error"]
        assert (response.status, error["type"]) == (400, "invalid_request_error")
    several = post(upstream, api, asking(api, n=2))
    assert several.status == 400


@pytest.mark.parametrize("api", NAMES)
def test_a_model_that_fails_is_a_500_that_is_not_asked_again(api: str) -> None:
    def broken(_: Request) -> Reply:
        raise ZeroDivisionError("no")

    def odd(_: Request) -> Reply:
        return Reply({"role": "assistant", "content": 7, "tool_calls": 7})

    for model in (Scripted([]), broken, odd):
        response = post(AnsweredBy(model), api, asking(api))
        if response.status == 200:
            assert (api, model) == ("openai", odd)  # Chat Completions passes on what the model says
            continue
        error = body_of(response)["error"]
        assert (response.status, response.headers["x-should-retry"]) == (500, "false")
        assert error["message"] != "no"


@pytest.mark.parametrize("api", NAMES)
def test_whatever_a_model_says_there_is_an_answer(api: str) -> None:
    """Also one whose stream drops: what has no form in the API is a 500."""
    for calls in (7, ["c1"], [{}], [{"function": []}], [None]):
        said = Reply({"role": "assistant", "content": "Hi", "tool_calls": calls})
        for model in (lambda _, said=said: said, Faulty(lambda _, said=said: said, ["dropped_stream"])):
            response = post(AnsweredBy(model), api, asking(api, stream=True))
            with suppress(ConnectionAbortedError):
                content = b"".join(response.content)
                assert (b"Hi" in content) == (response.status == 200), calls


def test_the_model_is_listed_and_nothing_else_is_here() -> None:
    with answered_by(AnsweredBy(Scripted(["3"]))) as url:
        assert [model.id for model in openai_at(url).models.list()] == ["Scripted"]
        with pytest.raises(openai.NotFoundError, match="nothing answers POST /v1/embeddings here"):
            openai_at(url).embeddings.create(model="m", input="x")
    counted = post(AnsweredBy(Scripted([])), "anthropic", {}, "/v1/messages/count_tokens")
    assert (counted.status, body_of(counted)["error"]["type"]) == (404, "not_found_error")


def test_somebody_else_may_answer_the_other_requests() -> None:
    def otherwise(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, {}, [request.path.encode()])

    upstream = AnsweredBy(Scripted(["3"]), otherwise=otherwise)
    image = {"role": "user", "content": [{"type": "image", "source": {}}]}
    unread = post(upstream, "anthropic", {**asking("anthropic"), "messages": [image]})
    models = upstream(HttpRequest("GET", "/v1/models?limit=1", {}, b""))
    assert [*unread.content, *models.content] == [b"/v1/messages", b"/v1/models?limit=1"]


def test_either_a_model_or_one_for_each_request() -> None:
    with pytest.raises(InvalidInput, match="either model or model_for"):
        AnsweredBy()


# Responses that go on where another one ended


def follow_up(before: str, **more: Any) -> Body:
    result = {"type": "function_call_output", "call_id": "call_1", "output": "3"}
    return {"model": "m", "previous_response_id": before, "input": [result], **more}


def test_a_previous_response_is_put_before() -> None:
    asked: list[Request] = []

    def says(request: Request) -> Any:
        asked.append(request)
        return CALL if len(asked) == 1 else "It is 3."

    with answered_by(AnsweredBy(Scripted(says))) as url:
        client = openai_at(url)
        first = client.responses.create(**asking("responses", instructions="Be brief."))
        client.responses.create(**follow_up(first.id, instructions="Be nice."))
        client.responses.create(**follow_up(first.id))
    roles = [[message["role"] for message in request.messages] for request in asked]
    assert roles == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
        ["user", "assistant", "tool"],
    ]
    assert asked[1].messages[0]["content"] == "Be nice."
    assert "previous_response_id" not in asked[1].settings


def test_an_unknown_previous_response_is_a_400_and_old_ones_are_forgotten() -> None:
    upstream = AnsweredBy(Scripted(lambda _: "3"))
    assert post(upstream, "responses", follow_up("resp_unknown")).status == 400
    unstored = body_of(post(upstream, "responses", asking("responses", store=False)))
    assert post(upstream, "responses", follow_up(unstored["id"])).status == 400
    first = body_of(post(upstream, "responses", asking("responses")))
    assert post(upstream, "responses", follow_up(first["id"])).status == 200
    for _ in range(MAX_KEPT):
        post(upstream, "responses", asking("responses"))
    assert post(upstream, "responses", follow_up(first["id"])).status == 400


# Many at once


def at_once(model: Model, ask: Callable[[AnsweredBy], Any], how_many: int = 8) -> list[Any]:
    upstream = AnsweredBy(model)
    with ThreadPoolExecutor(how_many) as pool:
        return list(pool.map(lambda _: ask(upstream), range(how_many)))


def test_a_model_is_asked_by_one_conversation_at_a_time() -> None:
    inside = threading.Lock()

    def model(_: Request) -> Reply:
        if not inside.acquire(blocking=False):
            raise ModelError("two at once")
        threading.Event().wait(0.005)
        inside.release()
        return Reply({"role": "assistant", "content": "3"})

    answers = at_once(Faulty(model, []), lambda upstream: post(upstream, "openai", asking("openai")).status)
    assert set(answers) == {200}


def test_a_recording_is_asked_by_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    Replay(path, live=Scripted(["3"]))(Request([{"role": "user", "content": QUESTION}]))
    together = threading.Barrier(4, timeout=120)

    class Waiting(Replay):
        def __call__(self, request: Request) -> Reply:
            together.wait()
            return super().__call__(request)

    answers = at_once(Waiting(path), lambda upstream: post(upstream, "openai", asking("openai")).status, 4)
    assert answers == [200] * 4
