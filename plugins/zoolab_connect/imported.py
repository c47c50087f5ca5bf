"""Conversations that other programs have written to a file, as traces.

A file is known by what is in it. Nothing runs, and how long anything took is not known: a trace says what
the messages say. What was not understood is in its `meta` under `not_read`, with place and reason.

A request of an API in `zoolab.apis` is read here, and a list of messages in OpenAI's form. What else can be
read is registered in the group `zoolab.readers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoolab.adapters import ForeignTool
from zoolab.apis import APIS, api_of
from zoolab.apis.interface import REQUEST_FIELDS
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import NotStrictJSON, excerpt
from zoolab.plugins import READERS, BrokenPlugin, Reader
from zoolab.runs import Trace, read_conversation
from zoolab.tools import ToolRegistry
from zoolab_connect.readers.found import Conversation, Unread
from zoolab_connect.readers.offered import tools_beside
from zoolab_connect.readers.pairing import paired
from zoolab_connect.readers.parsing import text_in, values_in
from zoolab_connect.readers.wrapped import anything_in, is_message

#: Bytes of a file; more is refused.
MAX_BYTES = 200_000_000
_FORMS = "OpenTelemetry spans with messages, a log of Inspect AI, an export, or a request of an API"
_CALLED = ("tool_calls", "tool_call_id")
#: Types of the parts of a message of Chat Completions.
_CHAT = {"text", "image_url", "input_audio", "file", "refusal", "thinking", "reasoning"}
_ODD = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


def read_conversations(path: str | Path) -> list[Trace]:
    """Return the conversations of a file that another program has written, each as a trace.

    What was not understood stands in the `meta` of each trace under `not_read`, as sentences with their
    place; what concerns the whole file stands in the first trace.

    Raises `InvalidInput` if the file cannot be read, or holds no conversation in a form known here.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "said.json")
    >>> _ = path.write_text('[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]')
    >>> [trace.answer for trace in read_conversations(path)]
    ['Hello']
    """
    path = Path(path)
    unread = Unread()
    values = _content(path, unread)
    found = list(_conversations(values, unread))
    if not any(each.messages or each.error for each in found):
        lines = [line for each in (unread, *(each.unread for each in found)) for line in each.lines()]
        why = f": {lines[0]}" if lines else ""
        raise InvalidInput(f"{path.name} holds no conversation in a form that is known{why}", expected=_FORMS)
    traces = [_trace(each) for each in found]
    if lines := unread.lines():
        traces[0].meta["not_read"] = [*lines, *traces[0].meta.get("not_read", [])]
    return traces


def _content(path: Path, unread: Unread) -> list[Any]:
    """Return the values of a file; an archive is one log."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path.name} is too large", expected=f"at most {MAX_BYTES:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}", expected="a file of JSON") from None
    try:
        for name, reader in READERS.everything():
            if reader.opened is not None:
                found: list[Any] | None = READERS.attempt(name, _opened, reader.opened, content, unread)
                if found is not None:
                    return found
        text = text_in(content)
        if text.lstrip().startswith(("data:", "event:")):  # a stream as it came
            return [{"request": {}, "response": {"body": text}}]
        return values_in(text, unread)
    except InvalidInput as error:
        if isinstance(error, ImportError):
            raise
        what = f"{path.name} cannot be read: {error.what}"
        raise InvalidInput(what, expected=error.expected, advice=error.advice) from None


def _opened(opened: Callable[..., Sequence[Any] | None], content: bytes, unread: Unread) -> list[Any] | None:
    found = opened(content, MAX_BYTES, unread)
    return None if found is None else [*found]


def _conversations(values: Sequence[Any], unread: Unread) -> Iterator[Conversation]:
    """Yield the conversations of all values, each by the reader that knows its form."""
    flat = [each for value in values for each in (value if _holds_values(value) else [value])]
    whole = _reader_of(flat, whole_file=True)
    if whole is not None:
        yield from _guarded(_read_by(*whole, flat, unread), f"the {whole[1].what}", unread)
        return
    if len(flat) > 1 and all(isinstance(each, dict) and _is_line(each) for each in flat):
        flat = [flat]
    for number, value in enumerate(flat):
        place = f"value {number + 1}" if len(flat) > 1 else "the file"
        yield from _guarded(_of_value(value, place, unread), place, unread)


def _is_line(value: Mapping[str, Any]) -> bool:
    """Return whether a value is a message on a line of its own."""
    return isinstance(value.get("role"), str) and value.keys() <= {"role", "content", "name", *_CALLED}


def _holds_values(value: Any) -> bool:
    """Return whether a list holds values of their own: not a message each."""
    return isinstance(value, list) and not any(map(is_message, value))


def _of_value(value: Any, place: str, unread: Unread) -> Iterator[Conversation]:
    known = _reader_of(value)
    if known is not None:
        yield from _read_by(*known, value, unread)
    elif isinstance(value, list):
        own = Unread()
        if messages := anything_in(value, "messages", own):
            yield Conversation(messages, unread=own)
    elif isinstance(value, dict) and _told_otherwise(value):
        own = Unread()
        if messages := anything_in(value["messages"], "messages", own):
            meta = {"model": value["model"]} if isinstance(value.get("model"), str) else {}
            yield Conversation(messages, tools_beside(value, place, own), meta, own)
    elif isinstance(value, dict):
        spoken = api_of(value)
        own = Unread()
        left: list[str] = []
        request = spoken.from_body(value, left)
        for what in left:
            own.add(place, what)
        settings = {*APIS["openai"].settings, *APIS["openai"].own, *spoken.own, *spoken.nested}
        for name in sorted(request.settings.keys() - settings):
            own.add(name, f"it is no part of a request: {excerpt(request.settings[name], 60)}")
        if request.prefix:
            meta = {"model": value["model"]} if isinstance(value.get("model"), str) else {}
            yield Conversation(request.prefix.tolist(), request.tools, meta, own)
        else:
            unread.add(place, "it holds no messages")
    else:
        unread.add(place, "it is neither an object nor a list")


def _reader_of(value: Any, whole_file: bool = False) -> tuple[str, Reader] | None:
    """Return the reader that recognises a value, or the values of a whole file, with its name.

    What came with zoolab is asked first. Others are not asked of what zoolab reads itself.
    """
    for name, reader in READERS.everything():
        if not READERS.is_own(name) and (
            any(map(_is_read_here, value)) if whole_file else _is_read_here(value)
        ):
            return None
        if reader.of_whole_file is whole_file and READERS.attempt(name, reader.recognises, value):
            return name, reader
    return None


def _is_read_here(value: Any) -> bool:
    """Return whether zoolab reads a value itself: a request or messages without unknown fields, or more."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) and _is_line(each) for each in value)
    if not isinstance(value, dict):
        return False
    spoken = api_of(value)
    if _is_line(value) or (spoken.asks(value) and value.keys() <= spoken.known | REQUEST_FIELDS):
        return True
    own = (each for name, each in READERS.everything() if READERS.is_own(name))
    return any(each.recognises(value) for each in own if not each.of_whole_file)


def _read_by(name: str, reader: Reader, value: Any, unread: Unread) -> Iterator[Conversation]:
    """Yield what a reader finds; what one of others cannot read stands in `unread`, with its name."""
    if READERS.is_own(name):
        yield from reader.read(value, unread)
        return
    try:
        yield from READERS.call(name, _all_read_by, reader, value, unread)
    except BrokenPlugin as error:
        unread.add(f"the {reader.what}", error.what)


def _all_read_by(reader: Reader, value: Any, unread: Unread) -> list[Conversation]:
    listed = [*reader.read(value, unread)]
    for each in listed:
        if not isinstance(each, Conversation):
            raise TypeError(f"it gave {excerpt(each, 60)}, which is no Conversation")
    return listed


def _told_otherwise(value: Mapping[str, Any]) -> bool:
    """Return whether an object has messages in the form of a framework, or in an older one of an API."""
    listed = value.get("messages")
    if api_of(value) is not APIS["openai"] or not isinstance(listed, list):
        return False
    return any(isinstance(each, dict) and not _is_chat(each) for each in listed)


def _is_chat(message: Mapping[str, Any]) -> bool:
    """Return whether a message is one of Chat Completions, as far as its parts and its calls go."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    kinds = {part.get("type") for part in parts if isinstance(part, dict)}
    older = message.keys() & {"parts", "function_call", "kwargs"} or message.get("role") in (None, "function")
    return not older and kinds <= _CHAT


def _guarded(found: Iterator[Conversation], place: str, unread: Unread) -> Iterator[Conversation]:
    """Pass on what a reader finds; where it gives up, say so."""
    try:
        yield from found
    except (ZoolabError, NotStrictJSON, *_ODD) as error:
        expected = getattr(error, "expected", "")
        why = f"expected {expected}" if expected else type(error).__name__
        unread.add(place, f"it has a form that is not known: {why}")


def _trace(found: Conversation) -> Trace:
    messages = paired(found.messages, found.unread)
    ends = {n: each["finish_reason"] for n, each in enumerate(messages) if each.get("finish_reason")}
    messages = [{k: v for k, v in each.items() if k != "finish_reason"} for each in messages]
    lines = found.unread.lines()
    meta = {**found.meta, **({"not_read": lines} if lines else {})}
    try:
        tools = tools_offered(found.tools)
    except (ZoolabError, *_ODD) as error:
        tools = None
        why = getattr(error, "what", type(error).__name__)
        meta["not_read"] = [*lines, f"the tools: {why}"]
    try:
        trace = read_conversation(messages, tools, meta=meta, ends=ends)
    except (ZoolabError, *_ODD) as error:
        why = error.what if isinstance(error, ZoolabError) else type(error).__name__
        meta["not_read"] = [*lines, f"the messages: {why}"]
        trace = read_conversation([], meta=meta)
    if not trace.steps:
        trace.outcome = "open"
    if found.outcome:
        trace.outcome = found.outcome
        trace.error = found.error
    return trace


def tools_offered(schemas: Iterable[Mapping[str, Any]]) -> ToolRegistry | None:
    """Return tools without functions, from what a request offered; None if it offered nothing."""
    functions = [schema["function"] for schema in schemas if schema.get("type") == "function"]
    tools = ToolRegistry(
        ForeignTool(each["name"], each.get("description", ""), each.get("parameters") or {})
        for each in functions
    )
    return tools or None
