"""What a type checker sees of a tool: the signature of its function."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

#: Lines that end in `# E` are errors, and no others.
SAMPLE = """
from collections.abc import Coroutine
from typing import Any, assert_type

from zoolab.steps.define import as_registry, tool
from zoolab.tools import Context, Tool

@tool
def double(x: int) -> int:
    return 2 * x

@tool(name="shout", risk="medium", untrusted="a crowd")
async def shout(text: str, *, times: int = 1) -> str:
    return text * times

assert_type(double(2), int)
assert_type(double(x=2), int)
double("no", 3)  # E
double("no")  # E
double()  # E
double(y=2)  # E
tool("double")  # E
tool(double.function, risk="low")  # E

async def main() -> None:
    assert_type(await shout("a", times=2), str)
    await shout(1)  # E

tools: list[Tool] = [double, shout]
some: Tool = shout
some("anything", at="all")
one: Tool[..., int] = double
other: Tool[[int], float] = double
wrong: Tool[..., str] = double  # E
as_registry(tools)
as_registry([double, shout])
as_registry(double)
assert_type(tool(lambda a, b: a, name="first", param_names=["a", "b"]).name, str)
"""

#: The same for forks and experiments.
STUDY = """
from collections.abc import Mapping
from typing import Any

import pandas as pd

from zoolab import Decision, Limits, Reply, Request, Scripted, experiment, plots, run, tool
from zoolab_study import Case, Run, Setup

@tool
def add(a: int, b: int) -> int:
    return a + b

trace = run("Hi", [add], Scripted(["Hello"]))
trace.fork(0, limits=Limits(turns=2), envelope="plain", ask=lambda _: Decision("once"))
trace.fork(0, system="x")  # E
trace.fork(0, messages=[])  # E
trace.fork(0, first_turn=2)  # E
trace.fork(0, tape=None)  # E
plots.StepTimelineDisplay.from_trace(trace, by="seconds")
plots.StepTimelineDisplay.from_trace(trace, unit="seconds")  # E

def model(request: Request) -> Reply:
    return Reply({"role": "assistant", "content": "Hi"})

def brief(setup: Setup) -> Setup:
    return setup

def short(run: Run) -> bool:
    return True

def told(run: Run) -> dict[str, float]:
    return {"length": 1.0}

def untyped(run):  # type: ignore[no-untyped-def]
    return 1

case: dict[str, object] = {"id": "a", "prompt": "1 + 2?"}
script = Scripted(["3"])
experiment(["1 + 2?"], None, model)
experiment([Case("a", "1 + 2?"), case, "3"], {"brief": brief, "plain": {}}, {"m": model, "s": script})
experiment(pd.DataFrame([case]), {1: {"system": "x"}}, {"m": lambda seed: model, "n": lambda: script})
experiment((case for _ in "a"), models=lambda seed, case: model, scorers=[short, "answer"], tools="recorded")
experiment([case], models=Scripted(["3"]), scorers={"short": short, "told": told, "u": untyped}, tools=[add])
experiment([case], models=Scripted, scorers=told, tools=add)
experiment(3, {}, {})  # E
experiment([3], {}, {})  # E
experiment(["a"], 3, model)  # E
experiment(["a"], {"v": 3}, model)  # E
experiment(["a"], {}, 3)  # E
experiment(["a"], {}, {"m": 3})  # E
experiment(["a"], {}, model, scorers=3)  # E
experiment(["a"], {}, model, scorers=[3])  # E
experiment(["a"], {}, model, tools="other")  # E
"""


@pytest.mark.parametrize("text", [SAMPLE, STUDY], ids=["tools", "study"])
def test_a_type_checker_finds_what_is_wrong_and_no_more(tmp_path, text):
    sample = tmp_path / "sample.py"
    sample.write_text(text, encoding="utf-8")
    cache = Path(__file__).parents[1] / ".mypy_cache"
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        f"--cache-dir={cache}",
        "--config-file=",
        str(sample),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    expected = {n for n, line in enumerate(text.split("\n"), 1) if line.endswith("# E")}
    found = {int(n) for n in re.findall(r"^sample\.py:(\d+): error", done.stdout, re.MULTILINE)}
    assert found == expected, done.stdout + done.stderr


def test_a_tool_can_be_subscripted_when_the_program_runs():
    from zoolab import Tool

    assert Tool[..., int]("a", "A.", {"type": "object"}, lambda: 1)() == 1
