"""Request: what is sent. New messages bright and old ones folded, the tools that are offered and withheld."""

from __future__ import annotations

from typing import Any, cast

from zoolab.show.bounds import MAX_ROWS, Room, pretty
from zoolab.show.moment import Moment
from zoolab.show.inspector.overview import tokens_counted
from zoolab.show.block_types import Block, code, facts, messages, note, remaining
from zoolab.jsontext import encode
from zoolab.records import Reply, Request
from zoolab.show.wording import as_text, calls_of, count

_MAX_TOOLS = 100


def request_blocks(moment: Moment, room: Room, request: Request) -> list[Block]:
    """The payload of a request: messages, tools, tool_choice, settings.

    >>> from zoolab import Scripted, run
    >>> moment = Moment(run("Hi", [], Scripted(["Hello"])), 1)
    >>> [block["b"] for block in request_blocks(moment, Room(60_000), moment.step.record)]
    ['facts', 'messages', 'code']
    """
    sent, known = request.prefix, known_before(moment)
    counted = tokens_counted(moment.reply, "prompt_tokens")
    blocks = facts(
        room,
        ("messages", f"{len(sent):,}, {len(sent) - known:,} of them new"),
        ("tools", count(len(request.tools), "tool") if request.tools else "none"),
        ("tool_choice", request.tool_choice),
        ("settings", encode(dict(request.settings)) if request.settings else None),
        ("tokens", f"{counted:,}, counted by the endpoint" if counted is not None else None),
    )
    tools = tool_rows(moment, room, request)
    first = max(0, len(sent) - MAX_ROWS)
    rows = [(message, index >= known) for index, message in enumerate(sent.since(first), first)]
    blocks += remaining(room, first, "earlier message")
    blocks += [messages(room, first, rows, old_limit=600), *tools]
    blocks.append(code(room, "the body, but for the messages", pretty(body_without_messages(request))))
    return blocks + sent_blocks(room, moment.reply)


def sent_blocks(room: Room, reply: Reply | None) -> list[Block]:
    """What the model class sent instead of the request, or added to it; nothing if it is not known.

    >>> sent_blocks(Room(900), Reply({}, sent={"seed": 1}))[0]["label"]
    'sent with the request, by the model class'
    """
    if reply is None or not reply.sent:
        return []
    fields = {key: value for key, value in reply.sent.items() if key != "messages"}
    if reply.sent_instead is None:
        return [code(room, "sent with the request, by the model class", pretty(fields))]
    listed = reply.sent_instead["messages"]
    rows = [(m, True) for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    told = "The request above is what zoolab made. What was sent instead is another conversation:"
    blocks = [note(room, "warn", told), messages(room, 0, rows)]
    blocks += remaining(room, len(rows) - MAX_ROWS, "message")
    return [*blocks, code(room, "what was sent instead, but for the messages", pretty(fields))]


def body_without_messages(request: Request) -> dict[str, Any]:
    """The other fields of the body.

    >>> body_without_messages(Request([{"role": "user", "content": "Hi"}], settings={"seed": 1}))
    {'seed': 1}
    """
    return {key: value for key, value in request.body().items() if key != "messages"}


def known_before(moment: Moment) -> int:
    """How many messages of a request the request before it had sent already.

    >>> from zoolab import Scripted, run
    >>> known_before(Moment(run("Hi", [], Scripted(["Hello"])), 1))
    0
    """
    trace, steps = moment.trace, moment.trace.steps
    before = next((i for i in range(moment.seq - 1, -1, -1) if isinstance(steps[i].record, Request)), None)
    if before is None:
        return 0
    return trace.journal.common(trace.revisions[before], trace.revisions[moment.seq])


def tool_rows(moment: Moment, room: Room, request: Request | None, chosen: str | None = None) -> list[Block]:
    """The tools of a turn: offered to the model, chosen by it, or kept from it, and why.

    >>> from zoolab import Scripted, run
    >>> trace = run("Hi", [], Scripted([[("fly", {})], "I cannot."]))
    >>> tool_rows(Moment(trace, 2), Room(900), trace.steps[1].record, "fly")[0]["rows"]
    [{'name': 'fly', 'state': 'unknown', 'why': 'no tool has this name'}]
    """
    told = _told(moment, request)
    if chosen is not None:
        state, why = told.get(chosen, ("unknown", "no tool has this name"))
        state = {"offered": "chosen", "withheld": "chosen and withheld"}.get(state, state)
        told = {chosen: (state, why), **_without(told, chosen)}
    rows = [
        {"name": room.line(name, 80), "state": state, "why": room.line(why)}
        for name, (state, why) in list(told.items())[:_MAX_TOOLS]
    ]
    if not rows:
        return []
    return [{"b": "tools", "rows": rows}, *remaining(room, len(told) - _MAX_TOOLS, "tool")]


def _without(told: dict[str, tuple[str, str]], name: str) -> dict[str, tuple[str, str]]:
    return {key: value for key, value in told.items() if key != name}


def _told(moment: Moment, request: Request | None) -> dict[str, tuple[str, str]]:
    """Of each tool, whether the request offers it, and a word on it."""
    tools = moment.tools
    sent = calls_of({"tool_calls": list(request.tools)}) if request is not None else []
    told = {
        name: ("offered", "forbidden: a call is refused" if tools.denies(name) else "") for name, _, _ in sent
    }
    for left_out in request.withheld if request is not None else ():
        told[as_text(left_out.name)] = ("withheld", as_text(left_out.why))
    for tool in tools:
        if tool.name not in told:
            told[tool.name] = (
                ("withheld", "not sent with this request") if sent else ("offered", _in_text(request))
            )
    return told


def _in_text(request: Request | None) -> str:
    system = cast("Any", request.prefix[0]) if request is not None and len(request.prefix) else {}
    described = system.get("role") == "system"
    return "described in the system prompt" if described else "not sent with this request"


def note_on_choice(room: Room, request: Request | None) -> list[Block]:
    """A word on a forced choice.

    >>> note_on_choice(Room(900), Request([], tool_choice="required"))[0]["text"]
    'tool_choice was required: the model had to call a tool.'
    """
    choice = "auto" if request is None else request.tool_choice
    if choice == "auto":
        return []
    said = {"required": "the model had to call a tool", "none": "the model was not to call a tool"}
    told = said.get(choice, "the model had to call this tool")
    return [note(room, "info", f"tool_choice was {choice}: {told}.")]
