"""Requests and their answers: cassettes of vcrpy in JSON or YAML, and a request beside its response."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from zoolab.apis import APIS, Api, api_of
from zoolab.apis.events import events_in
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.extras import needs
from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.runs.readers.found import Conversation, Unread

_LARGEST = 50_000_000


def recognises(value: Any) -> bool:
    """Whether a value is a cassette, or a request beside its response."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("interactions"), list) or {"request", "response"} <= value.keys()


def looks_like_yaml(text: str) -> bool:
    """Whether a text is a cassette in YAML."""
    return text.startswith("interactions:") or "\ninteractions:" in text[:10_000]


def cassette_in(text: str) -> Any:
    """The value of a cassette in YAML; needs an extra."""
    needs("yaml")
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" at line {line + 1:,}"
        raise InvalidInput(f"it is not YAML{where}", expected="a cassette of vcrpy") from None


def read(value: Mapping[str, Any], unread: Unread) -> Iterator[Conversation]:
    """Yield the conversations of the exchanges: not those that a later request tells from the beginning."""
    listed = value["interactions"] if isinstance(value.get("interactions"), list) else [value]
    found = [
        conversation
        for number, each in enumerate(listed)
        if (conversation := _conversation(each, f"interactions[{number}]", unread)) is not None
    ]
    for number, each in enumerate(found):
        size = len(each.messages)
        if not any(other.messages[:size] == each.messages for other in found[number + 1 :]):
            yield each


def _conversation(exchange: Any, place: str, unread: Unread) -> Conversation | None:
    asked, answered = (
        (exchange.get(k) for k in ("request", "response")) if isinstance(exchange, dict) else (0, 0)
    )
    if not isinstance(asked, Mapping):
        unread.add(place, "it holds no request")
        return None
    body = _json(_body(asked)) if "uri" in asked or "body" in asked else dict(asked)
    api = _api(body)
    if api is None:
        address = urlsplit(str(asked.get("uri", "")))
        what = f"{asked.get('method', 'the request')} {address.hostname or ''}{address.path}"
        unread.add(place, f"{what} is no request of an API that is known")
        return None
    own = Unread()
    try:
        request = api.from_body(body)
    except ZoolabError as error:
        unread.add(f"{place}.request", f"it is not understood; expected {error.expected}")
        return None
    messages = request.prefix.tolist()
    if message := _reply(api, answered, f"{place}.response", own):
        messages = [*messages, message]
    meta = {"model": body["model"]} if isinstance(body.get("model"), str) else {}
    return Conversation(messages, request.tools, meta, own)


def _api(body: Any) -> Api | None:
    """The API whose request a body is; None if it is none."""
    if not isinstance(body, dict):
        return None
    api = api_of(body)
    return None if api is APIS["openai"] and not isinstance(body.get("messages"), list) else api


def _reply(api: Api, answered: Any, place: str, unread: Unread) -> Any:
    """The message of the model in a response; None if there is none, and then it is noted."""
    if not isinstance(answered, Mapping):
        unread.add(place, "there is none")
        return None
    plain = "body" not in answered and "parsed_body" not in answered
    body = answered if plain else _body(answered)
    status = answered.get("status")
    code = status.get("code") if isinstance(status, Mapping) else status
    if isinstance(code, int) and code >= 400:
        unread.add(place, f"it is an error with the status {code}")
        return None
    try:
        if isinstance(body, bytes) and b"data:" in body[:2_000] and not body.lstrip().startswith(b"{"):
            return api.streamed(events_in(body.splitlines(keepends=True))).message
        return api.reply(_json(body)).message
    except (ZoolabError, AttributeError, KeyError, TypeError, ValueError) as error:
        unread.add(place, f"it is not understood; expected {getattr(error, 'expected', '') or 'a reply'}")
        return None


def _body(message: Mapping[str, Any]) -> Any:
    """The body of a request or a response: bytes, or a value that is parsed already."""
    held = message.get("parsed_body", message.get("body"))
    held = held["string"] if isinstance(held, Mapping) and held.keys() <= {"string", "encoding"} else held
    content = held.encode("utf-8", "replace") if isinstance(held, str) else held
    if isinstance(content, bytes) and content.startswith(b"\x1f\x8b"):
        try:
            return zlib.decompressobj(31).decompress(content, _LARGEST)
        except zlib.error:
            return content
    return content


def _json(content: Any) -> Any:
    if not isinstance(content, bytes):
        return content
    try:
        return parse_json(content.decode("utf-8", "replace"), _LARGEST)
    except NotStrictJSON:
        return None
