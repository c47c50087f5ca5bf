"""Finds the first step in which two traces of the same task differ, and why.

Steps are compared in order, so that everything before the first difference is equal, and what differs in
that step is its cause. Times, durations, ids of calls, the times in a result's envelope and secrets are no
difference; two requests are equal if `zoolab_study.branching.names.RequestNames` gives them the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, excerpt, one_line, pointer_to
from zoolab.messages import calls_of
from zoolab.models.request_keys import DELIVERY
from zoolab.records import Decision, Message, Outcome, Record, Reply, Request, Result, Step, ToolCall, Verdict
from zoolab.secrets import scrub, scrub_json
from zoolab.steps.result import METADATA
from zoolab.text.wording import common_ends
from zoolab.tools import ToolRegistry
from zoolab.trace.calls import Turn
from zoolab.trace.codec import encode_record
from zoolab.trace.log import TraceLog
from zoolab_study.bisection import CAUSES, Bisection, Cause, Change, Ending, Followed
from zoolab_study.branching.compare import align
from zoolab_study.branching.names import RequestNames

_MAX_CHANGES = 8
_MAX_FOLLOWED = 40
_LONGEST = 240
_BEFORE = 60
#: What a body holds that is compared elsewhere, or differs each time.
_NOT_SETTINGS = {*DELIVERY, "messages", "input", "contents", "tools", "system", "instructions"}
_NOT_SETTINGS |= {"tool_choice", "previous_response_id", "systemInstruction", "system_instruction"}
_NOTHING: Any = object()


def bisect(a: TraceLog, b: TraceLog) -> Bisection:
    """Find the first step in which two traces of the same task differ, and its cause.

    Args:
        a: A trace, for instance of a good run.
        b: Another one, for instance of a bad run.

    Returns:
        The difference, its cause and what followed. It prints as text, and a notebook shows two columns.

    Raises:
        InvalidInput: One of them is not a trace.

    >>> from zoolab import Outcome, Scripted, bisect, run, tool
    >>> @tool
    ... def look() -> int:
    ...     "Look at the till."
    ...     return 100
    >>> good = run("How much?", [look], Scripted([[("look", {})], "It is 100."]))
    >>> bad = good.fork(4, Outcome(0), model=Scripted(["The till is empty."]))
    >>> found = bisect(good, bad)
    >>> found.cause, found.a, found.b, found.changes[0].pointer
    ('result', 4, 4, '/value')
    """
    for given in (a, b):
        if not isinstance(given, TraceLog):
            advice = "Trace.load(path) reads one from a file"
            raise InvalidInput(f"cannot compare {excerpt(given)}", expected="a trace", advice=advice)
    first = a.turns
    second = b.turns
    unseen = _unseen(first) | _unseen(second)
    sides = _Side(a, first, unseen), _Side(b, second, unseen)
    shorter = min(len(side.steps) for side in sides)
    at = next((seq for seq in range(shorter) if not _equal(*sides, seq)), shorter)
    if at < shorter:
        return _found(*sides, at, _causes(*sides, at))
    if len(sides[0].steps) == len(sides[1].steps) and a.outcome == b.outcome:
        return _bisection(*sides, at, None)
    return _found(*sides, at, _causes_of_end(*sides, at))


class _Found(NamedTuple):
    """What differs in a step: what each trace has there, by cause."""

    first: Mapping[Cause, Any]
    second: Mapping[Cause, Any]


def _unseen(turns: Iterable[Turn]) -> set[str]:
    """Return the kinds of steps that nobody saw, because another program took them."""
    theirs = [call for turn in turns for call in turn.calls.values() if call.by_program]
    unjudged = {"validate" for call in theirs if call.verdict is None}
    return {"execute", *unjudged} if theirs else unjudged


class _Side:
    """One of the two traces, and what is asked about it again and again.

    Steps of a kind that one of them cannot have are left out of both.
    """

    def __init__(self, trace: TraceLog, turns: Iterable[Turn], unseen: set[str]) -> None:
        self.trace = trace
        #: The numbers of the steps that are compared.
        self.numbers = [seq for seq, step in enumerate(trace.steps) if step.kind not in unseen]
        self.steps = [trace.steps[seq] for seq in self.numbers]
        #: Requests by name, and by their names without secrets.
        self.names = RequestNames()
        self.clean_names = RequestNames(scrubs=True)
        self._turns = {turn.seq: turn for turn in turns}

    def reply_to(self, seq: int) -> Reply | None:
        """Return the reply to the request at this step, as it came."""
        turn = self._turns.get(self.numbers[seq])
        return None if turn is None else turn.reply

    def messages_sent(self, seq: int) -> list[Message]:
        """Return the messages of the request at this step, ids of calls included."""
        record = self.steps[seq].record
        sent: list[Message] = record.body()["messages"] if isinstance(record, Request) else []
        return sent

    def said_before(self, seq: int) -> int | None:
        """Return how many messages there were before the request at this step; None if it is the first
        one.
        """
        asked = any(isinstance(step.record, Request) for step in self.steps[:seq])
        return len(self.steps[seq - 1].messages) if asked else None

    def edited(self, seq: int) -> bool:
        """Return whether somebody answered this step with a record of their own; to decide is no edit."""
        original = self.trace.originals.get(self.numbers[seq]) if seq < len(self.numbers) else None
        return original is not None and not isinstance(original, Decision)

    def ending(self) -> Ending:
        """Return how the run ended."""
        trace = self.trace
        answer, error = (
            None if text is None else one_line(scrub(text), 400) for text in (trace.answer, trace.error)
        )
        return Ending(one_line(trace.outcome, 80), answer, error, len(trace), len(self._turns))


def _equal(a: _Side, b: _Side, seq: int) -> bool:
    one = a.steps[seq]
    other = b.steps[seq]
    if (one.kind, one.turn, one.slot) != (other.kind, other.turn, other.slot):
        return False
    if isinstance(one.record, Request) and isinstance(other.record, Request):
        first = one.record
        second = other.record
        same = a.names.of(first) == b.names.of(second)
        if not same and a.clean_names.of(first) != b.clean_names.of(second):
            return False
        return not _another_model(a.reply_to(seq), b.reply_to(seq))
    return one.record is other.record or _same(form_of(one), form_of(other))


def _same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same, but for secrets."""
    return canonical(one) == canonical(other) or canonical(scrub_json(one)) == canonical(scrub_json(other))


def form_of(step: Step) -> dict[str, Any]:
    """Return what of a step is compared, as JSON values: no ids of calls, and no times."""
    match step.record:
        case ToolRegistry() as tools:
            told: list[dict[str, Any]] = encode_record(tools)["tools"]
            return {"tools": {tool["name"]: tool for tool in told}, "order": [tool["name"] for tool in told]}
        case Request() as request:
            return _form_of_request(request)
        case ToolCall() as call:
            reply = {"reply": _form_of_reply(step.reply)} if step.reply is not None else {}
            return {"call": {"name": call.name, "arguments": call.arguments}, **reply}
        case Reply() as reply:
            return {"reply": _form_of_reply(reply)}
        case Verdict() as verdict:
            problems = [[each.code, each.pointer, each.expected, each.received] for each in verdict.problems]
            return {"ok": verdict.ok, "arguments": verdict.arguments, "problems": problems}
        case Decision() as decision:
            return {"choice": decision.choice, "scope": decision.scope, "reason": decision.reason}
        case Outcome() as outcome:
            return _form_of_outcome(outcome)
        case Result() as result:
            return {"content": result.content.partition(METADATA)[0], "error_code": result.error_code}


def _form_of_request(request: Request) -> dict[str, Any]:
    body = request.body()
    settings = {name: value for name, value in body.items() if name not in _NOT_SETTINGS}
    if request.tools:
        settings["tool_choice"] = request.tool_choice
    tools = {str(_name_in(tool, place)): tool for place, tool in enumerate(request.tools)}
    return {
        "messages": [_bare(message) for message in body["messages"]],
        "tools": tools,
        "settings": settings,
    }


def _name_in(tool: Mapping[str, Any], place: int) -> Any:
    function = tool.get("function")
    return function.get("name", place) if isinstance(function, Mapping) else tool.get("name", place)


def _bare(message: Message) -> dict[str, Any]:
    """Return a message without the ids of its calls, and without the times of an envelope."""
    bare: dict[str, Any] = {name: value for name, value in message.items() if name != "tool_call_id"}
    if message.get("tool_calls"):
        bare["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in calls_of(message)]
        bare["content"] = message.get("content") or None
    content = message.get("content")
    if message.get("role") == "tool" and isinstance(content, str):
        bare["content"] = content.partition(METADATA)[0]
    return bare


def _form_of_reply(reply: Reply) -> dict[str, Any]:
    return {"message": _bare(reply.message), "end": reply.end}


def _form_of_outcome(outcome: Outcome) -> dict[str, Any]:
    told = encode_record(outcome)
    if "shown" in told and told.get("size") is None:
        # Not JSON: Python's own form may hold an address, and the model never sees it.
        told["shown"] = "a value that is not JSON"
    return {name: told[name] for name in ("value", "shown", "size", "error") if name in told}


def _another_model(one: Reply | None, other: Reply | None) -> bool:
    """Return whether something else than the request says that another model, or a model set otherwise,
    replied.
    """
    return one is not None and other is not None and not _same(*_asked_of(one, other))


def _asked_of(one: Reply, other: Reply) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that model classes added to two requests, as far as both say so.

    The names of the models that replied count if they replied otherwise: some endpoints name the same model
    in several ways.
    """
    first, second = (
        {k: v for k, v in (each.sent or {}).items() if k not in _NOT_SETTINGS} for each in (one, other)
    )
    if one.sent is None or other.sent is None:
        first = {}
        second = {}
    named = one.model is not None and other.model is not None
    if named and "model" not in first and not _same(_form_of_reply(one), _form_of_reply(other)):
        first = {**first, "model": one.model}
        second = {**second, "model": other.model}
    return first, second


def _causes(a: _Side, b: _Side, seq: int) -> _Found:
    """Return what differs in a step that both traces have."""
    one = a.steps[seq]
    other = b.steps[seq]
    first = one.record
    second = other.record
    if isinstance(first, Request) and isinstance(second, Request):
        return _causes_of_request(a, b, seq)
    if isinstance(first, ToolRegistry) and isinstance(second, ToolRegistry):
        found = _Found({"tool": form_of(one)}, {"tool": form_of(other)})
        following = seq + 1
        if following < min(len(a.steps), len(b.steps)) and one.kind == "define":
            return _with_opening(found, a, b, following)
        return found
    told = form_of(one)
    meant = form_of(other)
    cause = _cause_of(one, other)
    if cause == "reply":
        replies = told.pop("reply", None), meant.pop("reply", None)
        if None in replies or not _same(*replies):
            return _Found({cause: replies[0] or told}, {cause: replies[1] or meant})
        cause = "call"
    return _Found({cause: told}, {cause: meant})


def _cause_of(one: Step, other: Step) -> Cause:
    """Return the cause of a difference in steps that are no requests, by what they hold."""
    records = one.record, other.record
    kinds: list[tuple[type[Any] | tuple[type[Any], ...], Cause]] = [
        (Decision, "decision"),
        ((ToolCall, Reply), "reply"),
        (Verdict, "call"),
        ((Outcome, Result), "result"),
        (ToolRegistry, "tool"),
    ]
    return next((cause for kind, cause in kinds if any(isinstance(each, kind) for each in records)), "end")


def _with_opening(found: _Found, a: _Side, b: _Side, seq: int) -> _Found:
    """Add what the first requests differ in, beside the tools: no reply of the model was before it."""
    if not all(isinstance(side.steps[seq].record, Request) for side in (a, b)) or _equal(a, b, seq):
        return found
    first, second = _causes_of_request(a, b, seq)
    ours, theirs = ({**more, **known} for more, known in zip((first, second), found, strict=True))
    return _Found(ours, theirs)


def _causes_of_request(a: _Side, b: _Side, seq: int) -> _Found:
    one = form_of(a.steps[seq])
    other = form_of(b.steps[seq])
    replies = a.reply_to(seq), b.reply_to(seq)
    if replies[0] is not None and replies[1] is not None:
        more = _asked_of(replies[0], replies[1])
        one["settings"], other["settings"] = {**more[0], **one["settings"]}, {**more[1], **other["settings"]}
    parts: dict[Cause, str] = {_cause_of_messages(a.said_before(seq), one, other): "messages"}
    parts |= {"tool": "tools", "setting": "settings"}
    differing = {cause: part for cause, part in parts.items() if not _same(one[part], other[part])}
    if not differing:  # results that pair with other calls: the ids say it
        differing = {"messages": "messages"}
        one, other = ({"messages": side.messages_sent(seq)} for side in (a, b))
    first, second = (
        {cause: {part: side[part]} for cause, part in differing.items()} for side in (one, other)
    )
    return _Found(first, second)


def _cause_of_messages(before: int | None, one: dict[str, Any], other: dict[str, Any]) -> Cause:
    """Return whether messages that differ are what is asked, or what the program changed in what was said
    before.
    """
    if before is None:
        return "prompt"
    pairs = zip_longest(one["messages"], other["messages"])
    at, pair = next(((i, pair) for i, pair in enumerate(pairs) if not _same(*pair)), (0, ()))
    roles = {message.get("role") for message in pair if message is not None}
    asked = bool(roles) and roles <= {"user", "system", "developer"}
    return "prompt" if asked and at >= before else "messages"


def _causes_of_end(a: _Side, b: _Side, at: int) -> _Found:
    """Return why one trace ends where the other one goes on, or both end in different ways."""
    waiting = isinstance(a.steps[at - 1].record, Request) if at else False
    cause: Cause = "reply" if waiting else "end"
    told = [
        {"outcome": each.trace.outcome, "error": each.trace.error, "goes_on": len(each.steps) > at}
        for each in (a, b)
    ]
    return _Found({cause: told[0]}, {cause: told[1]})


def _found(a: _Side, b: _Side, at: int, found: _Found) -> Bisection:
    first, second = found
    causes = sorted(first.keys() | second.keys(), key=CAUSES.index)
    steps = [side.steps[at].record if at < len(side.steps) else None for side in (a, b)]
    main: Cause = "tool" if isinstance(steps[0], ToolRegistry) else causes[0]
    changes = list(islice(_changes(first.get(main), second.get(main)), _MAX_CHANGES + 1_000))
    also = tuple(cause for cause in causes if cause != main)
    for cause in also:
        changes += islice(_changes(first.get(cause), second.get(cause)), _MAX_CHANGES)
    return _bisection(a, b, at, main, also, changes)


def _bisection(
    a: _Side,
    b: _Side,
    at: int,
    cause: Cause | None,
    also: tuple[Cause, ...] = (),
    changes: Sequence[Change] = (),
) -> Bisection:
    places = [side.numbers[at] if at < len(side.steps) else None for side in (a, b)]
    step = next((side.steps[at] for side in (a, b) if at < len(side.steps)), None)
    rows, left = ([], 0) if cause is None else _followed(a, b, at)
    return Bisection(
        cause=cause,
        also=also,
        a=places[0],
        b=places[1],
        kind="" if step is None else step.kind,
        turn=0 if step is None else step.turn,
        tool=None if step is None or step.call is None else one_line(step.call.name, 80),
        edited=(a.edited(at), b.edited(at)),
        changes=tuple(changes[:_MAX_CHANGES]),
        more_changes=max(0, len(changes) - _MAX_CHANGES),
        followed=tuple(rows),
        more_followed=left,
        ends=(a.ending(), b.ending()),
        equal_steps=at,
        inner=_inner(a, b, at) if cause == "result" else None,
    )


def _inner(a: _Side, b: _Side, at: int) -> Bisection | None:
    """Return where the walks of a sub-agent part whose results differ."""
    records = [side.steps[at].record for side in (a, b) if at < len(side.steps)]
    walks = [record.trace for record in records if isinstance(record, Outcome)]
    if len(walks) != 2 or not all(isinstance(walk, TraceLog) for walk in walks):
        return None
    found = bisect(*walks)
    return found if found.differs else None


def _followed(a: _Side, b: _Side, at: int) -> tuple[list[Followed], int]:
    pairs = list(align(a.steps, b.steps, at))
    return [_row(a, b, *pair) for pair in pairs[:_MAX_FOLLOWED]], max(0, len(pairs) - _MAX_FOLLOWED)


def _row(a: _Side, b: _Side, i: int, j: int) -> Followed:
    one, other = (side.steps[at] if at >= 0 else None for side, at in ((a, i), (b, j)))
    told = ["" if step is None else one_line(scrub(told_of(step)), 160) for step in (one, other)]
    same = one is not None and other is not None and _alike(one, other)
    places = [side.numbers[at] if at >= 0 else None for side, at in ((a, i), (b, j))]
    return Followed(places[0], places[1], told[0], told[1], same)


def _alike(one: Step, other: Step) -> bool:
    return type(one.record) is type(other.record) and _same(form_of(one), form_of(other))


def told_of(step: Step) -> str:
    """Return what happened in a step, in one line without ids and times."""
    record: Record = step.record
    match record:
        case ToolRegistry():
            return f"tools: {', '.join(record.names())}"
        case Request():
            last = record.prefix[-1] if len(record.prefix) else {}
            said = _bare(last).get("content")
            return f"request, {len(record.prefix)} messages: {last.get('role')} {excerpt(said)}"
        case ToolCall():
            return f"calls {record.name} {record.arguments}"
        case Reply():
            return f"answers {excerpt(record.text, 160)}" if record.is_whole else record.shortfall
        case Verdict():
            return "may run" if record.ok else "; ".join(problem.message for problem in record.problems)
        case Decision():
            return f"decision: {record.choice} {record.reason}".rstrip()
        case Outcome(error=None):
            return f"returned {excerpt(record.value, 160)}"
        case Outcome(error=error):
            return f"failed: {error.code}: {error.message}" if error else "failed"
        case Result():
            return f"result {record.content.partition(METADATA)[0]}"


def _changes(one: Any, other: Any, pointer: str = "") -> Iterator[Change]:
    """Yield where two JSON values differ, and what each has there."""
    if _NOTHING not in (one, other) and _same(one, other):
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{pointer}{pointer_to([key])}"
            yield from _changes(one.get(key, _NOTHING), other.get(key, _NOTHING), inner)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        head, tail = common_ends(one, other) if len(one) != len(other) else (0, 0)
        middles: Iterable[Sequence[Any]] = (each[head : len(each) - tail] for each in (one, other))
        for index, pair in enumerate(zip_longest(*middles, fillvalue=_NOTHING), head):
            yield from _changes(pair[0], pair[1], f"{pointer}/{index}")
    else:
        yield Change(pointer, *_cut(_text_of(one), _text_of(other)))


def _text_of(value: Any) -> str | None:
    return None if value is _NOTHING else scrub(excerpt(value, 1 << 20))


def _cut(one: str | None, other: str | None) -> tuple[str | None, str | None]:
    """Return two texts, cut so that the first difference is seen."""
    head = 0 if one is None or other is None else common_ends(one, other)[0]
    start = max(0, head - _BEFORE) if max(len(one or ""), len(other or "")) > _LONGEST else 0

    def cut(text: str | None) -> str | None:
        if text is None:
            return None
        part = text[start : start + _LONGEST]
        return "…" * (start > 0) + part + "…" * (start + _LONGEST < len(text))

    return cut(one), cut(other)
