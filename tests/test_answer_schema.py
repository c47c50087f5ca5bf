"""A final answer with a schema, beside tools: validated as a call is, with the same repair and retries."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, TypedDict

import openai
import pytest
from provider_bodies import PROVIDERS, anthropic, gemini, message_item, ollama, responses
from pydantic import BaseModel, Field, field_validator
from server import Answer, completion, serving
from walks import CALL, TOOLS, add

from zoolab import (
    Limits,
    OpenAIModel,
    Outcome,
    Replay,
    Reply,
    Scripted,
    Trace,
    Verdict,
    arun,
    as_tool,
    inspect,
    run,
    walk,
    with_tools,
)
from zoolab.apis.conversation import check_conversation
from zoolab.errors import (
    InvalidInput,
    InvalidSchema,
    InvalidToolSignature,
    ToolLoopLimitReached,
    ToolRetriesExhausted,
)
from zoolab.plots import RetryWaterfallDisplay
from zoolab.repair import RuleRepair
from zoolab.show.wording import headline
from zoolab.trace.log import drive
from zoolab_connect.protocol import to_markdown
from zoolab_study.journal import run_line, summary_of

SCHEMA = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["sum", "note"],
    "additionalProperties": False,
}
RIGHT = '{"sum": 3, "note": "as asked"}'
WRONG = '{"sum": "3"}'


class Sum(BaseModel):
    """A sum."""

    sum: int
    note: str = Field(min_length=2)

    @field_validator("sum")
    @classmethod
    def not_seven(cls, value: int) -> int:
        if value == 7:
            raise ValueError("seven is not allowed")
        return value


@dataclass
class Total:
    sum: int
    note: str


class Amount(TypedDict):
    sum: int
    note: str


def test_a_tool_is_called_and_the_answer_is_a_value(tmp_path: Any) -> None:
    trace = run("1 + 2?", [add], Scripted([CALL, RIGHT]), answer_schema=SCHEMA)
    assert trace.value == {"sum": 3, "note": "as asked"}
    assert (trace.answer, trace.outcome, trace.errors) == (RIGHT, "answer", [])
    assert [step.kind for step in trace.steps][-3:] == ["request", "tool_call", "validate"]
    sent = trace.steps[1].record.settings["response_format"]
    assert sent == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    assert (loaded, loaded.value, loaded.answer) == (trace, trace.value, RIGHT)
    assert check_conversation(trace.messages) == ()


def test_a_wrong_answer_goes_back_with_its_problems() -> None:
    trace = run("1 + 2?", [add], Scripted([CALL, "It is 3.", WRONG, RIGHT]), answer_schema=SCHEMA)
    assert trace.value == {"sum": 3, "note": "as asked"}
    assert [error.code for error in trace.errors] == ["invalid_json", "invalid_arguments"]
    told = [message["content"] for message in trace.messages if message["role"] == "user"][1:]
    assert '- answer: expected valid JSON (expecting value), received "It is 3."' in told[0]
    assert '/sum: expected integer, received "3"' in told[1]
    assert "note" in told[1]
    assert json.dumps(SCHEMA["required"], separators=(",", ":")) in told[1]
    judged = [step for step in trace.steps if step.kind == "validate" and step.call is None]
    assert [step.attempt for step in judged] == [1, 2, 3]
    seq = trace.index(judged[0])
    assert trace.diff(seq - 1, seq).added == (trace.messages_at(seq)[-1],)
    assert trace.messages_at(seq)[-1]["role"] == "user"
    assert check_conversation(trace.messages) == ()


def test_retries_of_the_answer_are_those_of_a_tool() -> None:
    trace = Trace()
    with pytest.raises(ToolRetriesExhausted, match="the final answer failed validation in 2 turns"):
        run("?", [add], Scripted(["no"] * 9), answer_schema=SCHEMA, limits=Limits(retries=1), trace=trace)
    assert (trace.value, trace.answer, trace.outcome) == (None, None, "retries_exhausted")
    with pytest.raises(ToolLoopLimitReached):
        run("?", [add], Scripted(["no"] * 9), answer_schema=SCHEMA, limits=Limits(turns=2))
    mixed = Scripted([[("add", {"a": "x"})], "no", [("add", {"a": "x"})], "no", RIGHT])
    assert run("?", [add], mixed, answer_schema=SCHEMA).value, "each has a budget of its own"


def test_a_repair_mends_the_answer_unless_it_was_cut() -> None:
    fenced = f"```json\n{RIGHT}\n```"
    trace = run("?", [add], Scripted([fenced]), answer_schema=SCHEMA, repair=RuleRepair())
    assert trace.value == {"sum": 3, "note": "as asked"}
    assert trace.steps[-1].record.repair.accepted
    cut = [
        Reply({"role": "assistant", "content": RIGHT[:-1]}, "length"),
        Reply({"role": "assistant", "content": RIGHT}),
    ]
    trace = run("?", [], lambda _: cut.pop(0), answer_schema=SCHEMA, repair=RuleRepair())
    assert [error.code for error in trace.errors] == ["invalid_json"]


@pytest.mark.parametrize("kind", [Sum, Total, Amount, SCHEMA], ids=repr)
def test_types_are_schemas(kind: Any) -> None:
    trace = run("?", [], Scripted(["", WRONG, RIGHT]), answer_schema=kind)
    assert trace.value == {"sum": 3, "note": "as asked"}
    assert [error.code for error in trace.errors] == ["invalid_json", "invalid_arguments"]


def test_what_a_schema_cannot_say_is_checked_by_the_type() -> None:
    trace = run("?", [], Scripted(['{"sum": 7, "note": "xx"}', RIGHT]), answer_schema=Sum)
    (problem,) = trace.steps[3].record.problems
    assert problem.pointer == "/sum"
    assert "seven is not allowed" in problem.expected
    assert Sum(**trace.value).sum == 3


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ({"type": "array"}, InvalidInput),
        (list[int], InvalidInput),
        (int, InvalidInput),
        ({"type": "objekt"}, InvalidSchema),
        (3, InvalidToolSignature),
    ],
)
def test_what_describes_no_object_is_refused_at_the_start(schema: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"answer_schema|/type"):
        walk("?", [], Scripted([]), answer_schema=schema)


@pytest.mark.parametrize("calls", ["text", "auto"])
def test_a_model_that_calls_in_text_is_told_in_the_system_prompt(calls: Any) -> None:
    asks = json.dumps({"name": "add", "arguments": {"a": 1, "b": 2}})
    trace = run("?", [add], Scripted([asks, RIGHT]), answer_schema=SCHEMA, calls=calls, system="Be brief.")
    assert trace.value["sum"] == 3
    assert [call.name for call in trace.tool_calls] == ["add"]
    first = trace.messages[0]["content"]
    assert first.startswith("Be brief.\n\nYour final answer has to be one JSON object")
    assert dict(trace.steps[1].record.settings) == {}


def test_an_endpoint_is_sent_the_response_format() -> None:
    with serving(completion(RIGHT)) as server:
        client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
        assert run("?", [add], OpenAIModel("m", client=client), answer_schema=Sum).value["sum"] == 3
    sent = server.bodies[0]["response_format"]["json_schema"]
    assert (sent["schema"]["required"], sent["strict"]) == (["sum", "note"], False)
    assert server.bodies[0]["tools"]


def test_forks_replays_and_answers_by_hand(tmp_path: Any) -> None:
    path = tmp_path / "r.jsonl"
    options: dict[str, Any] = {"answer_schema": SCHEMA}
    trace = run("?", [add], Replay(path, live=Scripted([CALL, WRONG, RIGHT])), envelope="plain", **options)
    assert run("?", [add], Replay(path), envelope="plain", **options).value == trace.value
    seq = next(seq for seq, step in enumerate(trace.steps) if step.kind == "validate" and step.call is None)
    child = trace.fork(seq, Verdict(True, {"sum": 99}))
    assert (child.value, len(child.messages)) == ({"sum": 99}, len(trace.messages) - 2)
    reply = Reply({"role": "assistant", "content": '{"sum": 4, "note": "by hand"}'})
    assert trace.fork(seq - 1, reply).value == {"sum": 4, "note": "by hand"}
    result = next(seq for seq, step in enumerate(trace.steps) if step.kind == "execute")
    again = trace.fork(result, Outcome(7), model=Scripted(['{"sum": 7, "note": "forked"}']))
    assert again.value == {"sum": 7, "note": "forked"}

    def refuse(step: Any) -> Any:
        return Verdict(False) if step.kind == "validate" and step.call is None and step.attempt == 1 else None

    refused = drive(Trace(), walk("?", [], Scripted([RIGHT, RIGHT]), **options), refuse)
    assert (refused.value, len(refused.messages)) == ({"sum": 3, "note": "as asked"}, 4)


def test_a_strangers_trace_may_end_with_any_verdict(tmp_path: Any) -> None:
    trace = run("?", [], Scripted([WRONG, RIGHT]), answer_schema=SCHEMA)
    for steps, answer, value in [((6,), None, trace.value), ((3,), None, None), ((2, 6), WRONG, trace.value)]:
        odd = Trace()
        for seq in steps:
            odd.add(trace.steps[seq])
        loaded = Trace.load(odd.save(tmp_path / "odd.jsonl"))
        assert (loaded.answer, loaded.value) == (answer, value)


def test_answers_are_no_calls_in_the_plot_of_retries() -> None:
    trace = run("?", [add], Scripted([CALL, WRONG, RIGHT]), answer_schema=SCHEMA)
    assert RetryWaterfallDisplay.from_trace(trace).counts_["calls"].sum() == 1


def test_all_views_tell_it() -> None:
    trace = run("?", TOOLS, Scripted([CALL, WRONG, RIGHT]), answer_schema=SCHEMA)
    assert headline(trace.steps[-1]) == "the answer meets its schema"
    assert "The answer is not accepted" in trace.to_html()
    assert "trace.value" in trace.to_html()
    assert to_markdown(trace)
    assert trace.to_otel()
    assert trace.diagnose() == []
    summary = summary_of(json.loads(run_line(trace)))
    assert (summary["said"], summary["calls"], summary["errors"]) == (RIGHT, 1, 1)
    inspector = inspect(trace)
    for seq in range(len(trace)):
        assert inspector.view.panel(trace, seq, trace.turns)["blocks"]


def test_the_inspector_knows_what_comes() -> None:
    live = inspect(walk("?", [add], Scripted([CALL, WRONG, RIGHT]), answer_schema=SCHEMA))
    driver = live.view.driver
    assert driver is not None
    while driver.state == "paused":
        coming = driver.coming
        driver.step()
        if driver.state == "paused":
            assert driver.trace.steps[-1].kind == coming
    assert (coming, driver.trace.value) == (None, {"sum": 3, "note": "as asked"})


def test_awaited_walks_have_values_too() -> None:
    trace = asyncio.run(arun("?", [add], Scripted([RIGHT]), answer_schema=SCHEMA))
    assert trace.value["sum"] == 3


def test_a_sub_agent_returns_the_value_and_a_model_with_tools_its_text() -> None:
    helper = as_tool("helper", "Helps.", [], Scripted([RIGHT]), answer_schema=SCHEMA)
    trace = run("?", [helper], Scripted([[("helper", {"task": "1 + 2"})], "Done."]))
    assert trace.steps[4].record.value == {"sum": 3, "note": "as asked"}
    inner = with_tools(Scripted([WRONG, RIGHT]), [], answer_schema=SCHEMA)
    assert run("?", [], inner).answer == RIGHT


BOUNDED = {**SCHEMA, "properties": {"sum": {"type": "integer", "minimum": 0}, "note": {"type": "string"}}}
LISTED = {"type": "object", "properties": {"sums": {"type": "array", "items": BOUNDED}}, "required": ["sums"]}
FREE = {"type": "object", "additionalProperties": {"type": "integer"}}
SAYING = {
    "responses": lambda text: responses([message_item(text)]),
    "anthropic": lambda text: anthropic([{"type": "text", "text": text}], "end_turn"),
    "gemini": lambda text: gemini([{"text": text}]),
    "ollama": lambda text: ollama({"content": text}),
}


def asked_for(name: str, schema: Any, tools: Any, says: str = RIGHT, **settings: Any) -> list[dict[str, Any]]:
    """The bodies that an API gets for an answer with a schema; it says something else at first."""
    with serving(Answer(SAYING[name]("It is 3.")), Answer(SAYING[name](says))) as server:
        model = PROVIDERS[name].model(
            "m", base_url=server.url.removesuffix("/v1"), api_key="none", **settings
        )
        assert run("1 + 2?", tools, model, answer_schema=schema).value == json.loads(says)
    assert "not the final answer" in json.dumps(server.bodies[1])
    return server.bodies


def test_responses_and_anthropic_are_asked_for_a_schema_beside_tools() -> None:
    for body in asked_for("responses", SCHEMA, [add], text={"verbosity": "low"}):
        described = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
        assert body["text"] == {"format": described, "verbosity": "low"}
        assert body["tools"]
    for body in asked_for("anthropic", SCHEMA, [add], output_config={"effort": "low"}):
        described = {"type": "json_schema", "schema": SCHEMA}
        assert body["output_config"] == {"format": described, "effort": "low"}
        assert body["tools"]


def test_gemini_and_ollama_are_asked_for_a_schema_if_there_are_no_tools() -> None:
    for body in asked_for("gemini", SCHEMA, []):
        config = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
        assert body["generationConfig"] == {"temperature": 0, **config}
    assert [body["format"] for body in asked_for("ollama", SCHEMA, [])] == [SCHEMA, SCHEMA]
    for body in asked_for("gemini", SCHEMA, [add]) + asked_for("ollama", SCHEMA, [add]):
        assert "format" not in body
        assert body.get("generationConfig", {}).keys() <= {"temperature"}


def test_anthropic_gets_only_what_it_takes_of_a_schema() -> None:
    """Its API answers 400 to limits and to objects that are not closed."""
    says = json.dumps({"sums": [json.loads(RIGHT)]})
    closed = {**LISTED, "properties": {"sums": {"type": "array", "items": SCHEMA}}}
    for body in asked_for("anthropic", LISTED, [add], says):
        assert body["output_config"]["format"]["schema"] == {**closed, "additionalProperties": False}
    for body in asked_for("anthropic", FREE, [add], '{"a": 1}'):
        assert "output_config" not in body
