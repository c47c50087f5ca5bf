"""What the card of a step shows: one function for each record."""

from __future__ import annotations

from typing import Any

from zoolab.records import (
    Decision,
    Message,
    Outcome,
    Record,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
)
from zoolab.registry import ToolRegistry
from zoolab.trace.codec import Shown
from zoolab.trace.injected import marks_of
from zoolab.trace.story.boxes import (
    MAX_ROWS,
    each,
    fault_note,
    left_out,
    message_box,
    other_fields,
    permission_box,
    problems_table,
    repair_box,
    sent_box,
    tools_table,
    withheld_box,
)
from zoolab.show.markup import Html, block, code, facts, folded, join, note, tag
from zoolab.trace.story.scene import Scene
from zoolab.show.wording import (
    as_text,
    calls_of,
    content_of,
    count,
    duration,
    in_words,
    python_call,
    size,
)

_ORIGINS = {
    "native": "tool_calls of the reply",
    "text": "found in the text of the reply",
    "repaired": "changed by a repair",
}
_CHOICES = {
    "pending": "Permission is asked. Until somebody allows it, the call does not run.",
    "once": "Permission is given for this one call.",
    "session": "Permission is given for this tool, for the rest of the walk.",
    "always": "Permission is given for this tool, always.",
    "deny": "Permission is refused: the call does not run.",
}


def body(scene: Scene, seq: int, step: Step) -> Html:
    """What happened in a step; `step` may hold another record than the trace has at `seq`.

    >>> from zoolab import Scripted, Trace, walk
    >>> trace = Trace.record(walk("Hi", [], Scripted(["Hello"])))
    >>> body(Scene.of(trace), 0, trace.steps[0])
    '<p class="lead">No tools: the model can only answer.</p>'
    """
    return join(_body(scene, seq, step), *map(fault_note, marks_of(step)))


def _body(scene: Scene, seq: int, step: Step) -> Html:
    record: Record = step.record
    match record:
        case ToolRegistry():
            return _define(record)
        case Request():
            return join(_request(record, scene.known(seq)), sent_box(scene.replies.get(step.turn)))
        case ToolCall():
            return _tool_call(record, step.reply)
        case Reply():
            return _reply(record)
        case Verdict():
            return _validate(record)
        case Outcome():
            return _execute(record, step, scene)
        case Decision():
            return _decision(record, scene.asked_about(seq, record), step.call)
        case Result():
            return _result(record, step.call)


def _define(registry: ToolRegistry) -> Html:
    if not len(registry):
        return _lead("No tools: the model can only answer.")
    told = f"{count(len(registry), 'tool')} the model may choose from. This is all it knows of them."
    return join(_lead(told), tools_table(list(registry)))


def _request(request: Request, known: int) -> Html:
    messages = request.prefix
    old, new = messages.first(known).tolist(), messages.since(known)
    names = [name for name, _, _ in calls_of({"tool_calls": list(request.tools)})]
    told = "1 message goes" if len(messages) == 1 else f"{count(len(messages), 'message')} go"
    return join(
        _lead(f"{told} to the model{f', {len(new):,} of them new' if old else ''}."),
        _old_messages(old),
        *each(new, message_box, "new message"),
        withheld_box(request.withheld),
        facts(
            ("tools offered", _names(names) if names else "none"),
            ("tool_choice", code(request.tool_choice)),
            ("settings", code(as_text(dict(request.settings)), 1_000) if request.settings else None),
        ),
    )


def _old_messages(old: list[Message]) -> Html | None:
    if not old:
        return None
    again = "1 earlier message is" if len(old) == 1 else f"{len(old):,} earlier messages are"
    lines = (tag("li", in_words(message)) for message in old[:MAX_ROWS])
    return folded(f"{again} sent again", tag("ol", *lines), left_out(len(old) - MAX_ROWS, "message"))


def _names(names: list[str]) -> Html:
    shown = [part for name in names[:MAX_ROWS] for part in (", ", code(name))][1:]
    return join(*shown, left_out(len(names) - MAX_ROWS, "tool"))


def _tool_call(call: ToolCall, reply: Reply | None) -> Html:
    given = None if call.original_id is None else code(call.original_id or "none")
    arguments = block(call.arguments, "arguments as the model wrote them")
    instead = None if call.slot else _note_on_sent(reply)
    return join(
        _lead("The model asks for ", code(call.name), ". It has run nothing: this is text."),
        instead,
        arguments if call.arguments else note("It wrote no arguments."),
        _said_beside(reply) if not call.slot else None,
        facts(
            ("id", code(call.id)),
            ("id as the model gave it", given),
            ("read from", _ORIGINS.get(call.origin, call.origin)),
            *_reply_facts(reply),
        ),
    )


def _note_on_sent(reply: Reply | None) -> Html | None:
    if reply is None or reply.sent_instead is None:
        return None
    return note("This answers what was sent instead of the request; the request step shows both.")


def _said_beside(reply: Reply | None) -> Html | None:
    said = content_of(reply.message) if reply is not None else ""
    return join(tag("p", "The reply says:"), block(said, "text of the reply", "prose")) if said else None


def _reply(reply: Reply) -> Html:
    said, others = content_of(reply.message), other_fields(reply.message)
    return join(
        _lead("The model answers and asks for no tool. The walk is done."),
        _note_on_sent(reply),
        block(said, "the answer", "prose") if said else note("The answer is empty."),
        folded("Other fields of the message", block(as_text(others), "other fields")) if others else None,
        facts(*_reply_facts(reply)),
    )


def _reply_facts(reply: Reply | None) -> list[tuple[str, str | None]]:
    if reply is None:
        return []
    usage = as_text(dict(reply.usage)) if reply.usage else None
    return [
        ("finish_reason", code(reply.finish_reason) if reply.finish_reason else None),
        ("streamed", f"in {count(len(reply.pieces), 'piece')}" if reply.pieces else None),
        ("model", code(reply.model) if reply.model else None),
        ("tokens", code(usage, 300) if usage else None),
        ("note", "; ".join(reply.notes) or None),
    ]


def _validate(verdict: Verdict) -> Html:
    repair = None if verdict.repair is None else repair_box(verdict.repair)
    if not verdict.ok:
        found = f"{count(len(verdict.problems), 'problem')}: the call" if verdict.problems else "The call"
        told = _lead(f"{found} does not run, and the model is told why.")
        return join(told, problems_table(verdict.problems), repair)
    repaired = " after repair" if verdict.repair is not None and verdict.repair.accepted else ""
    return join(
        _lead(f"The call may run{repaired}: the tool exists and the arguments meet its schema."),
        repair,
        tag("p", "The arguments, parsed:") if repair else None,
        block(as_text(verdict.arguments), "parsed arguments"),
    )


def _execute(outcome: Outcome, step: Step, scene: Scene) -> Html:
    place = step.turn, step.slot
    verdict, asked = scene.verdicts.get(place), scene.decisions.get(place)
    arguments = (verdict.arguments if verdict is not None else None) or {}
    error = outcome.error
    return join(
        _lead(_ran(outcome)),
        block(python_call(step.call.name if step.call else "tool", arguments), "the Python call", "raw call"),
        tag("p", "It returned:" if error is None else "In place of a value:"),
        _value(outcome.value) if error is None else block(error.message, "the error"),
        tag("p", "It printed, which the model does not see:") if outcome.stdout else None,
        block(outcome.stdout, "what it printed") if outcome.stdout else None,
        facts(
            ("time", duration(outcome.duration_ms)),
            ("permission", None if asked is None else _permission(asked)),
            ("exception", code(error.exception) if error is not None and error.exception else None),
            ("its thread", "still runs" if outcome.still_running else None),
        ),
    )


def _ran(outcome: Outcome) -> str:
    if outcome.error is None:
        return "Python runs the call."
    denied = outcome.error.code == "permission_denied"
    return "The call does not run: it has no permission." if denied else "Python runs the call, and it fails."


def _permission(decision: Decision) -> str:
    return "nobody gave it" if decision.choice == "pending" else decision.choice


def _value(value: Any) -> Html:
    whole = value.size if isinstance(value, Shown) else None
    cut = None if whole is None else note(f"The trace file keeps the beginning of {size(whole)}.")
    return join(block(as_text(value), "the value"), cut)


def _decision(decision: Decision, asked: Decision, call: ToolCall | None) -> Html:
    decided = "nothing yet" if decision.choice == "pending" else decision.choice
    return join(
        _lead(_CHOICES.get(decision.choice, decision.choice)),
        permission_box(call.name if call else "tool", asked, decided),
        block(decision.reason, "the reason", "prose") if decision.reason else None,
    )


def _result(result: Result, call: ToolCall | None) -> Html:
    paired = call is None or call.id == result.tool_call_id
    name = None if call is None else join(" of ", code(call.name))
    cut = f"{size(result.data_bytes)} -> {size(result.sent_bytes)}"
    looping = tag("p", tag("strong", "Loop detected"), ": the model keeps asking the same.")
    return join(
        _lead("The tool message for the model. It answers ", code(result.tool_call_id), name, "."),
        None if paired else note("Its id is not that of the call."),
        block(result.content, "the tool message"),
        looping if result.loop_detected else None,
        facts(
            ("cut for the model", cut if result.truncated else None),
            ("same call, same result", f"{result.repeats} times in a row" if result.repeats > 1 else None),
        ),
    )


def _lead(*children: str | None) -> Html:
    return tag("p", *children, class_="lead")
