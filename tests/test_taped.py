"""A recording holds calls beside requests: a run, tools alone, or one function, played again."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoolab.errors import InvalidInput, ReplayMiss
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.records import Context, Decision, Outcome
from zoolab.runs import run
from zoolab.steps.define import tool
from zoolab_connect.taped import MAX_VALUE, FileTape, Taped, taped


class Till:
    """Two tools that count what they do."""

    def __init__(self):
        self.paid, self.looked = [], 0

        @tool(risk="high")
        def pay(euros: int, when: date | None = None) -> str:
            """Pay."""
            self.paid.append(euros)
            if euros > 100:
                raise ValueError("too much")
            return f"paid {euros} {when}"

        @tool
        def look(context: Context) -> int:
            """Look at the till."""
            self.looked += 1
            assert context is None or context.data is None
            return self.looked

        self.tools = [pay, look]


CALLS = [
    [("pay", {"euros": 5}), ("look", {})],
    [("look", {}), ("pay", {"euros": 500})],
    [("pay", {"euros": 7})],
]


def ask(step):
    """A person who allows all payments but that of 7."""
    return Decision("deny" if step.record.arguments["euros"] == 7 else "once", "no sevens")


@pytest.mark.parametrize("parallel", [True, False])
def test_a_run_is_recorded_and_played_whole(tmp_path, parallel):
    till, path = Till(), tmp_path / "run.jsonl"
    first = run("Go.", till.tools, Scripted([*CALLS, "Done."]), ask=ask, tape=path, parallel=parallel)
    assert (sorted(till.paid), till.looked) == ([5, 500], 2)
    again = run("Go.", till.tools, Scripted([]), tape=path)
    assert (sorted(till.paid), till.looked) == ([5, 500], 2)
    said = [step.record.content for step in first.steps if step.kind == "result"]
    assert [step.record.content for step in again.steps if step.kind == "result"] == said
    outcomes = [step.record for step in again.steps if isinstance(step.record, Outcome)]
    assert {each.origin for each in outcomes} == {"tape"}
    assert outcomes[3].error.exception == "ValueError"
    assert outcomes[4].error.code == "permission_denied"
    assert json.loads(path.read_text().splitlines()[0])["made"] == "authored"


def test_another_question_or_another_call_is_a_miss(tmp_path):
    till, path = Till(), tmp_path / "run.jsonl"
    run("Go.", till.tools, Scripted([*CALLS[:1], "Done."]), ask=ask, tape=path)
    with pytest.raises(ReplayMiss, match="holds no such request"):
        run("Come.", till.tools, Scripted([]), tape=path)
    with pytest.raises(ReplayMiss) as caught:
        run("Go.", till.tools, Scripted([[("pay", {"euros": 6})]]), tape=FileTape(path))
    assert '+  "euros": 6' in caught.value.difference
    with pytest.raises(ReplayMiss, match="holds no further call of look"):
        run("Go.", till.tools, Scripted([[("look", {})]] * 2), tape=FileTape(path))
    assert till.looked == 1


@given(rolls=st.lists(st.sampled_from([1, 2, 200]), max_size=6))
def test_tools_alone_play_what_they_recorded_in_order(rolls, tmp_path_factory):
    till, path = Till(), tmp_path_factory.mktemp("t") / "tools.jsonl"

    def play():
        tools, said = Taped(till.tools, path), []
        for euros in rolls:
            try:
                said.append(tools.execute("pay", {"euros": euros}))
            except Exception as error:
                said.append((type(error).__name__, "too much" in str(error)))
            said.append(tools.execute("look", {}))
        return said

    first = play()
    paid = list(till.paid)
    assert play() == (first if rolls else [])
    assert till.paid == paid
    assert till.looked == len(rolls) if rolls else True


def test_replay_and_taped_share_a_file(tmp_path):
    till, path = Till(), tmp_path / "run.jsonl"
    run("Go.", till.tools, Scripted([*CALLS[:1], "Done."]), ask=ask, tape=path)
    trace = run("Go.", Taped(till.tools, path), Replay(path), ask=ask)
    assert (trace.answer, till.paid, till.looked) == ("Done.", [5], 1)
    assert len(Replay(path).recording) == 2


def test_a_value_that_cannot_be_kept_whole_is_a_miss(tmp_path):
    @tool
    def read(n: int) -> object:
        """Read."""
        return "x" * (MAX_VALUE + 1) if n else object()

    tools = Taped([read], tmp_path / "t.jsonl")
    for n in (0, 1):
        tools.execute("read", {"n": n})
    for n in (0, 1):
        with pytest.raises(ReplayMiss, match="holds only a part of the result of read"):
            Taped([read], tmp_path / "t.jsonl").execute("read", {"n": n})


def test_secrets_do_not_reach_the_tape_and_are_no_difference(tmp_path):
    key = "sk-" + "a1B2" * 10
    path = tmp_path / "t.jsonl"

    def send(token: str) -> str:
        return f"sent with {token}"

    assert key in taped(send, path)(key)
    assert key not in path.read_text()
    assert "sent with" in FileTape(path).play("send", {"token": key}).value


def test_functions_of_any_program_are_marked_in_one_line(tmp_path):
    path = tmp_path / "t.jsonl"
    ran = []

    @taped
    def as_it_is() -> int:
        return 1

    async def fetch(page: int) -> str:
        ran.append(page)
        if page == 2:
            raise LookupError("no such page")
        return f"page {page}"

    recording = taped(fetch, path)
    assert as_it_is() == 1
    assert asyncio.run(recording(1)) == "page 1"
    with pytest.raises(LookupError, match="no such page"):
        asyncio.run(recording(page=2))
    playing = FileTape(path)
    assert [playing.play("fetch", {"page": page}).ok for page in (1, 2)] == [True, False]
    assert ran == [1, 2]
    with pytest.raises(InvalidInput, match="arguments that are not JSON"):
        asyncio.run(recording(object()))


PROGRAM = """
import zoolab, pathlib

@zoolab.taped
def pay(euros):
    with open("paid", "a") as file:
        file.write(f"{euros} ")
    return {"paid": euros}

@zoolab.taped
def look():
    return pathlib.Path("paid").read_text()

print(pay(5), look(), pay(euros=6))
"""


def test_a_program_records_and_plays_by_a_variable(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def told(**variables):
        environment = {**os.environ, **variables}
        made = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return made.stdout

    tape = str(tmp_path / "tape.jsonl")
    said = told(ZOOLAB_TAPE=tape)
    assert (tmp_path / "paid").read_text() == "5 6 "
    assert told(ZOOLAB_TAPE=tape) == said
    assert told(ZOOLAB_TAPE=tape, ZOOLAB_TAPE_MODE="play") == said
    assert (tmp_path / "paid").read_text() == "5 6 "
    told()
    assert (tmp_path / "paid").read_text() == "5 6 5 6 "


@pytest.mark.parametrize(
    "line",
    [
        '{"call": {"tool": 3, "arguments": {}}, "outcome": {}}',
        '{"call": {"tool": "a", "arguments": []}, "outcome": {}}',
        '{"call": {"tool": "a", "arguments": {}}, "outcome": {"value": 1, "origin": "<b>"}}',
        '{"call": {"tool": "a", "arguments": {}}, "outcome": {"error": 3}}',
        '{"call": {"tool": "a", "arguments": {}}, "out',
    ],
)
def test_a_hostile_or_cut_tape_is_refused_or_healed(tmp_path: Path, line: str):
    path = tmp_path / "t.jsonl"
    begun = '{"recording":"zoolab","version":1,"made":"recorded","model":"","who":"tools"}\n'
    path.write_text(begun + line)
    if line.endswith("out"):  # what a kill left of the last line
        assert FileTape(path).recording.calls == []
        return
    with pytest.raises(InvalidInput):
        FileTape(path)
