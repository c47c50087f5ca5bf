"""The endpoint reports: small replies in the form of five APIs, made from what is written here.

forms.py    a reply in the form of each API, plain and streamed
chat.py     the reports about Chat Completions
others.py   the reports about Responses, Messages, generateContent and Ollama's chat
row.py      a row of the data set
"""

from __future__ import annotations

from tools.datasets.reports import chat, others
from zoolab_study.datasets.loading import Row


def reports_made_again() -> list[Row]:
    """Return the rows of the endpoint reports.

    >>> reports_made_again()[0]["id"]
    'chat-cut-blank'
    """
    return [*chat.rows(), *others.rows()]
