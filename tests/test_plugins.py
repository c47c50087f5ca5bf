"""What others add by entry points: each group, what a thing of it must have; and the core without plugins."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

import zoolab
from zoolab import plugins
from zoolab.plugins import GROUPS, BrokenPlugin, Group

ROOT = Path(zoolab.__file__).parents[1]
STUB = (ROOT / "zoolab" / "__init__.pyi").read_text(encoding="utf-8")
#: Those of the wheel alone: what else the environment has is not ours to test.
OWN = {name: plugins._own(name) for name in GROUPS}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in OWN for name in OWN[group]])
def test_what_zoolab_registers_has_all_that_it_needs(group, name):
    assert GROUPS[group].find(name) is not None


def test_the_stub_and_the_entry_points_name_the_same():
    lines = re.findall(r"^from (zoolab_\S+) import (\w+) as \2$", STUB, re.MULTILINE)
    told = {name: module.partition(".")[0] for module, name in lines}
    assert told == {name: entry.module.partition(".")[0] for name, entry in OWN["zoolab.names"].items()}
    assert all(getattr(zoolab, name) is not None for name in told)


WRONG = [
    (plugins.APIS, object(), "has no name, label, address, path, to_body, from_body, reply"),
    (plugins.MODELS, 7, "is 7, which cannot be called"),
    (plugins.FAULTS, SimpleNamespace(name="x", stage="tool_call", does="y"), "has no breaks"),
    (plugins.FAULTS, SimpleNamespace(name="x", stage="define", does="y", breaks=len), "has the stage"),
    (plugins.TOOLBOXES, None, "is null, which cannot be called"),
    (plugins.TEXTCALLS, "gemma", 'is "gemma", which cannot be called'),
    (plugins.READERS, len, "has no what, recognises, read"),
    (plugins.DISPLAYS, lambda trace: trace, "has no docstring"),
    (plugins.COMMANDS, SimpleNamespace(does=" ", run=len), "has no does"),
]


@pytest.mark.parametrize(("group", "thing", "lacking"), WRONG, ids=range(len(WRONG)))
def test_one_sentence_says_what_is_missing(group: Group, thing: object, lacking: str):
    with pytest.raises(BrokenPlugin) as raised:
        group.check(thing, "mine")
    assert str(raised.value).startswith(f"mine in {group.name} {lacking}")
    assert f"expected {group.what}" in str(raised.value)
    assert "\n" not in str(raised.value)


MINE = """
from zoolab.apis.chat import ChatCompletions
from zoolab.models import Scripted
from zoolab.plugins import Command, Reader
from zoolab_connect.readers.found import Conversation
from zoolab.records import Request
from zoolab.tools import ToolRegistry
from zoolab import tool
from zoolab_connect.faulty import FaultKind

class Own(ChatCompletions):
    name, label, address = "own", "My own API", "https://own.invalid"

@tool
def now() -> str:
    "Tell the time."
    return "noon"

def clocks():
    return ToolRegistry([now])

def bell(given):
    if getattr(given, "rings", False):
        return {"name": "bell", "description": "Ring.", "parameters": {"type": "object"}}

def shown(trace):
    "The answer in capitals."
    return trace.answer.upper()

def model(name=None, *, stream=False, **more):
    return Scripted(["mine"])

READER = Reader("lines", lambda it: isinstance(it, dict) and "lines" in it,
    lambda it, unread: [Conversation([{"role": "user", "content": text}]) for text in it["lines"]])
SHOUT = FaultKind("shout", "tool_call", "arguments in capitals", "invalid_json", breaks=str.upper)
LOUD = FaultKind("loud", "execute", "a result in capitals", breaks=str.upper)
HELLO = Command("say hello", lambda options: print("hello") or 0)
ANSWER = 42
"""
ENTRIES = """
[zoolab.apis]
own = mine:Own
[zoolab.models]
mine = mine:model
[zoolab.toolboxes]
clocks = mine:clocks
[zoolab.tools]
bells = mine:bell
[zoolab.displays]
shown = mine:shown
[zoolab.readers]
lines = mine:READER
[zoolab.faults]
shout = mine:SHOUT
loud = mine:LOUD
[zoolab.commands]
hello = mine:HELLO
gone = mine_gone:HELLO
[zoolab.names]
answer = mine:ANSWER
lost = mine:LOST
"""
USED = """
import json, sys, warnings
warnings.simplefilter("ignore")
import zoolab
from zoolab import Faulty, Scripted, model_for, plots, run
from zoolab.apis import APIS
from zoolab_connect.imported import read_conversations
from zoolab.toolbox.catalog import tools_named
open("it.json", "w").write('{"lines": ["Hi"]}')
tools = tools_named("clocks")
calls = Scripted([[("now", {})], "It is noon."])
trace = run("?", tools, Faulty(calls, ["loud"]))
broken = run("?", tools_named("add"), Faulty(Scripted([[("add", {"a": 1, "b": 2})], "3"]), ["shout"]))
try:
    zoolab.lost
except ImportError as error:
    lost = str(error)
found = [read_conversations("it.json")[0].messages[0]["content"], APIS["own"].label, model_for("mine")]
rings = type("Bell", (), {"rings": True})()
print(json.dumps([*map(str, found[:2]), type(found[2]).__name__, plots.shown(trace), zoolab.answer,
    trace.tool_calls[0].outcome.value if hasattr(trace.tool_calls[0], "outcome") else "NOON",
    [error.code for error in broken.errors], sorted(APIS), zoolab.tool(rings).name, lost]))
"""


@pytest.fixture
def outside(tmp_path):
    """A folder with a package of somebody else, as it is when it is installed."""
    folder = tmp_path / "site"
    (folder / "mine-1.0.dist-info").mkdir(parents=True)
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    (folder / "mine-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n"
    )
    (folder / "mine-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    return folder


def told(command: list[str], folder: Path, path: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def test_a_package_outside_adds_one_of_each(outside, tmp_path):
    found = json.loads(told(["-c", USED], tmp_path, str(outside)).stdout.splitlines()[-1])
    *found, lost = found
    names = sorted([*OWN["zoolab.apis"], "openai", "own"])
    assert found == [
        "Hi",
        "My own API",
        "Scripted",
        "IT IS NOON.",
        42,
        "NOON",
        ["invalid_arguments"],
        names,
        "bell",
    ]
    assert lost.startswith("zoolab.lost is not here: lost in zoolab.names cannot be imported from mine:LOST")


def test_a_broken_plugin_is_one_line_and_breaks_no_other(outside, tmp_path):
    assert told(["-m", "zoolab", "hello"], tmp_path, str(outside)).stdout == "hello\n"
    helped = told(["-m", "zoolab", "--help"], tmp_path, str(outside))
    assert "say hello" in helped.stdout
    assert helped.stderr.count("\n") == 1
    assert helped.stderr.startswith("zoolab: gone in zoolab.commands cannot be imported from mine_gone:HELLO")
    listed = told(["-m", "zoolab", "plugins", "commands"], tmp_path, str(outside), code=1)
    assert "hello                    mine:HELLO" in listed.stdout
    failed = told(["-m", "zoolab", "gone"], tmp_path, str(outside), code=2)
    assert failed.stderr.count("\n") == 1


ALONE = """
import sys
import zoolab
from zoolab import Scripted, Trace, plots, run, tool, walk
from zoolab.apis import api
from zoolab.records import Request
from zoolab.repair import RuleRepair

@tool
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

script = [[("add", '{"a": 42, "b": 58,}')], "The answer is 100."]
kinds = [step.kind for step in walk("What is 42 + 58?", [add], Scripted(script), repair=RuleRepair())]
assert kinds[0] == "define" and "result" in kinds, kinds
trace = run("What is 42 + 58?", [add], Scripted(script), repair=RuleRepair())
assert trace.answer == "The answer is 100.", trace.answer
written = '<tool_call>{"name": "add", "arguments": {"a": 42, "b": 58}}</tool_call>'
assert run("?", [add], Scripted([written, "100"]), calls="text").answer == "100"
body = api("openai").to_body(Request([{"role": "user", "content": "Hi"}], settings={"seed": 1}), "m")
assert api("openai").from_body(body).settings == {"model": "m", "seed": 1}, body
trace.inspect()
trace.to_html("story.html", interactive=True)
plots.SequenceDisplay.from_trace(trace)
plots.StepTimelineDisplay.from_trace(trace)
try:
    zoolab.experiment
except (ImportError, AttributeError) as error:
    assert "zoolab_study" in str(error), error
else:
    raise AssertionError("a plugin is here")
assert not trace.inspect().live["verbs"].get("look")
try:
    trace.fork(1)
except zoolab.errors.InvalidInput as error:
    assert "zoolab_study" in str(error), error
else:
    raise AssertionError("a plugin is here")
assert not [name for name in sys.modules if name.startswith("zoolab_")]
"""


def test_the_core_runs_without_any_plugin(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "recordings")
    shutil.copytree(ROOT / "zoolab", tmp_path / "zoolab", ignore=ignored)
    kept = tmp_path / "zoolab" / "models" / "recordings"
    kept.mkdir()
    for name in ("__init__.py", "starter.jsonl"):
        shutil.copy(ROOT / "zoolab" / "models" / "recordings" / name, kept)
    # -S: the checkout's own path is not read, so that `plugins/` is not found.
    path = os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])
    told(["-S", "-c", ALONE], tmp_path, path)
    walked = told(["-S", "-m", "zoolab", "walk", "What is 42 + 58?"], tmp_path, path)
    assert "100" in walked.stdout


#: The nodes of the syntax tree of the core, and of its rooms when this was last set.
NODES = 100_698
#: What they may become, without plots and commands: nothing stands on these.
CEILING = 95_000
NAMES = 50
ROOMS: dict[str, int] = {
    "__init__": 17,
    "__main__": 44,
    "adapters": 230,
    "answers": 446,
    "apis": 6443,
    "bound": 126,
    "commands": 3019,
    "errors": 598,
    "extras": 135,
    "fault": 103,
    "files": 971,
    "jsontext": 2826,
    "keywords": 259,
    "lazy": 323,
    "limits": 1050,
    "lint": 1214,
    "loop": 3847,
    "messages": 1940,
    "mini": 1750,
    "models": 7500,
    "options": 520,
    "plots": 3501,
    "plugins": 877,
    "policy": 3335,
    "records": 2356,
    "repair": 5515,
    "retrieval": 651,
    "running": 2837,
    "runs": 1244,
    "schema": 8325,
    "secret_places": 1175,
    "secrets": 914,
    "show": 16979,
    "steps": 3300,
    "tapes": 288,
    "text": 1365,
    "textcalls": 2472,
    "tokens": 826,
    "tool_search": 548,
    "toolbox": 859,
    "tools": 1491,
    "trace": 8479,
}


def rooms() -> dict[str, int]:
    """The nodes of each room of the core."""
    found: dict[str, int] = {}
    for path in sorted((ROOT / "zoolab").rglob("*.py")):
        if "_labs" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = sum(not isinstance(node, ast.expr_context) for node in ast.walk(tree))
        room = path.relative_to(ROOT / "zoolab").parts[0].removesuffix(".py")
        found[room] = found.get(room, 0) + nodes
    return found


def test_the_core_stays_small():
    """What grows beyond this pays for it: move it to a plugin, or take something out."""
    found = rooms()
    known = {room: ROOMS.get(room, 0) for room in found}
    grew = {room: f"{known[room]} -> {nodes}" for room, nodes in found.items() if nodes > known[room]}
    assert sum(found.values()) <= NODES, f"the core has {sum(found.values())} nodes; what grew: {grew}"
    assert sum(found.values()) - found["plots"] - found["commands"] <= CEILING, f"what grew: {grew}"


#: What a visitor reads after `mini`, and its lines at most; a line of more than 100 columns counts as two.
LESSON = ("errors.py", "records", "tools.py", "steps", "loop")
LINES = 3_000


def test_the_lesson_stays_short():
    homes = [ROOT / "zoolab" / name for name in LESSON]
    files = [file for home in homes for file in (home, *home.rglob("*.py")) if file.is_file()]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert sum(1 + (len(line) > 100) for line in lines) < LINES


def test_the_classes_of_models_stand_beside_those_of_the_core():
    from zoolab.models import AnthropicModel, Faulty, GeminiModel, LocalModel, OllamaModel, ResponsesModel

    made = {AnthropicModel, Faulty, GeminiModel, LocalModel, OllamaModel, ResponsesModel}
    assert {each.__module__.partition(".")[0] for each in made} == {"zoolab_connect", "zoolab_course"}
    with pytest.raises(AttributeError, match=r"'zoolab.models' has no attribute 'NoModel'"):
        zoolab.models.NoModel  # noqa: B018


def test_the_core_has_few_public_names():
    names = re.findall(r"^from zoolab(?:\.\S+)? import (\w+) as \1$", STUB, re.MULTILINE)
    assert len(names) <= NAMES
