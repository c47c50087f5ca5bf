"""Texts for lab 6, proposals of a model, and a budget; results, questions and runs are judged.

What the task leaves open is not compared: the words of a question, how often the model is asked about a text
that comes to nothing, and whether the rules read a text with prose around it. Some of it is not drawn:
numbers and signs that Python writes in another way, fences in another form than the task describes,
and proposals with a key twice.
"""

from __future__ import annotations

import json
import unicodedata
from random import Random
from typing import Any

from zoolab_grader import Callback, Student, Wrong

NAMES = ("city", "days", "note", "unit", "urgent", "price", "homeTown", "label")
TEXTS = (
    *("Oslo", "new York", "O'Hara", 'the "Ritz"', "it's {a}, isn't it", "a,} b,]", "```x```", "'a': None"),
    *(", }", "  x  x ", "a { mark", "7", "true", "null", "Málaga, 東京", "C:\\temp\\", "x\ny\t", ""),
    *("json", "/* a */ // b", "“a”", "https://x.example/#a", "1.5", '{"a": 1}', "city", "days 3", "# no"),
    *("4² e\u0301", "word " * 300),
)
NUMBERS: dict[str, tuple[Any, ...]] = {
    "integer": (0, 1, 7, -12, 40, 10**20),
    "number": (2.5, -0.5, 1, 0, 1.0),
    "boolean": (True, False),
}
ODD_NUMBERS = (
    "6 * 7",
    "max(1, 2)",
    "1_000",
    "0x10",
    "+1",
    "1.",
    "01",
    "NaN",
    "one",
    "''",
    "[1]",
    "(1)",
    "None",
)
HOPELESS = ("I am not sure.", "", "{}", "null", "[]", '"x"', "{")
ERRORS = {kind.__name__: kind for kind in (TimeoutError, RuntimeError, ConnectionError, ValueError, KeyError)}


def draw(chance: Random) -> dict[str, Any]:
    """Return a schema, a text, what the model proposes, how often it may be asked, and what the tool
    returns.
    """
    schema = _schema(chance)
    meant = _meant(chance, schema)
    around = chance.random() < 0.05
    raw = f"Here it is:\n{_bare(meant)}" if around else _raw(chance, meant)
    proposals = [_proposal(chance, meant) for _ in range(chance.randrange(5))]
    if chance.random() < 0.05:
        proposals = [*["no"] * 22, json.dumps(meant)]
    return {
        "schema": schema,
        "raw": raw if raw.strip() or schema["required"] else "no",
        "proposals": [json.dumps(meant), *proposals] if around else proposals,
        "budget": chance.choice([1, 2, 5]) if around else chance.choice([0, 0, 1, 2, 3, 5, 25]),
        "function": chance.choice(["repair", "repair", "run_tool"]),
        "gives": chance.choice(["done", None, 0, False, "", [], {"done": 1}]),
    }


def _schema(chance: Random) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name in chance.sample(NAMES, chance.choice([0, 1, 2, 3, 4, 5])):
        properties[name] = {"type": chance.choice(["string", "string", *NUMBERS])}
        if properties[name]["type"] == "string" and chance.random() < 0.2:
            properties[name]["enum"] = chance.sample(TEXTS, 3)
    required = [name for name in properties if chance.random() < 0.6]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _meant(chance: Random, schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that meet the schema, in the order of their drawing."""
    meant: dict[str, Any] = {}
    for name, rule in schema["properties"].items():
        if name in schema["required"] or chance.random() < 0.7:
            meant[name] = chance.choice(rule.get("enum") or NUMBERS.get(rule["type"]) or TEXTS)
    return dict(chance.sample(list(meant.items()), len(meant)))


def _raw(chance: Random, meant: dict[str, Any]) -> str:
    if chance.random() < 0.2:
        meant = _changed(chance, meant)
    text = _written(chance, meant)
    if chance.random() < 0.6:
        return text
    plain = json.dumps(meant)
    return chance.choice(
        [
            *(_bare(meant), _bare(meant), _bare(meant)[1:-1], plain[:-1], plain[: len(plain) // 2]),
            *(plain[1:], f"{text}{text}", f"{plain}\n{plain}", f"[{plain}]", plain.replace(",", "", 1)),
            *(_key_twice(chance, meant), _key_twice(chance, meant).replace('"', "'"), "no words", "null"),
            *(f"```json\n{_bare(meant)}\n```", json.dumps(_bare(meant)), f"```json\n{plain[:-1]}\n```"),
            *(_with_odd_number(chance, meant), str(meant).replace("',", "'[:],", 1)),
        ]
    )


def _proposal(chance: Random, meant: dict[str, Any]) -> str:
    kind = chance.random()
    if kind < 0.35:
        return chance.choice([*HOPELESS, *ERRORS])
    if kind < 0.6:
        return _written(chance, meant)
    if kind < 0.9:
        return _written(chance, _changed(chance, meant))
    other = json.dumps({"name": "other", "arguments": meant})
    return chance.choice([_bare(meant), json.dumps(meant)[:-1], f"[{json.dumps(meant)}]", other])


def _changed(chance: Random, meant: dict[str, Any]) -> dict[str, Any]:
    """Return other arguments than those that are meant: a model may change a value, a type, or the order."""
    names = list(meant)
    if not names or chance.random() < 0.15:
        return {**meant, chance.choice(NAMES): chance.choice(TEXTS)}
    name = chance.choice(names)
    other = chance.choice(names)
    value = meant[name]
    if chance.random() < 0.15:
        return {key: item for key, item in meant.items() if key != name}
    if chance.random() < 0.15:
        return dict(reversed(meant.items()))
    text = str(value)
    alike = [unicodedata.normalize(form, text) for form in ("NFKC", "NFKD")]
    bare = alike[1].encode("ascii", "ignore").decode()
    if not text.isascii():
        return {**meant, name: chance.choice([*alike, bare])}
    odd = [text, [value], None, 1, 1.0, True, float("nan"), f"{text} x", text.upper(), text.strip()]
    return {**meant, name: chance.choice([*odd, meant[other], chance.choice(TEXTS)])}


def _written(chance: Random, meant: dict[str, Any]) -> str:
    """Return the arguments as JSON or as Python prints them, with some of the faults that the rules undo."""
    indent = chance.choice([None, None, 1])
    plain = chance.random() < 0.7
    text = json.dumps(meant, indent=indent, ensure_ascii=plain) if chance.random() < 0.7 else str(meant)
    if meant and chance.random() < 0.3:
        text = text[:-1].rstrip() + chance.choice([",}", ", }", ",\n}"])
    faults = [fault for fault in ("fence", "twice") if chance.random() < 0.25]
    for fault in chance.sample(faults, len(faults)):
        word = chance.choice(["json", "", "JSON"])
        text = f"```{word}\n{text}\n```" if fault == "fence" else json.dumps(text)
    return text


def _bare(meant: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in meant.items()) + "}"


def _key_twice(chance: Random, meant: dict[str, Any]) -> str:
    if not meant:
        return '{"city": 1, "city": 1}'
    name = chance.choice(list(meant))
    again = chance.choice([meant[name], meant[name], chance.choice(TEXTS), 7])
    return f"{json.dumps(meant)[:-1]}, {json.dumps(name)}: {json.dumps(again)}}}"


def _with_odd_number(chance: Random, meant: dict[str, Any]) -> str:
    text = chance.choice([json.dumps(meant), str(meant)])
    for value in meant.values():
        if not isinstance(value, str):
            return text.replace(f": {json.dumps(value)}", f": {chance.choice(ODD_NUMBERS)}", 1)
    return text


class _Model:
    """Proposes what was drawn, and keeps the questions."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.questions: list[str] = []

    def __call__(self, question: Any) -> str:
        if not isinstance(question, str):
            raise TypeError("the model takes one text")
        self.questions.append(question)
        if len(self.questions) > self.given["budget"]:
            raise Wrong("the model was asked more often than the budget allows")
        proposal = self.proposed(len(self.questions))
        if proposal in ERRORS:
            raise ERRORS[proposal]("nothing came")
        return proposal

    def proposed(self, number: int) -> str:
        proposals: list[str] = self.given["proposals"]
        return proposals[number - 1] if number <= len(proposals) else "I cannot help."

    def lacks(self) -> list[str]:
        """Return what a question does not hold, of all that it must hold."""
        found = set[str]()
        for number, question in enumerate(self.questions, start=1):
            needed = {"raw": self.given["raw"], "schema": json.dumps(self.given["schema"])}
            if number > 1 and self.proposed(number - 1) not in ERRORS:
                needed["proposal"] = self.proposed(number - 1)
            for what, text in needed.items():
                if not any(form in question for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1])):
                    found.add(what)
        return sorted(found)


def play(student: Student, given: dict[str, Any]) -> Any:
    """Return what came back, how often the model was asked until it did, what the questions lack, and what
    ran.
    """
    model = _Model(given)
    ran = list[dict[str, Any]]()

    def tool(**arguments: Any) -> Any:
        ran.append(arguments)
        return given["gives"]

    hands: list[Any] = [Callback(model, "model"), given["budget"]]
    if given["function"] == "run_tool":
        hands = [Callback(tool, "tool"), *hands]
    came = student.call(given["function"], given["raw"], given["schema"], *hands).value
    if given["function"] == "run_tool":
        came = [came.get("ran"), came.get("result")] if isinstance(came, dict) else "no dict"
    worked = bool(ran) or (given["function"] == "repair" and came is not None)
    is_open = given["raw"].startswith("Here it is:")
    return [came, len(model.questions) if worked and not is_open else "any", model.lacks(), ran]
