"""Calls as Llama 3 and Cohere write them: `{"name": ..., "parameters": ...}` on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoolab.textcalls.calls import TextCall, call_in
from zoolab.textcalls.objects import JSONObject
from zoolab.textcalls.plain import runs_in

_MAY_STAND_BESIDE_PARAMETERS = {"type", "id", "name", "parameters", "tool_name", "tool_call_id"}
_SPECIAL = re.compile(r"(?:<\|\w{1,32}\|>|```\w{0,16})\Z")


def read_llama(text: str, _schemas: Mapping[str, Any]) -> list[TextCall]:
    """Return the objects with `name` and `parameters` that fill their lines, and are not inside of another
    object.

    With other words on its line such an object is data, for many things have a name and parameters.
    """
    if '"parameters"' not in text:
        return []
    runs, _ = runs_in(text, with_parameters, inside=False)
    return [call for run in runs if run.is_alone(text, _SPECIAL) for call in run.calls]


def with_parameters(found: JSONObject) -> TextCall | None:
    """Return the call in an object with `name` and `parameters`, as Llama and Cohere write it.

    Tool descriptions and much other data have a name and parameters too, so nothing else may stand
    beside them, and a schema is none.
    """
    name = found.value("name") or found.value("tool_name")
    given = found.value("parameters")
    if not name or not isinstance(given, dict) or {"type", "properties"} <= given.keys():
        return None
    if not found.members.keys() <= _MAY_STAND_BESIDE_PARAMETERS:
        return None
    return call_in(found, name, found.raw("parameters"), found.value("id") or found.value("tool_call_id"))
