"""The data sets: which there are, what a row of each holds, and how they are loaded."""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.files import course_folder, read_table
from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.runs import Trace
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import Tool, ToolRegistry

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

MAX_BYTES = 16 << 20
MAX_LINE = 1 << 20
#: The tools of the toolbox that the selection cases offer; a domain may have got more since.
OFFERED = (
    "devops.ping",
    "devops.check_http",
    "devops.traceroute",
    "devops.check_status",
    "devops.restart_service",
    "devops.read_logs",
    "devops.check_disk_usage",
    "support.get_ticket",
    "support.search_kb",
    "support.draft_reply",
    "analytics.sql_select",
    "analytics.describe_table",
    "analytics.check_data_quality",
    "security.query_siem",
    "security.check_ip_reputation",
    "security.isolate_host",
)


class DataSet(NamedTuple):
    """One data set: its file, what it is, and the columns of a row with their types (see datasets.toml)."""

    name: str
    file: str
    what: str
    columns: Mapping[str, str]


DATA_SETS: Mapping[str, DataSet] = {
    name: DataSet(
        name,
        f"{name}/{told['file']}",
        told["what"],
        dict(column.partition(":")[::2] for column in told["columns"].split()),
    )
    for name, told in read_table("zoolab_study.datasets", "datasets.toml").items()
}


def lookup(name: str) -> DataSet:
    """Return the data set of that name, or `InvalidInput`."""
    if name not in DATA_SETS:
        raise InvalidInput(f"no data set is named {name!r}", expected="one of " + ", ".join(DATA_SETS))
    return DATA_SETS[name]


def read_rows(path: Path, expected: str = "a data set of zoolab") -> Iterator[Row]:
    """Return the rows of a JSONL file: those of `numbered_rows`, which says more."""
    return (row for _, row in numbered_rows(path, expected))


def numbered_rows(path: Path, expected: str, most: int = MAX_BYTES) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a JSONL file with the numbers of their lines, blank lines left out; gzip may pack it.

    Lines are bounded, and the unpacked file has at most so many bytes. Raises `InvalidInput` if it cannot be
    read, or a line is not a strict JSON object; names the line.
    """
    read = number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                number = number + 1
                read = read + len(line)
                if len(line) > MAX_LINE or read > most:
                    raise InvalidInput(f"{path.name} is too large", expected=f"lines of {MAX_LINE:,} bytes")
                if number == 1:  # some editors of Windows write a mark
                    line = line.removeprefix(BOM_UTF8)
                if not line.strip():
                    continue
                where = f"{path.name}, line {number},"
                try:
                    row = parse_json(line.decode("utf-8"))
                except NotStrictJSON as error:
                    what = f"{where} is not JSON: {error}"
                    raise InvalidInput(what, advice="correct or restore the file") from None
                if not isinstance(row, dict):
                    raise InvalidInput(f"{where} is {excerpt(row)}", expected="an object")
                yield number, row
    except (OSError, EOFError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged, or not UTF-8 text"
        raise InvalidInput(f"cannot read {path}: {reason}", expected=expected) from None


def load(name: str) -> pd.DataFrame:
    """Return a data set as a data frame, one row an item; `zoolab datasets list` names them.

    Raises `InvalidInput` if no data set has that name, or its file is missing or damaged.

    >>> cases = load("selection-cases")
    >>> len(cases) >= 400, cases.tool.isna().sum() >= 80, cases.tool.nunique()
    (True, np.True_, 40)
    """
    return frame_of_rows(list(rows_of(name)), list(lookup(name).columns))


def rows_of(name: str) -> Iterator[Row]:
    """Yield the rows of a data set as plain dicts."""
    data_set = lookup(name)
    for number, row in enumerate(read_rows(course_folder("datasets") / data_set.file), 1):
        if row.keys() != data_set.columns.keys():
            what = f"row {number} of {name} has other columns"
            raise InvalidInput(what, expected=", ".join(data_set.columns), advice="restore its file")
        yield row


def frame_of_rows(rows: Sequence[Row], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a data frame; what is missing stays None, also beside texts."""
    needs("pandas")
    import pandas as pd

    made = {}
    for name in columns:
        values = [row[name] for row in rows]
        kinds = {type(value) for value in values}
        made[name] = pd.Series(values, dtype=None if kinds in ({int}, {bool}, {str}) else object)
    return pd.DataFrame(made, columns=list(columns))


def load_trace(name: str) -> Trace:
    """Return a trace of the data set `traces`, by its id.

    >>> load_trace("no-such")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: no trace is named 'no-such'; expected an id of load("traces")
    """
    if name not in {row["id"] for row in rows_of("traces")}:
        raise InvalidInput(f"no trace is named {name!r}", expected='an id of load("traces")')
    return Trace.load(course_folder("datasets") / "traces" / f"{name}.jsonl")


def selection_tools(*names: str) -> ToolRegistry:
    """Return the forty tools of the selection cases, or those of these names, in the order given.

    Tools of the toolbox work, on fresh worlds; the others only say that they were called.

    >>> len(selection_tools()), selection_tools("refund_order").names()
    (40, ['refund_order'])
    """
    known = {tool.name: tool for tool in tools_named(*OFFERED)}
    known |= {
        row["name"]: _stand_in(row)
        for row in read_rows(course_folder("datasets") / "selection-cases" / "tools.jsonl")
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        what = f"no tool of the selection cases is named {unknown[0]!r}"
        raise InvalidInput(what, expected=", ".join(known))
    return ToolRegistry(known[name] for name in names or known)


def _stand_in(row: Row) -> Tool:
    name = row["name"]
    return Tool.from_schema(
        name, row["description"], row["parameters"], lambda **_arguments: {"accepted": name}, risk=row["risk"]
    )
