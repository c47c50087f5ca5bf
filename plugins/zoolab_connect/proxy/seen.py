"""The requests of a program, or of code in a notebook, while they pass through."""

from __future__ import annotations

import os
import queue
import re
import secrets
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from zoolab.apis.chat import completion_of
from zoolab.errors import InvalidInput
from zoolab.fault import Fault
from zoolab.jsontext import excerpt
from zoolab.models.recording import Header, Recording
from zoolab.models.replay import Replay
from zoolab.records import Reply
from zoolab.runs import Trace, inspect
from zoolab.secrets import scrub
from zoolab.show.moment import Moment
from zoolab.show.page import card_of, story_style
from zoolab.text import markup
from zoolab.text.markup import Html, tag
from zoolab_connect.proxy.addresses import Endpoint, endpoints_of
from zoolab_connect.proxy.changes import Report, what_changed
from zoolab_connect.proxy.conversations import Conversation, Conversations
from zoolab_connect.proxy.encodings import Decoder
from zoolab_connect.proxy.exchange import (
    MAX_BYTES,
    Heard,
    HttpRequest,
    HttpResponse,
    Upstream,
    read_request,
    said_in,
)
from zoolab_connect.proxy.recognising import watched
from zoolab_connect.proxy.server import LoopbackServer
from zoolab_connect.taped import TAPE, TAPE_MODE

if TYPE_CHECKING:
    from zoolab.show.inspector.inspector import Inspector

#: The file of a folder that the program can be answered from again.
RECORDING = "recording.jsonl"
#: The file of a folder with the calls of the program's own tools, those that it marks with `zoolab.taped`.
TOOLS = "tools.jsonl"
# The last event of a stream, and whole: no text of a model can begin a line of the stream.
_LAST = re.compile(
    rb'\ndata: ?(?:\[DONE\]|\{"type": ?"(?:message_stop|response\.(?:completed|incomplete|failed))").*\n\n\Z',
    re.DOTALL,
)

#: Paths that are counted, and the length of one.
_MOST_PATHS, _LONGEST_PATH = 100, 200
_OTHER_PATHS = "other paths"
#: Characters of what is said of a request that cannot be read.
_LONGEST_SAID = 500
#: Bytes that may wait to be written before the next request waits as well, and those that each task adds.
_MOST_WAITING, _OF_TASK = MAX_BYTES, 1_000
#: Seconds that the end of an answer waits until it is written: if fewer bytes than _LITTLE wait, or more.
_PATIENCE, _LITTLE, _HASTE = 10.0, 500_000, 0.03
#: Seconds after which a browser that waits is told that nothing is new.
_QUIET = 15.0
#: Steps on a page. It is for watching; `Trace.to_html` makes a page of one conversation.
_MOST_STEPS = 2_000


def _tapped(answer: HttpResponse, heard: Callable[[Heard], None]) -> HttpResponse:
    """An answer. Once its content is whole, and before the program knows that, `heard` is told what came, or
    else when it is closed."""
    kept: list[bytes] = []
    waiting = [heard]
    decoder = Decoder(answer.headers.get("content-encoding", ""), MAX_BYTES)
    length = answer.headers.get("content-length")

    def tell(*, whole: bool) -> None:
        if waiting:
            waiting.pop()(Heard(b"".join(kept), whole, decoder.problem))

    def pieces() -> Iterator[bytes]:
        size = 0
        for piece in answer.content:
            plain = decoder.feed(piece)
            kept.append(plain)
            size += len(piece)
            if str(size) == length:
                tell(whole=decoder.is_whole)
            if plain.endswith(b"\n\n") and _LAST.search(b"\n" + plain):
                tell(whole=True)
            yield piece
        tell(whole=decoder.is_whole)

    def close() -> None:
        answer.close()
        tell(whole=False)

    return replace(answer, content=pieces(), close=close)


class LivePages:
    """A page that shows the conversations as they grow: each new step is appended to it.

    It answers a browser that knows the address, which nobody can guess. It needs no script. The answer stays
    open, and ends with the watch, so the page stays as it is.
    """

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
        content = self._grow()
        return HttpResponse(200, headers, content, close=content.close)

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
                    seen, over = self._version, self._over
                for number, trace in enumerate(self._traces(), 1):
                    first, steps = shown.get(number, 0), len(trace.steps)
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
    """A page in two parts: what comes before and after the steps of traces that still grow."""
    more = Html("<!-- more -->")
    main = tag("main", tag("h1", title), more, class_="zoolab-story page")
    before, _, after = markup.page(title, story_style(), main).partition(more)
    return before, after


def _render_steps(trace: Trace, first: int, title: str) -> Html:
    """The steps of a trace from `first` on, under a heading, for a page that grows."""
    steps, turns = len(trace.steps), trace.turns
    cards = (card_of(Moment(trace, seq, turns)) for seq in range(first, steps))
    return tag("section", tag("h2", title), tag("ol", *cards, class_="steps"), aria_label=title)


class Seen(AbstractContextManager["Seen"]):
    """What goes to the endpoints of models while it is open; made by `watch`.

    While it is open, `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and the like name this place, in this process
    and in those that it starts, so clients that are made meanwhile pass through here. Each path is the one
    that the program uses without a watch. If requests are forwarded, each endpoint has a port of its own, so
    that a key goes nowhere else. Keys are passed on and never kept.
    """

    def __init__(
        self,
        upstream: Upstream,
        folder: Path | None,
        who: Header,
        endpoints: Sequence[Endpoint] = (),
        *,
        forwards: bool = False,
        key: str = "",
        port: int = 0,
        ended: Callable[[], None] = lambda: None,
        tape: Path | None = None,
    ) -> None:
        self.folder = folder
        #: The tape that the program's own tools play; None if there is none, so that they run.
        self.tape = tape
        #: Requests that could not be read as a conversation, and why. They were passed on all the same,
        #: unless they broke off or were no HTTP.
        self.unread: list[str] = []
        #: Requests that passed and ask for no reply, counted by method and path; of many paths, the first.
        self.passed: Counter[str] = Counter()
        #: What was broken on purpose, in all conversations.
        self.faults: list[Fault] = []
        self._upstream, self._who, self._key, self._ended = upstream, who, key, ended
        self._endpoints, self._forwards = tuple(endpoints) or endpoints_of({}), forwards
        self._doors: dict[Endpoint, LoopbackServer] = {}
        self._port = port
        self._keeper: Replay | None = None
        self._conversations = Conversations(self._begin, self._grown)
        self._inspectors: list[Inspector] = []
        self._told: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        #: How many bytes wait to be written.
        self._waiting, self._most_waiting, self._room = 0, _MOST_WAITING, threading.Condition()
        self._before: dict[str, str | None] = {}
        self.pages = LivePages(lambda: self.traces)

    def __enter__(self) -> Self:
        # What passes through must not wait for what is written about it.
        self._switches = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switches, 0.0005))
        self._server = LoopbackServer(self._answer, self._port, self._odd)
        if self._forwards:
            self._doors = {
                each: LoopbackServer(partial(self._answer, door=each), odd=self._odd)
                for each in self._endpoints
            }
        self._recorder = threading.Thread(target=self._record, daemon=True)
        self._recorder.start()
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
        self._told.put(None)
        self._recorder.join()
        sys.setswitchinterval(self._switches)
        self.pages.close()
        for server in (self._server, *self._doors.values()):
            server.close()
        self._ended()
        for number, trace in enumerate(self.traces, 1):
            if self.folder is not None:
                trace.save(self.folder / f"{number:03}.jsonl")

    def __repr__(self) -> str:
        return f"<Seen: {len(self.traces)} conversations>"

    @property
    def url(self) -> str:
        """Where the server is, without a path."""
        return self._server.url

    @property
    def page(self) -> str:
        """The address of the page that shows the traces as they grow."""
        return self.url + self.pages.path

    @property
    def traces(self) -> list[Trace]:
        """A trace for each conversation, in the order in which they began."""
        return self._conversations.traces

    @property
    def failures(self) -> list[dict[int, str]]:
        """For each conversation, what was refused or broke off, by the number of the request."""
        return [dict(conversation.failures) for conversation in self._conversations.all]

    @property
    def environment(self) -> dict[str, str]:
        """What a program must be told to pass through here, as environment variables."""
        own: dict[str, str] = {}
        for endpoint in self._endpoints:
            place = self._doors.get(endpoint, self._server).url + endpoint.path
            own |= dict.fromkeys(endpoint.variables, place)
        before = {**os.environ, **self._before}
        for name in ("NO_PROXY", "no_proxy"):
            own[name] = ",".join(filter(None, [before.get(name), "127.0.0.1"]))
        # No key is needed where a model here answers, but clients refuse to begin without one.
        needed = [each.key_from for each in watched() if each.key_from and self._key]
        keys = [names[0] for names in needed if not any(map(before.get, names))]
        return {**own, **dict.fromkeys(keys, self._key), **self._tape_variables()}

    def _tape_variables(self) -> dict[str, str]:
        """What `zoolab.taped` is told: to play a tape, or to record one beside the traces."""
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
        """What the program did with a conversation between its requests; by default with the last one."""
        return what_changed(self._trace(number))

    def _trace(self, number: int) -> Trace:
        self.wait()
        if not -len(self.traces) <= number < len(self.traces):
            what = f"there is no conversation {excerpt(number)}: {len(self.traces)} were seen"
            raise InvalidInput(what, advice="run the code that asks the model first")
        return self.traces[number]

    def wait(self) -> None:
        """Wait until all that has passed through is in the traces."""
        seen = threading.Event()
        if self._recorder.is_alive():
            self._later(seen.set)
            seen.wait()

    # What passes through

    def _answer(self, request: HttpRequest, door: Endpoint | None = None) -> HttpResponse:
        request = replace(request, door=door)
        page = self.pages.of(request.path) if request.method == "GET" else None
        if page is not None:
            return page
        if request.api is None:
            self._later(partial(self._pass, request))
            return self._upstream(request)
        api, came = request.api, perf_counter()
        found: list[Conversation] = []  # none if the request cannot be read as one of a conversation
        size = len(request.content)
        self._later(lambda: found.append(self._conversations.ask(*read_request(api, request), came)), size)
        response = self._upstream(request)

        def hear(heard: Heard) -> None:
            ended = perf_counter()
            written = self._later(
                lambda: self._answered(found, response, said_in(api, response, heard), ended),
                len(heard.content),
            )
            # The program knows the end of its answer when that is written, unless that takes long.
            written.wait(_PATIENCE if self._waiting < _LITTLE else _HASTE)

        return _tapped(response, hear)

    def _odd(self, said: str) -> None:
        self._later(lambda: self.unread.append(scrub(said)[:_LONGEST_SAID]))

    def _later(self, task: Callable[[], None], size: int = 0) -> threading.Event:
        """Have something done after all that came before; waits if too much waits already. Tells the end."""
        done = threading.Event()
        with self._room:
            self._room.wait_for(lambda: self._waiting < self._most_waiting or not self._recorder.is_alive())
            self._waiting += size + _OF_TASK

        def do() -> None:
            try:
                task()
            finally:
                with self._room:
                    self._waiting -= size + _OF_TASK
                    self._room.notify_all()
                done.set()

        self._told.put(do)
        return done

    # What is made of it, in a thread of its own

    def _record(self) -> None:
        while (task := self._told.get()) is not None:
            try:
                task()
            except Exception as error:  # whatever passes through, the watch goes on
                self.unread.append(scrub(str(error)))

    def _pass(self, request: HttpRequest) -> None:
        name = scrub(f"{request.method} {request.path.partition('?')[0]}")[:_LONGEST_PATH]
        self.passed[name if name in self.passed or len(self.passed) < _MOST_PATHS else _OTHER_PATHS] += 1

    def _answered(
        self, found: list[Conversation], response: HttpResponse, said: Reply | str, came: float
    ) -> None:
        self.faults += response.faults
        for conversation in found:
            self._conversations.answer(conversation, said, came, next(iter(response.faults), None))
            if self.folder is not None and isinstance(said, Reply):
                self._keep(self.folder / RECORDING, conversation, said)

    def _keep(self, path: Path, conversation: Conversation, reply: Reply) -> None:
        if self._keeper is None:
            Recording(path, self._who)
            self._keeper = Replay(path)
        if conversation.request is not None:
            response = {**completion_of(reply), "sent": dict(conversation.sent)}
            self._keeper.recording.add(self._keeper.body(conversation.request), response)

    def _begin(self, model: str) -> Trace:
        number = len(self._conversations.all) + 1
        path = None if self.folder is None else self.folder / f"{number:03}.jsonl"
        return Trace(path, meta={"model": model, "watched": number})

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
