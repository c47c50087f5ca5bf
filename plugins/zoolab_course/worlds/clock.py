"""The time, and a clock that stands still."""

from __future__ import annotations

from datetime import UTC, datetime

from zoolab.errors import InvalidInput
from zoolab.steps.define import as_registry
from zoolab.tools import ToolRegistry


class Clock:
    """Tells the time: always `now` (a date and time, or its ISO 8601 text; UTC without an offset), or the
    real time if none is given. Raises `InvalidInput` if `now` is not a date and time.
    """

    def __init__(self, now: datetime | str | None = None) -> None:
        try:
            read = datetime.fromisoformat(now) if isinstance(now, str) else now
            self._now = read if read is None or read.tzinfo else read.replace(tzinfo=UTC)
        except (AttributeError, TypeError, ValueError):
            raise InvalidInput(
                f"{now!r} is not a date and time", expected="for instance 2030-01-02T03:04"
            ) from None

    def get_current_time(self) -> str:
        """Get the current date and time as ISO 8601. Use this when the user asks about now or today."""
        now = self._now or datetime.now().astimezone()
        return now.isoformat(timespec="seconds")


def clock_tools(now: datetime | str | None = None) -> ToolRegistry:
    """Return the clock as a tool; `now` makes it stand still."""
    return as_registry(Clock(now).get_current_time)
