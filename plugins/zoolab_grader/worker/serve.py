"""Runs one submission and does what the grader asks of it. Standard library only; it knows no case.

Whatever this process says is a claim of the student's code, which may have changed anything in here. The
grader judges what it was asked for over the channel, not what this file reports.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import socket
import struct
import sys
import threading
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from zoolab_grader.worker.notebook import Notebook, install

MAX_CHARACTERS = 1_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 60
MAX_BITS = 1_300  # just under the 400 digits that the grader reads
#: How many lines of a cell are named if they were left out.
MAX_LEFT_OUT = 20

#: What a function of the grader may raise in here.
KINDS = (
    *(ValueError, KeyError, TypeError, RuntimeError, TimeoutError, ConnectionError, OSError),
    *(ZeroDivisionError, Warning),
)

_LENGTH = struct.Struct("!I")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
#: Most of what values consist of. Types are compared first, and exactly: millions of values go through here.
SIMPLE = frozenset((str, int, float, bool, type(None)))
Message = dict[str, Any]
#: Asks the grader something in a call that it made, and returns the answer.
Ask = Callable[[object, Message], Message]


class Unfit(Exception):
    """A value that JSON cannot carry; says what it is: `a set`, `a dict with the key 1`."""


class Writer:
    """Turns one value into plain JSON values, and keeps count of what it has seen."""

    def __init__(self) -> None:
        self.values = self.characters = 0

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return `value` as JSON values, or Unfit."""
        self.values += 1
        if depth > MAX_DEPTH:
            raise Unfit(f"a value nested more than {MAX_DEPTH} deep")
        if self.values > MAX_VALUES:
            raise Unfit(f"more than {MAX_VALUES:,} values")
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is dict:
            return {self._key(key): self.plain(item, depth + 1) for key, item in value.items()}
        if kind is list:
            return [self.plain(item, depth + 1) for item in value]
        if value is None or kind is bool:
            return value
        return self._of_other_type(value, depth)

    def _of_other_type(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            whole = int.__int__(value)
            if whole.bit_length() > MAX_BITS:
                raise Unfit("a number of more than 390 digits")
            return whole
        if isinstance(value, float):
            number = float.__float__(value)
            if not math.isfinite(number):
                raise Unfit(f"the number {number}, which JSON does not have")
            return number
        if isinstance(value, (list, tuple)):
            items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
            return [self.plain(item, depth + 1) for item in items]
        if isinstance(value, dict):
            return {self._key(key): self.plain(item, depth + 1) for key, item in dict.items(value)}
        return self.plain(_as_pythons_own(value), depth + 1)

    def marked(self, value: Any, depth: int = 0) -> Any:
        """Return a value of a call: what cannot be JSON is marked, and a function becomes None."""
        self.values += 1
        if depth > MAX_DEPTH or self.values > MAX_VALUES:
            return "<more>"
        kind = type(value)
        if kind is list:
            return [self.marked(item, depth + 1) for item in value]
        if kind is dict:
            return {_shown(key): self.marked(item, depth + 1) for key, item in value.items()}
        if kind not in SIMPLE and callable(value):
            return None
        try:
            return self.plain(value, depth)
        except Unfit as unfit:
            return f"<{unfit}>"

    def _text(self, text: str) -> str:
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise Unfit(f"more than {MAX_CHARACTERS:,} characters")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise Unfit("text with a lone surrogate, which UTF-8 cannot encode") from None
        return text

    def _key(self, key: Any) -> str:
        if type(key) is str:
            return self._text(key)
        if not isinstance(key, str):
            odd = f"a dict with the key {repr(key)[:50]}"
            raise Unfit(f"{odd}, which is not text: JSON has only text as keys")
        return self._text(str.__str__(key))


def _shown(key: Any) -> str:
    return key if type(key) is str else f"<{type(key).__name__} {repr(key)[:50]}>"


def _as_pythons_own(value: Any) -> Any:
    """Return what pandas and numpy call a table, a column, a number."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        text = value.reset_index(drop=True).to_json(orient="values", date_format="iso", double_precision=15)
        columns = [str(name) for name in value.columns]
        return {"$frame": {"columns": columns, "rows": json.loads(text)}}
    for name, sign in (("to_list", "index"), ("tolist", "dtype")):
        if hasattr(value, name) and hasattr(value, sign):
            return getattr(value, name)()
    if value is ...:
        raise Unfit("`...`, which stands where your code goes")
    raise Unfit(f"a value of type {type(value).__name__}, which JSON cannot express")


class WorkerChannel:
    """The untrusted end: one question at a time, whichever thread asks."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.lock = threading.RLock()
        self.call: object = None
        self.asking = False
        self._loads = json.loads

    def send(self, message: Message) -> None:
        """Send one message of plain values; Unfit if it is larger than the grader reads."""
        text = _ENCODER.encode(message)
        if len(text) > MAX_CHARACTERS:
            raise Unfit(f"more than {MAX_CHARACTERS:,} characters as JSON")
        data = text.encode()
        self.connection.sendall(_LENGTH.pack(len(data)) + data)

    def receive(self) -> Message:
        """Return the grader's next message; this process has no purpose without one."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        message: Message = self._loads(self._read(length))
        return message

    def ask(self, call: object, question: Message) -> Message:
        """Ask the grader something and wait for the answer."""
        with self.lock:
            if call != self.call:
                raise RuntimeError("this function was called after the call that received it had ended")
            if self.asking:
                raise RuntimeError("this function was called again before it had returned")
            self.asking = True
            try:
                self.send(question)
                return self.receive()
            finally:
                self.asking = False

    def begin(self, call: object) -> None:
        """Let functions that are given to `call` be called from here on."""
        with self.lock:
            self.call = call

    def finish(self, reply: Message) -> None:
        """Answer the grader; a thread that asks later is told that the call has ended."""
        with self.lock:
            call = self.call
            self.call = None
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


def answer_grader(connection: socket.socket, notebook: Notebook) -> None:
    """Answer the grader until it closes the connection."""
    channel = WorkerChannel(connection)
    while True:
        message = channel.receive()
        channel.begin(message.get("call"))
        reply = answer_to(message, notebook, channel.ask)
        for stream in (sys.stdout, sys.stderr):
            # The student's code may have put anything there, or have closed it.
            with suppress(Exception):
                stream.flush()
        channel.finish(reply)


def answer_to(message: Message, notebook: Notebook, ask: Ask) -> Message:
    """Do what a message of the grader asks for, and say what came of it."""
    if message["do"] == "load":
        return _loaded(message, notebook)
    if message["do"] == "value":
        name = message["name"]
        return _fit(notebook.names[name], message["marked"]) if name in notebook.names else {"missing": True}
    return _called(message, notebook, ask)


def _loaded(message: Message, notebook: Notebook) -> Message:
    notebook.left_out.clear()
    problem: Message = {}
    try:
        notebook.run(message["cell"], message["call"])
    except BaseException as error:
        problem = {"problem": _described(error)}
    left_out = [
        [each.line, each.text[:100].encode(errors="backslashreplace").decode(), each.lines]
        for each in notebook.left_out[:MAX_LEFT_OUT]
    ]
    return {**({"left_out": left_out} if left_out else {}), **problem}


def _called(message: Message, notebook: Notebook, ask: Ask) -> Message:
    function = notebook.names.get(message["function"])
    if function is None:
        return {"missing": True}
    args = _arguments(message["args"], ask, message["call"]) if message["asks"] else message["args"]
    try:
        value = function(*args)
    except BaseException as error:
        return {"raised": _described(error)}
    after = {"args": Writer().marked(args)} if message["args_after"] else {}
    return _fit(value, message["marked"], **after)


def _fit(value: Any, marked: bool, **more: Any) -> Message:
    write = Writer().marked if marked else Writer().plain
    try:
        return {"value": write(value), **more}
    except Unfit as unfit:
        return {"unfit": str(unfit)}
    except Exception as error:
        return {"unfit": f"a {type(value).__name__} that cannot be read: {type(error).__name__}"}


def _arguments(value: Any, ask: Ask, call: object) -> Any:
    """Return JSON of the grader as Python: {"$ask": 3} becomes a function whose calls the grader answers."""
    kind = type(value)
    if kind is list:
        return [_arguments(item, ask, call) for item in value]
    if kind is not dict:
        return value
    if "$ask" in value:
        return _question(value["$ask"], value["name"], ask, call)
    return {key: _arguments(item, ask, call) for key, item in value.items()}


def _question(number: int, name: str, ask_grader: Ask, call: object) -> Callable[..., Any]:
    def ask(*args: Any, **kwargs: Any) -> Any:
        try:
            plain = {"args": Writer().plain(args), "kwargs": Writer().plain(kwargs)}
        except Unfit as unfit:
            raise TypeError(f"{name} takes JSON only, but received {unfit}") from None
        answer = ask_grader(call, {"ask": number, "call": call, **plain})
        if "raise" in answer:
            kind = next(kind for kind in KINDS if kind.__name__ == answer["raise"])
            raise kind(*answer["args"])
        return answer["value"]

    ask.__name__ = ask.__qualname__ = name
    return ask


def _described(error: BaseException) -> dict[str, str]:
    """Return an exception as the report shows it, with the last line of the submission's own that it came
    through.

    Describing it runs the student's code again, which may fail.
    """
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "a message that cannot be read"
    place = ""
    trace = error.__traceback__
    while isinstance(trace, types.TracebackType):
        name = trace.tb_frame.f_code.co_filename
        place = f"{name[1:-1]}, line {trace.tb_lineno}" if name.startswith("<cell ") else place
        trace = trace.tb_next
    kind = type(error).__name__[:100]
    message, place = (text.encode(errors="backslashreplace").decode() for text in (message, place[:100]))
    return {"type": kind, "message": message, "at": place} | _missing_name(error)


def _missing_name(error: BaseException) -> dict[str, str]:
    """Return the name that is not defined, or the module that is not there, in fields of their own."""
    try:
        name = error.name if isinstance(error, NameError | ModuleNotFoundError) else None
    except BaseException:
        return {}
    if type(name) is not str:
        return {}
    plain = name[:100].encode(errors="backslashreplace").decode()
    return {"undefined" if isinstance(error, NameError) else "module": plain}


def main() -> None:
    """Serve the grader over the socket that stdin describes (Windows) or that the first argument numbers."""
    number, uses, *path = sys.argv[1:]
    fromshare = getattr(socket, "fromshare", None)
    connection = fromshare(sys.stdin.buffer.read()) if fromshare else socket.socket(fileno=int(number))
    sys.path[:] = [entry for entry in (*sys.path, *path) if entry]
    for name in filter(None, uses.split(",")):
        importlib.import_module(name)
    os.environ.clear()
    sys.argv[:] = [""]
    drop_modules("zoolab")
    serve_cells(connection)


def drop_modules(top: str) -> None:
    """Forget a package, so that it is imported afresh."""
    for name in [name for name in sys.modules if name.partition(".")[0] == top]:
        del sys.modules[name]


def serve_cells(connection: socket.socket) -> None:
    """Serve the grader as the program `__main__` that the cells of a notebook are."""
    answer_grader(connection, Notebook(install().__dict__))
