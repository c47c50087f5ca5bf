"""Tools for an analyst: a real SQLite database in memory, read-only.

What a query may do is decided by SQLite as it compiles the statement, not by words in its text:
an authorizer lets nothing pass but reading, and `query_only` stands behind it.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from statistics import quantiles
from threading import Lock
from typing import Annotated, Any

from zoolab.errors import ExecutionFailed, InvalidArguments, PermissionDenied, ToolTimeout
from zoolab.files import read_shipped
from zoolab.steps.define import as_registry
from zoolab.toolbox.starter import look_up
from zoolab.tools import ToolRegistry

MAX_ROWS = 100
#: Steps of SQLite, of which a laptop does 40 million a second: a limit that is the same everywhere.
MAX_STEPS = 5_000_000
MAX_SECONDS = 1.0
#: The longest value, and the longest query.
MAX_BYTES = 10_000
MAX_RESULT = 64_000

_STEPS_A_LOOK = 100
_TableName = Annotated[str, "Name of the table, for example orders."]
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
#: Functions that run code, or that work for seconds within a single step.
_NEVER = {"load_extension", "printf", "format"}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_BYTES,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_ONLY_READING = "this database can only be read"


class Analytics:
    """A shop's database: 10 customers and 60 orders, with a few faults to be found."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._refused = ""
        self._steps = 0
        self._deadline = 0.0
        self._database = database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        database.executescript(read_shipped("zoolab_course.worlds", "shop.sql"))
        columns = 'SELECT name, type, pk, "notnull" FROM pragma_table_info(?)'
        self._columns = {
            table: [
                {"name": name, "type": kind, "primary_key": bool(key), "nullable": not (key or required)}
                for name, kind, key, required in database.execute(columns, (table,))
            ]
            for table in ("customers", "orders")
        }
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        for setting in ("temp_store = MEMORY", "trusted_schema = OFF", "query_only = ON"):
            database.execute(f"PRAGMA {setting}")
        for limit, most in _LIMITS.items():
            database.setlimit(limit, most)
        database.set_progress_handler(self._takes_too_long, _STEPS_A_LOOK)
        database.set_authorizer(self._authorize)

    def __del__(self) -> None:
        self._database.close()

    def sql_select(
        self, query: Annotated[str, "One SQLite SELECT, for example SELECT count(*) FROM orders."]
    ) -> dict[str, Any]:
        """Run one SQL query that only reads; the first 100 rows come back. Use this to answer from data."""
        with self._lock, closing(self._database.cursor()) as cursor:
            self._begin()
            try:
                cursor.execute(query)
                if cursor.description is None:
                    raise PermissionDenied(_ONLY_READING, expected="one SELECT")
                return _table(cursor)
            except (sqlite3.Error, sqlite3.Warning, UnicodeError, ValueError, OverflowError) as error:
                if self._refused:
                    raise PermissionDenied(self._refused, expected="one SELECT") from error
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                    raise ToolTimeout(
                        "the query was stopped: it takes too long", advice="ask for less"
                    ) from error
                raise InvalidArguments(
                    f"SQLite: {error}", advice="see describe_table for the columns"
                ) from error
            except MemoryError as error:
                raise ExecutionFailed(
                    "the query needs too much memory", advice="ask for fewer rows"
                ) from error

    def describe_table(self, table_name: _TableName) -> dict[str, Any]:
        """Describe a table: its columns, their types and the number of rows. Use this before a query."""
        columns = look_up(self._columns, table_name, "table")
        count = self.sql_select(f"SELECT count(*) FROM {table_name}")["rows"][0][0]
        return {"table": table_name, "row_count": count, "columns": [dict(column) for column in columns]}

    def check_data_quality(self, table_name: _TableName) -> dict[str, Any]:
        """Count nulls, duplicate rows and outliers in a table. Use this when the user doubts the data."""
        columns = look_up(self._columns, table_name, "table")
        with self._lock:
            self._begin()
            rows = self._database.execute(f"SELECT * FROM {table_name}").fetchall()
        keys = {index for index, column in enumerate(columns) if column["primary_key"]}
        plain = [tuple(value for index, value in enumerate(row) if index not in keys) for row in rows]
        by_name = {column["name"]: [row[index] for row in rows] for index, column in enumerate(columns)}
        measured = [column["name"] for column in columns if column["type"] == "REAL"]
        return {
            "table": table_name,
            "row_count": len(rows),
            "nulls": {name: values.count(None) for name, values in by_name.items() if None in values},
            "duplicate_rows": len(plain) - len(set(plain)),
            "outliers": {name: _outliers(by_name[name]) for name in measured},
        }

    def _authorize(self, action: int, _first: Any, second: Any, _database: Any, _trigger: Any) -> int:
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _NEVER:
            self._refused = f"{second}() is not allowed in a query"
        elif action not in _READING:
            self._refused = _ONLY_READING
        else:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _begin(self) -> None:
        self._refused = ""
        self._steps = 0
        self._deadline = time.monotonic() + MAX_SECONDS

    def _takes_too_long(self) -> bool:
        self._steps += _STEPS_A_LOOK
        return self._steps > MAX_STEPS or time.monotonic() > self._deadline


def analytics_tools(world: Analytics | None = None) -> ToolRegistry:
    """Return the tools of a database, or of a fresh one."""
    world = world or Analytics()
    return as_registry([world.sql_select, world.describe_table, world.check_data_quality])


def _table(cursor: sqlite3.Cursor) -> dict[str, Any]:
    """Return the rows as JSON; `truncated` says that there are more of them."""
    columns = [column[0] for column in cursor.description]
    rows: list[list[Any]] = []
    size = 0
    for row in cursor:
        rows.append([_as_json(value) for value in row])
        size += sum(len(str(value)) for value in rows[-1])
        if len(rows) > MAX_ROWS or size > MAX_RESULT:
            return {"columns": columns, "rows": rows[:-1], "truncated": True}
    return {"columns": columns, "rows": rows, "truncated": False}


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return str(value) if value in (float("inf"), float("-inf")) else value


def _outliers(values: list[Any]) -> list[float]:
    """Values further than 1.5 times the interquartile range from the middle half."""
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < 4:
        return []
    low, _, high = quantiles(numbers, n=4)
    margin = 1.5 * (high - low)
    return [number for number in numbers if not low - margin <= number <= high + margin]
