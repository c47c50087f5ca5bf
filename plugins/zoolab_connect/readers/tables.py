"""Tables, as JSON and as comma-separated values, and files that are compressed; Parquet is refused."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab_connect.proxy.encodings import decoded

#: Columns of which one says that a table is an export with conversations.
_COLUMNS = ("input", "inputs", "messages", "conversations", "prompt")


def unpacked(content: bytes, most: int) -> bytes:
    """Return the content of a file without gzip around it; raises `InvalidInput` for what is never
    read here.
    """
    if content.startswith(b"PAR1"):
        advice = (
            "write it as JSON lines: pandas.read_parquet(FILE).to_json(TARGET, orient='records', lines=True)"
        )
        raise InvalidInput("it is a table in Parquet", expected="JSON", advice=advice)
    return decoded(content, "gzip", most) if content.startswith(b"\x1f\x8b") else content


def rows_of_csv(text: str) -> list[dict[str, Any]] | None:
    """Return the rows of a table of comma-separated values; None if the text is no such table.

    >>> rows_of_csv("id,input\\n1,Hi\\n")
    [{'id': '1', 'input': 'Hi'}]
    """
    head = text.lstrip("\ufeff").partition("\n")[0].strip()
    names = next(csv.reader([head]), []) if head[:1] not in ("", "{", "[") else []
    if len(names) < 2 or not {*_COLUMNS} & {name.strip().lower() for name in names}:
        return None
    usual = csv.field_size_limit(len(text) + 1)
    rows = csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline=""), restkey="more", restval="")
    try:
        return [{name.strip(): value for name, value in row.items()} for row in rows]
    except csv.Error as error:
        raise InvalidInput(f"it is no table: {error} at line {rows.line_num:,}", expected="CSV") from None
    finally:
        csv.field_size_limit(usual)


def rows_of_table(value: Any) -> list[dict[str, Any]]:
    """Return the rows of a table in JSON, as pandas and Logfire write it; none if the value is no such table.

    >>> rows_of_table({"id": {"0": 7}, "name": {"0": "x"}})
    [{'id': 7, 'name': 'x'}]
    >>> rows_of_table({"columns": ["id"], "index": [0], "data": [[7]]})
    [{'id': 7}]
    """
    if not isinstance(value, Mapping) or not value:
        return []
    columns = value.get("columns")
    if isinstance(columns, list):
        return _listed_rows(columns, value.get("data", value.get("rows")))
    held = list(value.values())
    if not all(isinstance(each, Mapping) for each in held):
        return []
    if all(isinstance(each.get("context.span_id"), str) for each in held):  # a row each, by its label
        return [dict(each) for each in held]
    return _by_columns(value)


def _listed_rows(columns: list[Any], rows: Any) -> list[dict[str, Any]]:
    """Return the rows beside a list of columns; the columns may hold the values themselves."""
    if isinstance(rows, list):
        named = [each.get("name") if isinstance(each, Mapping) else each for each in columns]
        return [
            dict(each) if isinstance(each, Mapping) else dict(zip(map(str, named), each, strict=False))
            for each in rows
            if isinstance(each, Mapping | list)
        ]
    whole = (each for each in columns if isinstance(each, Mapping) and isinstance(each.get("values"), list))
    return _by_columns({str(each.get("name")): dict(enumerate(each["values"])) for each in whole})


def _by_columns(columns: Mapping[str, Mapping[Any, Any]]) -> list[dict[str, Any]]:
    rows: dict[Any, dict[str, Any]] = {}
    for name, column in columns.items():
        for label, cell in column.items():
            rows.setdefault(label, {})[name] = cell
    return list(rows.values())
