"""What lists also lists as JSON; the scripts that complete commands in a shell."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell import ESCAPE, HOSTILE, Shell

from zoolab.commands.cli import commands_for
from zoolab.commands.listing import print_json
from zoolab_connect.commands.completion import places_of

SERVER = [sys.executable, "-m", "zoolab", "serve-tools", "devops"]
#: Each command that lists, and what its document has in it.
LISTING = {
    "plugins": "zoolab.tools",
    "plugins apis": "zoolab_connect.apis.anthropic:Anthropic",
    "policy list": "policies.json",
    "walk --list": 'zoolab walk \\"What is 42 + 58?\\"',
    "walk --list --recording qwen-starter": "qwen-starter",
    "endpoint --list": "chat-cut-blank",
    "doctor --here": "python",
    "local list": "smollm2",
    "labs list": "Capstone: an assistant",
    "datasets list": "selection-cases",
    "progress": "00-can-it-call-tools",
    "mcp tools own": "restart_service",
}
#: What prints lines of JSON, each as it comes, takes minutes, or has tests of its own.
OTHERS = {"walk", "doctor", "endpoint", "labs cases", "secrets", "bisect"}


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    monkeypatch.setenv("ZOOLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.mark.parametrize("command", LISTING)
def test_a_command_that_lists_prints_one_json_document(command: str, zoo: Shell) -> None:
    server = ["--", *SERVER] if command.startswith("mcp") else []
    ran = zoo(*command.split(), "--json", *server)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)
    assert LISTING[command] in ran.out
    assert ran.out.isascii()
    assert ran.out != zoo(*command.split(), *server).out


def test_every_command_with_json_is_tried() -> None:
    commands = {name: {**each.told, "does": each.does} for name, each in commands_for("").items()}
    places = places_of((), {"actions": commands})
    known = {" ".join(place.path) for place in places if "--json" in place.words}
    tried = {" ".join(word for word in each.split() if word not in ("apis", "own")) for each in LISTING}
    assert known - OTHERS == {each for each in tried if "--" not in each}


def test_nothing_in_a_document_commands_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({HOSTILE: [HOSTILE]})
    out = capsys.readouterr().out
    assert ESCAPE not in out
    assert json.loads(out) == {HOSTILE: [HOSTILE]}


@pytest.mark.parametrize("command", ["experiment", "grade", "stress", "local fetch"])
def test_what_shows_progress_can_be_quiet(command: str, zoo: Shell) -> None:
    assert "--quiet" in zoo(*command.split(), "--help").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_knows_commands_actions_options_and_choices(shell: str, zoo: Shell) -> None:
    ran = zoo("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    for word in ("serve-tools", "handout", "base-url", "nbgrader"):
        assert word in ran.out


def completed(script: str, *words: str) -> set[str]:
    """What bash offers for the last word."""
    line = " ".join(f'"{word}"' for word in ("zoolab", *words))
    asks = f'COMP_WORDS=({line}); COMP_CWORD={len(words)}; _zoolab; printf "%s\\n" "${{COMPREPLY[@]}}"'
    bash = ["bash", "--noprofile", "--norc", "-c", f"{script}\n{asks}"]
    done = subprocess.run(bash, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_actions_options_and_values(zoo: Shell) -> None:
    script = zoo("completion", "bash").out
    assert completed(script, "w") == {"walk"}
    assert completed(script, "labs", "ha") == {"handout"}
    assert completed(script, "labs", "list", "") == {"--help", "--json"}
    assert completed(script, "labs", "export", "--format", "") == {"otter", "nbgrader"}
    assert completed(script, "walk", "--calls", "n") == {"native"}
    assert completed(script, "walk", "What is 42 + 58?", "--js") == {"--json"}
    assert completed(script, "completion", "") == {"bash", "zsh", "fish", "--help"}
    assert completed(script, "walk", "--load", "") == set()  # bash offers the files
    assert completed(script, "proxy", "--", "python", "--j") == set()
    assert {"--version", "labs", "plugins"} <= completed(script, "")
    assert {"list", "allow", "deny", "remove"} <= completed(script, "policy", "")


def test_no_name_or_help_of_a_plugin_is_run_by_a_shell() -> None:
    bad = {"does": "it's $(touch a)\n`b`", "options": {"--x": {"help": "'; rm"}, "-$(y)": {}}}
    (top, good) = places_of((), {"actions": {"$(touch a)": bad, "good": bad}})
    assert top.words.keys() == {"--help", "good"}
    assert "\n" not in top.words["good"]
    assert "-$(y)" not in good.words
