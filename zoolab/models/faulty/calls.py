"""Faults of a call in a reply: its name, its id, its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoolab.faults import Fault
from zoolab.jsontext import encode
from zoolab.models.faulty.arguments import ARGUMENTS, NULL, break_arguments, parsed, problems
from zoolab.models.faulty.chance import Plan, draw
from zoolab.records import Message

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
        """The schema of that tool; empty where it is not known."""
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
