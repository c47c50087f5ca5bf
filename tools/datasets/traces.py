"""Whole runs: as the local models held them, with faults injected, and with errors of the program's own.

recorded   every word is a model's; a recording replayed, or a selection output that was gone on with
seeded     the model's calls, with one fault of `zoolab_connect.faulty.FAULTS` put in, and gone on with
authored   by hand: the program around the model is wrong, or a reply has no end
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.datasets.asking import GoneOn, RecordedOrLive, offered
from tools.datasets.wrong_programs import RECORDED, UNFINISHED, WRONG
from zoolab.errors import ZoolabError
from zoolab.loop import walk
from zoolab.models.recording import shipped
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Limits, Model, Step
from zoolab.runs import Trace
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry
from zoolab.trace.frame import faults_by_step
from zoolab_connect.faulty import FAULTS, Faulty
from zoolab_course.local import LocalModel

RECORDINGS = ("starter", "domains")
#: So many selection outputs of each kind are gone on with.
OF_A_KIND = 2
KINDS = (
    "wrong_tool",
    "no_tool_call",
    "needless_call",
    "invalid_json",
    "unknown_tool",
    "wrong_arguments",
)
#: A result that is too long for SmolLM2 to read, and an error that ends a walk as that of `http_500` does.
NOT_WALKED = ("huge_result", "timeout")
#: They change what is sent, so nothing recorded answers them.
LIVE = ("poisoned_description", "recursive_schema")

Row = dict[str, Any]
_ALL_ALLOWED = Policy(ask=())


@dataclass(frozen=True, slots=True)
class Run:
    """One trace of the data set, and what is known of it by construction."""

    id: str
    made: str
    who: str
    prompt: str
    trace: Trace
    root_cause: str
    expected_tool: str | None = None
    fault: str | None = None

    def row(self) -> Row:
        """Return its row in the index."""
        return {
            "id": self.id,
            "made": self.made,
            "who": self.who,
            "prompt": self.prompt,
            "expected_tool": self.expected_tool,
            "codes": _codes(self.trace, self.expected_tool),
            "outcome": self.trace.outcome,
            "fault": self.fault,
            "root_cause": self.root_cause,
            "steps": len(self.trace),
        }


def all_runs(outputs: Sequence[Mapping[str, Any]], tools: ToolRegistry) -> Iterator[Run]:
    """Yield every run of the data set; those that were recorded come first, and need no model.

    >>> next(all_runs([], ToolRegistry())).id
    'starter-01'
    """
    yield from recorded_runs()
    yield from _erring_runs(outputs, tools)
    yield from _faulty_runs()
    yield from _wrong_programs()


def recorded_runs() -> Iterator[Run]:
    """Yield the conversations of the shipped recordings, replayed.

    >>> next(recorded_runs()).row()["codes"]
    []
    """
    for name in RECORDINGS:
        replay = Replay(name)
        for number, asked in enumerate(_prompts(name), 1):
            trace = _walked(asked, replay)
            who = replay.recording.header.who
            yield Run(f"{name}-{number:02}", "recorded", who, asked["prompt"], trace, _cause(trace, None))


def _erring_runs(outputs: Sequence[Mapping[str, Any]], tools: ToolRegistry) -> Iterator[Run]:
    """Yield selection outputs that were wrong, gone on with: what becomes of a wrong call."""
    words = {"native": LocalModel(), "text": LocalModel("smollm2")}
    chosen = [row for row in outputs if row["purpose"] == "choose"]
    for kind in KINDS:
        for number, row in enumerate([row for row in chosen if row["verdict"] == kind][:OF_A_KIND], 1):
            model = GoneOn(row, words["text" if row["model"] == "smollm2" else "native"])
            meta = {"case_id": row["case"], "expected_tool": row["expected_tool"] or ""}
            asked = {"prompt": row["prompt"], "registry": offered(row["offered"], tools)}
            trace = _walked(asked, model, meta)
            cause = _cause(trace, row["expected_tool"], kind)
            who = f"{row['who']}; after the first reply SmolLM2"
            id = f"{kind.replace('_', '-')}-{number}"
            yield Run(id, "recorded", who, row["prompt"], trace, cause, row["expected_tool"])


def _faulty_runs() -> Iterator[Run]:
    """Yield a recorded conversation for each fault that finds something to break."""
    live = LocalModel()
    replays = {name: Replay(name) for name in RECORDINGS}
    for name, kind in FAULTS.items():
        asked = None if name in NOT_WALKED else _breakable(name, replays)
        if asked is not None:
            inner = RecordedOrLive(replays[asked["recording"]], live)
            with Faulty(inner, [name], times=1, slow_seconds=0.05, hang_seconds=0.2) as model:
                trace = _walked(asked, model)
            cause = f"fault: {kind.does}"
            id = f"fault-{name.replace('_', '-')}"
            yield Run(id, "seeded", inner.who, asked["prompt"], trace, cause, fault=name)


def _wrong_programs() -> Iterator[Run]:
    """Yield runs whose program is wrong, and runs whose reply was written by hand and has no end."""
    for id, (prompt, cause, make) in UNFINISHED.items():
        trace = _recorded(_begun(make, prompt))
        yield Run(id, Scripted.made, Scripted.who, prompt, trace, f"endpoint: {cause}")
    for id, (prompt, cause, make) in WRONG.items():
        trace = _recorded(_begun(make, prompt))
        fault = next((fault.name for faults in faults_by_step(trace).values() for fault in faults), None)
        made = "seeded" if fault else "authored"
        yield Run(id, made, RECORDED, prompt, trace, f"program: {cause}", fault=fault)


def save_runs(runs: Iterable[Run], folder: Path, tell: Callable[[str], None]) -> list[Row]:
    """Save each trace as `<id>.jsonl` in a folder; the rows of their index.

    >>> save_runs([], Path("unused"), print)
    []
    """
    rows: list[Row] = []
    for run in runs:
        run.trace.save(folder / f"{run.id}.jsonl")
        rows.append(run.row())
        tell(f"{run.id}: {run.trace.outcome}, {', '.join(rows[-1]['codes']) or 'no error'}")
    return rows


def damage(row: Row, folder: Path) -> Row:
    """Return a copy of a trace's file in which a line is cut in half, and its row.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> row = save_runs([next(recorded_runs())], place, lambda _line: None)[0]
    >>> damage(row, place)["root_cause"]
    'file: line 5 is cut in half'
    """
    lines = (folder / f"{row['id']}.jsonl").read_text(encoding="utf-8").splitlines()
    lines[4] = lines[4][: len(lines[4]) // 2]
    (folder / "damaged-file.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told = {"codes": ["invalid_trace"], "outcome": "invalid_trace", "steps": 0, "made": "authored"}
    return {**row, "id": "damaged-file", **told, "root_cause": "file: line 5 is cut in half"}


def _walked(asked: Mapping[str, Any], model: Model, meta: Mapping[str, Any] | None = None) -> Trace:
    trace = Trace(meta=meta)
    registry = asked.get("registry") or tools_named(*asked["tools"])
    steps = walk(
        asked["prompt"],
        registry,
        model,
        system=asked.get("system"),
        policy=_ALL_ALLOWED,
        limits=Limits(turns=3),
        envelope=asked.get("envelope", "json"),
    )
    return _recorded(steps, trace)


def _begun(make: Callable[[str], Iterator[Step]], prompt: str) -> Iterator[Step]:
    """Yield a walk that begins with its first step, so that a trace holds an error of its beginning."""
    yield from make(prompt)


def _recorded(steps: Iterator[Step], into: Trace | None = None) -> Trace:
    """Return the trace of a walk, also if it ends with an error."""
    trace = Trace() if into is None else into
    with suppress(ZoolabError):
        Trace.record(steps, into=trace)
    return trace


def _breakable(name: str, replays: Mapping[str, Replay]) -> Row | None:
    """Return the first recorded conversation in which a fault of that name finds something to break."""
    asked = [{**each, "recording": recording} for recording in replays for each in _prompts(recording)]
    if name in LIVE:
        return asked[0]
    for each in asked:
        model = Faulty(replays[each["recording"]], [name], times=1, slow_seconds=0, hang_seconds=0)
        if any(faults_by_step(_walked(each, model)).values()):
            return each
    return None


def _prompts(recording: str) -> list[Row]:
    path = shipped()[recording]
    lines = path.with_name(f"{recording}-prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _codes(trace: Trace, expected: str | None) -> list[str]:
    """Return the codes of all errors, each once; before them what the choice of the tool is worth, where
    known.
    """
    called = [call.name for call in trace.tool_calls]
    chosen = []
    if expected:
        chosen = [] if expected in called else ["wrong_tool" if called else "no_tool_call"]
    return list(dict.fromkeys([*chosen, *(error.code for error in trace.errors)]))


_BLAME = {
    "unknown_tool": "model",
    "invalid_json": "model",
    "invalid_arguments": "model",
    "resource_not_found": "request or model",
    "permission_denied": "tool",
}


def _cause(trace: Trace, expected: str | None, kind: str = "") -> str:
    """Return who began it: by what was expected where that is known, else by the first error."""
    called = ", ".join(call.name for call in trace.tool_calls)
    match kind:
        case "wrong_tool":
            return f"model: chose {called} where {expected} was meant"
        case "no_tool_call":
            return f"model: did not call {expected}"
        case "needless_call":
            return f"model: called {called} where no tool was needed"
        case "wrong_arguments":
            return f"model: called {expected} with other values than were meant"
    first = next(iter(trace.errors), None)
    return f"{_BLAME.get(first.code, 'loop')}: {first.code}, {first.message}" if first else "none"
