"""The story of a run as one page: what was asked, each step in order, and what came of it.

No scripts, no links, nothing fetched. It reads well without its style sheet, which is what a notebook
that is not trusted makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import one_line
from zoolab.records import Decision, Record, Step
from zoolab.show.block_types import Block, Room
from zoolab.show.blocks import MAX_BYTES, blocks_of_record
from zoolab.show.moment import Moment
from zoolab.show.wording import WORDS, change_as_text, headline, not_read, prompt_of, readable, totals_of
from zoolab.text import markup
from zoolab.text.markup import Html, block, clipped, code, facts, folded, join, note, table, tag
from zoolab.text.wording import count, listed
from zoolab.trace.events import without_secrets
from zoolab.trace.log import TraceLog

#: Up to so many steps are all shown; of more, the first half, a quarter at the end, and those with an error.
MAX_STEPS = 400
#: Bytes of cards; of the steps after that, only the headline is shown.
_MAX_CARDS = 3_000_000
_MAX_MESSAGES = 60

_MARKS = {"ok": "✓", "error": "✗", "pending": "…"}
_STATES = {"ok": "✓", "bad": "✗ failed:", "none": "– not checked:"}
_STYLES = {"raw": "raw", "prose": "prose", "call": "raw call"}


def render_page(trace: TraceLog) -> str:
    """Return the story as a whole HTML page."""
    story = tag("main", tag("h1", "The story of a run"), *_story(trace), class_="zoolab-story page")
    return markup.page(f"zoolab: {one_line(prompt_of(trace), 60)}", story_style(), story)


def render_fragment(trace: TraceLog, most: int = MAX_STEPS) -> str:
    """Return the story as a part of another page, such as a notebook's output: folded, with about `most`
    steps.
    """
    opening, *turns, ending = _story(trace, most)
    parts = [folded(f"{count(len(trace), 'step')}, turn by turn", *turns)] if turns else []
    parts.append(folded(f"messages[] at the end: {count(len(trace.messages), 'message')}", ending))
    return tag("div", tag("style", story_style()), opening, *parts, class_="zoolab-story")


def shared_fragment(trace: TraceLog, most: int = MAX_STEPS) -> str:
    """Return the same without secrets, for what a notebook keeps; says so of a trace that no file
    could hold.
    """
    try:
        return render_fragment(without_secrets(trace), most)
    except InvalidInput as error:
        return tag("div", note(f"This run cannot be shown: {error}."), class_="zoolab-story")


def story_style() -> Html:
    """Return the style sheet of a story."""
    return markup.style_sheet("zoolab.show", "story.css", ".zoolab-story")


def _story(trace: TraceLog, most: int = MAX_STEPS) -> Iterator[Html]:
    answer = trace.answer
    yield tag(
        "div",
        tag("h2", "Asked", class_="jp-toc-ignore"),
        block(prompt_of(trace) or "nothing", "the prompt", "prose asked"),
        _outcome(trace),
        block(answer, "the answer", "prose answered") if answer else None,
        _facts(trace),
        _not_read(trace),
        class_="opening",
    )
    yield from _turns(trace, most)
    yield _ending(trace)


def _outcome(trace: TraceLog) -> Html:
    status = {"answer": "ok", "open": "pending"}.get(trace.outcome, "error")
    words = WORDS["outcomes"].get(trace.outcome, f"Ended by {clipped(trace.outcome, 80)}")
    mark = tag("span", tag("span", _MARKS[status], aria_hidden="true"), f" {words}", class_=f"mark {status}")
    return join(
        tag("p", mark, class_="outcome"),
        block(trace.error, "the error that ended the run") if trace.error is not None else None,
        render_blocks(Room(20_000).fault(trace.fault)) if trace.fault is not None else None,
    )


def _not_read(trace: TraceLog) -> Html | None:
    """Return what the file had and this page has not."""
    lines = not_read(trace)
    told = tag("ul", *(tag("li", clipped(line, 400)) for line in lines))
    return folded(f"{count(len(lines), 'place')} of the file not read", told) if lines else None


def _facts(trace: TraceLog) -> Html | None:
    steps = trace.steps
    totals = totals_of(trace)
    named = trace.meta.get("model")
    sent = totals["tokens_in"] or 0
    received = totals["tokens_out"] or 0
    found = {step.reply.model: None for step in steps if step.reply is not None and step.reply.model}
    models = readable(named) if named else ", ".join(list(found)[:4])
    others = [(k, v) for k, v in trace.meta.items() if k not in ("model", "not_read") and v is not None][:20]
    return facts(
        ("steps", f"{len(steps):,}"),
        ("turns", f"{totals['turns']:,}"),
        ("messages", f"{len(steps[-1].messages) if steps else 0:,}"),
        ("calls", f"{totals['calls']:,}"),
        ("errors", f"{len(trace.errors):,}"),
        ("tokens", f"{sent:,} sent, {received:,} received" if sent or received else None),
        ("time", totals["time"] or None),
        ("answered by", code(models) if models else None),
        ("run", code(trace.run_id)),
        *((clipped(str(key), 80), code(readable(value))) for key, value in others),
    )


def _turns(trace: TraceLog, most: int) -> Iterator[Html]:
    by_turn = groupby(_cards(trace, most), lambda card: (card[0].step.turn, card[0].step.kind == "define"))
    for (turn, defines), items in by_turn:
        title = "Before the first turn" if defines else f"Turn {turn}"
        shown = list(items)
        done = shown[0][0].turn
        summary = ""
        if not defines and done is not None and done.reply is not None:
            names = [call.call.name for call in done.calls.values()]
            summary = f"the model asks for {listed(names, 4)}" if names else "the model answers"
        steps = tag("ol", *(card for _, card in shown), class_="steps")
        yield tag("section", _heading(title, summary), steps, aria_label=title)


def _cards(trace: TraceLog, most: int) -> Iterator[tuple[Moment, Html]]:
    previous = -1
    turns = trace.turns
    room = _MAX_CARDS
    for seq in _chosen(trace.steps, most):
        moment = Moment(trace, seq, turns)
        gap = None
        shown = card_of(moment, brief=room <= 0)
        room -= len(shown.encode())
        if seq > previous + 1:
            which = f"Step {seq:,} is" if seq == previous + 2 else f"Steps {previous + 2:,} to {seq:,} are"
            left_out = note(f"{which} left out of this page; trace.steps has them all.")
            gap = tag("li", left_out, class_="gap", value=previous + 2)
        yield moment, join(gap, shown)
        previous = seq


def card_of(moment: Moment, brief: bool = False) -> Html:
    """Return the card of one step; a brief one leaves out what the step holds."""
    step = moment.step
    seq = moment.seq
    content: list[Html | None] = [note("left out: the page is full")]
    original = None if brief else moment.original
    if not brief:
        content = [render_blocks(blocks_of_record(moment, Room(MAX_BYTES), step.record))]
        if original is not None:
            asked = isinstance(original, Decision)
            summary = "What was asked" if asked else "This step was edited. What it was before"
            before = _lead(step._replace(record=original), 2_000)
            held = render_blocks(blocks_of_record(moment, Room(MAX_BYTES), original))
            content.append(folded(summary, before, held))
    change = None if brief else tag("span", change_as_text(moment.change), class_="change")
    return tag(
        "li",
        tag(
            "article",
            _header(moment, original),
            _lead(step, 200 if brief else 2_000),
            *content,
            tag("footer", change, " ", tag("code", f"trace.steps[{seq}]")),
        ),
        class_=f"step {step.kind} is-{step.status}",
        value=seq + 1,
    )


def _header(moment: Moment, original: Record | None) -> Html:
    """Show what step it is, of which call, and how it ended; `original` is what it held before it was
    answered.
    """
    step = moment.step
    number = tag("span", f"step {moment.seq + 1:,} of {len(moment.trace.steps):,}", class_="of")
    where = None
    if step.call is not None:
        attempt = f" · attempt {step.attempt}" if step.attempt > 1 else None
        slot = f" · slot {step.slot} · "
        where = tag("p", code(step.call.name), slot, code(step.call.id), attempt, class_="where")
    why = join(": ", code(step.error_code)) if step.error_code else None
    edited = "answered" if isinstance(original, Decision) else "edited"
    mark = tag("span", _MARKS[step.status], aria_hidden="true")
    return tag(
        "header",
        tag("h4", tag("span", step.kind, class_="kind"), " ", number, class_="jp-toc-ignore"),
        where,
        tag(
            "p",
            None if original is None else join(tag("span", edited, class_="edited"), " "),
            tag("span", mark, f" {step.status}", why, class_=f"mark {step.status}"),
            class_="status",
        ),
    )


def _lead(step: Step, limit: int) -> Html:
    text = headline(step)
    return tag("p", clipped(text[:1].upper() + text[1:], limit), class_="lead")


def _chosen(steps: list[Step], most: int) -> list[int]:
    total = len(steps)
    first = most // 2
    last = most // 4
    if total <= most:
        return list(range(total))
    middle = (seq for seq in range(first, total - last) if steps[seq].status == "error")
    errors = [seq for seq, _ in zip(middle, range(first), strict=False)]
    return [*range(first), *errors, *range(total - last, total)]


def _ending(trace: TraceLog) -> Html:
    messages = trace.messages
    first = min(len(messages), _MAX_MESSAGES // 3)
    last = max(first, len(messages) - (_MAX_MESSAGES - first))
    items = []
    for n in (*range(first), *range(last, len(messages))):
        if n == last > first:
            left_out = note(f"{count(last - first, 'message')} left out of this page")
            items.append(tag("li", left_out, class_="gap"))
        row = Room(20_000).message(n, messages[n], limit=1_000)
        items.append(tag("li", render_message(row, name=f"messages[{n}]"), value=n + 1))
    title = "messages[] at the end"
    return tag(
        "section",
        _heading(title, count(len(messages), "message")),
        tag("ol", *items, class_="messages"),
        _outcome(trace) if trace.error is not None else None,
        aria_label=title,
    )


def _heading(title: str, remark: str) -> Html:
    more = tag("span", f" {remark}", class_="summary") if remark else None
    return tag("h3", title, more, class_="jp-toc-ignore")


def render_blocks(blocks: list[Block]) -> Html:
    """Return the blocks in order; those that are marked as details are folded."""
    made = []
    for each in blocks:
        fold = each.get("fold") and each["b"] != "note"
        made.append(folded(_summary(each), _rendered(each)) if fold else _rendered(each))
    return join(*made)


def render_message(row: dict[str, Any], name: str | None = None) -> Html:
    """Return one message: its role, its content and its calls."""
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
    if content["b"] == "tools":
        states = [row["state"] for row in content["rows"]]
        kinds = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return f"The tools of this turn: {kinds}"
    if content["b"] == "messages":
        rows = content["rows"]
        return "The tool message" if len(rows) == 1 else count(len(rows), "message")
    return str(content["label"])


def _text(content: dict[str, Any], label: str, style: str) -> Html:
    text = content["text"]
    cut = content["cut"]
    told = note(f"cut: the first {len(text):,} of {len(text) + cut:,} characters") if cut else None
    return join(block(text, label, style, len(text)), told)


def _caption(text: str) -> Html:
    return tag("p", text, class_="caption")


def _rendered(content: Block) -> Html | None:
    label = content.get("label", "")
    rows = content.get("rows", [])
    match content["b"]:
        case "facts":
            return facts(*((name, code(value, 1_000)) for name, value in rows))
        case "note" if content["tone"] in ("error", "fault"):
            return tag("p", tag("strong", content["text"]))
        case "note":
            return note(content["text"])
        case "code":
            style = _STYLES[content["style"]]
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
        case "nested":
            told = f"a sub-agent: {count(content['steps'], 'step')}, outcome {content['outcome']}"
            rest = note(f"{count(content['cut'], 'more step')} in its trace") if content["cut"] else None
            return folded(told, tag("ol", *(tag("li", row) for row in rows)), rest)
        case _:
            return None


def _checks(label: str, rows: list[dict[str, Any]]) -> Html:
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
    choice = content["choice"]
    touched = content["resource"]
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
