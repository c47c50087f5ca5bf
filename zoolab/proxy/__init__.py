"""Watch a program that zoolab did not write: its requests pass through, and each conversation is a trace.

exchange.py       one request of the program and the answer to it, as bytes; and the APIs that are understood
changes.py        what the program changed between two requests: messages, reply, tools, settings, prefix
findings.py       the same for a reader, with all that is wrong with each request
"""

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__, {"findings": "Report what_changed"})
