"""The house: imports go strictly downward, siblings never meet, and `import zoolab` costs next to nothing.

The core (`zoolab/`) has floors. A plugin (`plugins/zoolab_*`) stands on the core, and on another plugin only
where ARROWS says so.
"""

import ast
import json
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import zoolab

ROOT = Path(zoolab.__file__).parent
PLUGINS = ROOT.parent / "plugins"

# From the cellar up. A name is a module, or a room whose files may import each other.
FLOORS = [
    ["lazy", "mini"],
    ["errors"],
    ["extras", "fault", "files", "keywords", "running.interrupts", "jsontext"],
    ["secret_places"],
    ["plugins", "running.awaited", "schema", "secrets", "text", "tokens"],
    ["textcalls", "limits"],
    ["messages"],
    ["records.exchange"],
    ["apis"],
    ["running", "tools"],
    ["records", "adapters", "bound"],
    ["steps.result"],
    [
        *("steps.define", "steps.request", "steps.tool_call", "steps.validate", "steps.execute"),
        *("steps", "lint", "policy", "repair", "retrieval", "tapes"),
    ],
    ["answers", "models.about", "models.deltas", "running.calls", "tool_search"],
    ["limits.budget", "options"],
    ["loop", "toolbox"],
    ["models"],
    ["trace"],
    ["show"],
    ["runs"],
    ["plots"],
    ["__init__"],
    ["commands"],
    ["__main__"],
]
#: The plugins, and the other plugins that each may import.
ARROWS = {
    "zoolab_connect": set(),
    "zoolab_grader": {"zoolab_study"},
    "zoolab_study": {"zoolab_connect"},
    "zoolab_course": {"zoolab_connect", "zoolab_grader", "zoolab_study"},
}
#: Rooms that stand on the ground alone: what judges zoolab shares nothing with it, and a grade is no view.
GROUND = {"errors", "files", "jsontext", "lazy", "running"}
FLOOR_OF = {name: number for number, floor in enumerate(FLOORS) for name in floor}
HEAVY = {
    "json_repair",
    "openai",
    "jsonschema",
    "pandas",
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "mcp",
    "pydantic",
}

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
OF_PLUGINS = {
    ".".join(path.relative_to(PLUGINS).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PLUGINS.rglob("*.py"))
}
EVERY = {**{f"zoolab.{name}".removesuffix(".__init__"): path for name, path in MODULES.items()}, **OF_PLUGINS}


def room_of(module: str) -> str:
    """The entry of FLOORS that a module belongs to."""
    return module if module in FLOOR_OF else module.partition(".")[0]


def named_in(tree: ast.AST) -> list[str]:
    """The modules of zoolab and its plugins that a module imports, anywhere in it."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name if name in EVERY else str(node.module) for name in inner]
    return [name for name in found if name.partition(".")[0] in ("zoolab", *ARROWS)]


def imports_of(tree: ast.AST) -> list[str]:
    """The modules of the core that a module imports; zoolab itself is `__init__`."""
    own = [name for name in named_in(tree) if name.partition(".")[0] == "zoolab"]
    return [name.partition(".")[2] or "__init__" for name in own]


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(EVERY[module].read_text(encoding="utf-8"))


def stray_imports(module: str, source: str) -> list[str]:
    """The imports of a module from plugins that it has no arrow to; the core has none at all."""
    home = module.partition(".")[0]
    allowed = {"zoolab", home, *ARROWS.get(home, ())}
    return [name for name in named_in(ast.parse(source)) if name.partition(".")[0] not in allowed]


def upward_imports(module: str, source: str) -> list[str]:
    """The imports of a module that go up, or sideways to another room."""
    room = room_of(module)
    targets = imports_of(ast.parse(source))
    return [t for t in targets if room_of(t) != room and FLOOR_OF[room_of(t)] >= FLOOR_OF[room]]


#: Public names that stand in several modules for one thing each: every reader has `recognises` and `read`, a
#: process has `main`. What people write themselves is named by its world: a `Case` of a lab or of a study.
ALIKE = {"main", "read", "recognises", "Case", "check"}


def test_a_public_name_stands_for_one_thing():
    homes: dict[str, set[str]] = {}
    for module in EVERY:
        if module != "zoolab.mini":  # one file to be read alone, with the names of the lesson
            for node in tree_of(module).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, set()).add(module)
    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in ALIKE} == {}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_floor(module):
    assert room_of(module) in FLOOR_OF


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_strictly_downward(module):
    assert upward_imports(module, MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("errors", "from zoolab.records import Step"),
        ("policy", "from zoolab import lint"),
        ("loop", "from zoolab.models.scripted import Scripted"),
        ("records", "import zoolab"),
        ("steps.validate", "from zoolab.steps.define import tool"),
        ("steps.validate", "def f():\n    import zoolab.steps.execute"),
    ],
)
def test_an_import_upward_or_sideways_is_found(module, source):
    assert upward_imports(module, source)


@pytest.mark.parametrize("module", EVERY)
def test_plugins_are_imported_along_the_arrows_alone(module):
    assert stray_imports(module, EVERY[module].read_text(encoding="utf-8")) == []


def test_a_stray_import_is_found():
    assert stray_imports("zoolab.runs", "def f():\n    from zoolab_study import experiment")
    assert stray_imports("zoolab_grader.judge", "import zoolab_course.progress")
    assert not stray_imports("zoolab_course.progress", "from zoolab_grader import grade")


def test_every_plugin_has_its_arrows_and_they_go_one_way():
    assert {path.parent.name for path in PLUGINS.glob("*/__init__.py")} == set(ARROWS)
    for plugin, others in ARROWS.items():
        assert all(plugin not in ARROWS[other] for other in others)


@pytest.mark.parametrize("module", [name for name in OF_PLUGINS if name.startswith("zoolab_grader")])
def test_the_grader_imports_no_view(module):
    assert [name for name in named_in(tree_of(module)) if name.startswith("zoolab.show")] == []


@pytest.mark.parametrize("module", [n for n in OF_PLUGINS if n.startswith("zoolab_connect.endpoint")])
def test_the_strict_endpoint_shares_no_code_with_the_models_that_it_judges(module):
    others = [n for n in named_in(tree_of(module)) if not n.startswith("zoolab_connect.endpoint")]
    assert {name.split(".")[1] for name in others} <= GROUND


@pytest.mark.parametrize("module", OF_PLUGINS)
def test_a_plugin_imports_nothing_private_of_the_core(module):
    named = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.ImportFrom)]
    core = [node for node in named if str(node.module).partition(".")[0] == "zoolab"]
    found = [alias.name for node in core for alias in node.names if alias.name.startswith("_")]
    assert [name for name in found if name != "__version__"] == []


@pytest.mark.parametrize("module", EVERY)
def test_nothing_in_the_wheel_imports_the_makers(module):
    tree = tree_of(module)
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    assert [name for name in named if name.partition(".")[0] == "tools"] == []


def test_files_in_one_room_may_import_each_other():
    assert upward_imports("trace.log", "from zoolab.trace.summary import brief") == []


def circles_among(files: dict[str, set[str]]) -> list[list[str]]:
    """The groups of files that reach each other by imports."""

    def reached(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            new = files.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    reach = {file: reached(file) for file in files}
    groups = {frozenset(n for n in reach[file] if file in reach[n]) for file in files if file in reach[file]}
    return sorted(map(sorted, groups))


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions and under TYPE_CHECKING count, too; packages' own `__init__` names do not."""
    files = {module: set(named_in(tree_of(module))) - {module} for module in EVERY}
    circles = circles_among({name: found & set(files) for name, found in files.items()})
    assert circles == []


def test_a_circle_is_found():
    assert circles_among({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d2"}, "d2": set()}) == [["b", "c"]]


def imports_by_string(tree: ast.AST) -> set[str]:
    """The modules of zoolab that a module names in a string while it can import by a string."""
    nodes = list(ast.walk(tree))
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
    if not names & {"import_module", "__import__"}:
        return set()
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if text.startswith(("zoolab.", "zoolab_")) and "\n" not in text}


# The worker of a submission knows which modules it needs, and imports them before it is shut in.
BY_STRING = {"zoolab_grader.worker.zygote"}


@pytest.mark.parametrize("module", sorted(EVERY.keys() - BY_STRING))
def test_no_module_of_zoolab_is_imported_by_string(module):
    assert imports_by_string(tree_of(module)) == set()


def test_an_import_by_string_is_found():
    source = "ROOMS = {'inspect': 'zoolab.show.inspector'}\nimportlib.import_module(ROOMS['inspect'])"
    assert imports_by_string(ast.parse(source)) == {"zoolab.show.inspector"}


def test_every_exported_name_exists():
    assert [name for name in zoolab.__all__ if not hasattr(zoolab, name)] == []
    assert set(zoolab.__all__) <= set(dir(zoolab))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Toool'"):
        _ = zoolab.Toool


@pytest.mark.parametrize("module", [name for name in EVERY if not name.endswith("__main__")])
def test_what_a_module_exports_exists(module):
    made = import_module(module)
    assert [name for name in getattr(made, "__all__", ()) if not hasattr(made, name)] == []


@pytest.mark.parametrize("step", ["define", "request", "tool_call", "validate", "execute", "result"])
def test_the_steps_are_modules_even_once_every_name_is_loaded(step):
    for name in zoolab.__all__:
        getattr(zoolab, name)
    assert isinstance(import_module(f"zoolab.steps.{step}"), ModuleType)
    assert isinstance(getattr(zoolab.steps, step), ModuleType)


def modules_of(code: str) -> set[str]:
    """The modules that are loaded after `code` has run in a fresh interpreter."""
    code += "\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded_by(code: str) -> set[str]:
    """The packages of these modules."""
    return {name.partition(".")[0] for name in modules_of(code)}


WALK = """
from zoolab import Scripted, Trace, run, tool

@tool
def add(a: int, b: int = 1, unit: str = "C") -> int:
    "Add two integers."
    return a + b

trace = run("2 + 2?", [add], Scripted([[("add", {"a": 2, "b": 2}), ("add", {"a": 1})], "4"]))
assert trace.answer == "4" and not trace.errors, trace.errors
"""


def test_import_zoolab_loads_nothing_heavy():
    assert loaded_by("import zoolab").isdisjoint(HEAVY)


def test_the_names_of_a_first_cell_load_only_what_defines_them():
    loaded = modules_of("from zoolab import tool, walk, run, Trace, Scripted") - modules_of("pass")
    late = {"policy", "schema.functions", "schema.checker", "trace.calls"}
    assert loaded.isdisjoint({"datetime", "ipaddress", "pathlib", "signal", "urllib.parse"})
    assert loaded.isdisjoint({f"zoolab.{name}" for name in late})


def test_a_recorded_walk_with_a_plain_tool_loads_nothing_heavy():
    assert loaded_by(WALK).isdisjoint(HEAVY)


def test_the_weight_check_sees_what_is_loaded():
    wrong = WALK.replace('{"a": 1}', '{"a": "1"}').replace("and not trace.errors", "")
    assert "jsonschema" in loaded_by(wrong)
