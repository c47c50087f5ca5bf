"""The local models as the data sets ask them: Needle at any depth, SmolLM2 by the text protocol.

A name says it all: `needle3-L8` is Needle with 8 of its 20 layers, `needle3-L8-raw` the same without the
constraint that it may only write names of tools on offer, `smollm2` describes the tools in the prompt.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zoolab.errors import InvalidInput, ModelError
from zoolab.models import needle, weights
from zoolab.models.local import SEED, LocalModel
from zoolab.models.openai import reply_from
from zoolab.records import Message, Model, Reply, Request
from zoolab.registry import ToolRegistry
from zoolab.steps.request import opening_messages

LAYERS = 20
_NAME = re.compile(r"needle3-L(\d{1,2})(-raw)?\Z", re.ASCII)

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
        """The request that is sent, with the tools of `registry`."""
        settings = {"max_tokens": self.max_tokens}
        if self.as_text:
            messages = opening_messages(self.prompt, messages=EXAMPLES, text_tools=registry)
            return Request(messages, settings=settings)
        return Request(opening_messages(self.prompt), tuple(registry.schemas()), settings=settings)


class NeedleAtDepth:
    """Needle with some of its layers: a ladder of quality, from 6 to 20.

    Args:
        depth: How many layers run; the fewer, the faster and the worse.
        constrain: Whether it may only write names of tools that are on offer.

    Raises:
        InvalidInput: No such depth; at the first request: the weights or the runtime are not here.

    >>> NeedleAtDepth(8).name, NeedleAtDepth(20, constrain=False).name
    ('needle3-L8', 'needle3-L20-raw')
    """

    #: What a recording of this model says of itself.
    made = "recorded"
    calls = "native"

    def __init__(self, depth: int = LAYERS, *, constrain: bool = True) -> None:
        if not 2 <= depth <= LAYERS:
            raise InvalidInput(f"a depth of {depth}", expected=f"2 to {LAYERS} layers")
        self.depth, self.constrain = depth, constrain
        self.name = self.model = f"needle3-L{depth}" + ("" if constrain else "-raw")
        self.settings = {"temperature": 0, "seed": SEED, "max_tokens": 160}
        self._engine: Any = None

    @property
    def who(self) -> str:
        """Who answers, for a recording."""
        return f"{weights.describe(['needle'])}, {self.depth} of {LAYERS} layers"

    def __call__(self, request: Request) -> Reply:
        body = request.body(**self.settings, model=needle.MODELS[0 if self.constrain else 1])
        try:
            completion = needle.complete(body, self._loaded())
        except needle.BadRequest as problem:
            raise ModelError(f"{self.name} cannot answer: {problem}", advice="ask for less") from None
        return reply_from({**completion, "model": self.name})

    def _loaded(self) -> Any:
        if self._engine is None:
            runtime = _runtime()
            path = str(weights.find("needle"))
            whole = self.depth == LAYERS
            self._engine = (
                runtime.V3Engine.load(path) if whole else runtime.V3Engine.load_with_depth(path, self.depth)
            )
        return self._engine


class Askers:
    """The models by name, each loaded once.

    >>> Askers().of("needle3-L8").name
    'needle3-L8'
    """

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    def of(self, name: str) -> Model:
        """The model of that name, or `InvalidInput`."""
        if name not in self._models:
            self._models[name] = _model(name)
        return self._models[name]

    def ask(self, question: Question, registry: ToolRegistry) -> Reply:
        """The reply to a question."""
        return self.of(question.model)(question.request(registry))


def who_answers(name: str) -> str:
    """The model of that name and what runs it, in a line.

    >>> who_answers("needle3-L8").startswith("Needle 3 (121 M parameters, 2 bit), run by needle-rs")
    True
    """
    return str(getattr(_model(name), "who", name))


def offered(names: Sequence[str], everything: ToolRegistry) -> ToolRegistry:
    """The tools of these names.

    >>> offered([], ToolRegistry()).names()
    []
    """
    return ToolRegistry(everything[name] for name in names)


def _model(name: str) -> Model:
    if name == "smollm2":
        return LocalModel("smollm2")
    found = _NAME.match(name)
    if not found:
        raise InvalidInput(f"no local model is named {name!r}", expected="smollm2, or as needle3-L8")
    return NeedleAtDepth(int(found[1]), constrain=not found[2])


def _runtime() -> Any:
    try:
        return importlib.import_module("needle_rs")
    except ImportError:
        raise InvalidInput(
            "the local models need needle-rs, which is not installed",
            advice="run: pip install 'zoolab[local]'",
        ) from None
