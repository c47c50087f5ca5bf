"""An experiment from a TOML file; every error names the line.

`zoolab experiment --example` prints such a file.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.files import read_table
from zoolab.jsontext import excerpt
from zoolab.models.openai import OpenAIModel
from zoolab.models.replay import Replay, local_model
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.repair import RuleRepair
from zoolab.retrieval import BM25
from zoolab.toolbox.catalog import tools_named
from zoolab.tools import ToolRegistry
from zoolab_study.cases import UNSAID, Case, WrongCase, as_case
from zoolab_study.datasets.loading import numbered_rows
from zoolab_study.design import check_described, variants_in
from zoolab_study.expected import ANY_CALL, expected_calls
from zoolab_study.mistakes import mistakes_in
from zoolab_study.pacing import Budget, Pace

#: What a file may say.
EXPERIMENT: Mapping[str, Any] = read_table("zoolab_study", "experiment.schema.json")
#: A case may have further keys, for scorers and variants.
CASE: Mapping[str, Any] = EXPERIMENT["properties"]["cases"]["items"]
#: Bytes of a file of cases.
_MAX_CASES = 1 << 30

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def line_of_key(text: str, where: Sequence[str]) -> int:
    """Return the line where a key of a TOML file stands, or the nearest thing above it that is there."""
    best = 0
    nearest = 1
    table: list[str] = []
    counts = Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        key: list[str] = []
        if header := _HEADER.match(line):
            table = _keys(header[2])
            if header[1] == "[[":
                counts[header[2]] += 1
                table.append(str(counts[header[2]] - 1))
        elif assigned := _ASSIGNED.match(line):
            key = _keys(assigned[1])
        else:
            continue
        here = [*table, *key]
        shared = min(len(here), len(where))
        if shared > best and here[:shared] == list(where[:shared]):
            best = shared
            nearest = number
    return nearest


def _keys(dotted: str) -> list[str]:
    return [key.strip("\"'") for key in re.findall(_KEY, dotted)]


def read_config(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the experiment that a TOML file describes: its title, and the arguments of `experiment`.

    Raises `InvalidInput` if it cannot be read, or is wrong; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors of Windows write a mark
        told = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidInput(f"cannot read {path}: {reason}", expected="a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path.name}: {error}", expected="a TOML file") from None
    for mistake in mistakes_in(told, EXPERIMENT):
        what = f"{path.name}, line {line_of_key(text, mistake.where)}: {mistake}"
        raise InvalidInput(what, advice="correct that line")
    return told.get("title", path.stem), _arguments(told, path, text)


def _arguments(told: Mapping[str, Any], path: Path, text: str) -> dict[str, Any]:
    """Return the parts of the file as `experiment` takes them; what is wrong with one is said with its
    line.
    """

    def place(*where: str) -> str:
        return f"{path.name}, line {line_of_key(text, where)}"

    with _at(place("tools")):
        tools = tools_named(*told.get("tools", ()))
    variants: dict[str, dict[str, Any]] = {}
    for name, variant in told.get("variants", {"plain": {}}).items():
        with _at(place("variants", name)):
            variants[name] = _variant(variant)
    changed = [variant["tools"] for variant in variants.values() if "tools" in variant]
    cases = list(_cases(told["cases"], path, place, tools, changed))
    offered = [tools, *(case["tools"] for case in cases if "tools" in case)]
    choices = ["auto", "required", "none", *_names_in([*offered, *changed])]
    for name, variant in variants.items():
        with _at(place("variants", name, "descriptions")):
            check_described(variants_in({name: variant}), offered)
        if variant.get("tool_choice", "auto") not in choices:
            with _at(place("variants", name, "tool_choice")):
                what = f"tool_choice is {excerpt(variant['tool_choice'])}"
                raise InvalidInput(what, expected=f"one of {', '.join(choices)}")
    models: dict[str, Any] = {}
    for name, model in told["models"].items():
        with _at(place("models", name, next((key for key in model if key != "kind"), "kind"))):
            models[name] = _maker(model, path.parent)
            models[name]()  # wrong names are said before anything runs
    return {
        "cases": cases,
        "variants": variants,
        "models": models,
        "tools": tools,
        "repeats": told.get("repeats", 1),
        "seed": told.get("seed", 0),
        "scorers": told.get("scorers"),
        "cache": told.get("cache", True),
        "pace": Pace(**told.get("pace", {})),
        "budget": Budget(**told.get("budget", {})),
    }


@contextmanager
def _at(place: str) -> Generator[None]:
    try:
        yield
    except ZoolabError as error:
        raise InvalidInput(f"{place}: {error}", advice="correct it") from None


def _cases(
    told: Any, path: Path, place: Callable[..., str], tools: ToolRegistry, changed: Sequence[ToolRegistry]
) -> Iterator[dict[str, Any]]:
    """Yield the cases, with their tools, of the file itself or of a JSONL file beside it.

    One that nobody can get right is said, with its line.
    """
    if isinstance(told, list):
        rows: Iterable[tuple[int, dict[str, Any]]] = enumerate(told)
    else:
        rows = numbered_rows(path.parent / told, "a file with a case a line", _MAX_CASES)
    names: set[str] = set()
    for count, (number, case) in enumerate(rows, 1):
        line = "" if isinstance(told, list) else f"{told}, line {number}"
        if line and (mistakes := mistakes_in(case, CASE)):
            raise InvalidInput(f"{line}: {mistakes[0]}", advice="correct that line")
        key = "tools"
        try:
            if case.get("tools"):
                case = {**case, "tools": tools_named(*case["tools"])}
            known = as_case(case, count)
            key = "id"
            if known.id in names:
                what = f"two cases have the id {excerpt(known.id)}"
                raise InvalidInput(what, expected="a different id for each case")
            key = "expected_calls"
            if known.expected_calls is not UNSAID and known.expected_calls != ANY_CALL:
                expected_calls(known.expected_calls)
            key = "expected_tool"
            _check_expected_tool(known, _names_in([case.get("tools", tools), *changed]))
        except ZoolabError as error:
            key = error.key if isinstance(error, WrongCase) else key
            where = line or place("cases", str(number), key)
            raise InvalidInput(f"{where}: {error}", advice="correct it") from None
        names.add(known.id)
        yield case


def _names_in(offered: Iterable[ToolRegistry]) -> list[str]:
    return list(dict.fromkeys(name for tools in offered for name in tools.names()))


def _check_expected_tool(case: Case, offered: Sequence[str]) -> None:
    if isinstance(case.expected_tool, str) and case.expected_tool not in offered:
        what = f"expected_tool is {excerpt(case.expected_tool)}, which is not offered"
        known = f"one of {', '.join(offered)}" if offered else 'tools = ["starter"] or the like'
        raise InvalidInput(what, expected=known)


def _variant(told: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(told)
    if "tools" in changes:
        changes["tools"] = tools_named(*changes["tools"])
    if "repair" in changes:
        changes["repair"] = RuleRepair()
    if "retrieve" in changes:
        changes["retrieve"] = BM25(changes["retrieve"])
    if changes.pop("allow", False):
        changes["policy"] = Policy(ask=())
    return changes


def _maker(told: Mapping[str, Any], folder: Path) -> Callable[[], Any]:
    kind = told["kind"]
    name = told.get("name")
    if kind == "local":
        return partial(local_model(), name)
    if kind == "openai":
        return lambda: OpenAIModel(name, base_url=told.get("base_url"), settings=told.get("settings"))
    if kind == "recording":
        path = told.get("path", "starter")
        return partial(Replay, str(folder / path) if (folder / path).is_file() else path)
    return partial(Scripted, [_reply(reply) for reply in told["replies"]])


def _reply(told: Any) -> Any:
    """Return a text, or a list of tables with `name` and `arguments`."""
    if isinstance(told, str):
        return told
    calls = told if isinstance(told, list) else [told]
    return [(call["name"], call.get("arguments", {})) for call in calls]
