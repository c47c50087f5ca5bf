"""The cards of a story: one for each step, in one frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoolab.records import Decision, Outcome, ToolCall
from zoolab.trace.story.bodies import body
from zoolab.show.markup import Html, code, folded, join, note, tag
from zoolab.trace.story.scene import Scene
from zoolab.show.wording import change_in_words, count, one_line
from zoolab.trace.log import TraceLog

if TYPE_CHECKING:
    from zoolab.records import Record, Step

MARKS = {"ok": "✓", "error": "✗", "pending": "…"}

#: Of a sub-agent, so many steps are shown, and in full as long as they take no more bytes than that.
MAX_INNER, MAX_INNER_BYTES = 40, 250_000


def card(scene: Scene, seq: int, brief: bool = False) -> Html:
    """The card of one step; a brief one leaves out what the step holds.

    >>> from zoolab import Scripted, Trace, walk
    >>> scene = Scene.of(Trace.record(walk("Hi", [], Scripted(["Hello"]))))
    >>> "Hello" in card(scene, 2), "Hello" in card(scene, 2, brief=True)
    (True, False)
    """
    step = scene.trace.steps[seq]
    original = None if brief else scene.original(seq)
    return tag(
        "li",
        tag(
            "article",
            tag("header", _title(scene, seq), _where(step), _status(step, original)),
            note("left out: the page is full") if brief else body(scene, seq, step),
            None if brief else _sub_agent(scene, seq),
            None if original is None else _before(scene, seq, original),
            tag(
                "footer",
                None if brief else tag("span", change_in_words(scene.change(seq)), class_="change"),
                " ",
                tag("code", f"{scene.name}.steps[{seq}]"),
            ),
        ),
        class_=f"step {step.kind} is-{step.status}",
        value=seq + 1,
    )


def _sub_agent(scene: Scene, seq: int) -> Html | None:
    """The walk within an executed call; of a walk within that one, what came of it."""
    record = scene.trace.steps[seq].record
    inner = record.trace if isinstance(record, Outcome) else None
    if not isinstance(inner, TraceLog):
        return None
    told = f"a sub-agent: {count(len(inner), 'step')}, {count(len(inner.errors), 'error')}, {_end(inner)}"
    if scene.depth or not len(inner):
        return tag("p", told)
    more = len(inner) - MAX_INNER
    steps = tag("ol", *_inner_cards(scene.within(seq, inner)), class_="steps")
    return folded(told, steps, note(f"and {count(more, 'more step')}, left out here") if more > 0 else None)


def _inner_cards(scene: Scene) -> Iterator[Html]:
    room = MAX_INNER_BYTES
    for seq in range(min(MAX_INNER, len(scene.trace))):
        made = card(scene, seq, brief=room <= 0)
        room -= len(made.encode())
        yield made if room > 0 else card(scene, seq, brief=True)


def _end(trace: TraceLog) -> str:
    answer = trace.answer
    return f"outcome {one_line(trace.outcome, 80)}" if answer is None else f"answer {one_line(answer, 120)}"


def _title(scene: Scene, seq: int) -> Html:
    steps = scene.trace.steps
    number = tag("span", f"step {seq + 1:,} of {len(steps):,}", class_="of")
    return tag("h4", tag("span", steps[seq].kind, class_="kind"), " ", number, class_="jp-toc-ignore")


def _where(step: Step) -> Html | None:
    if step.call is None:
        return None
    place = f" · slot {step.slot} · "
    attempt = f" · attempt {step.attempt}" if step.attempt > 1 else None
    return tag("p", code(step.call.name), place, code(step.call.id), attempt, class_="where")


def _status(step: Step, original: Record | None) -> Html:
    mark = tag("span", MARKS[step.status], aria_hidden="true")
    why = join(": ", code(step.error_code)) if step.error_code else None
    edited = "answered" if isinstance(original, Decision) else "edited"
    return tag(
        "p",
        None if original is None else join(tag("span", edited, class_="edited"), " "),
        tag("span", mark, f" {step.status}", why, class_=f"mark {step.status}"),
        class_="status",
    )


def _before(scene: Scene, seq: int, original: Record) -> Html:
    step = scene.trace.steps[seq]
    call = original if isinstance(original, ToolCall) else step.call
    before = step._replace(record=original, call=call)
    asked = isinstance(original, Decision)
    summary = "What was asked" if asked else "This step was edited. What it was before"
    return folded(summary, body(scene, seq, before))
