"""Faults that were injected on purpose: at which steps of a trace they show."""

from __future__ import annotations

from zoolab.records import Fault, Outcome, Step
from zoolab.trace.log import TraceLog


def faults_of(step: Step) -> list[Fault]:
    """The faults that a step shows; those of the request and the tools show where the reply is read.

    >>> from zoolab import Faulty, Scripted, walk
    >>> steps = list(walk("Hi", [], Faulty(Scripted(["Hello"]), ["empty_reply"])))
    >>> [str(fault) for fault in faults_of(steps[-1])]
    ['empty_reply in the reply']
    """
    if isinstance(step.record, Outcome):
        return [] if step.record.fault is None else [step.record.fault]
    if step.reply is None or not step.reply.faults:
        return []
    return [fault for fault in step.reply.faults if (fault.slot or 0) == (step.slot or 0)]


def faults_by_step(trace: TraceLog) -> dict[int, list[Fault]]:
    """The faults of a trace under the numbers of the steps that they belong to; most have none.

    >>> from zoolab import Faulty, Scripted, run
    >>> trace = run("Hi", [], Faulty(Scripted(["Hello"]), ["empty_reply"]))
    >>> {seq: [fault.name for fault in faults] for seq, faults in faults_by_step(trace).items()}
    {2: ['empty_reply']}
    """
    found: dict[int, list[Fault]] = {}
    latest = {"define": 0, "request": 0}
    for seq, step in enumerate(trace.steps):
        if step.kind in latest:
            latest[step.kind] = seq
        elif step.reply is not None or isinstance(step.record, Outcome):
            for fault in faults_of(step):
                found.setdefault(latest.get(fault.step, seq), []).append(fault)
    if trace.fault is not None:
        found.setdefault(latest["request"], []).append(trace.fault)
    return found


def fault_line(fault: Fault) -> str:
    """A fault as a line of text.

    >>> fault_line(Fault("trailing_comma", "arguments of add"))
    'fault injected: trailing_comma in arguments of add'
    """
    return f"fault injected: {fault}"
