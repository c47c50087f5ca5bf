"""A trace as OpenTelemetry spans: whose child each is, when it was, what it says, and that it arrives."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moved import Moved
from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import SpanKind, StatusCode
from walks import CALL, TOOLS

from zoolab import Faulty, Limits, Scripted, Trace, run, tool, walk
from zoolab.errors import ERROR_CODES, InvalidInput, ModelError, ZoolabError
from zoolab.records import Decision, Failure, Fault, Outcome, Reply
from zoolab.repair import RuleRepair
from zoolab.runs import drive
from zoolab.steps import execute
from zoolab.trace import log
from zoolab_connect import otel
from zoolab_connect.nested import as_tool
from zoolab_connect.otel import MAX_DEPTH, MAX_MESSAGES, MAX_TEXT, SCHEMA_URL, encode_messages

OFFICIAL = {getattr(gen_ai_attributes, name) for name in dir(gen_ai_attributes) if name.startswith("GEN_AI_")}
OPERATIONS = {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
PROVIDERS = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
SECRET = "the launch code is 0451"


@tool
def wait(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "waited"


@tool
def tell(secret: str) -> str:
    """Tell a secret."""
    return f"Psst: {secret}"


@tool
def bad() -> object:
    """Return bytes."""
    return b"\xff"


def waiting(*seconds):
    return [("wait", {"seconds": each}) for each in seconds]


def of(trace, name, **options):
    """The spans of a trace that have this name."""
    return [span for span in trace.to_otel(**options) if span.name == name]


def only(trace, name, **options):
    [span] = of(trace, name, **options)
    return span


def tree(spans):
    """The names of the spans, each under its parent's."""
    names = {span.context.span_id: span.name for span in spans}
    return [(span.name, names[span.parent.span_id] if span.parent else None) for span in spans]


def seen(span):
    """All of a span that leaves the house, but for its ids."""
    what = dict(span.attributes), span.status.status_code, span.status.description, span.kind
    return span.name, *what, span.start_time, span.end_time


def milliseconds(span):
    return (span.end_time - span.start_time) / 1e6


def check(spans):
    """What holds for the spans of any trace."""
    by_id = {span.context.span_id: span for span in spans}
    assert len(by_id) == len(spans)
    assert len({span.context.trace_id for span in spans}) == 1
    assert [span.parent for span in spans].count(None) == 1
    for span in spans:
        assert 0 <= span.start_time <= span.end_time < 1 << 63
        if span.parent is not None:
            parent = by_id[span.parent.span_id]
            assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time
        failed = span.status.status_code is StatusCode.ERROR
        assert failed == (error_attributes.ERROR_TYPE in span.attributes)
        check_attributes(span)


def check_attributes(span):
    attributes = dict(span.attributes)
    foreign = {name for name in attributes if not name.startswith("zoolab.")}
    assert foreign <= OFFICIAL | {error_attributes.ERROR_TYPE}
    operation = attributes.get(gen_ai_attributes.GEN_AI_OPERATION_NAME)
    verb = span.name.partition(" ")[0]
    assert verb in ("validate", "permission") if operation is None else operation == verb in OPERATIONS
    if operation in ("chat", "invoke_agent"):
        # Where none of the known ones is named, a name of one's own may stand.
        assert attributes[gen_ai_attributes.GEN_AI_PROVIDER_NAME] in PROVIDERS | {"zoolab"}
    assert span.kind is (SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL)


@pytest.fixture
def busy():
    """A run with everything in it: parallel calls, a repair, failures, a denial, a sub-agent, two turns."""
    inner = Scripted([waiting(0.02), "The agent's answer."])
    agent = as_tool("agent", "Knows.", [wait], inner)
    first = [
        *waiting(0.05, 0.05),
        ("add", "{'a': 1, 'b': 2,}"),
        ("add", {"a": "one"}),
        ("nobody", {}),
        ("fail", {"a": 7}),
        ("wipe", {}),
        ("agent", {"task": "Find out."}),
    ]
    model = Scripted([first, waiting(0.01), "Done."])
    trace = Trace(meta={"agent": "planner", "model": "m-1", "case_id": "c1", "seed": 3})
    return run("Go.", [*TOOLS, wait, agent], model, repair=RuleRepair(), trace=trace)


def test_a_run_is_a_tree_of_spans(busy):
    spans = busy.to_otel()
    check(spans)
    root = "invoke_agent planner"
    assert tree(spans) == [
        (root, None),
        ("chat m-1", root),
        ("execute_tool wait", root),
        ("execute_tool wait", root),
        ("execute_tool add", root),
        ("validate add", root),
        ("validate nobody", root),
        ("execute_tool fail", root),
        ("permission wipe", root),
        ("execute_tool agent", root),
        ("invoke_agent agent", "execute_tool agent"),
        ("chat scripted", "invoke_agent agent"),
        ("execute_tool wait", "invoke_agent agent"),
        ("chat scripted", "invoke_agent agent"),
        ("chat m-1", root),
        ("execute_tool wait", root),
        ("chat m-1", root),
    ]


def test_spans_last_as_long_as_their_steps(busy):
    first, second, *_, third = of(busy, "execute_tool wait")
    assert third.start_time > max(first.end_time, second.end_time)
    durations = busy.to_frame().query("step == 'request'")["duration_ms"]
    assert [milliseconds(span) for span in of(busy, "chat m-1")] == pytest.approx(list(durations), abs=1e-3)


@pytest.fixture
def clock(monkeypatch):
    """The clock of what runs and of what is recorded; it stands still until a test moves it."""
    moved = Moved(1_900_000_000)
    monkeypatch.setattr(execute, "time", moved)
    monkeypatch.setattr(otel, "time", moved)
    monkeypatch.setattr(log, "time", moved.time)
    monkeypatch.setattr(log, "perf_counter", moved.perf_counter)
    return moved


def slow(clock, seconds, replies):
    """A model that needs this long for each reply."""
    model = Scripted(replies)

    def answers(request):
        clock.move(seconds)
        return model(request)

    return answers


def moving(clock):
    """A tool that lets time pass."""

    @tool(name="wait")
    def passes(seconds: float) -> str:
        """Wait."""
        clock.move(seconds)
        return "waited"

    return passes


def seconds_from(clock, span, since):
    """When a span began and how long it was, in milliseconds."""
    assert clock.ns >= span.end_time
    return (span.start_time - since) / 1e6, milliseconds(span)


def test_spans_last_as_long_as_what_they_tell_of(clock):
    began = clock.time_ns()
    replies = [waiting(0.05, 0.01), waiting(2), "Done."]
    trace = run("Go.", [moving(clock)], slow(clock, 0.25, replies), parallel=False)
    check(trace.to_otel())
    told = {"invoke_agent": [], "chat scripted": [], "execute_tool wait": []}
    for span in trace.to_otel():
        if span.name in told:
            told[span.name].append(seconds_from(clock, span, began))
    near = partial(pytest.approx, abs=1e-3)
    assert told["invoke_agent"] == [near((0, 2810))]
    assert told["chat scripted"] == [near((0, 250)), near((310, 250)), near((2560, 250))]
    assert told["execute_tool wait"] == [near((250, 50)), near((300, 10)), near((560, 2000))]


def test_spans_are_when_the_clock_said(clock):
    trace = run("Go.", [moving(clock)], slow(clock, 0.25, [waiting(0.02), "Done."]))
    outcome = next(step.record for step in trace.steps if isinstance(step.record, Outcome))
    assert outcome.started_ms == 1_900_000_000_250
    start = only(trace, "execute_tool wait").start_time
    assert start / 1e6 == pytest.approx(outcome.started_ms, rel=0, abs=1e-3)


def test_calls_in_turn_do_not_overlap(clock):
    replies = [waiting(0.02, 0.02), "Done."]
    trace = run("Go.", [moving(clock)], Scripted(replies), parallel=False)
    first, second = of(trace, "execute_tool wait")
    assert (second.start_time - first.end_time) / 1e6 == pytest.approx(0, abs=1e-3)


def test_the_time_between_steps_by_hand_is_left_out(clock):
    trace = Trace()
    steps = trace.follow(walk("Go.", [moving(clock)], slow(clock, 0.25, [waiting(0.02), "Done."])))
    for _step in steps:
        clock.move(100)
    check(trace.to_otel())
    assert milliseconds(only(trace, "invoke_agent")) == pytest.approx(520, abs=1e-3)
    assert [milliseconds(span) for span in of(trace, "chat scripted")] == pytest.approx([250, 250], abs=1e-3)


def test_a_failed_request_lasts_until_it_failed(clock):
    def model(_request):
        clock.move(0.03)
        raise ModelError("the endpoint is gone")

    with pytest.raises(ModelError) as raised:
        run("Hi", [], model)
    trace = raised.value.trace
    check(trace.to_otel())
    for name in ("chat", "invoke_agent"):
        span = only(trace, name)
        assert milliseconds(span) == pytest.approx(30, abs=1e-3)
        assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "model_error")
        assert span.status.description is None
        assert only(trace, name, content=True).status.description == "the endpoint is gone"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("validate add", "invalid_arguments"),
        ("validate nobody", "unknown_tool"),
        ("execute_tool fail", "resource_not_found"),
        ("permission wipe", "permission_denied"),
    ],
)
def test_errors_say_their_code(busy, name, code):
    span = only(busy, name)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == code
    assert code in ERROR_CODES


def test_a_value_that_is_no_json_is_an_error_of_its_span():
    span = only(run("Go.", [bad], Scripted([[("bad", {})], "Oh."])), "execute_tool bad")
    assert span.attributes["error.type"] == "execution_failed"


def test_the_end_of_a_run_is_in_its_span():
    model = Scripted([CALL] * 9)
    with pytest.raises(ZoolabError) as raised:
        run("Go.", TOOLS, model, limits=Limits(turns=2))
    span = only(raised.value.trace, "invoke_agent")
    assert (span.attributes["error.type"], span.attributes["zoolab.outcome"]) == ("loop_limit",) * 2
    assert all("error.type" not in chat.attributes for chat in of(raised.value.trace, "chat scripted"))


def test_retries_count_up():
    model = Scripted([[("add", {})], [("add", {"a": "x"})], [("add", {"a": 1})], "1"])
    trace = run("Go.", TOOLS, model)
    assert [span.attributes["zoolab.attempt"] for span in of(trace, "validate add")] == [1, 2]
    assert only(trace, "execute_tool add").attributes["zoolab.attempt"] == 3


def test_a_repair_is_told():
    trace = run("Go.", TOOLS, Scripted([[("add", "{'a': 1,}")], "1"]), repair=RuleRepair())
    shy, open_ = (only(trace, "execute_tool add", content=content).attributes for content in (False, True))
    assert (shy["zoolab.repair.accepted"], shy["zoolab.repair.codes"]) == (True, ("invalid_json",))
    assert "zoolab.repair.raw" not in shy
    assert open_["zoolab.repair.raw"] == "{'a': 1,}"
    assert json.loads(open_["zoolab.repair.proposed"]) == {"a": 1}
    assert open_["gen_ai.tool.call.arguments"] == '{"a":1}'


@pytest.mark.parametrize(
    ("fault", "span"),
    [
        ("trailing_comma", "validate add"),
        ("empty_reply", "chat scripted"),
        ("secret_in_error", "execute_tool add"),
    ],
)
def test_faults_are_where_they_struck(fault, span):
    trace = run("Go.", TOOLS, Faulty(Scripted([CALL, "3"]), [fault]), limits=Limits(retries=9))
    struck = [each for each in trace.to_otel() if "zoolab.fault.kind" in each.attributes]
    assert struck[0].name == span
    assert {each.attributes["zoolab.fault.kind"] for each in struck} == {fault}


def test_a_fault_that_ended_the_run_is_in_its_request():
    trace = Trace()
    trace.add(next(iter(walk("Hi", [], Scripted(["Hello"])))))
    trace.fault = Fault("http_500", "the request", step="request")
    assert only(trace, "invoke_agent").attributes["zoolab.fault.kind"] == "http_500"


def decided(decision):
    return run("Go.", TOOLS, Scripted([[("wipe", {})], "Done."]), ask=lambda _step: decision)


def test_permission_is_told():
    allowed = only(decided(Decision("once", "I trust it")), "execute_tool wipe", content=True).attributes
    denied = only(decided(Decision("deny", SECRET)), "permission wipe").attributes
    for attributes, choice in ((allowed, "once"), (denied, "deny")):
        assert (attributes["zoolab.permission.choice"], attributes["zoolab.permission.risk"]) == (
            choice,
            "high",
        )
    assert allowed["zoolab.permission.reason"] == "I trust it"
    assert SECRET not in str(denied)


def test_an_outcome_by_hand_counts_as_run():
    trace = decided(Outcome("given"))
    check(trace.to_otel())
    assert "error.type" not in only(trace, "execute_tool wipe").attributes


def test_a_call_that_waits_has_a_span_without_an_error():
    trace = Trace()
    for step in trace.follow(walk("Go.", TOOLS, Scripted([[("wipe", {})]]))):
        if step.status == "pending":
            break
    check(trace.to_otel())
    span = only(trace, "permission wipe")
    assert span.attributes["zoolab.permission.choice"] == "pending"
    assert only(trace, "invoke_agent").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("said", [{}, {"provider": None}, {"provider": ""}, {"model": "gpt-4o"}])
def test_a_provider_that_nobody_named_is_zoolab(said):
    spans = run("Hi", [], Scripted(["Hello"]), trace=Trace(meta=said)).to_otel()
    assert {span.attributes["gen_ai.provider.name"] for span in spans} == {"zoolab"}


def settled(step, asked):
    return replace(step.record, settings=asked) if step.kind == "request" else None


def test_requests_and_replies_are_told():
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": True},
    }
    reply = Reply({"role": "assistant", "content": "Hi"}, "stop", usage, "m-2", ({},), {"id": "chatcmpl-1"})
    asked = {"temperature": 0, "seed": 4, "max_tokens": 9, "stop": ["END"], "top_p": "high", "model": "m-1"}
    steps = walk("Hi", [], lambda _request: reply)
    drive(trace := Trace(meta={"provider": "mistral_ai"}), steps, lambda step: settled(step, asked))
    attributes = only(trace, "chat m-1").attributes
    expected = {
        "gen_ai.provider.name": "mistral_ai",
        "gen_ai.request.model": "m-1",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.seed": 4,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.request.stream": True,
        "gen_ai.response.model": "m-2",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 5,
    }
    assert {name: value for name, value in attributes.items() if name.startswith("gen_ai.")} == expected | {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": trace.run_id,
    }


def test_nothing_that_was_said_is_told_unless_asked_for():
    model = Scripted([[("tell", {"secret": SECRET}), ("tell", {"secrt": SECRET})], f"I know: {SECRET}"])
    trace = run(f"Listen: {SECRET}", [tell], model, system=SECRET)
    assert SECRET not in "".join(span.to_json() for span in trace.to_otel())
    told = [span.name for span in trace.to_otel(content=True) if SECRET in str(span.attributes)]
    assert told == ["invoke_agent", "chat scripted", "execute_tool tell", "validate tell", "chat scripted"]


def test_content_has_the_form_of_the_conventions():
    trace = run("What is 1 + 2?", TOOLS, Scripted([CALL, "It is 3."]), envelope="plain", system="Add.")
    first, last = of(trace, "chat scripted", content=True)
    asked = {"type": "tool_call", "id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}
    answered = {"type": "tool_call_response", "id": "call_1", "response": "3"}
    history = [
        {"role": "system", "parts": [{"type": "text", "content": "Add."}]},
        {"role": "user", "parts": [{"type": "text", "content": "What is 1 + 2?"}]},
        {"role": "assistant", "parts": [asked]},
        {"role": "tool", "parts": [answered]},
    ]
    final = {"role": "assistant", "parts": [{"type": "text", "content": "It is 3."}], "finish_reason": "stop"}
    assert json.loads(first.attributes["gen_ai.input.messages"]) == history[:2]
    assert json.loads(first.attributes["gen_ai.output.messages"]) == [
        {**history[2], "finish_reason": "tool_calls"}
    ]
    assert json.loads(last.attributes["gen_ai.input.messages"]) == history
    root, run_ = only(trace, "invoke_agent", content=True), only(trace, "execute_tool add", content=True)
    assert json.loads(root.attributes["gen_ai.output.messages"]) == [final]
    assert [each["name"] for each in json.loads(root.attributes["gen_ai.tool.definitions"])] == TOOLS.names()
    assert run_.attributes["gen_ai.tool.call.result"] == "3"


@pytest.mark.parametrize("content", [False, True])
def test_a_loaded_trace_gives_the_same_spans(busy, tmp_path, content):
    loaded = Trace.load(busy.save(tmp_path / "trace.jsonl"))
    first = [seen(span) for span in busy.to_otel(content=content)]
    assert [seen(span) for span in loaded.to_otel(content=content)] == first
    assert [seen(span) for span in busy.to_otel(content=content)] == first


def test_a_trace_that_knows_no_beginning_ends_now(busy, clock):
    length = milliseconds(only(busy, "invoke_agent planner"))
    busy.began = None
    root = only(busy, "invoke_agent planner")
    check(busy.to_otel())
    assert milliseconds(root) == length
    assert root.end_time == clock.time_ns()


def test_a_fork_keeps_the_order_of_its_times():
    parent = run("Go.", [wait], Scripted([waiting(0.05), lambda _request: "Done.", "Again."]))
    child = parent.fork(4, Outcome("waited longer"))
    spans = child.to_otel()
    check(spans)
    chats = of(child, "chat scripted")
    assert chats[0].end_time <= only(child, "execute_tool wait").start_time <= chats[1].start_time


def provided(**options):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def test_spans_go_through_a_provider_of_ones_own(busy):
    provider, exporter = provided()
    given = busy.to_otel(provider)
    received = {span.context.span_id: span for span in exporter.get_finished_spans()}
    assert [seen(received[span.context.span_id]) for span in given] == [seen(span) for span in busy.to_otel()]
    assert all(span.instrumentation_scope.schema_url == SCHEMA_URL for span in received.values())
    with provider.get_tracer("zoolab", schema_url=SCHEMA_URL).start_as_current_span("theirs") as theirs:
        busy.to_otel(provider)
    assert theirs.get_span_context().trace_id != given[0].context.trace_id
    assert exporter.get_finished_spans()[-2].parent is None


def test_two_threads_may_export_at_once():
    provider, _ = provided()
    traces = [run("Go.", TOOLS, Scripted([CALL, CALL, "3"])) for _ in range(4)] * 5
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda trace: [seen(span) for span in trace.to_otel(provider)], traces))
    assert made == [[seen(span) for span in trace.to_otel()] for trace in traces]


def test_a_sampler_may_drop_them(busy):
    provider, exporter = provided(sampler=ALWAYS_OFF)
    assert (busy.to_otel(provider), exporter.get_finished_spans()) == ([], ())


def test_what_is_no_provider_is_refused(busy):
    with pytest.raises(InvalidInput, match="TracerProvider"):
        busy.to_otel("localhost:4318")


def test_the_global_provider_is_left_alone(busy):
    before = api.get_tracer_provider()
    busy.to_otel()
    assert api.get_tracer_provider() is before
    assert not api.get_current_span().get_span_context().is_valid


ALONE = """
import sys
{block}
from zoolab import Scripted, run
trace = run("Hi", [], Scripted(["Hello"]))
assert sys.modules.get("opentelemetry.sdk") is None
try:
    print(len(trace.to_otel()))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("block", "said"),
    [("", "2"), ("sys.modules['opentelemetry.sdk'] = None", "pip install 'zoolab[otel]'")],
)
def test_the_sdk_is_loaded_late_and_its_absence_is_told(block, said):
    done = subprocess.run([sys.executable, "-c", ALONE.format(block=block)], capture_output=True, text=True)
    assert (said in done.stdout, done.stderr) == (True, "")


def test_the_version_of_the_conventions_is_pinned():
    assert SCHEMA_URL in {schema.value for schema in Schemas}
    assert {"gen_ai.tool.call.id", "gen_ai.input.messages"} <= OFFICIAL


def test_walks_within_walks_end_somewhere():
    trace = Trace()
    for _ in range(MAX_DEPTH + 5):
        outer = Trace()
        for step in walk("Go.", TOOLS, Scripted([CALL, "3"])):
            inner = isinstance(step.record, Outcome)
            outer.add(step._replace(record=replace(step.record, trace=trace)) if inner else step)
        trace = outer
    spans = trace.to_otel()
    check(spans)
    assert sum(span.name.startswith("invoke_agent") for span in spans) == MAX_DEPTH + 1


HOSTILE = "\ud800\x00<script>é" * 3_000


@pytest.mark.parametrize("content", [False, True])
def test_hostile_text_is_bounded_and_can_be_sent(content):
    calls = [{"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": HOSTILE}}]
    model = Scripted([{"content": HOSTILE, "tool_calls": calls}, HOSTILE])
    trace = Trace(
        run_id=HOSTILE,
        meta={**dict.fromkeys(["agent", "model", "case_id"], HOSTILE), "seed": 10**400, "variant": [1]},
    )
    trace.record(walk(HOSTILE, TOOLS, model), into=trace)
    trace.outcome, trace.error = HOSTILE, HOSTILE
    for seq, step in enumerate(trace.steps):
        if isinstance(step.record, Outcome):
            broken = replace(step.record, error=Failure(HOSTILE, HOSTILE, HOSTILE))
            trace.steps[seq] = step._replace(
                record=replace(broken, duration_ms=float("nan"), started_ms=-(10**30))
            )
    spans = trace.to_otel(content=content)
    check(spans)
    for span in spans:
        assert len(span.name) < 200
        longest = MAX_MESSAGES + 1_000 if content else 200
        assert all(len(text) <= longest for text in span.attributes.values() if isinstance(text, str))
        span.to_json().encode()
    with receiver() as (url, requests):
        OTLPSpanExporter(url).export(spans)
    assert sum(len(scope.spans) for scope in scopes(requests)) == len(spans)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ODD = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "", None, 5])},
    optional={"content": JSON, "tool_call_id": JSON, "tool_calls": JSON | st.lists(st.just({"function": 7}))},
)


@given(st.lists(ODD, max_size=5))
def test_messages_of_any_shape_have_a_form(messages):
    made = json.loads(encode_messages(messages))
    assert len(made) == len(messages)
    for message in made:
        assert set(message) == {"role", "parts"}
        assert {part["type"] for part in message["parts"]} <= {"text", "tool_call", "tool_call_response"}


def test_long_conversations_are_cut_to_their_end():
    messages = [{"role": "user", "content": f"{number}: " + "x" * 9_999} for number in range(50)]
    trace = run("The last.", [], Scripted(["Hello"]), messages=messages)
    text = only(trace, "chat scripted", content=True).attributes["gen_ai.input.messages"]
    kept = json.loads(text)
    assert kept[-1]["parts"][0]["content"] == "The last."
    assert len(text) <= MAX_MESSAGES + len(kept) + 2
    assert all(len(each["parts"][0]["content"]) <= MAX_TEXT for each in kept)
    assert 5 < len(kept) < 10


TIMES = st.lists(st.floats(-1e300, 1e300), min_size=12, max_size=12)
OUTCOMES = st.tuples(st.floats(), st.integers())


@settings(max_examples=60)
@given(TIMES, OUTCOMES, OUTCOMES, st.none() | st.floats(-1e300, 1e300), st.none() | st.floats(0, 1e300))
def test_times_of_strangers_keep_their_order(times, first, second, began, ended):
    trace = run("Go.", TOOLS, Scripted([[*CALL, *CALL], CALL, "3"]))
    given = iter((first, second))
    for seq, step in enumerate(trace.steps):
        trace.started[seq] = times[seq % len(times)]
        if isinstance(step.record, Outcome):
            length, at = next(given, first)
            outcome = replace(step.record, duration_ms=length, started_ms=at, trace=trace_within())
            trace.steps[seq] = step._replace(record=outcome)
    trace.began, trace.ended = began, ended
    check(trace.to_otel())


def trace_within():
    inner = Trace()
    inner.add(next(iter(walk("Hi", [], Scripted(["Hello"])))))
    return inner


def test_an_empty_trace_is_one_span():
    trace = Trace()
    check(trace.to_otel())
    assert tree(trace.to_otel()) == [("invoke_agent", None)]


@contextmanager
def receiver():
    """An OTLP endpoint on loopback, and the requests that it got."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", requests
        server.shutdown()


def scopes(requests):
    return [
        scope for _, each in requests for resource in each.resource_spans for scope in resource.scope_spans
    ]


def test_a_receiver_gets_the_spans(busy):
    with receiver() as (url, requests):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(url)))
        made = busy.to_otel(provider, content=True)
        provider.shutdown()
    assert {path for path, _ in requests} == {"/v1/traces"}
    assert {(scope.scope.name, scope.schema_url) for scope in scopes(requests)} == {("zoolab", SCHEMA_URL)}
    got = {span.span_id.hex(): span for scope in scopes(requests) for span in scope.spans}
    assert len(got) == len(made)
    for span in made:
        came = got[f"{span.context.span_id:016x}"]
        assert came.trace_id.hex() == f"{span.context.trace_id:032x}"
        assert came.parent_span_id.hex() == (f"{span.parent.span_id:016x}" if span.parent else "")
        assert (came.name, came.start_time_unix_nano) == (span.name, span.start_time)
        assert (came.end_time_unix_nano, came.status.code) == (span.end_time, span.status.status_code.value)
        assert {each.key for each in came.attributes} == set(span.attributes)
