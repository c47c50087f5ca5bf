"""What is made to be shown or shared has no secret: pages, protocols, saved notebooks, reports, journals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_secrets import FORMS

from zoolab import Scripted, Trace, experiment, inspect, run, tool
from zoolab.commands import cli
from zoolab.errors import ZoolabError
from zoolab.models import Replay
from zoolab.secrets import HIDDEN

# Put together here, so that no scanner takes this file for a leak.
KEY = "gsk_" + "a1B2c3D4e5F6g7H8i9J0a1B2"


@tool
def login(password: str) -> dict[str, str]:
    """Log in."""
    print(f"logging in with {KEY}")
    return {"token": password, "said": f"Bearer {KEY}"}


@tool
def say(given: str) -> str:
    """Say it."""
    return given


def told() -> Trace:
    """A run that has the key in its prompt, arguments, result, printed text, answer and error."""
    replies = [[("login", {"password": KEY}), ("login", {"pasword": KEY})], f"Done with {KEY}."]
    return run(f"Log in with {KEY}", [login], Scripted(replies), system=f"key: {KEY}", meta={"note": KEY})


def kept_by_a_notebook(trace: Trace) -> str:
    """All that a saved notebook holds of an inspector, with the state of its widget."""
    inspector = inspect(trace)
    return str([*inspector._repr_mimebundle_(), inspector.get_state()])


def command(trace: Trace, folder: Path) -> str:
    saved = trace.save(folder / "trace.jsonl")
    assert cli.run_command(["inspect", str(saved)]) == 0
    return (folder / "trace.html").read_text(encoding="utf-8")


SHARED: dict[str, Callable[[Trace, Path], str]] = {
    "page": lambda trace, _: trace.to_html(),
    "page to step through": lambda trace, _: trace.to_html(interactive=True),
    "protocol": lambda trace, _: trace.to_markdown(),
    "cell": lambda trace, _: trace._repr_html_(),
    "inspector": lambda trace, _: kept_by_a_notebook(trace),
    "spans": lambda trace, _: "".join(span.to_json() for span in trace.to_otel(content=True)),
    "wires": lambda trace, _: trace.show_wires()._repr_html_() + str(trace.show_wires(2)),
    "zoolab inspect": command,
}


@pytest.mark.parametrize("how", SHARED)
def test_what_may_be_shared_has_no_secret(tmp_path: Path, how: str) -> None:
    shared = SHARED[how](told(), tmp_path)
    assert KEY not in shared
    assert HIDDEN in shared


def test_secrets_stay_where_somebody_wants_them() -> None:
    trace = told()
    assert KEY in trace.to_html(secrets=True)
    assert KEY in trace.to_markdown(secrets=True)
    assert KEY in "".join(span.to_json() for span in trace.to_otel(content=True, secrets=True))


def test_the_trace_and_a_file_saved_by_hand_stay_as_they_are(tmp_path: Path) -> None:
    trace = told()
    trace.to_html()
    assert KEY in str(trace.messages)
    assert Trace.load(trace.save(tmp_path / "trace.jsonl")) == trace
    assert "secrets too" in str(Trace.save.__doc__)


def refuses(_request: Any) -> Any:
    raise RuntimeError(f"401: the key {KEY} is wrong")


def test_an_experiment_leaves_no_secret_in_its_journal_and_its_report(tmp_path: Path) -> None:
    models = {"refuses": refuses, "answers": Scripted([f"The key is {KEY}."])}
    done = experiment([f"Use {KEY}."], None, models, journal=tmp_path / "runs.jsonl", progress=False)
    written = (tmp_path / "runs.jsonl").read_text(encoding="utf-8") + done.to_html()
    assert KEY not in written
    assert "401: the key" in done.to_html()


def test_no_form_of_a_secret_stays_in_any_place_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    replies = [reply for text, _ in FORMS.values() for reply in ([("say", {"given": text})], text)]
    model = Replay(path, live=Scripted(replies))
    for number, (text, _) in enumerate(FORMS.values()):
        run(f"{number}: {text}", [say], model)
    written = path.read_text(encoding="utf-8")
    kept = [form for form, (_, secret) in FORMS.items() if secret in written]
    assert (len(FORMS) > 61, kept) == (True, [])
    assert len(written.splitlines()) == 1 + 2 * len(FORMS)


def test_a_recording_and_a_miss_have_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    run(f"Use {KEY}.", [], Replay(path, live=Scripted([f"I used {KEY}."])))
    assert KEY not in path.read_text(encoding="utf-8")
    with pytest.raises(ZoolabError) as caught:
        run(f"Use {KEY}, please.", [], Replay(path))
    assert KEY not in f"{caught.value}{getattr(caught.value, 'difference', '')}"
