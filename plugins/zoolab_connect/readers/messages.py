"""Messages in the words of several programs, as messages in OpenAI's form; what is not text is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zoolab.jsontext import encode, excerpt, one_line
from zoolab.records import Message
from zoolab_connect.readers.found import Unread

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_THOUGHTS = ("reasoning", "thinking", "redacted_thinking", "redacted_reasoning")
_CALLS = ("tool_call", "tool_use", "server_tool_call", "function_call", "tool-call")
_RESULTS = (
    *("tool_call_response", "tool_result", "server_tool_call_response", "tool-result"),
    "function_call_output",
)
_IDS = ("call_id", "tool_use_id", "toolCallId", "id", "tool_call_id")
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "gpt": "assistant", "function": "tool"}
_WORDS = {"input_image": "image", "image_url": "image", "input_audio": "audio", "document": "file"}
_KNOWN = frozenset(
    {
        *("role", "type", "id", "name", "content", "parts", "refusal", "reasoning", "reasoning_content"),
        *(
            "tool_calls",
            "tool_call_id",
            "tool_name",
            "function",
            "function_call",
            "invalid_tool_calls",
            "error",
        ),
        *("finish_reason", "index", "event.name", "source", "model", "metadata", "internal"),
        *("additional_kwargs", "response_metadata", "usage_metadata"),
    }
)


@dataclass(slots=True)
class _Said:
    """What the parts of one message say."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)

    def content(self) -> Any:
        """Text; or the parts, if some of it was only thought."""
        if any(part["type"] != "text" for part in self.parts):
            return self.parts
        return "\n".join(part["text"] for part in self.parts)


def call(number: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A call in OpenAI's form."""
    text = arguments if isinstance(arguments, str) else encode({} if arguments is None else arguments)
    return {"id": str(number), "type": "function", "function": {"name": str(name), "arguments": text}}


def messages_in(listed: Any, place: str, unread: Unread, role: str = "user") -> list[Message]:
    """The messages of a list; what is no message is noted. `role` is for those that name none."""
    if not isinstance(listed, list):
        unread.add(place, f"it is {excerpt(listed, 60)}; expected a list of messages")
        return []
    found: list[Message] = []
    for number, each in enumerate(listed):
        where = f"{place}[{number}]"
        if isinstance(each, Mapping):
            found += read_message(each, where, unread, role)
        else:
            unread.add(where, f"it is {excerpt(each, 60)}; expected a message")
    return found


def read_message(
    told: Mapping[str, Any], place: str, unread: Unread, otherwise: str = "user"
) -> list[Message]:
    """A message, and the results of tools in it, each as a message of its own."""
    said, given = _Said(), told.get("parts", told.get("content"))
    if "role" not in told and told.get("type") in (*_CALLS, *_RESULTS, *_THOUGHTS):
        _read_part(told, place, said, unread)
        return _messages("assistant", told, said)
    role = _role(told, place, unread, otherwise)
    for name in ("reasoning_content", "reasoning"):
        if isinstance(told.get(name), str):
            said.parts.append({"type": "reasoning", "text": told[name]})
    if isinstance(given, list):
        for number, part in enumerate(given):
            _read_part(part, f"{place}.{'parts' if 'parts' in told else 'content'}[{number}]", said, unread)
    elif given is not None:
        said.parts.append({"type": "text", "text": given if isinstance(given, str) else encode(given)})
    if isinstance(told.get("refusal"), str):
        said.parts.append({"type": "text", "text": told["refusal"]})
    for number, asked in enumerate(_list(told.get("tool_calls"), f"{place}.tool_calls", unread)):
        _read_call(asked, f"{place}.tool_calls[{number}]", said, unread)
    if isinstance(told.get("function_call"), Mapping):  # the older form, with one call
        _read_call(told["function_call"], f"{place}.function_call", said, unread)
    for name in sorted(told.keys() - _KNOWN):
        if told[name] not in (None, [], {}, ""):
            unread.add(f"{place}.{name}", "it has no place in a conversation here")
    return _messages(role, told, said)


def _messages(role: str, told: Mapping[str, Any], said: _Said) -> list[Message]:
    if role == "tool" and not said.results:
        number = told.get("tool_call_id", told.get("id"))
        return [{"role": "tool", "tool_call_id": str(number), "content": said.content()}]
    plain: Message = {"role": role, "content": said.content()}
    own = [{**plain, "tool_calls": said.calls} if said.calls else plain]
    made = {each["id"] for each in said.calls}
    after = [each for each in said.results if each["tool_call_id"] in made]
    before = [each for each in said.results if each["tool_call_id"] not in made]
    return [*before, *(own if said.parts or said.calls or not said.results else []), *after]


def _role(told: Mapping[str, Any], place: str, unread: Unread, otherwise: str) -> str:
    role = told.get("role", told.get("type"))
    if isinstance(role, str) and role:
        return _ROLES.get(role, role)
    unread.add(f"{place}.role", f"it is {excerpt(role, 40)}; taken for {otherwise}")
    return otherwise


def _read_part(part: Any, place: str, said: _Said, unread: Unread) -> None:
    if isinstance(part, str):
        said.parts.append({"type": "text", "text": part})
        return
    if not isinstance(part, Mapping):
        unread.add(place, f"it is {excerpt(part, 60)}; expected a part of a message")
        return
    kind = part.get("type")
    text = next((part[name] for name in ("content", "text") if isinstance(part.get(name), str)), None)
    if kind in _TEXTS and text is not None:
        said.parts.append({"type": "text", "text": text})
    elif kind in _THOUGHTS:
        thought = next(
            (text_of(part[k], place, unread) for k in ("reasoning", "thinking", "summary") if part.get(k)),
            text,
        )
        said.parts.append({"type": "reasoning", "text": thought or ""})
        if not thought or part.get("redacted"):
            unread.add(place, f"the text of a {kind} is hidden")
    elif kind in _CALLS:
        _read_call(part, place, said, unread)
        if part.get("result") is not None:  # of a tool that the model's server ran
            _read_result(part, place, said, unread)
    elif kind in _RESULTS:
        _read_result(part, place, said, unread)
    else:
        said.parts.append({"type": "text", "text": _named(part, kind, place, unread)})


def _read_result(part: Mapping[str, Any], place: str, said: _Said, unread: Unread) -> None:
    names = ("response", "result", "content", "server_tool_call_response", "output")
    given = next((part[name] for name in names if name in part), None)
    number = next((part[name] for name in _IDS if name in part), None)
    said.results.append(
        {"role": "tool", "tool_call_id": str(number), "content": text_of(given, place, unread)}
    )


def _named(part: Mapping[str, Any], kind: Any, place: str, unread: Unread) -> str:
    """What stands for a part that is not text, such as an image."""
    mime = next(
        (part[k] for k in ("mime_type", "mimeType", "media_type") if isinstance(part.get(k), str)), ""
    )
    what = part.get("modality") or (mime.partition("/")[0] if kind in ("blob", "uri", "file") else "")
    what = what if isinstance(what, str) and what and what != "application" else kind
    word = one_line(_WORDS.get(what, what), 40) if isinstance(what, str) else "a part without a type"
    at = part.get("uri") or part.get("file_id") or ""
    more = ", ".join(
        each for each in (mime, at if isinstance(at, str) and not at.startswith("data:") else "") if each
    )
    unread.add(place, f"{word}, not shown{f' ({more})' if more else ''}")
    return f"[{word}, not shown]"


def _read_call(told: Any, place: str, said: _Said, unread: Unread) -> None:
    if not isinstance(told, Mapping):
        unread.add(place, f"it is {excerpt(told, 60)}; expected a call")
        return
    inner = told.get("function")
    function = inner if isinstance(inner, Mapping) else told
    name = inner if isinstance(inner, str) else function.get("name", told.get("toolName"))
    given = ("arguments", "args", "input", "server_tool_call")
    arguments = next((function[k] for k in given if k in function), None)
    if not isinstance(name, str):
        unread.add(f"{place}.name", f"it is {excerpt(name, 40)}; expected the name of a tool")
    failed = told.get("parse_error")
    if isinstance(failed, str):
        unread.add(f"{place}.arguments", f"they could not be parsed: {failed}")
        arguments = _written(failed) if arguments in (None, {}, "") else arguments
    said.calls.append(call(next((told[k] for k in _IDS if told.get(k)), None), name or "", arguments))


def _written(failed: str) -> str:
    """The arguments that the model wrote, from Inspect AI's report that they could not be parsed."""
    _, begins, rest = failed.partition("arguments:\n\n")
    return rest.partition("\n\nError details")[0] if begins else failed


def text_of(content: Any, place: str, unread: Unread) -> str:
    """Content as text: that of its parts, if it has parts, and else JSON."""
    if isinstance(content, list) and content and all(isinstance(p, Mapping) and "type" in p for p in content):
        said = _Said()
        for number, part in enumerate(content):
            _read_part(part, f"{place}[{number}]", said, unread)
        return "\n".join(part["text"] for part in said.parts)
    return content if isinstance(content, str) else "" if content is None else encode(content)


def _list(value: Any, place: str, unread: Unread) -> list[Any]:
    if value is not None and not isinstance(value, list):
        unread.add(place, f"it is {excerpt(value, 60)}; expected a list")
    return value if isinstance(value, list) else []
