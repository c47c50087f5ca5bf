"""What requests of a trace are told apart by."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from zoolab.jsontext import digest
from zoolab.jsontext.values import any_json, is_strict
from zoolab.messages.outgoing import sendable
from zoolab.models.request_keys import PlacesOfIds, name_of, without_blank
from zoolab.records import Messages, Request


class RequestNames:
    """Names requests, each message of a list that grows once: the cost of a name does not grow with the list.

    The names are not those of `RequestKeys`, but say the same: which requests are equal.

    Args:
        scrubs: Whether requests are equal that differ in secrets alone. It costs a hundred times as much.
    """

    def __init__(self, scrubs: bool = False) -> None:
        self._scrubs = scrubs
        self._latest = Messages()
        self._ids = PlacesOfIds()
        #: The name of what comes before each message, and of all of them.
        self._names = [""]
        self._rest: tuple[Any, ...] = (None,)
        self._rest_name = ""

    def of(self, request: Request) -> str:
        """Return the name of a request."""
        messages = request.prefix
        rest = (request.tools, request.tool_choice, request.settings)
        if not messages.shares(self._latest):
            self._ids = PlacesOfIds()
            self._names = [""]
        self._latest = messages
        names = self._names
        for index, message in enumerate(messages.since(len(names) - 1), len(names) - 1):
            sent = sendable(index, message)[0]
            name = names[-1]
            if sent is not None:
                sent = sent if is_strict(sent) else any_json(sent)
                name = digest(name + name_of(without_blank(self._ids.replace(sent)), self._scrubs))
            names.append(name)
        if not all(map(operator.is_, rest, self._rest)):
            self._rest = rest
            bare = replace(request, messages=())
            self._rest_name = name_of(bare.body(), self._scrubs)
        return self._rest_name + names[len(messages)]
