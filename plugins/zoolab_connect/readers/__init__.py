"""Readers of what other programs have written, one form a file: conversations, and what was not understood.

spans.py       OpenTelemetry: OTLP/JSON, lines of a collector, what the SDK's console exporter prints
inspect_ai.py  logs of Inspect AI, as JSON
archive.py     the same as `.eval` archives
flat.py        spans of older conventions: OpenInference (Phoenix), OpenLLMetry, events
exchanges.py   requests and their answers: cassettes of vcrpy, and a request beside its response
langfuse.py    exports of Langfuse
langsmith.py   exports of LangSmith
promptfoo.py   results of promptfoo
datasets.py    ShareGPT, Hermes, preferences, prompts with completions
sessions.py    sessions of coding agents
codex.py       the same, as Codex writes them

found.py       what each of them gives back
messages.py    messages in the words of several programs
parsing.py     the JSON values of a file
span_forms.py  the forms in which spans are written down
wrapped.py, offered.py, beginnings.py  messages, tools, and beginnings, in the words of several programs
joining.py     messages that were written down in parts
text_calls.py  calls that stand in the text of a dataset
contents.py    bodies of Gemini
tables.py      tables, and what is not JSON
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.plugins import Reader
from zoolab_connect.readers import (
    datasets,
    exchanges,
    inspect_ai,
    langfuse,
    langsmith,
    promptfoo,
    sessions,
    spans,
)
from zoolab_connect.readers.archive import is_archive, log_in
from zoolab_connect.readers.found import Unread
from zoolab_connect.readers.parsing import text_in, values_in
from zoolab_connect.readers.tables import rows_of_csv, unpacked


def _log_opened(content: bytes, most: int, unread: Unread) -> Sequence[Any] | None:
    return [log_in(content, most, unread)] if is_archive(content) else None


def _cassette_opened(content: bytes, most: int, unread: Unread) -> Sequence[Any] | None:
    """Return the values of a cassette in YAML, of a table, or of a file that is compressed."""
    plain = unpacked(content, most)
    try:
        text = text_in(plain)
    except InvalidInput:
        return None
    if exchanges.looks_like_yaml(text):
        return [exchanges.cassette_in(text)]
    rows = rows_of_csv(text)
    return rows if rows is not None or plain is content else values_in(text, unread)


SPANS = Reader("spans of OpenTelemetry", spans.recognises, spans.read, of_whole_file=True)
INSPECT_AI = Reader("logs of Inspect AI", inspect_ai.recognises, inspect_ai.read, opened=_log_opened)
EXCHANGES = Reader(
    "requests with their answers", exchanges.recognises, exchanges.read, opened=_cassette_opened
)
LANGFUSE = Reader("exports of Langfuse", langfuse.recognises, langfuse.read, of_whole_file=True)
LANGSMITH = Reader("exports of LangSmith", langsmith.recognises, langsmith.read)
PROMPTFOO = Reader("results of promptfoo", promptfoo.recognises, promptfoo.read)
DATASETS = Reader("datasets of conversations", datasets.recognises, datasets.read)
SESSIONS = Reader("sessions of coding agents", sessions.recognises, sessions.read, of_whole_file=True)
