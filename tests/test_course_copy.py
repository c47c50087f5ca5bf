"""`zoolab course`: the course in a folder of one's own, and JupyterLab in it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from hashlib import sha256
from pathlib import Path

import pytest
from tornado.websocket import websocket_connect

from tools.masters import BEGIN
from tools.site.staging import PROJECT, stage
from zoolab.commands.cli import run_command
from zoolab.files import course_folder
from zoolab_course.commands.course import MANIFEST, copy_course, course_files, lab_command, lab_environment
from zoolab_grader import lab_names

NOTEBOOK = Path("notebooks", "01-one-loop.ipynb")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    assert run_command(["course", str(tmp_path / "course"), "--no-open"]) == 0
    return tmp_path / "course"


def test_it_copies_notebooks_labs_and_data(copied):
    assert (copied / NOTEBOOK).is_file()
    assert (copied / "datasets" / "traces" / "README.md").is_file()
    assert {path.name for path in copied.glob("notebooks/traffic/*")} == {
        "openai-agents.jsonl",
        "smolagents.jsonl",
    }
    assert {path.parent.name for path in copied.glob("labs/*/*.ipynb")} == set(lab_names())


def test_the_site_has_the_traffic_too_because_its_notebooks_run(tmp_path):
    stage(PROJECT / "tools" / "site" / "pages", tmp_path / "pages", tmp_path / "extra")
    assert len([*tmp_path.glob("pages/notebooks/traffic/*.jsonl")]) == 2


LINK = re.compile(r"""\]\(<?([^)\s>]+)|(?:src|href)=["']([^"']+)|^\[[^\]^]+\]:\s+(\S+)""", re.MULTILINE)


def prose_of(path: Path) -> str:
    """The text of a page, or the Markdown of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_links_of_every_page_lead_somewhere_in_the_copy(copied):
    pages = [*copied.rglob("*.md"), *copied.rglob("*.ipynb")]
    found = [
        (page.relative_to(copied), target)
        for page in pages
        for target in map("".join, LINK.findall(prose_of(page)))
        if not re.match(r"#|\w+:", target)
    ]
    assert len(found) > 100
    lost = [each for each in found if not (copied / each[0].parent / each[1].partition("#")[0]).exists()]
    assert lost == []


def test_students_get_no_solution_and_no_hidden_case(copied):
    for lab in lab_names():
        given = {path.name for path in (copied / "labs" / lab).iterdir()}
        assert given - {"README.md"} == {f"{lab}.ipynb"}
    told = "".join(path.read_text(encoding="utf-8") for path in copied.glob("labs/*/*.*"))
    assert BEGIN in (course_folder("labs") / "l1" / "master.py").read_text(encoding="utf-8")
    assert "@case" not in told
    assert BEGIN not in told


def test_what_a_student_changed_stays_and_the_rest_is_renewed(copied, capsys):
    mine, old, gone = (copied / "labs" / lab / f"{lab}.ipynb" for lab in ("l3", "l5", "l1"))
    mine.write_text("my work", encoding="utf-8")
    gone.unlink()
    # As an older zoolab would have copied it.
    old.write_bytes(b"an older version")
    manifest = json.loads((copied / MANIFEST).read_text(encoding="utf-8"))
    manifest["labs/l5/l5.ipynb"] = sha256(b"an older version").hexdigest()
    (copied / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    capsys.readouterr()
    assert run_command(["course", str(copied), "--no-open"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{mine}: kept, because you have changed it",
        f"{copied}: 2 files written, 1 kept",
    ]
    assert mine.read_text(encoding="utf-8") == "my work"
    assert old.read_bytes() == (course_folder("labs") / "l5" / "l5.ipynb").read_bytes()
    assert gone.exists()
    # And a third time: what was kept is still known as changed.
    assert copy_course(copied)[1] == [mine]


@pytest.mark.parametrize("damage", ["", "[1]", "no JSON"])
def test_without_a_manifest_nothing_is_replaced(copied, damage):
    (copied / MANIFEST).write_text(damage, encoding="utf-8")
    (copied / NOTEBOOK).write_text("my work", encoding="utf-8")
    assert copy_course(copied) == ([], [copied / NOTEBOOK])


def test_a_file_in_the_way_is_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert run_command(["course", str(tmp_path / "file"), "--no-open"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_jupyterlab_shows_the_whole_copy(copied):
    command = lab_command(True, None, [str(copied / NOTEBOOK)])
    assert f"--ServerApp.root_dir={copied.resolve()}" in command
    assert f"--LabApp.default_url=/lab/tree/{NOTEBOOK.as_posix()}" in command


def test_nothing_of_the_course_is_copied_twice():
    names = [name for _, name in course_files()]
    assert len(names) == len(set(names)) > 100


def test_the_terminal_of_jupyterlab_has_the_commands_of_this_python_first(monkeypatch):
    monkeypatch.setenv("PATH", "/elsewhere")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    environment = lab_environment()
    first, _, rest = environment["PATH"].partition(":" if sys.platform != "win32" else ";")
    assert (Path(first), rest) == (Path(sys.executable).parent, "/elsewhere")
    [own] = Path(environment["JUPYTER_CONFIG_PATH"].split(":/mine")[0]).rglob("*.json")
    settings = json.loads(own.read_text(encoding="utf-8"))
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


async def said_by_a_terminal(port: int) -> str:
    """What a new terminal of the server says about `zoolab`."""
    address = f"127.0.0.1:{port}"
    request = urllib.request.Request(f"http://{address}/api/terminals", data=b"{}", method="POST")
    deadline, made = time.monotonic() + 30, None
    while made is None:  # it says where it listens a moment before it does
        try:
            made = await asyncio.to_thread(urllib.request.urlopen, request)
        except OSError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
    name = json.load(made)["name"]
    connection = await websocket_connect(f"ws://{address}/terminals/websocket/{name}")
    connection.write_message(json.dumps(["stdin", "echo found:$(command -v zoolab); exit\r"]))
    heard = ""
    while (message := await connection.read_message()) is not None:
        kind, *text = json.loads(message)
        heard += str(text[0]) if kind == "stdout" else ""
    return heard


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a process becomes another one only on POSIX")
def test_its_terminal_finds_zoolab_and_what_ends_the_command_ends_jupyterlab(tmp_path):
    command = [sys.executable, "-m", "zoolab", "course", str(tmp_path / "course"), "--no-browser"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--ServerApp.token=", "--ServerApp.disable_check_xsrf=True"]
    lab = subprocess.Popen([*command, *options], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert any("http://127.0.0.1" in line for line in lab.stderr)
    heard = asyncio.run(asyncio.wait_for(said_by_a_terminal(port), 60))
    assert f"found:{Path(sys.executable).parent / 'zoolab'}" in heard
    lab.terminate()
    lab.communicate(timeout=60)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
