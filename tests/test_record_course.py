"""`zoolab record course`: a live model is asked what the notebooks ask, and a folder answers them offline."""

from __future__ import annotations

from pathlib import Path

import pytest
from server import TestServer, capable, completion, playing, refused_url, serving
from shell import KEY, Ran, Shell

from zoolab import Replay, model_for, run
from zoolab.errors import InvalidInput
from zoolab.models.recording import Recording, shipped
from zoolab.toolbox.starter import add

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SUMS = """# %%
LIVE = None

from zoolab import model_for, run
from zoolab.toolbox.starter import add

model = model_for(LIVE, "course-07")
print("who answers:", model.recording.header.who if LIVE is None else LIVE)

# %%
trace = run("What is 20 + 30?", [add], model)
assert "50" in trace.answer
"""


@pytest.fixture
def zoo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    for name in ("OPENAI_BASE_URL", "ZOOLAB_MODEL", "ZOOLAB_RECORDINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.py").write_text(SUMS, encoding="utf-8")
    return Shell(capsys)


def record(zoo: Shell, server: TestServer, *notebooks: str | Path) -> Ran:
    return zoo("record", "course", *notebooks, "--model", "capable", "--base-url", server.url)


def test_a_notebook_is_recorded_once_and_answers_offline(
    zoo: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with playing(capable) as server:
        first = record(zoo, server, "sums.py")
        asked = len(server.asked)
        again = record(zoo, server, "sums.py")
        assert len(server.asked) == asked
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == "sums: recorded"
    assert again.out == first.out
    kept = tmp_path / "recordings" / "course-07.jsonl"
    header = Recording(kept).header
    assert (header.made, header.model, header.settings) == ("recorded", "capable", {"temperature": 0})
    assert len(header.date) == 10
    assert KEY not in kept.read_text(encoding="utf-8")
    monkeypatch.setenv("ZOOLAB_RECORDINGS", "recordings")
    trace = run("What is 20 + 30?", [add], model_for(None, "course-07"))
    assert (trace.tool_calls[0].arguments, trace.outcome) == ('{"a": 20, "b": 30}', "answer")
    # What only an exercise asks is there, too.
    openings = [body for body in Recording(shipped()["course-07"]).requests if len(body["messages"]) == 1]
    assert openings
    mine = [(body["messages"], body.get("tools")) for body in Recording(kept).requests]
    assert all((body["messages"], body.get("tools")) in mine for body in openings)


def test_a_notebook_of_the_course_asks_and_is_answered(zoo: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with playing(capable) as server:
        done = record(zoo, server, NOTEBOOKS / "00-can-it-call-tools.ipynb")
    assert (done.code, done.err) == (0, "")
    assert "course-00: 9 requests" in done.out
    monkeypatch.setenv("ZOOLAB_RECORDINGS", "recordings")
    # Another endpoint is not asked again: the folder has all that the notebook needs.
    assert (
        zoo(
            "record",
            "course",
            NOTEBOOKS / "00-can-it-call-tools.ipynb",
            "--model",
            "capable",
            "--base-url",
            refused_url(),
        ).code
        == 0
    )


def test_what_fails_is_named_and_the_rest_is_recorded(zoo: Shell, tmp_path: Path) -> None:
    with serving(completion("No.")) as server:
        done = record(zoo, server, "sums.py")
    assert done.code == 1
    assert "sums: cell 2: AssertionError" in done.out
    assert len(Recording(tmp_path / "recordings" / "course-07.jsonl")) > 1


def test_an_endpoint_that_is_down_is_one_line(zoo: Shell) -> None:
    done = zoo("record", "course", "sums.py", "--model", "capable", "--base-url", refused_url())
    assert done.code == 2
    assert "sums: cell 2: ModelError: cannot reach" in done.out
    assert done.err.count("\n") == 1


def test_a_dry_run_asks_nothing_and_counts(zoo: Shell, tmp_path: Path) -> None:
    done = zoo("record", "course", "sums.py", "--dry-run")
    assert done.out.startswith(f"course-07    {len(Recording('course-07')):>4} requests: ")
    assert "about in all" in done.out
    assert not (tmp_path / "recordings").exists()


def test_who_answers_must_be_named(zoo: Shell) -> None:
    assert "no model is named" in zoo("record", "course", "sums.py").err
    (Path("empty.py")).write_text("1\n", encoding="utf-8")
    assert "there is no notebook to record" in zoo("record", "course", "empty.py", "--dry-run").err


def test_names_stand_for_the_folder_s_recordings_and_then_for_zoolab_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("ZOOLAB_RECORDINGS", str(other))
    assert Replay("starter").recording.path == shipped()["starter"]
    (other / "starter.jsonl").write_bytes(shipped()["authored"].read_bytes())
    assert Replay("starter").recording.header.made == "authored"
    monkeypatch.setenv("ZOOLAB_RECORDINGS", str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="expected a folder of recordings"):
        Replay("starter")


def test_a_course_is_recorded_from_the_api_of_a_provider(zoo: Shell, tmp_path: Path) -> None:
    said = {"model": "tiny", "message": {"role": "assistant", "content": "No."}, "done": True}
    with serving(said) as server:
        named = ("--provider", "ollama", "--model", "tiny", "--base-url", server.url)
        done = zoo("record", "course", "sums.py", *named)
    assert "sums: cell 2: AssertionError" in done.out
    assert {asked.path.removeprefix("/v1") for asked in server.asked} == {"/api/chat"}
    assert Recording(tmp_path / "recordings" / "course-07.jsonl").header.model == "tiny"
