"""What the card of a step shows: one function for each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from zoolab.errors import Problem
from zoolab.jsontext import excerpt
from zoolab.records import (
    Decision,
    Message,
    Outcome,
    Record,
    Repair,
    Reply,
    Request,
    Result,
    Step,
    ToolCall,
    Verdict,
)
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown
from zoolab.trace.markup import (
    Html,
    block,
    clipped,
    code,
    facts,
    folded,
    join,
    marked_block,
    note,
    table,
    tag,
)
from zoolab.trace.words import (
    as_text,
    calls_of,
    content_of,
    count,
    differences,
    duration,
    in_words,
    python_call,
    size,
    type_of,
)

_MAX_ROWS = 40
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
    record: Record = step.record
    match record:
        case ToolRegistry():
            return _define(record)
        case Request():
            return _request(record, scene.known(seq))
        case ToolCall():
            return _tool_call(record, step.reply)
        case Reply():
            return _reply(record)
        case Verdict():
            return _validate(record)
        case Outcome():
            return _execute(record, step, scene)
        case Decision():
            return _decision(record)
        case Result():
            return _result(record, step.call)


def _define(registry: ToolRegistry) -> Html:
    tools = list(registry)
    if not tools:
        return _lead("No tools: the model can only answer.")
    rows = (
        (_tool_name(tool), clipped(tool.description, 1_000), _parameters(tool)) for tool in tools[:_MAX_ROWS]
    )
    return join(
        _lead(f"{count(len(tools), 'tool')} the model may choose from. This is all it knows of them."),
        table("The tools", ["Tool", "Description", "Parameters"], list(rows)),
        _left_out(len(tools) - _MAX_ROWS, "tool"),
    )


def _tool_name(tool: Tool) -> Html:
    remarks = [f"{tool.risk} risk"] if tool.risk != "safe" else []
    remarks += [f"at most {duration(tool.timeout * 1000)}"] if tool.timeout is not None else []
    remarks += ["strict"] if tool.strict else []
    return join(code(tool.name), tag("span", ", ".join(remarks), class_="remark") if remarks else None)


def _parameters(tool: Tool) -> Html:
    properties, required = (tool.parameters.get(key) for key in ("properties", "required"))
    named = list(cast("dict[str, Any]", properties).items()) if isinstance(properties, dict) else []
    needed = [as_text(name) for name in cast("list[Any]", required)] if isinstance(required, list) else []
    if not named:
        return join("none")
    items = (_parameter(name, schema, name in needed) for name, schema in named[:_MAX_ROWS])
    return join(tag("ul", *items), _left_out(len(named) - _MAX_ROWS, "parameter"))


def _parameter(name: str, schema: Any, required: bool) -> Html:
    described = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    words = [clipped(type_of(schema), 400), "required" if required else "optional"]
    words += [f"default {excerpt(described['default'], 60)}"] if "default" in described else []
    about = described.get("description")
    says = None if about is None else tag("span", clipped(as_text(about), 1_000), class_="about")
    return tag("li", code(name), " ", tag("span", ", ".join(words), class_="remark"), " ", says)


def _request(request: Request, known: int) -> Html:
    messages = request.prefix
    old, new = messages.first(known).tolist(), messages.since(known)
    names = [name for name, _, _ in calls_of({"tool_calls": list(request.tools)})]
    told = (
        f"{count(len(messages), 'message')} go to the model"
        if len(messages) != 1
        else "One message goes to the model"
    )
    return join(
        _lead(f"{told}, {len(new)} of them new." if old else f"{told}."),
        _old_messages(old),
        *_each(new, message_box, "new message"),
        facts(
            ("tools offered", _names(names) if names else "none"),
            ("tool_choice", code(request.tool_choice)),
            ("settings", code(as_text(dict(request.settings)), 1_000) if request.settings else None),
        ),
    )


def _old_messages(old: list[Message]) -> Html | None:
    if not old:
        return None
    lines = [tag("li", in_words(message)) for message in old[:_MAX_ROWS]]
    again = "1 earlier message is" if len(old) == 1 else f"{len(old):,} earlier messages are"
    return folded(f"{again} sent again", tag("ol", *lines), _left_out(len(old) - _MAX_ROWS, "message"))


def _tool_call(call: ToolCall, reply: Reply | None) -> Html:
    rewritten = call.original_id is not None
    said = content_of(reply.message) if reply is not None and not call.slot else ""
    return join(
        _lead("The model asks for ", code(call.name), ". It has run nothing: this is text."),
        block(call.arguments, "arguments as the model wrote them")
        if call.arguments
        else note("no arguments"),
        join(tag("p", "Beside the call it says:"), block(said, "text beside the call", "prose"))
        if said
        else None,
        facts(
            ("id", code(call.id)),
            ("id as the model gave it", code(call.original_id or "none") if rewritten else None),
            ("read from", _ORIGINS.get(call.origin, call.origin)),
            *_reply_facts(reply),
        ),
    )


def _reply(reply: Reply) -> Html:
    said = content_of(reply.message)
    others = {
        k: v for k, v in reply.message.items() if k not in ("role", "content", "tool_calls") and v is not None
    }
    return join(
        _lead("The model answers and asks for no tool. The walk is done."),
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
    ]


def _validate(verdict: Verdict) -> Html:
    repair = None if verdict.repair is None else _repair(verdict.repair)
    if verdict.ok:
        given = as_text(verdict.arguments)
        return join(
            _lead("The call may run: the tool exists and the arguments meet its schema."),
            repair,
            block(given, "parsed arguments"),
        )
    found = (
        f"{count(len(verdict.problems), 'problem')} found." if verdict.problems else "The call is refused."
    )
    return join(
        _lead(f"{found} The call does not run; the model is told why."), _problems(verdict.problems), repair
    )


def _problems(problems: Sequence[Problem]) -> Html | None:
    if not problems:
        return None
    rows = [
        (
            code(p.pointer or "(all of it)", 300),
            clipped(p.expected, 1_000),
            code(p.received, 1_000),
            code(p.code),
        )
        for p in problems[:_MAX_ROWS]
    ]
    headings = ["Where", "Expected", "Received", "Code"]
    return join(table("The problems", headings, rows), _left_out(len(problems) - _MAX_ROWS, "problem"))


def _repair(repair: Repair) -> Html:
    if repair.proposed is None:
        return join(tag("p", "A repair was tried and proposed nothing."))
    words = "accepted: it meets the schema" if repair.accepted else "refused: it does not meet the schema"
    return tag(
        "div",
        tag("p", "A repair proposed other arguments, and was ", tag("strong", words), "."),
        marked_block(differences(repair.raw, repair.proposed), "what the repair changed"),
        note(
            "Struck out: ",
            tag("del", "what the model wrote"),
            ". Underlined: ",
            tag("ins", "what the repair put"),
            ".",
        ),
        folded("Before and after", block(repair.raw, "as written"), block(repair.proposed, "as proposed")),
        _problems(repair.remaining),
        class_="repair",
    )


def _execute(outcome: Outcome, step: Step, scene: Scene) -> Html:
    verdict, asked = (found.get((step.turn, step.slot)) for found in (scene.verdicts, scene.decisions))
    arguments = verdict.arguments if verdict is not None else None
    call = python_call(step.call.name if step.call else "tool", arguments or {})
    permission = (
        None if asked is None else ("permission", asked.choice if asked.choice != "pending" else "not given")
    )
    error = outcome.error
    return join(
        _lead("Python runs the call." if error is None else "The call gave no value, but an error."),
        block(call, "the Python call", "raw call"),
        _value(outcome.value) if error is None else block(error.message, "the error", "raw"),
        facts(
            ("time", duration(outcome.duration_ms)),
            *([permission] if permission else []),
            ("error", None if error is None else code(error.code)),
            ("exception", code(error.exception) if error is not None and error.exception else None),
            ("its thread", "still runs" if outcome.still_running else None),
        ),
    )


def _value(value: Any) -> Html:
    whole = value.size if isinstance(value, Shown) else None
    cut = None if whole is None else note(f"the trace keeps the beginning of {size(whole)}")
    return join(tag("p", "It returned:"), block(as_text(value), "the value"), cut)


def _decision(decision: Decision) -> Html:
    reason = block(decision.reason, "the reason", "prose") if decision.reason else None
    return join(_lead(_CHOICES.get(decision.choice, decision.choice)), reason)


def _result(result: Result, call: ToolCall | None) -> Html:
    paired = call is None or call.id == result.tool_call_id
    name = None if call is None else join(" of ", code(call.name))
    return join(
        _lead("The tool message for the model. It answers ", code(result.tool_call_id), name, "."),
        None if paired else note("Its id is not that of the call."),
        block(result.content, "the tool message"),
        tag("p", tag("strong", "Loop detected"), ": the model keeps asking the same.")
        if result.loop_detected
        else None,
        facts(
            (
                "cut for the model",
                f"{size(result.data_bytes)} -> {size(result.sent_bytes)}" if result.truncated else None,
            ),
            ("error", code(result.error_code) if result.error_code else None),
            ("same call, same result", f"{result.repeats} times in a row" if result.repeats > 1 else None),
        ),
    )


def _lead(*children: str | None) -> Html:
    return tag("p", *children, class_="lead")


def _names(names: list[str]) -> Html:
    shown = [part for name in names[:_MAX_ROWS] for part in (", ", code(name))][1:]
    return join(*shown, _left_out(len(names) - _MAX_ROWS, "tool"))


def _each(items: Sequence[Any], show: Callable[[Any], Html], noun: str) -> list[str | None]:
    return [*map(show, items[:_MAX_ROWS]), _left_out(len(items) - _MAX_ROWS, noun)]


def _left_out(number: int, noun: str) -> Html | None:
    return note(f"and {count(number, 'more ' + noun)}, left out here") if number > 0 else None


def message_box(message: Message, limit: int = 4_000) -> Html:
    """One message: who says it, what it says, what it asks for.

    >>> "answers" in message_box({"role": "tool", "tool_call_id": "call_1", "content": "100"})
    True
    """
    pairs = message.get("tool_call_id")
    content = content_of(message)
    style = "raw" if message.get("role") == "tool" else "prose"
    others = {k: v for k, v in message.items() if k not in ("role", "content", "tool_calls", "tool_call_id")}
    return tag(
        "div",
        tag(
            "p",
            tag("strong", clipped(as_text(message.get("role")), 40)),
            None if pairs is None else join(" answers ", code(as_text(pairs))),
            class_="role",
        ),
        block(content, "message", style, limit) if content else None,
        *_each(calls_of(message), lambda call: _call_box(*call, limit=limit), "call"),
        block(as_text(others), "other fields", "raw", limit) if others else None,
        class_="message",
    )


def _call_box(name: str, call_id: str, arguments: str, limit: int) -> Html:
    return join(
        tag("p", "asks for ", code(name), " as ", code(call_id)), block(arguments, "arguments", "raw", limit)
    )
