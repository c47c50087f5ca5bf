"""The plan of the recordings, the recorder that follows it, and what a model answered."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from server import capable, playing

from tools.recordings.__main__ import run as main
from tools.recordings.holding import begin, hold_all, left_of, prune
from tools.recordings.planning import DENIALS, Conversation, RecordingPlan, plan
from tools.repair.asking import ANSWERS, answers, asked
from zoolab import Scripted
from zoolab.errors import InvalidInput, ReplayMiss
from zoolab.models.recording import Recording, shipped
from zoolab.repair import LLMRepair
from zoolab.toolbox.catalog import tools_named

PLAN_OF_SUMS = """
systems = {}
sets = [{ name = "sums", tasks = ["sums"], settings = { temperature = 0.8, seed = 1 } }]
tasks.sums = { tools = ["add"], prompts = ["What is 1 + 2?", "What is 30 + 40?"] }
"""
PLAN_OF_DENIALS = """
systems = {}
sets = [{ name = "risky", tasks = ["risky"], denied = ["nobody", "person"] }]
tasks.risky = { tools = ["devops"], prompts = ["Restart redis."] }
"""
QWEN = [name for name in shipped() if name.startswith("qwen-")]


def test_the_plan_has_conversations_of_all_kinds():
    counts = {each.name: len(each.conversations) for each in plan()}
    assert counts["tasks"] >= 60
    assert counts["selection-3"] == counts["selection-8"] > 400
    assert {f"sampled-seed{seed}" for seed in range(1, 6)} <= counts.keys()
    assert all(counts.values())
    with pytest.raises(InvalidInput, match="no set is named 'cats'"):
        list(plan(["cats"]))


def test_eight_tools_are_offered_with_the_case_s_own_three_among_them():
    [three], [eight] = plan(["selection-3"]), plan(["selection-8"])
    asked = [{each.prompt: set(each.tools.names()) for each in made.conversations} for made in (three, eight)]
    assert asked[0].keys() == asked[1].keys()
    for prompt, few in asked[0].items():
        assert (len(few), len(asked[1][prompt])) == (3, 8)
        assert few <= asked[1][prompt]


def test_cases_with_eight_tools_share_few_kits_and_follow_one_another():
    [eight] = plan(["selection-8"])
    kits = [tuple(each.tools.names()) for each in eight.conversations]
    assert len(set(kits)) < 40
    assert sum(one != other for one, other in pairwise(kits)) == len(set(kits)) - 1


def test_a_recorder_that_is_stopped_goes_on(tmp_path):
    path = tmp_path / "r.jsonl"
    first = {"name": "add", "arguments": "{"}
    asked = [
        Conversation("What is 1 + 2?", tools_named("add")),
        Conversation("What is 3 + 4?", tools_named("add"), first=first),
    ]
    told: list[str] = []
    hold_all(RecordingPlan("sums", {}, asked[:1]), Scripted(["3"]), path, told.append)
    hold_all(RecordingPlan("sums", {}, asked), Scripted(["7"]), path, told.append)
    assert len(Recording(path)) == 2
    assert told[0] == told[1] == "sums   1  What is 1 + 2? | no call | 3"
    assert told[2] == "sums   2  What is 3 + 4? | add({) | 7"


def test_the_command_records_a_plan_says_what_is_left_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ZOOLAB_MODEL", "capable")
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(PLAN_OF_SUMS, encoding="utf-8")
    options = ["--model", "endpoint", "--plan", str(plan_file), "--into", str(tmp_path)]
    with playing(capable) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert main([*options, "--left"]) == 1
        assert capsys.readouterr().out == "sums: 2 of 2 conversations are left\n"
        assert server.asked == []
        assert main(options) == 0
        assert capsys.readouterr().out.endswith("sums: 0 of 2 conversations are left\n")
        asked = len(server.asked)
        assert main(options) == 0
        assert len(server.asked) == asked
    header = Recording(tmp_path / "endpoint-sums.jsonl").header
    assert (header.model, header.settings, len(header.date)) == (
        "capable",
        {"temperature": 0.8, "seed": 1},
        10,
    )
    assert main(["cats", "--left", "--into", str(tmp_path)]) == 2
    assert "no set is named 'cats'" in capsys.readouterr().err


def test_a_set_that_is_denied_holds_what_nobody_and_a_person_deny_and_runs_no_such_call(tmp_path):
    plan_file = tmp_path / "plan.toml"
    plan_file.write_text(PLAN_OF_DENIALS, encoding="utf-8")
    [risky] = plan(path=plan_file)
    assert [asked.denied for asked in risky.conversations] == [None, *DENIALS.values()]
    told: list[str] = []

    def says(request):
        last = request.messages[-1]
        if last["role"] == "user":
            return [("restart_service", {"service": "redis"})]
        told.append(json.loads(last["content"])["error_message"])
        return "So be it."

    path = tmp_path / "r.jsonl"
    hold_all(risky, Scripted(says), path, lambda _: None)
    assert told == [None, *(f"restart_service did not run: {each.reason}" for each in DENIALS.values())]
    assert (left_of(risky, path), len(Recording(path))) == (0, 4)


def test_a_recording_goes_on_from_what_is_shipped(tmp_path):
    path = tmp_path / "qwen-walk.jsonl"
    begin(path)
    held = len(Recording("qwen-walk"))
    assert len(Recording(path)) == held
    path.write_text("own\n", encoding="utf-8")
    begin(path)
    assert path.read_text(encoding="utf-8") == "own\n"
    begin(tmp_path / "mine-walk.jsonl")
    assert not (tmp_path / "mine-walk.jsonl").exists()


def test_pairs_that_the_plan_does_not_ask_for_are_left_out(tmp_path):
    path = tmp_path / "r.jsonl"
    asked = [Conversation(prompt, tools_named("add")) for prompt in ("What is 1 + 2?", "What is 3 + 4?")]
    hold_all(RecordingPlan("sums", {}, asked), Scripted([[("add", {"a": 1, "b": 2})], "3", "7"]), path, print)
    fewer = RecordingPlan("sums", {}, asked[:1])
    assert prune(fewer, path) == 1
    assert (left_of(fewer, path), len(Recording(path))) == (0, 2)
    assert prune(fewer, path) == 0
    before = path.read_bytes()
    with pytest.raises(ReplayMiss):
        prune(RecordingPlan("sums", {}, asked), path)
    assert path.read_bytes() == before


def test_the_plan_records_the_repairs_that_the_table_reads():
    [repairs] = plan(["repairs"])
    recorded = answers()
    assert left_of(repairs, ANSWERS) == 0
    assert len(repairs.conversations) == len(asked()) == len(recorded.recording)
    for row in asked():
        assert recorded(LLMRepair(Scripted([])).request(row.raw, row.schema)).text


@pytest.mark.parametrize("name", QWEN)
def test_what_is_shipped_is_complete_and_says_of_whom(name):
    recording = Recording(name)
    header = recording.header
    assert (header.made, header.model, header.calls) == ("recorded", "qwen", "auto")
    assert "cc324af070c2" in header.who
    kind = name.removeprefix("qwen-")
    wanted = next(each for each in plan([kind.partition("-seed")[0]]) if each.name == kind)
    assert left_of(wanted, recording.path) == 0


def test_a_capable_model_reads_results_and_calls_again():
    rounds = Counter[str]()
    for body in Recording("qwen-tasks").requests:
        question = next(message["content"] for message in body["messages"] if message["role"] == "user")
        calls = sum(message["role"] == "assistant" for message in body["messages"])
        rounds[question] = max(rounds[question], calls)
    assert len(rounds) == 60
    assert sum(number >= 2 for number in rounds.values()) >= 25
