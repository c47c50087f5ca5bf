"""Readers of what other programs have written, one form a file: conversations, and what was not understood.

found.py       what every reader gives back
parsing.py     a file as JSON values: one, several, or one a line; with NaN, and with a note where it is odd
messages.py    the parts of a message in the words of several programs
spans.py       OpenTelemetry: OTLP/JSON, lines of a collector, what the SDK's console exporter prints
inspect_ai.py  logs of Inspect AI, as JSON
archive.py     the same as `.eval` archives
flat.py        spans of older conventions: OpenInference (Phoenix), OpenLLMetry, events
exchanges.py   requests and their answers: cassettes of vcrpy, and a request beside its response
langfuse.py    exports of Langfuse
langsmith.py   exports of LangSmith
promptfoo.py   results of promptfoo
"""
