"""The Berkeley leaderboard's own cases and its own checker, and answers of many kinds to those cases."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.models.weights import cache_folder, download_wheel

WHEEL = "bfcl_eval-2026.3.23-py3-none-any.whl"
SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
NO_CALL = ("irrelevance", "live_irrelevance")

Call = tuple[str, dict[str, Any]]
Calls = list[Call]


def find_wheel() -> Path:
    """The package in the user's cache; `python tests/berkeley.py` puts it there."""
    path = cache_folder() / WHEEL
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise InvalidInput("Berkeley's package is not here", advice="run: python tests/berkeley.py")
    return path


def fetch_wheel() -> Path:
    """The package in the user's cache, downloaded if it is not there."""
    with suppress(InvalidInput):
        return find_wheel()
    kept = cache_folder() / WHEEL
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        download_wheel("bfcl-eval==2026.3.23", Path(folder)).replace(kept)
    return kept


@dataclass(frozen=True)
class Berkeley:
    """What is in the package: nothing of it is installed or imported, but for the checker's own module."""

    wheel: Path

    def rows(self, category: str) -> Iterator[dict[str, Any]]:
        """The cases of a category, each with id, question, function and ground_truth."""
        written = self._lines(f"possible_answer/BFCL_v4_{category}")
        truths = {row["id"]: row["ground_truth"] for row in written}
        for row in self._lines(f"BFCL_v4_{category}"):
            yield {**row, "ground_truth": truths.get(row["id"], [])}

    def checker(self) -> Callable[[list[Any], Calls, list[Any], str], bool]:
        """The checker itself, from its source; what it imports and does not use for Python is a stand-in."""
        checker = _loaded(self._read("bfcl_eval/eval_checker/ast_eval/ast_checker.py"))

        def check(functions: list[Any], calls: Calls, truth: list[Any], category: str) -> bool:
            output = [{name: arguments} for name, arguments in calls]
            found = checker.ast_checker(functions, output, truth, "python", category, "openai")
            return bool(found["valid"])

        return check

    def _lines(self, name: str) -> list[dict[str, Any]]:
        with zipfile.ZipFile(self.wheel) as archive:
            known = f"bfcl_eval/data/{name}.json" in archive.namelist()
        return [*map(json.loads, self._read(f"bfcl_eval/data/{name}.json").splitlines())] if known else []

    def _read(self, name: str) -> str:
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.read(name).decode("utf-8")


def _loaded(source: str) -> Any:
    converters = "bfcl_eval.eval_checker.ast_eval.type_convertor"
    wire = defaultdict(lambda: SimpleNamespace(underscore_to_dot=True))
    stands_in: dict[str, dict[str, Any]] = {
        "bfcl_eval": {},
        "bfcl_eval.constants": {},
        "bfcl_eval.constants.enums": {
            "Language": SimpleNamespace(PYTHON="python", JAVA="java", JAVASCRIPT="javascript")
        },
        "bfcl_eval.constants.model_config": {"MODEL_CONFIG_MAPPING": wire},
        "bfcl_eval.constants.type_mappings": {"JAVA_TYPE_CONVERSION": {}, "JS_TYPE_CONVERSION": {}},
        "bfcl_eval.eval_checker": {},
        "bfcl_eval.eval_checker.ast_eval": {},
        converters: {},
        f"{converters}.java_type_converter": {"java_type_converter": None},
        f"{converters}.js_type_converter": {"js_type_converter": None},
    }
    module = ModuleType("berkeley_ast_checker")
    before = {name: sys.modules.get(name) for name in stands_in}
    try:
        for name, content in stands_in.items():
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__dict__.update(content)
        exec(compile(source, "ast_checker.py", "exec"), module.__dict__)
    finally:
        for name, known in before.items():
            if known is None:
                del sys.modules[name]
            else:
                sys.modules[name] = known
    return module


def answers(row: dict[str, Any], rng: random.Random) -> Iterator[tuple[str, Calls]]:
    """Answers to a case, each with the name of its kind: right ones, and ones with something changed."""
    right = [_right_call(truth, rng) for truth in row["ground_truth"]]
    yield "right", right
    yield "right, other accepted values", [_right_call(truth, rng) for truth in row["ground_truth"]]
    yield "permuted", rng.sample(right, len(right))
    yield "no call", []
    yield "too few", right[:-1]
    yield "too many", [*right, copy.deepcopy(rng.choice(right))]
    yield "the first call for all", [copy.deepcopy(right[0]) for _ in right]
    for kind, change in _CHANGES.items():
        changed = copy.deepcopy(right)
        at = rng.randrange(len(changed))
        function = _function(row, changed[at][0])
        made = change(changed[at], function, rng) if function else None
        if made is not None:
            changed[at] = made
            yield kind, changed


def _function(row: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((one for one in row["function"] if one["name"].replace(".", "_") == name), None)


def _right_call(truth: dict[str, Any], rng: random.Random) -> tuple[str, dict[str, Any]]:
    name, parameters = next(iter(truth.items()))
    arguments = {}
    for parameter, accepted in parameters.items():
        value = rng.choice(accepted or [""])
        if value != "" or rng.random() < 0.1:
            arguments[parameter] = _plain(value, rng)
    return name.replace(".", "_"), arguments


def _plain(value: Any, rng: random.Random) -> Any:
    """A value as a model gives it: within objects, too, one of the accepted ones is chosen."""
    if isinstance(value, dict):
        chosen = {key: rng.choice(options or [""]) for key, options in value.items()}
        return {key: copy.deepcopy(option) for key, option in chosen.items() if option != ""}
    if isinstance(value, list):
        return [_plain(item, rng) for item in value]
    return value


def _with_value(change: Callable[[Any, random.Random], Any], *kinds: type) -> Any:
    """Changes the value of one parameter, of these kinds; None where there is none, or nothing to change."""

    def changed(call: Call, _function: Any, rng: random.Random) -> Call | None:
        name, arguments = call
        able = [key for key, value in arguments.items() if not kinds or type(value) in kinds]
        if not able:
            return None
        key = rng.choice(able)
        return name, {**arguments, key: change(arguments[key], rng)}

    return changed


def _spaced(text: str, rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice([" ", ",", ".", "-", "_", "/", "*", "^"]) + text[at:]


def _marked(text: str, rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(["!", ":", "'", '"', "(", "\n", "\t", "é"]) + text[at:]


def _without(call: Call, function: Any, rng: random.Random, required: bool) -> Call | None:
    needed = function["parameters"].get("required", [])
    able = [key for key in call[1] if (key in needed) == required]
    gone = rng.choice(able) if able else None
    return None if gone is None else (call[0], {k: v for k, v in call[1].items() if k != gone})


def _with_more(call: Call, function: Any, rng: random.Random) -> Call | None:
    unused = [key for key in function["parameters"]["properties"] if key not in call[1]]
    return (
        (call[0], {**call[1], rng.choice(unused): rng.choice(["x", 1, True, "", None])}) if unused else None
    )


def _in_list(change: Callable[[list[Any], random.Random], list[Any]]) -> Any:
    def changed(value: list[Any], rng: random.Random) -> list[Any]:
        return change(list(value), rng) if value else [rng.choice([1, "x", {}, []])]

    return _with_value(changed, list)


def _item(change: Callable[[Any], Any]) -> Callable[[list[Any], random.Random], list[Any]]:
    def changed(value: list[Any], rng: random.Random) -> list[Any]:
        at = rng.randrange(len(value))
        return [*value[:at], change(value[at]), *value[at + 1 :]]

    return changed


def _other(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + " or so"
        case list():
            return [*value, *value, 1]
        case dict():
            return {**value, "unheard_of": 1}
    return 0


def _as_if(value: Any) -> Any:
    """The same in another type."""
    match value:
        case bool():
            return int(value)
        case int():
            return float(value)
        case float():
            return int(value) if value.is_integer() else str(value)
        case str():
            return [value]
        case list():
            return value[0] if value else {}
        case dict():
            return [value]
    return ""


def _in_dict(change: Callable[[Any], Any]) -> Any:
    def changed(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
        if not value:
            return {"a": 1}
        key = rng.choice([*value])
        return {**value, key: change(value[key])}

    return _with_value(changed, dict)


def _fewer_keys(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    gone = rng.choice([*value]) if value else None
    return {key: item for key, item in value.items() if key != gone}


_CHANGES: dict[str, Callable[[Call, Any, random.Random], Call | None]] = {
    "another value": _with_value(lambda value, _rng: _other(value)),
    "another type": _with_value(lambda value, _rng: _as_if(value)),
    "as text": _with_value(lambda value, _rng: str(value)),
    "null": _with_value(lambda _value, _rng: None),
    "blank": _with_value(lambda _value, _rng: ""),
    "an empty list": _with_value(lambda _value, _rng: [], list),
    "an empty object": _with_value(lambda _value, _rng: {}, dict),
    "a boolean for a number": _with_value(lambda value, _rng: bool(value), int, float),
    "an integer for a float": _with_value(lambda value, _rng: int(value), float),
    "a float for an integer": _with_value(lambda value, _rng: float(value), int),
    "capitals": _with_value(lambda value, _rng: value.upper(), str),
    "marks that do not count": _with_value(_spaced, str),
    "marks that count": _with_value(_marked, str),
    "nothing but marks": _with_value(lambda _value, rng: rng.choice([" ", "-", "..", "_"]), str),
    "list in another order": _in_list(lambda value, rng: rng.sample(value, len(value))),
    "list with an item more": _in_list(lambda value, _rng: [*value, value[-1]]),
    "list with an item less": _in_list(lambda value, _rng: value[:-1]),
    "list with another item": _in_list(_item(_other)),
    "list with an item of another type": _in_list(_item(_as_if)),
    "list of capitals": _in_list(_item(lambda one: one.upper() if isinstance(one, str) else one)),
    "list in a list": _in_list(lambda value, _rng: [value]),
    "objects with a key more": _in_list(_item(lambda one: {**one, "b": 1} if isinstance(one, dict) else one)),
    "objects with another value": _in_list(
        _item(lambda one: {key: _other(item) for key, item in one.items()} if isinstance(one, dict) else one)
    ),
    "object with another value": _in_dict(_other),
    "object with a value of another type": _in_dict(_as_if),
    "object with capitals": _in_dict(lambda one: one.upper() if isinstance(one, str) else one),
    "object with a key more": _with_value(lambda value, _rng: {**value, "unheard_of": 1}, dict),
    "object with a key less": _with_value(_fewer_keys, dict),
    "a required parameter left out": lambda call, function, rng: _without(call, function, rng, True),
    "an optional parameter left out": lambda call, function, rng: _without(call, function, rng, False),
    "an unused parameter given": _with_more,
    "an invented parameter": lambda call, _function, _rng: (call[0], {**call[1], "unheard_of": 1}),
    "no arguments": lambda call, _function, _rng: (call[0], {}),
    "another function": lambda call, _function, _rng: (f"{call[0]}_2", call[1]),
    "a function in capitals": lambda call, _function, _rng: (call[0].upper(), call[1]),
}


if __name__ == "__main__":
    print(fetch_wheel())
