"""Models, behind one method each: `model(request) -> Reply`.

Scripted      says what a script tells it
OpenAIModel   asks any OpenAI-compatible endpoint
ResponsesModel, AnthropicModel, GeminiModel, OllamaModel
              ask these APIs in their own forms
Replay        answers from a recording, through the real openai client
LocalModel    runs models on this machine
Faulty        wraps any of them and injects faults
model_for     one of these, as a notebook's LIVE switch says
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if TYPE_CHECKING:
    from zoolab.models.faulty import Faulty
    from zoolab.models.local import LocalModel
    from zoolab.models.openai import OpenAIModel
    from zoolab.models.providers import AnthropicModel, GeminiModel, OllamaModel, ResponsesModel
    from zoolab.models.replay import Replay, model_for
    from zoolab.models.scripted import Scripted

__all__ = ["AnthropicModel", "Faulty", "GeminiModel", "LocalModel", "OllamaModel", "OpenAIModel"]
__all__ += ["Replay", "ResponsesModel", "Scripted", "model_for"]

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "faulty": "Faulty",
            "local": "LocalModel",
            "openai": "OpenAIModel",
            "providers": "AnthropicModel GeminiModel OllamaModel ResponsesModel",
            "replay": "Replay model_for",
            "scripted": "Scripted",
        },
    )
