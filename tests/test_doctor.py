"""The capability check: what it finds, in models that can and in models that cannot."""

from __future__ import annotations

import json

import pytest

from zoolab import Replay, Scripted
from zoolab.commands.cli import run_command as cli
from zoolab.errors import ModelError
from zoolab_course.doctor import can_call_tools, examine, probes

PERFECT = {
    "Say hello.": "Hello.",
    "What is 42 + 58?": [("add", {"a": 42, "b": 58})],
    "Is nginx running?": [("check_status", {"service": "nginx"})],
    "What is the weather in Paris in fahrenheit?": [("get_weather", {"city": "Paris", "unit": "fahrenheit"})],
    "Hello!": "Hello!",
    "What is 1 + 2?": [("ping", {"host": "a"})],
    "100": "It is 100.",
}


def perfect(request):
    """A model that does what each probe asks for."""
    return PERFECT[request.messages[-1]["content"]]


def failed(answers) -> list[str]:
    return [result.name for result in examine(Scripted(answers)) if not result.ok]


def test_a_model_that_can_passes_all_seven():
    results = list(examine(Scripted(perfect)))
    assert [result.name for result in results if not result.ok] == []
    assert len(results) == 7
    assert can_call_tools(results)


@pytest.mark.parametrize(
    ("question", "answer", "probe"),
    [
        ("Say hello.", "", "answers"),
        ("What is 42 + 58?", "100", "calls"),
        ("Is nginx running?", [("add", {"a": 1, "b": 2})], "chooses"),
        ("What is the weather in Paris in fahrenheit?", [("get_weather", {"unit": "F"})], "arguments"),
        ("What is the weather in Paris in fahrenheit?", [("get_weather", "{")], "arguments"),
        ("Hello!", [("add", {})], "abstains"),
        ("What is 1 + 2?", [("add", {"a": 1, "b": 2})], "forced"),
        ("100", "It is 45.", "result"),
        ("100", [("add", {"a": 42, "b": 58})], "result"),
    ],
)
def test_each_probe_finds_its_own_failing(question, answer, probe):
    assert failed(
        lambda request: answer if request.messages[-1]["content"] == question else perfect(request)
    ) == [probe]


def test_a_model_that_fails_is_a_finding_and_not_the_end():
    def broken(_request):
        raise ModelError("no answer", advice="start it")

    results = list(examine(broken))
    assert {(result.ok, result.verdict, result.advice, result.came) for result in results} == {
        (False, "could not be asked: no answer", "start it", None)
    }
    assert can_call_tools(results) is None


def test_a_model_without_native_calls_is_asked_in_text():
    sent = [probe.request for probe in probes(as_text=True)]
    assert all(request.tools == () for request in sent)
    assert "get_weather" in sent[3].messages[0]["content"]


def test_the_recording_is_of_the_local_models_and_keeps_their_failings():
    replay = Replay("doctor")
    results = {result.name: result.ok for result in examine(replay)}
    assert replay.recording.header.made == "recorded"
    assert can_call_tools(list(examine(replay)))
    assert not results["abstains"]


def test_the_command_shows_each_probe(capsys):
    assert cli(["doctor"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines() if line.startswith(("ok", "FAIL"))] == [
        probe.name for probe in probes()
    ] * 2
    assert "recorded: Needle 3" in told
    assert "recorded: Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)" in told


def test_qwen_calls_and_chooses_but_cannot_stop(capsys):
    assert cli(["doctor", "--recording", "doctor-qwen"]) == 1
    told = capsys.readouterr().out
    assert [line.split()[1] for line in told.splitlines() if line.startswith("FAIL")] == [
        "abstains",
        "forced",
        "result",
    ]


def test_the_command_as_json(capsys):
    assert cli(["doctor", "--json"]) == 0
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {finding["model"] for finding in findings} == {"needle+smollm2", "qwen"}
    assert findings[1]["sent"]["tools"][0]["function"]["name"] == "add"
    assert findings[1]["came"]["tool_calls"]


def test_the_command_ends_with_1_where_a_model_cannot(tmp_path, capsys):
    path = tmp_path / "mute.jsonl"
    list(examine(Replay(path, live=Scripted(lambda _request: "Hello."))))
    assert cli(["doctor", "--recording", str(path)]) == 1
    assert "cannot be relied on" in capsys.readouterr().out


def test_a_forced_choice_that_is_refused_says_nothing_of_the_other_probes():
    def refuses_force(request):
        if request.tool_choice != "auto":
            error = ModelError("http://x answered 400: tool_choice forces tool use")
            error.status = 400
            raise error
        return PERFECT[request.messages[-1]["content"]]

    results = list(examine(Scripted(refuses_force)))
    [found] = [result for result in results if not result.ok]
    assert found.name == "forced"
    assert found.came is None
    assert found.verdict.startswith("it refuses a forced choice: ")
    assert "leave tool_choice out for this model" in found.advice
    assert can_call_tools(results)
