"""The traffic of two agents on the same task, for notebook 16: `python -m tools.traffic AGENTS SMOL`.

AGENTS and SMOL are Pythons that have openai-agents and smolagents[openai]. The programs are real. A script
answers them, because the notebook is about what programs send.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from zoolab import Request, Scripted, watch

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks" / "traffic"
PROGRAMS = {"openai-agents": ["agents_sdk.py", "responses"], "smolagents": ["smol_agent.py", "chat"]}
ANSWER = "The result is 45."


def answer(request: Request) -> str | list[tuple[str, dict[str, str]]]:
    """Return the answer, as a text, or as the call that smolagents wants."""
    offered = [tool["function"]["name"] for tool in request.tools]
    return [("final_answer", {"answer": ANSWER})] if "final_answer" in offered else ANSWER


def script() -> Scripted:
    """Return a call that breaks its schema, two calls in one reply, one more, and the answer."""
    wrong = [("add", {"a": 2, "b": "three"})]
    sums = [("add", {"a": 2, "b": 3}), ("add", {"a": 4, "b": 5})]
    return Scripted([wrong, sums, [("multiply", {"a": 5, "b": 9})], answer])


def main(pythons: list[str]) -> None:
    """Watch both programs, and keep their traces."""
    FOLDER.mkdir(exist_ok=True)
    for (name, (program, api)), python in zip(PROGRAMS.items(), pythons, strict=True):
        said = [python, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"]
        version = subprocess.run(said, check=True, capture_output=True, text=True).stdout.strip()
        with watch(to=script()) as seen:
            code = seen.run([python, str(ROOT / "tests" / "programs" / program), api])
        (trace,) = seen.traces
        trace.run_id = name
        trace.meta = {"program": f"{name} {version}", "api": api, "made": "authored", "model": "a script"}
        trace.save(FOLDER / f"{name}.jsonl")
        print(f"{name} {version}: exit code {code}, {len(trace)} steps")


if __name__ == "__main__":
    main(sys.argv[1:])
