"""The requests of a program, or of code in a notebook, while they pass through."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from zoolab.errors import InvalidInput
from zoolab.fault import Fault
from zoolab.jsontext import excerpt
from zoolab.models.recording import Header
from zoolab.runs import Trace, inspect
from zoolab.show.moment import Moment
from zoolab.show.page import card_of, story_style
from zoolab.text import markup
from zoolab.text.markup import Html, tag
from zoolab_connect.proxy.addresses import ApiAddress, endpoints_of
from zoolab_connect.proxy.carrier import Carrier
from zoolab_connect.proxy.changes import Report, what_changed
from zoolab_connect.proxy.exchange import HttpRequest, HttpResponse, Upstream
from zoolab_connect.proxy.passing import SWITCH, Passing
from zoolab_connect.proxy.recognising import watched
from zoolab_connect.proxy.recorder import Recorder
from zoolab_connect.proxy.server import LoopbackServer
from zoolab_connect.taped import TAPE, TAPE_MODE

if TYPE_CHECKING:
    from zoolab.show.inspector.inspector import Inspector

#: The file of a folder with the calls of the program's own tools, those that it marks with `zoolab.taped`.
TOOLS = "tools.jsonl"
#: Seconds after which a browser that waits is told that nothing is new.
_QUIET = 15.0
#: Steps on a page. It is for watching; `Trace.to_html` makes a page of one conversation.
_MOST_STEPS = 2_000


class LivePages:
    """A page that shows the conversations as they grow: each new step is appended to it.

    It answers a browser that knows the address, which nobody can guess. It needs no script. The answer stays
    open, and ends with the watch, so the page stays as it is.
    """

    def __init__(self, traces: Callable[[], Sequence[Trace]]) -> None:
        self.path = f"/zoolab/{secrets.token_urlsafe(16)}"
        self._traces = traces
        self._changed = threading.Condition()
        self._version = 0
        self._over = False
        self._open = 0

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the page, if a request has its address."""
        known = secrets.compare_digest(request.path.encode(), self.path.encode())
        if request.method != "GET" or not known:
            return HttpResponse(404, {}, [])
        headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
        content = self._grow()
        return HttpResponse(200, headers, content, close=content.close)

    def grown(self) -> None:
        """Note that there is more to show."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def close(self) -> None:
        """End the pages, and wait until they are whole; a browser that does not listen is left behind."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._open, timeout=2)

    def _grow(self) -> Generator[bytes, None, None]:
        before, after = _growing_page("zoolab watches")
        shown: dict[int, int] = {}
        seen = -1
        with self._changed:
            self._open += 1
        try:
            yield before.encode()
            while sum(shown.values()) < _MOST_STEPS:
                with self._changed:
                    is_new = seen != self._version or self._over or self._changed.wait(_QUIET)
                    seen = self._version
                    over = self._over
                for number, trace in enumerate(self._traces(), 1):
                    first = shown.get(number, 0)
                    steps = len(trace.steps)
                    if steps > first:
                        said = f"Conversation {number}, turn {trace.steps[steps - 1].turn}"
                        yield _render_steps(trace, first, said).encode()
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


def _growing_page(title: str) -> tuple[str, str]:
    """Return a page in two parts: what comes before and after the steps of traces that still grow."""
    more = Html("<!-- more -->")
    main = tag("main", tag("h1", title), more, class_="zoolab-story page")
    before, _, after = markup.page(title, story_style(), main).partition(more)
    return before, after


def _render_steps(trace: Trace, first: int, title: str) -> Html:
    """Return the steps of a trace from `first` on, under a heading, for a page that grows."""
    steps = len(trace.steps)
    turns = trace.turns
    cards = (card_of(Moment(trace, seq, turns)) for seq in range(first, steps))
    return tag("section", tag("h2", title), tag("ol", *cards, class_="steps"), aria_label=title)


class Seen(AbstractContextManager["Seen"]):
    """What goes to the endpoints of models while it is open; made by `watch`.

    While it is open, `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and the like name this place, in this process
    and in those that it starts, so clients that are made meanwhile pass through here. Each path is the one
    that the program uses without a watch. If requests are forwarded, each endpoint has a port of its own, so
    that a key goes nowhere else. Keys are passed on and never kept. With `carried`, a process of its own
    passes them on.
    """

    def __init__(
        self,
        upstream: Upstream,
        folder: Path | None,
        who: Header,
        endpoints: Sequence[ApiAddress] = (),
        *,
        forwards: bool = False,
        carried: bool = False,
        key: str = "",
        port: int = 0,
        ended: Callable[[], None] = lambda: None,
        tape: Path | None = None,
    ) -> None:
        self.folder = folder
        #: The tape that the program's own tools play; None if there is none, so that they run.
        self.tape = tape
        self._upstream = upstream
        self._key = key
        self._ended = ended
        self._endpoints = tuple(endpoints) or endpoints_of({})
        self._forwards = forwards
        self._carried = carried
        self._port = port
        self._recorder = Recorder(folder, who, self._grown)
        self._inspectors: list[Inspector] = []
        self._before: dict[str, str | None] = {}
        self._switches = sys.getswitchinterval()
        self.pages = LivePages(lambda: self.traces)

    def __enter__(self) -> Self:
        recorder = self._recorder
        self._passing: Passing | Carrier
        if self._carried:
            self._passing = Carrier(self._endpoints, recorder, self._port)
        else:
            # What passes through must not wait for what is written about it.
            sys.setswitchinterval(min(self._switches, SWITCH))
            doors = self._endpoints if self._forwards else ()
            self._passing = Passing(self._upstream, recorder, doors, self._port)
        recorder.start()
        self._page_server = LoopbackServer(self.pages.answer)
        for name, text in self.environment.items():
            self._before[name] = os.environ.get(name)
            os.environ[name] = text
        return self

    def __exit__(self, *_: object) -> None:
        for name, text in self._before.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text
        self._before = {}
        self._passing.tell_all()
        self._recorder.close()
        sys.setswitchinterval(self._switches)
        self.pages.close()
        self._page_server.close()
        self._passing.close()
        self._ended()
        for number, trace in enumerate(self.traces, 1):
            if self.folder is not None:
                trace.save(self.folder / f"{number:03}.jsonl")

    def __repr__(self) -> str:
        return f"<Seen: {len(self.traces)} conversations>"

    @property
    def url(self) -> str:
        """Where the server is, without a path."""
        return self._passing.url

    @property
    def page(self) -> str:
        """The address of the page that shows the traces as they grow."""
        return self._page_server.url + self.pages.path

    @property
    def traces(self) -> list[Trace]:
        """A trace for each conversation, in the order in which they began."""
        return self._recorder.conversations.traces

    @property
    def unread(self) -> list[str]:
        """Requests that could not be read as a conversation, and why, and parts of those that could.

        They were passed on all the same, unless they broke off or were no HTTP.
        """
        return self._recorder.unread

    @property
    def passed(self) -> Counter[str]:
        """Requests that ask for no reply, counted by method and path; of many paths, the first."""
        return self._recorder.passed

    @property
    def faults(self) -> list[Fault]:
        """What was broken on purpose, in all conversations."""
        return self._recorder.faults

    @property
    def failures(self) -> list[dict[int, str]]:
        """For each conversation, what was refused or broke off, by the number of the request."""
        return [dict(conversation.failures) for conversation in self._recorder.conversations.all]

    @property
    def environment(self) -> dict[str, str]:
        """What a program must be told to pass through here, as environment variables."""
        own: dict[str, str] = {}
        for endpoint in self._endpoints:
            place = self._passing.doors.get(endpoint, self.url) + endpoint.path
            own |= dict.fromkeys(endpoint.variables, place)
        before = {**os.environ, **self._before}
        for name in ("NO_PROXY", "no_proxy"):
            own[name] = ",".join(filter(None, [before.get(name), "127.0.0.1"]))
        # No key is needed where a model here answers, but clients refuse to begin without one.
        needed = [each.key_from for each in watched() if each.key_from and self._key]
        keys = [names[0] for names in needed if not any(map(before.get, names))]
        return {**own, **dict.fromkeys(keys, self._key), **self._tape_variables()}

    def _tape_variables(self) -> dict[str, str]:
        """Return what `zoolab.taped` is told: to play a tape, or to record one beside the traces."""
        if self.tape is not None:
            return {TAPE: str(self.tape.absolute()), TAPE_MODE: "play"}
        if self.folder is not None:
            return {TAPE: str((self.folder / TOOLS).absolute()), TAPE_MODE: "record"}
        return {}

    def run(self, command: Sequence[str]) -> int:
        """Run a program that passes through here, to its end; returns its exit code.

        Raises `InvalidInput` if it cannot be started.
        """
        with start_program(command, self.environment) as program:
            return program.wait()

    def inspect(self, number: int = -1) -> Inspector:
        """Step through a conversation in a notebook; it grows on show. By default the last one."""
        inspector = inspect(self._trace(number))
        self._inspectors.append(inspector)
        return inspector

    def what_changed(self, number: int = -1) -> Report:
        """Return what the program did with a conversation between its requests; by default with the
        last one.
        """
        return what_changed(self._trace(number))

    def _trace(self, number: int) -> Trace:
        self.wait()
        if not -len(self.traces) <= number < len(self.traces):
            what = f"there is no conversation {excerpt(number)}: {len(self.traces)} were seen"
            raise InvalidInput(what, advice="run the code that asks the model first")
        return self.traces[number]

    def wait(self) -> None:
        """Wait until all that has passed through is in the traces."""
        self._passing.tell_all()
        self._recorder.wait()

    def _grown(self, trace: Trace) -> None:
        self.pages.grown()
        for inspector in self._inspectors:
            if inspector.trace is trace:
                with suppress(Exception):  # a notebook that is gone must not end the watch
                    inspector.grown()


def start_program(
    command: Sequence[str], environment: Mapping[str, str], **given: Any
) -> subprocess.Popen[bytes]:
    """Start a command with further environment variables; raises `InvalidInput` if it cannot be started."""
    try:
        return subprocess.Popen([*command], env={**os.environ, **environment}, **given)
    except (OSError, ValueError, IndexError) as error:
        what = f"cannot start {excerpt(' '.join(command[:1]))}: {getattr(error, 'strerror', '') or error}"
        raise InvalidInput(what, advice="name a program and its arguments") from None
