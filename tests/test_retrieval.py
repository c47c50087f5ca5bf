"""Tool retrieval: which tools a request offers, which it leaves out, and why."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from zoolab import Limits, Outcome, Scripted, Tool, ToolRegistry, Trace, run, walk
from zoolab.errors import InvalidInput
from zoolab.records import Request
from zoolab.retrieval import BM25, Embeddings, words_of
from zoolab.tool_search import pick_tools
from zoolab.trace.log import drive
from zoolab_course.worlds.devops import devops_tools
from zoolab_course.worlds.security import security_tools
from zoolab_course.worlds.support import support_tools

TOOLS = ToolRegistry([*devops_tools(), *support_tools(), *security_tools()])
SCHEMA = {"type": "object", "properties": {}}


def offered(request: Request) -> list[str]:
    return [tool["function"]["name"] for tool in request.tools]


def requests(trace: Trace) -> list[Request]:
    return [step.record for step in trace.steps if isinstance(step.record, Request)]


@pytest.mark.parametrize("retriever", [BM25(k=3), Embeddings(k=3)])
@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How full is the disk of db01?", "check_disk_usage"),
        ("Please restart the nginx service.", "restart_service"),
        ("Ping the host db01.", "ping"),
    ],
)
def test_the_tool_that_fits_is_among_the_few_that_are_sent(retriever, question, wanted):
    request = requests(run(question, TOOLS, Scripted(["Done."]), retrieve=retriever))[0]
    assert wanted in offered(request)
    assert len(request.tools) == 3
    assert {*offered(request), *(tool.name for tool in request.withheld)} == set(TOOLS.names())
    assert str(request.withheld[0]).endswith(f": rank 4 of {len(TOOLS)}, the best 3 are sent")


def test_embeddings_find_what_shares_no_word():
    texts = ["Ping a host.", "Refund orders.", "Forecast temperatures."]
    for question, wanted in [("I want my money back.", 1), ("What does the weather look like?", 2)]:
        scores = Embeddings().scores(question, texts)
        assert scores.index(max(scores)) == wanted
        assert BM25().scores(question, texts)[wanted] == 0


def test_tools_are_sent_in_the_order_of_the_registry():
    request = requests(run("Ping db01, then trace it.", TOOLS, Scripted(["Done."]), retrieve=BM25(5)))[0]
    order = TOOLS.names()
    assert offered(request) == sorted(offered(request), key=order.index)


def test_a_small_registry_is_sent_whole():
    request = requests(run("Hi", TOOLS, Scripted(["Hello."]), retrieve=BM25(k=100)))[0]
    assert offered(request) == TOOLS.names()
    assert request.withheld == ()


def test_a_tool_that_was_called_is_sent_again():
    model = Scripted([[("ping", {"host": "db01"})], "It is up."])
    first, second = requests(run("Is the disk full?", TOOLS, model, retrieve=BM25(k=1)))
    assert offered(first) == ["check_disk_usage"]
    assert offered(second) == ["ping"]


def test_a_forced_tool_is_sent():
    model = Scripted([[("ping", {"host": "db01"})], "It is up."])
    trace = run("Is the disk full?", TOOLS, model, retrieve=BM25(k=1), tool_choice="ping")
    assert offered(requests(trace)[0]) == ["ping"]


def test_a_withheld_tool_that_is_called_all_the_same_runs_as_the_policy_says():
    model = Scripted([[("restart_service", {"service": "cron"})], "Done."])
    trace = run("Is the disk full?", TOOLS, model, retrieve=BM25(k=1))
    assert [error.code for error in trace.errors] == ["permission_denied"]


def test_in_text_mode_the_system_prompt_describes_the_picked_tools_alone():
    trace = run("Is the disk full?", TOOLS, Scripted(["Yes."]), retrieve=BM25(k=1), calls="text")
    request = requests(trace)[0]
    assert "check_disk_usage" in request.messages[0]["content"]
    assert "restart_service" not in request.messages[0]["content"]
    assert len(request.withheld) == len(TOOLS) - 1


def test_what_was_withheld_is_saved_with_the_trace(tmp_path):
    trace = run("Is the disk full?", TOOLS, Scripted(["Yes."]), retrieve=BM25(k=2))
    loaded = Trace.load(trace.save(tmp_path / "trace.jsonl"))
    assert requests(loaded)[0].withheld == requests(trace)[0].withheld
    assert loaded == trace


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=12), st.integers(1, 6))
def test_any_question_and_any_descriptions_have_a_pick(question, descriptions, k):
    tools = ToolRegistry(Tool(f"t{i}", text, SCHEMA) for i, text in enumerate(descriptions))
    messages = [{"role": "user", "content": question}]
    for retriever in (BM25(k), Embeddings(k)):
        picked, withheld = pick_tools(retriever, messages, tools)
        names = [tool.name for tool in picked]
        assert len(picked) == min(k, len(tools))
        assert sorted([*names, *(tool.name for tool in withheld)]) == sorted(tools.names())


@pytest.mark.parametrize("k", [0, -1, True, 2.5, "8", None])
@pytest.mark.parametrize("kind", [BM25, Embeddings])
def test_a_number_that_is_none_is_refused(kind, k):
    with pytest.raises(InvalidInput, match="expected a number of tools, at least 1"):
        kind(k)


def test_a_retriever_of_ones_own_is_a_number_and_one_method():
    class Shortest:
        k = 1

        def scores(self, query, texts):
            return [-len(text) - len(query) for text in texts]

    tools = [Tool("long", "A tool with a long description.", SCHEMA), Tool("short", "Short.", SCHEMA)]
    request = requests(run("Hi", tools, Scripted(["Hello."]), retrieve=Shortest()))[0]
    assert offered(request) == ["short"]


def test_without_the_package_the_error_says_what_to_install():
    code = """
import sys
sys.modules["wordllama"] = None
from zoolab.errors import InvalidInput
from zoolab.retrieval import BM25, Embeddings
try:
    Embeddings()
except InvalidInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "this needs wordllama; run: pip install 'zoolab[embed]'\n"


ASKS = [("find_tools", {"query": "restart a service"})]
CALLS = [("restart_service", {"service": "nginx", "host": "db01"})]


@pytest.mark.parametrize("envelope", ["json", "plain"])
@pytest.mark.parametrize("retriever", [BM25(k=2), Embeddings(k=2)])
def test_the_model_itself_asks_for_more_tools(retriever, envelope, tmp_path):
    options = {"retrieve": retriever, "find_tools": True, "envelope": envelope}
    trace = run("Ping the host db01.", TOOLS, Scripted([ASKS, CALLS, "Done."]), **options)
    first, second, third = map(offered, requests(trace))
    assert (len(first), "find_tools" in first, "restart_service" in first) == (3, True, False)
    assert {*first, "restart_service"} <= set(second)
    assert len(second) <= 5
    assert "restart_service" in third
    assert trace.tool_calls[0].name == "find_tools"
    found = next(step.record.value for step in trace.steps if step.kind == "execute")
    assert [set(each) for each in found] == [{"name", "description", "parameters"}] * 2
    assert "restart_service" in [each["name"] for each in found]
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert loaded == trace
    assert requests(loaded)[1].withheld == requests(trace)[1].withheld


def test_a_fork_and_an_edited_result_offer_what_the_result_says():
    options = {"retrieve": BM25(k=1), "find_tools": True, "envelope": "plain"}
    trace = run("Ping the host db01.", TOOLS, Scripted([ASKS, "Done."]), **options)
    seq = next(seq for seq, step in enumerate(trace.steps) if step.kind == "execute")
    for edit, more in ([{"name": "check_disk_usage"}], {"check_disk_usage"}), ("broken", set()):
        child = trace.fork(seq, Outcome(edit), model=Scripted(["Done."]))
        assert set(offered(requests(child)[1])) == {"ping", "find_tools", *more}
    again = trace.fork(0, model=Scripted([ASKS, "Done."]))
    assert [offered(one) for one in requests(again)] == [offered(one) for one in requests(trace)]


def test_tools_that_replace_the_others_are_searched():
    steps = walk("Hi", TOOLS, Scripted([ASKS, "Done."]), retrieve=BM25(k=1), find_tools=True)
    trace = drive(
        Trace(), steps, lambda step: ToolRegistry(support_tools()) if step.kind == "define" else None
    )
    found = next(step.record.value for step in trace.steps if step.kind == "execute")
    assert found[0]["name"] in {tool.name for tool in support_tools()}


def test_a_model_that_calls_in_text_finds_them_too():
    asks = '{"name": "find_tools", "arguments": {"query": "restart a service"}}'
    calls = '{"name": "restart_service", "arguments": {"service": "nginx", "host": "db01"}}'
    options = {"retrieve": BM25(k=1), "find_tools": True, "calls": "text"}
    trace = run("Ping the host db01.", TOOLS, Scripted([asks, calls, "Done."]), **options)
    found = next(step.record.value for step in trace.steps if step.kind == "execute")
    assert found[0]["parameters"] == TOOLS["restart_service"].parameters
    assert "find_tools" in trace.messages[0]["content"]


def test_a_search_that_cannot_be_is_refused_and_without_it_nothing_changes():
    with pytest.raises(InvalidInput, match="find_tools needs retrieve"):
        walk("Hi", TOOLS, Scripted([]), find_tools=True)
    own = ToolRegistry([Tool("find_tools", "Mine.", SCHEMA, lambda: [{"name": "ping"}]), *TOOLS])
    with pytest.raises(InvalidInput, match="a tool is named find_tools already"):
        walk("Hi", own, Scripted([]), retrieve=BM25(k=1), find_tools=True)
    trace = run("Refund it.", own, Scripted([[("find_tools", {})], "Done."]), retrieve=BM25(k=1))
    assert "ping" not in offered(requests(trace)[1]), "another tool of that name offers nothing"


def test_a_tool_is_denied_in_the_middle_of_a_walk_with_a_search_too():
    tools = ToolRegistry(devops_tools())
    steps = walk("Ping.", tools, Scripted([CALLS, "Done."]), retrieve=BM25(k=1), find_tools=True)
    next(steps)
    tools.deny("restart_service")
    assert "permission_denied" in [step.error_code for step in steps]


@pytest.mark.parametrize("envelope", ["json", "plain"])
def test_what_was_found_is_offered_although_the_result_was_cut(envelope):
    options = {"retrieve": BM25(k=1), "find_tools": True, "limits": Limits(result_bytes=90)}
    trace = run("Ping the host db01.", TOOLS, Scripted([ASKS, "Done."]), envelope=envelope, **options)
    assert "[cut:" in trace.messages[-2]["content"]
    assert "restart_service" in offered(requests(trace)[1])


@given(
    st.lists(st.lists(st.sampled_from(["disk", "host", "ping", "mail", "restart"]), max_size=6), min_size=1),
    st.lists(st.sampled_from(["disk", "host", "ping", "unknown"]), min_size=1, max_size=3),
)
def test_bm25_scores_as_the_library_rank_bm25_does(texts, asked):
    words = [words_of(" ".join(text)) or [""] for text in texts]
    known = {word for found in words for word in found}
    theirs = BM25Okapi(words).get_scores(sorted(set(words_of(" ".join(asked)))))
    expected = theirs if known & set(words_of(" ".join(asked))) else [0.0] * len(texts)
    found = BM25().scores(" ".join(asked), [" ".join(text) for text in texts])
    assert found == pytest.approx(list(expected), abs=1e-12)
