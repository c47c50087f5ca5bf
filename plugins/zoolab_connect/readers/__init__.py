"""Readers of what other programs have written, one form a file: conversations, and what was not understood.

spans.py       OpenTelemetry: OTLP/JSON, lines of a collector, what the SDK's console exporter prints
inspect_ai.py  logs of Inspect AI, as JSON
archive.py     the same as `.eval` archives
flat.py        spans of older conventions: OpenInference (Phoenix), OpenLLMetry, events
exchanges.py   requests and their answers: cassettes of vcrpy, and a request beside its response
langfuse.py    exports of Langfuse
langsmith.py   exports of LangSmith
promptfoo.py   results of promptfoo

found.py       what each of them gives back
messages.py    messages in the words of several programs
parsing.py     the JSON values of a file
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.plugins import Reader
from zoolab_connect.readers import exchanges, inspect_ai, langfuse, langsmith, promptfoo, spans
from zoolab_connect.readers.archive import is_archive, log_in
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.parsing import text_in


def _log_opened(content: bytes, most: int, unread: Unread) -> Sequence[Any] | None:
    return [log_in(content, most, unread)] if is_archive(content) else None


def _cassette_opened(content: bytes, _most: int, _unread: Unread) -> Sequence[Any] | None:
    try:
        text = text_in(content)
    except InvalidInput:
        return None
    return [exchanges.cassette_in(text)] if exchanges.looks_like_yaml(text) else None


SPANS = Reader("spans of OpenTelemetry", spans.recognises, spans.read, of_whole_file=True)
INSPECT_AI = Reader("logs of Inspect AI", inspect_ai.recognises, inspect_ai.read, opened=_log_opened)
EXCHANGES = Reader("cassettes of vcrpy", exchanges.recognises, exchanges.read, opened=_cassette_opened)
LANGFUSE = Reader("exports of Langfuse", langfuse.recognises, langfuse.read)
LANGSMITH = Reader("exports of LangSmith", langsmith.recognises, langsmith.read)
PROMPTFOO = Reader("results of promptfoo", promptfoo.recognises, promptfoo.read)
