"""The `LIVE` switch of a notebook: a recording, a model on this machine, or an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoolab.errors import InvalidInput
from zoolab.models.local import LocalModel
from zoolab.models.openai import OpenAIModel
from zoolab.models.replay import Replay

if TYPE_CHECKING:
    from pathlib import Path

    from zoolab.records import Model


def model_for(live: str | None, recording: str | Path = "starter", stream: bool = False) -> Model:
    """The model that a notebook's `LIVE` switch names.

    Args:
        live: None answers from the recording; "local" asks the models on this machine, "needle" or another
            of their names one of them; "endpoint" asks OPENAI_BASE_URL; "record" answers from the recording
            and has the local models answer, and adds, what it lacks.
        recording: The name or path of the recording.
        stream: Whether replies come in pieces.

    >>> model_for(None).recording.header.made
    'recorded'
    >>> model_for("local").name
    'needle+smollm2'
    """
    if live is None:
        return Replay(recording, stream=stream)
    if live == "record":
        return Replay(recording, live=LocalModel(), stream=stream)
    if live == "endpoint":
        return OpenAIModel(stream=stream)
    if live == "local":
        return LocalModel(stream=stream)
    if isinstance(live, str):
        return LocalModel(live, stream=stream)
    raise InvalidInput(f"LIVE is {live!r}", expected='None, "local", "endpoint", or a local model\'s name')
