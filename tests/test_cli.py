"""The command line: what it prints, what it keeps, and one line for whatever goes wrong."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from server import Answer, TestServer, call, calling, completion, refused_url, serving
from shell import ESCAPE, HOSTILE, KEY, Ran, Shell, live

from zoolab import Trace, plugins
from zoolab.commands import cli
from zoolab.records import KINDS
from zoolab.toolbox.starter import TOOLS
from zoolab_connect.providers import PROVIDERS


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    for name in ("OPENAI_BASE_URL", "ZOOLAB_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ZOOLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.fixture
def hundred() -> Iterator[TestServer]:
    with serving(completion(calling(call("add", '{"a": 42, "b": 58}'))), completion("100")) as server:
        yield server


def check_failure(ran: Ran, told: str, code: int = 2) -> None:
    assert re.fullmatch(r"zoolab: [^\n]+\n", ran.err), ran.err
    assert re.search(told, ran.err), ran.err
    assert (ran.code, "Traceback" in ran.out, KEY in ran.out + ran.err) == (code, False, False)


def test_a_walk_shows_the_six_steps_in_order_and_the_answer(zoo: Shell) -> None:
    ran = zoo("walk")
    shown = re.findall(r"^ *\d+  (\w+)", ran.out, re.MULTILINE)
    assert (ran.code, ran.err) == (0, "")
    assert tuple(dict.fromkeys(shown)) == KINDS
    assert shown == [
        "define",
        "request",
        "tool_call",
        "validate",
        "execute",
        "result",
        "request",
        "tool_call",
    ]
    assert "What is 42 + 58?" in ran.out
    assert "the answer: The result of the addition is 100." in ran.out
    assert ran.out.startswith("recorded: Qwen2.5-Coder-1.5B-Instruct")
    assert ESCAPE not in ran.out


def test_a_streamed_walk_says_who_cut_it(zoo: Shell) -> None:
    ran = zoo("walk", "--stream")
    assert (ran.code, "The result of the addition is 100." in ran.out) == (0, True)
    assert "the pieces are cut by zoolab" in ran.out.splitlines()[0]


def test_json_is_a_trace(zoo: Shell, tmp_path: Path) -> None:
    ran = zoo("walk", "--json")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert {event["event"] for event in events} >= {"trace", "message", "step", "end"}
    (tmp_path / "t.jsonl").write_text(ran.out, encoding="utf-8")
    assert Trace.load(tmp_path / "t.jsonl").answer == "The result of the addition is 100."


def test_a_saved_trace_is_shown_again(zoo: Shell, tmp_path: Path) -> None:
    walked = zoo("walk", "--save", "t.jsonl", "--html", "t.html")
    shown = zoo("walk", "--load", "t.jsonl")
    assert (walked.code, shown.code, shown.err) == (0, 0, "")
    assert shown.out.splitlines() == walked.out.splitlines()[1:]
    assert "The result of the addition is 100." in (tmp_path / "t.html").read_text(encoding="utf-8")
    assert zoo("walk", "--load", "t.jsonl", "--json").out == (tmp_path / "t.jsonl").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("recording", ["starter", "authored"])
def test_what_is_listed_can_be_walked(zoo: Shell, recording: str) -> None:
    listed = zoo("walk", "--list", "--recording", recording)
    made, *lines = listed.out.splitlines()
    assert made.startswith(f"{recording}.jsonl: {'recorded' if recording == 'starter' else 'authored'}, ")
    assert zoo(*shlex.split(lines[0])[1:], "--yes").code == 0


def test_the_list_names_each_model_and_what_it_prints_is_answered_by_it(zoo: Shell) -> None:
    parts = re.split(r"^(\S+): recorded, (\w+).*\n", zoo("walk", "--list").out, flags=re.MULTILINE)[1:]
    files, models, commands = parts[::3], parts[1::3], parts[2::3]
    assert (files[0], dict.fromkeys(models)) == ("starter.jsonl", dict.fromkeys(["Needle", "Qwen2"]))
    for file, lines in zip(files, commands, strict=True):
        [*others, last] = lines.splitlines()
        first = next((line for line in others if "42 + 58" in line), last)
        ran = zoo(*shlex.split(first)[1:], "--yes")
        assert (ran.code < 2, f"({file})" in ran.out.splitlines()[0]) == (True, True)


def test_the_walk_of_the_readme_is_what_it_shows(zoo: Shell) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    shown = readme.partition('start.py walk "What is 42 + 58?"\n      ...\n')[2].partition("\n\n")[0]
    lines = [line.strip() for line in shown.splitlines() if line.strip() != "..."]
    out = zoo("walk", "What is 42 + 58?").out
    told = iter(re.sub(r"returned 100 in [\d.]+ ms", "returned 100 in 0.0 ms", out).splitlines())
    assert len(lines) > 10
    assert [line for line in lines if line not in map(str.strip, told)] == []


def test_a_prompt_of_qwen_is_answered_with_the_tools_of_its_conversation(zoo: Shell) -> None:
    ran = zoo("walk", "Multiply 7 by 6, then add 8.")
    calls = re.findall(r"the Python call: (.+)", ran.out)
    assert (ran.code, calls[:2]) == (1, ["multiply(a=7, b=6)", "add(a=42, b=8)"])
    assert ran.err == "zoolab: the run ended with empty: the reply is empty (stop)\n"
    assert ran.out.startswith("recorded: Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)")


@pytest.mark.parametrize(
    ("chosen", "told", "code"),
    [
        ("qwen-tasks", "5 tools: add, multiply, get_weather, get_time, convert_length", 1),
        ("qwen-tasks-system", "system: Use the tools where they help.", 0),
    ],
)
def test_a_recording_that_is_named_answers(zoo: Shell, chosen: str, told: str, code: int) -> None:
    ran = zoo("walk", "Multiply 7 by 6, then add 8.", "--recording", chosen)
    assert (ran.code, told in ran.out, f"({chosen}.jsonl.gz)" in ran.out) == (code, True, True)


def test_a_live_model_gets_the_tools_of_the_recorded_conversation(zoo: Shell, hundred: TestServer) -> None:
    assert zoo("walk", "Check the data quality of orders and of customers.", *live(hundred)).code == 0
    offered = [tool["function"]["name"] for tool in hundred.bodies[0]["tools"]]
    assert offered == ["sql_select", "describe_table", "check_data_quality"]


def test_a_conversation_among_several_is_chosen_by_its_tools(zoo: Shell) -> None:
    ran = zoo("walk", "Is nginx running?", "--tools", "starter")
    check_failure(ran, "starter.jsonl holds no such request")
    assert "define            1 tool: add" in zoo("walk", "--tools", "add").out


def test_a_live_endpoint_is_asked_and_named(zoo: Shell, hundred: TestServer) -> None:
    ran = zoo("walk", *live(hundred), "--tools", "add", "--system", "Be brief.")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"live: test at {hundred.url}/"
    assert hundred.bodies[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [tool["function"]["name"] for tool in hundred.bodies[0]["tools"]] == ["add"]


def test_a_call_in_the_text_is_named_and_read_with_calls_auto(zoo: Shell) -> None:
    text = '{"name": "add", "arguments": {"a": 42, "b": 58}}'
    said = [completion({"role": "assistant", "content": each}) for each in (text, text, "It is 100.")]
    with serving(*said) as server:
        plain = zoo("walk", *live(server), "--tools", "add")
        read = zoo("walk", *live(server), "--tools", "add", "--calls", "auto")
    assert (plain.code, read.code, read.err) == (0, 0, "")
    assert plain.err.startswith(
        "zoolab: the model answered without a call: the answer holds a call as text: "
    )
    assert "zoolab walk --calls auto" in plain.err
    assert "add(a=42, b=58)" in read.out
    assert "It is 100." in read.out


@pytest.mark.parametrize(("option", "allowed"), [((), False), (("--yes",), True)])
def test_nobody_there_means_no_unless_yes(zoo: Shell, option: tuple[str, ...], allowed: bool) -> None:
    asks = calling(call("restart_service", '{"service": "cron"}'))
    with serving(completion(asks), completion("Well.")) as server:
        ran = zoo("walk", "Restart cron.", *live(server), "--tools", "restart_service", *option)
    assert ran.code == 0
    assert ("cron was restarted" in ran.out) is allowed
    assert ("permission_denied" in ran.out) is not allowed
    # The person is told of --yes, and the model is not.
    assert ("zoolab: nobody is there to allow restart_service; with --yes it runs" in ran.err) is not allowed
    assert "--yes" not in ran.out


def restarting(zoo: Shell, *options: str) -> Ran:
    """A walk whose model wants cron restarted."""
    asks = calling(call("restart_service", '{"service": "cron"}'))
    with serving(completion(asks), completion("Well.")) as server:
        return zoo("walk", "Restart cron.", *live(server), "--tools", "restart_service", *options)


def test_rules_that_outlast_a_walk(zoo: Shell, tmp_path: Path) -> None:
    where = str((tmp_path / "config" / "policies.json").resolve())
    assert zoo("policy", "list") == Ran(0, f"{where}\n", "")
    allowed = zoo("policy", "allow", "restart_service")
    assert allowed == Ran(0, f"{where}\n  allow  restart_service\n", "")
    assert "cron was restarted" in restarting(zoo).out
    assert (
        zoo("policy", "deny", "restart_*").out == f"{where}\n  deny   restart_*\n  allow  restart_service\n"
    )
    denied = restarting(zoo, "--yes")
    assert ("cron was restarted" in denied.out, "policies.json denies" in denied.out) == (False, True)
    assert zoo("policy", "remove", "restart_*").out == allowed.out
    assert "cron was restarted" in restarting(zoo).out


def test_yes_is_for_one_walk(zoo: Shell, tmp_path: Path) -> None:
    assert "cron was restarted" in restarting(zoo, "--yes").out
    assert not (tmp_path / "config").exists()


def test_policies_that_cannot_be_understood_stop_a_walk_and_stay(zoo: Shell, tmp_path: Path) -> None:
    path = tmp_path / "config" / "policies.json"
    path.parent.mkdir()
    path.write_text('{"version": 99, "allow": ["*"]}', encoding="utf-8")
    for command in (["walk"], ["policy", "list"], ["policy", "allow", "ping"]):
        check_failure(zoo(*command), "policies.json cannot be used: it has version 99.*; correct it")
    assert path.read_text(encoding="utf-8") == '{"version": 99, "allow": ["*"]}'


def test_a_rule_commands_no_terminal(zoo: Shell) -> None:
    ran = zoo("policy", "allow", f"ping({HOSTILE})")
    assert ran.code == 0
    assert all(letter.isprintable() or letter == "\n" for letter in ran.out)


def test_a_walk_that_reaches_a_limit_falls_short_and_is_kept(zoo: Shell, tmp_path: Path) -> None:
    with serving(completion(calling(call("add", '{"a": 1, "b": 1}')))) as server:
        ran = zoo("walk", *live(server), "--save", "t.jsonl")
    check_failure(ran, "no answer after 5 turns", code=1)
    trace = Trace.load(tmp_path / "t.jsonl")
    assert (trace.outcome, len(trace.tool_calls)) == ("loop_limit", 5)
    check_failure(zoo("walk", "--load", "t.jsonl"), "the run ended with loop_limit", code=1)


def test_no_model_commands_the_terminal(zoo: Shell) -> None:
    function = {"name": "add", "arguments": json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False)}
    asks = {**calling({"id": HOSTILE, "type": "function", "function": function}), "content": HOSTILE}
    unknown = calling(call(HOSTILE, HOSTILE, HOSTILE))
    with serving(completion(asks), completion(unknown), completion(HOSTILE)) as server:
        ran = zoo("walk", HOSTILE, *live(server), "--save", "t.jsonl")
    shown = ran.out + zoo("walk", "--load", "t.jsonl").out
    assert ran.code == 0
    assert r"a\x1b[2J" in shown
    assert all(letter.isprintable() or letter in "\n\t" for letter in shown)


def test_lone_surrogates_and_all_are_printed_as_json(zoo: Shell) -> None:
    with serving(
        Answer(r'{"choices": [{"message": {"content": "\ud800"}}]}', 200, "application/json")
    ) as server:
        ran = zoo("walk", *live(server), "--json")
    assert ran.code == 0
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["message"]["content"] for event in events if "message" in event][-1] == "\ud800"


WRONG: dict[str, tuple[list[str], str]] = {
    "no command": ([], "required: COMMAND; see zoolab --help"),
    "unknown command": (["frob"], "'frob'.*see zoolab --help"),
    "unknown option": (["walk", "--frob"], "--frob; see zoolab walk --help"),
    "two prompts": (["walk", "a", "b"], "unknown: b; see zoolab walk --help"),
    "option without value": (["walk", "--save"], "--save: expected one argument"),
    "unknown tool": (
        ["walk", "--tools", "add,frob"],
        "no tools are named 'frob'; expected starter, analytics, clock",
    ),
    "tool twice": (["walk", "--tools", "add,add"], "two tools are named 'add'"),
    "no recording": (["walk", "--recording", "frob.jsonl"], "cannot read frob.jsonl: No such file"),
    "no recording to list": (["walk", "--list", "--recording", "frob"], "cannot read frob: No such file"),
    "foreign recording": (["walk", "--recording", "garbage.jsonl"], "garbage.jsonl, line 1, is not JSON"),
    "not recorded": (["walk", "Frob?"], "starter.jsonl holds no such request.*see zoolab walk --list"),
    "no trace": (["walk", "--load", "frob.jsonl"], "cannot read frob.jsonl: No such file"),
    "garbage trace": (["walk", "--load", "garbage.jsonl"], "line 1 is not JSON"),
    "binary trace": (
        ["walk", "--load", "binary.jsonl"],
        "binary.jsonl, line 1 is not UTF-8 text; .*; zoolab inspect",
    ),
    "log as trace": (
        ["walk", "--load", "other.jsonl"],
        "other.jsonl, line 1: found .*; zoolab inspect reads what other programs write$",
    ),
    "log over lines as trace": (
        ["walk", "--load", "log.json"],
        "log.json, line 1 is not JSON.*zoolab inspect",
    ),
    "trace of a later version": (
        ["walk", "--load", "later.jsonl"],
        "expected zoolab-trace version 1; save the trace",
    ),
    "folder as trace": (["walk", "--load", "."], r"cannot read \.: Is a directory"),
    "no folder to save": (["walk", "--save", "no/t.jsonl"], "cannot write no/t.jsonl: No such file"),
    "no folder for html": (["walk", "--html", "no/t.html"], "no/t.html.*No such file"),
    "folder as html": (["walk", "--html", "."], "irectory"),
    "unknown local model": (
        ["walk", "--local", "nonsense"],
        "no local model is named 'nonsense'; expected needle",
    ),
    "no model named": (["walk", "--live"], "no model is named; give model="),
    "no action": (["local"], "required: ACTION; see zoolab local --help"),
    "no policy action": (["policy"], "required: ACTION; see zoolab policy --help"),
    "no rule": (["policy", "allow"], "required: RULE; see zoolab policy allow --help"),
    "bad rule": (
        ["policy", "deny", "rm("],
        r'"rm\(" is not a rule; expected a tool\'s name or name\(pattern\)',
    ),
    "bad pattern": (["policy", "allow", "rm(C:\\Users)"], "not a pattern.*; write the parts of a path"),
    "rule that is not there": (
        ["policy", "remove", "rm"],
        'no rule "rm" in .*policies.json; see zoolab policy',
    ),
    "unknown weights": (["local", "fetch", "nonsense"], "no local model is named 'nonsense'"),
    "no notebook": (["lab", "frob.ipynb"], "no notebook frob.ipynb"),
    "no model is named": (["record", "r.jsonl", "Hi"], "no model is named; give --local"),
    "nothing to record": (["record", "r.jsonl", "--scripted"], "nothing to record; give a prompt"),
    "no prompts": (["record", "r.jsonl", "--scripted", "--prompts", "frob"], "cannot read frob: No such"),
    "garbage prompts": (
        ["record", "r.jsonl", "--scripted", "--prompts", "garbage.jsonl"],
        "garbage.jsonl, line 1, is not JSON",
    ),
    "no prompt in a line": (
        ["record", "r.jsonl", "--scripted", "--prompts", "other.jsonl"],
        "other.jsonl, line 1 has no prompt",
    ),
    "binary prompts": (["record", "r.jsonl", "--scripted", "--prompts", "binary.jsonl"], "not UTF-8 text"),
    "unknown tool to record": (["record", "r.jsonl", "Hi", "--scripted", "--tools", "frob"], "named 'frob'"),
    "no folder to record": (["record", "no/r.jsonl", "Hi", "--scripted"], "cannot write no/r.jsonl"),
    "empty script": (["record", "r.jsonl", "Hi", "--scripted"], "the script has no reply to request"),
}


@pytest.mark.parametrize("name", WRONG)
def test_whatever_is_wrong_is_one_line(zoo: Shell, tmp_path: Path, name: str) -> None:
    arguments, told = WRONG[name]
    (tmp_path / "garbage.jsonl").write_text("{not json\nhello\n", encoding="utf-8")
    (tmp_path / "other.jsonl").write_text('{"question": "Hi"}\n', encoding="utf-8")
    (tmp_path / "log.json").write_text('{\n"messages": []\n}', encoding="utf-8")
    later = '{"event": "trace", "format": "zoolab-trace", "version": 99}\n'
    (tmp_path / "later.jsonl").write_text(later, encoding="utf-8")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00\n")
    check_failure(zoo(*arguments), told)


def test_a_key_that_is_wrong_or_missing(zoo: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Answer({"error": {"message": f"Incorrect API key provided:\n{KEY}"}}, 401)
    with serving(refusal) as server:
        check_failure(zoo("walk", *live(server)), "answered 401: Incorrect.*; check the API key")
    monkeypatch.delenv("OPENAI_API_KEY")
    elsewhere = ("--model", "m", "--base-url", "https://models.example.com/v1")
    check_failure(zoo("walk", *elsewhere), "no API key; set OPENAI_API_KEY")
    check_failure(zoo("walk", *live(server)), "cannot reach")  # a server on this machine needs none


@pytest.mark.parametrize(
    "url", [refused_url(), "http://[::1", "nonsense"], ids=["refused", "broken", "no url"]
)
def test_nobody_answers_at_the_address(zoo: Shell, url: str) -> None:
    ran = zoo("walk", "--model", "m", "--base-url", url)
    check_failure(ran, "cannot reach|is not a URL")


def test_conversations_are_recorded_and_replayed(zoo: Shell, hundred: TestServer, tmp_path: Path) -> None:
    recorded = zoo("record", "r.jsonl", "42 + 58?", "--tools", "add", *live(hundred))
    assert (recorded.code, recorded.err) == (0, "")
    assert recorded.out == '  1  42 + 58? | add({"a": 42, "b": 58}) | 100\n'
    walked = zoo("walk", "42 + 58?", "--tools", "add", "--recording", "r.jsonl")
    assert (walked.code, len(hundred.asked)) == (0, 2)
    assert walked.out.startswith("recorded: test (r.jsonl)")
    assert KEY not in (tmp_path / "r.jsonl").read_text(encoding="utf-8")


def test_authored_conversations_say_so(zoo: Shell, tmp_path: Path) -> None:
    asked = {"prompt": "1 + 1?\u2028", "tools": ["add"], "replies": [[["add", {"a": 1, "b": 1}]], "2"]}
    (tmp_path / "p.jsonl").write_text(json.dumps(asked, ensure_ascii=False) + "\n", encoding="utf-8")
    assert zoo("record", "r.jsonl", "--scripted", "--prompts", "p.jsonl").code == 0
    ran = zoo("walk", "1 + 1?\u2028", "--tools", "add", "--recording", "r.jsonl")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "authored: written by hand, for teaching (r.jsonl)")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def test_every_option_is_documented(zoo: Shell) -> None:
    found = list(parsers(cli.parser(cli.commands_for(""))))
    assert {parser.prog for parser in found} >= {
        "zoolab walk",
        "zoolab lab",
        "zoolab record",
        "zoolab local list",
    }
    for parser in found:
        ran = zoo(*parser.prog.split()[1:], "--help")
        assert ran.code == 0
        for action in parser._actions:
            assert action.help or isinstance(action, argparse._SubParsersAction), (parser.prog, action.dest)
            assert all(option in ran.out for option in action.option_strings)


def test_every_provider_can_be_named_and_what_runs_each_command_exists() -> None:
    assert set(PROVIDERS) <= plugins.MODELS.entries().keys()
    for name, entry in plugins.COMMANDS.entries().items():
        command = plugins.COMMANDS.load(entry)
        module, _, function = command.told["run"].partition(".")
        assert callable(getattr(import_module(f"{entry.module}.{module}"), function)), name


def test_the_local_models_are_listed(zoo: Shell) -> None:
    ran = zoo("local", "list")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["needle", "smollm2", "qwen"]
    assert all(re.search(r"\d MB", line) for line in ran.out.splitlines())


def test_every_starter_tool_can_be_offered(zoo: Shell, hundred: TestServer) -> None:
    assert zoo("walk", *live(hundred), "--tools", ",".join(tool.name for tool in TOOLS)).code == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process becomes another one only on POSIX")
def test_what_ends_the_command_ends_jupyterlab(tmp_path):
    command = [
        sys.executable,
        "-m",
        "zoolab",
        "lab",
        "--no-browser",
        "--ServerApp.token=",
        f"--ServerApp.root_dir={tmp_path}",
    ]
    lab = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in lab.stderr:
        lines.append(line)
        if "http://127.0.0.1" in line:
            break
    port = int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])
    lab.terminate()
    lab.communicate(timeout=60)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
