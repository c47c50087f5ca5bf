"""One turn of a trace in every wire format, side by side: what each API would be sent, and answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from zoolab.apis import APIS, WireBody, WireWarning, translate, translate_reply
from zoolab.errors import InvalidInput, ModelError
from zoolab.files import read_shipped
from zoolab.jsontext import excerpt, visible
from zoolab.jsontext.values import any_json
from zoolab.secrets import scrub_json
from zoolab.text.markup import Html, block, clipped, code, join, note, tag
from zoolab.trace.log import TraceLog

#: Characters of a body that are shown.
MAX_BODY = 20_000


@dataclass(frozen=True, slots=True)
class Wires:
    """One turn in every format: the body of its request, and its reply as that API would answer it.

    What a format cannot say, or says otherwise, is in the `warnings` of its body. A format that has no form
    for the turn at all has an empty body and the warning `no_form`.
    """

    turn: int
    bodies: Mapping[str, WireBody]
    #: Empty if the turn has no reply.
    replies: Mapping[str, WireBody]

    def __str__(self) -> str:
        told = []
        for name in self.bodies:
            told.append(f"== {APIS[name].label} ==")
            for what, made in self._parts(name):
                warnings = "".join(f"\n! {warning}" for warning in made.warnings)
                told.append(f"{what}\n{_shown(made.body)}{warnings}")
        return visible("\n\n".join(told))

    def _parts(self, name: str) -> list[tuple[str, WireBody]]:
        replied = [("reply", self.replies[name])] if name in self.replies else []
        return [("request", self.bodies[name]), *replied]

    def _repr_html_(self) -> str:
        columns = [_column(APIS[name].label, self._parts(name)) for name in self.bodies]
        style = tag("style", Html(read_shipped("zoolab_connect", "wires.css")))
        return str(join(style, tag("div", *columns, class_="zoolab-wires")))


def show_wires(trace: TraceLog, turn: int = 1) -> Wires:
    """Return one turn of a trace in every format; see `Trace.show_wires`."""
    turns = trace.turns
    found = next((each for each in turns if each.number == turn), None)
    if found is None:
        known = f"one of 1 to {turns[-1].number}" if turns else "a trace with a request"
        raise InvalidInput(f"there is no turn {excerpt(turn)}", expected=known)
    bodies = {name: _made(name, translate, found.request) for name in APIS}
    reply = found.reply
    replies = {} if reply is None else {n: _made(n, translate_reply, reply.message) for n in APIS}
    return Wires(turn, MappingProxyType(bodies), MappingProxyType(replies))


def _made(name: str, make: Callable[[Any, str], WireBody], what: Any) -> WireBody:
    try:
        return make(what, name)
    except (InvalidInput, ModelError) as error:
        return WireBody(name, {}, (WireWarning("no_form", "", str(error)),))


def _shown(body: dict[str, Any]) -> str:
    return clipped(json.dumps(scrub_json(any_json(body)), indent=2, ensure_ascii=False), MAX_BODY)


def _column(title: str, parts: list[tuple[str, WireBody]]) -> Html:
    shown: list[Html] = []
    for what, made in parts:
        shown.append(tag("h4", what, class_="jp-toc-ignore"))
        shown.append(block(_shown(made.body), f"{title}: {what}", limit=MAX_BODY + 100))
        warnings = []
        for warning in made.warnings:
            where = join(" at ", code(warning.pointer)) if warning.pointer else None
            warnings.append(tag("li", code(warning.code), where, f": {clipped(warning.message, 400)}"))
        if warnings:
            shown += [note("What this wire says otherwise:"), tag("ul", *warnings)]
    return tag("section", tag("h3", title, class_="jp-toc-ignore"), *shown, aria_label=title)
