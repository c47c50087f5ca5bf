"""A call as it was found in a text, and the two ways of families to write one as a JSON object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoolab.textcalls.objects import JSONObject, Objects

if TYPE_CHECKING:
    import re

_MAY_STAND_BESIDE_NAME = {"type", "id", "name"}
_MAY_STAND_BESIDE_PARAMETERS = _MAY_STAND_BESIDE_NAME | {"parameters", "tool_name", "tool_call_id"}


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call in a text. `arguments` is what the model wrote, or JSON where its family writes no JSON."""

    name: str
    arguments: str
    #: The id that the model gave it.
    wanted: str | None = None
    #: Where in the text it begins.
    at: int = 0


Reader = Callable[[JSONObject], TextCall | None]


def with_arguments(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `arguments`.

    >>> from zoolab.textcalls.objects import Objects
    >>> with_arguments(Objects('{"name": "add", "arguments": {"a":  1}}').at(0)).arguments
    '{"a":  1}'
    """
    name, wanted = found.value("name"), found.value("id")
    if not isinstance(name, str) or "arguments" not in found.members:
        return None
    return TextCall(name, found.raw("arguments"), wanted if isinstance(wanted, str) else None, found.start)


def with_parameters(found: JSONObject) -> TextCall | None:
    """The call in an object with `name` and `parameters`, as Llama and Cohere write it.

    Tool descriptions and much other data have a name and parameters too, so nothing else may stand
    beside them, and a schema is none.

    >>> from zoolab.textcalls.objects import Objects
    >>> with_parameters(Objects('{"name": "add", "parameters": {"a": 1}}').at(0)).name
    'add'
    >>> with_parameters(Objects('{"name": "add", "parameters": {"type": "object", "properties": {}}}').at(0))
    """
    name = found.value("name") or found.value("tool_name")
    wanted = found.value("id") or found.value("tool_call_id")
    given = found.value("parameters")
    if not isinstance(name, str) or not name or not isinstance(given, dict):
        return None
    if not found.members.keys() <= _MAY_STAND_BESIDE_PARAMETERS or {"type", "properties"} <= given.keys():
        return None
    return TextCall(name, found.raw("parameters"), wanted if isinstance(wanted, str) else None, found.start)


def in_tag(found: JSONObject) -> TextCall | None:
    """The call in an object of which a tag says that it is one: it may name a tool and nothing else.

    >>> from zoolab.textcalls.objects import Objects
    >>> in_tag(Objects('{"name": "now"}').at(0))
    TextCall(name='now', arguments='', wanted=None, at=0)
    """
    return with_arguments(found) or with_parameters(found) or _without_arguments(found)


def by_name(found: JSONObject) -> TextCall | None:
    """The call in an object whose only member is the name of a tool, with its arguments.

    >>> from zoolab.textcalls.objects import Objects
    >>> by_name(Objects('{"add": {"a": 1}}').at(0)).arguments
    '{"a": 1}'
    """
    if len(found.members) != 1:
        return None
    (name,) = found.members
    return TextCall(name, found.raw(name), None, found.start) if isinstance(found.value(name), dict) else None


def _without_arguments(found: JSONObject) -> TextCall | None:
    name, wanted = found.value("name"), found.value("id")
    if not isinstance(name, str) or not found.members.keys() <= _MAY_STAND_BESIDE_NAME:
        return None
    return TextCall(name, "", wanted if isinstance(wanted, str) else None, found.start)


def run_of(
    objects: Objects,
    first: JSONObject,
    read: Reader,
    separator: re.Pattern[str],
) -> tuple[list[TextCall], int]:
    """The calls from `first` on, as long as each comes right after a separator; and where they end.

    >>> import re; from zoolab.textcalls.objects import Objects
    >>> objects = Objects('{"name": "f", "arguments": {}};{"name": "g", "arguments": {}}; {"x": 1}')
    >>> calls, end = run_of(objects, objects.at(0), with_arguments, re.compile("; *"))
    >>> [call.name for call in calls], objects.text[end:]
    (['f', 'g'], '; {"x": 1}')
    """
    calls: list[TextCall] = []
    found: JSONObject | None = first
    end = first.start
    while found is not None and (call := read(found)) is not None:
        calls.append(call)
        end = found.end
        between = separator.match(objects.text, end)
        found = objects.at(between.end()) if between else None
    return calls, end
