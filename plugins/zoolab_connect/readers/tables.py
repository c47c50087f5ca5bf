"""Files that are not JSON: compressed ones, tables of comma-separated values; Parquet is refused."""

from __future__ import annotations

import csv
import io
from typing import Any

from zoolab.errors import InvalidInput
from zoolab_connect.proxy.encodings import decoded

#: Columns of which one says that a table is an export with conversations.
_COLUMNS = ("input", "inputs", "messages", "conversations", "prompt")


def unpacked(content: bytes, most: int) -> bytes:
    """The content of a file without gzip around it; raises `InvalidInput` for what is never read here."""
    if content.startswith(b"PAR1"):
        advice = (
            "write it as JSON lines: pandas.read_parquet(FILE).to_json(TARGET, orient='records', lines=True)"
        )
        raise InvalidInput("it is a table in Parquet", expected="JSON", advice=advice)
    return decoded(content, "gzip", most) if content.startswith(b"\x1f\x8b") else content


def rows_of(text: str) -> list[dict[str, Any]] | None:
    """The rows of a table of comma-separated values; None if the text is no such table.

    >>> rows_of("id,input\\n1,Hi\\n")
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
