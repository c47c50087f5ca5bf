"""A trace file: what `save` writes `load` reads, and what a stranger wrote is refused or shown."""

from __future__ import annotations

import io
import json
import math
import re
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from walks import TOOLS

from zoolab import Faulty, Limits, Policy, Replay, Scripted, Tool, Trace, as_tool, run, tool, walk
from zoolab.commands.walk import _printer
from zoolab.errors import InvalidInput, InvalidTrace, ModelError, ZoolabError
from zoolab.records import Outcome, Reply, Request
from zoolab.repair import RuleRepair
from zoolab.show.moment import Moment, moments_of
from zoolab.show.text import details
from zoolab.show.wording import headline
from zoolab.trace.events import MAX_LINE, as_read, events_of


class Odd:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no")


CYCLE: list[Any] = []
CYCLE.append({"again": CYCLE})
DEEP: list[Any] = []
for _ in range(3_000):
    DEEP = [DEEP]
HOSTILE = [
    *(None, True, 0, -1, 2.5, 10**30, 10**5_000, float("nan"), float("inf"), -math.inf, 1e308),
    *("", "x", "\ud800", "\ud83d\ude00", "\x00\u2028\r\n", "<script>", "9" * 5_000),
    *([], {}, [None], {"a": {}}, {1: "a", "1": "b"}, {None: 1, (1, 2): 2, math.nan: 3}, {"\ud800": "\udfff"}),
    *({1, 2}, b"\xff", date(2026, 1, 2), Odd(), {Odd(): Odd()}, CYCLE, DEEP, Odd),
]


def odd(rng: Random, depth: int = 3) -> Any:
    """A value that a model or a tool should not return. Most have no repr, so hypothesis cannot draw them."""
    kind = rng.random()
    if depth and kind < 0.15:
        return [odd(rng, depth - 1) for _ in range(rng.randint(0, 2))]
    if depth and kind < 0.3:
        return {rng.choice(["a", "content", 1, None, math.nan]): odd(rng, depth - 1) for _ in range(2)}
    return rng.choice(HOSTILE)


def some(rng: Random, fields: dict[str, Any]) -> dict[str, Any]:
    """Some of the fields, sometimes with an odd value in place of the right one."""
    return {
        name: odd(rng) if rng.random() < 0.3 else value
        for name, value in fields.items()
        if rng.random() < 0.8
    }


def odd_reply(rng: Random) -> Reply:
    function = {"name": rng.choice(["give", "fail"]), "arguments": "{}"}
    call = some(rng, {"id": "x", "type": "function"}) | {"function": {**function, **some(rng, function)}}
    message = some(rng, {"content": "Hi", "tool_calls": [call] * rng.randint(0, 2), "odd": odd(rng)})
    rest = some(rng, {"finish_reason": "stop", "usage": {"prompt_tokens": odd(rng)}, "model": "m", "raw": {}})
    rest |= some(rng, {"pieces": ({"content": "H"}, odd(rng)), "sent": {"messages": odd(rng)}})
    try:
        return Reply({"role": "assistant", **message}, **rest)
    except ModelError:  # a value that contains itself is no reply at all
        return odd_reply(rng)


def same_after_a_file(trace: Trace, folder: Path) -> Trace:
    loaded = Trace.load(trace.save(folder / "trace.jsonl"))
    assert loaded == trace
    assert Trace.load(loaded.save(folder / "again.jsonl")) == loaded
    return loaded


def show_all(trace: Trace) -> None:
    """Every view of a trace; none of them may fail."""
    repr(trace), str(trace.errors), trace.answer, trace.display, trace.diagnose()
    trace.to_html().encode()
    trace.to_html(interactive=True).encode()
    trace.to_markdown().encode()
    assert len(trace.to_frame()) == len(trace)
    trace.to_otel(content=True)
    inspector = trace.inspect()
    for moment in moments_of(trace):
        inspector.step = moment.seq
        headline(moment.step), details(moment), repr(moment.step)
    for turn in {step.turn for step in trace.steps if isinstance(step.record, Request)}:
        wires = trace.show_wires(turn)
        str(wires), wires._repr_html_()


@given(st.integers(0, 1 << 32))
@example(683)  # one character, as two lone surrogates
@settings(max_examples=60, deadline=None)
def test_a_walk_with_hostile_replies_and_values_comes_back_from_its_file(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = Random(seed)
    replies, value, attribute = [odd_reply(rng) for _ in range(3)], odd(rng), odd(rng)

    @tool
    def give() -> object:
        """Give something odd."""
        return value

    @tool
    def fail() -> object:
        """Fail with an error that has attributes of its own."""
        error = RuntimeError("no")
        error.trace, error.fault = attribute, value  # type: ignore[attr-defined]
        raise error

    left = iter(replies)

    def answer(_request: Request) -> Reply:
        return next(left, Reply({"role": "assistant", "content": "Done."}))

    trace = Trace(meta=some(rng, {"model": odd(rng), "notes": {1: odd(rng)}, "seed": 7}))
    with suppress(ZoolabError):
        Trace.record(walk("Hi", [give, fail], answer, limits=Limits(turns=4)), into=trace)
    loaded = same_after_a_file(trace, tmp_path_factory.mktemp("t"))
    show_all(loaded)
    show_all(trace)


JUNK = [
    *(
        None,
        True,
        False,
        0,
        -1,
        2.5,
        1e308,
        10**30,
        2**31 - 1,
        "",
        "x",
        "\ud800",
        "<b>\x00\n",
        "NaN",
        "Infinity",
    ),
    *(
        [],
        [1],
        [[]],
        {},
        {"a": {}},
        {"role": "tool"},
        [{"role": "user"}],
        [{"function": {"name": "add"}}],
        "add",
    ),
    *({"messages": [1]}, {"messages": {}}, {"messages": [{"role": 1}], "tools": 5, "model": []}),
]


def real_traces() -> list[Trace]:
    """Traces with all kinds of records: repairs, faults, permissions, a sub-agent, pieces, what was sent."""

    sent = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 1}
    usage = {"prompt_tokens": 5, "completion_tokens": 2}

    def last(_request: Request) -> Reply:
        message = {"role": "assistant", "content": "Done."}
        return Reply(message, "stop", usage, "m", ({"content": "Done."},), {"id": "r"}, (), sent)

    asks = [
        ("add", {"a": 1, "b": 2}),
        ("add", "{'a': 1, 'b': 2}"),
        ("fail", {}),
        ("wipe", {}),
        ("fly", {}),
    ]
    first = run("Hi", TOOLS, Scripted([asks, [("add", {"a": 1, "b": 2})], last]), repair=RuleRepair())
    faults = run(
        "Hi", TOOLS, Faulty(Scripted([asks[:3], "Done."]), ["trailing_comma"]), policy=Policy(ask=())
    )
    inner = as_tool("helper", "Helps.", TOOLS, Scripted([[("add", {"a": 1, "b": 2})], "3"]))
    outer = run("Hi", [inner], Scripted([[("helper", {"task": "1 + 2?"})], "Done."]))
    return [first, faults, outer, first.fork(2, model=Scripted(["Other."]))]


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(found for key, child in inner for found in places(child, (*path, key)))]


def mutated(lines: list[str], rng: Random) -> list[str]:
    """The lines of a trace file with a few random changes."""
    lines = list(lines)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(lines))
        how = rng.random()
        if how < 0.05:
            lines.pop(at)
        elif how < 0.1:
            lines.insert(rng.randrange(len(lines)), lines[at])
        else:
            event = json.loads(lines[at])
            path = rng.choice(places(event)[1:] or [("event",)])
            holder = event
            for key in path[:-1]:
                holder = holder[key]
            if how < 0.25:
                del holder[path[-1]]
            elif how < 0.4:
                other = json.loads(rng.choice(lines))
                for key in rng.choice(places(other)):
                    other = other[key]
                holder[path[-1]] = other
            else:
                holder[path[-1]] = rng.choice(JUNK)
            lines[at] = json.dumps(event)
    return lines


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The lines of real traces."""
    folder = tmp_path_factory.mktemp("real")
    traces = real_traces()
    for number, trace in enumerate(traces):
        trace.save(folder / f"{number}.jsonl")
        show_all(same_after_a_file(trace, folder))
    return [(folder / f"{n}.jsonl").read_text().splitlines() for n in range(len(traces))]


@given(st.integers(0, 1 << 32))
@settings(max_examples=90, deadline=None)
def test_a_mutated_file_is_refused_with_its_line_or_all_views_show_it(
    files: list[list[str]], tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = Random(seed)
    path = tmp_path_factory.mktemp("t") / "x.jsonl"
    path.write_text("\n".join(mutated(rng.choice(files), rng)) + "\n")
    try:
        trace = Trace.load(path)
    except InvalidTrace as error:
        told = str(error)
    else:
        show_all(trace)
        same_after_a_file(trace, path.parent)
        return
    assert ("line" in told, "\n" in told) == (True, False)


MARKS = "\x1b[2J\u202e\x9b\x07"


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_nothing_in_a_file_commands_a_terminal(
    files: list[list[str]], tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = Random(seed)
    path = tmp_path_factory.mktemp("t") / "x.jsonl"
    lines = list(rng.choice(files))
    at = rng.randrange(len(lines))
    event = json.loads(lines[at])
    *outer, last = rng.choice(places(event)[1:])
    holder = event
    for key in outer:
        holder = holder[key]
    holder[last] = MARKS + (holder[last] if isinstance(holder[last], str) else "")
    path.write_text("\n".join([*lines[:at], json.dumps(event), *lines[at + 1 :]]) + "\n")
    told = []
    try:
        trace = Trace.load(path)
    except InvalidTrace as error:
        told.append(str(error))
    else:
        told += [repr(trace), str(trace.errors), str(trace.diagnose()), trace.to_markdown(), *trace.display]
        told += [repr(each) for step in trace.steps for each in (step, step.record)]
        told += [json.dumps(as_read(event)) for event in events_of(trace)]
        told += [str(trace.show_wires(turn.number)) for turn in trace.turns]
        told += [str(trace.diff(0, step)) for step in range(len(trace))]
        told += [line for moment in moments_of(trace) for line in terminal(moment)]
    assert not [text for text in told if not text.replace("\n", "").replace("\t", "").isprintable()]


def terminal(moment: Moment) -> list[str]:
    """What `zoolab walk` prints of a step."""
    screen = io.StringIO()
    _printer(screen)(moment)
    return screen.getvalue().splitlines()


def raises(_request: object) -> str:
    raise ValueError(MARKS)


def test_no_error_text_commands_a_terminal(tmp_path: Path) -> None:
    recording = tmp_path / "r.jsonl"
    run(f"{MARKS}1", [], Replay(recording, live=Scripted([MARKS])))
    (tmp_path / MARKS).write_text(json.dumps({"event": MARKS}))
    broken = {"type": "object", "properties": {MARKS: {"type": MARKS}}}
    attempts = [
        lambda: run("Hi", TOOLS, raises),
        lambda: run("Hi", TOOLS, Scripted([MARKS]), tool_choice=MARKS),
        lambda: run("Hi", TOOLS, Scripted([MARKS]), deny=[MARKS]),
        lambda: run(f"{MARKS}2", [], Replay(recording)),
        lambda: Trace.load(tmp_path / f"{MARKS}.jsonl"),
        lambda: Trace.load(tmp_path / MARKS),
        lambda: Replay(MARKS),
        lambda: Tool.from_schema("x", MARKS, broken, print),
    ]
    for attempt in attempts:
        with pytest.raises(ZoolabError) as caught:
            attempt()
        assert "".join(str(caught.value).split("\n")).isprintable(), attempt
        assert re.search(r"x1b|u001b", str(caught.value))


def test_a_line_that_is_too_long_is_refused_with_its_number(tmp_path: Path) -> None:
    path = Trace().save(tmp_path / "x.jsonl")
    with path.open("a") as file:
        file.write("x" * (MAX_LINE + 1))
    with pytest.raises(InvalidTrace, match="line 3 is too long; expected lines of at most 67,108,864 char"):
        Trace.load(path)


def test_an_answer_that_no_file_can_hold_is_refused_with_its_step(tmp_path: Path) -> None:
    steps = walk("Hi", TOOLS, Scripted([[("add", {"a": 1, "b": 2})], "3"]))
    trace = Trace()
    for step in (following := trace.follow(steps)):
        if isinstance(step.record, Outcome):
            following.answer(replace(step.record, still_running="maybe"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"step 4, execute, was answered with .* Outcome\.still_running"):
        trace.save(tmp_path / "x.jsonl")
    shown = str([trace._repr_html_(), *trace.inspect()._repr_mimebundle_()])
    assert shown.count("This run cannot be shown: step 4, execute, was answered") == 2
