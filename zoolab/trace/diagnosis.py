"""What went wrong in a run, as one of five diagnoses, each with its evidence and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from zoolab.jsontext import excerpt
from zoolab.lint import lint
from zoolab.records import Reply, Request, Step, ToolCall, Verdict
from zoolab.steps.tool_call import read_calls
from zoolab.tools import ToolRegistry
from zoolab.trace.log import TraceLog


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong with a run.

    `code` is no_tool_call, wrong_tool, broken_arguments, unknown_tool or poor_description; `steps` are the
    numbers of the steps that show it.
    """

    code: str
    what: str
    evidence: tuple[str, ...]
    advice: str
    steps: tuple[int, ...] = ()


def diagnose(trace: TraceLog) -> list[Diagnosis]:
    """The diagnoses that a trace gives evidence for; see `Trace.diagnose`."""
    return [found for rule in (_no_call, _other_tool, _broken, _invented, _poor) for found in rule(trace)]


def _no_call(trace: TraceLog) -> Iterator[Diagnosis]:
    """Said only with evidence that a call was needed: many questions need none."""
    tools, last = _tools(trace), len(trace.steps) - 1
    if trace.tool_calls or not tools or last < 0 or not isinstance(trace.steps[last].record, Reply):
        return
    text = trace.answer or ""
    evidence = [f"the answer names the tool {name}" for name in _named_in(text, tools)]
    asked = [step.record.tool_choice for step in trace.steps if isinstance(step.record, Request)]
    evidence += [f"tool_choice was {choice}" for choice in asked[:1] if choice not in ("auto", "none")]
    last_reply = trace.steps[last].record
    if calls := read_calls(text):
        evidence.append(f"the answer holds a call as text: {excerpt(text)}")
        evidence += [
            f"{name} is not among the tools"
            for name in sorted({call.name for call in calls} - {*tools.names()})
        ]
    elif isinstance(last_reply, Reply):
        evidence += last_reply.notes
    if trace.meta.get("expected_tool"):
        evidence.append(f"{trace.meta['expected_tool']} was expected")
    if evidence:
        advice = (
            "say in the description when to use the tool; make sure that this model can call tools at all"
        )
        yield Diagnosis("no_tool_call", "the model answered without a call", tuple(evidence), advice, (last,))


def _other_tool(trace: TraceLog) -> Iterator[Diagnosis]:
    found = [error for error in trace.errors if error.code == "wrong_tool" and error.seq is not None]
    if found:
        evidence = tuple(error.message for error in found)
        advice = "see whether this model, or its endpoint, supports tool_choice with a tool's name"
        steps = tuple(error.seq for error in found if error.seq is not None)
        yield Diagnosis(
            "wrong_tool", "the model called another tool than the forced one", evidence, advice, steps
        )


def _broken(trace: TraceLog) -> Iterator[Diagnosis]:
    found = list(_refused(trace, "invalid_json", "invalid_arguments"))
    if found:
        cut = any(step.reply and step.reply.finish_reason == "length" for step in trace.steps)
        advice = (
            "raise max_tokens: a reply was cut by length" if cut else "temperature 0; simpler schema; repair="
        )
        evidence = tuple(f"{_call_name(step)}: {_problems(step)}" for _, step in found)
        steps = tuple(seq for seq, _ in found)
        yield Diagnosis(
            "broken_arguments", "arguments that do not parse or fit the schema", evidence, advice, steps
        )


def _invented(trace: TraceLog) -> Iterator[Diagnosis]:
    found = list(_refused(trace, "unknown_tool"))
    if found:
        known = _tools(trace).names_as_text()
        evidence = tuple(f"{_call_name(step)!r} does not exist; there is {known}" for _, step in found)
        advice = "offer fewer tools (retrieval), and no names in the prompt that are no tools"
        steps = tuple(seq for seq, _ in found)
        yield Diagnosis(
            "unknown_tool", "the model asked for a tool that does not exist", evidence, advice, steps
        )


def _poor(trace: TraceLog) -> Iterator[Diagnosis]:
    """The linter's findings on tools that were chosen wrongly, left out, or called with wrong arguments."""
    registry, suspects = _tools(trace), dict.fromkeys(_suspects(trace))
    findings = [finding for name in suspects if name in registry for finding in lint(registry[name])]
    if findings:
        evidence = tuple(f"{finding.tool}{finding.pointer}: {finding.message}" for finding in findings)
        advice = "; ".join(dict.fromkeys(finding.advice for finding in findings))
        yield Diagnosis(
            "poor_description", "the tool is described too poorly to be used well", evidence, advice
        )


def _suspects(trace: TraceLog) -> Iterator[str]:
    expected = trace.meta.get("expected_tool")
    called = [call.name for call in trace.tool_calls]
    if expected and expected not in called:
        yield from (str(expected), *called)
    yield from (_call_name(step) for _, step in _refused(trace, "invalid_arguments"))
    if not called:
        yield from _named_in(trace.answer or "", _tools(trace))


def _named_in(text: str, tools: ToolRegistry) -> list[str]:
    """The tools that a text speaks of; a name that is a plain word counts only as code."""
    found = []
    for name in tools.names():
        plain = name.isalpha()
        word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if re.search(rf"[`'\"]{word}[`'\"]|{word}\(" if plain else word, text):
            found.append(name)
    return found


def _refused(trace: TraceLog, *codes: str) -> Iterator[tuple[int, Step]]:
    for seq, step in enumerate(trace.steps):
        if isinstance(step.record, Verdict) and not step.record.ok and step.record.error_code in codes:
            yield seq, step


def _tools(trace: TraceLog) -> ToolRegistry:
    record = trace.steps[0].record if trace.steps else None
    return record if isinstance(record, ToolRegistry) else ToolRegistry()


def _call_name(step: Step) -> str:
    return step.call.name if isinstance(step.call, ToolCall) else ""


def _problems(step: Step) -> str:
    problems = step.record.problems if isinstance(step.record, Verdict) else ()
    return "; ".join(problem.message for problem in problems)
