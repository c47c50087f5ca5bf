"""The trace: it loses nothing, comes back from its file as it was, and trusts no file."""

import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walks import CALL, TOOLS, drive

from zoolab.errors import InvalidInput, InvalidTrace, ModelError, ZoolabError
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.records import Decision, Limits, Outcome, Reply, Request, Result, ToolCall, Verdict
from zoolab.runs import Trace, run
from zoolab.steps.define import tool
from zoolab.tools import Tool
from zoolab.trace.events import MAX_LINE
from zoolab_study.journal import run_line

ANY = [
    ("add", {"a": 1, "b": 2}),
    ("add", "{"),
    ("fail", {}),
    ("wipe", {}),
    ("nobody", {}),
    ("add", {"a": "é"}),
]


def edited(record, how):
    """Another record in place of this one; None for none."""
    match record:
        case ToolCall():
            return replace(record, arguments='{"a": 5}')
        case Verdict():
            return [Verdict(True, {"a": 7}), Verdict(False)][how % 2] if record.problems else None
        case Decision():
            return [Decision("once"), Decision("deny", "no"), Outcome("given")][how % 3]
        case Outcome():
            return replace(record, value={"edited": how}, error=None)
        case Result():
            return replace(record, content=f"edited {how}")
        case Request():
            return replace(record, messages=[*record.messages, {"role": "user", "content": f"more {how}"}])
        case Reply():
            return Reply({"role": "assistant", "content": f"other {how}"})
    return None


def recorded(replies, edits, path=None, looked=None):
    """A random walk, recorded while somebody steps through it and answers some of its steps."""
    trace = Trace(path, meta={"case_id": "c1", "seed": 3})
    steps = trace.follow(
        walk("Hi é 😀 \ud800", TOOLS, Scripted([*replies, "Done."]), limits=Limits(retries=9))
    )
    answer, number = None, 0
    try:
        while True:
            step = steps.send(answer)
            if looked is not None:
                looked(trace)
            how = edits[number % len(edits)] if edits else 0
            answer = edited(step.record, how) if how else None
            number += 1
    except (StopIteration, ZoolabError):
        return trace


replies = st.lists(st.lists(st.sampled_from(ANY), min_size=1, max_size=3), max_size=3)
edits = st.lists(st.integers(0, 3), max_size=8)


@given(replies, edits)
@settings(max_examples=100)
def test_a_trace_comes_back_from_its_file_as_it_was(tmp_path_factory, replies, edits):
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    trace = recorded(replies, edits)
    loaded = Trace.load(trace.save(path))
    assert loaded == trace
    assert (loaded.run_id, loaded.meta, loaded.outcome) == (trace.run_id, trace.meta, trace.outcome)
    assert loaded.messages == trace.messages
    assert [step.kind for step in loaded.steps] == [step.kind for step in trace.steps]
    assert loaded.errors == trace.errors
    assert loaded.tool_calls == trace.tool_calls
    assert loaded.answer == trace.answer
    assert loaded.to_frame().equals(trace.to_frame())


@given(replies, edits)
@settings(max_examples=60)
def test_every_revision_is_rebuilt_exactly(replies, edits):
    trace = recorded(replies, edits)
    for seq, step in enumerate(trace.steps):
        assert trace.messages_at(seq) == step.messages.tolist()
    for seq, step in enumerate(trace.steps[:-1]):
        following = trace.steps[seq + 1]
        before_next = following.messages.tolist()[: len(following.messages) - following.appended]
        assert following.kind == "request" or step.messages.tolist() == before_next


@given(replies, edits)
@settings(max_examples=30)
def test_a_file_can_be_read_at_every_step_and_is_the_saved_one_at_the_end(tmp_path_factory, replies, edits):
    path = tmp_path_factory.mktemp("t") / "live.jsonl"

    def look(trace):
        seen = Trace.load(path)
        assert len(seen) == len(trace)
        assert seen.messages == trace.messages

    trace = recorded(replies, edits, path, look)
    assert Trace.load(path) == trace
    assert Trace.load(path) == Trace.load(trace.save(path.with_name("saved.jsonl")))


def test_a_message_that_is_no_json_stays_as_it_was_recorded():
    data = bytearray(b"a")
    opening = [{"role": "user", "content": "x", "data": data}]
    trace = Trace()
    steps = trace.follow(walk("Hi", [], Scripted(["Hello"]), messages=opening))
    for step in steps:
        if step.kind == "request":
            data += b"b"
            steps.answer(replace(step.record, messages=[*step.messages, {"role": "user", "content": "more"}]))
    found = [messages[0]["data"] for messages in map(trace.messages_at, range(1, len(trace)))]
    assert set(found) == {"bytearray(b'a')"}
    assert len(trace.messages) == 4


def test_an_interrupted_run_keeps_its_steps():
    @tool
    def interrupt() -> None:
        """Press Ctrl-C."""
        raise KeyboardInterrupt

    trace = Trace()
    with pytest.raises(KeyboardInterrupt):
        Trace.record(walk("Hi", [interrupt], Scripted([[("interrupt", {})], "Done."])), into=trace)
    assert trace.outcome == "interrupted"
    assert [message["role"] for message in trace.messages] == ["user", "assistant", "tool"]


def test_an_abandoned_walk_is_open():
    trace = Trace()
    steps = trace.follow(walk("Hi", TOOLS, Scripted([CALL, "Done."])))
    next(steps), next(steps)
    assert (trace.outcome, len(trace), trace.answer) == ("open", 2, None)


def test_diff_says_what_came_and_what_went():
    trace = Trace()
    drive(trace.follow(walk("Hi", TOOLS, Scripted([CALL, "Done."]), envelope="plain")))
    diff = trace.diff(1, 5)
    assert (diff.kept, diff.removed) == (1, ())
    assert [message["role"] for message in diff.added] == ["assistant", "tool"]
    back = trace.diff(5, 1)
    assert (back.removed, back.added) == (diff.added, ())
    assert str(diff) == '1 -> 3 messages: + assistant asks for add, + tool "3"'
    assert str(trace.diff(3, 3)) == "2 -> 2 messages"


def test_a_diff_across_an_edit_shows_both_messages():
    trace = Trace()
    steps = trace.follow(walk("Hi", TOOLS, Scripted([CALL, "Done."]), envelope="plain"))
    seen = drive(steps, result=lambda step: replace(step.record, content="edited"))
    assert trace.messages_at(5)[-1]["content"] == "edited"
    assert seen[5].messages[-1]["content"] == "3"
    assert trace.originals[5].content == "3"


def test_steps_are_found_by_number_from_both_ends_and_by_themselves():
    trace = run("Hi", TOOLS, Scripted(["Done."]))
    assert trace.index(-1) == trace.index(2) == trace.index(trace.steps[2]) == 2
    for missing in (3, -4):
        with pytest.raises(InvalidInput, match="there is no step"):
            trace.messages_at(missing)


def test_errors_and_tool_calls():
    trace = run("Hi", TOOLS, Scripted([[*ANY[:5], ("add", {"a": 1})], "Done."]))
    assert [(e.slot, e.code) for e in trace.errors] == [
        (1, "invalid_json"),
        (4, "unknown_tool"),
        (2, "resource_not_found"),
        (3, "permission_denied"),
    ]
    assert [call.name for call in trace.tool_calls] == ["add", "add", "fail", "wipe", "nobody", "add"]
    with pytest.raises(ModelError) as caught:
        run("Hi", TOOLS, Scripted([]))
    assert [(e.seq, e.code) for e in caught.value.trace.errors] == [(None, "model_error")]


COLUMNS = [
    *("run_id", "case_id", "variant", "model", "seed", "turn", "seq", "step", "slot", "call_id", "attempt"),
    *("tool", "arguments", "expected_tool", "status", "error_code", "error_type", "message", "outcome"),
    *("fault", "origin", "t_start"),
    *("duration_ms", "n_messages", "tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning"),
    "tokens_cache_write",
]


def test_the_frame_has_one_row_a_step_and_its_documented_columns():
    def model(request):
        reply = Scripted([[("add", {"a": 1}), ("add", "{")]] if len(request.messages) == 1 else ["Done."])(
            request
        )
        return replace(reply, usage={"prompt_tokens": 10, "completion_tokens": 5}, model="m-1")

    trace = Trace(run_id="r", meta={"case_id": "c", "variant": "v", "seed": 7, "expected_tool": "add"})
    Trace.record(walk("Hi", TOOLS, model), into=trace)
    frame = trace.to_frame()
    assert list(frame.columns) == COLUMNS
    assert frame["seq"].tolist() == list(range(len(trace)))
    for column, value in {"run_id": "r", "case_id": "c", "variant": "v", "seed": 7, "model": "m-1"}.items():
        assert set(frame[column]) == {value}
    assert frame["step"].tolist() == [
        *("define", "request", "tool_call", "tool_call", "validate", "validate"),
        *("execute", "result", "result", "request", "tool_call"),
    ]
    assert frame["turn"].tolist() == [0, *[1] * 8, 2, 2]
    assert frame["slot"].dropna().tolist() == [0, 1, 0, 1, 0, 0, 1]
    assert frame["error_code"].dropna().tolist() == ["invalid_json"] * 2
    assert frame["error_type"].dropna().tolist() == ["parse_error"] * 2
    assert frame["arguments"].dropna().tolist() == [
        *('{"a":1}', "{", '{"a":1}', "{"),
        *('{"a":1}', '{"a":1}', "{"),
    ]
    assert frame["message"].notna().tolist() == frame["error_code"].notna().tolist()
    assert frame["n_messages"].tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 5]
    assert frame["tokens_in"].dropna().tolist() == [10, 10]
    assert frame["duration_ms"].notna().tolist() == [s.kind in ("request", "execute") for s in trace.steps]
    assert frame["t_start"].is_monotonic_increasing
    assert set(frame["outcome"]) == {"answer"}


def test_the_frame_says_what_went_wrong_and_with_which_arguments():
    long = "x" * 1_000
    calls = [("fail", {"a": 7}), ("add", {"a": long}), ("wipe", {}), ("nobody", {})]
    trace = run("Hi", TOOLS, Scripted([calls, "Done."]))
    frame = trace.to_frame()
    wrong = frame[frame["error_code"].notna()]
    said = {
        (row.step, row.tool): row.message
        for row in wrong[["step", "tool", "message"]].itertuples(index=False)
    }
    assert said["execute", "fail"] == said["result", "fail"] == "FileNotFoundError: no 7"
    assert said["execute", "wipe"] == said["result", "wipe"] == "wipe did not run: nobody allowed it"
    assert said["validate", "add"] == said["result", "add"]
    assert said["validate", "add"].startswith("/a: expected integer")
    assert "nobody" in said["validate", "nobody"]
    longest = frame["arguments"].dropna().map(len).max()
    assert (longest, frame["message"].dropna().map(len).max() <= 300) == (300, True)


def test_saving_leaves_the_old_file_when_a_value_cannot_be_written(tmp_path):
    path = run("Hi", TOOLS, Scripted(["Old."])).save(tmp_path / "t.jsonl")
    trace = run("x" * MAX_LINE, TOOLS, Scripted(["New."]))
    with pytest.raises(InvalidInput, match=r"a message with the role .user. takes 67,108,\d+ char"):
        trace.save(path)
    assert Trace.load(path).answer == "Old."
    assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]


def test_values_that_are_no_json_or_too_long_are_saved_as_shown(tmp_path):
    @tool
    def odd(kind: str) -> object:
        """Return something odd."""
        return {
            "bytes": b"x",
            "cycle": Outcome,
            "long": "x" * 100_000,
            "nan": float("nan"),
            "lone": "\ud800",
        }[kind]

    calls = [("odd", {"kind": kind}) for kind in ("bytes", "cycle", "long", "nan", "lone")]
    trace = run("Hi", [odd], Scripted([calls, "Done."]))
    loaded = Trace.load(trace.save(tmp_path / "t.jsonl"))
    assert loaded == trace
    assert (tmp_path / "t.jsonl").stat().st_size < 100_000


def lines_of_a_trace(tmp_path):
    trace = recorded([ANY[:4]], [1, 0, 2])
    return trace.save(tmp_path / "good.jsonl").read_text().splitlines(keepends=True)


def refused_or_read(path, content):
    """Load hostile content; anything but the two documented errors fails the test."""
    path.write_bytes(content)
    try:
        return Trace.load(path)
    except (InvalidTrace, InvalidInput):
        return None


def test_a_file_cut_at_any_byte_is_read_or_refused(tmp_path):
    whole = "".join(lines_of_a_trace(tmp_path)).encode()
    for end in [*range(0, len(whole), max(1, len(whole) // 300)), len(whole)]:
        refused_or_read(tmp_path / "cut.jsonl", whole[:end])
    assert refused_or_read(tmp_path / "cut.jsonl", whole) is not None


@given(st.binary(max_size=300))
@settings(max_examples=100)
def test_random_bytes_are_refused(tmp_path_factory, content):
    assert refused_or_read(tmp_path_factory.mktemp("t") / "x.jsonl", content) is None


JUNK = [
    None,
    True,
    -1,
    10**30,
    1e308,
    float("nan"),
    "x",
    "",
    "9" * 5000,
    [],
    [1],
    [[]],
    {},
    {"a": {}},
    ["\ud800"],
]


def places(node, path=()):
    """The paths of all values in a JSON value."""
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def test_a_wrong_type_in_any_field_is_read_or_refused(tmp_path):
    lines, rng, tried = lines_of_a_trace(tmp_path), random.Random(0), 0
    for at, line in enumerate(lines):
        for path in places(json.loads(line)):
            for junk in rng.sample(JUNK, 3):
                event = json.loads(line)
                inner = event
                for key in path[:-1]:
                    inner = inner[key]
                if path:
                    inner[path[-1]] = junk
                changed = "".join([*lines[:at], json.dumps(event if path else junk) + "\n", *lines[at + 1 :]])
                loaded = refused_or_read(tmp_path / "x.jsonl", changed.encode("utf-8", "surrogatepass"))
                tried += 1
                if loaded is not None and tried % 10 == 0:
                    loaded.save(tmp_path / "again.jsonl")
                    assert loaded.errors is not None
                    assert len(loaded.to_frame()) == len(loaded)
    assert tried > 500


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"event":' * 50_000,
        '{"event": ' + "9" * 10_000 + "}",
        '{"event": "shout"}',
        '{"event": "trace"}',
        '{"event": "step", "seq": 1e999}',
        '{"event": "step", "keep": 99999999999, "append": []}',
        "null",
        "{}",
        "\x00",
    ],
    ids=lambda line: line[:24],
)
def test_a_hostile_line_is_refused_by_its_number(tmp_path, line):
    lines = lines_of_a_trace(tmp_path)
    path = tmp_path / "x.jsonl"
    path.write_text("".join([*lines[:2], line + "\n", *lines[2:]]))
    with pytest.raises(InvalidTrace, match="line 3"):
        Trace.load(path)


def test_a_missing_file_an_empty_one_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot read"):
        Trace.load(tmp_path / "none.jsonl")
    with pytest.raises(InvalidInput, match="cannot read"):
        Trace.load(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InvalidTrace, match="is empty"):
        Trace.load(tmp_path / "empty.jsonl")


@pytest.mark.parametrize("line", ["x", "{}", "null", '{"event": "tra', "[1]"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_that_begins_with_no_event_says_so_by_its_line(tmp_path, line, end):
    path = tmp_path / "x.jsonl"
    path.write_text(line + end)
    with pytest.raises(InvalidTrace, match=r"line 1( is not JSON|: found )"):
        Trace.load(path)


@tool(name="add")
def add_integers(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def test_meta_is_given_as_a_dict_and_a_typo_names_the_right_argument():
    hello = Scripted(["Hello"] * 9)
    assert Trace(meta={"case_id": "x"}).meta == {"case_id": "x"}
    assert Trace.record(walk("Hi", [], hello), meta={"case_id": "x"}).meta == {"case_id": "x"}
    assert run("Hi", [], hello, meta={"case_id": "x"}).meta == {"case_id": "x"}
    for make, told in {
        "Trace(rund_id='r')": r"Trace\(\) has no option 'rund_id'; did you mean 'run_id'",
        "Trace(case_id='x')": r"write meta={'case_id': \"x\"}",
        "Trace.record(walk('Hi', [], hello), case_id='x')": "unexpected keyword argument 'case_id'",
    }.items():
        with pytest.raises(TypeError, match=told):
            eval(make, {**globals(), "hello": hello})
    with pytest.raises(InvalidInput, match="both into= and meta= are given"):
        Trace.record(walk("Hi", [], hello), into=Trace(), meta={"case_id": "x"})
    with pytest.raises(InvalidInput, match="both trace= and meta= are given"):
        run("Hi", [], hello, trace=Trace(), meta={})
    for name, value in {"run_id": 5, "meta": "x"}.items():
        with pytest.raises(InvalidInput, match=f"{name} is "):
            Trace(**{name: value})


def test_the_line_for_people_is_never_in_the_messages():
    model = Scripted([[("add", {"a": 1, "b": 2}), ("add", {"a": "x"}), ("boom\x1b[2J", {})], "Three."])
    trace = run("1 + 2?", [add_integers], model, envelope="plain")
    assert re.sub(r"[\d.]+ ms", "0 ms", trace.display[0]) == "[add] ok in 0 ms: 3"
    assert trace.display[1].startswith("[add] invalid_arguments: ")
    assert trace.display[2].startswith("[boom\\x1b[2J] unknown_tool: ")
    assert len(trace.display) == len([m for m in trace.messages if m["role"] == "tool"]) == 3
    assert all(line not in str(trace.messages) for line in trace.display)


def test_what_became_of_each_call_stands_under_its_turn_and_slot():
    wipe = Tool("wipe", "Wipe.", {"type": "object"}, lambda: "wiped", risk="high")
    add = Tool("add", "Add.", {"type": "object"}, lambda: 3)
    calls = [("add", {}), ("fly", {}), ("wipe", {})]
    trace = run("Go.", [add, wipe], Scripted([calls, "Done."]), ask=lambda _step: Decision("deny", "no"))
    first, second = trace.turns
    assert (first.number, second.calls, second.reply.text) == (1, {}, "Done.")
    assert [call.fate for call in first.calls.values()] == ["ran", "failed", "stopped"]
    ran, failed, stopped = first.calls.values()
    assert (ran.verdict.ok, ran.decision, ran.outcome.value) == (True, None, 3)
    assert (failed.verdict.error_code, failed.outcome, failed.result.error_code) == (
        "unknown_tool",
        None,
        "unknown_tool",
    )
    assert (stopped.asked.choice, stopped.decision.choice) == ("pending", "deny")
    of_calls = [seq for call in first.calls.values() for seq in call.steps]
    assert sorted(of_calls + first.own) == list(range(first.seq, first.end))


def test_a_live_file_keeps_the_trace_before_until_the_first_step(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    before = Trace.record(walk("Hi", [], Scripted(["Hello"])), into=Trace(path))
    again = Trace(path)
    assert Trace.load(path) == before
    steps = again.follow(walk("Bye", [], Scripted(["So long"])))
    assert Trace.load(path) == before
    next(steps)
    assert (Trace.load(path).run_id, len(Trace.load(path))) == (again.run_id, 1)
    drive(steps)
    assert Trace.load(path) == again
    assert [each.name for each in tmp_path.iterdir()] == ["live.jsonl"]


def test_drafts_of_killed_writers_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    names = (".t.jsonl.0123456789ab", ".t.jsonl.ba9876543210", ".t")
    old, new, other = (tmp_path / name for name in names)
    for each in (old, new, other):
        each.write_text("half")
    for each in (old, other):
        os.utime(each, (1, 1))
    Trace().save(tmp_path / "t.jsonl")
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_what_is_shared_has_no_secrets_and_what_is_saved_by_hand_has_all(tmp_path: Path) -> None:
    secret = "gsk_" + "a1B2c3D4e5F6g7H8i9J0a1B2"
    trace = Trace.record(walk(f"Use {secret}", TOOLS, Scripted([CALL, f"Done with {secret}."])))
    for shared in (trace.to_html(tmp_path / "a.html"), trace.to_html(interactive=True)):
        assert "[secret removed]" in shared
        assert secret not in shared
    spans = str([dict(span.attributes or {}) for span in trace.to_otel(content=True)])
    assert "[secret removed]" in spans
    assert secret not in spans
    assert secret not in run_line(trace).decode()
    assert secret in trace.to_html(secrets=True)
    assert secret in trace.save(tmp_path / "t.jsonl").read_text()
    assert trace.answer == f"Done with {secret}."
