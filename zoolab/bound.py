"""The arguments of a call, bound once: validation needs them, and so does execution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.jsontext.readonly import plain
from zoolab.tools import Tool


class Bound:
    """The arguments of one call as its function takes them: validation made them, and execution uses them.

    They can be taken once, because a function may change what it is given, and only for the tool and the
    arguments that they were made from. A tool with an `invoke` of its own binds them itself.

    >>> tool = Tool("f", "F.", {"type": "object"}, bind=lambda given: {"x": str(given["x"])})
    >>> arguments = {"x": 1}
    >>> bound = Bound(tool, arguments)
    >>> bound.take(tool, {"x": True}), bound.take(tool, arguments), bound.take(tool, arguments)
    (None, {'x': '1'}, None)
    """

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        self._tool = tool
        self._arguments = arguments
        self._values = [] if tool.bind is None else [tool.bind(plain(arguments))]

    def take(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the bound arguments of this call; None if they have to be bound again."""
        same = tool is self._tool and arguments is self._arguments and type(tool).invoke is Tool.invoke
        return self._values.pop() if same and self._values else None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # a copy, pickled or not, is None: its arguments are bound again
