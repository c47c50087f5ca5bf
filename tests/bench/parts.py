"""What each part of a recorded round costs: `python tests/bench/parts.py` prints the table of README.

Each part is called alone, as a walk of `loop.py` calls it; the least of seven measurements counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time
from timeit import repeat

import loop

from zoolab.jsontext.readonly import read_only
from zoolab.jsontext.values import is_strict
from zoolab.limits.budget import WalkBudget
from zoolab.records import Context, Limits, Messages, Outcome, Reply, Request, Result, ToolCall, Verdict
from zoolab.running.calls import Job, Runner
from zoolab.running.interrupts import Hold
from zoolab.steps.result import make_result
from zoolab.steps.tool_call import CallIds, message_with_calls, read_calls
from zoolab.steps.validate import check_call
from zoolab.tools import ToolRegistry
from zoolab.trace.log import MessageJournal

TIMES = 20_000
MESSAGE = loop.answer(1, 2)
CALL = ToolCall(1, 0, "call_1", "add", '{"a": 1, "b": 58}')


def records() -> None:
    """The six records of a round, made of what is read-only already."""
    Request(MESSAGES)
    Reply(FROZEN)
    ToolCall(1, 0, "call_1", "add", "{}")
    Verdict(True, ARGUMENTS)
    Outcome(59, None, 0.1, 1, False, None, None, "")
    Result("59", "call_1", 2, 2)


def freezing() -> None:
    """The reply, its arguments and the tool message become read-only."""
    read_only(MESSAGE)
    read_only({"a": 1, "b": 58})
    read_only({"role": "tool", "tool_call_id": "call_1", "content": "59"})


def recording() -> None:
    """Both messages go into the journal."""
    after = MESSAGES.with_next(TOLD)
    journal = MessageJournal()
    journal.commit(MESSAGES)
    journal.commit(after)


def budgets() -> None:
    """A request is taken; walks that the model and the tool start would share what is left."""
    BUDGET.begin_request()
    for _ in range(2):
        with BUDGET:
            pass


FROZEN, ARGUMENTS = read_only(MESSAGE), read_only({"a": 1, "b": 58})
TOLD = read_only({"role": "tool", "tool_call_id": "call_1", "content": "59"})
MESSAGES = Messages([FROZEN])
BUDGET, TOOLS, RUNNER = WalkBudget(Limits(requests=10**9)), ToolRegistry([loop.add]), Runner(Context())
JOB, OUTCOME = Job(loop.add, ARGUMENTS), Outcome(59, None, 0.1, 1)
PARTS = {
    "records, six of them": records,
    "freezing the reply, the arguments and the tool message": freezing,
    "checking that the reply is JSON": lambda: is_strict(FROZEN),
    "reading the call, with an id of its own": lambda: message_with_calls(
        FROZEN, read_calls(FROZEN, ids=CallIds())
    ),
    "validation: strict JSON, schema, verdict": lambda: check_call(CALL, TOOLS),
    "running the tool: its copy, time, stdout, interrupts": lambda: RUNNER.run([JOB]),
    "envelope": lambda: make_result(OUTCOME, "call_1"),
    "budgets": budgets,
    "recording both messages": recording,
}


def microseconds(part: Callable[[], object], times: int = TIMES) -> float:
    """CPU time of one call."""
    return min(repeat(part, number=times, repeat=7, timer=process_time)) / times * 1e6


if __name__ == "__main__":
    print("| part | µs |\n| --- | ---: |")
    with Hold():
        for name, part in PARTS.items():
            print(f"| {name} | {microseconds(part):.1f} |")
    whole, bare = (microseconds(partial(run, 100), 20) / 100 for run in (loop.recorded_walk, loop.bare_loop))
    print(f"| a whole round of 100, the model and the steps included | {whole:.1f} |")
    print(f"| the same round by hand | {bare:.1f} |")
