"""Faults of a reply: of all of it, or of the calls in it: their names, their ids, their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from zoolab.faults import Fault
from zoolab.jsontext import encode
from zoolab.models.faulty.arguments import ARGUMENTS, NULL, break_arguments, parsed, problems
from zoolab.models.faulty.kinds import Plan, draw
from zoolab.records import Message, Reply, Request
from zoolab.steps.tool_call import read_calls

MANY = 20
MARKUP = "</script><img src=x onerror=\"alert('zoolab')\"><script>alert('zoolab')</script>\x1b[2J"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, what names it, and what was said since the user's last question."""

    request: Request
    key: str
    turns: tuple[Message, ...]

    @classmethod
    def of(cls, request: Request, key: str) -> Asked:
        """What is known of a request."""
        said = takewhile(lambda message: message.get("role") != "user", reversed(request.messages))
        turns = [message for message in said if message.get("role") == "assistant"]
        return cls(request, key, tuple(reversed(turns)))

    @property
    def calls(self) -> list[WireCall]:
        """The calls that were made since the question."""
        return [call for message in self.turns for call in calls_in(message)]

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """The schemas of the tools that the request offers."""
        functions = [tool["function"] for tool in self.request.tools]
        return {function["name"]: function.get("parameters") or {} for function in functions}


def break_reply(reply: Reply, asked: Asked, plan: Plan, in_text: bool = False) -> Reply:
    """The reply with one fault, or with one in each of its calls, and their marks.

    >>> asked = Asked.of(Request([{"role": "user", "content": "Hi"}]), "")
    >>> reply = break_reply(Reply({"role": "assistant", "content": "Hello"}), asked, Plan({"empty_reply": 1}))
    >>> reply.text, str(reply.faults[0])
    ('', 'empty_reply in the reply')
    """
    for name in plan.ranked(REPLIES, asked.key) if plan.allows(len(asked.turns)) else ():
        message = REPLIES[name](reply.message)
        if message is not None:
            mark = Fault(name, "the reply", _said(reply.message), _said(message))
            return _changed(reply, message, [mark])
    calls = calls_in(reply.message)
    if calls:
        earlier = asked.calls if plan.times else []
        broken, faults = break_calls(calls, earlier, asked.schemas, plan, asked.key)
        return _changed(reply, {**reply.message, "tool_calls": broken}, faults)
    return _break_text(reply, asked, plan) if in_text else reply


def repeat_call(asked: Asked, in_text: bool = False) -> Reply | None:
    """The last call once more, whatever came of it; None if there was none.

    >>> repeat_call(Asked.of(Request([{"role": "user", "content": "Hi"}]), "")) is None
    True
    """
    last = next((message for message in reversed(asked.turns) if calls_in(message)), None)
    if last is None:
        return None
    calls = [{**call, "id": f"call_{asked.key[:8]}_{slot}"} for slot, call in enumerate(calls_in(last))]
    again = {"tool_calls": calls} if not in_text else {}
    message = {"role": "assistant", "content": last.get("content"), **again}
    return Reply(message, "tool_calls", faults=(Fault("same_call", "the reply", "", _said(last)),))


def _break_text(reply: Reply, asked: Asked, plan: Plan) -> Reply:
    """The same for calls in text, as far as they are still found there and read as they were broken."""
    found = read_calls(reply.text)
    calls = [_on_the_wire(call.name, call.arguments) for call in found]
    broken, faults = break_calls(calls, asked.calls, asked.schemas, plan, asked.key)
    text, kept = reply.text, list[Fault]()
    for fault in faults:
        slot = fault.slot or 0
        spliced = _spliced(text, calls[slot]["function"], broken[slot]["function"])
        calls[slot] = broken[slot]
        if [_on_the_wire(call.name, call.arguments) for call in read_calls(spliced)] == calls:
            text = spliced
            kept.append(fault)
        else:
            calls[slot] = _on_the_wire(found[slot].name, found[slot].arguments)
    return _changed(reply, {**reply.message, "content": text}, kept)


def _on_the_wire(name: str, arguments: str) -> WireCall:
    return {"function": {"name": name, "arguments": arguments}}


def _spliced(text: str, old: dict[str, Any], new: dict[str, Any]) -> str:
    for part in ("name", "arguments"):
        if isinstance(new[part], str) and new[part] != old[part]:
            text = text.replace(old[part], new[part], 1)
    return text


def _changed(reply: Reply, message: Message, faults: Sequence[Fault]) -> Reply:
    """What came from the endpoint, piece by piece, is not what this reply says: it is left out."""
    if not faults:
        return reply
    cut = any(fault.name == "cut_by_length" for fault in faults)
    finish = "length" if cut else reply.finish_reason
    return replace(
        reply, message=message, finish_reason=finish, pieces=(), raw=None, faults=(*reply.faults, *faults)
    )


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


#: The id that every call gets from a model that knows only one.
ONE_ID = "call_0"
#: Of what was broken, a mark keeps so many characters.
MAX_KEPT = 2_000

WireCall = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a fault may look at: the calls of a reply, which of them it is for, and the tools on offer."""

    calls: Sequence[WireCall]
    slot: int = 0
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    chance: float = 0.0

    @property
    def call(self) -> WireCall:
        """The call."""
        return self.calls[self.slot]

    @property
    def name(self) -> str:
        """The tool that it asks for."""
        return str(self.call["function"].get("name"))

    @property
    def schema(self) -> Mapping[str, Any]:
        """The schema of that tool; empty if it is not known."""
        return self.schemas.get(self.name, {})


def break_calls(
    calls: Sequence[WireCall],
    earlier: Sequence[WireCall],
    schemas: Mapping[str, Mapping[str, Any]],
    plan: Plan,
    key: str,
) -> tuple[list[WireCall], list[Fault]]:
    """The calls of a reply with at most one fault each, and the marks; `key` names the request.

    >>> call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    >>> calls, faults = break_calls([call], [], {}, Plan({"trailing_comma": 1}), "")
    >>> calls[0]["function"]["arguments"], str(faults[0])
    ('{"a": 1,}', 'trailing_comma in arguments of add')
    """
    broken, faults = list(calls), list[Fault]()
    for slot in range(len(calls)):
        before = [*earlier, *calls[:slot]]
        for name in plan.ranked(CALLS, key, slot):
            asking = Asking(calls, slot, schemas, draw(plan.seed, name, key, slot, "where"))
            made = CALLS[name](asking)
            if made is not None and plan.allows(chances(name, before, schemas) if plan.times else 0):
                broken[slot] = made
                faults.append(_mark(name, asking, made))
                break
    return broken, faults


def chances(name: str, calls: Sequence[WireCall], schemas: Mapping[str, Mapping[str, Any]]) -> int:
    """How many of the calls that were made before are broken, or could have been.

    >>> call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    >>> chances("trailing_comma", [call], {}), chances("unknown_tool", [call], {})
    (0, 1)
    """
    asked = (Asking([calls[0], call], 1, schemas) for call in calls)
    return sum(_is_broken(each) or CALLS[name](each) is not None for each in asked)


def text_of(value: Any) -> str:
    """What was on the wire, as text of bounded length.

    >>> text_of(None), text_of("{}"), text_of({"a": 1})
    ('null', '{}', '{"a":1}')
    """
    text = value if isinstance(value, str) else encode(value)
    return text if len(text) <= MAX_KEPT else f"{text[:MAX_KEPT]}… ({len(text):,} characters)"


def calls_in(message: Message) -> list[WireCall]:
    """The calls in a message that have the form of one.

    >>> calls_in({"role": "assistant", "tool_calls": [None]})
    []
    """
    found = message.get("tool_calls")
    calls: list[Any] = found if isinstance(found, list) else []
    well_formed = all(isinstance(c, dict) and isinstance(c.get("function"), dict) for c in calls)
    return list(calls) if well_formed else []


def _is_broken(asking: Asking) -> bool:
    raw = asking.call["function"].get("arguments")
    value = parsed("{}" if raw is None or not str(raw).strip() else raw)
    return value is None or (bool(asking.schema) and problems(asking.schema, value))


def _mark(name: str, asking: Asking, made: WireCall) -> Fault:
    before, what = asking.call, "arguments"
    if "id" in before and before["id"] != made.get("id"):
        return Fault(
            name, f"id of {asking.name}", text_of(before["id"]), text_of(made.get("id")), slot=asking.slot
        )
    if before["function"].get("name") != made["function"].get("name"):
        what = "name"
    old, new = (text_of(call["function"].get(what)) for call in (before, made))
    return Fault(name, f"{what} of {asking.name}", old, new, slot=asking.slot)


def _unknown_tool(asking: Asking) -> WireCall:
    name = asking.name
    invented = f"{name[:50]}_{int(asking.chance * 16**6):06x}"
    return _with_function(asking.call, name=invented if invented not in asking.schemas else f"{invented}_")


def _missing_id(asking: Asking) -> WireCall | None:
    return {key: value for key, value in asking.call.items() if key != "id"} if "id" in asking.call else None


def _duplicate_id(asking: Asking) -> WireCall | None:
    first = asking.calls[0].get("id")
    taken = asking.slot == 0 or not first or first == asking.call.get("id")
    return None if taken else {**asking.call, "id": first}


def _constant_id(asking: Asking) -> WireCall | None:
    return {**asking.call, "id": ONE_ID} if asking.call.get("id") != ONE_ID else None


def _arguments(name: str) -> Callable[[Asking], WireCall | None]:
    def broken(asking: Asking) -> WireCall | None:
        raw = asking.call["function"].get("arguments")
        made = break_arguments(name, raw, asking.schema, asking.chance)
        return None if made is None else _with_function(asking.call, arguments=None if made is NULL else made)

    return broken


def _cut_by_length(asking: Asking) -> WireCall | None:
    """Only the last call of a reply can be the one that was cut."""
    last = asking.slot == len(asking.calls) - 1
    return _arguments("cut_by_length")(asking) if last else None


def _with_function(call: WireCall, **changes: Any) -> WireCall:
    return {**call, "function": {**call["function"], **changes}}


#: The faults of calls, by name.
CALLS: Mapping[str, Callable[[Asking], WireCall | None]] = {
    "unknown_tool": _unknown_tool,
    "missing_id": _missing_id,
    "duplicate_id": _duplicate_id,
    "constant_id": _constant_id,
    **{name: _arguments(name) for name in ARGUMENTS},
    "cut_by_length": _cut_by_length,
}
