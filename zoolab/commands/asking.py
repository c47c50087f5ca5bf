"""The model that the options of a command name."""

from __future__ import annotations

import argparse

from zoolab.apis import APIS
from zoolab.errors import InvalidInput
from zoolab.models.openai import OpenAIModel
from zoolab.models.replay import ANY_API, Replay, local_model, registered_model
from zoolab.plugins import MODELS, refuses
from zoolab.records import Model

#: What no `--provider` is: the local models, and Chat Completions, which need none.
_NO_PROVIDERS = {"local", "openai", ANY_API}

DEFAULT_RECORDING = "starter"
DEFAULT_TOOLS = ("add", "multiply", "get_weather", "check_status")


def is_live(options: argparse.Namespace) -> bool:
    """Return whether an endpoint is asked."""
    return bool(options.live or options.model or options.base_url or options.provider)


def named_model(options: argparse.Namespace, default: str = DEFAULT_RECORDING) -> Model:
    """Return a live endpoint, a local model, or a recording: the one that is named, else the default
    recording.
    """
    recording: str | None = getattr(options, "recording", None)
    stream: bool = getattr(options, "stream", False)
    if sum([options.local is not None, is_live(options), recording is not None]) > 1:
        raise InvalidInput("more than one model is asked", advice="choose --live, --local or --recording")
    if options.local is not None:
        return local_model()(options.local or None, stream=stream)
    if options.provider:
        return _provider(options.provider, options.model, options.base_url, stream)
    if is_live(options):
        return OpenAIModel(options.model, base_url=options.base_url, stream=stream)
    return Replay(recording or default, stream=stream)


def _provider(name: str, model: str | None, base_url: str | None, stream: bool) -> Model:
    make = registered_model(name)
    if make is None or name in _NO_PROVIDERS:
        known = ", ".join(sorted({*MODELS.entries(), *APIS} - _NO_PROVIDERS))
        advice = "" if known else "install all of zoolab: no provider is here"
        raise InvalidInput(
            f"no provider is named {name!r}", expected=known and f"one of {known}", advice=advice
        )
    if base_url is None:  # a registered model need not take it
        return make(model, stream=stream)
    if refuses(make, model, base_url=base_url, stream=stream):
        raise InvalidInput(f"the models of {name} take no base_url", advice="leave out --base-url")
    return make(model, base_url=base_url, stream=stream)
