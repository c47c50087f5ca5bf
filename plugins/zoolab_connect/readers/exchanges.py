"""Requests and their answers: cassettes, HAR files, batches, logs, and a reply alone.

A cassette is one of vcrpy (JSON or YAML, also in the form of older versions) or of VCR for Ruby.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from zoolab.apis import APIS, Api, api_of
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.extras import needs
from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.records import Reply
from zoolab_connect.apis.streams import events_in
from zoolab_connect.proxy.encodings import decoded
from zoolab_connect.readers.beginnings import longest
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.omitted import omitted

_LARGEST = 50_000_000
_LISTS = ("interactions", "http_interactions")
#: The fields of a body in a HAR file.
_HAR = {"mimeType", "size", "text", "encoding", "params", "compression", "comment"}
_TEXTS = (b"{", b"[", b"data:", b"event:", b":")
#: Ends of addresses that take something else than a conversation.
_OTHERS = ("/embeddings", "/moderations", "/images/generations", "/audio/speech")
#: The API of a reply, by a field that it has.
_REPLIES = {"choices": "openai", "output": "responses", "candidates": "gemini", "done": "ollama"}


def recognises(value: Any) -> bool:
    """Return whether a value holds requests with their answers, or is a reply."""
    return isinstance(value, dict) and bool(_form(value))


def _form(value: Mapping[str, Any]) -> str:
    """Return which of the forms a value has; empty if it has none."""
    log = value.get("log")
    if any(isinstance(value.get(name), list) for name in _LISTS):
        return "cassette"
    if isinstance(log, Mapping) and isinstance(log.get("entries"), list):
        return "har"
    if "custom_id" in value and value.keys() & {"body", "params", "response", "result", "error"}:
        return "batch"
    if isinstance(value.get("response"), Mapping) and (
        "request" in value or isinstance(value.get("messages"), list)
    ):
        return "log"
    return "reply" if _api_of_reply(value) is not None else ""


def looks_like_yaml(text: str) -> bool:
    """Return whether a text is a cassette in YAML."""
    return any(text.startswith(f"{name}:") or f"\n{name}:" in text[:10_000] for name in _LISTS)


def cassette_in(text: str) -> Any:
    """Return the value of a cassette in YAML; needs an extra."""
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
    exchanges = [_conversation(*each, unread) for each in _exchanges(value, unread)]
    if "custom_id" in value:
        named = {"custom_id": value["custom_id"]}
        exchanges = [each and replace(each, meta={**each.meta, **named}) for each in exchanges]
    yield from longest([each for each in exchanges if each is not None], unread)


def _exchanges(value: Mapping[str, Any], unread: Unread) -> Iterator[tuple[str, Any, Any]]:
    """Yield the place of each exchange, its request, and its response; None for what is not there."""
    form = _form(value)
    if form in ("cassette", "har"):
        name = "entries" if form == "har" else next(n for n in _LISTS if isinstance(value.get(n), list))
        for number, each in enumerate(value["log"]["entries"] if form == "har" else value[name]):
            place = f"{name}[{number}]"
            if not isinstance(each, Mapping) or not isinstance(each.get("request"), Mapping):
                unread.add(place, "it holds no request")
            else:
                yield place, each["request"], each.get("response", {})
    elif form == "batch" and not _is_conversation(value.get("url")):
        unread.add(f"the request {excerpt(value['custom_id'], 60)}", f"{value['url']} takes no conversation")
    elif form == "batch":
        yield f"the request {excerpt(value['custom_id'], 60)}", *_of_batch(value)
    elif form == "reply":
        yield "the reply", None, value
    elif "request" in value:
        yield "the exchange", value["request"], value["response"]
    else:
        yield "the exchange", {k: v for k, v in value.items() if k != "response"}, value["response"]


def _is_conversation(url: Any) -> bool:
    """Return whether a line of a batch goes to an address of conversations, as far as it says."""
    return not isinstance(url, str) or not url.rstrip("/").endswith(_OTHERS)


def _of_batch(value: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the request and the response in a line of a batch, of which one file has the one and one the
    other.
    """
    body = value.get("body", value.get("params"))
    result = value.get("result")
    if isinstance(result, Mapping):
        return body, result.get("message", {"status": result.get("type"), "error": result.get("error")})
    if value.get("error") and not value.get("response"):
        return body, {"status": "failed", "error": value["error"]}
    return body, value.get("response")


def _conversation(place: str, asked: Any, answered: Any, unread: Unread) -> Conversation | None:
    own = Unread()
    held = asked if isinstance(asked, Mapping) else {}
    wrapped = any(key in held for key in ("uri", "url", "body", "parsed_body", "postData"))
    body = _json(_body(held, f"{place}.request", own)) if wrapped else dict(held)
    api = _api(body) if held else None
    if held and api is None:
        address = urlsplit(str(held.get("uri", held.get("url", ""))))
        what = f"{held.get('method', 'the request')} {address.hostname or ''}{address.path}"
        unread.add(place, f"{what} is no request of an API that is known")
        for line in own.lines():
            unread.add(place, line)
        return None
    messages: list[Any] = []
    tools: Any = ()
    meta: dict[str, Any] = {}
    if api is not None:
        try:
            left: list[str] = []
            request = api.from_body(body, left)
        except ZoolabError as error:
            unread.add(f"{place}.request", f"it is not understood; expected {error.expected}")
            return None
        for what in left:
            own.add(f"{place}.request", what)
        messages = request.prefix.tolist()
        tools = request.tools
        meta = {"model": body["model"]} if isinstance(body.get("model"), str) else {}
    if answered is None and api is not None:
        return Conversation(messages, tools, meta, own)
    failed = _failure(answered, f"{place}.response", own)
    if failed:
        own.add(f"{place}.response", failed)
        return Conversation(messages, tools, meta, own, "failed", failed)
    if message := _reply(api, answered, f"{place}.response", own):
        messages = [*messages, message]
    if not messages:
        for line in own.lines():
            unread.add(place, line)
        return None
    return Conversation(messages, tools, meta, own)


def _api(body: Any) -> Api | None:
    """Return the API whose request a body is; None if it is none."""
    if not isinstance(body, dict):
        return None
    api = api_of(body)
    return None if api is APIS["openai"] and not isinstance(body.get("messages"), list) else api


def _api_of_reply(body: Mapping[str, Any]) -> Api | None:
    """Return the API whose reply a body is; None if it is none."""
    if body.get("type") == "message_start":
        return APIS["anthropic"]
    if str(body.get("type")).startswith("response."):
        return APIS["responses"]
    if body.get("type") == "message" and isinstance(body.get("content"), list):
        return APIS["anthropic"] if body.get("role") == "assistant" else None
    told = (name for key, name in _REPLIES.items() if key in body)
    name = next(told, None)
    if name == "responses" and body.get("object") != "response":
        return None
    known = isinstance(body.get("choices", body.get("candidates", [])), list)
    if name == "ollama" and not isinstance(body.get("message"), Mapping):
        return None
    return APIS[name] if name is not None and known else None


def _failure(answered: Any, place: str, unread: Unread) -> str:
    """Return how a response failed; empty if it did not."""
    if not isinstance(answered, Mapping):
        return ""
    status = answered.get("status", answered.get("status_code"))
    code = status.get("code") if isinstance(status, Mapping) else status
    if "error" in answered and answered["error"] and not answered.keys() & {"choices", "output", "content"}:
        return f"it is an error: {_reason(answered)}"
    if not isinstance(code, int) or code < 400:
        return ""
    said = _reason(_json(_body(answered, place, unread)))
    return f"it is an error with the status {code}{f': {said}' if said else ''}"


def _reason(body: Any) -> str:
    """Return what an error says: its message, or the whole of it."""
    for _ in range(4):
        if not isinstance(body, Mapping):
            break
        body = next((body[key] for key in ("error", "message", "detail", "type") if body.get(key)), body)
    return excerpt(body, 200) if body not in (None, "", {}) else ""


def _reply(asked: Api | None, answered: Any, place: str, unread: Unread) -> Any:
    """Return the message of the model in a response; None if there is none, and then it is noted."""
    if not isinstance(answered, Mapping):
        unread.add(place, "there is none")
        return None
    http = {
        "body",
        "parsed_body",
        "status",
        "status_code",
        "http_version",
        "headers",
        "raw",
    } & answered.keys()
    in_har = isinstance(answered.get("content"), Mapping)
    wrapped = (
        in_har or bool(http - {"status"}) or (http and _api_of_reply(answered) is None and asked is None)
    )
    body: Any = _body(answered, place, unread) if wrapped else answered
    stream = isinstance(body, bytes) and not body.lstrip().startswith((b"{", b"["))
    try:
        value = None if stream and b"data:" in body[:2_000] else _json(body)
        told = next(events_in(body.splitlines(keepends=True)), None) if value is None and stream else value
        api = asked or (_api_of_reply(told) if isinstance(told, Mapping) else None)
        if api is None:
            unread.add(place, "it is no reply of an API that is known")
            return None
        if value is None and stream:
            return _with_end(api.streamed(events_in(body.splitlines(keepends=True))))
        if (
            isinstance(value, Mapping)
            and isinstance(value.get("choices"), list)
            and len(value["choices"]) > 1
        ):
            unread.add(place, f"it has {len(value['choices'])} answers; the first one is shown")
        reply = api.reply(value)
        for what in omitted(value, reply.message) if isinstance(value, Mapping) else ():
            unread.add(place, what)
        return _with_end(reply)
    except (ZoolabError, AttributeError, KeyError, TypeError, ValueError) as error:
        unread.add(place, f"it is not understood; expected {getattr(error, 'expected', '') or 'a reply'}")
        return None


def _with_end(reply: Reply) -> dict[str, Any]:
    return {**reply.message, "finish_reason": reply.finish_reason}


def _body(message: Mapping[str, Any], place: str, unread: Unread) -> Any:
    """Return the body of a request or a response: bytes, or a value that is parsed already."""
    names = ("parsed_body", "body", "postData", "content", "raw")
    held = next((message[name] for name in names if message.get(name) is not None), None)
    if isinstance(held, Mapping) and held.keys() <= {"string", "encoding", "base64_string"}:
        held = {"text": held.get("string"), "encoding": "", "base64": held.get("base64_string")}
    elif isinstance(held, Mapping) and "text" in held and held.keys() <= _HAR:
        packed = held.get("encoding") == "base64"
        held = {"text": None if packed else held["text"], "base64": held["text"] if packed else None}
    else:
        held = {"text": held, "base64": None}
    content = held["text"]
    if isinstance(held["base64"], str):
        try:
            content = base64.b64decode(held["base64"])
        except (binascii.Error, ValueError):
            unread.add(place, "its body is not base64")
            return None
    content = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return _unpacked(content, message, place, unread) if isinstance(content, bytes) else content


def _unpacked(content: bytes, message: Mapping[str, Any], place: str, unread: Unread) -> Any:
    if not content or content.lstrip()[:6].startswith(_TEXTS):
        return content
    said = "gzip" if content.startswith(b"\x1f\x8b") else _encoding(message.get("headers"))
    try:
        return decoded(content, said, _LARGEST) if said else content
    except InvalidInput as error:
        unread.add(place, f"its body cannot be read: {error.what}")
        return None


def _encoding(headers: Any) -> str:
    """Return the header content-encoding: of an object with lists, or of a list of names and values."""
    if isinstance(headers, list):
        headers = {each.get("name"): each.get("value") for each in headers if isinstance(each, Mapping)}
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if str(name).lower() == "content-encoding":
            return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ""


def _json(content: Any) -> Any:
    if not isinstance(content, bytes):
        return content
    try:
        return parse_json(content.decode("utf-8", "replace"), _LARGEST)
    except NotStrictJSON:
        return None
