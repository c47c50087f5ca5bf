"""The blocks of a step as HTML for the story page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from zoolab.show.block_types import Block
from zoolab.show.markup import Html, block, code, facts, folded, join, marked_block, note, table, tag
from zoolab.show.wording import count

_STATES = {"ok": "✓", "bad": "✗ failed:", "none": "– not checked:"}
_PROSE = ("the answer", "the text of the reply")


def render_blocks(blocks: list[Block]) -> Html:
    """The blocks in order; those that are marked as details are folded.

    >>> render_blocks([{"b": "note", "tone": "info", "text": "No tools."}])
    '<p class="note">No tools.</p>'
    """
    return join(*map(_rendered, blocks))


def render_message(row: dict[str, Any], name: str | None = None) -> Html:
    """One message: its role, its content and its calls.

    >>> row = {"role": "user", "id": "", "text": "Hi", "cut": 0, "calls": [], "others": ""}
    >>> "Hi" in render_message(row)
    True
    """
    style = "raw" if row["role"] == "tool" else "prose"
    return tag(
        "div",
        tag(
            "p",
            tag("strong", row["role"]),
            join(" answers ", code(row["id"])) if row["id"] else None,
            None if name is None else join(" ", tag("code", name, class_="at")),
            class_="role",
        ),
        _text(row["text"], row["cut"], "message", style) if row["text"] or row["cut"] else None,
        *map(_call, row["calls"]),
        block(row["others"], "other fields", "raw") if row["others"] else None,
        class_="message",
    )


def _rendered(content: Block) -> Html | None:
    made = _RENDERERS[content["b"]](content)
    return folded(_summary(content), made) if content.get("fold") and content["b"] != "note" else made


def _summary(content: Block) -> str:
    """What a folded block is, in a line."""
    if content["b"] == "tools":
        states = [row["state"] for row in content["rows"]]
        kinds = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return f"The tools of this turn: {kinds}"
    if content["b"] == "messages":
        rows = content["rows"]
        return "The tool message" if len(rows) == 1 else count(len(rows), "message")
    label: str = content["label"]
    return label


def _text(text: str, cut: int, label: str, style: str = "raw") -> Html:
    told = note(f"cut: the first {len(text):,} of {len(text) + cut:,} characters") if cut else None
    return join(block(text, label, style, len(text)), told)


def _call(call: dict[str, str]) -> Html:
    asks = tag("p", "asks for ", code(call["name"]), " as ", code(call["id"]))
    return join(asks, block(call["arguments"], "arguments"))


def _facts(content: Block) -> Html | None:
    return facts(*((name, code(value, 1_000)) for name, value in content["rows"]))


def _code(content: Block) -> Html:
    label = content["label"]
    style = "prose" if label in _PROSE else "raw call" if label == "the Python call" else "raw"
    caption = None if content.get("fold") else tag("p", f"{label[:1].upper()}{label[1:]}:", class_="caption")
    return join(caption, _text(content["text"], content["cut"], label, style))


def _note(content: Block) -> Html:
    if content["tone"] in ("error", "fault"):
        return tag("p", tag("strong", content["text"]))
    return note(content["text"])


def _messages(content: Block) -> Html:
    rows = content["rows"]
    old = [row for row in rows if not row["new"]]
    again = f"{count(len(old), 'earlier message')} {'is' if len(old) == 1 else 'are'} sent again"
    return join(
        folded(again, *map(render_message, old)) if old else None,
        *(render_message(row) for row in rows if row["new"]),
    )


def _checks(content: Block) -> Html:
    """The questions in one line each; of those that failed, a table of what was wrong."""
    bad = [row for row in content["rows"] if row["state"] == "bad"]
    asked = (
        tag("li", tag("span", _STATES[row["state"]], class_=f"check {row['state']}"), f" {row['text']}")
        for row in content["rows"]
    )
    rows = [
        (
            code(row["pointer"] or "(all of it)", 300),
            code(row["expected"], 1_000),
            code(row["received"], 1_000),
        )
        for row in bad
    ]
    problems = table("The problems", ["Where", "Expected", "Received"], rows) if rows else None
    caption = tag("p", f"Checked: {content['label']}", class_="caption")
    return join(caption, tag("ul", *asked, class_="checks"), problems)


def _diff(content: Block) -> Html:
    pieces = [(kind if kind in ("ins", "del") else "", text) for kind, text in content["pieces"]]
    legend = note("Struck out: ", tag("del", "before"), ". Underlined: ", tag("ins", "after"), ".")
    limit = sum(len(text) for _, text in pieces)
    caption = tag("p", f"{content['label'].capitalize()}:", class_="caption")
    return join(caption, marked_block(pieces, content["label"], limit), legend)


def _stream(content: Block) -> Html:
    return block("\n".join(content["pieces"]), content["label"])


def _fields(content: Block) -> Html:
    rows = [
        (
            code(row["name"]),
            ", ".join(_described(row)),
            row["description"],
        )
        for row in content["rows"]
    ]
    title = tag("p", tag("strong", code(content["label"], 400)), class_="caption")
    if not rows:
        return join(title, note("It takes no arguments."))
    return join(title, table(content["label"], ["Parameter", "Type", "Description"], rows))


def _described(row: dict[str, Any]) -> Iterator[str]:
    yield row["schema"]
    yield "required" if row["required"] else "optional"
    if row["default"]:
        yield f"default {row['default']}"


def _tools(content: Block) -> Html:
    lines = (
        tag("li", code(row["name"]), f": {row['state']}", f", {row['why']}" if row["why"] else None)
        for row in content["rows"]
    )
    return tag("ol", *lines)


def _flow(content: Block) -> Html:
    lines = (
        tag("li", f"messages[{row['message']}] {row['what']} ", code(row["id"]), f": {row['text']}")
        for row in content["rows"]
    )
    return join(tag("p", content["label"]), tag("ol", *lines))


def _permission(content: Block) -> Html:
    decided = "nothing yet" if content["choice"] == "pending" else content["choice"]
    return join(
        facts(
            ("tool", code(content["tool"])),
            ("risk", content["risk"] or None),
            ("it touches", code(content["resource"], 1_000) if content["resource"] else None),
            ("decided", decided),
            ("reason", content["reason"] or None),
        ),
        tag("p", "It would run with:", class_="caption"),
        block(content["arguments"], "the arguments it would run with"),
    )


def _nested(content: Block) -> None:
    """The page shows the steps of a sub-agent themselves."""


_RENDERERS: dict[str, Callable[[Block], Html | None]] = {
    "facts": _facts,
    "code": _code,
    "note": _note,
    "messages": _messages,
    "checks": _checks,
    "diff": _diff,
    "stream": _stream,
    "fields": _fields,
    "tools": _tools,
    "flow": _flow,
    "permission": _permission,
    "nested": _nested,
}
