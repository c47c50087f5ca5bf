"""The scorecard of a program under faults, and the commands that it runs."""

import shlex
import sys
import time
from pathlib import Path

import pytest
from counting import ends
from server import completion, serving
from shell import Shell

from zoolab import Scripted
from zoolab.errors import InvalidInput
from zoolab_connect.faulty.kinds import FAULTS
from zoolab_connect.proxy.stress import (
    MAX_OUTPUT,
    RESULTS,
    Attempt,
    Scorecard,
    run_bounded,
    stress,
)
from zoolab_connect.proxy.watch import TRAFFIC_FAULTS


def python(code, seconds=20.0, stdin=b"", **environment):
    return run_bounded([sys.executable, "-c", code], seconds, environment, stdin)


ENDS = {
    "trailing_comma": Attempt("trailing_comma", 0, True, True, 0.5),
    "nan": Attempt("nan", 0, False, True, 0.5),
    "http_500": Attempt("http_500", 1, None, True, 0.5, "ModelError: \x1b[31m<b>busy</b>"),
    "dropped_stream": Attempt("dropped_stream", None, None, True, 60.0),
    "same_call": Attempt("same_call", 0, None, True, 0.5),
    "duplicate_id": Attempt("duplicate_id", 0, True, False, 0.5),
}
CARD = Scorecard(tuple(ENDS.values()))


def test_each_result():
    assert {row.fault: row.result for row in CARD.rows} == {
        "trailing_comma": "recovered",
        "nan": "silently_wrong",
        "http_500": "failed",
        "dropped_stream": "failed",
        "same_call": "not_checked",
        "duplicate_id": "not_reached",
    }
    counts = {"recovered": 1, "silently_wrong": 1, "failed": 2, "not_checked": 1, "not_reached": 1}
    assert CARD.counts == counts
    assert list(CARD.counts) == list(RESULTS)


def test_a_fault_that_did_not_happen_is_not_reached_however_the_program_ended():
    for exit_code in (0, 1, None):
        assert Attempt("nan", exit_code, None, False, 0.1).result == "not_reached"


def test_the_card_as_text_says_each_result_in_words():
    counted, rows = str(CARD).split("\n\n")
    assert counted.splitlines()[2].split(maxsplit=4) == [
        *("x", "failed", "2", "█" * 30),
        "another exit code, or no end in time",
    ]
    assert "? not checked       1 ███████████████" in counted
    assert "nobody knows whether the answer is right" in counted
    assert rows.splitlines()[3] == "x failed          dropped_stream  no end in time  60.0 s"
    assert "\x1b" not in str(CARD)


def test_a_card_without_rows():
    card = Scorecard(())
    assert (card.counts, str(card).strip()) == ({}, "")


def test_only_faults_of_the_traffic():
    assert {FAULTS[name].stage for name in TRAFFIC_FAULTS} == {"request", "tool_call"}
    for name, why in (("wrong_result", "one of tools"), ("trailing_coma", "no fault is named")):
        with pytest.raises(InvalidInput, match=why):
            stress([sys.executable, "-c", "pass"], faults=[name], to=Scripted(["Hi"]))


@pytest.mark.parametrize(
    ("code", "seconds", "why"),
    [
        ("raise KeyError('x')", 20, r"exit code 1 \(KeyError: 'x'\)"),
        ("while True: pass", 0.5, "no end in time"),
    ],
)
def test_a_program_that_fails_without_a_fault_is_not_scored(code, seconds, why):
    asked = []
    with pytest.raises(InvalidInput, match=f"even without a fault: {why}"):
        stress([sys.executable, "-c", code], seconds=seconds, to=Scripted(["Hi"]), told=asked.append)
    assert [row.fault for row in asked] == [None]


def test_a_command_gets_its_input_and_its_environment():
    code = "import os, sys; print(sys.stdin.read() + os.environ['WHO']); sys.stderr.write('no'); sys.exit(3)"
    assert python(code, stdin=b"Hi ", WHO="Ada") == (3, b"Hi Ada\n", b"no")


def test_output_without_an_end_is_cut():
    much = 3 * MAX_OUTPUT
    exit_code, stdout, stderr = python(
        f"import sys; sys.stdout.write('o' * {much}); sys.stderr.write('e' * {much} + 'end')"
    )
    assert (exit_code, stdout, len(stderr)) == (0, b"o" * MAX_OUTPUT, MAX_OUTPUT)
    assert stderr.endswith(b"end")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(("rest", "exit_code"), [("time.sleep(3600)", None), ("pass", 0)])
def test_what_a_command_started_ends_with_it(rest, exit_code):
    """In time or late: the child holds the pipes open, and would run on."""
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])"
    with ends():
        code, pid, _ = python(f"import subprocess, sys, time; print({child}.pid, flush=True); {rest}", 10)
    assert code == exit_code
    deadline = time.perf_counter() + 60
    while is_running(int(pid)) and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not is_running(int(pid))


@pytest.mark.parametrize("command", [["no-such-program-here"], [], ["a\0b"]])
def test_a_command_that_cannot_be_started(command):
    with pytest.raises(InvalidInput, match="cannot start"):
        run_bounded(command, 1.0, {})


PROGRAM = """
import json, os, urllib.request

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {
    "a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}
messages = [{"role": "user", "content": "42 + 58?"}]
while True:
    body = json.dumps({"model": "any", "messages": messages, "tools": [TOOL]}).encode()
    kind = {"content-type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, kind)
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        try:
            arguments = json.loads(call["function"]["arguments"])
            result = str(arguments["a"] + arguments["b"])
        except ValueError as error:
            result = f"ERROR: {error}"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
print(message["content"])
"""
CHECK = """
import os, sys
assert {"001.jsonl", "recording.jsonl"} <= {*os.listdir(os.environ["ZOOLAB_TRACES"])}
sys.exit(sys.stdin.read() != "It is 100.\\n")
"""


def adding(request):
    """Calls until it hears of 100."""
    heard = any(message.get("content") == "100" for message in request.messages)
    return "It is 100." if heard else [("add", {"a": 42, "b": 58})]


def test_a_program_under_faults():
    """It gives errors of arguments back to the model, and cares for nothing else."""
    faults = ["trailing_comma", "empty_reply", "http_500", "duplicate_id"]
    card = stress([sys.executable, "-c", PROGRAM], [sys.executable, "-c", CHECK], faults, to=Scripted(adding))
    assert [row.result for row in card.rows] == ["recovered", "silently_wrong", "failed", "not_reached"]
    assert card.rows[2].said == "urllib.error.HTTPError: HTTP Error 500: Internal Server Error"
    assert [row.exit_code for row in card.rows] == [0, 0, 1, 0]


def test_a_program_that_asks_again_recovers_from_errors_of_the_endpoint():
    asks = "json.load(urllib.request.urlopen(request))"
    again = """
    for _ in range(3):
        try:
            said = json.load(urllib.request.urlopen(request))
            break
        except OSError:
            pass
    message = said"""
    assert f"\n    message = {asks}" in PROGRAM
    program = PROGRAM.replace(f"\n    message = {asks}", again)
    command, check = [sys.executable, "-c", program], [sys.executable, "-c", CHECK]
    card = stress(command, check, ["http_500", "timeout"], to=Scripted(adding), seconds=20)
    assert card.counts == {"recovered": 2}


def test_without_a_check_nobody_knows():
    card = stress([sys.executable, "-c", PROGRAM], faults="empty_reply", to=Scripted(adding), seconds=20)
    assert [row.result for row in card.rows] == ["not_checked"]
    assert "without a check nobody knows" in str(card)


def test_a_check_that_fails_without_a_fault():
    check = [sys.executable, "-c", "raise SystemExit(1)"]
    with pytest.raises(InvalidInput, match="exit code 0, but the check fails"):
        stress([sys.executable, "-c", "print(1)"], check, ["nan"], to=Scripted(["Hi"]))


def test_the_command(tmp_path, capsys, monkeypatch):
    """A program with one question: it is wrong without a word if the reply is empty."""
    monkeypatch.chdir(tmp_path)
    for name, code in (("program.py", PROGRAM), ("check.py", CHECK)):
        (tmp_path / name).write_text(code)
    zoo, python_of = Shell(capsys), shlex.quote(sys.executable)
    run = ["--", sys.executable, "program.py"]
    with serving(completion("It is 100.")) as endpoint:
        checked = ["--to", endpoint.url, "--check", f"{python_of} check.py"]
        ran = zoo("stress", *checked, "--fault", "empty_reply", "--fault", "nan", *run)
        assert zoo("stress", *checked, "--fault", "nan", *run).code == 0
    assert ran.code == 1
    assert ran.out.splitlines()[-1].startswith(". not reached     nan          exit code 0")
    assert "! silently wrong  empty_reply" in ran.out
    told = (
        "zoolab: the program runs 3 times, and its own tools run each time, for real; a payment is made again"
    )
    runs = ["zoolab: no fault: exit code 0", "zoolab: empty_reply: exit code 0"]
    assert ran.err.splitlines()[:3] == [told, *runs]
    wrong = zoo("stress", "--fault", "hang", *run)
    assert (wrong.code, "Traceback" in wrong.err) == (2, False)
