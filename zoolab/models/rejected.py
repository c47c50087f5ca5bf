"""Settings that an endpoint rejects by name: they are left out, and the reply says so.

The vendors say it in different words, and name the setting beside the message or in it:

    {"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model. ...",
               "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}}
    {"error": {"message": "`temperature` is deprecated for this model."}}
    {"detail": [{"type": "extra_forbidden", "loc": ["body", "max_tokens"], "msg": "Extra inputs ..."}]}
    {"error": "Argument not supported on this model: presencePenalty"}
    {"error": {"message": "Unknown name \\"topK\\" at 'generation_config': Cannot find field."}}
    {"error": {"message": "`temperature` and `top_p` cannot both be specified for this model. ..."}}
    {"error": {"message": "invalid temperature: only 1 is allowed for this model"}}
    {"error": "Input validation error: `temperature` must be strictly positive"}
    {"error": {"message": "property 'store' is unsupported, did you mean 'stop'?"}}

The rule: a setting is rejected if the body contains it, and the answer names it with words of refusal. What
the request itself consists of, such as its messages and tools, is never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from zoolab.apis.interface import REQUEST_FIELDS
from zoolab.errors import SettingRejected
from zoolab.jsontext import encode, json_or
from zoolab.records import Reply, without

Body = dict[str, Any]
#: What a model object knows to be rejected: the name of a setting and its value as JSON, "" if the value does
#: not matter, or `BESIDE_TOOLS`; with the endpoint's words.
Rejections = dict[tuple[str, str], str]
BESIDE_TOOLS = "beside tools"
_LONGEST_MESSAGE = 2_000
_MOST_STATEMENTS = 50
_CODES = {"unsupported_parameter": True, "unsupported_value": False}
#: Where a schema of the answer stands in the bodies of the APIs.
_ANSWERS = (
    "response_format",
    "text.format",
    "output_config.format",
    "output_format",
    "generationConfig.responseJsonSchema",
    "generationConfig.responseSchema",
    "generationConfig.responseMimeType",
    "format",
)
_REFUSAL = re.compile(
    r"unsupported|(?:not|n't) (?:\w+ )?support|(?:not|n't) (?:currently )?(?:permitted|accepted|recogni[sz]ed"
    r"|allowed|available|compatible)|deprecated|unknown|unrecogni[sz]ed|unexpected|extra[_ ](?:input|field)"
    r"|extra_forbidden|cannot find field|no such field|only (?:be )?(?:allowed|set|supported|available)"
    r"|may only be|cannot both be|only \S+ is allowed|temperature\W* must be strictly"
    r"|cannot be (?:combined|used|set|specified)|incompatible|is disabled|mutually exclusive",
    re.IGNORECASE,
)
#: A part of the conversation or of a tool: the setting that is named beside it belongs to that part.
_PART = re.compile(r"\b(?:messages|input|contents|tools|system|functions)(?:\.|\[|\.\[)\d")
_OWN_NAME = re.compile(rf"['\"`](?:{'|'.join(map(re.escape, sorted(REQUEST_FIELDS)))})\b")
_ANSWER_WORDS = re.compile(
    r"json[ _-]?(?:mode|schema|object)|response[ _.-]?(?:format|mime|schema)|structured[ _-]?output",
    re.IGNORECASE,
)
_TOOL_WORDS = re.compile(r"\btools?\b|\bfunction[ _-]?call", re.IGNORECASE)
#: What stands directly before the name of a setting that is also a plain word, or directly after it.
_BEFORE = r"(?:\b(?:parameter|argument|property|properties|field|setting|name|key|support|supported)s?:? +)"
_AFTER = (
    r"(?= (?:is|are|was) (?:deprecated|(?:currently )?not supported|unsupported|unknown)| may only be"
    r"| and \S+ cannot both| must be strictly|:)"
)


class Rejected(NamedTuple):
    """A setting that an endpoint rejects: its place in the body, the endpoint's words, and when."""

    name: str
    said: str
    #: True if no value of it is taken.
    whatever: bool
    #: True if it is rejected only because tools stand beside it.
    beside_tools: bool = False


def rejection_of(status: int, answer: object, body: Body) -> Rejected | None:
    """Return the setting of `body` that an HTTP error rejects by name; None if it is another error."""
    if status not in (400, 422):
        return None
    settings = _settings_of(body)
    for named, said, code in _statements(answer):
        if code in _CODES and named:
            return Rejected(settings.get(named) or named, said, _CODES[code])
        if not _REFUSAL.search(f"{said} {code}") or _PART.search(said):
            continue
        if found := _beside_tools(said, body):
            return Rejected(found, said, True, beside_tools=True)
        if named:
            if place := settings.get(named) or settings.get(plain_path(named)):
                return Rejected(place, said, not _of_value(said))
            return None if _first_key(named) in REQUEST_FIELDS else Rejected(named, said, not _of_value(said))
        if found := _named_in(said, settings):
            return Rejected(found, said, not _of_value(said))
    return None


def plain_path(name: str) -> str:
    """Return a path as Python would write it: `generationConfig.topK` becomes generation_config.top_k."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _statements(answer: object) -> Iterator[tuple[str, str, str]]:
    """Yield each statement of an answer: the name beside it, the words, and a code."""
    waiting: list[Any] = [answer]
    for _ in range(_MOST_STATEMENTS):
        if not waiting:
            return
        each = waiting.pop(0)
        if isinstance(each, str):
            inner = json_or(None, each)
            if isinstance(inner, dict | list):
                waiting.append(inner)
            else:
                yield from (("", line, "") for line in each[:_LONGEST_MESSAGE].split("\n"))
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            said = next((each[key] for key in ("message", "msg") if isinstance(each.get(key), str)), "")
            code = next((each[key] for key in ("code", "type") if isinstance(each.get(key), str)), "")
            if said and json_or(None, said) is None:
                lines = said[:_LONGEST_MESSAGE].split("\n")
                yield from ((_name_beside(each), line, code) for line in lines)
            waiting += [value for key, value in each.items() if key not in ("input", "failed_generation")]


def _name_beside(statement: dict[str, Any]) -> str:
    """Return the name that `param` says, or pydantic's `loc`."""
    param = statement.get("param")
    loc = statement.get("loc")
    if isinstance(param, str) and param:
        return param
    if not isinstance(loc, list):
        return ""
    return ".".join(str(part) for part in loc if part != "body")


def _settings_of(body: Body) -> dict[str, str]:
    """Return the places of a body's settings, by all names under which an endpoint may speak of them."""
    places = [name for name in body if name not in REQUEST_FIELDS]
    for name in list(places):
        if isinstance(body[name], dict):
            places += [f"{name}.{key}" for key in body[name] if isinstance(key, str)]
    named: dict[str, str] = {}
    for place in sorted(places, key=lambda place: place.count(".")):
        for name in (place, place.rpartition(".")[2]):
            for written in (name, plain_path(name)):
                named.setdefault(written, place)
    return named


def _named_in(said: str, settings: dict[str, str]) -> str:
    """Return the first setting that a statement names, unless it names a part of the request before."""
    for text in (said, plain_path(said)):
        mentions = ((_mention(name).search(text), name, place) for name, place in settings.items())
        found = [(match.start(), -len(name), place) for match, name, place in mentions if match]
        own = _OWN_NAME.search(text)
        if found:
            start, _, place = min(found)
            return "" if own and own.start() < start else place
    return ""


def _mention(name: str) -> re.Pattern[str]:
    """Match a whole word; a plain one, such as `stop`, counts only if it is marked as a name."""
    word = rf"(?<![\w.]){re.escape(name)}(?![\w]|\.\w)"
    if not name.isalpha() or not name.islower():
        return re.compile(word)
    marked = rf"['\"`]{re.escape(name)}\\?['\"`]"
    return re.compile(
        rf"{marked}|{_BEFORE}{word}|(?<![Tt]his )(?<![Yy]our ){word}{_AFTER}|: {word}\W*\Z|\A{word}\W*\Z"
    )


def _of_value(said: str) -> bool:
    """Tell whether the value is refused: 'temperature' does not support 0."""
    return (
        re.search(
            r"unsupported value|['\"`] does not support ['\"`\d]|only \S+ is allowed|strictly positive",
            said,
            re.IGNORECASE,
        )
        is not None
    )


def _beside_tools(said: str, body: Body) -> str:
    """Return the schema of the answer, if a statement refuses it because tools stand beside it."""
    if not body.get("tools") or not (_ANSWER_WORDS.search(said) and _TOOL_WORDS.search(said)):
        return ""
    return next((place for place in _ANSWERS if _value(body, place)), "")


def _first_key(name: str) -> str:
    return re.split(r"\W", name)[0]


def left_out_of(body: Body, rejections: Rejections) -> dict[str, str]:
    """Return the settings of a body that are known to be rejected, and the endpoint's words."""
    known = rejections.copy().items()  # another thread may learn of one meanwhile
    sent = {name: _value(body, name) for (name, _), _ in known}
    beside = [""] + [BESIDE_TOOLS] * bool(body.get("tools"))
    return {name: said for (name, value), said in known if sent[name] and value in (*beside, sent[name])}


def without_rejected(send: Callable[[Body], Reply], body: Body, rejections: Rejections) -> Reply:
    """Return the reply to a body, sent without the settings that the endpoint rejects.

    `send` raises `SettingRejected`; what that names is added to `rejections`, so that later requests leave it
    out at once. The error goes on if what is rejected is not a setting, or was not sent. But a gateway may
    have added it, so a request from which nothing was left out goes out once more.
    """
    again = True
    while True:
        left_out = left_out_of(body, rejections)
        sent = without(body, left_out)
        try:
            reply = send(sent)
        except SettingRejected as error:
            value = _value(sent, error.setting)
            if _first_key(error.setting) in REQUEST_FIELDS or not (value or (again and not left_out)):
                raise
            if not value:
                again = False
                continue
            when = "" if error.whatever else value
            rejections[error.setting, BESIDE_TOOLS if error.beside_tools else when] = error.said
        else:
            return replace(reply, left_out=left_out)


def _value(body: Body, name: str) -> str:
    """Return a setting of a body as JSON; empty if the body has no such setting."""
    found: Any = body
    for key in name.split("."):
        if not isinstance(found, dict) or key not in found:
            return ""
        found = found[key]
    return encode(found)
