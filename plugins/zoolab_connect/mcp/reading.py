"""What a server sends, read in parts: a bad line costs one message, a bad entry of a list costs itself.

The official client checks a listing as a whole, so that one odd schema would cost all tools. `Apart` hides
the entries of a listing from that check; `entries_in` gives them back as the server sent them. A part of a
result that is not a part of MCP is named in its place, and a structured value may be any JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from zoolab.jsontext import encode, excerpt, is_utf8
from zoolab_connect.mcp.listing import Listed, Offer, safe_line

Kind = Literal["tools", "resources", "resource_templates", "prompts"]

#: Marks an error that stands for a message that could not be read; no server can send this object.
SPOILED = object()
_HIDDEN = "zoolab/entry"
_PARTS: Mapping[str, Any] = {
    "text": types.TextContent,
    "image": types.ImageContent,
    "audio": types.AudioContent,
    "resource": types.EmbeddedResource,
    "resource_link": types.ResourceLink,
}
_NEEDED: Mapping[str, dict[str, Any]] = {
    "tools": {"name": "a", "inputSchema": {"type": "object"}},
    "resources": {"name": "a", "uri": "a:"},
    "resourceTemplates": {"name": "a", "uriTemplate": "a:"},
    "prompts": {"name": "a"},
}
_OFFERED: Mapping[Kind, Any] = {
    "resources": types.Resource,
    "resource_templates": types.ResourceTemplate,
    "prompts": types.Prompt,
}
#: Requests of a server that are declined, because a server must not use the model or the user.
_DECLINED = {
    "sampling/createMessage": "asked for an answer of the model",
    "elicitation/create": "asked the user",
    "roots/list": "asked for the list of folders",
}
_BAD_LEVELS = ("error", "critical", "alert", "emergency")


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A message that cannot be read: the id of the request that it answers, if it has one, and why."""

    id: int | str | None
    why: str

    def as_error(self) -> Any:
        """Return the error that the client gets in place of the message."""
        error = types.ErrorData(code=types.PARSE_ERROR, message=f"sent a message {self.why}", data=SPOILED)
        return types.JSONRPCError(jsonrpc="2.0", id=self.id, error=error)


def parse_message(line: bytes) -> Any:
    """Return the message in a line, or what can be told of a bad one; raises `ValueError` for no JSON
    object.
    """
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        try:
            found = json.loads(line.decode("utf-8", "replace"))
        except RecursionError:
            found = None
        if not isinstance(found, dict):
            raise
        number = found.get("id") if "method" not in found else None
        return Spoiled(number if isinstance(number, int | str) else None, _why(line, found, error))


def _why(line: bytes, found: Any, error: ValueError) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "that is not UTF-8"
    if not is_utf8(encode(found)):
        return "with a lone surrogate, which is not text"
    return f"that is not valid MCP: {first_problem(error) if isinstance(error, ValidationError) else error}"


def first_problem(error: ValidationError) -> str:
    """Return the first problem that the official package found, on one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    return safe_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 120)


class Apart:
    """A stream of messages in which the entries of each listing are hidden from the official client.

    `hear` gets each message before the client.
    """

    def __init__(self, stream: Any, hear: Callable[[Any], None]) -> None:
        self._stream = stream
        self._hear = hear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Apart:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> Apart:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        if isinstance(item, SessionMessage):
            self._hear(item.message)
        return _hide_entries(item)


def _hide_entries(item: Any) -> Any:
    message = item.message if isinstance(item, SessionMessage) else None
    if not isinstance(message, types.JSONRPCResponse) or not isinstance(message.result, dict):
        return item
    result = message.result
    if "structuredContent" in result:
        value = result["structuredContent"]
        result = {"content": [], **result}
        if not isinstance(value, dict | None):
            result["structuredContent"] = {_HIDDEN: value}
    if isinstance(content := result.get("content"), list):
        result = {**result, "content": [_named(each) for each in content]}
    if isinstance(said := result.get("messages"), list):
        result = {**result, "messages": [_with_named_part(each) for each in said]}
    for kind, needed in () if "content" in result else _NEEDED.items():
        if isinstance(listed := result.get(kind), list):
            result = {**result, kind: [{**needed, "_meta": {_HIDDEN: each}} for each in listed]}
    message.result = result
    return item


def _with_named_part(message: Any) -> Any:
    """Return a message of a prompt, whose content is one part."""
    if not isinstance(message, dict) or "content" not in message:
        return message
    return {**message, "content": _named(message["content"])}


def _named(part: Any) -> Any:
    """Return a part of a result as it is, or a text that names it if it is not a part of MCP."""
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict):
        why = f"{excerpt(part, 60)}: not a part, which is an object"
    elif not isinstance(kind, str):
        why = "a part without a type" if kind is None else f"a part of the type {excerpt(kind, 60)}"
    elif kind not in _PARTS:
        why = f"{safe_line(kind, 60)}: a part of an unknown type"
    else:
        try:
            _PARTS[kind].model_validate(part, by_name=False)
        except ValidationError as error:
            why = f"{kind}: a part that is not valid MCP: {first_problem(error)}"
        else:
            return part
    return {"type": "text", "text": f"[{why}, not shown]"}


def structured_in(value: Any) -> Any:
    """Return the structured value of a result, as the server sent it."""
    return value[_HIDDEN] if isinstance(value, dict) and [*value] == [_HIDDEN] else value


def remark_of(message: Any) -> str:
    """Return what a user should know of a request that is declined, or of an error that a server logs; else
    empty.

    >>> remark_of(types.JSONRPCRequest(jsonrpc="2.0", id=1, method="roots/list"))
    'it asked for the list of folders, and zoolab declined (roots/list)'
    """
    method = getattr(message, "method", "")
    params = getattr(message, "params", None) or {}
    if method in _DECLINED:
        told = params.get("message")
        said = f" {safe_line(excerpt(told, 160))}" if isinstance(told, str) else ""
        return f"it {_DECLINED[method]}{said}, and zoolab declined ({method})"
    if method == "notifications/message" and params.get("level") in _BAD_LEVELS:
        data = params.get("data")
        said = data if isinstance(data, str) else encode(data)
        return f"it logged at level {params['level']}: {safe_line(said)}"
    return ""


def entries_in(listed: Iterable[Any]) -> Iterator[Any]:
    """Return the entries of a listing, as the server sent them."""
    return (each.meta[_HIDDEN] for each in listed)


def tool_in(number: int, entry: Any) -> Listed:
    """Return a tool of a listing; its `problem` says why it cannot be used."""
    if not isinstance(entry, dict):
        return Listed(f"tools[{number}]", "", {}, f"it is {excerpt(entry, 60)}; expected an object")
    name, said, schema = (entry.get(key) for key in ("name", "description", "inputSchema"))
    told = name if isinstance(name, str) else f"tools[{number}]"
    problem = ""
    if not isinstance(name, str):
        problem = f"its name is {excerpt(name, 60)}; expected text"
    elif not isinstance(said, str | None):
        problem = f"its description is {excerpt(said, 60)}; expected text"
    elif not isinstance(schema, dict):
        has = (
            f"its inputSchema is {excerpt(schema, 60)}" if "inputSchema" in entry else "it has no inputSchema"
        )
        problem = f"{has}; expected an object"
    elif schema.get("type") != "object":
        has = f"has the type {excerpt(schema['type'], 60)}" if "type" in schema else "has no type"
        problem = f'its inputSchema {has}; expected "object"'
    if problem:
        return Listed(told, "", {}, problem)
    return Listed(told, said or "", schema if isinstance(schema, dict) else {})


def offer_in(kind: Kind, number: int, entry: Any) -> Offer | str:
    """Return a resource, a template or a prompt of a listing, or a sentence that says why it is left out."""
    try:
        return Offer.of(_OFFERED[kind].model_validate(entry, by_name=False))
    except ValidationError as error:
        return f"{kind}[{number}] is left out: {first_problem(error)}"
