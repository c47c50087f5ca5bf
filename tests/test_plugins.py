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
from typing import Any

import pytest

import zoolab
from zoolab import plugins
from zoolab.apis import REGISTERED
from zoolab.apis.chat import ChatCompletions
from zoolab.commands.cli import usable_commands
from zoolab.plugins import GROUPS, BrokenPlugin, Command, Group

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


#: What a command may not tell of its options.
UNTOLD: list[Any] = [
    ["who"],
    {"options": ["who"]},
    {"options": {"who": "whom"}},
    {"options": {"who": {"type": "text"}}},
    {"options": {"who": {"dest": "whom"}}},
    {"options": {"--all": {"action": "never"}}},
    {"options": {"who": {"help": "50% of all"}}},
    {"options": {"--help": {}}},
    {"actions": {"now": {}}},
    {"actions": {"now": {"does": "greet", "options": {"who": {"type": "text"}}}}},
    {"usage": 7},
]
WRONG = [
    (REGISTERED, ChatCompletions(), "is <zoolab.apis.chat.ChatCompletions object"),
    (REGISTERED, ChatCompletions, 'calls itself "openai"; its name must be that of its entry point'),
    (
        REGISTERED,
        type("Half", (ChatCompletions,), {"name": "mine", "place": "last"}),
        "cannot be used: Half has no place",
    ),
    (
        REGISTERED,
        type("Odd", (ChatCompletions,), {"name": "mine", "own": 7}),
        "cannot be used: own of Odd is 7, ",
    ),
    (
        REGISTERED,
        type("Plain", (), {"name": "mine"}),
        "cannot be used: Plain is no subclass of zoolab.apis.Api",
    ),
    (plugins.MODELS, 7, "is 7, which cannot be called"),
    (plugins.MODELS, lambda name: name, "takes other arguments: got an unexpected keyword argument 'stream'"),
    (plugins.FAULTS, SimpleNamespace(name="x", stage="tool_call", does="y"), "has no breaks"),
    (plugins.FAULTS, SimpleNamespace(name="x", stage="define", does="y", breaks=len), "has the stage"),
    (plugins.FAULTS, SimpleNamespace(name="x", stage="execute", does="y", breaks=len), 'calls itself "x"; '),
    (
        plugins.FAULTS,
        SimpleNamespace(name="mine", stage="execute", does="y", breaks=lambda: 7),
        "takes other arguments: too many positional arguments",
    ),
    (plugins.TOOLBOXES, None, "is null, which cannot be called"),
    (plugins.TOOLBOXES, lambda world: [world], "takes other arguments: missing a required argument: 'world'"),
    (plugins.TOOLS, lambda: None, "takes other arguments: too many positional arguments"),
    (plugins.TEXTCALLS, "gemma", 'is "gemma", which cannot be called'),
    (plugins.TEXTCALLS, lambda text: [text], "takes other arguments: too many positional arguments"),
    (plugins.READERS, len, "has no what, recognises, read"),
    (
        plugins.READERS,
        plugins.Reader("x", len, lambda it: [it]),
        "takes other arguments: too many positional",
    ),
    (plugins.DISPLAYS, lambda trace: trace, "has no docstring"),
    (plugins.TRACES, lambda trace: trace, "has no docstring"),
    (usable_commands(), SimpleNamespace(does=" ", run=len), "has no does"),
    (
        usable_commands(),
        SimpleNamespace(does="greet", run=len),
        "cannot be used: argparse cannot read what it tells: ",
    ),
    (usable_commands(), Command("greet", lambda: 0), "takes other arguments: too many positional arguments"),
    *(
        (
            usable_commands(),
            Command("greet", len, told),
            "cannot be used: argparse cannot read what it tells: ",
        )
        for told in UNTOLD
    ),
    (
        usable_commands(),
        Command("greet 50% of all", len),
        "cannot be used: argparse cannot read what it tells: ",
    ),
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


def package(folder: Path, code: str, entries: str) -> Path:
    """A folder with a package of somebody else, as it is when it is installed."""
    (folder / "mine-1.0.dist-info").mkdir(parents=True)
    (folder / "mine.py").write_text(code, encoding="utf-8")
    (folder / "mine-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my-zoo\nVersion: 1.0\n"
    )
    (folder / "mine-1.0.dist-info" / "entry_points.txt").write_text(entries, encoding="utf-8")
    return folder


@pytest.fixture
def outside(tmp_path):
    return package(tmp_path / "site", MINE, ENTRIES)


def told(
    command: list[str], folder: Path, path: str, code: int = 0, alone: bool = False
) -> subprocess.CompletedProcess[str]:
    """What a process says that finds what is on this path before all else, or `alone`."""
    paths = [path] if alone else [path, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
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


#: What takes names that are taken, and what fails when it is used.
GREEDY = """
from zoolab import ToolRegistry, tool
from zoolab.apis.chat import ChatCompletions
from zoolab.models import Scripted
from zoolab.plugins import Command, Reader
from zoolab_connect.faulty import FaultKind
from zoolab_connect.readers.found import Conversation

class Twin(ChatCompletions):
    name = "ollama"

class Own(ChatCompletions):
    "Its body has an envelope."
    name, label, address = "own", "My own API", "https://own.invalid"

    def recognises(self, body):
        return len(body["envelope"])

    def to_body(self, request, model="", **settings):
        return {"envelope": super().to_body(request, model, **settings)}

    def from_body(self, body, left=None):
        return super().from_body(body["envelope"], left)

class Again(ChatCompletions):
    pass

class Everything(ChatCompletions):
    name, label, address, place = "everything", "Everything", "https://everything.invalid", 0

    def recognises(self, body):
        return True

class Faulty(Scripted):
    def __init__(self, name=None, stream=False):
        super().__init__(["taken"])

class Mine(Faulty):
    pass

def watch(name, stream=False):
    return Scripted(["taken"])

experiment = make_of_own = watch

@tool
def now() -> str:
    "Tell the time."
    return "noon"

def fails(*given):
    raise ValueError("broken for good")

def none(*given):
    return None

def seven(*given):
    return 7

def fieldless(given):
    return {"name": "field", "colour": "red"}

def listed():
    return [now]

def told(options):
    print(options.name, options.more, options.count)

TAKEN = Conversation([{"role": "user", "content": "taken"}])
ALL = Reader("all", lambda it: True, lambda it, unread: [TAKEN])
WHOLE = Reader("all", lambda it: it != [{"worse": 1}], ALL.read, of_whole_file=True)
BAD = Reader("bad", fails, fails, opened=fails)
WORSE = Reader("worse", lambda it: isinstance(it, dict) and "worse" in it, seven)
BREAKS = FaultKind("breaks", "tool_call", "fails", breaks=fails)
OTHERWISE = FaultKind("otherwise", "tool_call", "has another name", breaks=none)
NO_JSON = FaultKind("no_json", "tool_call", "gives a set", breaks=lambda it: object())
SPOILS = FaultKind("spoils", "execute", "fails", breaks=fails)
WITH_TYPES = Command("greet", told, {"options": {"name": {}, "--more": {}, "--count": {"type": int}}})
WITHOUT = Command("greet", told, {"options": ["name"]})
"""
GREEDY_ENTRIES = """
[zoolab.apis]
mine = mine:Twin
openai = mine:Again
instance = mine:BAD
own = mine:Own
everything = mine:Everything
[zoolab.models]
watch = mine:watch
experiment = mine:experiment
faulty = mine:Faulty
anthropic = mine:Mine
of-mine = mine:Mine
function = mine:make_of_own
[zoolab.toolboxes]
fails = mine:fails
listed = mine:listed
none = mine:none
[zoolab.tools]
fails = mine:fails
seven = mine:seven
fieldless = mine:fieldless
[zoolab.textcalls]
fails = mine:fails
none = mine:none
seven = mine:seven
[zoolab.readers]
all = mine:ALL
a-whole = mine:WHOLE
bad = mine:BAD
a-worse = mine:WORSE
[zoolab.faults]
breaks = mine:BREAKS
another = mine:OTHERWISE
no_json = mine:NO_JSON
spoils = mine:SPOILS
[zoolab.commands]
typed = mine:WITH_TYPES
untold = mine:WITHOUT
walk = mine:WITH_TYPES
gone = mine:GONE
[zoolab.names]
watch = mine:fails
[zoolab.displays]
fork = mine:listed
"""
#: Each line prints what it finds; an error of zoolab is a text.
ASKED = """
import json, sys, warnings
import zoolab
from types import SimpleNamespace
from zoolab import Faulty, Scripted, plots, run
from zoolab.apis import APIS, api_of, translate
from zoolab.errors import ZoolabError
from zoolab.records import Request
from zoolab.toolbox.catalog import tools_defined, tools_named
from zoolab_connect.imported import read_conversations

HELLO = {"role": "user", "content": "Hi"}

def asked(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", zoolab.plugins.PluginWarning)
        try:
            found = ASKS[name]()
        except (ZoolabError, AttributeError, ImportError) as error:
            found = str(error)
    return found, [str(each.message) for each in caught]

def read(**content):
    open("it.json", "w").write(json.dumps(content.get("whole", content)))
    return [[each.messages[0]["content"] if each.messages else None, each.meta.get("not_read")]
        for each in read_conversations("it.json")]

def broken(fault):
    script = [[("add", {"a": 1, "b": 2})], "3"]
    return run("?", tools_named("add"), Faulty(Scripted(script), [fault])).answer

ASKS = {
    "names": lambda: [zoolab.watch.__module__, zoolab.experiment.__module__],
    "models": lambda: [zoolab.models.Faulty.__module__, zoolab.models.AnthropicModel.__module__],
    "a class": lambda: zoolab.models.Mine.__module__,
    "a function": lambda: zoolab.models.make_of_own,
    "another model": lambda: zoolab.Mine,
    "a fork is no plot": lambda: plots.replay,
    "apis": lambda: sorted(APIS),
    "api": lambda: [api_of({"contents": []}).name, translate(Request([HELLO]), "own").body,
        APIS["own"].from_body(APIS["own"].to_body(Request([HELLO]))).messages[0]],
    "a body": lambda: [api_of({"messages": [], **more}).name for more in ({}, {"options": {}})],
    "a model": lambda: zoolab.model_for("watch")(Request([HELLO])).message["content"],
    "a list": lambda: tools_named("listed").names(),
    "no tools": lambda: tools_named("none").names(),
    "failing tools": lambda: tools_named("fails").names(),
    "defined": lambda: tools_defined(tools_named("clock").schemas()).names(),
    "a tool": lambda: zoolab.tool(SimpleNamespace(x=1)).name,
    "a text": lambda: [each.name for each in zoolab.read_calls("[add(a=1)]")],
    "a request": lambda: read(model="m", messages=[HELLO]),
    "messages": lambda: read(whole=[HELLO, HELLO]),
    "an exchange": lambda: read(request={"messages": [HELLO]}, response={})[0],
    "another": lambda: read(anything=1),
    "worse": lambda: read(worse=1),
    "a fault": lambda: broken("breaks"),
    "a result": lambda: broken("spoils"),
    "no json": lambda: broken("no_json"),
    "another name": lambda: broken("another"),
}
print(json.dumps({name: asked(name) for name in ASKS}))
"""


@pytest.fixture(scope="module")
def greedy(tmp_path_factory):
    return package(tmp_path_factory.mktemp("greedy") / "site", GREEDY, GREEDY_ENTRIES)


@pytest.fixture(scope="module")
def met(greedy):
    """What the package of somebody else does to those who ask zoolab, each with its warnings."""
    return json.loads(told(["-c", ASKED], greedy.parent, str(greedy)).stdout.splitlines()[-1])


def test_nobody_takes_the_place_of_what_came_with_zoolab(met):
    assert met["names"] == [["zoolab_connect.proxy.watch", "zoolab_study.runner"], []]
    assert met["models"] == [["zoolab_connect.faulty.model", "zoolab_connect.providers"], []]
    assert met["a class"] == ["mine", []]
    assert met["a function"][0] == "module 'zoolab.models' has no attribute 'make_of_own'"
    assert met["another model"][0] == "module 'zoolab' has no attribute 'Mine'"
    assert met["a fork is no plot"][0] == "module 'zoolab.plots' has no attribute 'replay'"


def test_an_api_with_another_name_or_that_is_no_class_is_left_out(met):
    found, warned = met["apis"]
    assert found == sorted([*OWN["zoolab.apis"], "openai", "own", "everything"])
    assert {each.partition(" in zoolab.apis ")[0] for each in warned} == {"instance", "mine"}
    assert any('calls itself "ollama"; its name must be that of its entry point' in each for each in warned)


def test_an_api_that_recognises_every_body_takes_none_of_the_others(met):
    assert met["a body"][0] == ["openai", "ollama"]


def test_an_envelope_around_a_body_is_one_pair_of_functions(met):
    (found, body, back), warned = met["api"]
    hello = {"role": "user", "content": "Hi"}
    assert (found, body, back) == ("gemini", {"envelope": {"messages": [hello]}}, hello)
    assert not [each for each in warned if each.startswith("own ")]  # Gemini was asked first


FAILED = {
    "no tools": ("none in zoolab.toolboxes failed: \"TypeError: 'NoneType' object is not iterable\"", []),
    "failing tools": ('fails in zoolab.toolboxes failed: "ValueError: broken for good"', []),
    "another name": ('another in zoolab.faults calls itself "otherwise"', []),
    "a model": ("taken", []),
    "a list": (["now"], []),
    "defined": (["get_current_time"], []),
    "a tool": (
        "namespace(x=1) cannot become a tool",
        [f"{name} in zoolab.tools" for name in ("fails", "seven", "fieldless")],
    ),
    "a text": (["add"], [f"{name} in zoolab.textcalls" for name in ("fails", "none", "seven")]),
    "a request": ([["Hi", None]], ["bad in zoolab.readers", "own in zoolab.apis"]),
    "messages": ([["Hi", None]], ["bad in zoolab.readers"]),
    "an exchange": (["Hi"], ["bad in zoolab.readers", "own in zoolab.apis"]),
    "another": ([["taken", None]], ["bad in zoolab.readers", "own in zoolab.apis"]),
    "worse": ("it.json holds no conversation", ["bad in zoolab.readers", "own in zoolab.apis"]),
    "a fault": ("3", ["breaks in zoolab.faults"]),
    "a result": ("3", ["spoils in zoolab.faults"]),
    "no json": ("3", ["no_json in zoolab.faults"]),
}


@pytest.mark.parametrize("asked", FAILED)
def test_what_fails_is_named_and_breaks_nothing_else(asked, met):
    found, warned = met[asked]
    wanted, named = FAILED[asked]
    assert found[: len(wanted)] == wanted
    failed = {each.partition(" failed: ")[0] for each in warned if " failed: " in each}
    assert failed == set(named)


def test_commands_that_argparse_cannot_read_are_left_out(greedy, tmp_path):
    helped = told(["-m", "zoolab", "--help"], tmp_path, str(greedy))
    assert "typed " in helped.stdout
    assert "untold " not in helped.stdout
    assert [line[:30] for line in helped.stderr.splitlines()] == [
        "zoolab: gone in zoolab.command",
        "zoolab: untold in zoolab.comma",
    ]
    assert "install my-zoo again" in helped.stderr
    one = told(["-m", "zoolab", "untold"], tmp_path, str(greedy), code=2)
    assert one.stderr.startswith("zoolab: untold in zoolab.commands cannot be used: argparse cannot read")
    typed = told(["-m", "zoolab", "typed", "Ada", "--more", "x", "--count", "3"], tmp_path, str(greedy))
    assert typed.stdout == "Ada x 3\n"


def test_a_registered_model_is_asked_on_the_command_line(greedy, tmp_path):
    walked = told(["-m", "zoolab", "walk", "Hi", "--provider", "of-mine"], tmp_path, str(greedy))
    assert "live: of-mine" in walked.stdout
    assert "taken" in walked.stdout
    command = ["-m", "zoolab", "walk", "Hi", "--provider", "of-mine", "--base-url", "http://127.0.0.1:9"]
    refused = told(command, tmp_path, str(greedy), code=2)
    assert refused.stderr.startswith("zoolab: the models of of-mine take no base_url")


#: Without the extras: as `pip install zoolab` leaves it.
BARE = """
import sys
from zoolab.extras import EXTRAS

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS and name != "anyio":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
from zoolab.commands.cli import main
main(["plugins", *sys.argv[1:]])
"""


def test_what_needs_an_extra_is_not_broken(tmp_path):
    shown = told(["-c", BARE], tmp_path, "").stdout
    assert "CostDisplay in zoolab.displays needs the extra 'notebook' of zoolab; run: pip install" in shown
    listed = json.loads(told(["-c", BARE, "displays", "--json"], tmp_path, "").stdout)
    (cost,) = (each for each in listed["zoolab.displays"]["entries"] if each["name"] == "CostDisplay")
    assert cost["error"] is None
    assert cost["needs"].endswith("pip install 'zoolab[notebook]'")


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
every = {}
exec("from zoolab import *", every)
assert every["run"] is zoolab.run and "experiment" not in every
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
    told(["-S", "-c", ALONE], tmp_path, path, alone=True)
    walked = told(["-S", "-m", "zoolab", "walk", "What is 42 + 58?"], tmp_path, path, alone=True)
    assert "100" in walked.stdout
    bare = tmp_path / "bare"
    bare.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith(("zoolab", "__editable__")):  # nothing is registered
            (bare / each.name).symlink_to(each)
    refused = subprocess.run(
        [sys.executable, "-S", "-m", "zoolab", "walk", "x", "--provider", "anthropic"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(bare)])},
        capture_output=True,
        text=True,
    )
    said = "no provider is named 'anthropic'; install all of zoolab: no provider is here"
    assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


#: The nodes of the syntax tree of the core, and of its rooms when this was last set.
NODES = 101_774
#: What they may become, without plots and commands: nothing stands on these.
CEILING = 95_000
NAMES = 50
ROOMS: dict[str, int] = {
    "__init__": 16,
    "__main__": 44,
    "adapters": 294,
    "answers": 446,
    "apis": 6546,
    "bound": 126,
    "commands": 3263,
    "errors": 598,
    "extras": 135,
    "fault": 103,
    "files": 971,
    "jsontext": 2826,
    "keywords": 277,
    "lazy": 381,
    "limits": 1050,
    "lint": 1214,
    "loop": 3846,
    "messages": 1940,
    "mini": 1878,
    "models": 7505,
    "options": 527,
    "plots": 3519,
    "plugins": 1371,
    "policy": 3393,
    "records": 2445,
    "repair": 5524,
    "retrieval": 651,
    "running": 2837,
    "runs": 1272,
    "schema": 8325,
    "secret_places": 1175,
    "secrets": 914,
    "show": 17037,
    "steps": 3304,
    "tapes": 288,
    "text": 1378,
    "textcalls": 2534,
    "tokens": 826,
    "tool_search": 548,
    "toolbox": 886,
    "tools": 1491,
    "trace": 8070,
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
