"""What the grader trusts of zoolab: the imports of `zoolab_grader`, and the layers within it."""

import ast
import sys
from pathlib import Path

import zoolab_grader

ROOT = Path(zoolab_grader.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent.name != "commands")

# Each of these runs in the grader's own process, beside the hidden cases.
TRUSTED = {
    "errors",
    "files",
    "jsontext",
    "running.interrupts",
    "runs",
    "text.markup",
    "text.wording",
}


def imported_by(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_grader_imports_only_this_of_zoolab():
    own = {name for path in FILES for name in imported_by(path) if name.startswith("zoolab.")}
    assert {name.removeprefix("zoolab.") for name in own} == TRUSTED
    study = {name for path in FILES for name in imported_by(path) if name.startswith("zoolab_study")}
    assert study == {"zoolab_study.jobs"}


def test_the_worker_imports_only_itself_and_the_standard_library():
    for path in FILES:
        if path.parent.name == "worker":
            names = imported_by(path)
            own = {name for name in names if name.startswith("zoolab")}
            assert all(name.startswith("zoolab_grader.worker") for name in own), path
            others = {name.partition(".")[0] for name in names - own} - sys.stdlib_module_names
            assert not others, path


def test_no_file_of_the_grader_imports_itself_through_others():
    uses = {}
    for path in FILES:
        if path.stem != "__init__":
            name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
            uses[name] = {each for each in imported_by(path) if each.startswith("zoolab_grader.")}
    while leaves := {name for name, targets in uses.items() if not targets & uses.keys()}:
        for name in leaves:
            del uses[name]
    assert uses == {}
