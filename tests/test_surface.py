"""What a user finds by Tab and Shift-Tab, and what a type checker knows of it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules

import pytest

import zoolab
from zoolab import Faulty, Reply, Request, Scripted, Trace, arun, as_tool, awalk, run, walk, with_tools
from zoolab.errors import InvalidInput, UnknownOption
from zoolab.models.about import About, Wrapper, about
from zoolab.options import ForkOptions, Options, WalkOptions

PACKAGES = [
    "zoolab",
    *(f"zoolab.{name}" for name in ("models", "show", "show.inspector", "toolbox")),
]


def told(code: str) -> list[str]:
    """What a fresh interpreter prints, in words."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_shows_public_names_and_submodules_only(package):
    code = f"import zoolab; it = {package}; print(*dir(it)); [getattr(it, name) for name in dir(it)]"
    names = {name for name in told(code) if not name.startswith("__")}
    module = sys.modules[package] if package in sys.modules else __import__(package, fromlist=["x"])
    inner = {info.name for info in iter_modules(module.__path__) if not info.name.startswith("_")}
    assert names == {*getattr(module, "__all__", ()), *inner}


def test_submodules_need_no_import_of_their_own():
    code = "import sys, zoolab; before = len([name for name in sys.modules if name.startswith('zoolab')])"
    code += "; print(before, zoolab.models.Scripted.__name__, zoolab.errors.InvalidInput.__name__)"
    code += "; print(zoolab.toolbox.starter.starter_tools.__name__, zoolab.plots.SequenceDisplay.__name__)"
    code += "; print(zoolab.retrieval.BM25.__name__, zoolab.repair.RuleRepair.__name__, zoolab.apis.__name__)"
    names = [
        "Scripted",
        "InvalidInput",
        "starter_tools",
        "SequenceDisplay",
        "BM25",
        "RuleRepair",
        "zoolab.apis",
    ]
    assert told(code) == ["2", *names]


@pytest.mark.parametrize("name", ["Toool", "annotations", "import_module", "_HOMES", "__wrapped__", "a.b"])
def test_what_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'zoolab' has no attribute '{name}'"):
        getattr(zoolab, name)


TYPED = """
import zoolab
zoolab.models.Scripted(["Hello"])
zoolab.errors.InvalidInput("x")
zoolab.plots.SequenceDisplay
zoolab.typo  # error
zoolab.models.typo  # error
zoolab.plots.typo  # error
zoolab.experiment.typo  # error
zoolab.run("Hi", [], zoolab.Scripted(["Hello"]), limits=zoolab.Limits(turns=2))
zoolab.run("Hi", [], zoolab.Scripted(["Hello"]), limts=None)  # error
zoolab.run("Hi", [], zoolab.Scripted(["Hello"]), limits=3)  # error
zoolab.as_tool("a", "A.", [], zoolab.Scripted(["Hello"]), limts=None)  # error
zoolab.run("Hi", [], zoolab.Scripted(["Hello"]), tape="run.jsonl")
zoolab.walk("Hi", [], zoolab.Scripted(["Hello"]), tape="run.jsonl")  # error
"""


@pytest.mark.slow
def test_a_type_checker_knows_which_names_there_are(tmp_path: Path):
    typed = tmp_path / "typed.py"
    typed.write_text(TYPED)
    root = Path(zoolab.__file__).parents[1]  # its settings, and what mypy keeps there from its last run
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(typed)],
        cwd=root,
        env={**os.environ, "MYPYPATH": f"{root}{os.pathsep}{root / 'plugins'}"},
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^.*typed\.py:(\d+): error: ", done.stdout, re.MULTILINE)
    wrong = {int(line) for line in found}
    expected = {number for number, line in enumerate(TYPED.splitlines(), 1) if "# error" in line}
    assert wrong == expected, done.stdout


def options_of(function) -> dict[str, tuple[object, object]]:
    """The keyword arguments of a function: their defaults and types."""
    shown = signature(function).parameters.values()
    return {one.name: (one.default, one.annotation) for one in shown if one.kind is one.KEYWORD_ONLY}


WALK = options_of(walk)


def test_the_options_of_a_walk_are_the_same_wherever_they_stand():
    assert options_of(Options) == WALK
    assert WalkOptions.__annotations__.keys() == WALK.keys()
    hints = {name: hint.__forward_arg__ for name, hint in WalkOptions.__annotations__.items()}
    assert hints == {name: hint for name, (_, hint) in WALK.items()}
    start = {"messages", "system", "first_turn", "tape"}
    assert ForkOptions.__annotations__.keys() == WALK.keys() - start


@pytest.mark.parametrize(
    ("function", "own", "without"),
    [
        (run, {"trace", "meta", "ask", "go_on", "tape"}, set()),
        (arun, {"trace", "meta", "ask", "go_on", "tape"}, set()),
        (awalk, {"trace"}, set()),
        (as_tool, {"trace", "meta", "ask", "go_on", "tape"}, set()),
        (with_tools, set(), {"messages"}),
        (Trace.fork, {"model", "tools", "ask"}, {"messages", "system", "first_turn", "tape"}),
    ],
)
def test_who_passes_options_on_shows_them(function, own, without):
    shown = options_of(function)
    assert shown.keys() == (WALK.keys() | own) - without
    assert {name: shown[name] for name in shown if name not in own} == {
        name: WALK[name] for name in WALK if name not in {*without, *own}
    }


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("run", lambda typo: run("Hi", [], Scripted(["Hello"]), **typo)),
        ("arun", lambda typo: arun("Hi", [], Scripted(["Hello"]), **typo)),
        ("awalk", lambda typo: awalk("Hi", [], Scripted(["Hello"]), **typo)),
        ("fork", lambda typo: run("Hi", [], Scripted(["Hello"])).fork(1, **typo)),
        ("as_tool", lambda typo: as_tool("a", "A.", [], Scripted([]), **typo)),
        ("with_tools", lambda typo: with_tools(Scripted([]), [], **typo)),
    ],
)
def test_a_typo_is_named_by_the_function_that_was_called(name, ask):
    with pytest.raises(TypeError) as raised:
        ask({"limts": None})
    assert isinstance(raised.value, UnknownOption)
    assert str(raised.value) == f"{name}() has no option 'limts'; did you mean 'limits'?"
    with pytest.raises(InvalidInput, match=r"has no option 'xyz'; there are .*limits"):
        ask({"xyz": None})


def test_options_that_go_on_are_checked_at_once():
    for make in (lambda: as_tool("a", "A.", [], Scripted([]), limits=3), lambda: with_tools("gpt", [])):
        with pytest.raises(InvalidInput, match="; expected"):
            make()


def test_a_sub_agent_takes_every_option_of_run(tmp_path):
    own = {"trace": None, "meta": {"a": 1}, "ask": None, "go_on": None, "tape": tmp_path / "a.jsonl"}
    made = as_tool("a", "A.", [], Scripted(["Hello"]), **own)
    assert made.invoke({"task": "Hi"}).trace.meta == {"a": 1}


class Tiny:
    """A model that says everything of itself."""

    model, name, who, made = "tiny-1", "tiny", "Tiny, at home", "recorded"
    calls, settings, deterministic, client, recording = "text", {"seed": 1}, True, "a client", "a recording"
    on_this_machine, shared = True, True

    def __call__(self, _request):
        return Reply({"role": "assistant", "content": "Hi"})

    def body(self, _request):
        return {"model": self.model}

    def equip(self, registry):
        return registry


PROPERTIES = [name for name, value in vars(About).items() if isinstance(value, property)]


def test_a_model_says_of_itself_what_it_wants():
    tiny = Tiny()
    said = {name: getattr(about(tiny), name) for name in PROPERTIES}
    assert said == {name: getattr(tiny, name) for name in PROPERTIES} | {"name": "tiny-1"}
    assert len(PROPERTIES) == 13


@pytest.mark.parametrize("model", [lambda _: None, None, 7])
def test_who_says_nothing_is_told_apart_by_class_alone(model):
    said = {name: getattr(about(model), name) for name in PROPERTIES}
    name = type(model).__name__
    assert {key: value for key, value in said.items() if value not in (None, {})} == {
        "name": name,
        "who": name,
        "made": "unknown",
        "calls": "native",
        "deterministic": False,
        "on_this_machine": False,
        "shared": False,
    }


def test_what_a_model_says_wrongly_is_not_said():
    tiny = Tiny()
    tiny.model = tiny.name = tiny.who = tiny.settings = tiny.body = tiny.equip = tiny.calls = tiny.made = 0
    said = about(tiny)
    assert (said.name, said.who, said.settings, said.body, said.equip) == ("Tiny", "Tiny", {}, None, None)
    assert (said.calls, said.made) == ("native", "unknown")


def test_wrappers_say_what_the_inner_model_says():
    tiny = Tiny()
    assert {name: getattr(about(Wrapper(tiny)), name) for name in PROPERTIES} == {
        name: getattr(about(tiny), name) for name in PROPERTIES
    }
    faulty = about(Faulty(tiny, ["trailing_comma"]))
    assert (faulty.name, faulty.who, faulty.made) == (
        "tiny-1",
        "Tiny, at home, with injected faults",
        "authored",
    )
    assert (faulty.calls, faulty.settings) == ("text", {"seed": 1})
    enabled = about(with_tools(tiny, []))
    assert (enabled.name, enabled.who) == ("tiny-1", "Tiny, at home, with tools of its own")
    assert Wrapper(tiny)(Request([])).text == "Hi"


def test_nobody_asks_a_model_past_the_protocol():
    asked = set(PROPERTIES) - {"name", "model", "recording"}  # these are asked of other things as well
    root = Path(zoolab.__file__).parent
    found = [
        f"{path.name}:{node.lineno}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value in asked
    ]
    assert found == []
