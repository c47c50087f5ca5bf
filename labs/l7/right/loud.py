"""Classes and queues; prints, warns, and logs to stderr what it does. Rows stand backwards, with more columns."""

import logging
import sys
import warnings
from collections import defaultdict, deque
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter

import pandas as pd

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
log = logging.getLogger("forensics")


@dataclass
class Call:
    turn: int
    slot: int
    tool: str
    code: str = None
    root_cause: str = None
    tries: int = 0
    recovered: bool = False
    codes: list = field(default_factory=list)

    def tried(self, code):
        self.tries += 1
        self.codes.append(code)
        self.recovered = not code


class Forensics:
    def __init__(self, events):
        self.events, self.calls, self.waiting = events, [], defaultdict(deque)
        self.end = events[-1]
        steps = [event for event in events if event["event"] == "step"]
        steps.sort(key=lambda step: (step["turn"], step["slot"] or 0))
        for turn, steps in groupby(steps, key=itemgetter("turn")):
            self.turn = turn
            self.read(turn, list(steps))

    def read(self, turn, steps):
        asked = [s for s in steps if s["kind"] == "tool_call" and s["slot"] is not None]
        codes = {s["slot"]: s["record"]["error_code"] for s in steps if s["kind"] == "result"}
        failed = []
        for step in asked:
            tool, code = step["record"]["name"], codes[step["slot"]]
            call = self.waiting[tool].popleft() if self.waiting[tool] else self.new(turn, step, code, asked)
            call.tried(code)
            if code:
                warnings.warn(f"{tool} failed: {code}")
                failed.append(call)
        for call in failed:
            self.waiting[call.tool].append(call)

    def new(self, turn, step, code, asked):
        cut = step is asked[-1] and step["reply"]["finish_reason"] == "length"
        call = Call(turn, step["slot"], step["record"]["name"], code, self.cause(code, cut))
        self.calls.append(call)
        print("a call", call)
        return call

    @staticmethod
    def cause(code, cut):
        match code:
            case "unknown_tool":
                return "invented tool"
            case "permission_denied":
                return "not allowed"
            case "invalid_json" | "invalid_arguments":
                return ("bad arguments", "cut off")[cut]
        return "tool failed"


def find_errors(events):
    found = Forensics(events)
    rows = [asdict(call) for call in found.calls if call.code]
    log.info("%d calls failed", len(rows))
    if found.end["outcome"] != "answer":
        gave = "no reply" if found.end["outcome"] == "model_error" else "gave up"
        end = Call(found.turn, None, None, found.end["outcome"], gave, 1)
        rows.append(asdict(end))
    columns = ["recovered", "tries", "root_cause", "code", "tool", "slot", "turn", "codes"]
    return pd.DataFrame(rows[::-1], columns=columns)


def per_tool(events):
    counts = {}
    for call in Forensics(events).calls:
        row = counts.setdefault(call.tool, {"tool": call.tool, "calls": 0, "failed": 0})
        row["calls"] += 1
        row["failed"] += not call.recovered
    frame = pd.DataFrame(counts.values(), columns=["tool", "calls", "failed"]).sort_values("tool", ascending=False)
    frame["rate"] = frame["failed"] / frame["calls"]
    print(frame)
    return frame
