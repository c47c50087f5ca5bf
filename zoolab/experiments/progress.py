"""How far an experiment is: one line that rewrites itself, where somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["following"]


@contextmanager
def following(total: int, done: int, shown: bool) -> Generator[Callable[[int], None]]:
    """Show a bar while this holds; what it gives is told how many more runs are done.

    >>> with following(2, 0, shown=False) as advance:
    ...     advance(2)
    """
    if not shown:
        yield lambda _runs: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, refresh_per_second=4, disable=not _is_watched(console)) as bar:
        task = bar.add_task("runs", total=total, completed=done)
        yield lambda runs: bar.advance(task, runs)


def _is_watched(console: object) -> bool:
    return bool(getattr(console, "is_terminal", False) or getattr(console, "is_jupyter", False))
