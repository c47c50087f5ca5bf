"""The options by which commands name a model and tools."""

from __future__ import annotations

import argparse

from zoolab.errors import InvalidInput
from zoolab.models.local import LocalModel
from zoolab.models.openai import OpenAIModel, make_client
from zoolab.models.replay import Replay
from zoolab.records import Model

DEFAULT_RECORDING = "starter"
DEFAULT_TOOLS = ("add", "get_weather", "check_status")


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Which model is asked."""
    parser.add_argument("--live", action="store_true", help="ask the endpoint of OPENAI_BASE_URL")
    parser.add_argument("--model", help="its model, by default ZOOLAB_MODEL")
    parser.add_argument("--base-url", help="another endpoint")
    parser.add_argument("--local", nargs="?", const="", metavar="NAME", help="ask a model on this machine")


def add_walk_options(parser: argparse.ArgumentParser) -> None:
    """Which model is asked, with which tools, and how."""
    parser.add_argument(
        "--tools",
        type=lambda text: text.split(","),
        default=DEFAULT_TOOLS,
        metavar="A,B",
        help="which of the starter tools to offer",
    )
    parser.add_argument("--system", help="the system prompt")
    add_model_options(parser)
    parser.add_argument("--stream", action="store_true", help="have the replies in pieces")
    parser.add_argument("--yes", action="store_true", help="allow tools that ask for permission")


def is_live(options: argparse.Namespace) -> bool:
    """Whether an endpoint is asked."""
    return bool(options.live or options.model or options.base_url)


def model_of(options: argparse.Namespace, default: str = DEFAULT_RECORDING) -> Model:
    """A live endpoint, a local model, or a recording: the one that is named, else the default recording."""
    recording: str | None = getattr(options, "recording", None)
    if sum([options.local is not None, is_live(options), recording is not None]) > 1:
        raise InvalidInput("more than one model is asked", advice="choose --live, --local or --recording")
    if options.local is not None:
        return LocalModel(options.local or None, stream=options.stream)
    if is_live(options):
        return OpenAIModel(options.model, make_client(options.base_url), options.stream)
    return Replay(recording or default, stream=options.stream)
