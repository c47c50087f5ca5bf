"""Values that a family writes without quotes: the schema of the tool tells whether `5123` is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from zoolab.errors import InvalidSchema
from zoolab.jsontext import json_or, pointer_to
from zoolab.schema.checker import SchemaChecker
from zoolab.schema.plain import plain_test
from zoolab_connect.textcalls.pythonic import literal

#: Where a value stands: the parameter, and the keys and indices inside of it.
Path = tuple[str | int, ...]

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

    def read(self, path: Path, written: str, kind: str | None = None) -> Any:
        """Return the value of a parameter, or one inside it; `kind` is what its tag says of it, if anything.

        The text is tried, then the JSON in it, and the reading is taken that the schema takes. If it takes
        both, as one does that says nothing, JSON is read. If it takes neither, JSON is read unless the
        schema wants text.

        >>> code = {"properties": {"code": {"$ref": "#/$defs/Code"}}, "$defs": {"Code": {"type": "string"}}}
        >>> Values(code).read(("code",), "5123"), Values(code).read(("more",), "5123")
        ('5123', 5123)
        """
        written = _unwrapped(written)
        if kind in ("true", "string"):
            return written
        value = json_or(written, _PYTHON.get(written.strip(), written))
        if value == written and written.lstrip().startswith(("[", "{")):
            value = _of_python(written)
        if kind == "false":
            return value
        return written if isinstance(value, str) else self._choose(path, written, value)

    def wants(self, path: Path, value: Any, kind: str) -> bool:
        """Return whether the schema refuses a value and would take one of this type in its place.

        >>> Values({"properties": {"days": {"type": "array"}}}).wants(("days",), {}, "array")
        True
        """
        return any(kind in words.split(" or ") for words in self._expected(path, value))

    def _choose(self, path: Path, written: str, value: Any) -> Any:
        as_text = self._takes(path, written)
        as_json = self._takes(path, value)
        if as_text != as_json:
            return written if as_text else value
        if as_text:
            # What the values around it allow may be said of them all.
            parameter = path[:1]
            in_text, in_json = (self._expected(path, one, parameter) for one in (written, value))
            return written if len(in_text) < len(in_json) else value
        return written if self.wants(path, value, "string") else value

    def _takes(self, path: Path, value: Any) -> bool:
        if isinstance(value, str) and len(path) == 1 and self._is_plain(path[0]):
            return self._meets_plainly is not None and self._meets_plainly({path[0]: value})
        return not self._expected(path, value)

    def _expected(self, path: Path, value: Any, within: Path | None = None) -> list[str]:
        """Return what the schema says was expected at a path, or inside of it, if this value stands there."""
        place = pointer_to(path if within is None else within)
        for step in reversed(path):
            value = {step: value} if isinstance(step, str) else [value]
        try:
            problems = self._checker.problems(value) if self._checker else ()
        except InvalidSchema:
            return []
        found = [problem for problem in problems if f"{problem.pointer}/".startswith(f"{place}/")]
        return [problem.expected for problem in found]

    def _is_plain(self, key: str | int) -> bool:
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


def _of_python(written: str) -> Any:
    """Return a list or an object that is written as Python writes it; other text as it is."""
    try:
        return literal(written)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return written


def _unwrapped(written: str) -> str:
    """Return a value without its CDATA, or without the line breaks around it."""
    if written.strip().startswith(_CDATA) and written.rstrip().endswith("]]>"):
        return written.strip()[len(_CDATA) : -len("]]>")].replace("]]>" + _CDATA, "")
    return written[1:].removesuffix("\n") if written.startswith("\n") else written
