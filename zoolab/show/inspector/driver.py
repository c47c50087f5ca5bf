"""A walk, driven by hand: step, run, run to a breakpoint, answer a step with an edited record, decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.loop import Walk
from zoolab.records import KINDS, Decision, Record, Step
from zoolab.show.moment import Moment, kind_after
from zoolab.trace.log import TraceLog

_CHOICES = ("once", "session", "always", "deny")


class Driver:
    """Drives a walk and records it. What ends the walk is kept in `trace.error`, never raised."""

    def __init__(self, steps: Iterable[Step], trace: TraceLog) -> None:
        self.trace = trace
        #: What the user says, as long as no request has said so.
        self.prompt = steps.prompt if isinstance(steps, Walk) else ""
        #: "paused" or "done".
        self.state = "paused"
        self._following = trace.follow(steps)
        self._held: Record | None = None
        self._advance()  # a first step: it runs nothing

    @property
    def waits(self) -> bool:
        """Whether the walk is waiting for permission."""
        steps = self.trace.steps
        return self.state == "paused" and bool(steps) and steps[-1].status == "pending" and not self.holds

    @property
    def choices(self) -> list[str]:
        """What can be decided of a call that waits; "always" only where something keeps it."""
        asked = self.trace.steps[-1].record if self.waits else None
        if not isinstance(asked, Decision):
            return []
        return [choice for choice in _CHOICES if choice != "always" or asked.lasts]

    @property
    def holds(self) -> bool:
        """Whether an edited record waits to go on."""
        return self._held is not None

    @property
    def coming(self) -> str | None:
        """The kind of the next step; None at the end."""
        if self.state == "done" or not self.trace.steps:
            return None
        return kind_after(Moment(self.trace, len(self.trace.steps) - 1))

    def step(self) -> None:
        """Go on by one step."""
        self._check_ready()
        self._advance()

    def run(
        self, shown: Callable[[], None] | None = None, reached: Callable[[Step], bool] | None = None
    ) -> None:
        """Go on until the walk ends, waits for a permission, or has reached a step; call `shown` at each.

        Ctrl-C ends the walk, as it does anywhere else.
        """
        self._check_ready()
        while self.state == "paused" and not self.waits:
            self._advance()
            if shown is not None:
                shown()
            if reached is not None and self.state == "paused" and reached(self.trace.steps[-1]):
                return

    def until(self, kind: str = "", tool: str = "", error: bool = False, shown: Any = None) -> None:
        """Go on until a step of a kind, a step of a tool's calls, or an error has come."""
        known = (not kind or kind in KINDS) and isinstance(tool, str)
        if not (known and (kind or tool or error)):
            raise InvalidInput(f"cannot run to {excerpt(kind or 'nothing')}", expected=", ".join(KINDS))

        def reached(step: Step) -> bool:
            called = step.call is not None and step.call.name == tool
            return step.kind == kind or called or (error and step.error_code is not None)

        self.run(shown, reached)

    def answer(self, seq: int, record: Record) -> None:
        """Have an edited record go on in the place of the last step's."""
        last = len(self.trace.steps) - 1
        if self.state == "done" or seq != last:
            waiting = "none: the walk is over" if self.state == "done" else f"step {last + 1}, which waits"
            advice = "fork from it instead"
            raise InvalidInput(f"step {seq + 1} has already been continued", expected=waiting, advice=advice)
        self._held = None if record is self.trace.steps[seq].record else record

    def decide(self, choice: object) -> None:
        """Answer a permission that waits: once, session, always or deny; and go on by one step."""
        if not self.waits:
            advice = "step until a call asks for permission"
            raise InvalidInput("no step is waiting for permission", advice=advice)
        if choice not in _CHOICES:
            raise InvalidInput(f"a decision is {excerpt(choice)}", expected=", ".join(_CHOICES))
        self._held = Decision(cast("Any", choice), "said in the inspector")
        self.step()

    def _check_ready(self) -> None:
        if self.state == "done":
            raise InvalidInput("the walk is over", advice="fork from a step to continue from there")
        if self.waits:
            raise InvalidInput("the walk is waiting for permission", advice="allow or deny it first")

    def _advance(self) -> None:
        held = self._held
        self._held = None
        try:
            if held is not None:
                self._following.answer(held)
            next(self._following)
        except (Exception, KeyboardInterrupt):
            self.state = "done"
