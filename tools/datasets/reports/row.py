"""A row of the endpoint reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.datasets.reports.forms import JSON, Said, anthropic, chat, gemini, ollama, response_text, responses

#: The day on which the reports were read.
DAY = "2026-11-27"
TOOLS = ("get_weather", "get_time", "cleanup")
WEATHER = "How is the weather in Oslo?"
TIME = "What time is it?"
CLEAN = "Please clean up the data folder."
OSLO = {"name": "get_weather", "arguments": {"city": "Oslo", "days": 1}}
NOON = {"name": "get_time", "arguments": {}}
NO_CLEANUP = ({"name": "cleanup"},)

#: What every strict server of an API refuses in what was said before.
_ALWAYS = {
    "chat": ("arguments", "names", "ids", "pairs", "empty"),
    "responses": ("arguments", "names", "ids", "pairs"),
    "anthropic": ("arguments", "names", "ids", "pairs", "empty"),
    "gemini": ("arguments", "names", "pairs", "empty"),
    "ollama": ("arguments", "names"),
}


def report(
    id: str,
    kind: str,
    source: Sequence[str],
    happened: str,
    must: str,
    replies: Sequence[Said],
    *,
    prompt: str = CLEAN,
    tools: Sequence[str] = TOOLS,
    settings: JSON | None = None,
    must_run: Sequence[JSON] = (),
    must_not_run: Sequence[JSON] = (),
    must_return: Sequence[JSON] = (),
    must_say: Sequence[str] = (),
    refuses: Sequence[str] = (),
    rejects: Sequence[JSON] = (),
) -> JSON:
    """Return a row. Its API is the first word of its id; `refuses` are rules beside those of every strict
    server.
    """
    api = id.partition("-")[0]
    return {
        "id": id,
        "made": "authored",
        "source": list(source),
        "day": DAY,
        "kind": kind,
        "api": api,
        "happened": happened,
        "must": must,
        "prompt": prompt,
        "tools": list(tools),
        "settings": settings or {},
        "plain": [each.plain for each in replies],
        "streamed": [each.streamed for each in replies],
        "ends": [each.end for each in replies],
        "must_run": list(must_run),
        "must_not_run": list(must_not_run),
        "must_return": list(must_return),
        "must_say": list(must_say),
        "refuses": [*_ALWAYS[api], *refuses],
        "rejects": list(rejects),
    }


def done(api: str, text: str = "All is done.") -> Said:
    """Return the answer that ends a conversation."""
    made: dict[str, Any] = {
        "chat": lambda: chat(text),
        "responses": lambda: responses([response_text(text)]),
        "anthropic": lambda: anthropic([{"type": "text", "text": text}]),
        "gemini": lambda: gemini([{"text": text}]),
        "ollama": lambda: ollama(text),
    }
    said: Said = made[api]()
    return said
