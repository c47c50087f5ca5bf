"""Real models that answer on this machine, offline and without a key.

`LocalModel()` uses two small ones, each for what it can do. Needle chooses calls; it sees the tools and the
last question, never a result. SmolLM2 writes words: its chat template knows no tools, and drops a call and
where a result came from. So once there is a result, SmolLM2 gets the question and the results as a plain
conversation with six worked examples; `LocalModel.sent` shows it, and so does `reply.sent`.

They are small, and wrong often. That is what they are good for here: their mistakes are real ones.

`LocalModel("qwen")` is a larger one. It gets the whole conversation with its tools, reads results and calls
again. It writes calls as fenced JSON in its text.

Each model is loaded once in a process, and answers one request at a time, on a thread of its own, so that
whoever waits for it hears Ctrl-C. It is asked through the real `openai` client, without a network. Needle
holds Python's lock while it runs: other threads wait for its reply. llama.cpp lets it go.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Literal, cast

from zoolab.apis.chat import error_body
from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.files import read_table
from zoolab.messages import text_of
from zoolab.models.transport import offline_client
from zoolab.records import Reply, Request
from zoolab_course import needle, weights

if TYPE_CHECKING:
    import openai

    from zoolab.models.openai import OpenAIModel

SEED = 42
_MAX_TOKENS = {"qwen": 256}
_CALLS: dict[str, Literal["text", "auto"]] = {"smollm2": "text", "qwen": "auto"}

#: What SmolLM2 is told before a result, and the worked examples.
_WORDS = read_table(__name__.rpartition(".")[0], "words.toml")
_CONTEXT_TOKENS = {"smollm2": 4096, "qwen": 8192}

#: What a model says to the body of a request: a chat completion, or the chunks of one.
Answers = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]]]


class Engine:
    """A model that is loaded: its name, and a client that asks it."""

    def __init__(self, model: str, answers: Answers) -> None:
        self.model = model
        self._answers = answers
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"zoolab-{model}")

    def client(self) -> openai.OpenAI:
        """Return a client of its own for each user; a bad request is a 400, a failing engine a 500."""
        return offline_client(self._answer, self.model.lower(), self.model)

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        try:
            answer = self._worker.submit(self._answers, body).result()
        except InvalidInput:
            raise
        except Exception as error:
            answer = error_body(f"the engine failed: {type(error).__name__}", "server_error", code=500)
        first = answer[0] if isinstance(answer, list) and answer else answer
        if isinstance(first, dict) and "error" in first:
            return int(first["error"].get("code", 500)), first
        return 200, answer


_LOADING = threading.Lock()


def engine_of(name: str) -> Engine:
    """Return the engine of a model. All local models of a process share it: weights are loaded once."""
    with _LOADING:
        return load_engine(name)


@cache
def load_engine(name: str) -> Engine:
    """Load a model; `InvalidInput` if its name is unknown, or its runtime or its weights are not here."""
    record = weights.weights_of(name)
    needs(record.runtime)
    runtime = importlib.import_module(record.runtime)
    path = str(weights.find(record))
    if record.name in _CONTEXT_TOKENS:
        return Engine(name, partial(_ask_llama, _llama(runtime, path, name)))
    layers = weights.read_name(name).layers
    load_all = runtime.V3Engine.load
    load_some = runtime.V3Engine.load_with_depth
    engine = load_all(path) if layers is None else load_some(path, layers)
    return Engine(name.replace("needle", "needle3", 1), partial(needle.complete, engine=engine))


def _llama(runtime: Any, path: str, name: str) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path = path
    parameters.model_alias = [name]
    # llama.cpp listens in any case: on loopback, with a random key that nobody is told.
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [token_urlsafe(24)]
    parameters.n_ctx = _CONTEXT_TOKENS[name]
    parameters.n_parallel = 1
    # One thread: on a busy two-core machine two were thirty times slower.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    # Earlier prompts are not reused: with reuse, 3 of 4 requests got another answer by what came before.
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    parameters.warmup = False
    parameters.verbosity = 0
    parameters.ui = parameters.endpoint_slots = False
    return runtime.Server(parameters)


def _ask_llama(server: Any, body: dict[str, Any]) -> Any:
    if not body.get("stream"):
        return server.handle_chat_completions(body)
    chunks: list[dict[str, Any]] = []
    server.handle_chat_completions(body, chunks.append)
    return chunks


class LocalModel:
    """A real model on this machine, through the real `openai` client.

    Args:
        name: "needle" chooses calls, also with its first layers only, so faster and worse ("needle-L8"), or
            without its guard, so that it may write anything ("needle-raw", "needle-L8-raw");
            "smollm2" writes text; "needle-L8+smollm2" and by default "needle+smollm2": both work together;
            "qwen" does both.
        stream: Whether replies are streamed; needle's are cut into pieces after they are complete.
        engines: Finds what runs a model, by its name; by default all local models of the process share them.
        settings: Fields of each request: by default `temperature` 0, `seed` 42, and a `max_tokens`.

    The weights have to be fetched once: `zoolab local fetch`, or `zoolab local fetch qwen`. The seed is
    fixed: the same request gives the same reply. A model is loaded at its first request, and kept.

    Raises:
        InvalidInput: No such model; at the first request: its weights or its runtime are not here.
    """

    made = "recorded"
    deterministic = True
    on_this_machine = True
    shared = True

    def __init__(
        self,
        name: str | None = None,
        *,
        stream: bool = False,
        engines: Callable[[str], Engine] = engine_of,
        **settings: Any,
    ) -> None:
        #: The name of the model, or of both; a recording keeps it as `model`.
        self.name = self.model = name or "needle+smollm2"
        #: Who chooses calls, and who writes words: often the same.
        self._caller, plus, writer = self.name.partition("+")
        self._writer = writer if plus else self._caller
        for part in (self._caller, self._writer):
            weights.weights_of(part)
        if plus and writer != "smollm2":
            raise InvalidInput(f"{writer} does not write text", expected=f"{self._caller}+smollm2")
        longest = _MAX_TOKENS.get(self._caller, 160)
        self.settings: dict[str, Any] = {"temperature": 0, "seed": SEED, "max_tokens": longest, **settings}
        #: Where the calls are: in `tool_calls`; in the text, because the template of the model drops tools;
        #: or in either.
        self.calls: Literal["native", "text", "auto"] = _CALLS.get(self._caller, "native")
        self._stream = stream
        self._engines = engines
        self._models: dict[str, OpenAIModel] = {}

    @property
    def who(self) -> str:
        """Who answers, for a recording: the models and what runs them."""
        return weights.describe(dict.fromkeys([self._caller, self._writer]))

    def __repr__(self) -> str:
        return f"<LocalModel {self.name}>"

    def __call__(self, request: Request) -> Reply:
        sent = self.sent(request)
        reply = self._model(self.answers(request))(sent)
        return reply if sent is request else replace(reply, sent=reply.body_sent(sent))

    def answers(self, request: Request) -> str:
        """Return which model answers a request: words after a result and without tools, else calls."""
        choosing = request.tools and request.tool_choice != "none" and not _ends_in_result(request)
        return self._caller if choosing else self._writer

    def sent(self, request: Request) -> Request:
        """Return the request as it is really sent: another one only if both models work together."""
        if self._caller != self._writer and _ends_in_result(request):
            return words_request(request)
        return request

    def _model(self, name: str) -> OpenAIModel:
        if name not in self._models:
            from zoolab.models.openai import OpenAIModel

            engine = self._engines(name)
            self._models[name] = OpenAIModel(
                engine.model, client=engine.client(), stream=self._stream, settings=self.settings
            )
        return self._models[name]


def words_request(request: Request) -> Request:
    """Return the plain conversation in which SmolLM2 puts results into words: no tools, no tool messages.

    A result in zoolab's envelope is shown as its data or its error, an object as "key value, key value".
    """
    messages = request.messages
    asked = [message for message in messages if message.get("role") == "user"]
    if not asked:
        raise InvalidInput(
            "the conversation has no user message", expected="a user message before the results of tools"
        )
    names = {
        call.get("id"): call.get("function", {}).get("name")
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    lines = [text_of(asked[-1])]
    results = list(takewhile(lambda message: message.get("role") == "tool", reversed(messages)))
    for message in reversed(results):
        name = names.get(message.get("tool_call_id")) or "the tool"
        lines.append(f"Result of {name}: {_plain(message.get('content'))}")
    words = [("system", _WORDS["system"])]
    for question, answer in _WORDS["examples"]:
        words += [("user", question), ("assistant", answer)]
    words.append(("user", "\n".join(lines)))
    return Request([{"role": role, "content": text} for role, text in words], settings=request.settings)


def _ends_in_result(request: Request) -> bool:
    return bool(request.messages) and request.messages[-1].get("role") == "tool"


def _plain(content: Any) -> str:
    try:
        value = json.loads(content)
    except (TypeError, ValueError, RecursionError):
        return str(content)
    if isinstance(value, dict) and "success" in value and "error_message" in value:
        envelope = cast("dict[str, Any]", value)
        value = envelope.get("data") if envelope["success"] else f"ERROR: {envelope['error_message']}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_scalar(part)}" for key, part in cast("dict[str, Any]", value).items())
    return _scalar(value)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
