"""Which API a request of a program speaks: its body, its headers and the end of its path say so.

Gateways put an API behind any path, so the beginning of a path says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from zoolab.apis import APIS, Api
from zoolab.apis.reading import dicts_in

#: Ends of paths with bodies that resemble requests for a reply, but ask for something else.
_OTHERS = re.compile(
    r"(?:/count_tokens|/threads/[^/]+/messages|/batches|/embeddings|/moderations|/input_tokens|/compact|/speech|/tokenize|/rerank)\Z"
    r"|:(?!(?:generate|streamGenerate)Content\Z)\w+\Z"
)


@cache
def _tail(path: str) -> re.Pattern[str]:
    """The end of a path in which a request of an API is known: without the version, for any model."""
    said = re.escape(re.sub(r"\A/v\d\w*", "", path.partition("?")[0]))
    return re.compile(said.replace(re.escape("{model}"), "(?P<model>[^/]+)"))


def _watched() -> list[Api]:
    return [each for each in APIS.values() if each.watched]


def _by_path(path: str) -> Api | None:
    for each in _watched():
        for own in filter(None, (each.path, each.stream_path)):
            if _match(own, path):
                return each
    return None


def _match(own: str, path: str) -> re.Match[str] | None:
    plain = path.partition("?")[0].rstrip("/")
    return next((found for found in _tail(own).finditer(plain) if found.end() == len(plain)), None)


def _marked(headers: Mapping[str, str]) -> Api | None:
    """The API whose own headers a request has."""
    for each in _watched():
        own = {*each.headers, each.key_header} - {"authorization"}
        if own & headers.keys():
            return each
    return None


def _by_body(body: Mapping[str, Any], headers: Mapping[str, str]) -> Api | None:
    """The API whose request a body is, if its path says nothing."""
    if isinstance(body.get("contents"), list):
        return APIS["gemini"]
    if isinstance(body.get("messages"), list):
        marked = _marked(headers)
        if marked is not None and marked.name == "anthropic":
            return marked
        others = (each for each in _watched() if each.name in ("anthropic", "ollama"))
        return next((each for each in others if each.recognises(body)), APIS["openai"])
    said = dicts_in(body.get("input"))
    asks = any("role" in each or each.get("type") == "function_call_output" for each in said)
    return APIS["responses"] if asks else None


def api_asked(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Api | None:
    """The API of a request for a reply; None if it asks for something else.

    >>> chat = {"messages": [{"role": "user", "content": "Hi"}]}
    >>> [api_asked(path, {}, chat).name for path in ("/v1/chat/completions", "/any/path", "/messages")]
    ['openai', 'openai', 'anthropic']
    >>> api_asked("/any/path", {"anthropic-version": "2023-06-01"}, chat).name
    'anthropic'
    >>> api_asked("/v1beta/models/gemini-3:countTokens", {}, {"contents": []}) is None
    True
    """
    if _OTHERS.search(path.partition("?")[0]):
        return None
    return _by_path(path) or _by_body(body, headers)


def api_of_request(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Api:
    """The API that any request speaks; Chat Completions if nothing says that it is another one."""
    found = api_asked(path, headers, body) or _marked(headers)
    if found is None and (isinstance(body.get("contents"), list) or path.startswith("/v1beta/models")):
        found = APIS["gemini"]
    if found is None and path.startswith("/api/"):
        found = APIS["ollama"]
    if found is None:
        inside = (each for each in _watched() if re.search(_tail(each.path).pattern + r"[/:?]", path))
        found = next(inside, None)
    return found or APIS["openai"]


def wants_stream(api: str, path: str, body: Mapping[str, Any]) -> bool:
    """Whether a request for a reply asks for a stream."""
    spoken = APIS[api]
    if spoken.stream_path:
        return _match(spoken.stream_path, path) is not None
    # Ollama streams unless it is told not to.
    return body.get("stream", api == "ollama") is True


def path_without_stream(api: str, path: str) -> str:
    """The path that asks for the same reply as a whole."""
    if not wants_stream(api, path, {}) or not APIS[api].stream_path:
        return path
    return re.sub(r":streamGenerateContent(?=\Z|\?)", ":generateContent", path).replace("alt=sse", "")


def model_named(api: str, path: str, body: Mapping[str, Any]) -> str:
    """The model that a request names, in its body or in its path; empty if it names none."""
    spoken = APIS[api]
    for own in filter(None, (spoken.path, spoken.stream_path)):
        found = _match(own, path) if "{model}" in own else None
        if found is not None:
            return found["model"]
    return str(body.get("model") or "")
