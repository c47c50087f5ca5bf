"""Models, behind one method each: `model(request) -> Reply`.

Scripted      says what a script tells it
OpenAIModel   asks any OpenAI-compatible endpoint
Replay        answers from a recording, through the real openai client
LocalModel    runs small models on this machine
Faulty        wraps any of them and injects faults
who_answers   one of these, as a notebook's LIVE switch says
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoolab.models.choosing import who_answers
    from zoolab.models.faulty import Faulty
    from zoolab.models.local import LocalModel
    from zoolab.models.openai import OpenAIModel
    from zoolab.models.replay import Replay
    from zoolab.models.scripted import Scripted

__all__ = ["Faulty", "LocalModel", "OpenAIModel", "Replay", "Scripted", "who_answers"]

_HOMES = {
    "Faulty": "faulty",
    "LocalModel": "local",
    "OpenAIModel": "openai",
    "Replay": "replay",
    "Scripted": "scripted",
    "who_answers": "choosing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
