"""Faults in a reply: in the whole reply, or in the names, ids and arguments of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from zoolab.errors import Fault
from zoolab.jsontext import encode
from zoolab.models.faulty.arguments import ARGUMENTS, NULL, break_arguments
from zoolab.models.faulty.kinds import Plan, draw
from zoolab.records import Message, Reply, Request, without

MANY = 20
MARKUP = "</script><img src=x onerror=\"alert('zoolab')\"><script>alert('zoolab')</script>\x1b[2J"
#: The id that every call gets from a model that knows only one.
ONE_ID = "call_0"
#: Of what was broken, a mark keeps so many characters.
MAX_KEPT = 2_000

WireCall = dict[str, Any]
Schemas = Mapping[str, Mapping[str, Any]]


class Asked(NamedTuple):
    """A request, what names it, and the assistant's messages since the user's last question."""

    request: Request
    key: str
    turns: tuple[Message, ...]

    @classmethod
    def of(cls, request: Request, key: str) -> Asked:
        """What is known of a request."""
        said = takewhile(lambda message: message.get("role") != "user", reversed(request.messages))
        turns = [message for message in said if message.get("role") == "assistant"]
        return cls(request, key, tuple(reversed(turns)))


def break_reply(reply: Reply, asked: Asked, plan: Plan) -> Reply:
    """The reply with one fault, or with one in each of its calls, and their marks."""
    if not plan.allows(len(asked.turns)):
        return reply
    for name in plan.ranked(REPLIES, asked.key):
        message = REPLIES[name](reply.message)
        if message is not None:
            return _changed(reply, message, [Fault(name, "the reply", _said(reply.message), _said(message))])
    # A tool of an API's own, such as a web search, has no function.
    functions = [tool["function"] for tool in asked.request.tools if "function" in tool]
    schemas = {function["name"]: function.get("parameters") or {} for function in functions}
    calls = calls_in(reply.message)
    if not calls:
        return reply
    broken, faults = break_calls(calls, schemas, plan, asked.key)
    return _changed(reply, {**reply.message, "tool_calls": broken}, faults)


def repeat_call(asked: Asked) -> Reply | None:
    """The last call once more, whatever came of it; None if there was none."""
    last = next((message for message in reversed(asked.turns) if calls_in(message)), None)
    if last is None:
        return None
    calls = [{**call, "id": f"call_{asked.key[:8]}_{slot}"} for slot, call in enumerate(calls_in(last))]
    message = {"role": "assistant", "content": last.get("content"), "tool_calls": calls}
    return Reply(message, "tool_calls", faults=(Fault("same_call", "the reply", "", _said(last)),))


def break_calls(
    calls: Sequence[WireCall], schemas: Schemas, plan: Plan, key: str
) -> tuple[list[WireCall], list[Fault]]:
    """The calls of a reply with at most one fault each, and the marks; `key` names the request."""
    broken, faults = list(calls), list[Fault]()
    for slot, call in enumerate(calls):
        for name in plan.ranked(CALLS, key, slot):
            made = CALLS[name](_At(calls, slot, schemas, draw(plan.seed, name, key, slot, "where")))
            if made is not None and plan.allows(sum(fault.name == name for fault in faults)):
                broken[slot] = made
                faults.append(_mark(name, call, made, slot))
                break
    return broken, faults


def _changed(reply: Reply, message: Message, faults: Sequence[Fault]) -> Reply:
    """What came from the endpoint, piece by piece, is not what this reply says: it is left out."""
    if not faults:
        return reply
    cut = any(fault.name == "cut_by_length" for fault in faults)
    finish = "length" if cut else reply.finish_reason
    return replace(
        reply, message=message, finish_reason=finish, pieces=(), raw=None, faults=(*reply.faults, *faults)
    )


def _mark(name: str, before: WireCall, made: WireCall, slot: int) -> Fault:
    tool, what = before["function"].get("name"), "arguments"
    old, new = before["function"], made["function"]
    if "id" in before and before["id"] != made.get("id"):
        old, new, what = before, made, "id"
    elif old.get("name") != new.get("name"):
        what = "name"
    return Fault(name, f"{what} of {tool}", text_of(old.get(what)), text_of(new.get(what)), slot=slot)


def text_of(value: Any) -> str:
    """What was on the wire, as text of bounded length."""
    text = value if isinstance(value, str) else encode(value)
    return text if len(text) <= MAX_KEPT else f"{text[:MAX_KEPT]}… ({len(text):,} characters)"


def calls_in(message: Message) -> list[WireCall]:
    """The calls in a message that have the form of one."""
    found = message.get("tool_calls")
    calls: list[Any] = found if isinstance(found, list) else []
    well_formed = all(isinstance(c, dict) and isinstance(c.get("function"), dict) for c in calls)
    return list(calls) if well_formed else []


def _said(message: Message) -> str:
    said = message.get("content") or ""
    calls = [call["function"] for call in calls_in(message)]
    named = ", ".join(f"{call.get('name')}({text_of(call.get('arguments'))})" for call in calls)
    return text_of(" ".join(part for part in (text_of(said), named) if part))


def _empty(message: Message) -> Message | None:
    said = message.get("content") or message.get("tool_calls")
    return {"role": "assistant", "content": ""} if said else None


def _many_calls(message: Message) -> Message | None:
    calls = calls_in(message)
    if not 0 < len(calls) < MANY:
        return None
    repeated = [calls[n % len(calls)] for n in range(MANY)]
    return {**message, "tool_calls": [{**call, "id": f"many_{n}"} for n, call in enumerate(repeated)]}


def _call_in_text(message: Message) -> Message | None:
    calls = calls_in(message)
    if not calls:
        return None
    function = calls[0]["function"]
    call = {"name": function.get("name"), "arguments": function.get("arguments")}
    text = f"{message.get('content') or ''} {encode(call)}".strip()
    return {"role": "assistant", "content": text}


def _markup(message: Message) -> Message | None:
    content = message.get("content")
    return {**message, "content": (content or "") + MARKUP} if isinstance(content, str | None) else None


#: The faults of whole replies, by name; `same_call` takes the place of asking the model.
REPLIES: Mapping[str, Callable[[Message], Message | None]] = {
    "empty_reply": _empty,
    "many_calls": _many_calls,
    "call_in_text": _call_in_text,
    "markup_in_text": _markup,
}


class _At(NamedTuple):
    """What a fault may look at: the calls of a reply, which of them it is for, and the tools on offer."""

    calls: Sequence[WireCall]
    slot: int
    schemas: Schemas
    chance: float

    @property
    def call(self) -> WireCall:
        return self.calls[self.slot]


def _unknown_tool(at: _At) -> WireCall:
    function = at.call["function"]
    invented = f"{str(function.get('name'))[:50]}_{int(at.chance * 16**6):06x}"
    name = invented if invented not in at.schemas else f"{invented}_"
    return {**at.call, "function": {**function, "name": name}}


def _duplicate_id(at: _At) -> WireCall | None:
    first = at.calls[0].get("id")
    taken = at.slot == 0 or not first or first == at.call.get("id")
    return None if taken else {**at.call, "id": first}


def _arguments(name: str) -> Callable[[_At], WireCall | None]:
    def broken(at: _At) -> WireCall | None:
        function, last = at.call["function"], at.slot == len(at.calls) - 1
        if name == "cut_by_length" and not last:
            return None  # only the last call of a reply can be the one that was cut
        schema = at.schemas.get(str(function.get("name")), {})
        made = break_arguments(name, function.get("arguments"), schema, at.chance)
        changed = {**function, "arguments": None if made is NULL else made}
        return None if made is None else {**at.call, "function": changed}

    return broken


#: The faults of calls, by name.
CALLS: Mapping[str, Callable[[_At], WireCall | None]] = {
    "unknown_tool": _unknown_tool,
    "missing_id": lambda at: without(at.call, ["id"]) if "id" in at.call else None,
    "duplicate_id": _duplicate_id,
    "constant_id": lambda at: {**at.call, "id": ONE_ID} if at.call.get("id") != ONE_ID else None,
    **{name: _arguments(name) for name in ARGUMENTS},
}
