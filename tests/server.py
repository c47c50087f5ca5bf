"""An OpenAI-compatible endpoint on loopback that answers as it is told to, and keeps what it was asked."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from zoolab_connect.proxy.exchange import Upstream
from zoolab_connect.proxy.server import LoopbackServer


@dataclass
class Answer:
    """One scripted response: `body` is sent as JSON if it is no text.

    `delay` is waited for before the response; `hang` after it, before the connection ends. With `drop`
    the connection ends without the end of the response. With `cuts`, the response comes in chunks that end
    at these bytes, with a pause after each.
    """

    body: Any = ""
    status: int = 200
    content_type: str | None = None
    delay: float = 0.0
    hang: float = 0.0
    drop: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    cuts: tuple[int, ...] = ()
    pause: float = 0.0

    @property
    def content(self) -> bytes:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode("utf-8")

    @property
    def kind(self) -> str:
        guess = "text/event-stream" if isinstance(self.body, str) else "application/json"
        return self.content_type or guess


@dataclass(frozen=True)
class Asked:
    """One request as it came; the names of its headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    #: The port of the client, which is the same as long as its connection is kept.
    port: int = 0


class TestServer:
    """Gives the answers in turn, the last one again and again."""

    __test__ = False

    def __init__(self, answers: Iterable[Answer | dict[str, Any] | str]) -> None:
        self.answers = [each if isinstance(each, Answer) else Answer(each) for each in answers]
        self.asked: list[Asked] = []
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._http = _Quiet(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    def next_answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            return self.answers[min(len(self.asked), len(self.answers)) - 1]

    def close(self) -> None:
        self.ending.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Quiet(ThreadingHTTPServer):
    #: As an endpoint has it: with five that wait, the system resets some of a hundred that come at once.
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing is printed about a client that has heard enough."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(server: TestServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(content) if content else None
            headers = {name.lower(): text for name, text in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body, self.client_address[1])
            answer = server.next_answer(asked)
            server.ending.wait(answer.delay)
            self._send(answer)

        do_GET = do_POST

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            if answer.cuts:
                self.send_header("transfer-encoding", "chunked")
            else:
                self.send_header("content-length", str(len(answer.content) + (1000 if answer.drop else 0)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for part in in_chunks(answer.content, answer.cuts) if answer.cuts else [answer.content]:
                self.wfile.write(part)
                self.wfile.flush()
                server.ending.wait(answer.pause)
            server.ending.wait(answer.hang)
            self.close_connection = answer.drop

        def log_message(self, *_: Any) -> None:
            """Nothing: what was asked is in `asked`."""

    return Handler


def in_chunks(content: bytes, cuts: Iterable[int]) -> list[bytes]:
    """A response body in HTTP's chunked form, cut at these bytes."""
    edges = sorted({0, len(content), *(cut for cut in cuts if 0 < cut < len(content))})
    parts = [content[start:end] for start, end in pairwise(edges)]
    return [*(b"%x\r\n%s\r\n" % (len(part), part) for part in parts), b"0\r\n\r\n"]


@contextmanager
def serving(*answers: Answer | dict[str, Any] | str) -> Iterator[TestServer]:
    """A server for the length of a `with`."""
    server = TestServer(answers)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def answered_by(upstream: Upstream) -> Iterator[str]:
    """The address, without /v1, of a server for the length of a `with` that answers as an upstream does."""

    server = LoopbackServer(upstream)
    try:
        yield server.url
    finally:
        server.close()


def capable(body: dict[str, Any]) -> dict[str, Any] | str:
    """What a capable model might say: a call of the tool that shares most words with the question, and
    arguments that meet its schema, and after its result a sentence with it.
    """
    last = body["messages"][-1]
    if last["role"] == "tool":
        return f"The result is {last['content']}."
    question = str(last["content"])
    words = set(re.findall(r"add|[a-z]{4,}", re.sub(r"\+|sum", "add", question.lower())))
    functions = [tool["function"] for tool in body.get("tools", ())]
    if not functions or body.get("tool_choice") == "none":
        return "Hello. There is nothing to call."

    def shared(function: dict[str, Any]) -> int:
        return len(
            words & set(re.findall(r"[a-z]+", f"{function['name']} {function.get('description')}".lower()))
        )

    chosen = max(functions, key=shared)
    if isinstance(body.get("tool_choice"), dict):
        chosen = body["tool_choice"]["function"]
        chosen = next(each for each in functions if each["name"] == chosen["name"])
    elif not shared(chosen):
        return "I need no tool for that."
    numbers = iter([*map(int, re.findall(r"\d+", question)), *range(1, 99)])
    names = iter([*re.findall(r"(?<!^)\b[A-Z]\w+", question), *question.split()[-1:], *["nginx"] * 99])
    properties = chosen["parameters"].get("properties", {})
    required = chosen["parameters"].get("required", [])
    arguments = {name: fitting(properties[name], numbers, names) for name in required}
    return calling(call(chosen["name"], json.dumps(arguments)))


def fitting(schema: dict[str, Any], numbers: Iterator[int], names: Iterator[str]) -> Any:
    """A value that meets a simple schema."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return next(numbers)
        case "boolean":
            return True
        case "array":
            return [fitting(schema.get("items", {}), numbers, names)]
        case "object":
            inner = schema.get("properties", {})
            return {name: fitting(inner[name], numbers, names) for name in schema.get("required", inner)}
    return next(names).strip("?.!")


@contextmanager
def playing(says: Callable[[dict[str, Any]], dict[str, Any] | str]) -> Iterator[TestServer]:
    """A server for the length of a `with`, whose answers are what a function says to a request's body."""

    class Playing(TestServer):
        def next_answer(self, asked: Asked) -> Answer:
            super().next_answer(asked)
            said = completion(says(asked.body), model=asked.body["model"])
            return Answer(said)

    server = Playing([""])
    try:
        yield server
    finally:
        server.close()


def completion(message: dict[str, Any] | str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A whole response, as api.openai.com sends it."""
    message = {"role": "assistant", "content": message} if isinstance(message, str) else message
    finish = finish or ("tool_calls" if message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "test-2026",
        "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        **more,
    }


def call(name: str, arguments: str, identity: str = "call_x") -> dict[str, Any]:
    """A tool call on the wire."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    """An assistant message that asks for these calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    shared = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "test-2026"}
    return {**shared, "choices": [choice], **more}


def sse(chunks: Iterable[dict[str, Any]], done: bool = True) -> str:
    """The text of a stream."""
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + ("data: [DONE]\n\n" if done else "")


def refused_url() -> str:
    """An address of this machine where nobody listens."""
    server = TestServer([])
    server.close()
    return server.url
