"""`start.py` as a newcomer meets it, on a small project that installs without the network."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import wait_until

from zoolab.commands.cli import commands_for

START = Path(__file__).parents[1] / "start.py"
INSTALLING = "zoolab: installing"
POSIX = os.name == "posix"

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "zoolab"
version = "0"

[project.optional-dependencies]
course = []
dev = []
"""

# The least that PEP 660 asks for, so that no build tool must be fetched.
BACKEND = """
from pathlib import Path
from zipfile import ZipFile

INFO = "zoolab-0.dist-info"
FILES = {
    "zoolab.pth": "\\n".join(map(str, (Path(__file__).parent, Path(__file__).parent / "plugins"))),
    f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: zoolab\\nVersion: 0\\n"
        "Provides-Extra: course\\nProvides-Extra: dev\\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "zoolab-0-py3-none-any.whl"
    record = "".join(f"{path},,\\n" for path in [*FILES, f"{INFO}/RECORD"])
    with ZipFile(Path(folder) / name, "w") as wheel:
        for path, text in [*FILES.items(), (f"{INFO}/RECORD", record)]:
            wheel.writestr(path, text)
    return name
"""

PACKAGE = """
import os, sys
print("zoolab runs", *sys.argv[1:])
print("bytecode", not sys.dont_write_bytecode, "inside", sys.prefix != sys.base_prefix)
sys.exit(int(os.environ.get("EXIT_CODE", 0)))
"""


def write_project(folder: Path, needs: str = "") -> Path:
    """A project of the same shape as ours, with nothing to download unless it `needs` a package."""
    (folder / "zoolab").mkdir(parents=True)
    shutil.copy(START, folder)
    version = 'version = "0"\n'
    pyproject = PYPROJECT.replace(version, f"{version}dependencies = {[needs]}\n") if needs else PYPROJECT
    (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    extra = "Provides-Extra: dev\\n"
    backend = BACKEND.replace(extra, f"{extra}Requires-Dist: {needs}\\n") if needs else BACKEND
    (folder / "backend.py").write_text(backend, encoding="utf-8")
    (folder / "zoolab" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "zoolab" / "__main__.py").write_text(PACKAGE, encoding="utf-8")
    return folder


UV = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def offline(uv: bool = True, **more: str) -> dict[str, str]:
    """An environment without the network and without what the developer has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    path = os.pathsep.join(
        ([str(Path(UV).parent)] if uv and UV else []) + ([os.defpath] if POSIX else [kept["PATH"]])
    )
    no_network = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "UV_OFFLINE": "1"}
    return {**kept, **no_network, "PATH": path, **more}


def start(folder: Path, *arguments: str, uv: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `start.py` with uv on PATH, where there is one, or without."""
    return subprocess.run(
        [sys.executable, str(folder / "start.py"), *arguments],
        env=offline(uv, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has been started once; its folder's name has a space and brackets."""
    folder = write_project(tmp_path_factory.mktemp("start") / "my project [1]")
    first = start(folder, uv=False, PYTHONDONTWRITEBYTECODE="1")
    assert first.returncode == 0, first.stdout + first.stderr
    assert INSTALLING in first.stdout
    assert "zoolab runs lab\n" in first.stdout
    return folder


def test_the_second_start_installs_nothing(project: Path):
    second = start(project, "lab", "--no-browser", "--port", "8899")
    assert INSTALLING not in second.stdout
    assert "zoolab runs lab --no-browser --port 8899\n" in second.stdout


def test_children_compile_and_stay_inside(project: Path):
    done = start(project, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH="/nowhere", PIP_TARGET="/nowhere")
    assert "bytecode True inside True" in done.stdout


def test_the_exit_code_is_the_childs(project: Path):
    assert start(project, EXIT_CODE="7").returncode == 7


def break_python(venv: Path) -> None:
    python = next((venv / "bin").glob("python"))
    python.unlink()
    python.symlink_to(venv / "gone")


def remove_pip(venv: Path) -> None:
    (venv / "zoolab-installed.json").unlink()
    for pip in venv.glob("lib/python*/site-packages/pip*"):
        shutil.rmtree(pip)


def leave_unfinished(venv: Path) -> None:
    (venv / "zoolab-unfinished").touch()


def spoil_stamp(venv: Path) -> None:
    (venv / "zoolab-installed.json").write_text('["', encoding="utf-8")


def remove_configuration(venv: Path) -> None:
    (venv / "pyvenv.cfg").unlink()


@pytest.mark.skipif(not POSIX, reason="the folders have other names on Windows")
@pytest.mark.parametrize(
    "damage",
    [
        break_python,
        remove_pip,
        leave_unfinished,
        spoil_stamp,
        remove_configuration,
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_half_made_venv_is_repaired(project: Path, damage: Callable[[Path], None]):
    damage(project / ".venv")
    repaired = start(project)
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert INSTALLING in repaired.stdout
    assert "zoolab runs lab\n" in repaired.stdout
    assert INSTALLING not in start(project).stdout


def wait_until_installing(folder: Path) -> None:
    """Wait for the middle of an installation; through pip it lasts seconds."""
    wait_until((folder / ".venv" / "zoolab-unfinished").exists)


@pytest.mark.skipif(not POSIX, reason="kill -9 of a process group")
def test_killed_in_the_middle_it_starts_over(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    command = [sys.executable, str(folder / "start.py")]
    process = subprocess.Popen(
        command, env=offline(uv=False), stdout=subprocess.DEVNULL, start_new_session=True
    )
    wait_until_installing(folder)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "zoolab runs lab\n" in start(folder).stdout


@pytest.mark.skipif(not POSIX, reason="signals")
def test_control_c_ends_it_with_130(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    command = [sys.executable, str(folder / "start.py")]
    with subprocess.Popen(command, env=offline(uv=False), stderr=subprocess.PIPE, text=True) as process:
        wait_until_installing(folder)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "zoolab: stopped\n"


def somebody_elses(folder: Path) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "precious.txt").write_text("mine", encoding="utf-8")


def a_file(path: Path) -> None:
    path.write_text("mine", encoding="utf-8")


def a_link_to_nowhere(path: Path) -> None:
    path.symlink_to(path.with_name("not-mounted"))


@pytest.mark.skipif(not POSIX, reason="links need rights on Windows")
@pytest.mark.parametrize("make", [somebody_elses, a_file, a_link_to_nowhere], ids=lambda make: make.__name__)
def test_what_it_did_not_make_it_does_not_delete(tmp_path: Path, make: Callable[[Path], None]):
    folder = write_project(tmp_path / "project")
    make(folder / ".venv")
    before = sorted(folder.rglob("*"))
    done = start(folder)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "was not made by start.py" in line
    assert sorted(path for path in folder.rglob("*") if path.name != ".venv.lock") == before
    (folder / ".venv").rename(tmp_path / "kept")
    assert "zoolab runs lab\n" in start(folder).stdout


def test_a_venv_of_the_users_own_serves_and_keeps_its_files(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True)
    (folder / ".venv" / "precious.txt").write_text("mine", encoding="utf-8")
    assert "zoolab runs lab\n" in start(folder).stdout
    (folder / ".venv" / "zoolab-unfinished").touch()  # as if it had been killed
    again = start(folder)
    assert INSTALLING in again.stdout
    assert "zoolab runs lab\n" in again.stdout
    assert (folder / ".venv" / "precious.txt").read_text(encoding="utf-8") == "mine"


def test_two_starts_at_once_install_once(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    command = [sys.executable, str(folder / "start.py")]
    both = [
        subprocess.Popen(
            command, env=offline(uv=False), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sum(INSTALLING in out for out, _ in told) == 1
    assert all("zoolab runs lab\n" in out for out, _ in told)


def test_settings_of_pip_for_other_projects_do_not_matter(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    elsewhere = tmp_path / "elsewhere"
    settings = {"PIP_TARGET": str(elsewhere), "PIP_REQUIRE_HASHES": "1", "PIP_DRY_RUN": "1", "PIP_USER": "1"}
    done = start(folder, uv=False, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not elsewhere.exists()


@pytest.mark.parametrize("uv", [False, True], ids=["pip", "uv"])
def test_an_index_that_refuses_is_one_line_soon(tmp_path: Path, uv: bool):
    folder = write_project(tmp_path / "project", needs="no-such-package-here")
    refused = "http://127.0.0.1:9/simple"
    kept = {name: value for name, value in offline(uv).items() if name not in ("PIP_NO_INDEX", "UV_OFFLINE")}
    done = subprocess.run(
        [sys.executable, str(folder / "start.py")],
        env={**kept, "PIP_INDEX_URL": refused, "UV_DEFAULT_INDEX": refused},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "needs the network" in line
    assert "zoolab runs lab\n" not in done.stdout


def test_a_moved_project_is_installed_where_it_is_now(project: Path, tmp_path: Path):
    moved = tmp_path / "moved"
    shutil.copytree(project, moved, symlinks=True)
    assert INSTALLING in start(moved).stdout
    [link] = moved.glob(".venv/[lL]ib/**/zoolab.pth")
    lines = link.read_bytes().decode("ascii").splitlines()
    places = [(link.parent.resolve() / written).resolve() for written in lines]
    assert places == [moved.resolve(), moved.resolve() / "plugins"]


def test_a_changed_pyproject_is_installed_again(project: Path):
    with (project / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n[tool.other]\n")
    changed = start(project)
    assert INSTALLING in changed.stdout
    assert "making .venv" not in changed.stdout


def test_dev_serves_plain_as_well(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    (folder / "tests" / "bench").mkdir(parents=True)
    (folder / "tests" / "bench" / "run.py").write_text("print('benchmarks run')", encoding="utf-8")
    assert INSTALLING in start(folder).stdout
    bench = start(folder, "bench")
    assert INSTALLING in bench.stdout
    assert "benchmarks run" in bench.stdout
    assert INSTALLING not in start(folder).stdout
    assert INSTALLING not in start(folder, "bench").stdout


def test_test_runs_every_check_and_fails_if_one_fails(project: Path):
    done = start(project, "test", "-k", "nothing")
    lines = done.stdout.splitlines()
    assert done.returncode != 0
    for check in ("ruff check", "ruff format", "mypy"):
        assert any(line.startswith(f"zoolab: {check}") and "FAILED" in line for line in lines)
    assert "zoolab: pytest (FAILED before it: ruff check, ruff format, mypy)" in lines


WAITING = """
from pathlib import Path

def test_that_passes_when_it_is_run_again():
    ran = Path(__file__).with_name("ran")
    before = ran.exists()
    ran.touch()
    assert before

def test_that_passes():
    with Path(__file__).with_name("count").open("a") as count:
        count.write("x")
"""


QUICK = """
def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true")
"""


@pytest.mark.parametrize("call", ["start.twice('-p', 'no:zoolab')", "start.test(['-p', 'no:zoolab'])"])
@pytest.mark.parametrize(("more", "code"), [("", 0), ("def test_that_fails(): raise ValueError\n", 1)])
def test_what_failed_runs_once_more_in_every_tier(tmp_path: Path, call: str, more: str, code: int):
    folder = write_project(tmp_path / "project")
    (folder / "test_waiting.py").write_text(WAITING + more, encoding="utf-8")
    (folder / "conftest.py").write_text(QUICK, encoding="utf-8")
    start(folder)
    [site] = (folder / ".venv").glob("[Ll]ib/**/site-packages")
    (site / "here.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    program = f"import sys, start; start.CHECKS.clear(); sys.exit({call})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.count("zoolab: pytest, once more, alone: what failed") == 1
    assert (folder / "count").read_text() == "x"
    ends = [line for line in done.stdout.splitlines() if line.startswith("===") and " in " in line]
    assert [("failed" in line) for line in ends] == [True, bool(code)]


@pytest.mark.parametrize("uv", [False, True], ids=["pip", "uv"])
def test_without_the_network_one_line_says_so(tmp_path: Path, uv: bool):
    folder = write_project(tmp_path / "project", needs="no-such-package-here")
    done = start(folder, uv=uv)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "needs the network; nothing is lost" in last
    assert " pip install " in last
    assert "Traceback" not in done.stdout + done.stderr


def test_a_failed_update_keeps_the_venv(project: Path):
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    broken = text.replace('backend-path = ["."]', 'backend-path = ["none"]')
    (project / "pyproject.toml").write_text(broken, encoding="utf-8")
    assert start(project).returncode == 2
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    again = start(project)
    assert again.returncode == 0
    assert INSTALLING not in again.stdout


def test_a_finished_venv_is_back_if_its_successor_cannot_be_made(tmp_path: Path):
    folder = write_project(tmp_path / "project", needs="no-such-package-here")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (folder / ".venv" / "zoolab-made-this").touch()
    (folder / ".venv" / "what-the-student-installed").touch()
    stamp = {"folder": str(tmp_path / "elsewhere"), "python": "3.0", "pyproject": "", "extras": ""}
    (folder / ".venv" / "zoolab-installed.json").write_text(json.dumps(stamp), encoding="utf-8")
    done = start(folder, uv=False)
    assert done.returncode == 2
    assert "the .venv that was here before is back" in done.stdout
    assert (folder / ".venv" / "what-the-student-installed").exists()
    assert not [*folder.glob(".venv-*-*")]


def test_what_was_installed_and_cannot_be_imported_is_said(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    (folder / "zoolab" / "__init__.py").write_text("import no_such_module\n", encoding="utf-8")
    done = start(folder, uv=False)
    assert done.returncode == 2
    assert "cannot be imported: ModuleNotFoundError: No module named" in done.stderr


@pytest.mark.skipif(not POSIX, reason="the locale says nothing of paths there")
@pytest.mark.parametrize("uv", [False, True], ids=["pip", "uv"])
def test_a_folder_with_an_umlaut_is_one_like_others(tmp_path: Path, uv: bool):
    folder = write_project(tmp_path / "klon mit ü")
    done = start(folder, uv=uv, LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert "no help from uv" not in done.stdout or not uv
    [link] = folder.glob(".venv/lib/*/site-packages/zoolab.pth")
    assert link.read_bytes().isascii()


def test_a_wrong_command_is_one_line_and_2(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    done = start(folder, "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    said, _, names = done.stderr.partition("; there are ")
    assert said == "zoolab: unknown command 'nonsense'"
    assert set(names.strip().split(", ")) == {*commands_for(""), "test", "bench", "site", "--help"}
    assert not (folder / ".venv").exists()


def test_any_command_of_zoolab_is_passed_on_and_runs_in_the_callers_folder(project: Path, tmp_path: Path):
    (tmp_path / "zoolab.py").write_text("raise SystemExit('a stranger')", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(project / "start.py"), "walk", "2 + 2?", "--save", "a b"],
        cwd=tmp_path,
        env=offline(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("zoolab runs walk 2 + 2? --save a b\n")


def test_help_names_every_command(tmp_path: Path):
    done = start(write_project(tmp_path / "project"), "--help")
    assert done.returncode == 0
    assert all(f"start.py {command}" in done.stdout for command in ("lab", "test", "bench", "walk", "--help"))


def test_an_incomplete_folder_is_one_line(tmp_path: Path):
    folder = write_project(tmp_path / "project")
    (folder / "pyproject.toml").unlink()
    done = start(folder)
    assert done.returncode == 2
    assert done.stderr == f"zoolab: {folder / 'pyproject.toml'}: No such file or directory\n"


def test_an_old_python_can_read_it_and_is_told_so():
    ast.parse(START.read_text(encoding="utf-8"), feature_version=(3, 6))
    for python in filter(None, (shutil.which(f"python3.{minor}") for minor in range(6, 11))):
        done = subprocess.run([python, str(START)], capture_output=True, text=True, check=False)
        # A version manager's stand-in for a Python that is not there ends with 127.
        if done.returncode != 127:
            assert (done.returncode, done.stderr) == (2, "")
            assert "install 3.11 or newer" in done.stdout
