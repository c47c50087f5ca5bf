"""Runs one submission and does what the grader asks of it. Standard library only; knows no case.

Whatever this process says is a claim of the student's code, which may have changed anything in here. The
grader judges what it was asked for over the channel, not what this file reports.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from zoolab.grading.worker.notebook import Notebook
from zoolab.grading.worker.values import Unfit, Writer, encoded

_LENGTH = struct.Struct("!I")
_RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, KeyError, TypeError, RuntimeError, TimeoutError, OSError)
}
Message = dict[str, Any]


class Channel:
    """The untrusted end: one question at a time, whichever thread asks."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.lock = threading.RLock()
        self.call: object = None
        self.asking = False
        self._loads = json.loads

    def send(self, message: Message) -> None:
        """Send one message of plain values."""
        data = encoded(message)
        self.connection.sendall(_LENGTH.pack(len(data)) + data)

    def receive(self) -> Message:
        """The grader's next message; this process has no purpose without one."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        message: Message = self._loads(self._read(length))
        return message

    def ask(self, call: object, question: Message) -> Message:
        """Ask the grader something and wait for the answer."""
        with self.lock:
            if call != self.call:
                raise RuntimeError("the call that this function was given to has ended")
            if self.asking:
                raise RuntimeError("asked again before the answer was there")
            self.asking = True
            try:
                self.send(question)
                return self.receive()
            finally:
                self.asking = False

    def begin(self, call: object) -> None:
        """From here on, functions given to `call` can be called."""
        with self.lock:
            self.call = call

    def finish(self, reply: Message) -> None:
        """Answer the grader; a thread that asks later is told that the call has ended."""
        with self.lock:
            call, self.call = self.call, None
            try:
                self.send({**reply, "call": call})
            except Unfit as unfit:
                self.send({"unfit": str(unfit), "call": call})

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self.connection.recv(min(size - len(parts), 1 << 16))
            if not part:
                raise SystemExit(0)
            parts += part
        return bytes(parts)


def serve(connection: socket.socket, notebook: Notebook, first: Message | None = None) -> None:
    """Answer the grader until it closes the connection; `first` is a message that was read already.

    >>> here, there = socket.socketpair()
    >>> message = encoded({"do": "load", "cells": ["x = 1"], "call": 7})
    >>> here.sendall(_LENGTH.pack(len(message)) + message); here.shutdown(socket.SHUT_WR)
    >>> serve(there, Notebook({}))
    Traceback (most recent call last):
    SystemExit: 0
    >>> here.recv(100)[4:]
    b'{"problems":[],"call":7}'
    >>> here.close(); there.close()
    """
    channel = Channel(connection)
    while True:
        message, first = first or channel.receive(), None
        channel.begin(message.get("call"))
        reply = _answer(message, notebook, channel)
        _flush()
        channel.finish(reply)


def _answer(message: Message, notebook: Notebook, channel: Channel) -> Message:
    if message["do"] == "load":
        problems = notebook.run(message["cells"], message.get("first", 1))
        return {"problems": [{"cell": number, **_described(error)} for number, error in problems[:50]]}
    if message["do"] == "value":
        name = message["name"]
        return _fit(notebook.names[name]) if name in notebook.names else {"missing": True}
    return _called(message, notebook, channel)


def _called(message: Message, notebook: Notebook, channel: Channel) -> Message:
    function = notebook.names.get(message["function"])
    if function is None:
        return {"missing": True}
    call = message["call"]
    args = _arguments(message["args"], channel, call)
    kwargs = _arguments(message["kwargs"], channel, call)
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        return {"raised": _described(error)}
    after = Writer()
    return _fit(value, args=after.after_the_call(args), kwargs=after.after_the_call(kwargs))


def _fit(value: Any, **more: Any) -> Message:
    try:
        return {"value": Writer().plain(value), **more}
    except Unfit as unfit:
        return {"unfit": str(unfit)}
    except Exception as error:
        return {"unfit": f"a {type(value).__name__} that cannot be read: {type(error).__name__}"}


def _arguments(value: Any, channel: Channel, call: object) -> Any:
    """JSON of the grader as Python: {"$ask": 3} becomes a function whose calls the grader answers."""
    if isinstance(value, list):
        return [_arguments(item, channel, call) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ask" in value:
        return _question(value["$ask"], value.get("name", "ask"), channel, call)
    return {key: _arguments(item, channel, call) for key, item in value.items()}


def _question(number: int, name: str, channel: Channel, call: object) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        try:
            plain = {"args": Writer().plain(args), "kwargs": Writer().plain(kwargs)}
        except Unfit as unfit:
            raise TypeError(f"{name} takes JSON only, and was given {unfit}") from None
        answer = channel.ask(call, {"ask": number, "call": call, **plain})
        if "raise" in answer:
            raise _RAISED.get(answer["raise"], RuntimeError)(answer["message"])
        return answer["value"]

    ask.__name__ = ask.__qualname__ = name
    return ask


def _described(error: BaseException) -> dict[str, str]:
    """An exception as the report shows it; describing it runs the student's code again, which may fail."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "a message that cannot be read"
    return {"type": type(error).__name__[:100], "message": _sendable(message), "at": _place_of(error)}


def _place_of(error: BaseException) -> str:
    """The last line of the submission's own that the exception came through."""
    place, trace = "", error.__traceback__
    while isinstance(trace, types.TracebackType):
        name = trace.tb_frame.f_code.co_filename
        place = f"{name[1:-1]}, line {trace.tb_lineno}" if name.startswith("<cell ") else place
        trace = trace.tb_next
    return _sendable(place[:100])


def _sendable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The student's code may have put anything there, or have closed it.
        with suppress(Exception):
            stream.flush()
