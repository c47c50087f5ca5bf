"""What two traces of the same task differ in first, why, and what followed: as data, as text and as HTML."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from zoolab.files import read_table
from zoolab.jsontext import one_line, visible
from zoolab.text.markup import Html, block, clipped, code, note, style_sheet, tag
from zoolab.text.wording import count, differences

#: Why a step differs, if all steps before it are equal.
#:
#:     prompt     what the model was asked: system prompt and question
#:     tool       the definition of a tool
#:     setting    a setting of the request, its `tool_choice`, or the model that was asked
#:     messages   the program itself changed what was said before
#:     reply      the model replied otherwise to an equal request: chance, unless somebody edited the reply
#:     call       the program read or checked an equal reply otherwise: another repair, or an edited call
#:     decision   a person or a rule decided otherwise
#:     result     a tool gave another result to an equal call
#:     end        one run ended there, or both ended in different ways: a limit, an error, an interrupt
Cause = Literal["prompt", "tool", "setting", "messages", "reply", "call", "decision", "result", "end"]

CAUSES: tuple[Cause, ...] = get_args(Cause)
WORDS = read_table("zoolab_study", "words.toml")["bisection"]

#: Characters of a column of the text form.
_COLUMN = 44


@dataclass(frozen=True, slots=True)
class Change:
    """One place in the step that differs. The texts are cut around the first difference."""

    #: A JSON Pointer (RFC 6901) into the step: `/messages/0/content`.
    pointer: str
    #: What each trace has there, as JSON; None if it has nothing there.
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class Followed:
    """A step of either trace after the difference; of steps that belong together, both."""

    #: The numbers of the steps; None if that trace has no such step.
    a: int | None
    b: int | None
    #: Each in one line; empty if there is none.
    told_a: str
    told_b: str
    #: Whether both are the same again.
    same: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    #: As in `Trace.outcome`.
    outcome: str
    #: The answer, or the error that ended the run, cut; None if there is none.
    answer: str | None
    error: str | None
    steps: int
    turns: int


@dataclass(frozen=True, slots=True)
class Bisection:
    """The first difference of two traces, its cause, and what followed. Made by `zoolab.bisect`."""

    #: None if there is no difference.
    cause: Cause | None
    #: Other causes that were there before the model said anything else, or in the same step.
    also: tuple[Cause, ...]
    #: The number of the step that differs, in each trace; None if that trace ended before it.
    a: int | None
    b: int | None
    #: The step: its kind, its turn, and the tool that it is about; empty, 0 and None if there is none.
    kind: str
    turn: int
    tool: str | None
    #: Whether somebody edited that step of the first trace, of the second.
    edited: tuple[bool, bool]
    #: What differs in it, and how many further places are left out.
    changes: tuple[Change, ...]
    more_changes: int
    #: The steps from there on, and how many further rows are left out.
    followed: tuple[Followed, ...]
    more_followed: int
    ends: tuple[Ending, Ending]
    #: How many steps both have in common at the start.
    equal_steps: int
    #: If the result of a sub-agent differs: where its own walks part.
    inner: Bisection | None = None

    @property
    def differs(self) -> bool:
        """Whether there is a difference."""
        return self.cause is not None

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return asdict(self)

    @property
    def headline(self) -> str:
        """What differs first, and why, in one line."""
        if self.cause is None:
            return f"no difference in {count(self.equal_steps, 'step')}"
        at = self.b if self.a is None else self.a
        place = "the end" if at is None else f"step {at}"
        if self.kind:
            about = f", {one_line(self.tool, 60)}" if self.tool else ""
            place += f" ({self.kind}, turn {self.turn}{about})"
        edited = [name for name, is_edited in zip(("first", "second"), self.edited, strict=True) if is_edited]
        by = f"; somebody edited it in the {' and in the '.join(edited)}" if edited else ""
        also = f"; also {', '.join(self.also)}" if self.also else ""
        why = WORDS["edited" if edited and self.cause == "reply" else self.cause]
        return visible(f"{place} differs first: {why}{by}{also}")

    def __str__(self) -> str:
        lines = [self.headline]
        for change in self.changes:
            lines.append(f"  {one_line(change.pointer, 100) or 'all of it'}")
            lines += [f"  - {change.a}"] * (change.a is not None)
            lines += [f"  + {change.b}"] * (change.b is not None)
        lines += [f"  and {count(self.more_changes, 'more change')}"] * bool(self.more_changes)
        if self.inner is not None:
            lines += ["inside the sub-agent:", *(f"  {line}" for line in str(self.inner).split("\n"))]
        lines += ["what followed:"] * bool(self.followed)
        lines += map(_line, self.followed)
        lines += [f"  and {count(self.more_followed, 'more row')}"] * bool(self.more_followed)
        lines += [
            f"the {name} ended: {_ending(end)}"
            for name, end in zip(("first", "second"), self.ends, strict=True)
        ]
        return "\n".join(map(visible, lines))

    def _repr_html_(self) -> str:
        style = tag("style", style_sheet("zoolab_study", "bisection.css", ".zoolab-bisection"))
        return str(tag("div", style, *_told(self), class_="zoolab-bisection"))


def _line(row: Followed) -> str:
    first, second = (one_line(told, _COLUMN) for told in (row.told_a, row.told_b))
    sign = " " if row.same else "|"
    at = row.b if row.a is None else row.a
    return f"  {at:>4}  {first:<{_COLUMN}} {sign} {second}".rstrip()


def _ending(end: Ending) -> str:
    told = end.error if end.error is not None else end.answer
    size = f"{count(end.steps, 'step')}, {count(end.turns, 'turn')}"
    return f"{one_line(end.outcome, 60)} ({size})" + (f": {one_line(told, 200)}" if told else "")


def _told(found: Bisection) -> list[Html]:
    parts = [tag("p", tag("strong", clipped(found.headline, 600)))]
    parts += [_change(change) for change in found.changes]
    if found.more_changes:
        parts.append(note(f"and {count(found.more_changes, 'more change')}"))
    if found.inner is not None:
        parts.append(tag("section", tag("p", "Inside the sub-agent:"), *_told(found.inner)))
    rows = [_row(row) for row in found.followed]
    ends = [tag("td", clipped(_ending(end), 400)) for end in found.ends]
    rows.append(tag("tr", tag("th", "end", scope="row"), *ends))
    heads = [tag("th", name, scope="col") for name in ("step", "first", "second")]
    caption = tag("caption", "What followed" if found.differs else "Both runs")
    parts.append(tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *rows)))
    if found.more_followed:
        parts.append(note(f"and {count(found.more_followed, 'more row')}"))
    return parts


def _change(change: Change) -> Html:
    where = code(change.pointer or "all of it")
    if change.a is None or change.b is None:
        only = "second" if change.a is None else "first"
        return tag(
            "div", tag("p", where, f" is in the {only} alone"), block(change.a or change.b or "", only)
        )
    return tag("div", tag("p", where), block(differences(change.a, change.b), "the difference"))


def _row(row: Followed) -> Html:
    at = [str(number) for number in dict.fromkeys((row.a, row.b)) if number is not None]
    cells = [tag("td", clipped(told, 200)) for told in (row.told_a, row.told_b)]
    head = tag("th", " / ".join(at), scope="row")
    return tag("tr", head, *cells, class_="same" if row.same else "other")
