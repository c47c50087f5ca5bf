"""Models that answer from what was recorded as long as that lasts, and then live."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from zoolab.errors import ReplayMiss
from zoolab.models.replay import Replay
from zoolab.records import Model, Reply, Request


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
