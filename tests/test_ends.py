"""How a reply ended, and what a walk makes of a reply that is not whole."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Limits, Scripted, Trace, run, tool, walk
from zoolab.apis import APIS
from zoolab.apis.conversation import check_conversation
from zoolab.errors import ERROR_CODES
from zoolab.messages.ends import MEANINGS, WHOLE, end_of
from zoolab.records import Reply
from zoolab.runs import read_conversation

RAN = []


@tool
def cleanup(path: str = "/data", older_than_days: int = 0) -> str:
    """Delete old files."""
    RAN.append((path, older_than_days))
    return "deleted"


@pytest.fixture(autouse=True)
def _nothing_ran():
    RAN.clear()


def call(arguments, name="cleanup", id="a"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def reply(content=None, finish="stop", calls=(), **others):
    given = {"tool_calls": [*calls]} if calls else {}
    return Reply({"role": "assistant", "content": content, **given, **others}, finish)


CUT = [
    "repetition",
    "max-tokens",
    "maxPredictedTokensReached",
    "contextWindowExceeded",
    "token_limit",
    "length",
    "max_tokens",
    "MAX_TOKENS",
    "model_context_window_exceeded",
    "incomplete",
    "model_length",
]
FILTERED = ["content_filter", "content-filter", "refusal", "SAFETY", "RECITATION"]
FAILED = [
    "insufficient_system_resource",
    "error",
    "upstream_error",
    "canceled",
    "modelUnloaded",
    "MALFORMED_FUNCTION_CALL",
    "network_error",
]
ENDS = [*((word, "cut") for word in CUT), *((word, "filtered") for word in FILTERED)]
ENDS += [(word, "failed") for word in FAILED]


@pytest.mark.parametrize(("word", "end"), ENDS)
def test_an_end_that_the_endpoint_names_counts_whatever_the_message_holds(word, end):
    for content, calls in (("It is", ()), (None, ()), (None, [call("{}")])):
        said = reply(content, word, calls)
        assert (said.end, said.is_whole) == (end, False)
        assert MEANINGS[end] in said.shortfall
        assert word in said.shortfall


@pytest.mark.parametrize("name", APIS)
def test_the_words_of_an_api_mean_the_same_where_a_gateway_passes_them_on(name):
    said = {"role": "assistant", "content": "Hi"}
    for word, end in APIS[name].ends.items():
        assert end_of(said, word) == end_of(said, end), word


@pytest.mark.parametrize("word", ["stop", "tool_calls", None, "eos", "end_turn"])
def test_a_reply_that_came_to_its_end_is_told_by_what_it_says(word):
    assert end_of({"role": "assistant", "content": "Hi"}, word) == "answered"
    assert end_of({"role": "assistant", "content": None, "tool_calls": [call("{}")]}, word) == "calls"
    assert end_of({"role": "assistant", "content": "", "refusal": "I will not."}, word) == "filtered"


NOTHING = [
    {"content": None},
    {"content": ""},
    {"content": " \n"},
    {"content": []},
    {"content": [{"type": "text", "text": " "}]},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    {"content": "", "reasoning_content": "I need to look."},
    {"content": "<think>I need to look.</think>"},
    {"content": "<think>I need to look."},
    {"content": None, "tool_calls": []},
]


@pytest.mark.parametrize("message", NOTHING, ids=json.dumps)
def test_a_walk_that_ends_with_nothing_said_is_empty_and_appends_nothing(message):
    trace = run("q", [cleanup], Scripted([{"role": "assistant", **message}]))
    assert trace.outcome == "empty"
    assert [error.code for error in trace.errors] == ["empty"]
    assert [error["role"] for error in trace.messages] == ["user"]
    assert check_conversation(trace.messages) == ()


def test_what_shows_something_is_an_answer():
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    for message in ({"content": [picture]}, {"content": None, "audio": {"id": "a"}}, {"content": "[1]"}):
        assert end_of({"role": "assistant", **message}, "stop") == "answered"


@given(
    arguments=st.sampled_from(
        ["", "  ", "{}", '{"path": "/x"}', '{"path": "/x", "older_than_days": 3}', '{"pa']
    ),
    ending=st.sampled_from(ENDS),
    before=st.integers(0, 2),
    as_text=st.booleans(),
)
def test_the_last_call_of_a_reply_that_is_not_whole_never_runs(arguments, ending, before, as_text):
    word, _ = ending
    RAN.clear()
    first = [call('{"path": "/first"}', id=f"b{n}") for n in range(before)]
    said = reply("I clean up.", word, [*first, call(arguments)])
    if as_text:
        lines = [{"name": "cleanup", "arguments": {"path": "/first"}}] * before
        lines.append({"name": "cleanup", "arguments": {"path": "/last"}})
        said = reply("\n".join(map(json.dumps, lines)), word)
    trace = run("q", [cleanup], Scripted([said, "fin"]), calls="auto")
    assert [("/first", 0)] * before == RAN
    assert trace.outcome == "answer"
    told = [message["content"] for message in trace.messages if message["role"] == "tool"]
    assert len(told) == before + 1
    assert said.shortfall in told[-1]
    assert check_conversation(trace.messages) == ()


def test_blank_arguments_of_a_whole_reply_stay_empty_arguments():
    run("q", [cleanup], Scripted([reply(None, "tool_calls", [call("")]), "fin"]))
    assert RAN == [("/data", 0)]


@pytest.mark.parametrize(("word", "end"), [(w, e) for w, e in ENDS if e != "failed"])
def test_a_walk_that_ends_with_such_a_reply_has_its_end_as_outcome(word, end, tmp_path):
    trace = run("q", [cleanup], Scripted([reply("It is", word)]))
    assert (trace.outcome, trace.answer) == (end, "It is")
    assert end in ERROR_CODES
    (error,) = trace.errors
    assert (error.code, error.seq) == (end, 2)
    assert MEANINGS[end] in error.message
    frame = trace.to_frame()
    assert list(frame["error_code"].dropna()) == [end]
    assert set(frame["outcome"]) == {end}
    assert MEANINGS[end] in trace.to_html()
    assert MEANINGS[end] in trace.to_markdown()
    (diagnosis,) = trace.diagnose()
    assert (diagnosis.code, diagnosis.steps) == ("unfinished_reply", (2,))
    again = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert again == trace
    assert again.errors == trace.errors


def test_a_reply_that_failed_is_asked_for_again_as_often_as_retries_say():
    failing = reply(None, "error")
    trace = run("q", [], Scripted([failing, failing, "fin"]))
    assert (trace.outcome, trace.answer) == ("answer", "fin")
    assert [error.code for error in trace.errors] == ["failed", "failed"]
    trace = run("q", [], Scripted([failing] * 3))
    assert (trace.outcome, len(trace.turns)) == ("failed", 3)
    trace = run("q", [], Scripted([failing]), limits=Limits(retries=0))
    assert trace.outcome == "failed"
    trace = run("q", [], Scripted([failing, failing]), limits=Limits(turns=2, retries=9))
    assert trace.outcome == "failed"


def test_an_edited_reply_is_the_reply():
    steps = walk("q", [], Scripted([""]))
    for step in steps:
        if step.kind == "tool_call":
            assert step.error_code == "empty"
            steps.answer(Reply({"role": "assistant", "content": "Hello"}))
    assert [message["role"] for message in steps.messages] == ["user", "assistant"]


def test_an_answer_with_a_schema_is_refused_if_its_reply_is_not_whole():
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    for word, end in ENDS:
        trace = run("q", [], Scripted([reply('{"sum": 3}', word), '{"sum": 4}']), answer_schema=schema)
        assert trace.value == {"sum": 4} or end == "failed"


def test_a_conversation_of_another_program_ends_by_the_same_rule():
    trace = read_conversation([{"role": "user", "content": "q"}, {"role": "assistant", "content": ""}])
    assert trace.outcome == "empty"


def test_whole_ends_have_no_meaning_in_words():
    assert not set(WHOLE) & set(MEANINGS)
