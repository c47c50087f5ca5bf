"""Which API a request of a program speaks: its body, its headers and the end of its path say so.

Gateways put an API behind any path, so the beginning of a path says little. What is known of each API stands
in its own file (`zoolab.apis.interface`); no API is named here, but Chat Completions for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from operator import itemgetter
from typing import Any

from zoolab import plugins
from zoolab.apis import APIS, Api
from zoolab.apis.chat import ChatCompletions

#: Ends of paths with bodies that resemble requests for a reply, but ask for something else.
_OTHERS = re.compile(
    r"/(?:count_tokens|threads/[^/]+/messages|batches|embeddings|moderations|input_tokens|compact|speech|tokenize|rerank)\Z"
)
#: The end of a path that names a method of a model, as Gemini's paths do.
_METHOD = re.compile(r":\w+\Z")


@cache
def _tail(path: str) -> re.Pattern[str]:
    """Return the end of a path in which a request of an API is known: without the version, for any model."""
    said = re.escape(_without_version(path.partition("?")[0]))
    return re.compile(said.replace(re.escape("{model}"), "(?P<model>[^/]+)"))


def _without_version(path: str) -> str:
    return re.sub(r"\A/v\d\w*", "", path)


def watched() -> list[Api]:
    """Return the APIs whose requests the proxy understands, in the order of the views."""
    return [each for each in APIS.values() if each.watched]


def _by_path(path: str) -> Api | None:
    """Return the API with the longest path that a request ends with."""
    found: list[tuple[int, Api]] = []
    for each in watched():
        matches = (_match(own, path) for own in (each.path, each.stream_path) if own)
        found += ((match.start(), each) for match in matches if match)
    return min(found, key=itemgetter(0))[1] if found else None


def _match(own: str, path: str) -> re.Match[str] | None:
    plain = path.partition("?")[0].rstrip("/")
    return next((found for found in _tail(own).finditer(plain) if found.end() == len(plain)), None)


def _marked(headers: Mapping[str, str], among: Iterable[Api]) -> Api | None:
    """Return the API whose own headers a request has."""
    for each in among:
        own = {name.lower() for name in (*each.headers, each.key_header)} - {"authorization"}
        if own & headers.keys():
            return each
    return None


def _by_body(body: Mapping[str, Any], headers: Mapping[str, str]) -> Api | None:
    """Return the API whose request a body is, if its path says nothing."""
    found = [each for each in watched() if plugins.APIS.attempt(each.name, each.asks, body)]
    marked = _marked(headers, found)
    if marked is not None or not found:
        return marked
    usual = found[0]
    others = (each for each in found if each is not usual)
    known = (each for each in others if plugins.APIS.attempt(each.name, each.recognises, body))
    return next(known, usual)


def api_asked(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Api | None:
    """Return the API of a request for a reply; None if it asks for something else.

    >>> chat = {"messages": [{"role": "user", "content": "Hi"}]}
    >>> [api_asked(path, {}, chat).name for path in ("/v1/chat/completions", "/any/path", "/messages")]
    ['openai', 'openai', 'anthropic']
    >>> api_asked("/any/path", {"anthropic-version": "2023-06-01"}, chat).name
    'anthropic'
    >>> api_asked("/v1beta/models/gemini-3:countTokens", {}, {"contents": []}) is None
    True
    """
    plain = path.partition("?")[0]
    if _OTHERS.search(plain):
        return None
    found = _by_path(path)
    return found if found or _METHOD.search(plain) else _by_body(body, headers)


def api_of_request(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Api:
    """Return the API that any request speaks; Chat Completions if nothing says that it is another one."""
    found = api_asked(path, headers, body) or _marked(headers, watched())
    if found is None:
        own = (each for each in watched() if each.own_paths and path.startswith(each.own_paths))
        found = next(own, None)
    if found is None:
        inside = (each for each in watched() if re.search(_tail(each.path).pattern + r"[/:?]", path))
        found = next(inside, None)
    return found or _by_body(body, headers) or APIS[ChatCompletions.name]


def wants_stream(api: str, path: str, body: Mapping[str, Any]) -> bool:
    """Return whether a request for a reply asks for a stream."""
    spoken = APIS[api]
    if spoken.stream_path:
        return _match(spoken.stream_path, path) is not None
    return body.get("stream", spoken.streams_unasked) is True


def wants_list(api: str, path: str) -> bool:
    """Return whether a request for a stream gets its events as one list, because the query for a stream is
    missing.

    >>> wants_list("gemini", "/v1beta/models/gemini-3:streamGenerateContent?key=k")
    True
    """
    query = APIS[api].stream_path.partition("?")[2]
    return bool(query) and query not in path.partition("?")[2].split("&")


def path_without_stream(api: str, path: str) -> str:
    """Return the path that asks for the same reply as a whole.

    >>> path_without_stream("gemini", "/v1beta/models/gemini-3:streamGenerateContent?alt=sse&key=k")
    '/v1beta/models/gemini-3:generateContent?key=k'
    """
    spoken = APIS[api]
    found = _match(spoken.stream_path, path) if spoken.stream_path else None
    if found is None:
        return path
    own_query = spoken.stream_path.partition("?")[2].split("&")
    kept = "&".join(part for part in path.partition("?")[2].split("&") if part not in own_query)
    whole = _without_version(spoken.path).replace("{model}", found.groupdict().get("model") or "")
    return path[: found.start()] + whole + (f"?{kept}" if kept else "")


def model_named(api: str, path: str, body: Mapping[str, Any]) -> str:
    """Return the model that a request names, in its body or in its path; empty if it names none."""
    spoken = APIS[api]
    for own in filter(None, (spoken.path, spoken.stream_path)):
        found = _match(own, path) if "{model}" in own else None
        if found is not None:
            return found["model"]
    return str(body.get("model") or "")
