"""The local models behind OpenAI-compatible servers on this machine, inside this process.

A server listens on the loopback address only, at a port that the system chooses, and answers nobody who
does not send its random key. Needle has a small front of ours; SmolLM2 has llama.cpp's own server.

Needle's engine holds Python's lock while it runs: other threads of the process wait for its reply.
"""

from __future__ import annotations

import hmac
import importlib
import json
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.models import needle, weights
from zoolab.models.rungs import read_name

__all__ = ["Server", "Servers", "serve_needle", "start"]

_MAX_BODY = 1 << 20
_SLOW_CLIENT_SECONDS = 30
_CONTEXT_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: where it is, its key, and the name of its model."""

    base_url: str
    api_key: str = field(repr=False)
    model: str
    stop: Callable[[], None] = field(repr=False)

    def close(self) -> None:
        """Stop the server and let its model go."""
        self.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Servers:
    """The servers of a process: each model is loaded once and shared, and let go by its last user.

    >>> Servers().close()
    """

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}
        self._users: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> Server:
        """The server of a model, started if need be; `give_back` it once."""
        with self._lock:
            if name not in self._running:
                self._running[name] = start(name)
            self._users[name] = self._users.get(name, 0) + 1
            return self._running[name]

    def give_back(self, name: str) -> None:
        """One user less; the last one closes the server."""
        with self._lock:
            self._users[name] -= 1
            if self._users[name] == 0:
                self._running.pop(name).close()

    def close(self) -> None:
        """Close all servers, whoever uses them."""
        with self._lock:
            while self._running:
                self._running.popitem()[1].close()
            self._users.clear()


def start(name: str) -> Server:
    """Load a model and serve it.

    Raises:
        InvalidInput: The name is unknown, or the runtime or the weights are not here.

    >>> start("gpt")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no local model is named 'gpt'; expected needle or smollm2
    """
    record = weights.lookup(name)
    runtime = _runtime(record.runtime)
    path = str(weights.find(record))
    if record.name == "needle":
        layers = read_name(name).layers
        load = runtime.V3Engine.load if layers is None else runtime.V3Engine.load_with_depth
        engine = load(path) if layers is None else load(path, layers)
        return serve_needle(engine, name.replace("needle", "needle3", 1))
    return _serve_llama(runtime, path, name)


def serve_needle(engine: needle.Engine, model: str = needle.MODELS[0]) -> Server:
    """Serve an engine of Needle's kind, one request at a time.

    >>> class Never:
    ...     def generate(self, query, tools_json, **settings): ...
    >>> with serve_needle(Never()) as server:
    ...     server.base_url.startswith("http://127.0.0.1:")
    True
    """
    front = _Front(("127.0.0.1", 0), _Handler)
    front.engine, front.api_key, front.engine_lock = engine, secrets.token_urlsafe(24), threading.Lock()
    thread = threading.Thread(target=front.serve_forever, args=(0.05,), name="zoolab-needle", daemon=True)
    thread.start()

    def stop() -> None:
        front.shutdown()
        front.server_close()
        thread.join()

    return Server(f"http://127.0.0.1:{front.server_port}/v1", front.api_key, model, stop)


def _runtime(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidInput(
            f"the local models need {module.replace('_', '-')}, which is not installed",
            advice="run: pip install 'zoolab[local]'",
        ) from None


def _serve_llama(runtime: Any, path: str, name: str) -> Server:
    key = secrets.token_urlsafe(24)
    parameters = runtime.CommonParams()
    parameters.model.path, parameters.model_alias = path, [name]
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [key]
    parameters.n_ctx, parameters.n_parallel = _CONTEXT_TOKENS, 1
    # One thread: on a busy two-core machine two were thirty times slower.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    # Earlier prompts are not reused: with reuse, 3 of 4 requests got another answer by what came before.
    parameters.cache_prompt, parameters.cache_ram_mib = False, 0
    parameters.warmup, parameters.verbosity = False, 0
    parameters.ui = parameters.endpoint_slots = False
    # llama.cpp stops when the last reference to its server goes.
    held = [runtime.Server(parameters)]
    return Server(f"{held[0].listening_address}/v1", key, name, held.clear)


class _Front(ThreadingHTTPServer):
    daemon_threads = True
    engine: needle.Engine
    api_key: str
    engine_lock: threading.Lock

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _HTTPProblem(Exception):
    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SLOW_CLIENT_SECONDS

    @property
    def front(self) -> _Front:
        return cast("_Front", self.server)

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._unread = False
        self._answer(self._models)

    def do_POST(self) -> None:
        self._unread = True
        self._answer(self._chat)

    def _answer(self, act: Callable[[], None]) -> None:
        try:
            self._check_key()
            act()
        except _HTTPProblem as problem:
            self._refuse(problem.status, problem.kind, str(problem))
        except needle.BadRequest as problem:
            self._refuse(400, "invalid_request_error", str(problem))

    def _check_key(self) -> None:
        expected = f"Bearer {self.front.api_key}".encode()
        if not hmac.compare_digest(self.headers.get("Authorization", "").encode(), expected):
            raise _HTTPProblem(401, "authentication_error", "wrong or missing API key")

    def _models(self) -> None:
        if self.path != "/v1/models":
            raise _HTTPProblem(404, "not_found_error", "no such path")
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": "zoolab"} for name in needle.MODELS]
        self._send(200, {"object": "list", "data": rows})

    def _chat(self) -> None:
        if self.path != "/v1/chat/completions":
            raise _HTTPProblem(404, "not_found_error", "no such path")
        body = self._body()
        with self.front.engine_lock:
            completion = self._complete(body)
        if body.get("stream"):
            self._stream(completion, body.get("stream_options") == {"include_usage": True})
        else:
            self._send(200, completion)

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            return needle.complete(body, self.front.engine)
        except needle.BadRequest:
            raise
        except Exception as error:
            raise _HTTPProblem(500, "server_error", f"the engine failed: {type(error).__name__}") from error

    def _length(self) -> int:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise _HTTPProblem(411, "invalid_request_error", "expected a Content-Length")
        if len(length) > 9 or int(length) > _MAX_BODY:
            raise _HTTPProblem(413, "invalid_request_error", f"expected at most {_MAX_BODY:,} bytes")
        return int(length)

    def _read(self) -> bytes:
        length, self._unread = self._length(), False
        return self.rfile.read(length)

    def _body(self) -> dict[str, Any]:
        try:
            body = parse_json(self._read().decode())
        except (UnicodeDecodeError, NotStrictJSON) as error:
            raise _HTTPProblem(400, "invalid_request_error", f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise _HTTPProblem(400, "invalid_request_error", "expected a JSON object")
        return cast("dict[str, Any]", body)

    def _refuse(self, status: int, kind: str, message: str) -> None:
        # Closing on a body that nobody read would reset the connection, and the answer with it.
        if self._unread:
            with suppress(_HTTPProblem):
                self._read()
        self.close_connection = True
        self._send(status, {"error": {"message": message, "type": kind, "param": None, "code": None}})

    def _send(self, status: int, value: Any) -> None:
        # ASCII only: what a model writes may hold lone surrogates, which UTF-8 cannot carry.
        content = json.dumps(value, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, completion: dict[str, Any], usage: bool) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in needle.chunks(completion, usage=usage):
            self.wfile.write(f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
