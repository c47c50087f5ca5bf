"""What is given to a walk: natural variants work, and what cannot work is one clear line at the start."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest

from zoolab import (
    Decision,
    Limits,
    OpenAIModel,
    Outcome,
    Policy,
    Reply,
    Request,
    Scripted,
    Tool,
    ToolRegistry,
    run,
    tool,
    walk,
    with_tools,
)
from zoolab.errors import InvalidInput, InvalidSchema, InvalidToolSignature, ModelError, PermissionDenied
from zoolab.repair import RuleRepair
from zoolab.retrieval import BM25
from zoolab.toolbox.starter import starter_tools


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


ASKS = [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("deny", "add"),
        ("deny", ["ad"]),
        ("deny", 5),
        ("policy", "allow"),
        ("policy", Policy),
        ("limits", 3),
        ("limits", Limits),
        ("repair", RuleRepair),
        ("repair", "rules"),
        ("retrieve", BM25),
        ("retrieve", 8),
        ("calls", "txt"),
        ("envelope", "xml"),
        ("tool_choice", {"type": "function", "function": {"name": "add"}}),
        ("tool_choice", None),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_asked(name, given):
    asked = []
    model = Scripted([lambda request: asked.append(request) or "Hello."])
    with pytest.raises(InvalidInput, match=f"{name}.*; expected"):
        run("Hi", [add], model, **{name: given})
    assert asked == []


@pytest.mark.parametrize("model", [None, "gpt", Scripted])
def test_a_model_is_something_to_call(model):
    with pytest.raises(InvalidInput, match=r"model is .*; expected something to call with a Request"):
        run("Hi", [add], model)


@pytest.mark.parametrize("deny", [["add"], {"add"}, [add], ("add",)])
def test_tools_are_denied_by_name_or_as_themselves(deny):
    trace = run("1 + 2?", [add], Scripted([ASKS, "?"]), deny=deny)
    assert [error.code for error in trace.errors] == ["permission_denied"]
    assert run("1 + 2?", [add], Scripted([ASKS, "3"]), deny=None).errors == []


def test_what_is_denied_is_denied_to_call_tool_as_well():
    with pytest.raises(PermissionDenied, match="remove the tool from deny="):
        with_tools(Scripted([]), [add], deny=["add"]).call_tool("add", {"a": 1, "b": 2})


def test_remember_is_always_and_other_words_are_none():
    with pytest.raises(InvalidInput, match='say "always"'):
        Decision("remember")
    for word in ("allow", "yes", "ONCE", ""):
        with pytest.raises(InvalidInput, match="expected once, session, always, deny, pending"):
            Decision(word)


def test_a_choice_of_no_tool_is_kept_by_the_loop_where_the_model_does_not():
    for calls in ("native", "text"):
        trace = run("1 + 2?", [add], Scripted([ASKS, "3"]), tool_choice="none", calls=calls)
        assert not any(isinstance(step.record, Outcome) and step.record.ok for step in trace.steps)
    assert "add" not in str(trace.messages[0])
    assert [error.code for error in run("?", [add], Scripted([ASKS, "3"]), tool_choice="none").errors] == [
        "permission_denied"
    ]


@pytest.mark.parametrize(
    ("choice", "said"), [("required", "Begin with a call of one"), ("add", "Begin with a call of add.")]
)
def test_a_forced_choice_is_said_in_text_as_well(choice, said):
    trace = run("1 + 2?", [add], Scripted(["3"]), tool_choice=choice, calls="text")
    assert said in trace.messages[0]["content"]


def test_the_choice_any_is_refused_and_names_the_word_to_say():
    with pytest.raises(InvalidInput, match='say "required"'):
        run("1 + 2?", [add], Scripted(["3"]), tool_choice="any")
    with pytest.raises(InvalidInput, match='say "required"'):
        Request([{"role": "user", "content": "Hi"}], tuple(ToolRegistry([add]).schemas()), "any")
    offered = tuple(ToolRegistry([tool(lambda: 1, name="any")]).schemas())
    assert Request([], offered, "any").tool_choice == "any", "a tool may be named so"


class Now:
    def descriptor(self):
        return {"name": "now", "description": "The time.", "parameters": {"type": "object"}}

    async def call(self, arguments):
        await asyncio.sleep(0)
        return arguments.get("when", "noon")


def test_objects_with_a_descriptor_are_tools_wherever_tools_are():
    for tools in (ToolRegistry([Now()]), ToolRegistry([tool(Now())])):
        assert tools.execute("now", {}) == "noon"
    assert with_tools(Scripted([]), [Now()]).call_tool("now", {}) == "noon"


def test_awaited_tools_run_from_a_running_loop_too():
    async def notebook():
        return ToolRegistry([Now()]).execute("now", {})

    assert asyncio.run(notebook()) == "noon"


@pytest.mark.parametrize("arguments", [None, "", '{"a": 1}', [1]])
def test_arguments_of_execute_are_a_dict(arguments):
    with pytest.raises(InvalidInput, match="expected a dict"):
        ToolRegistry([add]).execute("add", arguments)


def test_a_builder_refuses_what_would_fail_at_the_first_call():
    with pytest.raises(InvalidToolSignature, match="two parameters are named 'q'"):
        Tool.build("f", "F.").param("q", "string").param("q", "string")
    with pytest.raises(InvalidToolSignature, match="the function does not accept these parameters"):
        Tool.build("f", "F.").param("q", "string").call(lambda z: z)
    with pytest.raises(InvalidToolSignature, match="the function does not accept these parameters"):
        Tool.build("f", "F.").param_opt("q", "string").call(lambda q: q)
    with pytest.raises(InvalidSchema):
        Tool.build("f", "F.").param("q", "strin").call(lambda q: q)


def test_text_in_parts_is_text():
    parts = [{"type": "text", "text": "It is "}, {"type": "image_url"}, {"type": "text", "text": "3."}]
    reply = Reply({"role": "assistant", "content": parts})
    assert (reply.text, run("?", [], lambda _: reply).answer) == ("It is 3.", "It is 3.")


def test_our_own_refusal_is_not_marked_as_data_from_outside():
    forum = Tool("forum", "Read.", {"type": "object"}, lambda: "x", risk="high", untrusted="a forum")
    trace = run("Read.", [forum], Scripted([[("forum", {})], "No."]))
    assert "untrusted data" not in trace.messages[2]["content"]


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_forced_call_that_did_not_come_is_a_missing_call(choice):
    found = run("3 + 4?", [add], Scripted(["7"]), tool_choice=choice).diagnose()
    assert found[0].code == "no_tool_call"
    assert found[0].evidence[0].startswith("tool_choice was ")


def test_a_word_is_not_the_name_of_a_tool():
    assert run("Hi", [add], Scripted(["In addition, I add: hello!"])).diagnose() == []
    assert run("Hi", [add], Scripted(["I would call add(1, 2)."])).diagnose()[0].code == "no_tool_call"
    status = starter_tools("check_status")
    assert run("Hi", status, Scripted(["Use check_status."])).diagnose()[0].code == "no_tool_call"


def test_a_server_on_this_machine_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert OpenAIModel("m").client.api_key == "none"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1.example.com/v1")
    with pytest.raises(ModelError, match="no API key"):
        OpenAIModel("m")


def test_embeddings_leave_logging_as_it_was():
    code = "import logging; from zoolab.retrieval import Embeddings; Embeddings().scores('a', ['b'])"
    code += "; print(logging.getLogger().level, logging.getLogger().handlers)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{logging.WARNING} []\n", "")


def test_a_walk_is_checked_when_it_begins():
    with pytest.raises(InvalidInput):
        next(walk("Hi", [add], Scripted([]), deny="add"))
