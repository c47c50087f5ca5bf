"""The engines that run local models in this process: each is loaded once, and answers one request at a time.

A request reaches an engine through the real `openai` client and a transport without a network. An engine
runs on a thread of its own, so that whoever waits for it hears Ctrl-C. Needle's engine holds Python's lock
while it runs: other threads wait for its reply. llama.cpp lets it go.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.models import needle, weights
from zoolab.models.transport import error_body, offline_client

if TYPE_CHECKING:
    import openai

__all__ = ["SHARED", "Engine", "Engines", "load"]

_CONTEXT_TOKENS = {"smollm2": 4096, "qwen": 8192}

#: What a model says to the body of a request: a chat completion, or the chunks of one.
Answers = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]]]


class Engine:
    """A model that is loaded: its name, and a client that asks it."""

    def __init__(self, model: str, answers: Answers) -> None:
        self.model = model
        self._answers: list[Answers] = [answers]
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"zoolab-{model}")

    def client(self) -> openai.OpenAI:
        """A client of its own for each user; a bad request is a 400, a failing engine a 500."""
        return offline_client(self._answer, self.model.lower(), self.model)

    def close(self) -> None:
        """Let the model go, after the request that it is busy with."""
        self._worker.shutdown()
        self._answers.clear()

    def _answer(
        self, read: Callable[[], dict[str, Any]], _key: str | None
    ) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        body = read()
        try:
            answer = self._worker.submit(lambda: self._answers[0](body)).result()
        except InvalidInput:
            raise
        except Exception as error:
            answer = error_body(f"the engine failed: {type(error).__name__}", "server_error", code=500)
        first = answer[0] if isinstance(answer, list) and answer else answer
        if isinstance(first, dict) and "error" in first:
            return int(first["error"].get("code", 500)), first
        return 200, answer


class Engines:
    """The engines of a process: each model is loaded once and shared, and let go by its last user."""

    def __init__(self) -> None:
        self._loaded: dict[str, Engine] = {}
        self._users: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> Engine:
        """The engine of a model, loaded if need be; `give_back` it once."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load(name)
            self._users[name] = self._users.get(name, 0) + 1
            return self._loaded[name]

    def give_back(self, name: str) -> None:
        """One user less; the last one lets the model go."""
        with self._lock:
            self._users[name] -= 1
            if self._users[name] == 0:
                self._loaded.pop(name).close()


#: The engines that all local models of this process share, so that weights are loaded once.
SHARED = Engines()


def load(name: str) -> Engine:
    """Load a model.

    Raises:
        InvalidInput: The name is unknown, or the runtime or the weights are not here.
    """
    record = weights.lookup(name)
    try:
        runtime = importlib.import_module(record.runtime)
    except ImportError:
        raise InvalidInput(
            f"the local models need {record.runtime.replace('_', '-')}, which is not installed",
            advice="run: pip install 'zoolab[local]'",
        ) from None
    path = str(weights.find(record))
    if record.name in _CONTEXT_TOKENS:
        return Engine(name, partial(_ask_llama, _llama(runtime, path, name)))
    layers = weights.read_name(name).layers
    load_all, load_some = runtime.V3Engine.load, runtime.V3Engine.load_with_depth
    engine = load_all(path) if layers is None else load_some(path, layers)
    return Engine(name.replace("needle", "needle3", 1), partial(needle.complete, engine=engine))


def _llama(runtime: Any, path: str, name: str) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path, parameters.model_alias = path, [name]
    # llama.cpp listens in any case: on loopback, with a random key that nobody is told.
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [token_urlsafe(24)]
    parameters.n_ctx, parameters.n_parallel = _CONTEXT_TOKENS[name], 1
    # One thread: on a busy two-core machine two were thirty times slower.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    # Earlier prompts are not reused: with reuse, 3 of 4 requests got another answer by what came before.
    parameters.cache_prompt, parameters.cache_ram_mib = False, 0
    parameters.warmup, parameters.verbosity = False, 0
    parameters.ui = parameters.endpoint_slots = False
    return runtime.Server(parameters)


def _ask_llama(server: Any, body: dict[str, Any]) -> Any:
    if not body.get("stream"):
        return server.handle_chat_completions(body)
    chunks: list[dict[str, Any]] = []
    server.handle_chat_completions(body, chunks.append)
    return chunks
