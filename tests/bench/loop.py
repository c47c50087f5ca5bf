"""The cost of a round of the loop, beside a loop written by hand."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from jsonschema import Draft202012Validator
from pairs import Effort, Row, compare

from zoolab import Limits, Reply, Request, Trace, tool, walk

ROUNDS = (10, 100, 1000)
BY_HAND = "a loop by hand: dicts, json.loads, compiled jsonschema, the call, append"
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


def peak_bytes(run: Callable[[int], object], rounds: int) -> int:
    """The most memory that one run holds, its result included."""
    gc.collect()
    tracemalloc.start()
    kept = run(rounds)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return peak


def rows(effort: Effort) -> Iterator[Row]:
    """A round at each length, and the memory of the longest."""
    sizes = effort.sizes(ROUNDS)
    for rounds in sizes:
        yield compare(
            "loop",
            f"a round of the loop, recorded, of {rounds:,}",
            partial(recorded_walk, rounds),
            partial(bare_loop, rounds),
            BY_HAND,
            effort,
            units=rounds,
        )
    for rounds in sizes:
        trace = recorded_walk(rounds)
        yield compare(
            "loop",
            f"a round that a tape replays, of {rounds:,}",
            trace.replay,
            partial(recorded_walk, rounds),
            "the round itself, recorded, with a tool that adds two numbers",
            effort,
            units=rounds,
        )
    ours, bare = peak_bytes(recorded_walk, sizes[-1]), peak_bytes(bare_loop, sizes[-1])
    yield Row("loop", f"peak memory of {sizes[-1]:,} rounds", ours, bare, ours / bare, BY_HAND, "bytes")


_VALIDATORS: dict[str, Any] = {add.name: Draft202012Validator(add.parameters)}
