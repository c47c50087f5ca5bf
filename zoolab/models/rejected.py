"""Settings that an endpoint rejects by name: the request goes out again without them, and the reply says so.

OpenAI names the setting beside a code, and other providers only in the message:

    {"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model. ...",
               "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}}
    {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. ...",
               "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}}
    {"error": {"message": "Encrypted content is not supported with this model.",
               "type": "invalid_request_error", "param": "include", "code": null}}
    {"type": "error", "error": {"type": "invalid_request_error",
                                "message": "`temperature` is deprecated for this model."}}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from zoolab.errors import SettingRejected
from zoolab.jsontext import encode
from zoolab.records import Reply, without

#: What a model object knows to be rejected: the name of a setting and its value as JSON, or "" if the
#: value does not matter, with the endpoint's words.
Rejections = dict[tuple[str, str], str]
Body = dict[str, Any]

_STATUSES = (400, 422)
_LONGEST_MESSAGE = 2_000
_CODES = {"unsupported_parameter": True, "unsupported_value": False}
_IN_WORDS = re.compile(
    r"Unsupported (?P<kind>parameter|value): '(?P<quoted>[\w.]+)"
    r"|(?P<bare>[a-z]\w*)[`'\"]? (?:is (?:deprecated|not supported|unsupported) (?:for|with|by) this model"
    r"|may only be set to )"
)
#: These are the request itself and how its reply is read; whoever leaves them out asks something else.
_NEVER = frozenset(
    [
        *("model", "stream", "messages", "input", "instructions", "contents", "system", "prompt"),
        *("systemInstruction", "system_instruction", "previous_response_id", "tools", "functions"),
        *("tool_choice", "function_call", "toolConfig", "tool_config"),
    ]
)


class Rejection(NamedTuple):
    """What `SettingRejected` says."""

    setting: str
    said: str
    whatever: bool


def rejection_of(status: int, answer: object) -> Rejection | None:
    """The setting that the body of an HTTP error rejects by name; None if it is another error."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    error = error if isinstance(error, dict) else {"message": error}
    said = str(error.get("message") or "")[:_LONGEST_MESSAGE]
    found = _IN_WORDS.search(said)
    param, code = error.get("param"), error.get("code")
    if status not in _STATUSES:
        return None
    if isinstance(param, str) and isinstance(code, str) and code in _CODES:
        return Rejection(param, said, _CODES[code])
    if found is None:
        return None
    named = param if isinstance(param, str) and param else found["quoted"] or found["bare"]
    return Rejection(named, said, found["kind"] != "value")


def left_out_of(body: Body, rejections: Rejections) -> dict[str, str]:
    """The settings of a body that are known to be rejected, and the endpoint's words."""
    known = rejections.copy().items()  # another thread may learn of one meanwhile
    sent = {name: _value(body, name) for (name, _), _ in known}
    return {name: said for (name, value), said in known if sent[name] and value in ("", sent[name])}


def without_rejected(send: Callable[[Body], Reply], body: Body, rejections: Rejections) -> Reply:
    """The reply to a body, sent without the settings that the endpoint rejects.

    `send` raises `SettingRejected`; what that names is added to `rejections`, so that later requests leave it
    out at once. The error goes on if what is rejected is not a setting, or was not sent.
    """
    while True:
        left_out = left_out_of(body, rejections)
        sent = without(body, left_out)
        try:
            reply = send(sent)
        except SettingRejected as error:
            value = _value(sent, error.setting)
            if not value or re.split(r"\W", error.setting)[0] in _NEVER:
                raise
            rejections[error.setting, "" if error.whatever else value] = error.said
        else:
            return replace(reply, left_out=left_out)


def _value(body: Body, name: str) -> str:
    """A setting of a body as JSON; empty if the body has no such setting."""
    found: Any = body
    for key in name.split("."):
        if not isinstance(found, dict) or key not in found:
            return ""
        found = found[key]
    return encode(found)
