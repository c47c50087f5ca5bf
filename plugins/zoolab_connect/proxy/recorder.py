"""What passes through becomes traces and a recording, in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from zoolab.apis import APIS
from zoolab.apis.chat import completion_of
from zoolab.fault import Fault
from zoolab.models.recording import Header, Recording
from zoolab.models.replay import Replay
from zoolab.records import Reply
from zoolab.runs import Trace
from zoolab.secrets import scrub
from zoolab_connect.proxy.conversations import Conversations, WatchedConversation
from zoolab_connect.proxy.exchange import Heard, HttpRequest, HttpResponse, read_request, reply_or_reason
from zoolab_connect.proxy.passing import Backlog

#: The file of a folder that the program can be answered from again.
RECORDING = "recording.jsonl"
#: Paths that are counted, and the length of one.
_MOST_PATHS = 100
_LONGEST_PATH = 200
_OTHER_PATHS = "other paths"
#: Characters of what is said of a request that cannot be read.
_LONGEST_SAID = 500
#: Bytes that each task adds to those that wait.
_OF_TASK = 1_000


class Recorder:
    """The ear of a watch.

    Args:
        folder: Where the traces and the recording go; None if nothing is written.
        who: Who answers, for the recording.
        grown: Is told of each trace that has grown.
    """

    def __init__(self, folder: Path | None, who: Header, grown: Callable[[Trace], None]) -> None:
        self.unread: list[str] = []
        self.passed: Counter[str] = Counter()
        self.faults: list[Fault] = []
        self.conversations = Conversations(self._begin, grown)
        self.backlog = Backlog()
        self._folder = folder
        self._who = who
        self._keeper: Replay | None = None
        #: The API of each request that waits for its answer, and its conversation, unless it has none.
        self._open: dict[int, tuple[str, list[WatchedConversation]]] = {}
        self._over = False
        self._told: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._record, daemon=True)

    def start(self) -> None:
        """Begin to do what is told."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until all that was told is in the traces."""
        if self._thread.is_alive():
            self.later(lambda: None).wait()

    def close(self) -> None:
        """Do what was told so far, and no more."""
        self._over = True
        self._told.put(None)
        self._thread.join()
        self.backlog.end()

    def asked(self, number: int, request: HttpRequest, came: float) -> None:
        """Note that a request came."""
        api = request.api
        if api is None:
            self.later(partial(self._pass, request))
            return
        found: list[WatchedConversation] = []
        self._open[number] = api, found
        self.later(partial(self._ask, api, request, came, found), len(request.content))

    def heard(
        self, number: int, answer: HttpResponse, heard: Heard, ended: float, size: int
    ) -> threading.Event:
        """Note that an answer ended."""
        api, found = self._open.pop(number)
        return self.later(
            lambda: self._answered(found, answer, reply_or_reason(api, answer, heard), ended), size
        )

    def odd(self, said: str) -> None:
        """Note that what came is no HTTP, or broke off."""
        self.later(lambda: self.unread.append(scrub(said)[:_LONGEST_SAID]))

    def later(self, task: Callable[[], None], size: int = 0) -> threading.Event:
        """Have something done after all that came before, unless this is closed. Tells the end.

        It waits if too much waits already.
        """
        done = threading.Event()
        if self._over:
            done.set()
            return done
        self.backlog.add(size + _OF_TASK)

        def do() -> None:
            try:
                task()
            finally:
                self.backlog.take(size + _OF_TASK)
                done.set()

        self._told.put(do)
        return done

    # In the thread

    def _record(self) -> None:
        while (task := self._told.get()) is not None:
            try:
                task()
            except Exception as error:  # whatever passes through, the watch goes on
                self.unread.append(scrub(str(error)))

    def _ask(self, api: str, request: HttpRequest, came: float, found: list[WatchedConversation]) -> None:
        left: list[str] = []
        asked, body = read_request(api, request, left)
        left = [*dict.fromkeys(map(scrub, left))]
        found.append(self.conversations.ask(asked, body, came, left))
        # Each further request of a conversation has the same parts again.
        named = (f"a part of a request to {APIS[api].label}: {what}" for what in left)
        self.unread += [line for line in named if line not in self.unread]

    def _pass(self, request: HttpRequest) -> None:
        name = scrub(f"{request.method} {request.path.partition('?')[0]}")[:_LONGEST_PATH]
        self.passed[name if name in self.passed or len(self.passed) < _MOST_PATHS else _OTHER_PATHS] += 1

    def _answered(
        self, found: list[WatchedConversation], answer: HttpResponse, said: Reply | str, came: float
    ) -> None:
        self.faults += answer.faults
        for conversation in found:
            self.conversations.answer(conversation, said, came, next(iter(answer.faults), None))
            if self._folder is not None and isinstance(said, Reply):
                self._keep(self._folder / RECORDING, conversation, said)

    def _keep(self, path: Path, conversation: WatchedConversation, reply: Reply) -> None:
        if self._keeper is None:
            Recording(path, self._who)
            self._keeper = Replay(path)
        if conversation.request is not None:
            response = {**completion_of(reply), "sent": dict(conversation.sent)}
            self._keeper.recording.add(self._keeper.body(conversation.request), response)

    def _begin(self, model: str, left: Sequence[str]) -> Trace:
        number = len(self.conversations.all) + 1
        path = None if self._folder is None else self._folder / f"{number:03}.jsonl"
        told = {"not_read": [f"the first request: {what}" for what in left]} if left else {}
        return Trace(path, meta={"model": model, "watched": number, **told})
