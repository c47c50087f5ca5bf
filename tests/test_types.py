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


def test_a_tool_keeps_the_signature_of_its_function(tmp_path):
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE, encoding="utf-8")
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
    expected = {n for n, line in enumerate(SAMPLE.split("\n"), 1) if line.endswith("# E")}
    found = {int(n) for n in re.findall(r"^sample\.py:(\d+): error", done.stdout, re.MULTILINE)}
    assert found == expected, done.stdout + done.stderr


def test_a_tool_can_be_subscripted_when_the_program_runs():
    from zoolab import Tool

    assert Tool[..., int]("a", "A.", {"type": "object"}, lambda: 1)() == 1
