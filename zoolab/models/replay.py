"""A recorded model, which answers from a file through the real openai client; and the LIVE switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from zoolab.apis import APIS
from zoolab.apis.chat import ChatCompletions, completion_of, error_body
from zoolab.errors import InvalidInput, ModelError, ReplayMiss
from zoolab.models.about import about
from zoolab.models.openai import OpenAIModel
from zoolab.models.recording import Header, Recording
from zoolab.models.transport import offline_client
from zoolab.plugins import MODELS
from zoolab.records import Model, Reply, Request, without

#: What makes a model for an API that has no class of models.
ANY_API = "any-api"


class Replay:
    """Answers each request as it was answered when it was recorded.

    A request is known by what it asks: messages, tools, tool choice, model and settings. Whether it is
    streamed, and how long its tools took, makes no difference. `client` is an `openai.OpenAI` that
    anybody may use: it answers from the recording, without a network.

    Args:
        path: The recording: a file, or the name of one that comes with zoolab, such as "starter".
        live: A model that answers what is not recorded; its answers are added to the recording, without
            headers and with secrets taken out.
        stream: Whether replies come in pieces. The pieces of a recording that was made without
            streaming are cut by zoolab.

    Raises:
        ReplayMiss: The request is not recorded, and there is no `live`; shows the nearest one.
        InvalidInput: There is no such recording, or `live` is not the model whose recording it is.
    """

    shared = True

    def __init__(self, path: str | Path, live: Model | None = None, stream: bool = False) -> None:
        said: Header | None = None
        if live is not None:
            of = about(live)
            # Only a model that says so is a real one.
            made: Literal["recorded", "authored"] = "recorded" if of.made == "recorded" else "authored"
            said = Header(made, of.name, of.who, of.settings, of.calls)
        self.recording = Recording(path, said)
        header = self.recording.header
        # What one model said, or a hand wrote, is never passed off as said by another model.
        if said and header.made == "recorded" and (said.made, said.model) != (header.made, header.model):
            raise InvalidInput(
                f"{self.recording.path.name} is recorded from {header.model},"
                f" and this is {said.model}, {said.made}",
                advice="begin another recording",
            )
        self.live = live
        self.client = offline_client(self._answer, model=header.model)
        self.model = header.model
        self.calls = header.calls
        self._asks = OpenAIModel(
            header.model or "recorded", client=self.client, stream=stream, settings=header.settings
        )

    def __repr__(self) -> str:
        return f"<Replay of {self.recording.path.name}>"

    def __call__(self, request: Request) -> Reply:
        body = self.body(request)
        key = self.recording.key_of(body)
        if self.recording.response(key) is None:
            if self.live is None:
                raise self._miss(body)
            self.recording.add(body, _response_of(self.live(request)))
        reply = self._asks.ask(body)
        told = (self.recording.response(key) or {}).get("left_out")
        left_out = told if isinstance(told, dict) else {}
        sent = self.recording.sent_instead(key) or without(reply.sent or {}, left_out)
        return replace(reply, sent=sent, left_out=left_out, changed=request.changes)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of the HTTP request, as the recording knows it."""
        return self._asks.body(request)

    def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        response = self.recording.response(self.recording.key_of(body))
        if response is not None:
            return 200, response
        return 404, error_body(str(self._miss(body)), "replay_miss", code="replay_miss")

    def _miss(self, body: dict[str, Any]) -> ReplayMiss:
        difference = self.recording.difference(body)
        return ReplayMiss(
            f"{self.recording.path.name} holds no such request among its {len(self.recording)}",
            advice='ask what was recorded, set LIVE = "local" in a notebook, or record this with live='
            + (f"\n{difference}" if difference else ""),
            difference=difference,
        )


def _response_of(reply: Reply) -> dict[str, Any]:
    """Return the response as it came, if it is a chat completion; else one that says the same."""
    if not reply.message:
        raise ModelError("a reply without a message cannot be recorded", expected="an assistant message")
    response = reply.raw if reply.raw and "choices" in reply.raw else completion_of(reply)
    instead = {} if reply.sent_instead is None else {"sent": dict(reply.sent_instead)}
    left_out = {"left_out": dict(reply.left_out)} if reply.left_out else {}
    return {**response, **instead, **left_out}


def model_for(live: str | None, recording: str | Path = "starter", stream: bool = False) -> Model:
    """Return the model that a notebook's `LIVE` switch names.

    Args:
        live: None answers from the recording; "local" asks the small models on this machine, "qwen" or
            another of their names one of them; "endpoint" asks OPENAI_BASE_URL, "anthropic" and the like
            ZOOLAB_MODEL of that provider; "record:endpoint" and the like answer from the recording, and have
            that model answer what it lacks, and add it.
        recording: The name or path of the recording.
        stream: Whether replies come in pieces.

    >>> model_for(None).recording.header.made
    'recorded'
    >>> model_for("local").name
    'needle+smollm2'
    """
    if live is None:
        return Replay(recording, stream=stream)
    if isinstance(live, str) and live.startswith("record:"):
        return Replay(recording, live=model_for(live.removeprefix("record:")), stream=stream)
    if live == "endpoint":
        return OpenAIModel(stream=stream)
    if isinstance(live, str):
        make = registered_model(live)
        return local_model()(live, stream=stream) if make is None else make(None, stream=stream)
    raise InvalidInput(f"LIVE is {live!r}", expected='None, "local", "endpoint", or a local model\'s name')


def registered_model(name: str) -> Callable[..., Model] | None:
    """Return what makes the model of this name, or a model behind the API of this name, or None."""
    make: Callable[..., Model] | None = MODELS.find(name)
    if make is not None or name == ChatCompletions.name or name not in APIS:
        return make
    of_any = MODELS.find(ANY_API)
    return None if of_any is None else partial(of_any, name)


def local_model() -> Callable[..., Model]:
    """Return what makes models of this machine, by their names.

    Raises:
        InvalidInput: Nothing is installed that runs such models.
    """
    make: Callable[..., Model] = MODELS.needed("local", "runs models on this machine")
    return make
