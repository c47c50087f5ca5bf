"""Faults in a reply: in the whole reply, in the names and ids of its calls, or in their arguments.

A fault of arguments takes correct ones and gives a broken form of them as it is on the wire, or None if there
is nothing to break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from zoolab.errors import InvalidSchema
from zoolab.fault import Fault
from zoolab.jsontext import encode
from zoolab.records import Message, Reply, Request, without
from zoolab.schema.checker import SchemaChecker
from zoolab_connect.apis.messages import json_object
from zoolab_connect.faulty.kinds import FaultKind, FaultPlan, broken_by, draw

MANY = 20
MARKUP = "</script><img src=x onerror=\"alert('zoolab')\"><script>alert('zoolab')</script>\x1b[2J"
#: The id that every call gets from a model that knows only one.
ONE_ID = "call_0"
#: Of what was broken, a mark keeps so many characters.
MAX_KEPT = 2_000

LEVELS = 2_000
DIGITS = 5_000
_STRING = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(rf"(?P<key>{_STRING})(?=\s*:)|(?P<string>{_STRING})|(?P<number>-?\d[\d.eE+-]*+)")
_NAME = re.compile(r'"[A-Za-z_]\w*"', re.ASCII)
_ESCAPED_QUOTE = re.compile(r"\\.|'", re.DOTALL)

#: Stands for JSON's null, since None says that there is nothing to break.
NULL: Any = object()

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]
WireCall = dict[str, Any]


class AskedRequest(NamedTuple):
    """A request, what names it, and the assistant's messages since the user's last question."""

    request: Request
    key: str
    turns: tuple[Message, ...]

    @classmethod
    def of(cls, request: Request, key: str) -> AskedRequest:
        """Return what is known of a request."""
        said = takewhile(lambda message: message.get("role") != "user", reversed(request.messages))
        turns = [message for message in said if message.get("role") == "assistant"]
        return cls(request, key, tuple(reversed(turns)))


def break_reply(reply: Reply, asked: AskedRequest, plan: FaultPlan) -> Reply:
    """Return the reply with one fault, or with one in each of its calls, and their marks."""
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


#: The fault of a whole reply in whose place the last call stands once more.
SAME_CALL = "same_call"


def repeat_call(asked: AskedRequest) -> Reply | None:
    """Return the last call once more, whatever came of it; None if there was none."""
    last = next((message for message in reversed(asked.turns) if calls_in(message)), None)
    if last is None:
        return None
    calls = [{**call, "id": f"call_{asked.key[:8]}_{slot}"} for slot, call in enumerate(calls_in(last))]
    message = {"role": "assistant", "content": last.get("content"), "tool_calls": calls}
    return Reply(message, "tool_calls", faults=(Fault(SAME_CALL, "the reply", "", _said(last)),))


def break_calls(
    calls: Sequence[WireCall], schemas: Schemas, plan: FaultPlan, key: str
) -> tuple[list[WireCall], list[Fault]]:
    """Return the calls of a reply with at most one fault each, and the marks; `key` names the request."""
    broken = list(calls)
    faults = list[Fault]()
    others = plan.registered("tool_call")
    breaking: Mapping[str, Callable[[_At], WireCall | None]] = {
        **CALLS,
        **{name: partial(_by_registered, kind) for name, kind in others.items()},
    }
    for slot, call in enumerate(calls):
        for name in plan.ranked(breaking, key, slot):
            made = breaking[name](_At(call, slot, calls, schemas, draw(plan.seed, name, key, slot, "where")))
            if made is not None and plan.allows(sum(fault.name == name for fault in faults)):
                broken[slot] = made
                faults.append(_mark(name, call, made, slot))
                break
    return broken, faults


def _changed(reply: Reply, message: Message, faults: Sequence[Fault]) -> Reply:
    """Leave out what came from the endpoint piece by piece: it is not what this reply says."""
    if not faults:
        return reply
    cut = any(fault.name == "cut_by_length" for fault in faults)
    finish = "length" if cut else reply.finish_reason
    return replace(
        reply, message=message, finish_reason=finish, pieces=(), raw=None, faults=(*reply.faults, *faults)
    )


def _mark(name: str, before: WireCall, made: WireCall, slot: int) -> Fault:
    tool = before["function"].get("name")
    what = "arguments"
    old = before["function"]
    new = made["function"]
    if "id" in before and before["id"] != made.get("id"):
        old = before
        new = made
        what = "id"
    elif old.get("name") != new.get("name"):
        what = "name"
    return Fault(name, f"{what} of {tool}", wire_text(old.get(what)), wire_text(new.get(what)), slot=slot)


def wire_text(value: Any) -> str:
    """Return what was on the wire, as text of bounded length."""
    text = value if isinstance(value, str) else encode(value)
    return text if len(text) <= MAX_KEPT else f"{text[:MAX_KEPT]}… ({len(text):,} characters)"


def calls_in(message: Message) -> list[WireCall]:
    """Return the calls in a message that have the form of one."""
    found = message.get("tool_calls")
    calls: list[Any] = found if isinstance(found, list) else []
    well_formed = all(isinstance(c, dict) and isinstance(c.get("function"), dict) for c in calls)
    return list(calls) if well_formed else []


def _said(message: Message) -> str:
    said = message.get("content") or ""
    calls = [call["function"] for call in calls_in(message)]
    named = ", ".join(f"{call.get('name')}({wire_text(call.get('arguments'))})" for call in calls)
    return wire_text(" ".join(part for part in (wire_text(said), named) if part))


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


def break_arguments(name: str, raw: object, schema: Schema, chance: float) -> Any:
    """Return the arguments with a fault of `ARGUMENTS`, as they are on the wire; None if it does not apply.

    `schema` is the tool's, empty if it is not known; `chance`, from 0 to 1, picks among several places.
    """
    value = json_object(raw) if isinstance(raw, str) else None
    if not isinstance(raw, str) or not value:
        return None
    return ARGUMENTS[name](_Written(raw.strip(), value, schema, chance))


def problems(schema: Schema, value: Any) -> bool:
    """Return whether a value does not meet a schema; False if the schema itself is wrong."""
    try:
        return bool(SchemaChecker(schema).problems(value))
    except InvalidSchema:
        return False


class _Written(NamedTuple):
    """Arguments as a model wrote them: one object with at least one member."""

    raw: str
    value: dict[str, Any]
    schema: Schema
    chance: float

    def keys_from_chance(self) -> list[str]:
        """Return the keys, beginning at the one that chance picks."""
        keys = list(self.value)
        first = int(self.chance * len(keys))
        return keys[first:] + keys[:first]

    def like(self, value: Any) -> str:
        """Return a value as JSON, spaced as the model spaces it."""
        return json.dumps(value, ensure_ascii=False) if ": " in self.raw else encode(value)

    def with_member(self, key: str, text: str) -> str:
        return f"{self.raw[:-1].rstrip()}, {encode(key)}: {text}}}"

    def with_new_member(self, text: str) -> str:
        key = "extra"
        while key in self.value or encode(key) in encode(self.schema):
            key += "_"
        return self.with_member(key, text)

    def replaced(self, kind: str, change: Callable[[str], str]) -> str | None:
        """Return the text with one token of a kind changed."""
        tokens = [token for token in _TOKEN.finditer(self.raw) if token[kind]]
        if not tokens:
            return None
        token = tokens[int(self.chance * len(tokens))]
        return self.raw[: token.start()] + change(token[0]) + self.raw[token.end() :]

    def failing(self, texts: Iterable[str]) -> str | None:
        """Return the first text that does not meet the schema, which the arguments meet."""
        if not self.schema or problems(self.schema, self.value):
            return None
        return next((text for text in texts if problems(self.schema, json_object(text))), None)

    def nothing(self, made: Any) -> Any:
        """Return what says nothing: it is a fault only if something is required."""
        return made if self.schema and problems(self.schema, {}) else None


def _truncated(written: _Written) -> str:
    # What begins with a brace and lacks the last one never parses.
    return written.raw[: 1 + int(written.chance * (len(written.raw) - 1))]


def _unquoted_keys(written: _Written) -> str | None:
    def bare(token: re.Match[str]) -> str:
        return token[0].strip('"') if token["key"] and _NAME.fullmatch(token[0]) else token[0]

    changed = _TOKEN.sub(bare, written.raw)
    return changed if changed != written.raw else None


def _single_quoted(written: _Written) -> str:
    def requoted(found: re.Match[str]) -> str:
        return {'\\"': '"', "'": "\\'"}.get(found[0], found[0])

    def single(token: re.Match[str]) -> str:
        return token[0] if token["number"] else f"'{_ESCAPED_QUOTE.sub(requoted, token[0][1:-1])}'"

    return _TOKEN.sub(single, written.raw)


def _two_objects(written: _Written) -> str:
    key = next(iter(written.value))
    return f"{written.raw} {written.like({**written.value, key: another(written.value[key])})}"


def _duplicate_key(written: _Written) -> str:
    key = next(iter(written.value))
    return written.with_member(key, encode(another(written.value[key])))


def _missing_argument(written: _Written) -> str | None:
    without = ({k: v for k, v in written.value.items() if k != key} for key in written.keys_from_chance())
    return written.failing(map(written.like, without))


def _other_value(change: Callable[[Any], Any]) -> Callable[[_Written], str | None]:
    """Return a fault that changes a value, so that it does not meet the schema any more."""

    def broken(written: _Written) -> str | None:
        changes = ((key, change(written.value[key])) for key in written.keys_from_chance())
        values = ({**written.value, key: value} for key, value in changes if value is not None)
        return written.failing(map(written.like, values))

    return broken


def another(value: Any) -> Any:
    """Return a value of the same type that is not the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value + 1 != value else 0
    if isinstance(value, str):
        return f"not {value}"
    if isinstance(value, dict) and value:
        key = next(iter(value))
        return {**value, key: another(value[key])}
    return [another(value[0]), *value[1:]] if isinstance(value, list) and value else "?"


#: The faults of arguments, by name.
ARGUMENTS: Mapping[str, Callable[[_Written], Any]] = {
    "null_arguments": lambda written: written.nothing(NULL),
    "blank_arguments": lambda written: written.nothing(" "),
    "object_arguments": lambda written: written.value,
    "array_arguments": lambda written: f"[{written.raw}]",
    "number_arguments": lambda _written: 42,
    "doubly_encoded": lambda written: encode(written.raw),
    "truncated_arguments": _truncated,
    "cut_by_length": _truncated,
    "unquoted_keys": _unquoted_keys,
    "single_quoted": _single_quoted,
    "trailing_comma": lambda written: written.raw[:-1] + ",}",
    "prose": lambda written: f"Here are the arguments: {written.raw} I hope this helps.",
    "fenced": lambda written: f"```json\n{written.raw}\n```",
    "two_objects": _two_objects,
    "duplicate_key": _duplicate_key,
    "nan": lambda written: written.replaced("number", lambda _: "NaN"),
    "infinite_number": lambda written: written.replaced("number", lambda _: "1e999"),
    "lone_surrogate": lambda written: written.replaced("string", lambda text: text[:-1] + '\\ud83d"'),
    "deep_nesting": lambda written: written.with_new_member("[" * LEVELS + "]" * LEVELS),
    "too_many_digits": lambda written: written.replaced("number", lambda _: "9" * DIGITS),
    "wrong_type": _other_value(lambda value: [value] if isinstance(value, str | None) else encode(value)),
    "float_for_integer": _other_value(
        lambda value: float(value) if type(value) is int and abs(value) < 1 << 53 else None
    ),
    "boolean_for_integer": _other_value(lambda value: bool(value) if type(value) is int else None),
    "missing_argument": _missing_argument,
    "extra_argument": lambda written: written.failing([written.with_new_member("true")]),
}


class _At(NamedTuple):
    """What a fault may look at: the call that it is for, all calls of the reply, and the tools on offer."""

    call: WireCall
    slot: int
    calls: Sequence[WireCall]
    schemas: Schemas
    chance: float


def _unknown_tool(at: _At) -> WireCall:
    function = at.call["function"]
    invented = f"{str(function.get('name'))[:50]}_{int(at.chance * 16**6):06x}"
    name = invented if invented not in at.schemas else f"{invented}_"
    return {**at.call, "function": {**function, "name": name}}


def _duplicate_id(at: _At) -> WireCall | None:
    first = at.calls[0].get("id")
    taken = at.slot == 0 or not first or first == at.call.get("id")
    return None if taken else {**at.call, "id": first}


def _with_broken_arguments(name: str, at: _At) -> WireCall | None:
    function = at.call["function"]
    last = at.slot == len(at.calls) - 1
    if name == "cut_by_length" and not last:
        return None  # only the last call of a reply can be the one that was cut
    schema = at.schemas.get(str(function.get("name")), {})
    made = break_arguments(name, function.get("arguments"), schema, at.chance)
    changed = {**function, "arguments": None if made is NULL else made}
    return None if made is None else {**at.call, "function": changed}


def _by_registered(kind: FaultKind, at: _At) -> WireCall | None:
    function = at.call["function"]
    made = broken_by(kind, function.get("arguments"))
    return None if made is None else {**at.call, "function": {**function, "arguments": made}}


#: The faults of calls, by name.
CALLS: Mapping[str, Callable[[_At], WireCall | None]] = {
    "unknown_tool": _unknown_tool,
    "missing_id": lambda at: without(at.call, ["id"]) if "id" in at.call else None,
    "duplicate_id": _duplicate_id,
    "constant_id": lambda at: {**at.call, "id": ONE_ID} if at.call.get("id") != ONE_ID else None,
    **{name: partial(_with_broken_arguments, name) for name in ARGUMENTS},
}
