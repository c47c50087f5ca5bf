"""The blocks of a step as HTML for the story page."""

from __future__ import annotations

from typing import Any

from zoolab.show.block_types import Block
from zoolab.show.markup import Html, block, code, facts, folded, join, note, table, tag
from zoolab.show.wording import count

_STATES = {"ok": "✓", "bad": "✗ failed:", "none": "– not checked:"}
_PROSE = ("the answer", "the text of the reply")


def render_blocks(blocks: list[Block]) -> Html:
    """The blocks in order; those that are marked as details are folded."""
    made = []
    for each in blocks:
        fold = each.get("fold") and each["b"] != "note"
        made.append(folded(_summary(each), _rendered(each)) if fold else _rendered(each))
    return join(*made)


def render_message(row: dict[str, Any], name: str | None = None) -> Html:
    """One message: its role, its content and its calls."""
    calls = (
        join(
            tag("p", "asks for ", code(call["name"]), " as ", code(call["id"])),
            block(call["arguments"], "arguments"),
        )
        for call in row["calls"]
    )
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
        _text(row, "message", style) if row["text"] or row["cut"] else None,
        *calls,
        block(row["others"], "other fields") if row["others"] else None,
        class_="message",
    )


def _summary(content: Block) -> str:
    """What a folded block is, in a line."""
    if content["b"] == "tools":
        states = [row["state"] for row in content["rows"]]
        kinds = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return f"The tools of this turn: {kinds}"
    if content["b"] == "messages":
        rows = content["rows"]
        return "The tool message" if len(rows) == 1 else count(len(rows), "message")
    return str(content["label"])


def _text(content: dict[str, Any], label: str, style: str) -> Html:
    text, cut = content["text"], content["cut"]
    told = note(f"cut: the first {len(text):,} of {len(text) + cut:,} characters") if cut else None
    return join(block(text, label, style, len(text)), told)


def _caption(text: str) -> Html:
    return tag("p", text, class_="caption")


def _rendered(content: Block) -> Html | None:
    """A block in the form of its kind; the page shows the steps of a sub-agent themselves."""
    label, rows = content.get("label", ""), content.get("rows", [])
    match content["b"]:
        case "facts":
            return facts(*((name, code(value, 1_000)) for name, value in rows))
        case "note" if content["tone"] in ("error", "fault"):
            return tag("p", tag("strong", content["text"]))
        case "note":
            return note(content["text"])
        case "code":
            style = "prose" if label in _PROSE else "raw call" if label == "the Python call" else "raw"
            caption = None if content.get("fold") else _caption(f"{label[:1].upper()}{label[1:]}:")
            return join(caption, _text(content, label, style))
        case "messages":
            old = [row for row in rows if not row["new"]]
            again = f"{count(len(old), 'earlier message')} {'is' if len(old) == 1 else 'are'} sent again"
            new = (render_message(row) for row in rows if row["new"])
            return join(folded(again, *map(render_message, old)) if old else None, *new)
        case "checks":
            return _checks(label, rows)
        case "diff":
            pieces = [(kind if kind in ("ins", "del") else "", text) for kind, text in content["pieces"]]
            legend = note("Struck out: ", tag("del", "before"), ". Underlined: ", tag("ins", "after"), ".")
            length = sum(len(text) for _, text in pieces)
            return join(_caption(f"{label.capitalize()}:"), block(pieces, label, limit=length), legend)
        case "stream":
            return block("\n".join(content["pieces"]), label)
        case "fields":
            return _fields(label, rows)
        case "tools":
            whys = [f": {row['state']}" + (f", {row['why']}" if row["why"] else "") for row in rows]
            names = (code(row["name"]) for row in rows)
            return tag("ol", *(tag("li", *pair) for pair in zip(names, whys, strict=True)))
        case "flow":
            steps = (
                tag("li", f"messages[{row['message']}] {row['what']} ", code(row["id"]), f": {row['text']}")
                for row in rows
            )
            return join(tag("p", label), tag("ol", *steps))
        case "permission":
            return _permission(content)
        case _:
            return None


def _checks(label: str, rows: list[dict[str, Any]]) -> Html:
    """The questions in one line each; of those that failed, a table of what was wrong."""
    asked = (
        tag("li", tag("span", _STATES[row["state"]], class_=f"check {row['state']}"), f" {row['text']}")
        for row in rows
    )
    bad = [
        (
            code(row["pointer"] or "(all of it)", 300),
            code(row["expected"], 1_000),
            code(row["received"], 1_000),
        )
        for row in rows
        if row["state"] == "bad"
    ]
    problems = table("The problems", ["Where", "Expected", "Received"], bad) if bad else None
    return join(_caption(f"Checked: {label}"), tag("ul", *asked, class_="checks"), problems)


def _fields(label: str, rows: list[dict[str, Any]]) -> Html:
    """The parameters of a tool."""
    title = _caption(tag("strong", code(label, 400)))
    if not rows:
        return join(title, note("It takes no arguments."))
    cells = []
    for row in rows:
        required = "required" if row["required"] else "optional"
        default = f", default {row['default']}" if row["default"] else ""
        cells.append((code(row["name"]), f"{row['schema']}, {required}{default}", row["description"]))
    return join(title, table(label, ["Parameter", "Type", "Description"], cells))


def _permission(content: Block) -> Html:
    choice, touched = content["choice"], content["resource"]
    return join(
        facts(
            ("tool", code(content["tool"])),
            ("risk", content["risk"] or None),
            ("it touches", code(touched, 1_000) if touched else None),
            ("decided", "nothing yet" if choice == "pending" else choice),
            ("reason", content["reason"] or None),
        ),
        _caption("It would run with:"),
        block(content["arguments"], "the arguments it would run with"),
    )
