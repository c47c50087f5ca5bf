"""How the site is built: its links lead to pages, and the course in the browser compiles nothing that
a notebook begins with.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.site.bytecode import add_bytecode
from tools.site.staging import with_links_of_the_site


@pytest.mark.parametrize("archive", ["stdlib.zip", "one-1.0-py3-none-any.whl"])
def test_the_bytecode_is_used_and_the_source_is_still_there(tmp_path: Path, archive: str) -> None:
    path = tmp_path / archive
    sources = {"one/__init__.py": "SAID = 'compiled'\n", "one/two.py": "SAID = 'compiled'\n"}
    with ZipFile(path, "w") as file:
        for name, text in {**sources, "one/left.py": "SAID = 'source'\n"}.items():
            file.writestr(name, text)
        file.writestr("one-1.0.dist-info/RECORD", "")
    add_bytecode(path, {*sources, "other/module.py"})

    with ZipFile(path) as file:
        names = file.namelist()
        assert file.read("one/two.py").decode() == sources["one/two.py"]
        assert file.read("one-1.0.dist-info/RECORD").decode().count(",,\n") == len(names) == 6
        file.extractall(tmp_path / "unpacked")
    place = path
    if archive.endswith(".whl"):
        place = tmp_path / "unpacked"
        (place / "one" / "two.py").write_text("SAID = 'source'\n", "utf-8")
    else:
        _rewrite(path, {"one/two.py": "SAID = 'source'\n"})
    code = "import one, one.two, one.left; print(one.SAID, one.two.SAID, one.left.SAID)"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(place)!r}); {code}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["compiled", "compiled", "source"]


def _rewrite(path: Path, changed: dict[str, str]) -> None:
    with ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    with ZipFile(path, "w") as file:
        for name, data in files.items():
            file.writestr(name, changed.get(name, data))


def test_a_link_to_a_file_outside_the_site_becomes_text(tmp_path: Path) -> None:
    (tmp_path / "labs" / "l3").mkdir(parents=True)
    (tmp_path / "labs" / "l3" / "README.md").touch()
    page = tmp_path / "index.md"
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to" / "a.md").touch()
    text = "[l3](labs/l3), [code](zoolab/loop.py), [web](https://example.org), [here](#start)"
    wanted = "[l3](labs/l3/README.md), code, [web](https://example.org), [here](#start)"
    text, wanted = f"{text} [own](tools/site/pages/how-to/a.md#b)", f"{wanted} [own](how-to/a.md#b)"
    assert with_links_of_the_site(text, page, tmp_path) == wanted
