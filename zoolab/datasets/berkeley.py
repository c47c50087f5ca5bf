"""The Berkeley Function-Calling Leaderboard's own data, from its package on the Python package index.

Nothing of it ships with zoolab (it is Apache-2.0), and its package is never imported: its data files are
read from its wheel in the user's cache, where `zoolab datasets fetch bfcl` puts it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.datasets.berkeley_types import CODE, as_tool, first_answer
from zoolab.datasets.loading import frame_of, lookup
from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab.models.weights import cache_folder, download_wheel
from zoolab.tools import sendable_name

if TYPE_CHECKING:
    import pandas as pd

PACKAGE, VERSION = "bfcl-eval", "2026.3.23"
WHEEL = "bfcl_eval-2026.3.23-py3-none-any.whl"
SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"

_DATA = "bfcl_eval/data/"
#: One question, one reply; the others go on for several turns, or need a server.
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)


def bfcl(*categories: str) -> pd.DataFrame:
    """Berkeley's cases with the columns of `load("selection-cases")`, and three more.

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
    return frame_of(rows, [*lookup("selection-cases").columns, "category", "functions", "ground_truth"])


def fetch_bfcl() -> Path:
    """The package's wheel in the cache, downloaded if it is not there.

    Raises `ModelError` if the download fails, `InvalidInput` if another wheel came; nothing is kept then.
    """
    kept = cache_folder() / WHEEL
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as folder:
            checked_wheel(download_wheel(f"{PACKAGE}=={VERSION}", Path(folder))).replace(kept)
    return checked_wheel(kept)


def data_files() -> Mapping[str, str]:
    """The text of each data file in the wheel, by name."""
    with zipfile.ZipFile(checked_wheel(cache_folder() / WHEEL)) as archive:
        names = [name for name in archive.namelist() if name.startswith(_DATA) and name.endswith(".json")]
        return {name.removeprefix(_DATA): archive.read(name).decode("utf-8") for name in names}


def checked_wheel(path: Path) -> Path:
    """The path of the wheel; raises `InvalidInput` if it is not there, or another file."""
    if not path.is_file():
        raise InvalidInput("Berkeley's data is not here", advice="run: zoolab datasets fetch bfcl")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        what = f"{path} is not the wheel of {PACKAGE} {VERSION}"
        raise InvalidInput(what, advice="delete it and fetch it again")
    return path


def rows_in(text: str) -> list[dict[str, Any]]:
    """The rows of a data file."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _cases(files: Mapping[str, str], category: str) -> Iterator[dict[str, Any]]:
    """The questions of a category, each with its tools and its ground truth, which may be empty."""
    name = f"BFCL_v4_{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in rows_in(files.get(f"possible_answer/{name}", ""))}
    for question in rows_in(files[name]):
        truth = answers.get(question["id"], [])
        functions = [as_tool(function, category) for function in question["function"]]
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
            "ground_truth": [{sendable_name(name): given for name, given in call.items()} for call in truth],
        }
