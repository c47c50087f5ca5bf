"""Real SIGINT at random moments of walks. Run as a program by test_interrupts.py: count, seed, files' folder.

Another process sends the signals, so that they come at any moment and not only when this one lets go of
the interpreter. Prints what was counted as JSON: `lost` lists all that did not hold.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from zoolab import Scripted, Trace, run, tool

SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    os.kill(os.getppid(), signal.SIGINT)
"""


@tool
def quick(n: int) -> int:
    """Return at once."""
    return n


@tool
def slow(n: int) -> int:
    """Return after a moment."""
    time.sleep(0.0003)
    return n


@tool
async def awaited(n: int) -> int:
    """Return after a moment, awaited."""
    await asyncio.sleep(0.0003)
    return n


@tool
def loud(n: int) -> int:
    """Print, and compute for a moment."""
    print(n)
    return sum(range(300)) + n


TOOLS = [quick, slow, awaited, loud]
NAMES = [one.name for one in TOOLS]


def script(chance: random.Random) -> list:
    """Three turns with calls, then an answer."""
    turns = [[(chance.choice(NAMES), {"n": n}) for n in range(chance.randint(1, 4))] for _ in range(3)]
    return [*turns, "Done."]


def strike(sender: subprocess.Popen, chance: random.Random, folder: Path, lost: list) -> str:
    """One walk and one signal; returns how it ended, and adds what did not hold to `lost`."""
    trace, parallel, replies = Trace(), chance.random() < 0.5, script(chance)
    limit = 5.0 if chance.random() < 0.3 else None
    tools = [replace(one, timeout=limit) for one in TOOLS] if limit else TOOLS
    ended = ""
    try:
        print(chance.random() * 0.006, file=sender.stdin, flush=True)
        run("Go", tools, Scripted(replies), trace=trace, parallel=parallel)
        ended = "late"
        time.sleep(10)
        lost.append("the interrupt did not go up")
    except KeyboardInterrupt:
        ended = ended or "interrupted"
    except BaseException as error:
        lost.append(f"{type(error).__name__}: {error}")
        return "broken"
    try:
        check(trace, ended, folder)
    except Exception as error:
        lost.append(f"{ended}: {type(error).__name__}: {error}")
        ended = "broken"
    return ended


def check(trace: Trace, ended: str, folder: Path) -> None:
    """What holds after any interrupt."""
    check_outcome(trace, ended)
    check_paired(trace.messages)
    assert len(trace.steps) == len(trace.started), "steps without times"
    for seq in range(len(trace)):
        assert trace.messages_at(seq) == trace.steps[seq].messages.tolist(), "messages_at"
    assert Trace.load(trace.save(folder / "trace.jsonl")) == trace, "save and load"
    assert sys.stdout is STDOUT, "stdout"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "handler"


def check_outcome(trace: Trace, ended: str) -> None:
    wanted = {"late": ("answer",), "interrupted": ("interrupted", "answer")}[ended]
    assert trace.outcome in wanted or not trace.steps, f"the outcome is {trace.outcome}"


def check_paired(messages: list) -> None:
    """As in walks.py, but without its name in a traceback."""
    for at, message in enumerate(messages):
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        told = [(one["role"], one.get("tool_call_id")) for one in messages[at + 1 : at + 1 + len(ids)]]
        assert told == [("tool", name) for name in ids], f"{len(ids)} calls, {told}"
    calls = sum(len(message.get("tool_calls") or ()) for message in messages)
    assert calls == sum(message["role"] == "tool" for message in messages), "orphans"


STDOUT = sys.stdout


def main(count: int, seed: int, folder: Path) -> None:
    chance, counted, lost = random.Random(seed), Counter(), []
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    command = [sys.executable, "-c", SENDER]
    sender = subprocess.Popen(command, start_new_session=True, stdin=subprocess.PIPE, text=True)
    run("Warm up", TOOLS, Scripted(script(chance)))
    for _ in range(count):
        counted[strike(sender, chance, folder, lost)] += 1
    sender.stdin.close()
    sender.wait()
    until = time.monotonic() + 30
    while threading.active_count() > 1 and time.monotonic() < until:
        time.sleep(0.01)
    told = {"lost": lost, "threads": threading.active_count() - 1, **counted}
    os.write(out, json.dumps(told).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
