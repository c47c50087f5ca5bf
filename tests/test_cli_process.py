"""The command line in a process of its own: on a terminal, in a pipe, interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from server import Answer, call, calling, completion, serving
from shell import ESCAPE, HOSTILE, Shell, command, live

from zoolab import Trace
from zoolab.commands import cli


def test_the_module_is_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    ran = subprocess.run(**command("walk", "--list"), capture_output=True, text=True, encoding="utf-8")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, Shell(capsys)("walk", "--list").out, "")
    assert entry_points(group="console_scripts")["zoolab"].load() is cli.main


def test_an_output_without_the_characters_ends_nothing() -> None:
    asked = command("walk", "What's the weather in Atlantis?", PYTHONIOENCODING="ascii")
    ran = subprocess.run(**asked, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert rb"\u2717 failed: resource_not_found" in ran.stdout


@pytest.mark.parametrize("arguments", [("walk", "--json"), ("walk",), ("walk", "--help")])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "t.jsonl"
    asked = command(*arguments, *(() if "--help" in arguments else ("--save", path)))
    process = subprocess.Popen(**asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(120) in (0, 1)
    assert path.exists() is ("--help" not in arguments)


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_error(tmp_path: Path, closed: str) -> None:
    saved = tmp_path / "t.jsonl"
    asked = command("walk", "--save", saved)
    asked["args"] = ["sh", "-c", f'"$@" {closed}', "sh", *asked["args"]]
    ran = subprocess.run(**asked, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert bool(ran.stdout) is (">" not in closed.replace("2>", ""))
    assert Trace.load(saved).answer


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes the streams")
def test_an_error_that_nobody_reads_is_not_printed_with_the_results() -> None:
    asked = command("inspect", "no-such-file.jsonl")
    asked["args"] = ["sh", "-c", '"$@" 2>&-', "sh", *asked["args"]]
    ran = subprocess.run(**asked, capture_output=True)
    assert (ran.returncode, ran.stdout) == (2, b"")


def on_a_terminal(asked: dict[str, Any], typed: bytes = b"") -> tuple[int, str]:
    """The exit code and all that a command shows on a terminal where somebody types."""
    pty = pytest.importorskip("pty")
    screen, terminal = pty.openpty()
    process = subprocess.Popen(**asked, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    os.write(screen, typed)
    shown = b""
    try:
        while piece := os.read(screen, 65536):
            shown += piece
    except OSError:
        pass
    os.close(screen)
    return process.wait(120), shown.decode()


def test_a_terminal_gets_colours_and_nothing_else_of_that_kind() -> None:
    with serving(completion(calling(call("frob", HOSTILE))), completion(HOSTILE)) as server:
        code, shown = on_a_terminal(command("walk", *live(server)))
    assert code == 0
    assert f"{ESCAPE}[1;36mdefine" in shown
    assert set(re.findall(rf"{ESCAPE}(\[[\d;]*.)", shown)) == set(re.findall(rf"{ESCAPE}(\[[\d;]*m)", shown))
    assert f"{ESCAPE}]" not in shown


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [
        (b"1\n", True),
        (b"s\n", True),
        (b"4\n", False),
        (b"\n", False),
        (b"x\nx\nx\n", False),
        (b"\x04", False),
    ],
)
def test_who_sits_at_the_terminal_is_asked(typed: bytes, allowed: bool) -> None:
    asks = calling(call("restart_service", '{"service": "cron"}'))
    with serving(completion(asks), completion("Well.")) as server:
        asked = command("walk", "Restart cron.", *live(server), "--tools", "restart_service")
        code, shown = on_a_terminal(asked, typed)
    assert (code, "allow restart_service? [1] once" in shown) == (0, True)
    assert ("cron was restarted" in shown) is allowed


def test_what_is_allowed_for_always_at_the_terminal_is_not_asked_again(tmp_path: Path) -> None:
    asks = completion(calling(call("restart_service", '{"service": "cron"}')))
    for typed, asked in ((b"3\n", True), (b"", False)):
        with serving(asks, completion("Well.")) as server:
            options = ("walk", "Restart cron.", *live(server), "--tools", "restart_service")
            code, shown = on_a_terminal(command(*options, ZOOLAB_CONFIG=str(tmp_path)), typed)
        assert (code, "[3] always" in shown, "cron was restarted" in shown) == (0, asked, True)
    assert '"restart_service' in (tmp_path / "policies.json").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a child alone")
def test_an_interrupted_walk_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    asks = completion(calling(call("add", '{"a": 1, "b": 1}')))
    with serving(asks, Answer(completion("2"), delay=60)) as server:
        asked = command("walk", *live(server), "--save", path)
        process = subprocess.Popen(**asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while len(server.asked) < 2 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "zoolab: interrupted\n")
    trace = Trace.load(path)
    assert (trace.outcome, [each.name for each in trace.tool_calls]) == ("interrupted", ["add"])
