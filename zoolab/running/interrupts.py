"""Ctrl-C: delayed while zoolab's own code runs, and delivered while zoolab waits for a tool or a model.

An interrupt can arrive between any two instructions. While a `Hold` is entered, it becomes visible only
in `interruptible` and in `wait`: when a model answers, when a tool runs, when somebody waits for them.
There the walk can deal with it: it answers the calls that are pending, and then lets it go up.

A walk that runs in a thread of its own receives no signals. A `Bridge` interrupts it from outside.
"""

from __future__ import annotations

# `signal` looks for an enum member in each handler, which takes longer than a whole step of a walk.
import _signal  # type: ignore[import-not-found]
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    import asyncio

#: Seconds after which a second Ctrl-C is not held back any more, in case that something hangs.
PATIENCE = 2.0
#: Seconds after which a wait begins anew: Ctrl-C does not end a wait if it comes just before it begins.
ANEW = 1.0
#: Seconds that an `async def` tool has to be cancelled, before it counts as running on.
CANCEL_GRACE = 0.2
#: Whether all work is done in the caller's turn, because no thread can be started. So it is in a browser.
IN_TURN: ContextVar[bool] = ContextVar("IN_TURN", default=sys.platform == "emscripten")
#: The CPU seconds of this thread; in a browser the one thread is the process.
cpu_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)

_T = TypeVar("_T")


class Hold:
    """Holds SIGINT back in the main thread; in other threads, which receive no signals, it does nothing."""

    __slots__ = ("_before", "_entered", "_outer", "_unraisable", "is_open", "since", "thread")

    #: The innermost one of the main thread. Only the main thread reads and writes it.
    innermost: ClassVar[Hold | None] = None

    def __init__(self) -> None:
        self.is_open = False
        #: When the interrupt came that is held back; None if there is none.
        self.since: float | None = None
        self.thread = threading.get_ident()
        self._before: Any = None
        self._unraisable: Any = None
        self._outer: Hold | None = None
        self._entered = False

    def __enter__(self) -> None:
        if self.thread != threading.main_thread().ident:
            return
        outer = Hold.innermost
        before = _signal.getsignal(_signal.SIGINT)
        if (outer is not None and not outer.is_open) or not callable(before):
            return
        self._outer = outer
        self._before = before
        with suppress(ValueError):  # signals can be handled in the main interpreter only
            _signal.signal(_signal.SIGINT, self._on_signal)
            Hold.innermost = self
            self._entered = True
            self._unraisable = sys.unraisablehook
            sys.unraisablehook = self._on_unraisable

    def __exit__(self, *_: object) -> None:
        if not self._entered:
            return
        Hold.innermost = self._outer
        if sys.unraisablehook == self._on_unraisable:
            sys.unraisablehook = self._unraisable
        if _signal.getsignal(_signal.SIGINT) == self._on_signal:
            _signal.signal(_signal.SIGINT, self._before)
        if self.since is not None:
            self.deliver()

    def deliver(self) -> None:
        """Hand the interrupt on to the handler that was there before; most raise `KeyboardInterrupt`."""
        self.since = None
        self._before(_signal.SIGINT, None)

    def _on_signal(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if self.is_open or (self.since is not None and now - self.since > PATIENCE):
            self.since = None
            self._before(number, frame)
        elif self.since is None:
            self.since = now

    def _on_unraisable(self, unraisable: Any) -> None:
        """Keep an interrupt that came in a weak reference's callback or in `__del__`; Python drops those."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self.since = time.monotonic()
        else:
            self._unraisable(unraisable)


def is_held() -> bool:
    """Return whether this thread's interrupts are held back already."""
    hold = Hold.innermost
    return hold is not None and not hold.is_open and hold.thread == threading.get_ident()


def interruptible(call: Callable[..., _T], *given: Any) -> _T:
    """Call a function; only here can an interrupt, also one that came before, raise `KeyboardInterrupt`."""
    hold = Hold.innermost
    if hold is None or hold.thread != threading.get_ident():
        bridge = BRIDGE.get()
        if bridge is not None:
            bridge.check()
        return call(*given)
    # Setting an attribute is one instruction that no signal handler can run in: nothing gets between
    # the end of `call` and the end of the opening.
    was = hold.is_open
    try:
        hold.is_open = True
        if hold.since is not None:
            hold.deliver()
        return call(*given)
    finally:
        hold.is_open = was


class Done:
    """Something that happens once, with a value or an error, and that a thread can wait for.

    A bare lock, since the primitives of `threading` can stay locked for ever when Ctrl-C comes inside them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._value: Any = None
        self._error: BaseException | None = None
        self.settled = False

    def settle(self, value: Any = None, error: BaseException | None = None) -> None:
        """Note what has happened; only the first time counts."""
        if not self.settled:
            self._value = value
            self._error = error
            self.settled = True
            self.wake()

    def result(self) -> Any:
        """Return the value, once it is settled; what was raised is raised here."""
        if self._error is not None:
            raise self._error
        return self._value

    def run(self, call: Callable[[], Any]) -> None:
        """Settle with what a call returns or raises."""
        try:
            self.settle(call())
        except BaseException as error:
            self.settle(None, error)

    def run_in_thread(self, call: Callable[[], Any], context: Context | None = None) -> bool:
        """Run in a thread, in a copy of the caller's context; False if there can be no more threads."""
        run = (context or copy_context()).run
        if IN_TURN.get():
            return False
        try:
            threading.Thread(target=run, args=(self.run, call), daemon=True).start()
        except RuntimeError:  # the system has no more of them
            return False
        return True

    def wake(self) -> None:
        """Let the one who waits go on."""
        with suppress(RuntimeError):  # nobody waits any more
            self._lock.release()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has happened, at most so many seconds. An interrupt ends the waiting."""
        seconds = -1.0 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX)
        bridge = BRIDGE.get()
        if bridge is None:
            left = float("inf") if timeout is None else max(timeout, 0.0)
            while not interruptible(self._lock.acquire, True, min(left, ANEW)) and left > ANEW:
                left -= ANEW
            return
        bridge.waiting.add(self)
        try:
            bridge.check()
            self._lock.acquire(timeout=seconds)
            bridge.check()
        finally:
            bridge.waiting.discard(self)


class Bridge:
    """Connects a walk in a thread with the event loop that awaits it.

    Its async tools and models run on that loop, and `interrupt` ends whatever the walk waits for.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: set[Done] = set()
        self.interrupted = False

    def interrupt(self) -> None:
        """Interrupt the walk, as Ctrl-C does."""
        self.interrupted = True
        for done in list(self.waiting):
            done.wake()

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if the walk is interrupted."""
        if self.interrupted:
            raise KeyboardInterrupt


BRIDGE: ContextVar[Bridge | None] = ContextVar("zoolab_bridge", default=None)
