"""An API: the one of zoolab's own records, at another address."""

from __future__ import annotations

from zoolab.apis.chat import ChatCompletions


class Tellers(ChatCompletions):
    """Chat Completions at another address."""

    name = "tellers"
    label = "Tellers"
    address = "https://tellers.invalid/v1"
