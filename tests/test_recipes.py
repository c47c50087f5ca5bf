"""The recipes "Add ..." as they are followed: for a package outside, which is installed and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ready_tools import CALLS, DOMAINS

from zoolab.lint import lint
from zoolab.plugins import GROUPS

ROOT = Path(__file__).parents[1]
EXAMPLE = Path(__file__).parent / "plugin_example"
HOW_TO = ROOT / "tools" / "site" / "pages" / "how-to" / "8-add-your-own.md"
MINUTES = {"title": "Monday", "minutes": [["Who is here?", "All."]]}

USED = """
import json, zoolab
from types import SimpleNamespace
from zoolab import Faulty, Scripted, Trace, model_for, plots, run
from zoolab.apis import translate
from zoolab.records import Request
from zoolab.toolbox.catalog import tools_named

kitchen = tools_named("kitchen")
script = [[("boiling_time", {"egg": "soft"})], "Five minutes."]
trace = run("How long?", kitchen, Scripted(script))
broken = run("How long?", kitchen, Faulty(Scripted(script), ["shouting_keys"]))
trace.save("trace.jsonl")
soup = SimpleNamespace(dish="soup", cook=lambda guests: guests * 2)
print(json.dumps({
    "api": translate(Request([{"role": "user", "content": "Hi"}]), "tellers").body["messages"],
    "model of the api": model_for("tellers").body(Request([{"role": "user", "content": "Hi"}]))["model"],
    "model": run("Who are you?", kitchen, model_for("parrot")).answer,
    "toolbox": trace.errors == [] or len(trace.errors) == 0,
    "fault": [each for each in broken.to_frame()["fault"].dropna()],
    "error": [error.code for error in broken.errors],
    "trace": zoolab.plugins.TRACES.needed("to_haiku", "makes haikus")(trace),
    "display": plots.in_capitals(trace),
    "name": zoolab.dozen(),
    "framework": zoolab.tool(soup).invoke({"guests": 3}),
    "family": [call.name for call in zoolab.read_calls('@@boiling_time {"egg": "soft"}')],
}))
"""


WATCHED = """
import json, os, urllib.request
from zoolab import Scripted, watch
from zoolab_connect.proxy.addresses import endpoints_of

def ask(path, body):
    url = os.environ["TELLERS_BASE_URL"] + path
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())) as answer:
        return answer.read().decode().splitlines()

body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "parameters": {"seed": 1}}
with watch(to=Scripted(["One.", "Two.", "Three."])) as seen:
    streamed = ask("/v1/chat", body)
    whole = ask("/v1/chat", {**body, "stream": False})
    elsewhere = ask("/any/path", {**body, "stream": False})
    key = os.environ["TELLERS_API_KEY"]
print(json.dumps({
    "ends": json.loads(streamed[-1])["done"],
    "whole": [json.loads("".join(each))["message"]["content"] for each in (whole, elsewhere)],
    "seeds": [trace.turns[0].request.settings["seed"] for trace in seen.traces],
    "unread": [*seen.unread, *seen.passed],
    "address": [each.address for each in endpoints_of({"TELLERS_BASE_URL": "box:80"})][-1],
    "shared": [each.api for each in endpoints_of({}) if "OLLAMA_API_BASE" in each.variables],
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the example, as pip installs it."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", folder, EXAMPLE], check=True, capture_output=True, timeout=300)
    return folder


def python(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    named = {"ZOOLAB_MODEL": "some-model", "TELLERS_API_KEY": "none"}
    paths = [str(installed), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **named, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_example_adds_one_of_each_group():
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"].keys() == GROUPS.keys()
    assert all(len(entries) == 1 for entries in project["entry-points"].values())


def test_what_the_example_adds_is_used_like_what_zoolab_has(installed, tmp_path):
    done = python(installed, tmp_path, "-c", USED)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "api": [{"role": "user", "content": "Hi"}],
        "model of the api": "some-model",
        "model": "I am a parrot.",
        "toolbox": True,
        "fault": ["shouting_keys"],
        "error": ["invalid_arguments"],
        "trace": "define\nrequest\ntool_call",
        "display": "FIVE MINUTES.",
        "name": 12,
        "framework": 6,
        "family": ["boiling_time"],
    }


def test_the_proxy_understands_the_api_of_the_example(installed, tmp_path):
    """It answers in its form, streams if nothing is said, and is known by its path or its body."""
    done = python(installed, tmp_path, "-c", WATCHED)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "ends": True,
        "whole": ["Two.", "Three."],
        "seeds": [1, 1, 1],
        "unread": [],
        "address": "http://box:80",
        "shared": ["ollama"],
    }


def test_the_command_line_has_the_command_and_the_reader_of_the_example(installed, tmp_path):
    assert python(installed, tmp_path, "-m", "zoolab", "greet", "Ada").stdout == "Hello, Ada.\n"
    (tmp_path / "minutes.json").write_text(json.dumps(MINUTES), encoding="utf-8")
    made = python(installed, tmp_path, "-m", "zoolab", "inspect", "minutes.json", "-o", "page.html")
    assert made.returncode == 0, made.stderr
    assert "Who is here?" in (tmp_path / "page.html").read_text(encoding="utf-8")
    walked = python(installed, tmp_path, "-m", "zoolab", "walk", "Who are you?", "--provider", "parrot")
    assert walked.returncode == 0, walked.stderr
    assert "live: parrot" in walked.stdout
    assert "I am a parrot." in walked.stdout
    listed = python(installed, tmp_path, "-m", "zoolab", "plugins", "faults")
    assert "shouting_keys" in listed.stdout
    assert listed.returncode == 0


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_tool_has_the_description_and_the_example_that_its_recipe_asks_for(domain, tmp_path):
    tools = DOMAINS[domain](tmp_path)
    called = {tool for of, tool, *_ in CALLS if of == domain}
    # The answer of describe_table is long: `test_toolbox.py` has it by itself.
    assert [tool.name for tool in tools if tool.name not in called | {"describe_table"}] == []
    assert lint(tools) == []


def test_the_page_shows_the_files_of_the_example():
    page = HOW_TO.read_text(encoding="utf-8")
    for path in ("fault.py", "toolbox.py", "command.py"):
        assert (EXAMPLE / "zoolab_example" / path).read_text(encoding="utf-8") in page
    for name in GROUPS:
        assert f"`{name}`" in page
