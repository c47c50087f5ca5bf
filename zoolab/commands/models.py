"""Which model a command asks, from its options."""

from __future__ import annotations

import argparse
import sys

from zoolab.errors import InvalidInput
from zoolab.models import weights
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


def show_table() -> int:
    """A line for each model: what it is, and whether it is here."""
    for row in weights.table():
        here = "here" if row["present"] else f"zoolab local fetch {row['name']}"
        runtime = "" if row["runtime_installed"] else "; runtime missing: pip install 'zoolab[local]'"
        size = f"{row['size_bytes'] / 1e6:.0f} MB"
        print(f"{row['name']:<10} {row['title']:<40} {row['licence']:<12} {size:>7}  {here}{runtime}")
    return 0


def fetch_all(names: list[str]) -> int:
    """Fetch the weights of these models, or of all."""
    wanted = [weights.lookup(name).name for name in names] or [row["name"] for row in weights.table()]
    for name in wanted:
        path = weights.fetch(name, _report)
        print(f"{name}: {path}")
    return 0


def _report(what: str, done: int, total: int) -> None:
    share = f"{100 * done / total:3.0f} %" if total else ""
    end = "\r" if sys.stderr.isatty() and done < total else "\n"
    if sys.stderr.isatty() or done >= total:
        print(f"{what} {done / 1e6:6.1f} MB {share}  ", end=end, file=sys.stderr, flush=True)
