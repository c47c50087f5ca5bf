"""Values that a family writes without quotes: the schema of the tool tells whether `5123` is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import json_or, pointer_to
from zoolab.schema.checker import SchemaChecker, plain_test

_CDATA = "<![CDATA["
#: Some templates write these values as Python does.
_PYTHON = {"True": "true", "False": "false", "None": "null"}


class Values:
    """Reads the values of one tool, whose parameters have `schema`."""

    def __init__(self, schema: Any) -> None:
        # A value is judged on its own, so no other one is required.
        self._schema = (
            {key: schema[key] for key in schema if key != "required"} if isinstance(schema, Mapping) else {}
        )

    def read(self, key: str, written: str, kind: str | None) -> Any:
        """Return the value of a parameter; `kind` is what its tag says of it, if anything.

        The text is tried, then the JSON in it, and the reading is taken that the schema takes. If it takes
        both, as one does that says nothing, JSON is read. If it takes neither, JSON is read unless the
        schema wants text.

        >>> code = {"properties": {"code": {"$ref": "#/$defs/Code"}}, "$defs": {"Code": {"type": "string"}}}
        >>> Values(code).read("code", "5123", None), Values(code).read("more", "5123", None)
        ('5123', 5123)
        """
        written = _unwrapped(written)
        if kind in ("true", "string"):
            return written
        value = json_or(written, _PYTHON.get(written.strip(), written))
        if kind == "false":
            return value
        return written if isinstance(value, str) else self._choose(key, written, value)

    def _choose(self, key: str, written: str, value: Any) -> Any:
        as_text, as_json = self._takes(key, written), self._takes(key, value)
        if as_text != as_json:
            return written if as_text else value
        return written if not as_text and self._wants_text(key, value) else value

    def _takes(self, key: str, value: Any) -> bool:
        if isinstance(value, str) and self._is_plain(key):
            return self._meets_plainly is not None and self._meets_plainly({key: value})
        return not self._expected(key, value)

    def _wants_text(self, key: str, value: Any) -> bool:
        return any("string" in words.split(" or ") for words in self._expected(key, value))

    def _expected(self, key: str, value: Any) -> list[str]:
        """What the schema says was expected in place of a value."""
        place = pointer_to([key])
        try:
            problems = self._checker.problems({key: value}) if self._checker else ()
        except InvalidSchema:
            return []
        found = [problem for problem in problems if f"{problem.pointer}/".startswith(f"{place}/")]
        return [problem.expected for problem in found]

    def _is_plain(self, key: str) -> bool:
        return self._meets_plainly is not None and key in self._schema.get("properties", {})

    @cached_property
    def _meets_plainly(self) -> Callable[[Any], bool] | None:
        return plain_test(self._schema)

    @cached_property
    def _checker(self) -> SchemaChecker | None:
        try:
            return SchemaChecker(self._schema)
        except InvalidSchema:
            return None


def _unwrapped(written: str) -> str:
    """A value without its CDATA, or without the line breaks around it."""
    if written.strip().startswith(_CDATA) and written.rstrip().endswith("]]>"):
        return written.strip()[len(_CDATA) : -len("]]>")].replace("]]>" + _CDATA, "")
    return written[1:].removesuffix("\n") if written.startswith("\n") else written
