"""What went wrong in a run, as one of five diagnoses, each with its evidence and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zoolab.jsontext import excerpt
from zoolab.lint import lint
from zoolab.records import Reply, Request, Verdict
from zoolab.steps.tool_call import read_calls
from zoolab.tools import ToolRegistry
from zoolab.trace.log import TraceLog, tools_of


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


#: What a rule finds: the evidence, empty if there is none, what to do, and the numbers of the steps.
_Found = tuple[Sequence[str], str, Sequence[int]]


def diagnose(trace: TraceLog) -> list[Diagnosis]:
    """The diagnoses that a trace gives evidence for; see `Trace.diagnose`."""
    found = [(code, what, rule(trace)) for code, (what, rule) in _RULES.items()]
    return [
        Diagnosis(code, what, tuple(evidence), advice, tuple(steps))
        for code, what, (evidence, advice, steps) in found
        if evidence
    ]


def _no_call(trace: TraceLog) -> _Found:
    """Said only with evidence that a call was needed: many questions need none."""
    advice = "say in the description when to use the tool; make sure that this model can call tools at all"
    tools, last = tools_of(trace), trace.steps[-1].record if trace.steps else None
    if trace.tool_calls or not tools or not isinstance(last, Reply):
        return (), advice, ()
    evidence = [f"the answer names the tool {name}" for name in _named_in(last.text, tools)]
    asked = [step.record.tool_choice for step in trace.steps if isinstance(step.record, Request)]
    evidence += [f"tool_choice was {choice}" for choice in asked[:1] if choice not in ("auto", "none")]
    if calls := read_calls(last.text):
        evidence.append(f"the answer holds a call as text: {excerpt(last.text)}")
        unknown = sorted({call.name for call in calls} - {*tools.names()})
        evidence += [f"{name} is not among the tools" for name in unknown]
    else:
        evidence += last.notes
    if trace.meta.get("expected_tool"):
        evidence.append(f"{trace.meta['expected_tool']} was expected")
    return evidence, advice, [len(trace.steps) - 1]


def _other_tool(trace: TraceLog) -> _Found:
    found = [(error.message, error.seq) for error in trace.errors if error.code == "wrong_tool"]
    advice = "see whether this model, or its endpoint, supports tool_choice with a tool's name"
    shown = [(message, seq) for message, seq in found if seq is not None]
    return [message for message, _ in shown], advice, [seq for _, seq in shown]


def _broken(trace: TraceLog) -> _Found:
    found = _refused(trace, "invalid_json", "invalid_arguments")
    cut = any(step.reply and step.reply.finish_reason == "length" for step in trace.steps)
    advice = (
        "raise max_tokens: a reply was cut by length" if cut else "temperature 0; simpler schema; repair="
    )
    evidence = [
        f"{name}: {'; '.join(problem.message for problem in verdict.problems)}" for _, name, verdict in found
    ]
    return evidence, advice, [seq for seq, *_ in found]


def _invented(trace: TraceLog) -> _Found:
    found, known = _refused(trace, "unknown_tool"), tools_of(trace).names_as_text()
    evidence = [f"{name!r} does not exist; there is {known}" for _, name, _ in found]
    advice = "offer fewer tools (retrieval), and no names in the prompt that are no tools"
    return evidence, advice, [seq for seq, *_ in found]


def _poor(trace: TraceLog) -> _Found:
    """The linter's findings on tools that were chosen wrongly, left out, or called with wrong arguments."""
    registry, expected = tools_of(trace), trace.meta.get("expected_tool")
    called = [call.name for call in trace.tool_calls]
    suspects = [str(expected), *called] if expected and expected not in called else []
    suspects += [name for _, name, _ in _refused(trace, "invalid_arguments")]
    if not called:
        suspects += _named_in(trace.answer or "", registry)
    known = [name for name in dict.fromkeys(suspects) if name in registry]
    findings = [finding for name in known for finding in lint(registry[name])]
    evidence = [f"{finding.tool}{finding.pointer}: {finding.message}" for finding in findings]
    return evidence, "; ".join(dict.fromkeys(finding.advice for finding in findings)), ()


_RULES = {
    "no_tool_call": ("the model answered without a call", _no_call),
    "wrong_tool": ("the model called another tool than the forced one", _other_tool),
    "broken_arguments": ("arguments that do not parse or fit the schema", _broken),
    "unknown_tool": ("the model asked for a tool that does not exist", _invented),
    "poor_description": ("the tool is described too poorly to be used well", _poor),
}


def _named_in(text: str, tools: ToolRegistry) -> list[str]:
    """The tools that a text speaks of; a name that is a plain word counts only as code."""
    found = []
    for name in tools.names():
        word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if re.search(rf"[`'\"]{word}[`'\"]|{word}\(" if name.isalpha() else word, text):
            found.append(name)
    return found


def _refused(trace: TraceLog, *codes: str) -> list[tuple[int, str, Verdict]]:
    """The verdicts with these codes: step number, name of the tool, verdict."""
    return [
        (seq, step.call.name, step.record)
        for seq, step in enumerate(trace.steps)
        if isinstance(step.record, Verdict) and step.call is not None and step.record.error_code in codes
    ]
