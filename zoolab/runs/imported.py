"""Conversations that other programs have written to a file, as traces.

A request of an API in `zoolab.apis` is read here, and a list of messages in OpenAI's form. What else can be
read is registered in the group `zoolab.readers`.

Nothing runs, and how long anything took is not known: a trace says what the messages say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from zoolab.apis import APIS, api_of
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.jsontext import NotStrictJSON, parse_json
from zoolab.plugins import READERS
from zoolab.records import Request
from zoolab.runs import Trace, read_conversation
from zoolab.tools import ForeignTool, ToolRegistry

#: Bytes of a file; more is refused.
MAX_BYTES = 200_000_000


def read_conversations(path: str | Path) -> list[Trace]:
    """The conversations of a file that another program has written, each as a trace.

    Raises `InvalidInput` if the file cannot be read, or holds no conversation in a form known here.
    """
    path = Path(path)
    traces = [
        read_conversation(request.prefix, tools_offered(request.tools), meta=meta)
        for request, meta in _conversations(_content(path))
        if request.prefix
    ]
    if not traces:
        expected = "OpenTelemetry spans with messages, a log of Inspect AI, or a request of an API"
        raise InvalidInput(f"{path.name} holds no conversation", expected=expected)
    return traces


def _content(path: Path) -> Any:
    if path.suffix == ".eval":  # an archive, compressed in a way that Python reads from 3.14 on
        advice = f"inspect log convert {path.name} --to json --output-dir FOLDER"
        raise InvalidInput(f"{path.name} is not JSON", expected="a log of Inspect AI as JSON", advice=advice)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path.name} is too large", expected=f"at most {MAX_BYTES:,} bytes")
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NotStrictJSON) as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}", expected="a file of JSON") from None


def _conversations(content: Any) -> Iterator[tuple[Request, dict[str, Any]]]:
    try:
        reader = next((each for _, each in READERS.everything() if each.recognises(content)), None)
        if reader is not None:
            yield from reader.read(content)
            return
        match content:
            case list(messages):
                yield APIS["openai"].from_body({"messages": messages}), {}
            case dict():
                yield api_of(content).from_body(content), {}
    except (ZoolabError, AttributeError, KeyError, TypeError, ValueError) as error:
        why = error if isinstance(error, ZoolabError) else f"{type(error).__name__}: {error}"
        expected = "spans, samples or messages as these programs write them"
        raise InvalidInput(f"a conversation has a form that is not known: {why}", expected=expected) from None


def tools_offered(schemas: Iterable[Mapping[str, Any]]) -> ToolRegistry | None:
    """Tools without functions, from what a request offered; None if it offered nothing."""
    functions = [schema["function"] for schema in schemas if schema.get("type") == "function"]
    tools = ToolRegistry(
        ForeignTool(each["name"], each.get("description", ""), each.get("parameters") or {})
        for each in functions
    )
    return tools or None
