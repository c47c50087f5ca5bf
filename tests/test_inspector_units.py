"""The inspector's modules, by themselves, under Node; and put together as the one script of a page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from inspected import TRACES

from zoolab.files import read_shipped
from zoolab.show.inspector.modules import MODULES, inspector_script
from zoolab.show.inspector.overview import overview_of, packed

UNITS = sorted(Path(__file__).parent.glob("inspector_*.mjs"))

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node; CI installs it")


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A folder with the modules as Node reads them, and with overviews as Python packs them."""
    for name in MODULES:
        text = read_shipped("zoolab.show.inspector", f"{name}.js")
        (tmp_path / f"{name}.js").write_text(text, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    overviews = [overview_of(trace) for trace in TRACES.values()]
    both = {"sent": [packed(each) for each in overviews], "plain": overviews}
    (tmp_path / "overviews.json").write_text(json.dumps(both), encoding="utf-8")
    for path in UNITS:
        shutil.copy(path, tmp_path)
    return tmp_path


@needs_node
@pytest.mark.parametrize("name", [path.name for path in UNITS if path.stem != "inspector_dom"])
def test_the_units_of_the_modules_pass(modules: Path, name: str) -> None:
    told = subprocess.run(["node", "--test", name], cwd=modules, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[told.stdout.find("\nnot ok") :][:4000]


@needs_node
@pytest.mark.parametrize("name", MODULES)
def test_each_module_loads_with_what_it_imports(modules: Path, name: str) -> None:
    told = subprocess.run(
        ["node", "--input-type=module", "--eval", f"await import('./{name}.js')"],
        cwd=modules,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr


def test_modules_import_downward_only_and_the_script_imports_nothing() -> None:
    for place, name in enumerate(MODULES):
        text = read_shipped("zoolab.show.inspector", f"{name}.js")
        imported = re.findall(r'from "\./(\w+)\.js"', text)
        assert set(imported) <= set(MODULES[:place])
    script = inspector_script()
    assert not re.search(r"^import\b", script, re.MULTILINE)
    assert re.findall(r"^export\b.*", script, re.MULTILINE) == ["export default { render };"]


def test_no_name_is_given_twice_in_the_script() -> None:
    names = re.findall(r"^(?:async )?(?:function|const|class|let) (\w+)", inspector_script(), re.MULTILINE)
    assert len(names) == len(set(names))
