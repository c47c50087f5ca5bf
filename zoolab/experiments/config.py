"""An experiment from a TOML file: checked as a whole, and every complaint names the line.

repeats = 3
tools = ["starter"]

[[cases]]                       # or cases = "cases.jsonl", a case a line
prompt = "What is 42 + 58?"
expected_tool = "add"           # "" where none is needed
expected_answer = "100"

[variants.plain]
[variants.polite]
system = "Be polite."

[models.small]
kind = "local"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from zoolab.errors import InvalidInput, ZoolabError
from zoolab.experiments.config_schema import CASE, EXPERIMENT
from zoolab.experiments.pacing import Budget, Pace
from zoolab.jsontext import excerpt
from zoolab.limits import Limits
from zoolab.models.local import LocalModel
from zoolab.models.openai import OpenAIModel, make_client
from zoolab.models.replay import Replay
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.repair import RuleRepair
from zoolab.retrieval import BM25
from zoolab.schema.checker import SchemaChecker
from zoolab.toolbox.catalog import tools_named

__all__ = ["Config", "read_config"]


@dataclass(frozen=True, slots=True)
class Config:
    """What a file asks for: the title, and the arguments of `experiment`."""

    title: str
    arguments: Mapping[str, Any]


def read_config(path: Path) -> Config:
    """The experiment that a TOML file describes.

    Raises:
        InvalidInput: It cannot be read, or is wrong; the message names the line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "hi.toml"
    >>> model = '[models.m]\\nkind = "scripted"\\nreplies = ["Hello"]\\n'
    >>> _ = path.write_text('[[cases]]\\nprompt = "Hi"\\n' + model)
    >>> read_config(path).arguments["repeats"]
    1
    >>> _ = path.write_text("cases = []\\nrepeats = 0\\n" + model)
    >>> read_config(path)
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: hi.toml, line 2: repeats: expected minimum 1, received 0; mend that line
    """
    text = _read(path)
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path.name}: {error}", expected="a TOML file") from None
    problems = SchemaChecker(EXPERIMENT).problems(told)
    for problem in problems:
        where = [_unescaped(part) for part in problem.pointer.split("/")[1:]]
        what = f"{'.'.join(where) or path.name}: expected {problem.expected}, received {problem.received}"
        raise InvalidInput(f"{path.name}, line {line_of(text, where)}: {what}", advice="mend that line")
    return Config(told.get("title", path.stem), _arguments(told, path, text))


def line_of(text: str, where: Sequence[str]) -> int:
    """The line where a key of a TOML file stands, or the nearest thing above it that is there.

    >>> line_of('repeats = 3\\n\\n[variants.loud]\\nsytem = "Shout."\\n', ["variants", "loud", "sytem"])
    4
    >>> line_of('[[cases]]\\nprompt = "Hi"\\n[[cases]]\\nprompt = 3\\n', ["cases", "1", "prompt"])
    4
    """
    best, nearest = 0, 1
    table: list[str] = []
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key: list[str] = []
        if header := _HEADER.match(line):
            table = _keys(header[2])
            if header[1] == "[[":
                place = tuple(table)
                counts[place] = counts.get(place, -1) + 1
                table = [*table, str(counts[place])]
        elif assigned := _ASSIGNED.match(line):
            key = _keys(assigned[1])
        else:
            continue
        here = [*table, *key]
        shared = len(here) if here == list(where[: len(here)]) else 0
        if shared > best:
            best, nearest = shared, number
    return nearest


_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def _keys(dotted: str) -> list[str]:
    return [key.strip("\"'") for key in re.findall(_KEY, dotted)]


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidInput(f"cannot read {path}: {reason}", expected="a TOML file") from None


def _arguments(told: Mapping[str, Any], path: Path, text: str) -> dict[str, Any]:
    """The parts of the file as `experiment` takes them; what is wrong with one is said with its line."""

    def make(part: Any, *where: str) -> Any:
        try:
            return part()
        except ZoolabError as error:
            raise InvalidInput(
                f"{path.name}, line {line_of(text, where)}: {error}", advice="mend it"
            ) from None

    cases = make(partial(_cases, told["cases"], path.parent), "cases")
    return {
        "cases": [
            {**case, "tools": make(partial(tools_named, *case["tools"]), "cases", str(at), "tools")}
            if case.get("tools")
            else case
            for at, case in enumerate(cases)
        ],
        "variants": {
            name: make(partial(_variant, variant), "variants", name)
            for name, variant in told.get("variants", {"plain": {}}).items()
        },
        "models": {
            name: make(partial(_model, model, path.parent), "models", name)
            for name, model in told["models"].items()
        },
        "tools": make(partial(tools_named, *told.get("tools", ())), "tools"),
        "repeats": told.get("repeats", 1),
        "seed": told.get("seed", 0),
        "scorers": told.get("scorers"),
        "cache": told.get("cache", True),
        "pace": Pace(**told.get("pace", {})),
        "budget": Budget(**told.get("budget", {})),
    }


def _cases(told: Any, folder: Path) -> list[dict[str, Any]]:
    """The cases of the file itself, or of a JSONL file beside it."""
    if not isinstance(told, str):
        return list(told)
    cases: list[dict[str, Any]] = []
    for number, line in enumerate(_read(folder / told).splitlines(), 1):
        try:
            case = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            case = line
        if case is None:
            continue
        problems = SchemaChecker(CASE).problems(case)
        if problems:
            raise InvalidInput(f"{told}, line {number}: {problems[0].message}", expected="a case a line")
        cases.append(case)
    return cases


def _variant(told: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(told)
    if "tools" in changes:
        changes["tools"] = tools_named(*changes["tools"])
    if "limits" in changes:
        changes["limits"] = Limits(**changes["limits"])
    if "repair" in changes:
        changes["repair"] = RuleRepair()
    if "retrieve" in changes:
        changes["retrieve"] = BM25(changes["retrieve"])
    if changes.pop("allow", False):
        changes["policy"] = Policy(ask=())
    return changes


def _model(told: Mapping[str, Any], folder: Path) -> Any:
    """A function that makes the model where it is needed; wrong names are said before anything runs."""
    match told["kind"]:
        case "local":
            return partial(LocalModel, told.get("name"))
        case "openai":
            return partial(_endpoint, told.get("name"), told.get("base_url"), dict(told.get("settings", {})))
        case "recording":
            place = folder / told.get("path", "")
            return partial(Replay, str(place) if place.is_file() else told.get("path", "starter"))
        case _:
            return partial(Scripted, [_reply(reply) for reply in told.get("replies", [])])


def _endpoint(name: str | None, base_url: str | None, settings: Mapping[str, Any]) -> OpenAIModel:
    return OpenAIModel(name, make_client(base_url), **settings)


def _reply(told: Any) -> Any:
    """A text, or a list of tables with `name` and `arguments`."""
    if isinstance(told, str):
        return told
    calls = told if isinstance(told, list) else [told]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        raise InvalidInput(
            f"a reply is {excerpt(told)}", expected="a text, or tables with name and arguments"
        )
    return [(call["name"], call.get("arguments", {})) for call in calls]
