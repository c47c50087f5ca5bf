"""Which model a command asks, from its options."""

from __future__ import annotations

import argparse

from zoolab.errors import InvalidInput
from zoolab.records import Model
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry

DEFAULT_RECORDING = "starter"
DEFAULT_PROMPT = "What is 42 + 58?"
DEFAULT_TOOLS = ("add", "get_weather", "check_status")


def tools_of(options: argparse.Namespace) -> ToolRegistry:
    """The tools that the options name."""
    return tools_named(*(options.tools.split(",") if options.tools else DEFAULT_TOOLS))


def model_of(options: argparse.Namespace, default: str = DEFAULT_RECORDING) -> Model:
    """A live endpoint, a local model, or a recording: the one that is named, else the default."""
    recording: str | None = getattr(options, "recording", None)
    asked = [options.local is not None, is_live(options), recording is not None]
    if sum(asked) > 1:
        raise InvalidInput("more than one model is asked", advice="choose --live, --local or --recording")
    if options.local is not None:
        from zoolab.models.local import LocalModel

        return LocalModel(options.local or None, stream=options.stream)
    if is_live(options):
        from zoolab.models.openai import OpenAIModel, make_client

        return OpenAIModel(options.model, make_client(options.base_url), options.stream)
    from zoolab.models.replay import Replay

    return Replay(recording or default, stream=options.stream)


def is_live(options: argparse.Namespace) -> bool:
    """Whether an endpoint is asked."""
    return bool(options.live or options.model or options.base_url)
