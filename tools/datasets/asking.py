"""The local models as the data sets ask them: Needle at any depth, SmolLM2 by the text protocol.

A name says it all: `needle3-L8` is Needle with 8 of its 20 layers, `needle3-L8-raw` the same without the
constraint that it may only write names of tools on offer, `smollm2` describes the tools in the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from zoolab.errors import InvalidInput, ReplayMiss
from zoolab.models.replay import Replay
from zoolab.records import Message, Model, Reply, Request
from zoolab.steps.request import opening_messages
from zoolab.tools import ToolRegistry
from zoolab_course.local import LocalModel
from zoolab_course.weights import LAYERS

#: Without them SmolLM2 hardly ever writes a call. Their tools are none of those on offer.
EXAMPLES: tuple[Message, ...] = (
    {"role": "user", "content": "What is 1 + 2?"},
    {"role": "assistant", "content": '{"name": "add", "arguments": {"a": 1, "b": 2}}'},
    {"role": "user", "content": "Good evening!"},
    {"role": "assistant", "content": "Good evening! How can I help?"},
    {"role": "user", "content": "How cold is it in Rome?"},
    {"role": "assistant", "content": '{"name": "get_weather", "arguments": {"city": "Rome"}}'},
)


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked: a case's request to a model, with these tools, cut after so many tokens."""

    prompt: str
    model: str
    tools: tuple[str, ...]
    max_tokens: int = 160

    @property
    def as_text(self) -> bool:
        """Whether the tools are described in the prompt."""
        return self.model == "smollm2"

    def request(self, registry: ToolRegistry) -> Request:
        """Return the request that is sent, with the tools of `registry`."""
        settings = {"max_tokens": self.max_tokens}
        if self.as_text:
            messages = opening_messages(self.prompt, messages=EXAMPLES, text_tools=registry)
            return Request(messages, settings=settings)
        return Request(opening_messages(self.prompt), tuple(registry.schemas()), settings=settings)


class Askers:
    """The models by name, each loaded once.

    >>> Askers().of("needle3-L8").name
    'needle-L8'
    """

    def __init__(self) -> None:
        self._models: dict[str, LocalModel] = {}

    def of(self, name: str) -> LocalModel:
        """Return the model of that name, or `InvalidInput`."""
        if name not in self._models:
            self._models[name] = _model(name)
        return self._models[name]

    def ask(self, question: Question, registry: ToolRegistry) -> Reply:
        """Return the reply to a question."""
        return self.of(question.model)(question.request(registry))


def who_answers(name: str) -> str:
    """Return the model of that name and what runs it, in a line.

    >>> who_answers("needle3-L8")
    'Needle 3 (121 M parameters, 2 bit), needle3.cact, SHA-256 c9d915eca282, run by needle-rs ...'
    """
    return _model(name).who


def offered(names: Sequence[str], everything: ToolRegistry) -> ToolRegistry:
    """Return the tools of these names.

    >>> offered([], ToolRegistry()).names()
    []
    """
    return ToolRegistry(everything[name] for name in names)


def _model(name: str) -> LocalModel:
    if name != "smollm2" and not name.startswith("needle3-L"):
        raise InvalidInput(
            f"no model of the data sets is named {name!r}", expected="smollm2, or as needle3-L8"
        )
    return LocalModel(name.replace("needle3", "needle").replace(f"-L{LAYERS[-1]}", ""))


@dataclass
class RecordedOrLive:
    """Answers from a recording, and where it holds no such request by the model that was recorded."""

    replay: Replay
    live: Model
    #: What a recording of this model says of itself.
    made: str = field(default="recorded", init=False)
    calls: str = field(default="native", init=False)

    @property
    def client(self) -> Any:
        """The client that answers from the recording."""
        return self.replay.client

    @property
    def who(self) -> str:
        """Who answers."""
        return self.replay.recording.header.who

    def __call__(self, request: Request) -> Reply:
        with suppress(ReplayMiss):
            return self.replay(request)
        return self.live(request)


@dataclass
class GoneOn:
    """Answers first as a selection output did, and then by the model of words."""

    output: Mapping[str, Any]
    live: Model
    calls: str = field(init=False)
    made: str = field(default="recorded", init=False)

    def __post_init__(self) -> None:
        self.calls = "text" if self.output["model"] == "smollm2" else "native"

    def __call__(self, request: Request) -> Reply:
        if any(message.get("role") == "assistant" for message in request.messages):
            return self.live(request)
        return Reply(_message(self.output), self.output["finish_reason"], model=self.output["model"])


def _message(output: Mapping[str, Any]) -> dict[str, Any]:
    if output["model"] == "smollm2" or not output["calls"]:
        return {"role": "assistant", "content": output["raw"]}
    calls = [
        {"id": f"call_{number}", "type": "function", "function": dict(call)}
        for number, call in enumerate(output["calls"], 1)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}
