"""A page that shows the conversations of a watch as they grow: each new step is appended to it.

It needs no script. The answer to the browser stays open, and ends with the watch, so the page stays as it is.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence

from zoolab.proxy.exchange import HttpResponse
from zoolab.runs import Trace
from zoolab.show.page import growing_page, render_steps

_TITLE = "zoolab watches"
#: Seconds after which a browser that waits is told that nothing is new.
_QUIET = 15.0
#: Steps on a page. It is for watching; `Trace.to_html` makes a page of one conversation.
_MOST_STEPS = 2_000


class LivePages:
    """Answers a browser that knows the address; nobody can guess it."""

    def __init__(self, traces: Callable[[], Sequence[Trace]]) -> None:
        self.path = f"/zoolab/{secrets.token_urlsafe(16)}"
        self._traces = traces
        self._changed = threading.Condition()
        self._version, self._over, self._open = 0, False, 0

    def of(self, path: str) -> HttpResponse | None:
        """The page of this address; None if it is none of zoolab's."""
        if not path.startswith("/zoolab/"):
            return None
        if not secrets.compare_digest(path.encode(), self.path.encode()):
            return HttpResponse(404, {}, [])
        headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
        return HttpResponse(200, headers, self._grow())

    def grown(self) -> None:
        """There is more to show."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def close(self) -> None:
        """End the pages, and wait until they are whole; a browser that does not listen is left behind."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._open, timeout=2)

    def _grow(self) -> Iterator[bytes]:
        before, after = growing_page(_TITLE)
        shown: dict[int, int] = {}
        seen = -1
        with self._changed:
            self._open += 1
        try:
            yield before.encode()
            while sum(shown.values()) < _MOST_STEPS:
                with self._changed:
                    is_new = seen != self._version or self._over or self._changed.wait(_QUIET)
                    seen, over = self._version, self._over
                for number, trace in enumerate(self._traces(), 1):
                    first, steps = shown.get(number, 0), len(trace.steps)
                    if steps > first:
                        said = f"Conversation {number}, turn {trace.steps[steps - 1].turn}"
                        yield render_steps(trace, first, said).encode()
                        shown[number] = steps
                if over:
                    break
                if not is_new:
                    yield b"<!-- nothing new -->"
            yield after.encode()
        finally:
            with self._changed:
                self._open -= 1
                self._changed.notify_all()
