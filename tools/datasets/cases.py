"""The selection cases: forty tools, and requests of which it is known which tool they ask for.

Sixteen tools are those of the toolbox; the others have a schema and do nothing. The requests are made
from templates that were written by hand (`templates.toml`), with values drawn by a fixed seed.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

DOMAINS = ("devops", "support", "analytics", "security")
SEED = 6
CASES_A_LINE = 3
OFFERED = 3

_NAME = re.compile(r"\{(\w+)\}")


def make_cases(templates: Mapping[str, Any], domains: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the cases that the templates stand for; `domains` says to which domain each tool belongs.

    >>> templates = {"pools": {"n": [1, 2]}, "near": {}, "none": {"asks": [["chat", "devops", "Hi!"]]}}
    >>> templates["asks"] = {"ping": [["plain", "Ping {n}.", {"count": "{n}"}]]}
    >>> cases = make_cases(templates, {"ping": "devops"})
    >>> [(case["id"], case["prompt"], case["tool"], case["arguments"]) for case in cases[1:]]
    [('ping-2', 'Ping 1.', 'ping', {'count': 1}), ('none-1', 'Hi!', None, None)]
    """
    lines = [_Line(tool, *rest) for tool, asks in templates["asks"].items() for rest in asks]
    lines += [_no_tool(*line) for line in templates["none"]["asks"]]
    return _numbered(
        case for number, line in enumerate(lines) for case in _cases_of(number, line, templates, domains)
    )


def read_templates(path: Path) -> dict[str, Any]:
    """Return the templates of a TOML file.

    >>> from zoolab.files import course_folder
    >>> sorted(read_templates(course_folder("datasets") / "selection-cases" / "templates.toml"))
    ['asks', 'near', 'none', 'pools']
    """
    with path.open("rb") as file:
        return tomllib.load(file)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the templates."""

    tool: str | None
    difficulty: str
    text: str
    arguments: dict[str, Any] | None
    also: Sequence[str] = ()
    domain: str = ""
    #: Offered too, where no tool is needed.
    tempting: Sequence[str] = ()


def _no_tool(kind: str, domain: str, text: str, *tempting: str) -> _Line:
    return _Line(None, kind, text, None, (), domain, tempting)


def _cases_of(
    number: int, line: _Line, templates: Mapping[str, Any], domains: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    domain = line.domain or domains[line.tool or ""]
    near = templates["near"].get(line.tool, ())
    wanted = list(dict.fromkeys([*([line.tool] if line.tool else []), *line.also, *near, *line.tempting]))
    for at, values in enumerate(_values(line.text, templates["pools"], f"{line.tool}/{number}")):
        yield {
            "prompt": _filled(line.text, values),
            "tool": line.tool,
            "arguments": _filled(line.arguments, values),
            "difficulty": line.difficulty,
            "domain": domain,
            "offered": _offered(wanted, domain, domains, f"{number}/{at}"),
            "also": list(line.also),
            "split": "hidden" if at == CASES_A_LINE - 1 else "public",
        }


def _values(text: str, pools: Mapping[str, list[Any]], seed: str) -> list[dict[str, Any]]:
    """Return up to three ways to fill a text; one where it has nothing to fill."""
    names = list(dict.fromkeys(_NAME.findall(text)))
    ways = [dict(zip(names, way, strict=True)) for way in product(*(pools[name] for name in names))]
    return random.Random(f"{SEED}/{seed}").sample(ways, min(CASES_A_LINE, len(ways)))


def _filled(node: Any, values: Mapping[str, Any]) -> Any:
    """Fill a text: what is only a name keeps the value's type."""
    if isinstance(node, dict):
        return {key: _filled(child, values) for key, child in node.items()}
    if isinstance(node, list):
        return [_filled(child, values) for child in node]
    if not isinstance(node, str):
        return node
    whole = _NAME.fullmatch(node)
    return values[whole[1]] if whole else _NAME.sub(lambda found: str(values[found[1]]), node)


def _offered(wanted: list[str], domain: str, domains: Mapping[str, str], seed: str) -> list[str]:
    """Return the tools on offer: those wanted, then a stranger, then others of the domain; shuffled."""
    chance = random.Random(f"{SEED}/offered/{seed}")
    strangers = [name for name in domains if domains[name] != domain]
    others = [name for name in domains if domains[name] == domain and name not in wanted]
    rest = [
        *chance.sample(strangers, min(1, len(strangers))),
        *chance.sample(others, min(OFFERED, len(others))),
    ]
    picked = [*wanted, *rest][:OFFERED]
    return chance.sample(picked, len(picked))


def _numbered(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    numbers = Counter[str]()
    made: list[dict[str, Any]] = []
    for case in cases:
        name = case["tool"] or "none"
        numbers[name] += 1
        made.append({"id": f"{name}-{numbers[name]}", **case, "made": "authored"})
    return made
