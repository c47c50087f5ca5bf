"""The cost of a round of the loop, beside a loop written by hand. Prints ratios; asserts nothing.

python tests/bench/loop.py
"""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

from jsonschema import Draft202012Validator

from zoolab import Limits, Reply, Request, Tool, Trace, tool, walk

ROUNDS = (10, 100, 1000)
Message = dict[str, Any]


@tool
def add(a: int, b: int) -> int:
    """Add two integers.

    Args:
        a: The first one.
        b: The second one.
    """
    return a + b


def answer(round_number: int, rounds: int) -> Message:
    """What a model would say: a fresh message each time, as an endpoint would give."""
    if round_number == rounds:
        return {"role": "assistant", "content": "done"}
    function = {"name": "add", "arguments": json.dumps({"a": round_number, "b": 58})}
    call = {"id": f"call_{round_number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def bare_loop(rounds: int) -> list[Message]:
    """Dicts, json.loads, a compiled validator, the call, append."""
    validator, function = _VALIDATORS[add.name], add.function
    messages: list[Message] = [{"role": "user", "content": "What is 42 + 58?"}]
    for round_number in range(rounds + 1):
        message = answer(round_number, rounds)
        messages.append(message)
        for call in message.get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            if not validator.is_valid(arguments):
                raise ValueError(arguments)
            value = function(**arguments)
            content = json.dumps({"success": True, "data": value})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return messages


class Counting:
    """The same model for the walk."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.round_number = rounds, -1

    def __call__(self, _request: Request) -> Reply:
        self.round_number += 1
        return Reply(answer(self.round_number, self.rounds))


def recorded_walk(rounds: int) -> Trace:
    """The walk, recorded."""
    return Trace.record(walk("What is 42 + 58?", [add], Counting(rounds), limits=Limits(turns=rounds + 1)))


def seconds_per_round(run: Callable[[int], object], rounds: int) -> float:
    """CPU seconds of one round."""
    gc.collect()
    began = time.process_time()
    run(rounds)
    return (time.process_time() - began) / rounds


def peak_bytes(run: Callable[[int], object], rounds: int) -> int:
    """The most memory that one run holds, its result included."""
    gc.collect()
    tracemalloc.start()
    kept = run(rounds)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak


_VALIDATORS: dict[str, Any] = {add.name: Draft202012Validator(add.parameters)}


def main() -> None:
    """Print the table."""
    assert isinstance(add, Tool)
    ours: dict[int, float] = {}
    print("rounds   bare us/round   zoolab us/round   ratio (median of paired runs)")
    for rounds in ROUNDS:
        repeats = max(5, 2000 // rounds)
        recorded_walk(rounds), bare_loop(rounds)
        pairs = [
            (seconds_per_round(bare_loop, rounds), seconds_per_round(recorded_walk, rounds))
            for _ in range(repeats)
        ]
        ratio = median(walked / bare for bare, walked in pairs)
        ours[rounds] = median(walked for _, walked in pairs)
        print(
            f"{rounds:6d} {median(b for b, _ in pairs) * 1e6:15.1f} {ours[rounds] * 1e6:17.1f} {ratio:7.2f}"
        )
    print(f"flat from 100 to 1,000 rounds: {ours[1000] / ours[100]:.2f}")
    memory = peak_bytes(recorded_walk, 1000) / peak_bytes(bare_loop, 1000)
    print(f"peak memory at 1,000 rounds: {memory:.2f} x bare")


if __name__ == "__main__":
    main()
