"""The data sets: whole, honest about who made each row, and judged again they get the same verdicts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools.datasets.__main__ import run as make
from tools.datasets.asking import Askers, Question, offered
from tools.datasets.building import broken_made_again, cases_made_again, check_row, fits, write_rows
from tools.datasets.checking import Check, checks, request_from, sources
from tools.datasets.outputs import missing_from, output_id
from tools.datasets.questions import outputs_plan, picked
from tools.datasets.traces import recorded_runs
from tools.datasets.trials import trials
from tools.datasets.verdicts import codes_of, judge, leaves
from zoolab import ToolCall, Trace
from zoolab.commands.cli import run_command as command
from zoolab.errors import ERROR_CODES, InvalidInput, InvalidTrace
from zoolab.files import course_folder
from zoolab.records import Request
from zoolab.steps.validate import check_arguments
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry
from zoolab_study.datasets import load, load_trace, selection_tools
from zoolab_study.datasets.berkeley import same_arguments
from zoolab_study.datasets.loading import (
    DATA_SETS,
    MAX_LINE,
    OFFERED,
    frame_of_rows,
    lookup,
    read_rows,
    rows_of,
)

CASES = list(rows_of("selection-cases"))
TOOLS = selection_tools()
MAX_ALL = 8_000_000

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=4), json_values, max_size=4)


def calls_of(row: dict[str, Any]) -> list[ToolCall]:
    return [
        ToolCall(1, slot, f"call_{slot}", call["name"], call["arguments"])
        for slot, call in enumerate(row["calls"])
    ]


@pytest.mark.parametrize("name", DATA_SETS)
def test_every_data_set_loads_with_its_columns_and_a_page_about_it(name: str) -> None:
    frame = load(name)
    assert list(frame.columns) == list(DATA_SETS[name].columns)
    for number, row in enumerate(rows_of(name), 1):
        check_row(DATA_SETS[name], row, f"row {number}")
    assert frame.id.is_unique
    page = (course_folder("datasets") / name / "README.md").read_text(encoding="utf-8")
    assert {"Who answered", "Licence", "Rebuild"} <= {line.strip("# ") for line in page.splitlines()}


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_card_of_a_data_set_has_the_head_that_hugging_face_reads(name: str) -> None:
    begin, head, text = (
        (course_folder("datasets") / name / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    )
    card = yaml.safe_load(head)
    assert (begin, text.strip().startswith(f"# {name}\n")) == ("", True)
    assert (card["license"], card["language"]) == ("apache-2.0", ["en"])
    rows = sum(1 for _ in rows_of(name))
    assert card["size_categories"] == ["n<1K" if rows < 1000 else "1K<n<10K"]
    [config] = card["configs"]
    [split] = config["data_files"]
    assert f"{name}/{split['path']}" == DATA_SETS[name].file


def test_all_data_sets_together_are_small() -> None:
    assert (
        sum(path.stat().st_size for path in course_folder("datasets").rglob("*") if path.is_file()) < MAX_ALL
    )


def test_an_unknown_name_is_one_line_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="no data set is named 'cats'; expected one of selection-cases, "):
        load("cats")


def test_there_are_as_many_cases_as_the_course_needs() -> None:
    frame = load("selection-cases")
    assert len(frame) >= 400
    assert frame.tool.isna().sum() >= 80
    assert frame.prompt.is_unique
    assert set(frame.tool.dropna()) == set(TOOLS.names())
    assert len(TOOLS) == 40
    assert set(frame.domain) == {"devops", "support", "analytics", "security"}
    assert {"near_miss", "ambiguous", "plain", "paraphrase"} <= set(frame.difficulty)
    public, hidden = frame[frame.split == "public"], frame[frame.split == "hidden"]
    assert set(public.tool.dropna()) == set(TOOLS.names())
    assert hidden.tool.nunique() >= 30
    assert hidden.tool.isna().sum() >= 15


def test_every_case_can_be_answered_with_what_is_offered() -> None:
    for case in CASES:
        registry = offered(case["offered"], TOOLS)
        if case["tool"] is not None:
            assert {case["tool"], *case["also"]} <= set(registry.names())
            call = ToolCall(1, 0, "c", case["tool"], json.dumps(case["arguments"]))
            assert judge([call], registry, case["tool"], case["arguments"]) == "right"
        else:
            assert case["arguments"] is None
            assert judge([], registry, None, None) == "right"


def test_what_is_made_out_of_other_files_would_be_made_so_again() -> None:
    assert cases_made_again() == CASES
    made = broken_made_again()
    assert made == list(rows_of("broken-arguments"))
    for number, row in enumerate(made, 1):
        check_row(lookup("broken-arguments"), row, f"row {number}")


def test_the_tools_of_the_toolbox_are_the_real_ones() -> None:
    real = tools_named(*OFFERED)
    assert [TOOLS[tool.name] == tool for tool in real] == [True] * 16
    assert TOOLS.execute("check_status", {"service": "redis"}) == "redis is stopped"
    with pytest.raises(InvalidInput, match="no tool of the selection cases is named 'fly'"):
        selection_tools("fly")


def test_there_are_as_many_outputs_as_the_course_needs_and_their_verdicts_hold() -> None:
    cases = {case["id"]: case for case in CASES}
    rows = list(rows_of("selection-outputs"))
    assert len(rows) >= 600
    assert sum(row["purpose"] == "choose" for row in rows) >= 240
    assert {row["made"] for row in rows} == {"recorded"}
    assert {"needle3-L8", "needle3-L20", "smollm2"} <= {row["model"] for row in rows}
    for row in rows:
        case, registry = cases[row["case"]], offered(row["offered"], TOOLS)
        assert (row["prompt"], row["expected_tool"]) == (case["prompt"], case["tool"])
        calls = calls_of(row)
        assert row["verdict"] == judge(calls, registry, case["tool"], case["arguments"], case["also"])
        assert row["codes"] == codes_of(calls, registry)


def test_there_are_as_many_broken_arguments_as_the_course_needs_and_each_is_broken() -> None:
    rows = list(rows_of("broken-arguments"))
    assert sum(row["made"] == "recorded" for row in rows) >= 300
    for row in rows:
        tool = TOOLS[row["tool"]]
        verdict = check_arguments(row["raw"], tool)
        assert not verdict.ok
        assert row["problems"] == [problem.message for problem in verdict.problems]
        assert set(row["codes"]) == {problem.code for problem in verdict.problems}
        assert check_arguments(json.dumps(row["meant"]), tool).ok
        assert row["schema"] == tool.parameters
        assert (row["fault"] is None) == (row["made"] == "recorded")
        assert row["recoverable"] == (not row["why_not"])
        assert row["made"] == "seeded" or row["recoverable"] == (not missing_from(row["raw"], row["meant"]))
    assert {code for row in rows for code in row["codes"]} == {"invalid_json", "invalid_arguments"}


def test_there_are_as_many_traces_as_the_course_needs_with_every_kind_of_error() -> None:
    rows = list(rows_of("traces"))
    assert len(rows) >= 100
    assert {row["made"] for row in rows} == {"recorded", "seeded", "authored"}
    assert {code for row in rows for code in row["codes"]} == set(ERROR_CODES)


def test_what_the_index_says_of_a_trace_is_in_the_trace() -> None:
    for row in rows_of("traces"):
        if row["outcome"] == "invalid_trace":
            continue
        trace = load_trace(row["id"])
        assert (len(trace), trace.outcome) == (row["steps"], row["outcome"])
        selected = [code for code in row["codes"] if ERROR_CODES[code].stage == "select"]
        assert row["codes"] == [*selected, *dict.fromkeys(error.code for error in trace.errors)]
        faults = set(trace.to_frame().fault.dropna()) if len(trace) else set()
        assert faults <= {row["fault"]}
        assert (row["made"] == "seeded") == (row["fault"] is not None)


def test_the_damaged_trace_names_its_line() -> None:
    with pytest.raises(InvalidTrace, match="line 5"):
        load_trace("damaged-file")
    with pytest.raises(InvalidInput, match="no trace is named"):
        load_trace("../traces/starter-01")


def test_a_recorded_trace_is_what_its_recording_gives() -> None:
    for run, _ in zip(recorded_runs(), range(4), strict=False):
        kept = load_trace(run.id)
        assert [step.kind for step in kept.steps] == [step.kind for step in run.trace.steps]
        assert (kept.answer, kept.outcome) == (run.trace.answer, run.trace.outcome)


def test_the_trials_show_what_is_said_of_small_models() -> None:
    rows = list(rows_of("trials"))
    forced = [row for row in rows if row["variant"] == "forced"]
    assert forced
    assert all(row["tool"] for row in forced)
    tokens = {
        variant: [
            row["prompt_tokens"] for row in rows if (row["variant"], row["model"]) == (variant, "smollm2")
        ]
        for variant in ("with_tools", "without_tools")
    }
    assert tokens["with_tools"] == tokens["without_tools"] != []


def test_a_reply_that_stops_inside_a_call_is_cut() -> None:
    rows = [row for name in ("trials", "selection-outputs") for row in rows_of(name)]
    unclosed = [row for row in rows if "raw" in row["model"] and "</tool_call>" not in row["raw"]]
    inside = [row for row in unclosed if "<tool_call>" in row["raw"]]
    assert inside
    assert {row["finish_reason"] for row in inside} == {"length"}


def test_the_plans_are_the_questions_that_were_asked() -> None:
    asked = {(output_id(case, question), purpose) for case, question, purpose in outputs_plan(CASES, TOOLS)}
    assert {(row["id"], row["purpose"]) for row in rows_of("selection-outputs")} <= asked
    broken = [row for row in rows_of("broken-arguments") if row["made"] == "recorded"]
    assert {trial.id for trial in trials(CASES, broken, TOOLS)} >= {row["id"] for row in rows_of("trials")}
    assert {case["split"] for case in picked(CASES)} == {"public"}


# What is read and written


@given(st.lists(objects, max_size=5))
def test_rows_come_back_as_they_were_written(rows: list[dict[str, Any]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        for name in ("rows.jsonl", "rows.jsonl.gz"):
            path = Path(place) / name
            write_rows(path, rows)
            first = path.read_bytes()
            assert list(read_rows(path)) == rows
            write_rows(path, rows)
            assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[1]\n", "line 1, is"),
        (b"{}\n{\n", "line 2, is not JSON"),
        (b'{"a": NaN}\n', "line 1, is not JSON"),
        (b"\xff\n", "rows.jsonl: it is damaged"),
        (b'{"a": "' + b"x" * MAX_LINE + b'"}\n', "too large"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    for name, data in (("rows.jsonl", content), ("rows.jsonl.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=said.replace("rows.jsonl", name)):
            list(read_rows(path))


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress((b"{" + b" " * 500_000 + b"}\n") * 34))
    with pytest.raises(InvalidInput, match="too large"):
        for _ in read_rows(path):
            pass


@given(
    st.sampled_from(sorted(lookup("selection-cases").columns)), st.sampled_from([1.5, [None], {"x": 1}, None])
)
def test_a_value_of_another_type_is_refused_and_named(column: str, value: Any) -> None:
    data_set = lookup("selection-cases")
    row = {**CASES[0], column: value}
    if fits(value, data_set.columns[column]):
        check_row(data_set, row, "row 1")
    else:
        with pytest.raises(InvalidInput, match=f"row 1 of selection-cases: {column} is "):
            check_row(data_set, row, "row 1")


def test_a_row_that_lacks_a_column_or_has_another_is_refused() -> None:
    data_set = lookup("selection-cases")
    without = {key: value for key, value in CASES[0].items() if key != "also"}
    with pytest.raises(InvalidInput, match="row 7 of selection-cases lacks also"):
        check_row(data_set, without, "row 7")
    with pytest.raises(InvalidInput, match="row 7 of selection-cases has cat"):
        check_row(data_set, {**CASES[0], "cat": 1}, "row 7")
    with pytest.raises(InvalidInput, match="was made"):
        check_row(data_set, {**CASES[0], "made": "found"}, "row 7")


def test_what_is_missing_stays_none_in_a_frame() -> None:
    frame = frame_of_rows([{"tool": "a", "n": 1}, {"tool": None, "n": 2}], ["tool", "n"])
    assert frame.tool.tolist() == ["a", None]
    assert frame.n.dtype == "int64"


# What calls are worth


@given(objects)
def test_arguments_say_what_they_say(arguments: dict[str, Any]) -> None:
    assert same_arguments(arguments, arguments, {})
    assert not same_arguments({**arguments, "another": 1}, arguments, {})
    assert not same_arguments(arguments, {**arguments, "another": 1}, {})
    default = {"properties": {"another": {"default": 1}}}
    assert same_arguments(arguments, {**arguments, "another": 1}, default)


@given(objects)
def test_nothing_is_missing_from_its_own_text(arguments: dict[str, Any]) -> None:
    assert missing_from(" ".join(leaves(arguments)), arguments) == []
    assert missing_from("", {**arguments, "a": "b"}) != []


@pytest.mark.parametrize(
    ("name", "arguments", "verdict"),
    [
        ("ping", '{"host": "DB01 ", "count": 1}', "right"),
        ("ping", '{"host": "web01"}', "wrong_arguments"),
        ("ping", '{"host": "db01", "count": 3}', "wrong_arguments"),
        ("ping", '{"host": 1}', "invalid_arguments"),
        ("ping", '{"host": ', "invalid_json"),
        ("check_http", "{", "wrong_tool"),
        ("check_status", '{"service": "x"}', "right"),
        ("fly", "{}", "unknown_tool"),
    ],
)
def test_a_call_is_judged_by_what_was_meant(name: str, arguments: str, verdict: str) -> None:
    registry = offered(["ping", "check_http", "check_status"], TOOLS)
    call = ToolCall(1, 0, "c", name, arguments)
    assert judge([call], registry, "ping", {"host": "db01"}, ["check_status"]) == verdict
    assert judge([call], registry, None, None) == ("unknown_tool" if name == "fly" else "needless_call")


# Asking again


def test_a_depth_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needle has no 21 layers; expected -L2 to -L20"):
        Askers().of("needle3-L21")


@given(st.sampled_from(["auto", "none", "required", "add"]), st.booleans())
def test_a_request_comes_back_from_its_body(choice: str, with_tools: bool) -> None:
    tools = tuple(tools_named("add").schemas()) if with_tools else ()
    request = Request([{"role": "user", "content": "Hi"}], tools, choice if tools else "auto", {"seed": 42})
    assert request_from(request.body(model="m")) == request


def test_a_model_of_words_is_told_the_tools_in_the_prompt() -> None:
    registry = ToolRegistry([TOOLS["ping"]])
    text = Question("Ping db01.", "smollm2", ("ping",), 96).request(registry)
    native = Question("Ping db01.", "needle3-L8", ("ping",)).request(registry)
    assert "- ping: " in text.messages[0]["content"]
    assert (text.tools, len(native.tools), len(native.messages)) == ((), 1, 1)


def test_a_difference_says_where_it_is() -> None:
    check = Check("starter", "request 1", {"raw": "abcdef", "finish_reason": "stop"}, dict)
    assert check.difference().startswith("raw differs at character 0: recorded")
    same = {"raw": "abcdef", "finish_reason": "stop"}
    assert Check("starter", "request 1", same, lambda: {**same, "another": 1}).difference() == ""
    other = Check("starter", "request 1", same, lambda: {**same, "raw": "abcxef"}).difference()
    assert other == 'raw differs at character 3: recorded "abcdef", now "abcxef"'


def test_what_can_be_checked_is_what_real_models_said() -> None:
    assert {"starter", "domains", "doctor", "selection-outputs", "trials"} <= set(sources())
    assert "authored" not in sources()
    with pytest.raises(InvalidInput, match="no recording is named 'authored'"):
        list(checks(["authored"]))
    found = checks(["starter", "trials", "selection-outputs"], sample=2)
    assert [check.source for check in found] == ["starter"] * 2 + ["trials"] * 2 + ["selection-outputs"] * 2


# The command line


def test_the_list_says_how_many_rows_each_has_and_who_made_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["datasets", "list"]) == 0
    said = capsys.readouterr().out
    assert f"{len(CASES)} authored" in said
    assert all(name in said for name in DATA_SETS)


@pytest.mark.parametrize("name", ["selection-cases", "broken-arguments"])
def test_what_no_model_makes_is_checked_without_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(["rebuild", name, "--check"]) == 0
    assert capsys.readouterr().out == f"{name}: the same\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rebuild", "cats"], "no data set is named 'cats'"),
        (["rebuild", "cats", "--check"], "no recording is named 'cats'"),
        (["rebuild", "recordings", "--only", "cats"], "there is no cats-prompts.jsonl"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_what_cannot_be_fetched_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["datasets", "fetch", "cats"]) == 2
    error = capsys.readouterr().err
    assert "cats" in error
    assert error.count("\n") == 1


def test_a_trace_of_the_data_set_can_be_shown() -> None:
    assert isinstance(load_trace("starter-01"), Trace)
    assert "42" in load_trace("starter-01").to_html()
