"""Displays: their numbers by hand, what must always hold, hostile input, and how they look."""

import base64
import json
import random
import re
import subprocess
import sys
from array import array
from contextlib import suppress
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import combinations
from math import comb

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from walks import TOOLS

from zoolab import plots
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.plots import (
    MessageGrowthDisplay,
    Picture,
    RetryWaterfallDisplay,
    SequenceDisplay,
    StepTimelineDisplay,
    ToolConfusionDisplay,
)
from zoolab.records import Limits, Reply
from zoolab.repair import RuleRepair
from zoolab.runs import Trace
from zoolab.show.inspector.panel import panel_of
from zoolab.show.moment import Moment
from zoolab.tokens import Price, tokens_in
from zoolab_study import Case, experiment
from zoolab_study.plots import (
    AblationDisplay,
    CostDisplay,
    ErrorTaxonomyDisplay,
    FaultRecoveryDisplay,
    RecallDisplay,
    ReliabilityDisplay,
)

GOOD, BAD, BROKEN = ("add", {"a": 1}), ("add", {"a": "1"}), ("add", '{"a": ')
FAILS, INVENTED = ("fail", {}), ("fly", {})
HOSTILE = [
    "$\\frac{\n<script>\x00 two $lines$",
    "x" * 300,
    "\U0001f680 to the \ud800 moon",
    "_",
    "",
]

OF_A_TRACE = [
    *(StepTimelineDisplay, SequenceDisplay, MessageGrowthDisplay, RetryWaterfallDisplay),
    *(ErrorTaxonomyDisplay, ToolConfusionDisplay, FaultRecoveryDisplay),
]
# An attack map takes the runs of a study.
OF_A_FRAME = [getattr(plots, name) for name in plots.__all__ if hasattr(getattr(plots, name), "from_frame")]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def trace_of(*replies, run_id=None, **meta):
    """The trace of a scripted walk, however it ends."""
    trace = Trace(run_id=run_id, meta=meta)
    with suppress(ZoolabError):
        Trace.record(walk("What is 1 + 0?", TOOLS, Scripted([*replies]), envelope="plain"), trace)
    return trace


def long_trace(turns):
    """A run with a call a turn and then an answer."""
    model = Scripted([*[[GOOD]] * turns, "1"])
    return Trace.record(walk("What is 1 + 0?", TOOLS, model, limits=Limits(turns=turns + 1)))


def frame_of(*traces, **columns):
    return pd.concat([trace.to_frame().assign(**columns) for trace in traces], ignore_index=True)


def busy_trace():
    """Two calls a reply, an invented tool, a retry, a failure."""
    return trace_of(
        [BAD, FAILS], [BAD, INVENTED], [("add", {"a": 1, "b": 2})], "The sum is 3.", run_id="busy"
    )


@cache
def many_runs(cases=24):
    """Runs of two variants on the same cases, with every kind of mishap; always the same ones."""
    rng, traces = random.Random(5), []
    for case in range(cases):
        for variant, mishaps in (("plain", 0.6), ("with repair", 0.2)):
            replies = [[rng.choice([BAD, BROKEN])]] * (rng.randint(1, 4) if rng.random() < mishaps else 0)
            replies += [[FAILS]] * (rng.random() < 0.15) + [[INVENTED]] * (rng.random() < 0.15)
            replies += [[GOOD], "1"] if rng.random() < 0.9 else ["I do not know."]
            meta = {
                "case_id": f"case {case}",
                "variant": variant,
                "expected_tool": rng.choice(["add", "add", "fail", ""]),
            }
            traces.append(trace_of(*replies, run_id=f"{case} {variant}", **meta))
    frame = frame_of(*traces)
    right = {run: rng.random() < 0.9 for run in frame["run_id"].unique()}
    fault = {run: rng.choice([None, "cut_reply", "wrong_type", "cut_reply, wrong_type"]) for run in right}
    frame["success"] = (frame["outcome"] == "answer") & frame["run_id"].map(right)
    frame["fault"] = frame["run_id"].map(fault).where(frame["seq"] == 2, None)
    return frame


def counted_trace():
    """A run whose endpoint counts tokens."""

    def counted(reply):
        return lambda request: Reply(
            Scripted([reply])(request).message, usage={"prompt_tokens": 150 + 20 * len(request.messages)}
        )

    return trace_of(*(counted([("fail", {"a": n})]) for n in range(4)), counted("There is none."))


def timed_frame():
    """A busy run with times that never vary."""
    frame, now = busy_trace().to_frame(), 0.0
    for row, kind in enumerate(frame["step"]):
        seconds = {"request": 0.4 + 0.1 * row % 1, "execute": 0.25}.get(kind, 0.0)
        frame.loc[row, "duration_ms"] = seconds * 1000
        frame.loc[row, "t_start"] = now + (seconds if kind == "execute" else 0)
        now += seconds
    return frame.assign(fault=["io_error" if kind == "execute" else None for kind in frame["step"]])


def tries_of(**successes):
    """Runs with five tries a task; how many of them succeed."""
    rows = [
        {"case_id": task, "variant": name, "success": number < right}
        for name, tasks in successes.items()
        for task, right in enumerate(tasks)
        for number in range(5)
    ]
    return pd.DataFrame(rows)


PICTURES = {
    "step_timeline": lambda: StepTimelineDisplay.from_frame(timed_frame()),
    "step_timeline_seconds": lambda: StepTimelineDisplay.from_frame(timed_frame(), by="seconds"),
    "sequence": lambda: SequenceDisplay.from_trace(trace_of([BAD], [GOOD], "It is 1.")),
    "message_growth": lambda: MessageGrowthDisplay.from_trace(counted_trace()),
    "retry_waterfall": lambda: RetryWaterfallDisplay.from_frame(many_runs()),
    "error_taxonomy": lambda: ErrorTaxonomyDisplay.from_frame(many_runs()),
    "tool_confusion": lambda: ToolConfusionDisplay.from_frame(many_runs()),
    "ablation": lambda: AblationDisplay.from_frame(many_runs()),
    "recall": lambda: RecallDisplay.from_ranks({"BM25": [1, 1, 2, 9, 4], "embeddings": [1, 2, 2, 3, 5]}),
    "reliability": lambda: ReliabilityDisplay.from_frame(tries_of(plain=[5, 4, 1, 0], repair=[5, 5, 4, 2])),
    "cost": lambda: CostDisplay.from_trace(counted_trace(), Price(2.0, 8.0, cached=0.2)),
    "fault_recovery": lambda: FaultRecoveryDisplay.from_frame(many_runs()),
}


def pictured(name):
    return pytest.mark.mpl_image_compare(
        baseline_dir="plots/baseline",
        filename=f"{name}.png",
        tolerance=2,
        style="default",
        savefig_kwargs={"dpi": 72},
    )


@pytest.mark.parametrize("name", [pytest.param(name, marks=pictured(name)) for name in PICTURES])
def test_a_display_looks_as_it_did(name):
    """Its shapes, that is: how text looks and how wide it is differs from one matplotlib to the next."""
    display = PICTURES[name]()
    display.figure_.set_layout_engine("none")
    display.ax_.set_position((0.05, 0.05, 0.9, 0.9))
    display.ax_.tick_params(labelbottom=False, labelleft=False)
    for text in display.figure_.findobj(Text):
        text.set_text("")
    if display.ax_.get_legend():
        display.ax_.get_legend().remove()
    return display.figure_


def texts_of(figure):
    """All that is written; aslant names are left out, since their boxes say little."""
    figure.canvas.draw()
    for ax in figure.axes:
        texts = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        texts += ax.get_legend().get_texts() if ax.get_legend() else []
        for axis, side in ((ax.xaxis, 0), (ax.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            texts += [label for label in axis.get_ticklabels() if low <= label.get_position()[side] <= high]
        shown = texts if ax.axison else ax.texts
        yield from (text for text in shown if text.get_text().strip() and text.get_rotation() in (0, 90))


def headline_of(display):
    return display.ax_.get_title(loc="left")


def check_readable(display):
    """No text lies on another, and all of it is inside the figure."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(display.figure_)]
    page = display.figure_.bbox.padded(1)
    outside = [said for said, box in boxes if not (page.contains(*box.min) and page.contains(*box.max))]
    assert outside == []
    overlapping = [
        (one[0], other[0])
        for one, other in combinations(boxes, 2)
        if min(one[1].x1, other[1].x1) - max(one[1].x0, other[1].x0) > 1.5
        and min(one[1].y1, other[1].y1) - max(one[1].y0, other[1].y0) > 1.5
    ]
    assert overlapping == []


@pytest.mark.parametrize("name", PICTURES)
def test_a_display_is_readable_on_6_x_4_inches_and_says_in_a_line_what_it_holds(name):
    display = PICTURES[name]()
    check_readable(display)
    assert repr(display).startswith(f"<{type(display).__name__}: ")
    assert "\n" not in repr(display)
    assert display.ax_.figure is display.figure_
    assert list(display.figure_.get_size_inches()) == [6, 4]


@pytest.mark.parametrize("display", OF_A_TRACE)
def test_an_empty_trace_has_nothing_to_show(display):
    made = display.from_trace(Trace())
    assert [text.get_text() for text in made.ax_.texts] == [f"nothing to show: {display.nothing}"]
    assert not made.ax_.axison
    assert repr(made)


@pytest.mark.parametrize("display", OF_A_FRAME)
def test_an_empty_frame_has_nothing_to_show(display):
    frame = Trace().to_frame().assign(success=pd.Series(dtype=bool))
    assert "nothing to show" in display.from_frame(frame).ax_.texts[0].get_text()


def test_no_predictions_are_nothing_to_show():
    assert "nothing to show" in ToolConfusionDisplay.from_predictions([], []).ax_.texts[0].get_text()


@pytest.mark.parametrize("display", OF_A_TRACE)
@pytest.mark.parametrize("junk", [None, "trace.jsonl", 3, [1], pd.DataFrame()])
def test_what_is_no_trace_is_an_invalid_input(display, junk):
    with pytest.raises(InvalidInput, match="Trace"):
        display.from_trace(junk)


@pytest.mark.parametrize("display", OF_A_FRAME)
@pytest.mark.parametrize(
    "junk",
    [
        None,
        "frame",
        [1],
        Trace(),
        pd.DataFrame(),
        pd.DataFrame({"step": [1]}),
        pd.DataFrame([[1, 2]], columns=["seq", "seq"]),
    ],
)
def test_what_is_no_frame_is_an_invalid_input(display, junk):
    with pytest.raises(InvalidInput, match="frame"):
        display.from_frame(junk)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: StepTimelineDisplay.from_trace(busy_trace(), by="colour"),
        lambda: StepTimelineDisplay.from_frame(many_runs(2)),
        lambda: StepTimelineDisplay.from_frame(busy_trace().to_frame().assign(step="dance")),
        lambda: StepTimelineDisplay.from_frame(busy_trace().to_frame().assign(seq="first")),
        lambda: RetryWaterfallDisplay.from_frame(busy_trace().to_frame().assign(tool=[["add"]] * 23)),
        lambda: SequenceDisplay.from_trace(busy_trace(), ax="here"),
        lambda: ToolConfusionDisplay.from_predictions(["add"], []),
        lambda: ToolConfusionDisplay.from_predictions("add", "add"),
        lambda: ToolConfusionDisplay.from_predictions([3], [4]),
        lambda: ErrorTaxonomyDisplay.from_frame(many_runs(2).assign(success="yes")),
        lambda: FaultRecoveryDisplay.from_frame(many_runs(2).assign(success=7)),
        lambda: AblationDisplay.from_frame(many_runs(2), by="colour"),
        lambda: AblationDisplay.from_frame(many_runs(2).assign(success=None)),
        lambda: AblationDisplay.from_frame(many_runs(2).assign(case_id=None)),
    ],
)
def test_a_wrong_argument_is_an_invalid_input(wrong):
    with pytest.raises(InvalidInput):
        wrong()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_text_is_drawn_as_plain_text(text):
    frame = many_runs(3)
    frame = frame.assign(
        tool=text, fault=text, variant=frame["variant"] + text, expected_tool=text, error_code=text
    )
    trace = trace_of([(text, text)], [(text, {text: text})], text, run_id=text, expected_tool=text)
    one = frame[frame["run_id"] == frame["run_id"].iloc[0]]
    for display in (
        *(shown.from_trace(trace) for shown in OF_A_TRACE),
        *(shown.from_frame(one if shown is StepTimelineDisplay else frame) for shown in OF_A_FRAME),
        ToolConfusionDisplay.from_predictions([text, "add"], ["add", text]),
    ):
        check_readable(display)
        written = [found for found in display.figure_.findobj(Text) if "$" in found.get_text()]
        assert not any(found.get_parse_math() for found in written)
        assert all(len(found.get_text()) <= 100 for found in display.figure_.findobj(Text))
        assert "\n" not in repr(display)


def test_displays_draw_where_they_are_told_and_again_elsewhere():
    ax = Figure().subplots()
    display = StepTimelineDisplay.from_trace(busy_trace(), ax=ax)
    assert display.ax_ is ax
    assert plt.get_fignums() == []
    other = display.plot().ax_
    assert other is not ax
    assert other.get_title(loc="left") == ax.get_title(loc="left")


def test_importing_displays_loads_neither_matplotlib_nor_pandas_nor_numpy():
    code = "import sys, zoolab.plots as p; [getattr(p, n) for n in p.__all__]\n"
    code += "import zoolab_study.statistics\n"
    code += "print({'matplotlib', 'pandas', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_unknown_display_is_an_attribute_error():
    with pytest.raises(AttributeError, match="PieDisplay"):
        _ = plots.PieDisplay


def test_a_timeline_holds_every_step_one_wide_and_hatches_all_steps_of_a_retried_call():
    display = StepTimelineDisplay.from_trace(busy_trace())
    steps = display.steps_
    assert headline_of(display) == "4 turns, 23 steps, 2 retries"
    assert (steps["start"] + 0.5).tolist() == list(range(1, 24))
    assert set(steps["width"]) == {1.0}
    retried = steps[steps["retry"]][["turn", "step"]].to_numpy().tolist()
    assert retried == [
        *([2, "tool_call"], [2, "validate"], [2, "result"]),
        *([3, "tool_call"], [3, "validate"], [3, "execute"], [3, "result"]),
    ]


def test_in_seconds_requests_begin_where_they_came_and_executions_end_there():
    frame = trace_of([GOOD], "1").to_frame()
    frame["t_start"], frame["duration_ms"] = [0.0, 0.1, 1.1, 1.1, 1.6, 1.6, 1.6, 2.6], None
    frame.loc[[1, 4, 6], "duration_ms"] = [1000.0, 500.0, 1000.0]
    steps = StepTimelineDisplay.from_frame(frame, by="seconds").steps_.set_index("seq")
    assert steps.loc[[1, 4, 6], "start"].tolist() == pytest.approx([0.1, 1.1, 1.6])
    assert steps.loc[[1, 4, 6], "width"].tolist() == pytest.approx([1.0, 0.5, 1.0])
    assert 0 < steps.loc[3, "width"] < 0.05


def test_in_seconds_calls_that_ran_side_by_side_are_drawn_so():
    trace = trace_of([GOOD, ("add", {"a": 2})], "3")
    trace.started[:] = array("d", [0.0, 0.1, *[1.0] * 4, *[1.5] * 4, 1.6, 1.7])
    for seq, (began, took) in {6: (5_000, 500.0), 7: (5_100, 200.0)}.items():
        outcome = replace(trace.steps[seq].record, started_ms=began, duration_ms=took)
        trace.steps[seq] = trace.steps[seq]._replace(record=outcome)
    steps = StepTimelineDisplay.from_trace(trace, by="seconds").steps_.set_index("seq")
    assert steps.loc[[6, 7], "start"].tolist() == pytest.approx([1.0, 1.1])
    assert steps.loc[[6, 7], "width"].tolist() == pytest.approx([0.5, 0.2])


def test_a_sequence_has_the_arrows_of_a_call_in_order():
    arrows = SequenceDisplay.from_trace(trace_of([GOOD], "It is 1.")).arrows_
    assert arrows[["source", "target", "text"]].to_numpy().tolist() == [
        ["App", "App", "defines 3 tools"],
        ["User", "App", "What is 1 + 0?"],
        ["App", "Model", "1 message, 3 tools"],
        ["Model", "App", 'add {"a":1}'],
        ["App", "Validator", "may add run so?"],
        ["Validator", "App", "yes"],
        ["App", "Tool", "run add"],
        ["Tool", "App", "1"],
        ["App", "App", "result of add"],
        ["App", "Model", "3 messages, 3 tools"],
        ["Model", "App", "answer"],
        ["App", "User", "It is 1."],
    ]


def test_a_sequence_says_how_much_it_leaves_out():
    display = SequenceDisplay.from_trace(busy_trace())
    assert display.ax_.texts[-1].get_text() == f"and {len(display.arrows_) - 18} more arrows"


def test_a_sequence_shows_that_permission_was_asked_for():
    arrows = SequenceDisplay.from_trace(trace_of([("wipe", {})], "No.")).arrows_
    asked = arrows[arrows["text"].str.startswith(("allow", "pending", "permission"))]
    assert asked[["source", "target"]].to_numpy().tolist()[0] == ["App", "User"]


def test_tokens_are_estimated_by_role_and_say_so():
    display = MessageGrowthDisplay.from_trace(trace_of("y" * 40))
    assert display.tokens_["user"].tolist() == [0, 14 / 4, 14 / 4]
    assert display.tokens_["assistant"].tolist() == [0, 0, 10]
    assert display.tokens_["tool_schemas"].iloc[0] == 0 < display.tokens_["tool_schemas"].iloc[1]
    assert "estimated" in display.ax_.get_ylabel()


def test_what_an_endpoint_counted_is_shown_apart():
    display = MessageGrowthDisplay.from_trace(counted_trace())
    tokens = display.tokens_
    assert headline_of(display).endswith("5 requests, 1,250 in all as the endpoint counts")
    assert tokens["counted"].dropna().tolist() == [170, 210, 250, 290, 330]
    assert tokens["step"][tokens["counted"].notna()].unique().tolist() == ["request"]


def test_messages_only_grow_unless_somebody_edits_them():
    trace = busy_trace()
    totals = (
        MessageGrowthDisplay.from_trace(trace).tokens_[["system", "user", "assistant", "tool"]].sum(axis=1)
    )
    assert totals.is_monotonic_increasing
    shorter = trace.fork(trace.steps[9], model=Scripted(["Enough."]), tools=TOOLS)
    assert MessageGrowthDisplay.from_trace(shorter).tokens_["seq"].tolist() == list(range(len(shorter.steps)))


def test_calls_become_valid_at_their_attempt_or_never():
    traces = [
        trace_of([GOOD], "1"),
        trace_of([BAD], [GOOD], "1"),
        trace_of([BAD], [BROKEN], [GOOD], [GOOD], "1"),
        trace_of([INVENTED], [BAD], "no"),
    ]
    display = RetryWaterfallDisplay.from_frame(frame_of(*traces))
    counts = display.counts_
    assert headline_of(display) == "33 % valid at once, 67 % after retries"
    # The second good call of the third run is a call of its own, and valid at once.
    assert counts["calls"].to_dict() == {"at once": 2, "attempt 2": 1, "attempt 3": 1, "never": 2}
    assert counts["left"].tolist() == [4, 3, 2, 0]


def fates(*traces, **columns):
    counts = ErrorTaxonomyDisplay.from_frame(frame_of(*traces, **columns)).counts_
    return {code: tuple(row) for code, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)}


def test_an_error_is_recovered_if_the_call_succeeds_later_or_the_run_ends_in_an_answer_that_is_not_wrong():
    assert fates(trace_of([BAD], [GOOD], "1")) == {"invalid_arguments": (1, 0, 0, 0)}
    assert fates(trace_of([FAILS], "There is none."), success=True) == {"resource_not_found": (1, 0, 0, 0)}
    assert fates(trace_of([INVENTED], [GOOD], "1")) == {"unknown_tool": (1, 0, 0, 0)}


def test_an_error_is_recovered_by_its_own_call_even_if_the_run_ends_badly():
    assert fates(trace_of([BAD], [GOOD])) == {"invalid_arguments": (1, 0, 0, 0), "model_error": (0, 1, 0, 0)}
    # Another tool's success is no recovery, but anything is for a tool that does not exist.
    assert fates(trace_of([FAILS], [GOOD])) == {
        "resource_not_found": (0, 1, 0, 0),
        "model_error": (0, 1, 0, 0),
    }
    assert fates(trace_of([INVENTED], [GOOD])) == {"unknown_tool": (1, 0, 0, 0), "model_error": (0, 1, 0, 0)}


def test_errors_that_end_a_run_are_unrecovered_and_so_are_those_of_a_wrong_answer():
    assert fates(trace_of([BAD], [BAD], [BAD])) == {
        "invalid_arguments": (0, 3, 0, 0),
        "retries_exhausted": (0, 1, 0, 0),
    }
    assert fates(trace_of([FAILS], "It is 7."), success=False) == {"resource_not_found": (0, 1, 0, 0)}


def test_an_answer_is_silently_wrong_if_nothing_but_the_score_or_the_tool_says_so():
    assert fates(trace_of([GOOD], "7"), success=0.4) == {"wrong_answer": (0, 0, 0, 1)}
    assert fates(trace_of([GOOD], "7", expected_tool="fail")) == {"wrong_tool": (0, 0, 0, 1)}
    assert fates(trace_of("7", expected_tool="add")) == {"no_tool_call": (0, 0, 0, 1)}
    assert fates(trace_of("7", expected_tool="add"), success=True) == {}
    assert fates(trace_of([GOOD], "1", expected_tool="add")) == {}


def test_an_answer_that_nobody_graded_is_no_recovery_and_not_silently_wrong_either():
    assert fates(trace_of([FAILS], "There is none.")) == {"resource_not_found": (0, 0, 1, 0)}
    assert fates(trace_of([FAILS], "None.", expected_tool="fail")) == {"resource_not_found": (1, 0, 0, 0)}
    display = ErrorTaxonomyDisplay.from_trace(trace_of([BAD], [GOOD], [FAILS], "There is none."))
    assert headline_of(display) == "1 of 2 errors recovered; 1 run, none graded"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["recovered (1)", "unrecovered (0)", "not graded (1)", "silently wrong (not graded)"]
    assert "not graded" in ErrorTaxonomyDisplay.from_trace(trace_of("7")).ax_.texts[0].get_text()
    mixed = pd.concat([frame_of(trace_of([FAILS], "7"), success=True), frame_of(trace_of("7"))])
    assert headline_of(ErrorTaxonomyDisplay.from_frame(mixed)) == "1 of 1 error recovered; 2 runs, 1 graded"


def test_the_score_may_come_from_a_summary():
    frame = frame_of(trace_of([GOOD], "7", run_id="a"), trace_of([GOOD], "1", run_id="b"))
    summary = pd.DataFrame({"run_id": ["a", "b"], "outcome": "answer", "success": [0, 1]})
    display = ErrorTaxonomyDisplay.from_frame(frame, summary=summary)
    assert display.counts_["silently_wrong"].to_dict() == {"wrong_answer": 1}


def test_all_errors_of_all_runs_are_counted_once():
    frame = many_runs()
    display = ErrorTaxonomyDisplay.from_frame(frame)
    validated = frame[(frame["step"] == "validate") & (frame["status"] == "error")]
    executed = frame[(frame["step"] == "execute") & (frame["status"] == "error")]
    ended = frame.drop_duplicates("run_id")["outcome"].isin(
        ["retries_exhausted", "loop_limit", "model_error"]
    )
    errors = display.counts_[["recovered", "unrecovered", "not_graded"]].to_numpy().sum()
    assert errors == len(validated) + len(executed) + ended.sum()
    assert display.runs == frame["run_id"].nunique()


def test_confusion_knows_no_call_none_needed_and_unknown():
    expected = ["add", "add", "add", "", None, "fail"]
    called = ["add", "fail", None, "", "add", "unknown"]
    matrix = ToolConfusionDisplay.from_predictions(expected, called).matrix_
    assert matrix.to_dict("index") == {
        "add": {"add": 1, "fail": 1, "no call": 1, "unknown": 0},
        "fail": {"add": 0, "fail": 0, "no call": 0, "unknown": 1},
        "none needed": {"add": 1, "fail": 0, "no call": 1, "unknown": 0},
    }


def test_confusion_takes_the_first_call_of_each_run_that_says_what_was_expected():
    traces = [
        trace_of([GOOD, FAILS], "1", expected_tool="add"),
        trace_of([INVENTED], [GOOD], "1", expected_tool="add"),
        trace_of("1", expected_tool=""),
        trace_of([GOOD], "1"),
    ]
    display = ToolConfusionDisplay.from_frame(frame_of(*traces))
    assert display.matrix_.loc["add"].to_dict() == {"add": 1, "no call": 0, "unknown": 1}
    assert display.matrix_.loc["none needed"].to_dict() == {"add": 0, "no call": 1, "unknown": 0}
    assert headline_of(display) == "2 of 3 runs chose the expected tool (framed)"


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.sampled_from(["", *"abcdefghijklmnop"])] * 2), min_size=1, max_size=60))
def test_confusion_counts_every_run_and_every_right_choice(pairs):
    expected, called = zip(*pairs, strict=True)
    display = ToolConfusionDisplay.from_predictions(expected, called, ax=Figure().subplots())
    assert display.matrix_.to_numpy().sum() == len(pairs)
    right = sum(one == other for one, other in pairs)
    assert f"{right} right" in repr(display)
    drawn = [text.get_text() for text in display.ax_.texts if text.get_text() != "·"]
    assert sum(map(int, drawn)) == len(pairs)


def scored(variant, hits):
    rows = [{"case_id": case, "variant": variant, "success": hit} for case, hit in enumerate(hits)]
    return pd.DataFrame(rows)


def test_an_ablation_holds_rates_and_paired_differences():
    frame = pd.concat(
        [scored("plain", [0] * 10 + [1] * 10), scored("repair", [1] * 20), scored("same", [0, 1] * 10)]
    )
    display = AblationDisplay.from_frame(frame)
    assert display.rates_["rate"].to_dict() == {"plain": 0.5, "repair": 1.0, "same": 0.5}
    assert display.rates_[["low", "high"]].loc["plain"].tolist() == pytest.approx([0.2993, 0.7007], abs=1e-4)
    assert display.differences_["difference"].to_dict() == {"repair": 0.5, "same": 0.0}
    assert display.differences_["decisive"].to_dict() == {"repair": True, "same": False}
    said = " ".join(text.get_text() for text in display.ax_.texts)
    assert said.count("not decisive") == 1
    assert headline_of(display) == "20 cases, 60 runs: 1 of 2 differences decisive"
    assert "difference +50 points" in said


def test_an_ablation_calls_decisive_what_it_is_told_is_so():
    frame = pd.concat([scored("plain", [0] * 20), scored("b", [1] * 20), scored("c", [1] * 20)])
    display = AblationDisplay.from_frame(frame, decisive=["c"])
    assert display.differences_["decisive"].to_dict() == {"b": False, "c": True}
    assert headline_of(display) == "20 cases, 60 runs: 1 of 2 differences decisive"
    assert repr(display).count("not decisive") == 1
    assert sum("not decisive" in text.get_text() for text in display.ax_.texts) == 1


def unsure(case):
    """Is wrong about 6 of 12 cases under any system prompt: p = 0.03, and 0.06 where two are compared."""

    def reply(request):
        return "?" if request.messages[0]["role"] == "system" and case.id < "g" else case.id

    return Scripted([reply])


def test_plots_of_an_experiment_call_decisive_what_its_comparisons_do():
    cases = [Case(id, id, expected_answer=id) for id in "abcdefghijkl"]
    variants = {"plain": {}, "polite": {"system": "Please."}, "rude": {"system": "Now."}}
    for names, decisive in ((["plain", "rude"], 1), ([*variants], 0)):
        done = experiment(cases, {n: variants[n] for n in names}, {"m": unsure}, progress=False)
        assert sum(found.decisive for found in done.compare()) == decisive
        said = f"{decisive} of {len(names) - 1} difference"
        assert said in headline_of(done.plot())
        pictures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", done.to_html())
        assert any(said in base64.b64decode(picture).decode() for picture in pictures)


def test_a_plot_of_all_models_compares_all_their_runs():
    cases = [Case(id, id, expected_answer=id) for id in "abcdefghijkl"]
    models = {"m": unsure, "n": lambda case: Scripted([case.id])}
    done = experiment(cases, {"plain": {}, "rude": {"system": "Now."}}, models, progress=False)
    assert done.plot().differences_["difference"].to_dict() == {"rude": -0.25}
    assert done.plot(by="model").differences_["difference"].to_dict() == {"n": 0.25}


def test_an_ablation_takes_a_frame_of_steps_for_its_runs():
    frame = many_runs()
    rates = AblationDisplay.from_frame(frame).rates_
    assert rates["runs"].to_dict() == {"plain": 24, "with repair": 24}
    assert (
        rates["rate"].to_dict()
        == frame.drop_duplicates("run_id").groupby("variant")["success"].mean().to_dict()
    )


@settings(max_examples=20)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=12), min_size=1, max_size=9))
def test_intervals_of_an_ablation_contain_their_estimates(variants):
    frame = pd.concat([scored(f"variant {n}", hits) for n, hits in enumerate(variants)])
    display = AblationDisplay.from_frame(frame, ax=Figure().subplots())
    assert (
        (display.rates_["low"] <= display.rates_["rate"]) & (display.rates_["rate"] <= display.rates_["high"])
    ).all()
    found = display.differences_
    assert ((found["low"] <= found["difference"]) & (found["difference"] <= found["high"])).all()
    assert (found["decisive"] == ((found["low"] > 0) | (found["high"] < 0))).all()
    assert len(display.rates_) == len(variants) == len(found) + 1


def test_runs_recover_from_a_fault_if_they_end_in_an_answer_that_is_not_wrong():
    traces = [trace_of([GOOD], "1", run_id=name) for name in "abcd"] + [trace_of([GOOD], run_id="e")]
    frame = frame_of(*traces, fault=None)
    faults = {"a": "cut", "b": "cut, noise", "c": "noise", "e": "cut"}
    frame["fault"] = frame["run_id"].map(faults).where(frame["seq"] == 2, None)
    frame["success"] = frame["run_id"] != "c"
    display = FaultRecoveryDisplay.from_frame(frame)
    rates = display.rates_
    assert rates[["recovered", "runs"]].to_dict("index") == {
        "noise": {"recovered": 1, "runs": 2},
        "cut": {"recovered": 2, "runs": 3},
        "no_fault": {"recovered": 1, "runs": 1},
    }
    assert rates.loc["cut", "rate"] == pytest.approx(2 / 3)
    assert headline_of(display) == "2 of 4 runs with a fault recovered"


def test_where_nobody_graded_the_runs_none_is_said_to_recover():
    frame = frame_of(trace_of([GOOD], "1", run_id="a"), trace_of([GOOD], run_id="b"))
    frame["fault"] = ["cut" if kind == "execute" else None for kind in frame["step"]]
    display = FaultRecoveryDisplay.from_frame(frame)
    assert headline_of(display) == "1 of 2 runs with a fault answered, not graded"
    assert display.rates_.columns[0] == "answered"
    assert "recover" not in display.ax_.get_xlabel()
    graded = frame_of(trace_of([GOOD], "1", run_id="c", expected_tool="add")).assign(fault="cut")
    some = FaultRecoveryDisplay.from_frame(pd.concat([frame, graded]))
    assert some.rates_.loc["cut", ["recovered", "runs"]].tolist() == [1, 1]
    assert headline_of(some) == "1 of 1 run with a fault recovered; 2 runs not graded"
    other = FaultRecoveryDisplay.from_frame(pd.concat([frame, graded.assign(fault=None)]))
    assert other.ax_.texts[0].get_text() == "nothing to show: no run with a fault was graded"


def test_steps_count_from_1_and_the_last_turn_has_its_number():
    trace = long_trace(12)
    timeline, growth = StepTimelineDisplay.from_trace(trace), MessageGrowthDisplay.from_trace(trace)
    for display in (timeline, growth):
        assert display.ax_.get_xlim() == (0.5, len(trace) + 0.5)
        assert all(tick == int(tick) for tick in display.ax_.get_xticks())
    named = [text.get_text() for text in timeline.ax_.texts]
    assert [text for text in named if text.isdigit()] == [str(turn) for turn in range(1, 14)]
    check_readable(timeline)
    requests = [seq + 1 for seq, step in enumerate(trace.steps) if step.kind == "request"]
    lines = next(made for made in growth.ax_.collections if isinstance(made, LineCollection))
    assert [segment[0][0] for segment in lines.get_segments()] == requests


def test_a_long_timeline_is_drawn_from_few_shapes():
    trace = long_trace(300)
    display = StepTimelineDisplay.from_trace(trace)
    assert len(display.steps_) == len(trace) > 900
    shapes = [made.get_paths() for made in display.ax_.collections if made.get_zorder() == 2]
    assert 0 < len(shapes) < 20
    assert sum(len(path.vertices) for paths in shapes for path in paths) == 5 * len(trace)


def test_a_sequence_marks_what_passed_only_after_a_repair():
    trace = Trace.record(
        walk("1 + 0?", TOOLS, Scripted([[("add", "{'a': 1,}")], "1"]), repair=RuleRepair(), envelope="plain")
    )
    display = SequenceDisplay.from_trace(trace)
    marked = display.arrows_[display.arrows_["status"] == "repaired"]
    assert marked[["source", "target", "text"]].to_numpy().tolist() == [["Validator", "App", "yes, repaired"]]
    assert "✎ yes, repaired" in [text.get_text() for text in display.ax_.texts]


def test_plots_and_inspector_estimate_tokens_alike():
    trace = busy_trace()
    tokens = MessageGrowthDisplay.from_trace(trace).tokens_
    last = tokens.iloc[-1]
    messages = last[["system", "user", "assistant", "tool", "other"]].sum()
    assert round(messages) == tokens_in(trace.messages)
    assert round(last["tool_schemas"]) == tokens_in(tools=[tool.schema() for tool in TOOLS])
    told = json.dumps(panel_of(Moment(trace, 0)))
    assert f"about {tokens_in(tools=[tool.schema() for tool in TOOLS]):,} tokens in every request" in told


def test_colours_are_those_that_everybody_can_tell_apart():
    from zoolab.plots import colours

    okabe_ito = {"#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"}
    assert {colours.BLUE, colours.SKY, colours.GREEN, colours.ORANGE, colours.RED, colours.PINK} == okabe_ito


def test_pass_k_is_counted_by_trying_all_choices():
    curves = ReliabilityDisplay.from_frame(tries_of(plain=[5, 4, 1, 0])).curves_["plain"]
    for k, share in curves.items():
        chosen = [
            sum(max(each, default=-1) < right for each in combinations(range(5), k)) / comb(5, k)
            for right in (5, 4, 1, 0)
        ]
        assert share == pytest.approx(sum(chosen) / 4)
    assert [*curves.index] == [1, 2, 3, 4, 5]


def test_recall_never_falls_and_ends_where_the_last_tool_is_found():
    curves = RecallDisplay.from_ranks({"a": [1, 4], "b": [2, 2]}).curves_
    assert curves.to_dict("list") == {"a": [0.5, 0.5, 0.5, 1], "b": [0, 1, 1, 1]}
    for wrong in ([], [0], [1.5], [None]):
        with pytest.raises(InvalidInput, match="whole numbers"):
            RecallDisplay.from_ranks({"a": wrong})
    assert "nothing to show" in RecallDisplay.from_ranks({}).ax_.texts[0].get_text()


def test_the_cost_of_a_run_adds_up_and_a_cache_helps_from_the_second_request_on():
    trace, price = counted_trace(), Price(2.0, 8.0, cached=0.2)
    curves = CostDisplay.from_trace(trace, price).curves_
    sent = [150 + 20 * len(turn.request.messages) for turn in trace.turns]
    wrote = [tokens_in([turn.reply.message]) for turn in trace.turns]
    assert curves["without a cache"].iloc[-1] == pytest.approx((2 * sum(sent) + 8 * sum(wrote)) / 1e6)
    saved = curves["without a cache"] - curves["with a cache"]
    assert saved.iloc[0] == 0
    assert saved.iloc[-1] == pytest.approx(1.8 * sum(sent[:-1]) / 1e6)
    with pytest.raises(InvalidInput, match="Price"):
        CostDisplay.from_trace(trace, 2.0)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_a_text_that_says_what_it_shows_and_is_shown_once(name):
    display = PICTURES[name]()
    shown = display._repr_html_()
    assert re.fullmatch(r'<img alt="[^"<>]{30,}" src="data:image/png;base64,[A-Za-z0-9+/=]+">', shown)
    assert unescape(shown.split('"')[1]) == display.alt
    assert re.search(r"\d", display.alt)
    assert plt.get_fignums() == []


def test_a_figure_of_ones_own_is_left_to_its_owner_and_may_get_a_text():
    figure, axes = plt.subplots(1, 2)
    display = StepTimelineDisplay.from_trace(busy_trace(), ax=axes[0])
    assert display._repr_html_() is None
    assert plt.get_fignums() != []
    assert 'alt="Two plots of &lt;a run&gt;."' in Picture(figure, "Two plots of <a run>.")._repr_html_()


def test_the_text_of_a_sequence_says_who_said_what():
    said = SequenceDisplay.from_trace(trace_of([GOOD], "It is 1.")).alt
    assert said.startswith("Sequence diagram of a run. ")
    assert "; User to App: What is 1 + 0?; " in said
    assert said.endswith("; App to User: It is 1..")
