"""The cards of a story: one for each step, in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.records import ToolCall
from zoolab.trace.bodies import body
from zoolab.trace.markup import Html, code, folded, join, note, tag
from zoolab.trace.scene import Scene
from zoolab.trace.words import change_in_words

if TYPE_CHECKING:
    from zoolab.records import Step

MARKS = {"ok": "✓", "error": "✗", "pending": "…"}


def card(scene: Scene, seq: int, brief: bool = False) -> Html:
    """The card of one step; a brief one leaves out what the step holds.

    >>> from zoolab import Scripted, Trace, walk
    >>> scene = Scene.of(Trace.record(walk("Hi", [], Scripted(["Hello"]))))
    >>> "Hello" in card(scene, 2), "Hello" in card(scene, 2, brief=True)
    (True, False)
    """
    step = scene.trace.steps[seq]
    content = (
        note("left out: the page is full")
        if brief
        else join(body(scene, seq, step), _before_edit(scene, seq))
    )
    return tag(
        "li",
        tag(
            "article",
            tag(
                "header",
                tag(
                    "h4",
                    tag("span", step.kind, class_="kind"),
                    " ",
                    tag("span", f"step {seq + 1:,} of {len(scene.trace.steps):,}", class_="of"),
                    class_="jp-toc-ignore",
                ),
                _status(step, edited=seq in scene.trace.originals),
                _where(step),
            ),
            content,
            tag(
                "footer",
                None if brief else tag("span", change_in_words(scene.change(seq)), class_="change"),
                " ",
                tag("code", f"trace.steps[{seq}]"),
            ),
        ),
        class_=f"step {step.kind} is-{step.status}",
        value=seq + 1,
    )


def _status(step: Step, edited: bool) -> Html:
    mark = tag("span", MARKS[step.status], aria_hidden="true")
    why = join(": ", code(step.error_code)) if step.error_code else None
    return tag(
        "p",
        tag("span", "edited", class_="edited") if edited else None,
        " " if edited else None,
        tag("span", mark, f" {step.status}", why, class_=f"mark {step.status}"),
        class_="status",
    )


def _where(step: Step) -> Html | None:
    if step.call is None:
        return None
    attempt = f" · attempt {step.attempt}" if step.attempt > 1 else None
    return tag(
        "p", code(step.call.name), f" · slot {step.slot} · ", code(step.call.id), attempt, class_="where"
    )


def _before_edit(scene: Scene, seq: int) -> Html | None:
    original = scene.trace.originals.get(seq)
    if original is None:
        return None
    step = scene.trace.steps[seq]
    call = original if isinstance(original, ToolCall) else step.call
    return folded(
        "Edited by hand. What it was before", body(scene, seq, step._replace(record=original, call=call))
    )
