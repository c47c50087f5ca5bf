"""The story of a run as one page: what was asked, each step in order, and what came of it.

No scripts, no links, nothing fetched. It reads well without its style sheet, which is what a notebook
that is not trusted makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from zoolab.records import Outcome, Request, Result, Step, ToolCall, Verdict
from zoolab.trace.story.boxes import fault_note, message_box
from zoolab.trace.story.cards import MARKS, card
from zoolab.trace.story.markup import Html, block, clipped, code, facts, join, note, style_sheet, tag
from zoolab.trace.story.scene import Scene
from zoolab.trace.story.words import as_text, content_of, count, duration, listed, one_line
from zoolab.trace.summary import tokens_used

if TYPE_CHECKING:
    from zoolab.records import Message
    from zoolab.trace.trace import Trace

#: Up to so many steps are all shown; of more, the first half, a quarter at the end, and those with an error.
MAX_STEPS = 400
#: Bytes of cards; the steps after that are named only.
MAX_BYTES, MAX_CARD = 3_500_000, 700_000
_MAX_MESSAGES = 60

_OUTCOMES = {
    "answer": ("ok", "The model answered"),
    "no_tool_call": ("error", "The model answered, but ignored a forced call"),
    "wrong_tool": ("error", "The model answered, but called another tool than the forced one"),
    "open": ("pending", "Not at its end"),
    "interrupted": ("error", "Interrupted by hand"),
    "failed": ("error", "Ended by an exception"),
    "loop_limit": ("error", "Ended by a limit"),
    "retries_exhausted": ("error", "Ended: no retries left"),
    "model_error": ("error", "Ended: no usable reply"),
    "replay_miss": ("error", "Ended: not in the recording"),
}


def render_page(trace: Trace) -> str:
    """The story as a whole HTML page.

    >>> from zoolab import Scripted, Trace, walk
    >>> page = render_page(Trace.record(walk("Hi", [], Scripted(["Hello"]))))
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"zoolab: {one_line(_prompt(trace), 60)}"),
        _style(),
    )
    body = tag(
        "body", tag("main", tag("h1", "The story of a run"), *_story(trace), class_="zoolab-story page")
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en")


def render_fragment(trace: Trace, most: int = MAX_STEPS) -> str:
    """The story as a part of another page, a notebook's output for instance, with about `most` steps.

    >>> from zoolab import Scripted, Trace, walk
    >>> render_fragment(Trace.record(walk("Hi", [], Scripted(["Hello"]))))[:26]
    '<div class="zoolab-story">'
    """
    return tag("div", _style(), *_story(trace, most), class_="zoolab-story")


def _style() -> Html:
    return tag("style", style_sheet("zoolab.trace.story", "story.css", ".zoolab-story"))


def _story(trace: Trace, most: int = MAX_STEPS) -> Iterator[Html]:
    yield _opening(trace)
    yield from _turns(Scene.of(trace), most)
    yield _ending(trace)


def _opening(trace: Trace) -> Html:
    answer = trace.answer
    return tag(
        "header",
        tag("h2", "Asked", class_="jp-toc-ignore"),
        block(_prompt(trace) or "nothing", "the prompt", "prose asked"),
        _outcome(trace),
        block(answer, "the answer", "prose answered") if answer else None,
        _facts(trace),
        class_="opening",
    )


def _outcome(trace: Trace) -> Html:
    status, words = _OUTCOMES.get(trace.outcome, ("error", f"Ended by {clipped(trace.outcome, 80)}"))
    mark = tag("span", tag("span", MARKS[status], aria_hidden="true"), f" {words}", class_=f"mark {status}")
    return join(
        tag("p", mark, class_="outcome"),
        block(trace.error, "the error that ended the run") if trace.error is not None else None,
        fault_note(trace.fault) if trace.fault is not None else None,
    )


def _facts(trace: Trace) -> Html | None:
    steps = trace.steps
    sent, received = (tokens or 0 for tokens in tokens_used(steps))
    models = _models(trace)
    known = (f"{sent:,} sent, {received:,} received") if sent or received else None
    others = [(k, v) for k, v in trace.meta.items() if k != "model" and v is not None][:20]
    return facts(
        ("steps", f"{len(steps):,}"),
        ("turns", f"{len({step.turn for step in steps if step.kind != 'define'}):,}"),
        ("messages", f"{len(steps[-1].messages) if steps else 0:,}"),
        ("calls", f"{sum(isinstance(step.record, ToolCall) for step in steps):,}"),
        ("errors", f"{_errors(trace):,}"),
        ("tokens", known),
        ("time", duration(trace.started[-1] * 1000) if steps else None),
        ("answered by", code(models) if models else None),
        ("run", code(trace.run_id)),
        *((clipped(str(key), 80), code(as_text(value))) for key, value in others),
    )


def _turns(scene: Scene, most: int) -> Iterator[Html]:
    """The chosen steps by turn, with a note wherever some are left out."""
    for (turn, defines), items in groupby(_cards(scene, most), lambda item: item[0]):
        title = "Before the first turn" if defines else f"Turn {turn}"
        summary = "" if defines else _summary(scene, turn)
        listed = tag("ol", *(item for _, item in items), class_="steps")
        yield tag("section", _heading(title, summary), listed, aria_label=title)


def _cards(scene: Scene, most: int) -> Iterator[tuple[tuple[int, bool], Html]]:
    """The items of the list of steps, each with its turn and whether it defines the tools."""
    room, previous = MAX_BYTES, -1
    for seq in _chosen(scene.trace.steps, most):
        step = scene.trace.steps[seq]
        shown = _fitting_card(scene, seq, room)
        room -= len(shown.encode())
        yield (step.turn, step.kind == "define"), join(_gap(previous, seq), shown)
        previous = seq


def _fitting_card(scene: Scene, seq: int, room: int) -> Html:
    if room > 0:
        full = card(scene, seq)
        if len(full.encode()) <= min(MAX_CARD, room + MAX_CARD):
            return full
    return card(scene, seq, brief=True)


def _chosen(steps: list[Step], most: int) -> list[int]:
    """The numbers of the steps that are shown."""
    total, first, last = len(steps), most // 2, most // 4
    if total <= most:
        return list(range(total))
    middle = (seq for seq in range(first, total - last) if steps[seq].status == "error")
    errors = [seq for seq, _ in zip(middle, range(first), strict=False)]
    return [*range(first), *errors, *range(total - last, total)]


def _gap(previous: int, seq: int) -> Html | None:
    missing = seq - previous - 1
    if missing < 1:
        return None
    which = f"Step {seq:,} is" if missing == 1 else f"Steps {previous + 2:,} to {seq:,} are"
    left_out = note(f"{which} left out of this page; trace.steps has them all.")
    return tag("li", left_out, class_="gap", value=previous + 2)


def _summary(scene: Scene, turn: int) -> str:
    """What the model did in a turn."""
    names = scene.asked.get(turn)
    if names is None:
        return ""
    return f"the model asks for {listed(names, 4)}" if names else "the model answers"


def _ending(trace: Trace) -> Html:
    messages = trace.messages
    first = min(len(messages), _MAX_MESSAGES // 3)
    last = max(first, len(messages) - (_MAX_MESSAGES - first))
    left_out = tag("li", note(f"{count(last - first, 'message')} left out of this page"), class_="gap")
    title = "messages[] at the end"
    return tag(
        "section",
        _heading(title, count(len(messages), "message")),
        tag(
            "ol",
            *(_message_item(messages, n) for n in range(first)),
            left_out if last > first else None,
            *(_message_item(messages, n) for n in range(last, len(messages))),
            class_="messages",
        ),
        _outcome(trace) if trace.error is not None else None,
        aria_label=title,
    )


def _message_item(messages: list[Message], n: int) -> Html:
    return tag("li", message_box(messages[n], 1_000, name=f"messages[{n}]"), value=n + 1)


def _heading(title: str, remark: str) -> Html:
    more = tag("span", f" {remark}", class_="summary") if remark else None
    return tag("h3", title, more, class_="jp-toc-ignore")


def _prompt(trace: Trace) -> str:
    """The last user message of the first request."""
    request = next((step.record for step in trace.steps if isinstance(step.record, Request)), None)
    sent = request.messages if request is not None else []
    return next((content_of(message) for message in reversed(sent) if message.get("role") == "user"), "")


def _models(trace: Trace) -> str:
    named = trace.meta.get("model")
    found = {step.reply.model: None for step in trace.steps if step.reply is not None and step.reply.model}
    return as_text(named) if named else ", ".join(list(found)[:4])


def _errors(trace: Trace) -> int:
    """How many entries `trace.errors` has, counted in one go."""
    ran = {(s.turn, s.slot) for s in trace.steps if isinstance(s.record, Outcome) and s.record.ok}
    wrong = sum(_is_error(step.record, (step.turn, step.slot) in ran) for step in trace.steps)
    return wrong + (trace.error is not None)


def _is_error(record: Any, ran: bool) -> bool:
    match record:
        case Verdict():
            return not record.ok
        case Outcome():
            return not record.ok
        case Result():
            return bool(record.error_code) and ran
        case _:
            return False
