#!/usr/bin/env python3
"""Set zoolab up and start it, with nothing but Python 3.11 or newer.

    python3 start.py                 make .venv, install zoolab into it, open JupyterLab
    python3 start.py lab [options]   the same with options, such as --no-browser --port 8888
    python3 start.py test [options]  lint, type-check and run the tests that take some minutes;
                                     --all runs every test; --complete downloads the models' weights
                                     and data that some need; other options go to pytest
    python3 start.py site [FOLDER]   build the web site: the course with its outputs, labs, reference
    python3 start.py bench [options] run the benchmarks; --peers, --quick, --markdown
    python3 start.py walk ...        any command of zoolab: walk, inspect, doctor, grade and so on
    python3 start.py --help          print this page

The first start needs the network; later ones do not. To start over, delete .venv.
"""

# Python 3.6 must still be able to read this file, or it could not say that it is too old.
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NoReturn

if sys.version_info < (3, 11):  # noqa: UP036
    print(f"zoolab: this is Python {sys.version.split()[0]}; install 3.11 or newer, run start.py with that")
    sys.exit(2)

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "zoolab-installed.json"
UNFINISHED = VENV / "zoolab-unfinished"
# Only a .venv with this file in it is ever deleted.
OURS = VENV / "zoolab-made-this"
LOG = VENV / "zoolab-install.log"
LOG_KEPT = HERE / ".venv-install.log"
LOCK = HERE / ".venv.lock"
# Says where it runs: locale, proxies, certificates and so on.
ABOUT_HERE = HERE / "plugins" / "zoolab_course" / "here.py"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"

# The commands of zoolab, known before it is installed.
COMMANDS = (
    *("lab", "walk", "chat", "inspect", "bisect", "policy", "proxy", "stress", "endpoint", "record", "local"),
    *("doctor", "mcp", "serve-tools", "course", "labs", "datasets", "grade", "progress", "experiment"),
    *("cases", "secrets", "completion", "plugins"),
)
# These are start.py's own, and need what developers need.
FOR_DEVELOPERS = ("test", "bench", "site")
# What a user may have set for other projects and what would lead an installer away from .venv.
MISLEADING = ("PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH")
# Of an installer's settings only those count that say where packages are and how to get there.
PLACES = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_PROXY", "PIP_CERT"),
    *("PIP_CLIENT_CERT", "PIP_TRUSTED_HOST", "PIP_CONFIG_FILE", "PIP_CACHE_DIR", "PIP_KEYRING_PROVIDER"),
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX"),
    *("UV_OFFLINE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_INSECURE_HOST", "UV_CACHE_DIR", "UV_CONFIG_FILE"),
    *("UV_KEYRING_PROVIDER", "UV_LINK_MODE"),
)
# An index that does not answer is given up soon; pip's own subprocesses read these, too.
PATIENCE = {
    "PIP_RETRIES": "1",
    "PIP_DEFAULT_TIMEOUT": "10",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_HTTP_RETRIES": "1",
    "UV_HTTP_TIMEOUT": "15",
    # Python up to 3.12 may not start in a folder with other letters until `make_relative` has run.
    "UV_COMPILE_BYTECODE": "1" if str(HERE).isascii() else "0",
}
CHECKS = {
    "ruff check": ["ruff", "check", "--quiet", "."],
    "ruff format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
}
TESTS_FAILED = 1  # what pytest ends with, when nothing else went wrong


class CannotStart(Exception):
    """What is wrong and what to do about it, in one line."""


def say(text: str) -> None:
    """One line a phase."""
    print("zoolab: " + text, flush=True)


def stop(code: int, text: str) -> NoReturn:
    """Print the last line, for people, and end with the exit code, for programs."""
    print("zoolab: " + text, file=sys.stderr, flush=True)
    sys.exit(code)


def environment() -> dict[str, str]:
    """Return the environment of every child: as if .venv were activated."""
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    path = os.pathsep.join([str(BIN), kept.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "VIRTUAL_ENV": str(VENV)}


def run(*command: object, quiet: bool = False) -> int:
    """Run a command in the project's folder to its end; its exit code, or 127 if it cannot start."""
    output = subprocess.DEVNULL if quiet else None
    try:
        words = [str(word) for word in command]
        return subprocess.call(words, cwd=HERE, env=environment(), stdout=output, stderr=output)
    except OSError:
        return 127


def run_installer(*command: object) -> int:
    """Run pip or uv. A terminal sees how far it is; without one, what it says goes into a file."""
    plain = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("PIP_", "UV_")) or name in PLACES
    }
    words, environ = [str(word) for word in command], {**plain, **PATIENCE}
    try:
        if sys.stderr.isatty():
            return subprocess.call(words, cwd=HERE, env=environ)
        with LOG.open("a", encoding="utf-8") as log:
            return subprocess.call(words, cwd=HERE, env=environ, stdout=log, stderr=log)
    except OSError:
        return 127


@contextmanager
def alone() -> Iterator[None]:
    """Keep a second start.py out while this one makes .venv; the system lets go when a process dies."""
    with LOCK.open("a") as file:
        if not take(file):
            say("another start.py is installing here; waiting for it")
            while not take(file):
                time.sleep(0.2)
        yield


def take(file: IO[str]) -> bool:
    """Lock a file for this process; False if another has it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def venv_is_usable() -> bool:
    """Whether .venv holds a Python of this version that runs, is whole, and was not moved here."""
    if (OURS.exists() and UNFINISHED.exists()) or read_stamp().get("folder", str(HERE)) != str(HERE):
        return False
    outside = f"sys.version_info[:2] != {sys.version_info[:2]} or sys.prefix == sys.base_prefix"
    return run(PYTHON, "-c", f"import sys; sys.exit({outside})", quiet=True) == 0


def make_venv() -> None:
    """Make .venv anew, and mark it as ours and unfinished; what start.py did not make stays."""
    if not find_spec("venv") or not (shutil.which("uv") or find_spec("ensurepip")):
        raise CannotStart("this Python has no venv; on Debian and Ubuntu: sudo apt install python3-venv")
    import venv

    remove_leftovers("bad")
    empty = VENV.is_dir() and not any(VENV.iterdir())
    if VENV.is_symlink() or (VENV.exists() and not empty and not OURS.exists()):
        raise CannotStart(
            f"{VENV} was not made by start.py, and Python {VERSION} cannot use it; rename it, and start again"
        )
    if OURS.exists():
        # A rename is done or not done; to delete takes time, and may be stopped in the middle.
        # One that was finished is kept until its successor works.
        kind = "bad" if UNFINISHED.exists() else "old"
        VENV.rename(HERE / f".venv-{kind}-{os.getpid()}")
        remove_leftovers("bad")
    say(f"making .venv with Python {VERSION}")
    VENV.mkdir(exist_ok=True)
    OURS.touch()
    UNFINISHED.touch()
    venv.EnvBuilder(symlinks=os.name != "nt").create(VENV)


def remove_leftovers(*kinds: str) -> None:
    """Delete what is left of older ones of ours: "bad" were never finished, "old" have a successor."""
    for kind in kinds:
        for old in HERE.glob(f".venv-{kind}-*"):
            shutil.rmtree(old, ignore_errors=True)


def put_back() -> None:
    """Put the .venv that was there back in its place, because its successor could not be finished."""
    old = next(iter(sorted(HERE.glob(".venv-old-*"))), None)
    if old is not None and OURS.exists() and UNFINISHED.exists():
        LOG_KEPT.write_bytes(LOG.read_bytes() if LOG.exists() else b"")
        VENV.rename(HERE / f".venv-bad-{os.getpid()}")
        old.rename(VENV)
        LOG_KEPT.replace(LOG)
        remove_leftovers("bad")
        say("the .venv that was here before is back")


def check_import() -> None:
    """Raise `CannotStart` if Python in .venv cannot import zoolab; it says what failed."""
    make_relative()
    environ = {name: value for name, value in environment().items() if not name.startswith("PYTHON")}
    command = [str(PYTHON), "-P", "-c", "import zoolab"]
    done = subprocess.run(command, cwd=VENV, env=environ, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = ascii((done.stderr.strip().splitlines() or ["nothing was said"])[-1])[1:-1]
        raise CannotStart(f"zoolab was installed and cannot be imported: {said}")


def make_relative() -> None:
    """Write the place of zoolab relative to .venv: Python up to 3.12 reads it in the locale's encoding."""
    ours = (HERE, HERE / "plugins")
    for path in VENV.glob(
        "lib*/python*/site-packages/*.pth" if os.name != "nt" else "Lib/site-packages/*.pth"
    ):
        relative = {
            # An installer writes the bytes of the path, or what the locale makes of them.
            written: os.fsencode(os.path.relpath(place, path.parent.resolve()))
            for place in ours
            for written in (os.fsencode(place), str(place).encode("utf-8", "surrogateescape"))
        }
        lines = path.read_bytes().splitlines()
        if relative.keys() & {*lines}:
            path.write_bytes(b"".join(relative.get(line, line) + b"\n" for line in lines))


def ensure_pip() -> None:
    """Put pip into .venv, from the copy that comes with Python."""
    if run(PYTHON, "-m", "pip", "--version", quiet=True) == 0:
        return
    if run_installer(PYTHON, "-m", "ensurepip", "--upgrade", "--default-pip"):
        raise CannotStart(f"{advice()} (failed: {PYTHON} -m ensurepip)")


def find_uv() -> str | None:
    """Return the uv on PATH, or one that pip puts into .venv: it installs in seconds what takes pip
    minutes.
    """
    on_path = shutil.which("uv")
    if on_path:
        return on_path
    ensure_pip()
    failed = run_installer(PYTHON, "-m", "pip", "install", "--quiet", "--retries", "0", "uv")
    return None if failed else str(BIN / "uv")


def install(extras: str) -> None:
    """Install the project, editable, through uv or else through pip."""
    say("installing zoolab and what it needs")
    project = ["--editable", ".[dev]" if extras else ".[course]"]
    uv = find_uv()
    installed = uv and run_installer(uv, "pip", "install", "--python", PYTHON, *project) == 0
    make_relative()
    if installed:
        return
    say("no help from uv; installing through pip, which takes a few minutes")
    ensure_pip()
    command = [PYTHON, "-m", "pip", "install", *project]
    if run_installer(*command):
        told = "" if sys.stderr.isatty() else f"; what it said is in {LOG}"
        raise CannotStart(f"{advice()} (failed: {' '.join(map(str, command))}{told})")


def advice() -> str:
    """Return what a person can do about an installation that failed."""
    megabytes = shutil.disk_usage(HERE).free // 1_000_000
    if megabytes < 1000:
        return f"the disk has {megabytes} MB left, .venv takes about 1000; make room and run start.py again"
    return "the first start needs the network; nothing is lost, run start.py again when there is one"


def read_stamp() -> dict[str, str]:
    """Return what was installed into .venv, as the last finished installation wrote it."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def is_done(wanted: dict[str, str]) -> bool:
    """Whether .venv has what is wanted already."""
    return read_stamp() == wanted and not UNFINISHED.exists() and venv_is_usable()


def prepare(extras: str) -> None:
    """Bring .venv up to what pyproject.toml asks for; does nothing where that is so already."""
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    stamp = read_stamp()
    wanted = {
        "folder": str(HERE),
        "python": VERSION,
        "pyproject": digest,
        "extras": extras or stamp.get("extras", ""),
    }
    if is_done(wanted):
        return
    with alone():
        # Whoever had to wait may find that there is nothing left to do.
        if is_done(wanted):
            return
        usable = venv_is_usable()
        if not usable:
            make_venv()
        UNFINISHED.touch()
        try:
            install(wanted["extras"])
            check_import()
        except CannotStart:
            if ABOUT_HERE.exists():
                run(sys.executable, "-I", ABOUT_HERE)
            # An update that cannot reach the network has changed nothing: what was there still serves.
            if usable:
                UNFINISHED.unlink()
            else:
                put_back()
            raise
        STAMP.write_text(json.dumps(wanted), encoding="utf-8")
        UNFINISHED.unlink()
        remove_leftovers("old")


def foreground(*arguments: str) -> int:
    """Run Python in .venv to its end and leave Ctrl-C to it."""

    def stay(*_: object) -> None: ...

    signal.signal(signal.SIGINT, stay)
    return run(PYTHON, *arguments)


def hand_over(*arguments: str) -> int:
    """Become Python in .venv, so that signals and the exit code are its own."""
    if os.name == "nt":
        return foreground(*arguments)
    return os.execve(PYTHON, [str(PYTHON), *arguments], environment())


def passes(name: str, arguments: list[str]) -> bool:
    """Run one check and print one line about it, and its output if it fails."""
    started = time.monotonic()
    command = [str(PYTHON), "-m", *arguments]
    done = subprocess.run(command, cwd=HERE, env=environment(), capture_output=True, text=True)
    took = time.monotonic() - started
    say(f"{name:<12} {'FAILED' if done.returncode else 'ok'} {took:.1f} s")
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def test(arguments: list[str]) -> int:
    """Run every check, then pytest, whose summary stays the last line.

    Tests run side by side, a file in one process, in the order of `tests/conftest.py`. Those in a browser
    come last, so that nothing but another browser works beside them.
    """
    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    say(f"pytest (FAILED before it: {', '.join(failed)})" if failed else "pytest")
    options = [each for each in arguments if each != "--all"]
    beside = ["-n", str(min(os.cpu_count() or 1, 8)), "--dist", "loadfile", "--no-loadscope-reorder"]
    if "--all" not in arguments:
        return twice("--quick", *beside, *options) or int(bool(failed))
    first = twice("-m", "not browser", *beside, *options)
    say("pytest, in a browser")
    return twice("-m", "browser", *beside, *options) or first or int(bool(failed))


def twice(*options: str) -> int:
    """Run pytest, and what failed once more, one test after the other.

    Some tests wait for another process, and a busy machine keeps them waiting. Both runs are on the page,
    and a property that failed is tried with the same examples, so that no fault passes unseen.
    """
    code = foreground("-m", "pytest", *options)
    if code != TESTS_FAILED:
        return code
    say("pytest, once more, alone: what failed")
    return foreground("-m", "pytest", *options, "-n0", "--last-failed", "--last-failed-no-failures", "none")


def main(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("lab", [])
    if command in ("-h", "--help", "help"):
        print((__doc__ or "").strip())
        return 0
    if command not in (*COMMANDS, *FOR_DEVELOPERS):
        raise CannotStart(
            f"unknown command {command!r}; there are {', '.join((*COMMANDS, *FOR_DEVELOPERS))}, --help"
        )
    prepare("dev" if command in FOR_DEVELOPERS else "")
    if command == "test":
        return test(rest)
    if command in ("lab", "bench", "site"):
        os.chdir(HERE)
    if command == "site":
        return hand_over("-m", "tools.site", *rest)
    if command == "bench":
        return hand_over("tests/bench/run.py", *rest)
    if command == "lab":
        say("starting JupyterLab")
    return hand_over("-P", "-m", "zoolab", command, *rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CannotStart as problem:
        stop(2, str(problem))
    except OSError as problem:
        stop(2, f"{problem.filename or HERE}: {problem.strerror or problem}")
    except KeyboardInterrupt:
        stop(130, "stopped")
