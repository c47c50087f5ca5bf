"""Sessions of coding agents: branches, agents below them, and answers that were written down in parts."""

import json
from pathlib import Path
from typing import Any

from zoolab import Trace
from zoolab_connect.imported import read_conversations


def read(folder: Path, *lines: Any) -> list[Trace]:
    path = folder / "session.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read_conversations(path)


def said(traces: list[Trace]) -> list[list[Any]]:
    return [[message["content"] for message in trace.messages] for trace in traces]


def not_read(traces: list[Trace]) -> str:
    return "\n".join(line for trace in traces for line in trace.meta.get("not_read", ()))


def line(name: str, before: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of Claude Code; `id` is that of the model's message."""
    message = {"role": role, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return {
        "type": role,
        "uuid": name,
        "parentUuid": before,
        "sessionId": "s",
        "isSidechain": False,
        "message": message,
        **more,
    }


def use(number: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": number, "name": "f", "input": {}}


def gave(number: str, what: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": number, "content": what}


BEGIN = [line("u1", None, "user", "Hi"), line("a1", "u1", "assistant", "Hello", id="m1")]


def test_a_rewind_is_two_conversations(tmp_path: Path):
    traces = read(
        tmp_path,
        *BEGIN,
        line("u2", "a1", "user", "Go"),
        line("a2", "u2", "assistant", "Gone", id="m2"),
        line("u3", "a1", "user", "Stay"),
    )
    assert said(traces) == [["Hi", "Hello", "Go", "Gone"], ["Hi", "Hello", "Stay"]]


def test_each_agent_below_a_session_is_a_conversation(tmp_path: Path):
    one, two = ({"isSidechain": True, "agentId": name} for name in "AB")
    traces = read(
        tmp_path,
        line("s1", None, "user", "One", **one),
        line("t1", None, "user", "Two", **two),
        line("s2", "s1", "assistant", "1", id="m1", **one),
        line("t2", "t1", "assistant", "2", id="m2", **two),
    )
    assert said(traces) == [["One", "1"], ["Two", "2"]]
    assert [(trace.meta["agent"], trace.meta["sidechain"]) for trace in traces] == [("A", True), ("B", True)]


def test_agents_without_names_are_told_apart_by_their_first_lines(tmp_path: Path):
    beside = {"isSidechain": True}
    traces = read(
        tmp_path,
        *BEGIN,
        line("s1", "a1", "user", "One", **beside),
        line("t1", None, "user", "Two", **beside),
        line("s2", "s1", "assistant", "1", id="m2", **beside),
        line("t2", "t1", "assistant", "2", id="m3", **beside),
    )
    assert said(traces) == [["Hi", "Hello"], ["One", "1"], ["Two", "2"]]


def test_a_stream_of_lines_tells_agents_by_the_calls_that_began_them(tmp_path: Path):
    def streamed(role: str, content: Any, call: str | None) -> dict[str, Any]:
        message = {"role": role, "content": content}
        return {"type": role, "message": message, "session_id": "s", "parent_tool_use_id": call}

    traces = read(
        tmp_path,
        streamed("assistant", [use("c1")], None),
        streamed("user", "Below", "c1"),
        streamed("user", [gave("c1", "done")], None),
        streamed("assistant", "Ready", "c1"),
    )
    assert said(traces) == [["", "done"], ["Below", "Ready"]]


def test_results_between_the_lines_of_one_message_stand_after_it(tmp_path: Path):
    [trace] = read(
        tmp_path,
        BEGIN[0],
        line("a1", "u1", "assistant", [{"type": "text", "text": "I look."}], id="m1"),
        line("a2", "a1", "assistant", [use("c1")], id="m1"),
        line("r1", "a2", "user", [gave("c1", "one")]),
        line("a3", "a2", "assistant", [use("c2")], id="m1"),
        line("r2", "a3", "user", [gave("c2", "two")]),
        line("a4", "r2", "assistant", "Done", id="m2"),
        line("a5", "a4", "assistant", "Indeed", id="m3"),
    )
    assert said([trace]) == [["Hi", "I look.", "one", "two", "Done", "Indeed"]]
    assert [call["id"] for call in trace.messages[1]["tool_calls"]] == ["c1", "c2"]


def test_a_message_that_was_cut_is_no_answer(tmp_path: Path):
    cut = line("a1", "u1", "assistant", "Hel", id="m1")
    cut["message"]["stop_reason"] = "max_tokens"
    thought = line("a0", "u1", "assistant", [{"type": "thinking", "thinking": "Hm."}], id="m1")
    [trace] = read(tmp_path, BEGIN[0], thought, {**cut, "parentUuid": "a0"})
    assert trace.outcome == "cut"


def test_an_error_of_the_api_is_no_answer(tmp_path: Path):
    failed = line("e1", "u1", "assistant", "API Error: 529", id="e", isApiErrorMessage=True)
    [trace] = read(tmp_path, BEGIN[0], failed)
    assert said([trace]) == [["Hi"]]
    assert (trace.outcome, trace.error) == ("failed", "API Error: 529")
    assert 'value 2: an error of the API, not an answer: "API Error: 529"' in not_read([trace])
    [trace] = read(tmp_path, BEGIN[0], failed, line("a1", "e1", "assistant", "Hello", id="m1"))
    assert (said([trace]), trace.outcome) == ([["Hi", "Hello"]], "answer")


def test_lines_without_messages_are_named_and_do_not_break_the_chain(tmp_path: Path):
    hook = {"type": "progress", "uuid": "p", "parentUuid": "u1", "sessionId": "s"}
    traces = read(tmp_path, BEGIN[0], hook, line("a1", "p", "assistant", "Hello", id="m1"))
    assert said(traces) == [["Hi", "Hello"]]
    assert "value 2: progress: it is no message" in not_read(traces)


def test_a_line_whose_beginning_is_elsewhere_is_named(tmp_path: Path):
    traces = read(tmp_path, BEGIN[0], line("a1", "gone", "assistant", "Hello", id="m1"))
    assert said(traces) == [["Hi", "Hello"]]
    assert "value 2: the line before it is not in the file" in not_read(traces)


def test_lines_that_a_resumed_session_repeats_are_shown_once(tmp_path: Path):
    resumed = {"sessionId": "t"}
    again = [{**each, **resumed} for each in BEGIN]
    traces = read(tmp_path, *BEGIN, *again, line("u2", "a1", "user", "More", **resumed))
    assert said(traces) == [["Hi", "Hello", "More"]]
    assert "2 lines stand there twice" in not_read(traces)


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


META = {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "You code."}}}
CALL = item(type="function_call", name="shell", arguments='{"command":"ls"}', call_id="c1")


def test_a_session_of_codex_is_a_conversation(tmp_path: Path):
    thought = {"summary": [{"type": "summary_text", "text": "Look."}], "content": None}
    [trace] = read(
        tmp_path,
        META,
        {"type": "turn_context", "payload": {"model": "m"}},
        words("user", "Hi"),
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Hi"}},
        item(type="reasoning", **thought, encrypted_content="x"),
        CALL,
        item(type="function_call_output", call_id="c1", output="a.txt"),
        item(type="custom_tool_call", call_id="c2", name="apply_patch", input="+1"),
        item(type="custom_tool_call_output", call_id="c2", output="patched"),
        words("assistant", "Done"),
    )
    roles = [message["role"] for message in trace.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    asked = [call["function"]["name"] for m in trace.messages for call in m.get("tool_calls", ())]
    assert (asked, trace.answer) == (["shell", "apply_patch"], "Done")
    assert (trace.meta["session"], trace.meta["model"]) == ("s", "m")
    assert "event_msg user_message: it is no message" in not_read([trace])


def test_an_older_session_of_codex_is_a_conversation(tmp_path: Path):
    traces = read(
        tmp_path,
        {"id": "s", "timestamp": "t", "instructions": "Be brief.", "git": {}},
        {"record_type": "state"},
        words("user", "Hi")["payload"],
        CALL["payload"],
        item(type="function_call_output", call_id="c1", output="a.txt")["payload"],
        {"record_type": "state"},
        words("assistant", "Done")["payload"],
    )
    assert said(traces) == [["Be brief.", "Hi", "", "a.txt", "Done"]]
    assert traces[0].meta["session"] == "s"
    assert traces[0].meta["not_read"] == ["record_type state: it is no message; number of lines: 2"]


def test_what_a_session_of_codex_cannot_show_is_named(tmp_path: Path):
    search = item(type="web_search_call", action={"query": "rain"})
    condensed = {"type": "compacted", "payload": {"message": "They talked."}}
    hidden = item(type="reasoning", summary=[], encrypted_content="x")
    traces = read(tmp_path, META, words("user", "Hi"), search, condensed, hidden)
    for named in ("web_search_call", "They talked.", "a reasoning is hidden"):
        assert named in not_read(traces)


def test_a_session_of_codex_that_broke_off_says_why(tmp_path: Path):
    stopped = {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}
    [trace] = read(tmp_path, META, words("user", "Hi"), stopped)
    assert (trace.outcome, trace.error) == ("failed", "interrupted")
    [trace] = read(tmp_path, META, words("user", "Hi"), stopped, words("assistant", "Hello"))
    assert trace.outcome == "answer"


def test_a_forked_session_of_codex_is_one_and_two_in_a_file_are_two(tmp_path: Path):
    other = {"type": "session_meta", "payload": {"id": "t"}}
    traces = read(tmp_path, META, other, words("user", "Hi"), other, words("user", "Ho"))
    assert said(traces) == [["You code.", "Hi"], ["Ho"]]


def test_what_codex_exec_prints_is_read(tmp_path: Path):
    def event(kind: str, number: str, **told: Any) -> dict[str, Any]:
        return {"type": f"item.{kind}", "item": {"id": number, **told}}

    command = {"type": "command_execution", "command": "ls"}
    search = {"type": "mcp_tool_call", "server": "web", "tool": "search", "arguments": {"q": "rain"}}
    [trace] = read(
        tmp_path,
        {"type": "thread.started", "thread_id": "x"},
        event("started", "0", **command, aggregated_output="", exit_code=None),
        event("completed", "0", **command, aggregated_output="a.txt", exit_code=0),
        event("started", "1", type="todo_list", items=[{"text": "Look"}]),
        event("completed", "2", **command, aggregated_output="no", exit_code=1),
        event("completed", "3", type="agent_message", text="Done"),
        event("started", "4", **search),
        {"type": "turn.failed", "error": {"message": "too many"}},
    )
    failed = '{"aggregated_output":"no","exit_code":1}'
    assert said([trace]) == [["", "a.txt", "", failed, "Done"]]
    assert trace.messages[-1]["tool_calls"][0]["function"]["name"] == "web.search"
    assert (trace.outcome, trace.error) == ("failed", "too many")
    for named in ("todo_list, not shown", "what the user asked"):
        assert named in not_read([trace])
