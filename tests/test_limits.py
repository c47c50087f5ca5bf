"""Limits hold for everything that a walk starts, and what sub-agents take is counted for their callers."""

from __future__ import annotations

import json
import threading
import time

import pytest

from zoolab import Limits, Outcome, Reply, Scripted, ToolRegistry, Trace, as_tool, run, tool, walk, with_tools
from zoolab.errors import InvalidInput, ToolLoopLimitReached
from zoolab.records import Request
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment
from zoolab.show.wording import totals_of
from zoolab.tokens import Price, Tokens
from zoolab_study.cases import Case, Run
from zoolab_study.journal import run_line, summary_of
from zoolab_study.scorers import measure_cost

FULL = {"role": "assistant", "content": "Done."}


def calls(*names: str, argument: str = "task") -> dict:
    made = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({argument: "x"})},
        }
        for n, name in enumerate(names)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


class Counting:
    """Answers each request with the same message, and counts them; each reply took `tokens`."""

    def __init__(self, *messages, tokens=None, name="m", wait=0.0):
        self.messages, self.tokens, self.name, self.wait = messages, tokens, name, wait
        self.requests = 0
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        assert request.messages
        with self._lock:
            self.requests += 1
            message = self.messages[min(self.requests, len(self.messages)) - 1]
        time.sleep(self.wait)
        usage = None if self.tokens is None else {"prompt_tokens": self.tokens, "completion_tokens": 0}
        return Reply(message, usage=usage, model=self.name)


@tool
def look(task: str) -> str:
    """Look."""
    return f"nothing of {task}"


@tool
def more(task: str) -> str:
    """More."""
    return f"more of {task}"


def ended(*args, **options) -> Trace:
    """The trace of a run that a limit ends."""
    with pytest.raises(ToolLoopLimitReached) as caught:
        run(*args, **options)
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert_whole(trace)
    return trace


def assert_whole(trace: Trace) -> None:
    """Each call has its tool message."""
    asked = [call["id"] for m in trace.messages for call in m.get("tool_calls") or ()]
    assert asked == [m["tool_call_id"] for m in trace.messages if m["role"] == "tool"]


def self_offering(model, limits: Limits, kind: str):
    """A tool that starts a walk which offers it again."""

    def inner(task: str) -> str:
        return run(task, [again], model, limits=limits).answer or ""

    async def awaited(task: str) -> str:
        return inner(task)

    def executed(task: str) -> str:
        tools = ToolRegistry([tool(awaited, name="awaited", description="Does it.")])
        return str(tools.execute("awaited", {"task": task}))

    if kind == "as_tool":
        offered: list = []
        again = as_tool("again", "Does it.", offered, model, limits=limits)
        # The registry of the sub-agent is made from this list when it is called.
        offered.append(again)
        return again
    again = tool(
        {"thread": inner, "async": awaited, "executed": executed}[kind], name="again", description="Does it."
    )
    return again


@pytest.mark.parametrize("side_by_side", [1, 15])
@pytest.mark.parametrize("kind", ["as_tool", "thread", "async", "executed"])
def test_a_sub_agent_that_offers_itself_comes_to_an_end(kind, side_by_side):
    model, limits = Counting(calls(*["again"] * side_by_side)), Limits(turns=2)
    trace = ended("Go.", [self_offering(model, limits, kind)], model, limits=limits)
    assert model.requests < 100
    assert trace.outcome == "loop_limit"


def test_the_default_limits_bound_it_too():
    model = Counting(calls(*["again"] * 15))
    ended("Go.", [self_offering(model, Limits(), "thread")], model)
    assert model.requests < 100


def test_too_deep_a_walk_makes_no_request_and_the_model_reads_why():
    model = Counting(calls("again"), calls("again"), FULL)
    again = self_offering(model, Limits(), "as_tool")
    trace = run("Go.", [again], model, limits=Limits(depth=1))
    # The walk, its sub-agent, whose call goes too deep; then both answer.
    assert model.requests == 4
    child = next(step.record.trace for step in trace.steps if isinstance(step.record, Outcome))
    [error] = [step.record.error for step in child.steps if isinstance(step.record, Outcome)]
    assert "2 levels" in error.message
    assert "depth" in error.message
    assert child.answer == "Done."


def test_depth_0_allows_no_walk_in_a_walk():
    inner = Counting(FULL)
    helper = as_tool("helper", "Helps.", [], inner)
    trace = run("Go.", [helper], Counting(calls("helper"), FULL), limits=Limits(depth=0))
    assert (inner.requests, len(trace.errors)) == (0, 1)


def test_a_parents_seconds_stop_its_sub_agent():
    inner = Counting(calls("look"), wait=0.05)
    helper = as_tool("helper", "Helps.", [look], inner, limits=Limits(turns=1000))
    ended("Go.", [helper], Counting(calls("helper")), limits=Limits(turns=9, seconds=0.3))
    made = inner.requests
    assert made < 1000
    time.sleep(0.2)
    assert inner.requests <= made + 1  # a thread that was given up asks no more


def test_a_sub_agent_whose_model_is_slow_is_given_up():
    inner = Counting(calls("look"), wait=0.6)
    helper = as_tool("helper", "Helps.", [look], inner)
    trace = ended("Go.", [helper], Counting(calls("helper")), limits=Limits(seconds=0.2))
    assert [error.code for error in trace.errors] == ["timeout", "loop_limit"]
    time.sleep(0.6)
    assert inner.requests == 1


def test_a_reply_that_comes_too_late_runs_no_tool():
    ran = []

    @tool
    def act(task: str) -> None:
        """Act."""
        ran.append(task)

    trace = ended("Go.", [act], Counting(calls("act"), wait=0.2), limits=Limits(seconds=0.1))
    assert not ran
    assert trace.errors[0].code == "loop_limit"


def test_a_sub_agents_error_names_the_limit_and_whose_it_is():
    model = Counting(calls("look"), tokens=40)

    helper = as_tool("helper", "Helps.", [look], model, limits=Limits(turns=100))
    parent = Counting(calls("helper"), tokens=10)
    trace = ended("Go.", [helper], parent, limits=Limits(tokens=100))
    [outcome] = [step.record for step in trace.steps if isinstance(step.record, Outcome)]
    assert "the outer walk has reached its limit of tokens" in outcome.error.message
    assert "130 tokens" in outcome.error.message
    assert "no answer after 130 tokens" in trace.error
    assert (parent.requests, model.requests) == (1, 3)
    assert_whole(outcome.trace)


def test_what_a_sub_agent_takes_is_taken_from_its_own_limit_first():
    helper = as_tool("helper", "Helps.", [], Counting(calls("no"), tokens=40), limits=Limits(tokens=30))
    trace = run("Go.", [helper], Counting(calls("helper"), FULL, tokens=10), limits=Limits(tokens=100))
    assert trace.answer == "Done."
    assert "no answer after 40 tokens" in trace.errors[0].message


def test_tokens_that_no_endpoint_counts_are_estimated_and_said_to_be():
    trace = ended("Go.", [], Counting(calls("no")), limits=Limits(tokens=5, turns=50))
    assert "estimated" in trace.error


def test_a_model_with_tools_of_its_own_is_held_too_and_counted_once():
    inner = Counting(calls("look"), calls("look"), FULL, tokens=10)
    trace = run("Go.", [], with_tools(inner, [look]), limits=Limits(tokens=1000))
    assert trace.to_frame()["tokens_in"].sum() == 30
    with pytest.raises(ToolLoopLimitReached, match="the outer walk has reached its limit of tokens"):
        run("Go.", [], with_tools(Counting(calls("look"), tokens=10), [look]), limits=Limits(tokens=15))

    outer = with_tools(Counting(calls("look"), calls("more"), FULL, FULL, tokens=10), [look])
    done = run("Go.", [more], outer, limits=Limits(tokens=31))
    assert done.answer == "Done."


def test_a_walk_beside_another_one_shares_nothing():
    first = walk("Go.", [], Counting(calls("no"), tokens=50), limits=Limits(tokens=60, depth=0))
    next(first)
    next(first)
    assert run("Go.", [], Counting(FULL, tokens=50), limits=Limits(tokens=60)).answer == "Done."


PRICES = {"m": Price(input=2.0, output=10.0), "cheap": Price(input=1.0, output=1.0)}


def test_cost_is_counted_by_the_prices_that_were_given():
    # A million tokens at 2.0 a million: 2.0 a reply.
    trace = ended("Go.", [], Counting(calls("no"), tokens=1_000_000), limits=Limits(cost=3, prices=PRICES))
    assert "no answer after a cost of 4" in trace.error


def test_the_cost_of_a_sub_agent_is_its_callers():
    helper = as_tool("helper", "Helps.", [], Counting(FULL, tokens=5_000_000, name="cheap"))
    trace = ended("Go.", [helper], Counting(calls("helper"), tokens=0), limits=Limits(cost=5, prices=PRICES))
    assert "a cost of 5" in trace.error


def test_cached_input_has_a_price_of_its_own():
    price = Price(input=2.0, output=10.0, cached=0.5)
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}
    assert price.of(usage) == pytest.approx((2 * 2.0 + 8 * 0.5 + 10.0) / 1e6)
    assert Price(2.0, 10.0).of(usage) == pytest.approx((10 * 2.0 + 10.0) / 1e6)


def test_what_is_written_into_a_cache_has_a_price_of_its_own():
    price = Price(input=2.0, output=10.0, cached=0.2, cache_write=2.5)
    details = {"cached_tokens": 5, "cache_write_tokens": 3}
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": details}
    assert price.of(usage) == pytest.approx((2 * 2.0 + 5 * 0.2 + 3 * 2.5 + 10.0) / 1e6)
    assert Price(2.0, 10.0, 0.2).of(usage) == pytest.approx((5 * 2.0 + 5 * 0.2 + 10.0) / 1e6)


USAGES = {
    "chat completions": {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 20},
    },
    "responses": {
        "input_tokens": 100,
        "output_tokens": 30,
        "input_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
        "output_tokens_details": {"reasoning_tokens": 20},
    },
    "anthropic": {
        "input_tokens": 15,
        "cache_read_input_tokens": 80,
        "cache_creation_input_tokens": 5,
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
    },
}


@pytest.mark.parametrize("api", USAGES)
def test_tokens_are_counted_in_the_words_of_each_provider(api):
    usage = USAGES[api]
    trace = run("Go.", [], lambda _: Reply(FULL, usage=usage))
    asked = trace.to_frame().query("step == 'request'").iloc[0]
    names = ("tokens_in", "tokens_cached", "tokens_out", "tokens_reasoning", "tokens_cache_write")
    assert [int(asked[name]) for name in names] == [100, 80, 30, 20, 5]
    assert Tokens.of(usage) == (100, 80, 30, 20, 5)
    assert Tokens.of(Tokens.of(usage).usage) == Tokens.of(usage)

    def model(_: Request) -> Reply:
        return Reply(calls("no"), usage=usage, model="m")

    assert "no answer after 260 tokens" in ended("Go.", [], model, limits=Limits(tokens=150)).error
    prices = {"m": Price(input=1e6, output=1e6, cached=1e5)}  # 20 + 80 / 10 + 30 a reply
    trace = ended("Go.", [], model, limits=Limits(cost=100, prices=prices))
    assert "no answer after a cost of 116" in trace.error


@pytest.mark.parametrize("api", USAGES)
def test_every_view_knows_the_words_of_each_provider(api):
    trace = run("Go.", [], lambda _: Reply(FULL, usage=USAGES[api]))
    page = trace.to_html()
    assert "100, counted by the endpoint" in page
    assert "100 sent, 30 received, counted by the endpoint" in page
    panel = panel_of(Moment(trace, 2))
    assert "+30 tokens, counted by the endpoint" in panel["tabs"]["diff"]["words"]
    counts = {
        name.removeprefix("gen_ai.usage."): value for name, value in trace.to_otel()[1].attributes.items()
    }
    assert (counts["input_tokens"], counts["output_tokens"]) == (100, 30)
    assert (counts["cache_read.input_tokens"], counts["reasoning.output_tokens"]) == (80, 20)
    assert counts["cache_creation.input_tokens"] == 5


def test_counts_that_no_endpoint_gave_are_missing_and_add_up():
    assert Tokens.of(None) == Tokens.of({"prompt_tokens": "7", "prompt_tokens_details": 3}) == Tokens()
    assert Tokens.total([]).known is None
    assert Tokens.total([USAGES["anthropic"], None, {"completion_tokens": 1}]) == (100, 80, 31, 20, 5)


def test_a_model_without_a_price_is_an_error_at_its_first_reply():
    model = Counting(calls("no"), tokens=1, name="other")
    with pytest.raises(
        InvalidInput, match='needs a price for the model "other"; expected m, cheap'
    ) as caught:
        run("Go.", [], model, limits=Limits(cost=1, prices=PRICES))
    assert model.requests == 1
    assert "\n" not in str(caught.value)


NO = float("nan")


@pytest.mark.parametrize(
    "options",
    [
        *(
            {name: value}
            for name in ("turns", "calls_per_turn", "depth", "result_bytes")
            for value in (None, "5")
        ),
        *({name: -1} for name in ("turns", "retries", "depth", "tokens", "cost", "seconds", "result_bytes")),
        *({name: NO} for name in ("turns", "retries", "seconds", "tokens", "cost", "repeats", "requests")),
        *({name: True} for name in ("turns", "retries", "seconds", "tokens", "cost", "repeats", "depth")),
        {"turns": 1.5},
        {"seconds": float("inf")},
        {"seconds": "1"},
        {"repeats": 1},
        {"prices": PRICES["m"]},
        {"prices": {"m": 2.0}},
        {"prices": {}, "cost": 1},
    ],
)
def test_an_option_that_makes_no_sense_is_one_clear_line(options):
    with pytest.raises(
        InvalidInput, match=rf"^Limits\({'prices|' if 'prices' in options else ''}{next(iter(options))}="
    ) as caught:
        Limits(**options)
    assert "\n" not in str(caught.value)


def test_a_cost_needs_prices():
    with pytest.raises(InvalidInput, match=r"Limits\(cost=1\) needs prices"):
        Limits(cost=1)


@pytest.mark.parametrize("given", [(-1, 1), (1, NO), ("1", 1), (True, 1)])
def test_a_price_is_a_number(given):
    with pytest.raises(InvalidInput, match="Price"):
        Price(*given)


def family(tokens=(10, 100)) -> Trace:
    parent, inner = (Counting(calls("helper"), FULL, tokens=tokens[0] // 2), Counting(FULL, tokens=tokens[1]))
    return run("Go.", [as_tool("helper", "Helps.", [], inner)], parent)


def test_tokens_of_sub_agents_are_counted_everywhere(tmp_path):
    trace = family()
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    for one in (trace, loaded):
        frame = one.to_frame()
        assert frame["tokens_in"].sum() == 110
        [delegated] = frame.loc[frame["step"] == "execute", "tokens_in"]
        assert delegated == 100
        assert measure_cost(Run(Case("c", "Go."), one))["tokens_in"] == 110
        assert totals_of(one)["tokens_in"] == 110
        assert "110 sent" in one.to_html()
        assert summary_of(json.loads(run_line(one)))["tokens_in"] == 110
    trace.originals[0] = trace.steps[0].record  # an edited run is kept as events
    assert summary_of(json.loads(run_line(trace)))["tokens_in"] == 110


def test_tokens_of_walks_three_deep_are_counted_once():
    inner = as_tool("inner", "Helps.", [], Counting(FULL, tokens=1000))
    middle = as_tool("middle", "Helps.", [inner], Counting(calls("inner"), FULL, tokens=100))
    trace = run("Go.", [middle], Counting(calls("middle"), FULL, tokens=10))
    assert trace.to_frame()["tokens_in"].sum() == 1220
    assert summary_of(json.loads(run_line(trace)))["tokens_in"] == 1220


def test_result_bytes_cuts_results_and_says_how_to_read_on():
    @tool
    def read() -> str:
        """Read."""
        return "line\n" * 100

    trace = run("Go.", [read], Scripted([[("read", {})], "Done."]), limits=Limits(result_bytes=100))
    [result] = [m["content"] for m in trace.messages if m["role"] == "tool"]
    assert result.count("line\\n") == 20
    assert "the first 100 of 500 bytes" in result
    assert "20 whole lines" in result
    assert "offset" in result
