"""The telling of a step: what happened in it, as blocks of plain data. The page, the terminal and the
inspector show these blocks, each in its own form; the kinds of blocks are in `zoolab.show.block_types`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Annotated, Any, cast, get_origin

from zoolab.errors import Problem, ZoolabError
from zoolab.jsontext import encode, pointer_to
from zoolab.jsontext.values import NotJSON, to_json_value
from zoolab.lint import Finding, lint
from zoolab.messages import calls_of
from zoolab.records import Decision, Outcome, Record, Repair, Reply, Request, Result, ToolCall, Verdict
from zoolab.show.block_types import LINE, MAX_ROWS, Block, Room, as_details
from zoolab.show.moment import Moment
from zoolab.show.wording import (
    WORDS,
    content_of,
    headline,
    other_fields,
    pretty,
    python_call,
    python_form,
    readable,
    type_of,
)
from zoolab.text.wording import count, duration, size
from zoolab.tokens import Tokens, tokens_in
from zoolab.tools import Tool, ToolRegistry
from zoolab.trace.codec import Shown
from zoolab.trace.frame import faults_in
from zoolab.trace.log import TraceLog
from zoolab.trace.summary import brief

#: Bytes of JSON that the blocks of a step may have.
MAX_BYTES = 60_000
_MAX_TOOLS = 100
#: How many messages are searched for the call that a result answers.
_FAR = 200

#: The codes of what validation checks before it comes to the schema, in order, and the questions.
GATES = ("unknown_tool", "permission_denied", "invalid_json", "invalid_arguments")
_QUESTIONS = ("the tool exists", "the tool is allowed", "the arguments are one JSON object")
#: Bytes that a tool needs to be shown at all.
_LEAST = 4_000
_NONE: Any = inspect.Parameter.empty
_BROKEN = (ZoolabError, AttributeError, TypeError, ValueError, LookupError, RecursionError)


def blocks(moment: Moment) -> list[Block]:
    """Return what happened in a step, as plain data."""
    room = Room(MAX_BYTES)
    told = blocks_of_record(moment, room, moment.step.record)
    original = moment.original
    if original is None or isinstance(moment.step.record, Decision):  # a permission tells it itself
        return told
    before = headline(moment.step._replace(record=original))
    return [room.note("info", f"Answered by hand. Before that it was: {before}"), *told]


def blocks_of_record(moment: Moment, room: Room, record: Record) -> list[Block]:
    """Return the blocks of a step if it holds `record`, as the one that it held before it was answered."""
    match record:
        case ToolRegistry():
            return _define(room, record)
        case Request():
            return _request(moment, room, record)
        case ToolCall():
            return _tool_call(moment, room, record)
        case Reply():
            return _reply(moment, room, record)
        case Verdict():
            return _validate(moment, room, record)
        case Decision():
            return _decision(moment, room, record)
        case Outcome():
            return _execute(moment, room, record)
        case Result():
            return _result(moment, room, record)


def _define(room: Room, registry: ToolRegistry) -> list[Block]:
    tools = list(registry)
    if not tools:
        return [room.note("info", "No tools: the model can only answer.")]
    total = tokens_in(tools=(tool.schema() for tool in tools))
    told = room.facts(
        ("tools", count(len(tools), "tool")),
        ("cost of all", f"about {total:,} tokens in every request (an estimate: 4 characters a token)"),
    )
    shown: list[Tool] = []
    said: set[Finding] = set()
    for tool in tools[:MAX_ROWS]:
        if room.left < _LEAST:
            break
        told += _tool(room, tool, forbidden=registry.denies(tool.name))
        told += _findings(room, tool, said)
        shown.append(tool)
    told += room.remaining(len(tools) - len(shown), "tool")
    return told + _findings(room, shown, said)


def _parameters_of(tool: Tool | None) -> list[tuple[str, Any, bool]]:
    """Return the parameters that a tool's schema names: name, schema, and whether it is required."""
    schema = {} if tool is None else tool.parameters
    properties = schema.get("properties")
    required = schema.get("required")
    known = required if isinstance(required, list) else []
    return [(n, s, n in known) for n, s in properties.items()] if isinstance(properties, dict) else []


def _tool(room: Room, tool: Tool, forbidden: bool) -> list[Block]:
    signature = _signature(tool)
    parameters = _parameters_of(tool)
    python = dict(signature.parameters) if signature is not None else {}
    written = f"({', '.join(name for name, _, _ in parameters)})" if signature is None else signature
    named = {name for name, _, _ in parameters}
    parameters += [(name, None, False) for name in python if name not in named]  # such as the context
    rows = [_field(room, name, python.get(name), *more) for name, *more in parameters[:MAX_ROWS]]
    told: list[Block] = [{"b": "fields", "label": room.line(f"{tool.name}{written}", 400), "rows": rows}]
    told += room.facts(
        ("description", readable(tool.description) or "none"),
        ("cost", f"about {tokens_in(tools=[tool.schema()]):,} tokens (an estimate)"),
        ("risk", tool.risk if tool.risk != "safe" else None),
        ("timeout", None if tool.timeout is None else f"{tool.timeout:g} s"),
        ("strict", "yes" if tool.strict else None),
        ("allowed", "no: a call is refused" if forbidden else None),
        ("results", f"untrusted data from {tool.untrusted}" if tool.untrusted else None),
    )
    schema = room.code(f"{tool.name}: the schema that the model sees", pretty(tool.parameters), 6_000)
    return [*told, as_details(schema)]


def _signature(tool: Tool) -> inspect.Signature | None:
    """Return the Python signature, without what `Annotated` adds to a type: that has a column of its own."""
    function: Any = tool.function
    for evaluated in (True, False):  # an annotation in quotes may name what is not there
        try:
            signature = inspect.signature(function, eval_str=evaluated)
            each = signature.parameters.values()
            parameters = [parameter.replace(annotation=_bare(parameter.annotation)) for parameter in each]
            returns = _bare(signature.return_annotation)
            return signature.replace(parameters=parameters, return_annotation=returns)
        except Exception:
            continue
    return None


def _bare(annotation: Any) -> Any:
    return annotation.__origin__ if get_origin(annotation) is Annotated else annotation


def _field(
    room: Room, name: str, python: inspect.Parameter | None, schema: Any, required: bool
) -> dict[str, Any]:
    said = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    annotation, default = (python.annotation, python.default) if python is not None else (_NONE, _NONE)
    return {
        "name": room.line(name, 80),
        "annotation": room.line("" if annotation is _NONE else inspect.formatannotation(annotation)),
        "default": room.line("" if default is _NONE else python_form(default)),
        "schema": room.line("not shown to the model" if schema is None else type_of(schema)),
        "description": room.line(said.get("description") or "", 400),
        "required": required,
    }


def _findings(room: Room, tools: Tool | list[Tool], said: set[Finding]) -> list[Block]:
    """Return what `lint` finds in a tool, or in several together, but for what is said already."""
    try:
        found = [finding for finding in lint(tools) if finding not in said]
    except _BROKEN as error:  # of several, it is said at the tool that is to blame
        told = f"the schema cannot be checked: {error}"
        return [room.note("error", f"{tools.name}: {told}")] if isinstance(tools, Tool) else []
    said.update(found)
    tones = {"error": "error", "warning": "warn"}
    return [room.note(tones[each.severity], f"{each.rule}: {each}") for each in found[:MAX_ROWS]]


def _request(moment: Moment, room: Room, request: Request) -> list[Block]:
    sent = request.prefix
    known = moment.known
    reply = moment.reply
    tokens = Tokens.of(reply.usage if reply is not None else None).input
    told = room.facts(
        ("messages", f"{len(sent):,}, {len(sent) - known:,} of them new"),
        ("tools", count(len(request.tools), "tool") if request.tools else "none"),
        ("tool_choice", request.tool_choice),
        ("settings", encode(dict(request.settings)) if request.settings else None),
        ("tokens", f"{tokens:,}, counted by the endpoint" if tokens is not None else None),
    )
    removed = moment.change.removed if moment.seq not in moment.trace.originals else ()
    if removed:
        gone = f"{count(len(removed), 'message')} left out or changed"
        told.append(room.note("info", f"messages[] was condensed before this request: {gone}."))
    tools = _tools_of_turn(moment, room)
    first = max(0, len(sent) - MAX_ROWS)
    rows = [(message, index >= known) for index, message in enumerate(sent.since(first), first)]
    told += room.remaining(first, "earlier message")
    told += [room.messages(first, rows, old_limit=600), *tools]
    unsent = {"messages", *(reply.left_out if reply is not None else ())}
    body = {key: value for key, value in request.body().items() if key not in unsent}
    told.append(as_details(room.code("the body, but for the messages", pretty(body))))
    return told + [as_details(block) for block in _sent(room, reply)]  # the reply says it, too


def _sent(room: Room, reply: Reply | None) -> list[Block]:
    """Return what the model class sent instead of the request, added to it or left out, as far as it is
    known.
    """
    if reply is None:
        return []
    told = [room.note("warn", line) for line in reply.omissions]
    if not reply.sent:
        return told
    fields = {key: value for key, value in reply.sent.items() if key != "messages"}
    if reply.sent_instead is None:
        return [*told, room.code("sent with the request, by the model class", pretty(fields))]
    told.append(room.note("info", "The request above is what zoolab made. This was sent instead:"))
    listed = reply.sent_instead.get("messages")
    if not (isinstance(listed, list) and all(map(_is_text, listed))):
        return [*told, room.both_ends("what was sent instead", pretty(reply.sent_instead))]
    instead = [*told, room.messages(0, [(message, True) for message in listed])]
    instead += room.remaining(len(listed) - MAX_ROWS, "message")
    more = [room.code("what was sent instead, but for the messages", pretty(fields))] if fields else []
    return instead + more


def _is_text(message: Any) -> bool:
    """Return whether a message of any API is a text alone: then it is the same in all of them."""
    return isinstance(message, dict) and isinstance(message.get("content"), str) and len(message) == 2


def _tools_of_turn(moment: Moment, room: Room, chosen: str | None = None) -> list[Block]:
    request = moment.request
    tools = moment.tools
    sent = calls_of({"tool_calls": list(request.tools)}) if request is not None else []
    first = request.prefix[0] if request is not None and len(request.prefix) else {}
    in_text = not sent and first.get("role") == "system"
    not_sent = "described in the system prompt" if in_text else "not sent with this request"
    states = {
        name: ("offered", "forbidden: a call is refused" if tools.denies(name) else "") for name, _, _ in sent
    }
    for left_out in request.withheld if request is not None else ():
        states[readable(left_out.name)] = ("withheld", readable(left_out.why))
    for tool in tools:
        states.setdefault(tool.name, ("withheld" if sent else "offered", not_sent))
    if chosen is not None:
        missing = "no tool has this name" if states else "no tools are known here"
        state, why = states.pop(chosen, ("unknown", missing))
        state = {"offered": "chosen", "withheld": "chosen and withheld"}.get(state, state)
        states = {chosen: (state, why), **states}
    rows = [
        {"name": room.line(name, 80), "state": state, "why": room.line(why)}
        for name, (state, why) in list(states.items())[:_MAX_TOOLS]
    ]
    told = [as_details({"b": "tools", "rows": rows})] if rows else []
    told += room.remaining(len(states) - _MAX_TOOLS, "tool")
    choice = "auto" if request is None else request.tool_choice
    if choice != "auto" and not isinstance(moment.step.record, Request):
        said = WORDS["tool_choices"]
        had_to = said.get(choice, said["named"])
        told.append(room.note("info", f"tool_choice was {choice}: {had_to}."))
    return told


def _tool_call(moment: Moment, room: Room, call: ToolCall) -> list[Block]:
    reply = moment.step.reply
    told = _faults_of_call(moment, room)
    told.append(room.code(f"arguments, {_as_they_came(moment)}", call.arguments))
    if not call.arguments:
        told.append(room.note("info", "There are no arguments; that stands for {}."))
    told.append(room.note("info", "This is text: nothing has run yet."))
    told += room.stream("the arguments as they came", list(_argument_pieces(reply, call.slot)))
    told += _tools_of_turn(moment, room, chosen=call.name)
    told += room.facts(
        ("id", call.id),
        ("id as the model gave it", None if call.original_id is None else call.original_id or "none"),
        ("read from", WORDS["origins"].get(call.origin, call.origin)),
        *_reply_facts(reply),
    )
    if not call.slot and reply is not None:
        said = content_of(reply.message)
        told += [room.code("the text of the reply", said, 4_000, "prose")] if said else []
        told += _sent(room, reply)
    return told


def _faults_of_call(moment: Moment, room: Room) -> list[Block]:
    """Return the faults that were injected into the call, or into the reply that it is the first call of."""
    faults = faults_in(moment.reply, moment.step.slot)
    return [block for fault in faults[:10] for block in room.fault(fault)]


def _as_they_came(moment: Moment) -> str:
    slot = moment.step.slot
    faults = (fault for fault in faults_in(moment.reply, slot) if fault.slot == slot)
    changed = any(fault.where.startswith("arguments") for fault in faults)
    return "as they came (a fault changed them)" if changed else "as the model wrote them"


def _reply(moment: Moment, room: Room, reply: Reply) -> list[Block]:
    said = content_of(reply.message)
    others = other_fields(reply.message)
    told = _faults_of_call(moment, room)
    answer = (
        room.code("the answer", said, style="prose") if said else room.note("warn", "The answer is empty.")
    )
    told.append(answer)
    contents = (delta.get("content") for delta in reply.pieces)
    pieces = [content for content in contents if isinstance(content, str) and content]
    told += room.stream("the answer as it came", pieces)
    if others:
        told.append(as_details(room.code("other fields of the message", pretty(others), 4_000)))
    told += _tools_of_turn(moment, room)
    return told + room.facts(*_reply_facts(reply)) + _sent(room, reply)


def arriving_blocks(room: Room, reply: Reply) -> list[Block]:
    """Return what there is of a reply that still arrives: its text, and the arguments of its calls."""
    told = [room.both_ends("the text, as it arrives", reply.text)] if reply.text else []
    for name, _, arguments in calls_of(reply.message)[:MAX_ROWS]:
        told.append(room.both_ends(f"the arguments of {room.line(name, 80)}, as they arrive", arguments))
    return told


def _reply_facts(reply: Reply | None) -> list[tuple[str, Any]]:
    if reply is None:
        return []
    tokens = Tokens.of(reply.usage)
    told = f"{tokens.input or 0:,} sent, {tokens.output or 0:,} received, counted by the endpoint"
    known = {"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens"}
    usage = {name: value for name, value in (reply.usage or {}).items() if name not in known}
    return [
        ("finish_reason", reply.finish_reason),
        ("model", reply.model),
        ("note", "; ".join(reply.notes) or None),
        ("streamed", f"in {count(len(reply.pieces), 'piece')}" if reply.pieces else None),
        ("tokens", None if tokens.known is None else told),
        ("more on usage", pretty(usage) if usage else None),
    ]


def _argument_pieces(reply: Reply | None, slot: int) -> Iterator[str]:
    """Yield the pieces of one call's arguments; a piece without an index goes on with the call before it."""
    index = -1
    for delta in reply.pieces if reply is not None else ():
        parts = delta.get("tool_calls")
        for part in parts if isinstance(parts, list) else []:
            function = part.get("function") if isinstance(part, dict) else None
            if not isinstance(function, dict):
                continue
            index = part.get("index", index if not function.get("name") else index + 1)
            if index == slot and function.get("arguments"):
                yield readable(function["arguments"])


def _validate(moment: Moment, room: Room, verdict: Verdict) -> list[Block]:
    repair = verdict.repair
    tool = moment.tool
    first = repair.problems if repair is not None and repair.accepted else verdict.problems
    told = _faults_of_call(moment, room)
    told += room.facts(
        ("verdict", headline(moment.step._replace(record=verdict))),
        ("attempt", f"{moment.step.attempt}" if moment.step.attempt > 1 else None),
        ("problems", count(len(verdict.problems), "problem") if verdict.problems else None),
    )
    of_call = moment.step.call is not None
    if of_call:
        told.append(_checklist(room, f"the arguments, {_as_they_came(moment)}", tool, first))
    elif first:
        rows = [room.check("bad", problem.code, problem) for problem in first[:MAX_ROWS]]
        told.append({"b": "checks", "label": "the answer, as the model wrote it", "rows": rows})
    if repair is not None:
        told += _repair(room, repair, tool)
    if verdict.arguments is not None:
        what = "the arguments, parsed" if of_call else "the value, trace.value"
        told.append(room.code(what, pretty(verdict.arguments)))
    elif not verdict.ok:
        what = "The call does not run" if of_call else "The answer is not accepted"
        told.append(room.note("error", f"{what}, and the model is told why."))
    return told


def _checklist(room: Room, label: str, tool: Tool | None, problems: tuple[Problem, ...]) -> Block:
    found = problems[0].code if problems else None
    if found is not None and found not in GATES:
        rows = [room.check("bad", problem.code, problem) for problem in problems[:MAX_ROWS]]
        return {"b": "checks", "label": label, "rows": rows}
    reached = len(GATES) if found is None else GATES.index(found)
    rows = []
    for number, question in enumerate(_QUESTIONS):
        state = "ok" if number < reached else "bad" if number == reached else "none"
        rows.append(room.check(state, question, problems[0] if number == reached else None))
    rows += _schema_rows(room, tool, problems if reached >= len(_QUESTIONS) else None)
    return {"b": "checks", "label": label, "rows": rows}


def _schema_rows(room: Room, tool: Tool | None, problems: tuple[Problem, ...] | None) -> list[dict[str, Any]]:
    """Return a row for each property, with what is wrong in it, then the rest; None if no schema was
    reached.
    """
    rows: list[dict[str, Any]] = []
    others = list(problems or ())
    for name, schema, required in _parameters_of(tool)[:MAX_ROWS]:
        pointer = pointer_to([name])
        own = [problem for problem in others if f"{problem.pointer}/".startswith(f"{pointer}/")]
        others = [problem for problem in others if problem not in own]
        told = f"{name}: {type_of(schema)}{'' if required else ', optional'}"
        state = "none" if problems is None else "bad" if own else "ok"
        rows += [room.check(state, told, problem) for problem in own or [Problem("", pointer, "", "")]]
    return rows + [
        room.check("bad", problem.pointer or "the arguments", problem) for problem in others[:MAX_ROWS]
    ]


def _repair(room: Room, repair: Repair, tool: Tool | None) -> list[Block]:
    if repair.proposed is None:
        return [room.note("warn", f"Not repaired: {repair.silence}.")]
    if repair.proposed == repair.raw:
        return [room.note("warn", "A repair was tried and changed nothing.")]
    said = "accepted: it meets the schema" if repair.accepted else "refused: it does not meet the schema"
    return [
        room.note("info" if repair.accepted else "warn", f"A repair proposed other arguments; {said}."),
        room.difference("what the repair changed", repair.raw, repair.proposed),
        _checklist(room, "what the repair proposed", tool, repair.remaining),
    ]


def _execute(moment: Moment, room: Room, outcome: Outcome) -> list[Block]:
    error = outcome.error
    call = moment.call
    tool = moment.tool
    decision = call.decision
    asked = call.asked
    if decision is not None:
        permission = WORDS["decisions"].get(decision.choice, decision.choice)
    else:
        permission = "needs none" if asked is None else "not given: a value was, in place of running it"
    told = [_python_call(moment, room)]
    value = outcome.value
    if error is None and isinstance(value, Shown):
        kept = "" if value.size is None else f"; the trace file keeps the beginning of {size(value.size)}"
        told.append(room.code(f"it returned{kept}", value.text))
    elif error is None:
        told.append(room.code(f"it returned, {type(value).__name__}"[:LINE], python_form(value)))
    else:
        told.append(room.note("error", f"{error.code}: {error.in_full}"))
    if outcome.stdout:
        told.append(room.code("what it printed; the model does not see it", outcome.stdout))
    told += room.facts(
        ("duration", duration(outcome.duration_ms)),
        ("timeout", f"{tool.timeout:g} s" if tool is not None and tool.timeout is not None else "none"),
        ("permission", permission),
        ("risk", asked.risk or None if asked is not None else None),
        ("resource", asked.resource or None if asked is not None else None),
        ("reason", decision.reason if decision is not None and decision.reason else None),
        ("exception", error.exception if error is not None else None),
        ("comes", WORDS["tape"].get(outcome.origin)),
        ("its thread", "still runs: Python cannot stop it" if outcome.still_running else None),
    )
    if outcome.fault is not None:
        told += room.fault(outcome.fault)
    if isinstance(outcome.trace, TraceLog):
        told.append(room.nested(outcome.trace, readable(call.arguments.get("task", ""))))
    return told


def _python_call(moment: Moment, room: Room) -> Block:
    called = python_call(moment.call.call.name or "tool", moment.call.arguments)
    return room.code("the Python call", called, style="call")


def _decision(moment: Moment, room: Room, decision: Decision) -> list[Block]:
    tool = moment.tool
    call = moment.step.call
    recorded = moment.call.asked or decision
    arguments = moment.call.arguments if recorded.arguments is None else dict(recorded.arguments)
    asked: Block = {
        "b": "permission",
        "tool": room.line("" if call is None else call.name, 80),
        "risk": room.line(recorded.risk or ("unknown" if tool is None else tool.risk), 40),
        "resource": room.line(recorded.resource or "", 400),
        "arguments": room.text(pretty(arguments), 4_000)["text"],
        "choice": room.line(decision.choice, 20),
        "reason": room.line(decision.reason, 400),
    }
    return [asked, as_details(_python_call(moment, room))]


def _result(moment: Moment, room: Room, result: Result) -> list[Block]:
    cut = f"{size(result.data_bytes)} -> {size(result.sent_bytes)}"
    told = _value(moment, room)
    told.append(room.code("the text that the model gets", result.content))
    if result.truncated:
        told.append(room.note("warn", f"Cut for the model: {cut}. The trace keeps the sizes."))
    if result.loop_detected:
        again = f"Loop detected: the same call, the same result, {result.repeats} times."
        told.append(room.note("warn", again))
    row = room.message(len(moment.step.messages) - 1, result.message, new=True, limit=2_000)
    told.append(as_details({"b": "messages", "rows": [row]}))
    told.append(_flow(moment, room, result))
    return told + room.facts(
        ("size", cut if result.truncated else size(result.data_bytes)),
        ("error", result.error_code),
        ("same call, same result", f"{result.repeats} times in a row" if result.repeats > 1 else None),
    )


def _value(moment: Moment, room: Room) -> list[Block]:
    outcome = moment.call.outcome
    if moment.call.by_program:
        said = "Another program ran the call. The messages have its result, and not how it came about."
        return [room.note("info", said)]
    if outcome is None:
        return [room.note("info", "The call did not run: there is no value, only what was wrong.")]
    if outcome.error is not None:
        return [room.note("error", f"{outcome.error.code}: {outcome.error.message}")]
    if isinstance(outcome.value, Shown):
        return [as_details(room.code("what the file keeps of the value", outcome.value.text))]
    kind = type(outcome.value).__name__
    value = as_details(room.code(f"the Python value, {kind}", python_form(outcome.value)))
    try:
        text = pretty(to_json_value(outcome.value))
    except NotJSON as error:
        return [value, room.note("error", f"It has no form in JSON: {error}")]
    return [value, as_details(room.code("the value as JSON", text, 4_000))]


def _flow(moment: Moment, room: Room, result: Result) -> Block:
    messages = moment.step.messages
    answer = len(moment.step.messages) - 1
    ends = [("answered", answer, result.message)]
    for index in range(answer, max(-1, answer - _FAR), -1):
        if any(call_id == result.tool_call_id for _, call_id, _ in calls_of(messages[index])):
            ends = [("asked", index, messages[index]), *ends]
            break
    rows = [
        {"what": what, "id": room.line(result.tool_call_id, 80), "message": n, "text": room.line(brief(said))}
        for what, n, said in ends
    ]
    paired = len(rows) == 2
    label = "the call and its answer" if paired else "an answer without its call: no request with it is valid"
    flow: Block = {"b": "flow", "label": label, "rows": rows}
    return as_details(flow) if paired else flow
