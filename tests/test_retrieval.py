"""Tool retrieval: which tools a request offers, which it leaves out, and why."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab import Scripted, Tool, ToolRegistry, Trace, run
from zoolab.errors import InvalidInput
from zoolab.records import Request
from zoolab.retrieval import BM25, Embeddings, pick_tools
from zoolab.toolbox.devops import devops_tools
from zoolab.toolbox.security import security_tools
from zoolab.toolbox.support import support_tools

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
    assert done.stdout == "Embeddings needs the package wordllama; pip install wordllama\n"
