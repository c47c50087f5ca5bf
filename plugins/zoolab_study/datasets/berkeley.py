"""The Berkeley Function-Calling Leaderboard's own data, from its package on the Python package index.

Nothing of it ships with zoolab (it is Apache-2.0), and its package is never imported: its data files are
read from its wheel in the user's cache, where `zoolab datasets fetch bfcl` puts it.

Its tools have other names for types, names with dots, and values of Java and JavaScript. Its ground truth
lists for each argument the values that are accepted; "" says that the argument may be left out.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab.tools import name_for_apis
from zoolab_study.datasets.loading import frame_of_rows, lookup
from zoolab_study.downloads import cache_folder, download_wheel

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = "bfcl-eval"
VERSION = "2026.3.23"
WHEEL = "bfcl_eval-2026.3.23-py3-none-any.whl"
SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"

_DATA = "bfcl_eval/data/"
#: One question, one reply; the others go on for several turns, or need a server.
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)


#: What JSON Schema calls Berkeley's types. `any` takes every value, and so has no type.
TYPES = {
    **dict.fromkeys(("dict", "HashMap"), "object"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("tuple", "Array", "ArrayList"), "array"),
    **dict.fromkeys(("String", "char"), "string"),
    "long": "integer",
    "Boolean": "boolean",
}
#: Categories whose values are code of a language, written as text.
CODE = {"simple_java": "Java", "simple_javascript": "JavaScript"}


def bfcl(*categories: str) -> pd.DataFrame:
    """Return Berkeley's cases with the columns of `load("selection-cases")`, and three more.

    `functions` are the tools as OpenAI takes them, with names and types translated; `ground_truth` is as
    Berkeley wrote it, a list of the accepted values of each argument; `arguments` are the first of those
    for the first call that is expected. `tool` is None where no tool fits, and in live_relevance, where a
    call is expected and nobody says which.

    Args:
        categories: Some of `CATEGORIES`; all by default.

    Raises:
        InvalidInput: No such category, or the data is not here: run `zoolab datasets fetch bfcl`.

    >>> bfcl("cats")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: there is no category 'cats'; expected simple_python, ...
    """
    wrong = [name for name in categories if name not in CATEGORIES]
    if wrong:
        raise InvalidInput(f"there is no category {wrong[0]!r}", expected=", ".join(CATEGORIES))
    files = data_files()
    rows = [row for category in categories or CATEGORIES for row in _cases(files, category)]
    return frame_of_rows(rows, [*lookup("selection-cases").columns, "category", "functions", "ground_truth"])


def fetch_bfcl() -> Path:
    """Return the package's wheel in the cache, downloaded if it is not there.

    Raises `ModelError` if the download fails, `InvalidInput` if another wheel came; nothing is kept then.
    """
    kept = cache_folder() / WHEEL
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as folder:
            checked_wheel(download_wheel(f"{PACKAGE}=={VERSION}", Path(folder))).replace(kept)
    return checked_wheel(kept)


def data_files() -> Mapping[str, str]:
    """Return the text of each data file in the wheel, by name."""
    with zipfile.ZipFile(checked_wheel(cache_folder() / WHEEL)) as archive:
        names = [name for name in archive.namelist() if name.startswith(_DATA) and name.endswith(".json")]
        return {name.removeprefix(_DATA): archive.read(name).decode("utf-8") for name in names}


def checked_wheel(path: Path) -> Path:
    """Return the path of the wheel; raises `InvalidInput` if it is not there, or another file."""
    if not path.is_file():
        raise InvalidInput("Berkeley's data is not here", advice="run: zoolab datasets fetch bfcl")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        what = f"{path} is not the wheel of {PACKAGE} {VERSION}"
        raise InvalidInput(what, advice="delete it and fetch it again")
    return path


def rows_in(text: str) -> list[dict[str, Any]]:
    """Return the rows of a data file."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _cases(files: Mapping[str, str], category: str) -> Iterator[dict[str, Any]]:
    name = f"BFCL_v4_{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in rows_in(files.get(f"possible_answer/{name}", ""))}
    for question in rows_in(files[name]):
        truth = answers.get(question["id"], [])
        functions = [berkeley_tool(function, category) for function in question["function"]]
        tool, arguments = first_answer(truth, functions) if truth else (None, None)
        if arguments and category in CODE:
            arguments = {key: v if isinstance(v, str) else encode(v) for key, v in arguments.items()}
        asked = [message["content"] for message in question["question"][0] if message["role"] == "user"]
        yield {
            "id": question["id"],
            "prompt": asked[-1],
            "tool": tool,
            "arguments": arguments,
            "difficulty": "live" if category.startswith("live") else "made",
            "domain": "bfcl",
            "offered": [function["function"]["name"] for function in functions],
            "also": [],
            "split": "public",
            "made": "authored",
            "category": category,
            "functions": functions,
            "ground_truth": [{name_for_apis(name): given for name, given in call.items()} for call in truth],
        }


def berkeley_tool(function: Mapping[str, Any], category: str = "") -> dict[str, Any]:
    """Return a function of Berkeley's as a tool that OpenAI takes; in Java and JavaScript all values are
    texts.
    """
    parameters = as_schema(function["parameters"])
    if category in CODE:
        for name, written in function["parameters"]["properties"].items():
            told = f"{written.get('description', '')} Written as {CODE[category]}, of type {written['type']}."
            parameters["properties"][name] = {"type": "string", "description": told.strip()}
    made = {
        "name": name_for_apis(function["name"]),
        "description": function["description"],
        "parameters": parameters,
    }
    return {"type": "function", "function": made}


def as_schema(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in Berkeley's words as JSON Schema."""
    made: dict[str, Any] = {}
    for key, value in written.items():
        if key == "type" and isinstance(value, str):
            made |= {} if value in ("any", "") else {"type": TYPES.get(value, value)}
        elif key == "properties":
            made[key] = {name: as_schema(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            made[key] = as_schema(value)
        else:
            made[key] = value
    return made


def first_answer(
    truth: Sequence[Mapping[str, Any]], functions: Sequence[Mapping[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of the first call that is expected, of each argument the first
    value.
    """
    (written, accepted), *_ = truth[0].items()
    name = name_for_apis(written)
    known = (f["function"]["parameters"] for f in functions if f["function"]["name"] == name)
    return name, _first_values(accepted, next(known, {}))


def _first_values(accepted: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object out of the first accepted value of each member; what may be left out is."""
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return {
        key: _first(values[0] if isinstance(values, list) and values else values, properties.get(key) or {})
        for key, values in accepted.items()
        if key in required or not isinstance(values, list) or "" not in values
    }


def _first(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return _first_values(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [_first(item, items if isinstance(items, Mapping) else {}) for item in value]
    return value


def same_arguments(meant: Mapping[str, Any], given: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return whether arguments mean the same: case, outer blanks and a last / or . make no difference.

    An argument that was not meant makes no difference if it is the schema's default.
    """
    properties = schema.get("properties", {})
    invented = [
        key
        for key, value in given.items()
        if key not in meant and properties.get(key, {}).get("default", ...) != value
    ]
    return not invented and all(key in given and _plain(given[key]) == _plain(meant[key]) for key in meant)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().rstrip("/.").casefold()
    if isinstance(value, Mapping):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return (type(value) is bool, value)
