"""What zoolab imports is declared; without an extra the base works, and one line says what to install."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from zoolab.errors import InvalidInput, MissingPackage
from zoolab.extras import EXTRAS, needs

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALLED = packages_distributions()
OWN = {"zoolab", *(path.parent.name for path in ROOT.glob("plugins/*/__init__.py"))}
SOURCES = sorted([*ROOT.glob("zoolab/**/*.py"), *ROOT.glob("plugins/**/*.py")])


def names_in(requirements: list[str]) -> set[str]:
    """The distributions that requirements name, in the form in which they can be compared."""
    names = (re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


DECLARED = {
    "": names_in(PROJECT["dependencies"]),
    **{extra: names_in(listed) for extra, listed in PROJECT["optional-dependencies"].items()},
}


def imports_in(source: str) -> set[str]:
    """The modules that a source imports when it runs; those for type checkers alone do not count."""

    class Found(ast.NodeVisitor):
        names: set[str]

        def visit_If(self, node: ast.If) -> None:
            if ast.unparse(node.test) != "TYPE_CHECKING":
                self.generic_visit(node)
            for each in node.orelse:
                self.visit(each)

        def visit_Import(self, node: ast.Import) -> None:
            self.names |= {alias.name.partition(".")[0] for alias in node.names}

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            self.names.add(str(node.module).partition(".")[0])

        def visit_Call(self, node: ast.Call) -> None:
            if ast.unparse(node.func).endswith("import_module") and isinstance(node.args[0], ast.Constant):
                self.names.add(str(node.args[0].value).partition(".")[0])
            self.generic_visit(node)

    found = Found()
    found.names = set()
    found.visit(ast.parse(source))
    return found.names - sys.stdlib_module_names - OWN


def distribution_of(module: str) -> str:
    """The distribution that a module is from, as requirements name it."""
    names = INSTALLED.get(module, [module])
    return re.sub(r"[-_.]+", "-", sorted(names)[0]).lower()


def undeclared(source: str) -> set[str]:
    """The modules of a source that are neither in the base nor in the extra that EXTRAS names."""
    # Commands for a checkout use its tools, pytest loads the plugin, and pyodide is the Python of a browser.
    names = imports_in(source) - {"tools", "pytest", "pyodide"}
    homes = {name: DECLARED[EXTRAS.get(name, "")] for name in names}
    # They come with what is declared.
    same = {"mcp_types": "mcp", "opentelemetry": "opentelemetry-sdk", "rfc3987_syntax": "jsonschema"}
    return {name for name, home in homes.items() if same.get(name, distribution_of(name)) not in home}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_import_is_declared(path):
    if "_labs" not in path.parts:
        assert undeclared(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f():\n    import requests", {"requests"}),
        ("import_module('tornado')", {"tornado"}),
        ("from openai._types import Any\nimport json, zoolab.errors\nimport pandas.api", set()),
        ("if TYPE_CHECKING:\n    import requests\nelse:\n    import tornado", {"tornado"}),
    ],
)
def test_an_undeclared_import_is_found(source, found):
    assert undeclared(source) == found


def test_nothing_is_declared_that_is_not_imported_and_the_table_names_real_extras():
    imported = {distribution_of(name) for path in SOURCES for name in imports_in(path.read_text("utf-8"))}
    assert DECLARED[""] - imported == set()
    assert set(EXTRAS.values()) <= DECLARED.keys()


def test_the_course_has_what_notebooks_and_labs_import():
    files = [*ROOT.glob("notebooks/*.py"), *ROOT.glob("labs/*/*.py")]
    imported = {name for path in files for name in imports_in(path.read_text(encoding="utf-8"))}
    listed = DECLARED[""] | DECLARED["course"] | DECLARED["notebook"]
    assert "pandas" in imported
    assert "zoolab" in DECLARED["course"]
    assert {name for name in imported if distribution_of(name) not in listed} == set()


def run_without(code: str, *extras: str) -> str:
    """What code prints where the libraries of these extras are not installed."""
    kept = {"anyio", "httpx2"}  # the base has them, through openai
    gone = sorted(name for name, extra in EXTRAS.items() if extra in extras and name not in kept)
    hide = f"""
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {gone}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
"""
    done = subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


ALL = set(EXTRAS.values())

LESSON = """
from zoolab import Faulty, Scripted, experiment, run, tool, walk, Tool, check_call, predict
from zoolab.repair import RuleRepair
from zoolab.retrieval import BM25

@tool
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b

model = lambda seed=0: Scripted([[("add", {"a": 42, "b": 58})], "It is 100."])
assert [step.kind for step in walk("Hi", [add], model())][-1] == "tool_call"
mended = run("What?", [add], Faulty(model(), ["trailing_comma"]), repair=RuleRepair(), retrieve=BM25())
assert mended.answer == "It is 100." and "<html" in mended.to_html()
done = experiment([{"id": "a", "prompt": "What?", "expected_tool": "add"}], {"plain": {"tools": [add]}},
                  {"script": model}, progress=False)
print(done, [trace.answer for trace in done.traces])
"""


def test_the_base_walks_repairs_tells_and_experiments():
    printed = run_without(LESSON, *ALL)
    assert printed == "<Experiment: 1 of 1 runs: 1 case x 1 variant x 1 model x 1 repeat> ['It is 100.']\n"


def test_the_base_checks_a_lab():
    code = "from zoolab import check; print(check('l1', 'def run_loop(*given): return given'))"
    assert run_without(code, *ALL).startswith("l1: 0 of ")


MISSING = [
    ("from zoolab import Scripted, run; run('Hi', [], Scripted(['Hello'])).to_frame()", "pandas"),
    ("from zoolab import Scripted, run; run('Hi', [], Scripted(['Hello'])).inspect()", "anywidget"),
    ("from zoolab import Scripted, run; run('Hi', [], Scripted(['Hello'])).to_otel()", "opentelemetry"),
    ("from zoolab.plots import AblationDisplay", "matplotlib"),
    ("from zoolab_study.datasets import load; load('selection-cases')", "pandas"),
    ("from zoolab.retrieval import Embeddings; Embeddings()", "wordllama"),
    ("from zoolab_study import Experiment; Experiment.summary.func(None)", "pandas"),
    ("from zoolab_course.local import load_engine; load_engine('needle')", "needle-rs"),
    ("import zoolab_connect.mcp as m, zoolab.toolbox.starter as s; m.serve([s.add])", "mcp-types"),
    ("from zoolab_connect.readers.exchanges import cassette_in; cassette_in('')", "yaml"),
    ("from zoolab_study.jobs import dask_executor\nwith dask_executor(''): pass", "distributed"),
]  # fmt: skip


def test_a_missing_extra_is_one_line():
    guard = "for code in {}:\n try: exec(code)\n except ImportError as error: print(error)"
    printed = run_without(guard.format([code for code, _ in MISSING]), *ALL)
    extras = {missing: EXTRAS[missing.replace("-", "_")] for _, missing in MISSING}
    assert printed.splitlines() == [
        f"this needs {missing}; run: pip install 'zoolab[{extras[missing]}]'" for _, missing in MISSING
    ]


@pytest.mark.parametrize(
    ("command", "missing"), [(["experiment", "config.toml"], "pandas"), (["lab"], "jupyterlab")]
)
def test_a_command_says_so_before_it_begins(command, missing):
    code = "from zoolab.commands.cli import run_command; import sys; sys.stderr = sys.stdout"
    code += f"; run_command({command})"
    printed = run_without(code, *ALL)
    assert printed == f"zoolab: this needs {missing}; run: pip install 'zoolab[notebook]'\n"


def test_what_is_missing_is_an_import_error_and_one_of_ours():
    with pytest.raises(MissingPackage) as raised:
        needs("json", "mcp.no_such_module")
    assert isinstance(raised.value, InvalidInput)
    assert isinstance(raised.value, ImportError)
    assert str(raised.value) == "this needs mcp; run: pip install 'zoolab[mcp]'"
