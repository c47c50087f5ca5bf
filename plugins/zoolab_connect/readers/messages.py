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
        *(
            "finish_reason",
            "stop_reason",
            "custom",
            "is_error",
            "isError",
            "index",
            "event.name",
            "source",
            "model",
            "metadata",
            "internal",
        ),
        *("additional_kwargs", "response_metadata", "usage_metadata"),
    }
)


@dataclass(slots=True)
class _Said:
    """What the parts of one message say: text and thoughts, calls, and results of tools, in their order."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    #: The messages that are whole: a tool of the model's server gives its result within one.
    whole: list[Message] = field(default_factory=list)
    #: Results of calls that an earlier message made.
    earlier: list[Message] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def ask(self, made: dict[str, Any]) -> None:
        """Add a call."""
        self.calls.append(made)
        self.ids.add(made["id"])

    def answer(self, result: Message) -> None:
        """Add a result; what came before it in this message ends there if it holds the call."""
        if result["tool_call_id"] not in self.ids:
            self.earlier.append(result)
            return
        self.end("assistant")
        self.whole.append(result)

    def end(self, role: str) -> None:
        """Make a message of what there is, if there is anything."""
        if self.parts or self.calls:
            plain: Message = {"role": role, "content": self.content()}
            self.whole.append({**plain, "tool_calls": self.calls} if self.calls else plain)
            self.parts = []
            self.calls = []

    def content(self) -> Any:
        """Return text; or the parts, if some of it was only thought."""
        if any(part["type"] != "text" for part in self.parts):
            return self.parts
        return "\n".join(part["text"] for part in self.parts)


def call(number: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call in OpenAI's form; its id is empty if it has none."""
    text = arguments if isinstance(arguments, str) else encode({} if arguments is None else arguments)
    return {"id": _id(number), "type": "function", "function": {"name": str(name), "arguments": text}}


def _id(number: Any) -> str:
    return "" if number is None else str(number)


def messages_in(listed: Any, place: str, unread: Unread, role: str = "user") -> list[Message]:
    """Return the messages of a list; what is no message is noted. `role` is for those that name none."""
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
    """Return a message, and the results of tools in it, each as a message of its own."""
    said = _Said()
    given = told.get("parts", told.get("content"))
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
    _read_beside(told, place, said, unread)
    if isinstance(told.get("function_call"), Mapping):  # the older form, with one call
        _read_call(told["function_call"], f"{place}.function_call", said, unread)
    for name in sorted(told.keys() - _KNOWN):
        if told[name] not in (None, [], {}, ""):
            unread.add(f"{place}.{name}", "it has no place in a conversation here")
    return _messages(role, told, said)


def _read_beside(told: Mapping[str, Any], place: str, said: _Said, unread: Unread) -> None:
    """Read what LangChain keeps beside a message: calls that it could not parse, and calls as they came."""
    for number, odd in enumerate(
        _list(told.get("invalid_tool_calls"), f"{place}.invalid_tool_calls", unread)
    ):
        where = f"{place}.invalid_tool_calls[{number}]"
        _read_call(odd, where, said, unread)
        why = odd.get("error") if isinstance(odd, Mapping) else None
        unread.add(where, f"it could not be parsed: {excerpt(why, 200)}" if why else "it could not be parsed")
    more = told.get("additional_kwargs")
    if not isinstance(more, Mapping):
        return
    listed = _list(more.get("tool_calls"), f"{place}.additional_kwargs.tool_calls", unread)
    for number, asked in enumerate(listed):
        if not isinstance(asked, Mapping) or _id(asked.get("id")) not in said.ids:
            _read_call(asked, f"{place}.additional_kwargs.tool_calls[{number}]", said, unread)
    if isinstance(more.get("reasoning_content"), str) and not any(
        p["type"] == "reasoning" for p in said.parts
    ):
        said.parts.insert(0, {"type": "reasoning", "text": more["reasoning_content"]})


def _messages(role: str, told: Mapping[str, Any], said: _Said) -> list[Message]:
    if role == "tool" and not said.earlier:
        number = told.get("tool_call_id", told.get("id"))
        text = _failed(told, said.content())
        name = next((told[k] for k in ("name", "tool_name") if isinstance(told.get(k), str)), None)
        result = {"role": "tool", "tool_call_id": _id(number), "content": text}
        return [{**result, "name": name} if name else result]
    said.end(role)
    if not said.whole and not said.earlier:
        said.whole.append({"role": role, "content": ""})
    why = next((told[k] for k in ("finish_reason", "stop_reason") if isinstance(told.get(k), str)), None)
    if role == "assistant" and why and said.whole:
        said.whole[-1] = {**said.whole[-1], "finish_reason": why}
    return [*said.earlier, *said.whole]


def _failed(told: Mapping[str, Any], content: Any) -> Any:
    """Return the content of a result; it says so if the tool failed."""
    failed = told.get("is_error") is True or told.get("isError") is True or told.get("status") == "error"
    marked = not failed or not isinstance(content, str) or content.lower().startswith("error")
    return content if marked else f"ERROR: {content}"


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
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        said.parts.append({"type": "text", "text": part["refusal"]})
    elif kind in _TEXTS and text is not None:
        said.parts.append({"type": "text", "text": text})
    elif kind in _THOUGHTS:
        names = ("summary",) if part.get("redacted") else ("reasoning", "thinking", "summary")
        thought = next((content_text(part[k], place, unread) for k in names if part.get(k)), text)
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
    content = _failed(part, content_text(given, place, unread))
    said.answer({"role": "tool", "tool_call_id": _id(number), "content": content})


def _named(part: Mapping[str, Any], kind: Any, place: str, unread: Unread) -> str:
    """Return what stands for a part that is not text, such as an image."""
    mime = next(
        (part[k] for k in ("mime_type", "mimeType", "media_type") if isinstance(part.get(k), str)), ""
    )
    what = part.get("modality") or (mime.partition("/")[0] if kind in ("blob", "uri", "file") else "")
    what = what if isinstance(what, str) and what and what != "application" else kind
    word = one_line(_WORDS.get(what, what), 40) if isinstance(what, str) else "a part without a type"
    held = part.get(kind) if isinstance(kind, str) else None
    inner = held.get("url") if isinstance(held, Mapping) else held
    at = part.get("uri") or part.get("file_id") or part.get("url") or inner or ""
    more = ", ".join(
        each for each in (mime, at if isinstance(at, str) and not at.startswith("data:") else "") if each
    )
    unread.add(place, f"{word}, not shown{f' ({more})' if more else ''}")
    return f"[{word}, not shown]"


def _read_call(told: Any, place: str, said: _Said, unread: Unread) -> None:
    if not isinstance(told, Mapping):
        unread.add(place, f"it is {excerpt(told, 60)}; expected a call")
        return
    inner = told.get("function", told.get("custom"))
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
    said.ask(call(next((told[k] for k in _IDS if told.get(k)), None), name or "", arguments))


def _written(failed: str) -> str:
    """Return the arguments that the model wrote, from Inspect AI's report that they could not be parsed."""
    _, begins, rest = failed.partition("arguments:\n\n")
    return rest.partition("\n\nError details")[0] if begins else failed


def content_text(content: Any, place: str, unread: Unread) -> str:
    """Return content as text: that of its parts, if it has parts, and else JSON."""
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
