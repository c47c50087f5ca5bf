"""Faults of a reply: of all of it, or of the calls in it, native or in its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from zoolab.faults import Fault
from zoolab.jsontext import encode
from zoolab.models.faulty.calls import WireCall, break_calls, calls_in, text_of
from zoolab.models.faulty.chance import Plan
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
    """The last call once more, whatever it came to; None where there was none.

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
