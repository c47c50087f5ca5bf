"""Traces as cases of an experiment, and as tests that fail if the walk takes another way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import canonical, excerpt
from zoolab.plugins import TOOLBOXES
from zoolab.records import Message, Step
from zoolab.runs import Trace
from zoolab.secrets import scrub_json
from zoolab.steps.define import as_registry
from zoolab.toolbox.catalog import OWN, tools_named
from zoolab.trace.calls import Turn, turn_at
from zoolab.trace.log import TraceLog, tools_of
from zoolab_study.bisecting import bisect
from zoolab_study.cases import UNSAID, Case

#: What a case may expect of what a trace did.
EXPECTED = ("calls", "tool", "answer")
_FIELDS = ("expected_tool", "expected_calls", "expected_answer")


def case_of(trace: TraceLog, step: int | Step | None = None, expect: Any = "calls") -> Case:
    """Make a case of a trace: its question and tools, and what it did as what is expected.

    Args:
        trace: The trace.
        step: A step of it, or its number: the case goes on from the messages of its turn's request, and
            expects what was done from there on. None for the whole run.
        expect: "calls" for the calls that were made, in any order; "tool" for the first of them; "answer" for
            the answer; a dict of `expected_calls`, `expected_tool` and `expected_answer`; None for nothing.

    Raises:
        InvalidInput: The trace has no request, or did not come to an answer, so that what it did cannot be
            what is expected.

    >>> from zoolab import Scripted, run
    >>> from zoolab.toolbox.starter import add
    >>> trace = run("What is 42 + 58?", [add], Scripted([[("add", {"a": 42, "b": 58})], "It is 100."]))
    >>> case = trace.to_case()
    >>> case.prompt, case.expected_calls
    ('What is 42 + 58?', [{'name': 'add', 'arguments': {'a': 42, 'b': 58}}])
    >>> trace.to_case(step=-1, expect="answer").expected_answer
    'It is 100.'
    """
    turns = trace.turns
    seq = 0 if step is None else trace.index(step)
    place = 0 if step is None else turn_at(turns, seq)
    if not turns or place < 0:
        what = "the trace has no request" if not turns else f"step {seq} comes before the first request"
        raise InvalidInput(what, expected="a trace of a run, and a step of one of its turns")
    name = str(trace.meta.get("case_id") or trace.run_id)
    data = {"trace": trace.run_id} if step is None else {"trace": trace.run_id, "step": seq}
    return Case(
        name if step is None else f"{name}, step {seq}",
        tools=tools_of(trace),
        data=data,
        **(_opening(turns[0]) if step is None else {"messages": tuple(turns[place].request.messages)}),
        **_expectations(trace, turns[place:], expect),
    )


def row_of(case: Case) -> dict[str, Any]:
    """Make a line of a file of cases, as `zoolab experiment` reads it. Secrets are taken out.

    Tools of the toolbox are named. Of others a file holds no function: their names are in `offered`.

    Raises:
        InvalidInput: The case has no question.
    """
    if case.prompt is None:
        raise InvalidInput("it does not begin with a question of one text", expected="a question")
    row: dict[str, Any] = {"id": case.id, "prompt": case.prompt, "system": case.system}
    row |= {"messages": [*case.messages]} if case.messages else {}
    known = _known_tools()
    tools = as_registry(case.tools)
    names = [known.get(canonical(tool.schema())) for tool in tools]
    row["tools"] = None if None in names else names
    row["offered"] = tools.names() if None in names else None
    row |= {name: getattr(case, name) for name in _FIELDS if getattr(case, name) is not UNSAID}
    if case.expected_tool is None:
        row["expected_tool"] = ""
    row |= case.data
    told = {key: value for key, value in row.items() if value not in (None, []) or key == "expected_calls"}
    return cast("dict[str, Any]", scrub_json(told))


def same_walk(tape: TraceLog | str | Path, *, tools: Any = None, model: Any = None, **options: Any) -> Trace:
    """Play a trace with the tools, the model and the options of now; fail if the walk takes another way.

    For tests: calls that the trace holds get what they got, and do not run. Of others, those of tools with
    the risk `safe` run, and the walk stops at any other.

    Args:
        tape: The trace, or the file with it.
        tools: The tools as they are now; by default as they were.
        model: The model as it is now; by default each request gets the reply that it had.
        options: As for `Trace.fork`, for instance `policy` or `envelope`. They need a model.

    Returns:
        The new trace.

    Raises:
        AssertionError: The walk took another way; says what differs first, and why.
        InvalidInput: There are options, and no model.

    >>> from zoolab import Scripted, run
    >>> from zoolab.toolbox.starter import add
    >>> trace = run("What is 42 + 58?", [add], Scripted([[("add", {"a": 42, "b": 58})], "It is 100."]))
    >>> same_walk(trace).answer
    'It is 100.'
    >>> same_walk(trace, model=Scripted(["It is 100."]))
    Traceback (most recent call last):
    AssertionError: step 2 (tool_call, turn 1, add) differs first: the model replied otherwise ...
    """
    if options and model is None:
        raise InvalidInput(f"the options {', '.join(options)} need a model", advice="pass model=")
    trace = tape if isinstance(tape, Trace) else Trace.load(cast("Any", tape))
    edit = None if tools is None else as_registry(tools)
    try:
        again = trace.replay(0, edit) if model is None else trace.fork(0, edit, model=model, **options)
    except ZoolabError as error:
        if not isinstance(error.trace, Trace):
            raise
        again = error.trace
    found = bisect(trace, again)
    if found.differs:
        raise AssertionError(str(found))
    return again


def _opening(turn: Turn) -> dict[str, Any]:
    """Return the question of the first request, the system prompt, and what was said before."""
    messages: list[Message] = turn.request.messages
    last = messages[-1] if messages else {}
    if last.get("role") != "user" or not isinstance(last.get("content"), str):
        return {"messages": tuple(messages)}
    first = messages[0]
    plain = len(messages) == 2 and first.get("role") == "system" and isinstance(first.get("content"), str)
    before = () if plain else tuple(messages[:-1])
    return {"prompt": last["content"], "system": first["content"] if plain else None, "messages": before}


def _expectations(trace: TraceLog, turns: list[Turn], expect: Any) -> dict[str, Any]:
    if expect is None:
        return {}
    if isinstance(expect, Mapping):
        unknown = next((name for name in expect if name not in _FIELDS), None)
        if unknown is not None:
            raise InvalidInput(f"expect has {excerpt(unknown)}", expected=", ".join(_FIELDS))
        return dict(expect)
    if expect not in EXPECTED:
        raise InvalidInput(f"expect is {excerpt(expect)}", expected=f"{', '.join(EXPECTED)}, a dict or None")
    if trace.outcome != "answer" or trace.answer is None:
        raise InvalidInput(
            f"the run ended with {excerpt(trace.outcome)}, so what it did is not what is expected",
            advice="say what is expected, as in expect={'expected_tool': 'add'}, or expect=None",
        )
    calls = [
        {"name": call.call.name, "arguments": dict(call.verdict.arguments or {})}
        for turn in turns
        for call in turn.calls.values()
        if call.verdict is not None and call.verdict.ok
    ]
    if expect == "answer":
        return {"expected_answer": trace.answer}
    if expect == "tool":
        return {"expected_tool": calls[0]["name"] if calls else None}
    return {"expected_tool": calls[0]["name"] if calls else None, "expected_calls": calls}


@cache
def _known_tools() -> Mapping[str, str]:
    """Return the names of the tools of the toolbox, as `tools_named` takes them, by their schemas."""
    domains = [*OWN, *TOOLBOXES.entries()]
    return {
        canonical(tool.schema()): f"{domain}.{tool.name}"
        for domain in domains
        for tool in tools_named(domain)
    }
