"""Programs of other people pass through a watch unchanged; each in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from played import TASK, TASK_WITH_MISTAKE, Player, playing_script

from zoolab import Trace, watch
from zoolab.errors import InvalidInput
from zoolab_connect.proxy.seen import Seen

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "programs"
#: A folder of environments that are ready: NAME/bin/python.
READY = os.environ.get("ZOOLAB_PROGRAMS")
ENVIRONMENTS = {
    "clients": ["openai==3.54.0", "anthropic==2.12.0"],
    "agents": ["openai-agents==0.24.0"],
    "pydantic": ["pydantic-ai-slim[openai,anthropic]==2.68.0"],
    "langgraph": ["langgraph==1.2.22", "langchain-openai==1.7.3"],
    "smol": ["smolagents[openai]==1.26.0"],
    "llm": ["llm==0.36"],
}
KEYS = {
    "OPENAI_API_KEY": "sk-proj-Zr4nVd8QkTq2mWx7yBc1Lp5s",
    "ANTHROPIC_API_KEY": "sk-ant-api03-Hy6tRw2zKfPq9vNb4mXc",
}
ANSWER = "The result is 45."
CALLS = [call for turn in TASK_WITH_MISTAKE for call in turn.calls]


@dataclass(frozen=True)
class Program:
    """A script of `programs`, with its words, and the environment that it needs."""

    environment: str
    script: str
    words: tuple[str, ...]
    #: Whether it runs a call whose arguments do not meet the schema.
    careless: bool = False
    #: Whether the model gives its answer as a call.
    answers_with_call: bool = False

    def __str__(self) -> str:
        return "-".join((self.script, *self.words))


def both(environment: str, script: str, *apis: str, **more: bool) -> list[Program]:
    ways: list[tuple[str, ...]] = [(), ("streamed",)]
    return [Program(environment, script, (api, *way), **more) for api in apis for way in ways]


ALL = [
    *both("clients", "openai_client", "chat", "responses", "kept"),
    *both("clients", "anthropic_client", "anthropic"),
    *both("agents", "agents_sdk", "responses", "chat"),
    *both("pydantic", "pydantic_agent", "chat", "responses", "anthropic"),
    *both("langgraph", "langgraph_agent", "chat", "responses"),
    *both("smol", "smol_agent", "chat", answers_with_call=True),
    *both("llm", "llm_chain", "responses", "chat", careless=True),
]


@pytest.fixture(scope="session")
def python_of(pytestconfig: pytest.Config, download: Any) -> Callable[[str], Path]:
    """The Python of an environment, which is made once."""
    kept = Path(READY) if READY else pytestconfig.cache.mkdir("programs")

    def path_of(name: str) -> Path:
        return kept / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def find(name: str) -> Path:
        if READY or (kept / name / "installed").exists():
            return path_of(name)
        raise InvalidInput(f"{', '.join(ENVIRONMENTS[name])} in an environment of its own")

    def fetch(name: str) -> Path:
        try:
            return find(name)
        except InvalidInput:
            shutil.rmtree(kept / name, ignore_errors=True)
            install(kept / name, path_of(name), ENVIRONMENTS[name])
            (kept / name / "installed").touch()
            return path_of(name)

    return lambda name: download(lambda: find(name), lambda: fetch(name))


def install(folder: Path, python: Path, packages: list[str]) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    make = [sys.executable, "-m", "venv", *(["--without-pip"] if uv else []), str(folder)]
    by_uv = [str(uv), "pip", "install", "--python", str(python), *packages]
    by_pip = [str(python), "-m", "pip", "install", *packages]
    for command in (make, by_uv if uv else by_pip):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


@dataclass(frozen=True)
class Ran:
    """What a program printed, and the calls that its tools ran."""

    answer: str
    calls: list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Runner:
    """Runs programs as their users would, where nothing but loopback answers."""

    python_of: Callable[[str], Path]
    home: Path
    outside: str

    def command(self, program: Program) -> list[str]:
        python = str(self.python_of(program.environment))
        return [python, str(PROGRAMS / f"{program.script}.py"), *program.words]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.outside)
        own = {"HOME": str(self.home), "LLM_USER_PATH": str(self.home / "llm")}
        return {**kept, **proxies, **own, **more}

    def run(self, program: Program, seen: Seen, **more: str) -> Ran:
        done = subprocess.run(
            self.command(program),
            env=self.environment(**{**seen.environment, **more}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Ran(answer_in(done.stdout), calls_in(done.stderr))


def answer_in(printed: str) -> str:
    """What comes last: smolagents shows its stream before that."""
    return printed.strip().splitlines()[-1].strip()


def calls_in(printed: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls in lines such as `called add {"a": 2, "b": 3}`."""
    lines = (line.split(" ", 2) for line in printed.splitlines() if line.startswith("called "))
    return [(name, json.loads(given)) for _, name, given in lines]


@pytest.fixture
def runner(python_of: Callable[[str], Path], tmp_path: Path) -> Iterator[Runner]:
    """Runs programs; what they ask of the world outside fails, and so does the test."""
    with outside() as (url, asked):
        (tmp_path / "home").mkdir()
        yield Runner(python_of, tmp_path / "home", url)
    assert asked == []


@contextmanager
def outside() -> Iterator[tuple[str, list[bytes]]]:
    """A proxy for all that is not loopback: it keeps what it is asked, and answers nothing."""
    asked: list[bytes] = []

    class Refuse(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline(1000))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuse) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("program", ALL, ids=str)
def test_a_program_is_seen_whole_and_can_be_replayed(program: Program, runner: Runner, tmp_path: Path):
    folder = tmp_path / "seen"
    with playing_script(TASK_WITH_MISTAKE) as endpoint, watch(to=endpoint.url, folder=folder) as seen:
        ran = runner.run(program, seen, **KEYS)
    check_run(program, ran)
    check_requests(endpoint)
    check_traces(program, seen)
    files = sorted(path for path in folder.glob("[0-9r]*.jsonl"))
    assert [path.name for path in files] == ["001.jsonl", "recording.jsonl"]
    assert Trace.load(files[0]) == seen.traces[0]
    for path in [*folder.iterdir(), *(tmp_path / "home").rglob("*")]:
        assert not path.is_file() or not any(key.encode() in path.read_bytes() for key in KEYS.values())
    with watch(replay=folder) as again:
        rerun = runner.run(program, again)
    check_run(program, rerun)
    check_traces(program, again)


def check_run(program: Program, ran: Ran) -> None:
    """The program did its task."""
    assert ran.answer.endswith(ANSWER)
    # A framework may run the calls of one reply in any order.
    expected = CALLS if program.careless else CALLS[1:]
    assert sorted(map(str, ran.calls)) == sorted(map(str, expected))
    assert ran.calls[-1] == CALLS[-1]


def check_requests(endpoint: Player) -> None:
    """The endpoint was asked with the keys of the program, and nothing was asked twice."""
    assert len(endpoint.asked) == len(TASK_WITH_MISTAKE)
    for asked in endpoint.asked:
        key = asked.headers.get("x-api-key") or asked.headers["authorization"].removeprefix("Bearer ")
        assert key in KEYS.values()


def check_traces(program: Program, seen: Seen) -> None:
    """One conversation, with each call in order, its verdict, and the result that the program sent back."""
    assert seen.unread == []
    assert seen.failures == [{}]
    (trace,) = seen.traces
    assert len(trace.turns) == len(TASK_WITH_MISTAKE)
    found = [call for turn in trace.turns for call in turn.calls.values()]
    if program.answers_with_call:
        last = found.pop()
        assert (last.call.name, last.arguments) == ("final_answer", {"answer": ANSWER})
    else:
        assert (trace.answer, trace.outcome) == (ANSWER, "answer")
    assert [(call.call.name, json.loads(call.call.arguments)) for call in found] == CALLS
    assert [call.verdict is not None and call.verdict.ok for call in found] == [False, True, True, True]
    assert found[0].verdict is not None
    (problem,) = found[0].verdict.problems
    assert (problem.code, problem.pointer) == ("invalid_arguments", "/b")
    report = seen.what_changed()
    assert '! the call of "add": /b: expected integer, received "three"' in str(report)
    assert [change.reply for change in report.changes] == replies_sent_back(program)
    results = [call.result.message["content"] for call in found if call.result]
    if program.answers_with_call:
        # smolagents tells results as text.
        told = [message["content"][0]["text"] for message in trace.messages if message["role"] == "user"]
        results = "\n".join(told).replace("Observation:", "").split()
    assert results[-3:] == ["5", "9", "45"]


def replies_sent_back(program: Program) -> list[str]:
    """How the replies come back in the next requests."""
    match (program.script, *program.words):
        case ("smol_agent", "chat"):  # calls are told as text, and those that failed not at all
            return ["left_out", "rewritten", "rewritten"]
        case (
            ("smol_agent", "chat", "streamed")
            | ("openai_client", "chat", "streamed")  # with fields of the client, such as parsed_arguments
            | ("pydantic_agent", "chat" | "responses", *_)  # with the arguments written anew
        ):
            return ["rewritten"] * 3
    return ["as_it_came"] * 3


def test_the_command_line_watches_and_replays(runner: Runner, tmp_path: Path):
    program = Program("clients", "openai_client", ("chat", "streamed"))
    folder = tmp_path / "seen"
    proxy = [sys.executable, "-m", "zoolab", "proxy"]
    with playing_script(TASK) as endpoint:
        ways = [["--to", endpoint.url, "--folder", str(folder)], ["--replay", str(folder)]]
        for way, keys in zip(ways, (KEYS, {}), strict=True):
            done = subprocess.run(
                [*proxy, *way, "--", *runner.command(program)],
                cwd=tmp_path,
                env=runner.environment(PYTHONPATH=str(PROGRAMS.parents[1]), **keys),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert ANSWER in done.stdout
            assert calls_in(done.stderr) == CALLS[1:]
    assert len(endpoint.asked) == len(TASK)
    # The second run has not said where its traces go.
    for kept in (folder, tmp_path / "watched-1"):
        assert [call.name for call in Trace.load(kept / "001.jsonl").tool_calls] == ["add", "add", "multiply"]
