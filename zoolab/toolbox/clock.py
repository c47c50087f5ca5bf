"""The time, as a tool: the real one, or one that stands still so that runs can be repeated."""

from __future__ import annotations

from datetime import UTC, datetime

from zoolab.errors import InvalidInput
from zoolab.steps.define import as_registry
from zoolab.tools import ToolRegistry


class Clock:
    """Tells the time: always `now`, or the real time where none is given.

    Args:
        now: A date and time, or its ISO 8601 text; without an offset it is UTC.

    Raises:
        InvalidInput: `now` is no date and time.

    >>> Clock("2030-01-02T03:04:05").get_current_time()
    '2030-01-02T03:04:05+00:00'
    """

    def __init__(self, now: datetime | str | None = None) -> None:
        self._now = None if now is None else _read(now)

    def get_current_time(self) -> str:
        """Get the current date and time as ISO 8601. Use this when the user asks about now or today."""
        now = self._now or datetime.now().astimezone()
        return now.isoformat(timespec="seconds")


def clock_tools(now: datetime | str | None = None) -> ToolRegistry:
    """The clock as a tool; `now` makes it stand still.

    >>> clock_tools("2030-01-02T03:04:05+01:00").execute("get_current_time", {})
    '2030-01-02T03:04:05+01:00'
    """
    return as_registry(Clock(now).get_current_time)


def _read(now: datetime | str) -> datetime:
    try:
        read = datetime.fromisoformat(now) if isinstance(now, str) else now
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    except (AttributeError, TypeError, ValueError):
        raise InvalidInput(f"{now!r} is no date and time", expected="for instance 2030-01-02T03:04") from None
