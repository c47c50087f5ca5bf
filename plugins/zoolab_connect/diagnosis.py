"""What went wrong in a run, as one of six diagnoses, each with its evidence and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zoolab.jsontext import excerpt
from zoolab.lint import lint
from zoolab.records import Reply, Request, Verdict
from zoolab.steps.tool_call import read_calls
from zoolab.tools import ToolRegistry
from zoolab.trace.log import TraceLog, tools_of

_AS_TEXT = 'run(..., calls="auto"), or zoolab walk --calls auto'


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong with a run.

    `code` is unfinished_reply, no_tool_call, wrong_tool, broken_arguments, unknown_tool or poor_description;
    `steps` are the numbers of the steps that show it.
    """

    code: str
    what: str
    evidence: tuple[str, ...]
    advice: str
    steps: tuple[int, ...] = ()


def diagnose(trace: TraceLog) -> list[Diagnosis]:
    """Return the diagnoses that a trace gives evidence for; see `Trace.diagnose`."""
    found = [rule(trace) for rule in (_unfinished, _no_call, _other_tool, _broken, _invented, _poor)]
    return [diagnosis for diagnosis in found if diagnosis.evidence]


#: What to do about a reply that is not whole.
_ADVICE = {
    "cut": "raise max_tokens, or shorten the conversation: a reply was cut off",
    "filtered": "read what the endpoint says of its filter, and ask in other words",
    "failed": "ask again; if it fails each time, make the tools' schemas simpler",
    "empty": "look at the reply's reasoning, and whether max_tokens leaves room for an answer",
}


def _unfinished(trace: TraceLog) -> Diagnosis:
    found = {}
    for seq, step in enumerate(trace.steps):
        if isinstance(step.record, Reply) and not step.record.is_whole:
            found[step.turn] = seq, step.record
    evidence = tuple(f"turn {turn}: {reply.shortfall}" for turn, (_, reply) in found.items())
    advice = "; ".join(dict.fromkeys(_ADVICE[reply.end] for _, reply in found.values()))
    steps = tuple(seq for seq, _ in found.values())
    return Diagnosis("unfinished_reply", "a reply of the model is not whole", evidence, advice, steps)


def _no_call(trace: TraceLog) -> Diagnosis:
    """Say it of a whole reply, and only with evidence that a call was needed: many questions need none."""
    what = "the model answered without a call"
    advice = "say in the description when to use the tool; make sure that this model can call tools at all"
    tools = tools_of(trace)
    last = trace.steps[-1].record if trace.steps else None
    if not tools or not isinstance(last, Reply) or not last.is_whole:
        return Diagnosis("no_tool_call", what, (), advice)
    written = read_calls(last.text)
    if trace.tool_calls and not any(call.name in tools for call in written):
        return Diagnosis("no_tool_call", what, (), advice)
    evidence = [f"the answer names the tool {name}" for name in _named_in(last.text, tools)]
    asked = [step.record.tool_choice for step in trace.steps if isinstance(step.record, Request)]
    if not trace.tool_calls:
        evidence += [f"tool_choice was {choice}" for choice in asked[:1] if choice not in ("auto", "none")]
    if written:
        advice = f"read calls from the text of a reply: {_AS_TEXT}; {advice}"
        evidence.append(f"the answer holds a call as text: {excerpt(last.text)}")
        unknown = sorted({call.name for call in written} - {*tools.names()})
        evidence += [f"{name} is not among the tools" for name in unknown]
    else:
        evidence += last.notes
    if trace.meta.get("expected_tool") and not trace.tool_calls:
        evidence.append(f"{trace.meta['expected_tool']} was expected")
    return Diagnosis("no_tool_call", what, tuple(evidence), advice, (len(trace.steps) - 1,))


def _other_tool(trace: TraceLog) -> Diagnosis:
    errors = (error for error in trace.errors if error.code == "wrong_tool")
    found = {error.seq: error.message for error in errors if error.seq is not None}
    what = "the model called another tool than the forced one"
    advice = "see whether this model, or its endpoint, supports tool_choice with a tool's name"
    return Diagnosis("wrong_tool", what, tuple(found.values()), advice, tuple(found))


def _broken(trace: TraceLog) -> Diagnosis:
    found = _refused(trace, "invalid_json", "invalid_arguments")
    cut = any(step.reply and step.reply.end == "cut" for step in trace.steps)
    mend = _ADVICE["cut"] if cut else "temperature 0; simpler schema; repair="
    said = (f"{name}: {'; '.join(each.message for each in verdict.problems)}" for _, name, verdict in found)
    what = "arguments that do not parse or fit the schema"
    steps = tuple(seq for seq, *_ in found)
    return Diagnosis("broken_arguments", what, tuple(said), mend, steps)


def _invented(trace: TraceLog) -> Diagnosis:
    found = _refused(trace, "unknown_tool")
    known = tools_of(trace).names_as_text()
    what = "the model asked for a tool that does not exist"
    steps = tuple(seq for seq, *_ in found)
    evidence = tuple(f"{name!r} does not exist; there is {known}" for _, name, _ in found)
    advice = "offer fewer tools (retrieval), and no names in the prompt that are no tools"
    return Diagnosis("unknown_tool", what, evidence, advice, steps)


def _poor(trace: TraceLog) -> Diagnosis:
    registry = tools_of(trace)
    expected = trace.meta.get("expected_tool")
    called = [call.name for call in trace.tool_calls]
    suspects = [str(expected), *called] if expected and expected not in called else []
    suspects += [name for _, name, _ in _refused(trace, "invalid_arguments")]
    if not called:
        suspects += _named_in(trace.answer or "", registry)
    known = [name for name in dict.fromkeys(suspects) if name in registry]
    findings = [finding for name in known for finding in lint(registry[name])]
    evidence = tuple(f"{finding.tool}{finding.pointer}: {finding.message}" for finding in findings)
    advice = "; ".join(dict.fromkeys(finding.advice for finding in findings))
    return Diagnosis("poor_description", "the tool is described too poorly to be used well", evidence, advice)


def _named_in(text: str, tools: ToolRegistry) -> list[str]:
    """Return the tools that a text speaks of; a name that is a plain word counts only as code."""
    found = []
    for name in tools.names():
        word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if re.search(rf"[`'\"]{word}[`'\"]|{word}\(" if name.isalpha() else word, text):
            found.append(name)
    return found


def _refused(trace: TraceLog, *codes: str) -> list[tuple[int, str, Verdict]]:
    """Return the verdicts with these codes: step number, name of the tool, verdict."""
    return [
        (seq, step.call.name, step.record)
        for seq, step in enumerate(trace.steps)
        if isinstance(step.record, Verdict) and step.call is not None and step.record.error_code in codes
    ]
